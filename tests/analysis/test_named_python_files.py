"""Python files that a text names are read, if they are here. Expected names of kernels: those that the module defines,
in the form of torch/_inductor/codegen/wrapper.py of 2.5.1."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from abiscan.analysis.explanation import explain_text
from abiscan.analysis.scan_options import ScanOptions
from abiscan.diagnosis.text.generated_modules import cache_folder
from abiscan.loader import LoaderSettings
from tests.tables import data_text, table_rows

_OPTIONS = ScanOptions(None, None, LoaderSettings("/"))
_MODULE = data_text(__file__, "generated_module.txt")


def _answer(path: Path) -> str:
    text = f"  File \"{path}\", line 6, in <module>\n    triton_meta=\nNameError: name 's2' is not defined\ntorch 2.5.1"
    (subject,) = explain_text(text, _OPTIONS).subjects
    return "\n".join((*subject.causes[0].evidence, subject.causes[0].fix))


def test_the_named_module_has_the_kernel(tmp_path: Path) -> None:
    folder = tmp_path / "torchinductor_me" / "qz"
    folder.mkdir(parents=True)
    module = folder / "cqzabc.py"
    assert "launches the kernel" in _answer(module)
    module.write_text(_MODULE)
    answer = _answer(module)
    assert "The kernel is fused_recurrent_delta_rule_fwd_kernel.\n" in answer
    assert "flash-linear-attention==0.2.0" in answer
    assert f"rm -rf {folder.parent}\n" in answer


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "torchinductor_me" / "qz"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "cqzabc.py")
    assert "launches the kernel" in _answer(folder / "cqzabc.py")


@table_rows
def test_only_a_cache_is_deleted(path: str, folder: str | None) -> None:
    assert cache_folder(path) == folder


def test_a_larger_module_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "torchinductor_me" / "qz"
    folder.mkdir(parents=True)
    (folder / "cqzabc.py").write_text(_MODULE)
    monkeypatch.setattr("abiscan.analysis.named_python_files._MOST", len(_MODULE) - 1)
    assert "launches the kernel" in _answer(folder / "cqzabc.py")


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


@table_rows
def test_the_object_of_a_function_is_named_first(source: str, is_own: bool, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(source)
    message = "AttributeError: '_OpNamespace' 'my_ops' object has no attribute 'scale'"
    options = ScanOptions(None, None, LoaderSettings(str(tmp_path)))
    (subject,) = explain_text(f'  File "{script}", line 8, in <module>\n{message}', options).subjects
    assert subject.causes[0].fix.startswith("Keep the torch.library.Library object") is is_own
