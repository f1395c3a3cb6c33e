"""An operator of torch.library.Library that disappeared with its object: the file of the traceback shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.analysis.explanation import explain_text
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings

SOURCE = """import torch

def register():
    lib = torch.library.Library({namespace!r}, "FRAGMENT")
    lib.define("scale(Tensor x) -> Tensor")

register()
torch.ops.my_ops.scale(torch.ones(2))
"""


OF_MODULE = """lib = torch.library.Library("my_ops", "FRAGMENT")
def register():
    # lib2 = torch.library.Library("my_ops", "FRAGMENT")
    lib.define("scale(Tensor x) -> Tensor")
"""
OF_OBJECT = """class Operators:
    def __init__(self):
        self.lib = torch.library.Library("my_ops", "FRAGMENT")
"""


@pytest.mark.parametrize(
    ("source", "is_own"),
    [
        (SOURCE.format(namespace="my_ops"), True),
        (SOURCE.format(namespace="other_ops"), False),
        (OF_MODULE, False),
        (OF_OBJECT, False),
    ],
)
def test_the_object_of_a_function_is_named_first(source: str, is_own: bool, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(source)
    message = "AttributeError: '_OpNamespace' 'my_ops' object has no attribute 'scale'"
    options = ScanOptions(None, None, LoaderSettings(str(tmp_path)))
    (subject,) = explain_text(f'  File "{script}", line 8, in <module>\n{message}', options).subjects
    assert subject.causes[0].fix.startswith("Keep the torch.library.Library object") is is_own
