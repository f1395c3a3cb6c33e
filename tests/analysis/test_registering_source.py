"""An operator of torch.library.Library that disappeared with its object: the file of the traceback shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings

SOURCE = """import torch

def register():
    lib = torch.library.Library({namespace!r}, "FRAGMENT")
    lib.define("scale(Tensor x) -> Tensor")

register()
torch.ops.my_ops.scale(torch.ones(2))
"""


@pytest.mark.parametrize(("namespace", "is_own"), [("my_ops", True), ("other_ops", False)])
def test_the_object_of_the_file_is_named_first(namespace: str, is_own: bool, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SOURCE.format(namespace=namespace))
    message = "AttributeError: '_OpNamespace' 'my_ops' object has no attribute 'scale'"
    options = ScanOptions(None, None, LoaderSettings(str(tmp_path)))
    (subject,) = explain(f'  File "{script}", line 8, in <module>\n{message}', options)
    assert subject.causes[0].fix.startswith("Keep the torch.library.Library object") is is_own
