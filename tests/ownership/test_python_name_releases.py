"""The table of Python names. Oracle: the release notes of the packages."""

from __future__ import annotations

import sys

import pytest

from abiscan.data import read_compressed
from abiscan.ownership.python_name_releases import FILE, MODULE, find_names


@pytest.mark.parametrize(
    ("module", "name", "specifier"),
    [
        ("torch", f"_six{MODULE}", "<2.0.0"),
        ("torch._six", "container_abcs", "<1.9.0"),
        ("torch", "inference_mode", ">=1.9.0"),
        ("torch.library", "custom_op", ">=2.4.0"),
        ("torch", "frombuffer", ">=1.10.0"),
        ("torch.Tensor", "untyped_storage", ">=2.0.0"),
        ("torchvision.transforms", f"functional_tensor{MODULE}", ">=0.5.0,<0.17.0"),
        ("transformers", "top_k_top_p_filtering", "<4.39.0"),
        ("huggingface_hub", "cached_download", "<0.26.0"),
        ("torch._C", "_set_torch_function_mode", ">=1.12.0,<2.0.0"),
        ("torch._C", "_cuda_beginAllocateCurrentStreamToPool", ">=2.1.0"),
        ("numpy", "int", "<1.24.0"),
        ("numpy", "Inf", "<2.0.0"),
        ("numpy", "in1d", "<2.4.0"),
        ("flash_attn.flash_attn_interface", "flash_attn_unpadded_func", "<2.0.0"),
        ("mmcv", f"runner{MODULE}", "<2.0.0"),
        ("mmdet", f"core{MODULE}", "<3.0.0"),
        ("mmdet3d", f"core{MODULE}", "<1.1.0"),
    ],
)
def test_releases_of_a_name(module: str, name: str, specifier: str) -> None:
    names = find_names(module)
    assert names is not None
    assert names.specifiers(names.ranges(module, name)) == [specifier]


def test_names_of_every_release_are_not_stored() -> None:
    names = find_names("torch")
    assert names is not None
    assert not names.ranges("torch.nn", "Linear")
    assert not names.ranges("torch.nn", "NoSuchModule")


def test_a_python_without_lzma_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(OSError, match="module lzma") as raised:
        read_compressed(FILE)
    assert raised.value.filename.endswith(FILE)
