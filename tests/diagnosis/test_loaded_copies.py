"""Fixes for the copy of an extension that Python loads. Oracle: what solved the threads that are named, and where
setuptools writes (https://setuptools.pypa.io/en/latest/userguide/development_mode.html)."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.fixes.loaded_copies import SourceTree, folder_of_first_use, source_tree_of
from abiscan.diagnosis.text.find_log_facts import log_facts
from abiscan.library.api import explain

MISSING = "ImportError: {}: undefined symbol: _ZN3c1019UndefinedTensorImpl10_singletonE"
TAG = "cpython-36m-x86_64-linux-gnu.so"


@pytest.mark.parametrize(
    ("path", "tree"),
    [
        (f"/w/SADNet/dcn/deform_conv_cuda.{TAG}", SourceTree()),
        (f"/w/GANet/build/lib/GANet.{TAG}", SourceTree("/w/GANet", "build/lib")),
        (f"/w/x/build/lib.linux-x86_64-3.6/x/_C.{TAG}", SourceTree("/w/x", "build/lib.linux-x86_64-3.6")),
        ("C:\\w\\x\\_C.cp310-win_amd64.pyd", SourceTree()),
        (f"/e/lib/python3.6/site-packages/x/_C.{TAG}", None),
        (f"/e/lib/python3.6/x/_C.{TAG}", None),
        (f"/h/.cache/Python-Eggs/x.egg-tmp/_C.{TAG}", None),
        (f"mmdet/ops/nms_cuda.{TAG}", None),
        ("/w/x/libx.so", None),
    ],
)
def test_a_source_tree_is_known_by_the_path_of_a_module(path: str, tree: SourceTree | None) -> None:
    assert source_tree_of(path) == tree


def test_a_module_compiled_at_its_first_use_is_removed() -> None:
    path = "/h/.cache/torch_extensions/py38_cu113/fused/fused.so"
    assert folder_of_first_use(path) == "/h/.cache/torch_extensions/py38_cu113/fused"
    assert "rm -rf /h/.cache/torch_extensions/py38_cu113/fused  #" in explain(MISSING.format(path))[0].causes[0].fix
    text = "Loading extension module fused...\nImportError: undefined symbol: _ZN3c1019UndefinedTensorImpl10_singletonE"
    assert "rm -rf ~/.cache/torch_extensions  #" in explain(text)[0].causes[0].fix


def test_the_folder_of_a_setup_py_is_none_of_a_first_use() -> None:
    log = "Emitting ninja build file /w/build/temp.linux-x86_64-3.8/build.ninja..."
    assert not log_facts(log).first_use
