"""Fixes for the copy of an extension that Python loads. Oracle: what solved the threads that are named, and where
setuptools writes (https://setuptools.pypa.io/en/latest/userguide/development_mode.html)."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.loaded_copies import SourceTree, folder_of_first_use, source_tree_of
from abiscan.diagnosis.messages.find_log_facts import log_facts
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


def test_a_module_of_a_source_tree_is_built_there() -> None:
    """https://github.com/JimmyChame/SADNet/issues/15: delete the build and compile it again in the folder."""
    path = f"/w/SADNet/dcn/deform_conv_cuda.{TAG}"
    fix = explain(MISSING.format(path))[0].causes[0].fix
    assert f"rm -rf build {path} && python setup.py build_ext --inplace" in fix
    assert "pip install --no-build-isolation" not in fix


def test_a_module_of_a_build_folder_is_built_there() -> None:
    """https://github.com/feihuzhang/GANet/issues/6: its compile.sh copies build/lib.* to build/lib."""
    fix = explain(MISSING.format(f"/w/GANet/build/lib/GANet.{TAG}"))[0].causes[0].fix
    assert "rm -rf build && python setup.py build && cp -r build/lib.* build/lib" in fix


def test_an_installed_module_is_built_by_pip() -> None:
    fix = explain(MISSING.format(f"/e/lib/python3.6/site-packages/x/_C.{TAG}"))[0].causes[0].fix
    assert "pip install --no-build-isolation" in fix
    assert "--inplace" not in fix


def test_a_module_compiled_at_its_first_use_is_removed() -> None:
    path = "/h/.cache/torch_extensions/py38_cu113/fused/fused.so"
    assert folder_of_first_use(path) == "/h/.cache/torch_extensions/py38_cu113/fused"
    assert "rm -rf /h/.cache/torch_extensions/py38_cu113/fused  #" in explain(MISSING.format(path))[0].causes[0].fix
    text = "Loading extension module fused...\nImportError: undefined symbol: _ZN3c1019UndefinedTensorImpl10_singletonE"
    assert "rm -rf ~/.cache/torch_extensions  #" in explain(text)[0].causes[0].fix


def test_gcc_4_has_only_the_old_string() -> None:
    """https://github.com/open-mmlab/mmaction/issues/89: GCC 5 in place of 4.9. torch 1.5 needs GCC 5
    (c10/util/C++17.h of its wheel)."""
    old = "ImportError: /e/site-packages/x/_C.so: undefined symbol: _ZN3c105ErrorC1ENS_14SourceLocationERKSs\n"
    assert "GCC 5 or later" in explain(old)[0].causes[0].fix
    for torch in ("1.5.0", "2.7.0"):
        newer = f"_ZN3c105ErrorC2ENS_14SourceLocationESs\ntorch {torch}"
        assert "GCC 5" not in "".join(cause.fix for cause in explain(newer)[0].causes)


def test_a_package_of_a_vendor_is_for_the_vendors_torch() -> None:
    """https://github.com/MooreThreads/torch_musa#installation"""
    name = "_ZN2at18_GeneratorRegisterC1ESt8functionIFNS_9GeneratorEaEE"
    text = f"ImportError: /e/site-packages/torch_musa/lib/libmusa_kernels.so: undefined symbol: {name}\ntorch 2.0.0+cpu"
    assert explain(text)[0].causes[0].fix.startswith("Use the torch of Moore Threads")


def test_a_mac_of_apple_takes_no_archive_for_intel() -> None:
    """https://github.com/guillaume-be/rust-bert/issues/274: the torch of pip has the libraries for arm64."""
    name = (
        "__ZN2at4_ops5zeros4callEN3c108ArrayRefIxEENS2_8optionalINS2_10ScalarTypeEEENS5_INS2_6LayoutEEENS5_INS2_6Device"
    )
    text = f"cargo run\ndyld[1]: symbol not found in flat namespace ({name}EEENS5_IbEE)\nMac M1"
    cause = explain(text)[0].causes[0]
    assert cause.cause == "unusable-file"
    assert "pip install torch==1.12.1; export LIBTORCH=" in cause.fix
    assert "libtorch-macos-1.12.1.zip" in cause.fix


def test_the_folder_of_a_first_use_is_read_from_the_output_of_its_build() -> None:
    # torch/utils/cpp_extension.py prints it; `ninja: no work to do.` says that an older build is loaded.
    log = (
        "Emitting ninja build file /w/CCNet/cc_attention/build/build.ninja...\nninja: no work to do.\n"
        "Loading extension module rcca...\npytorch 1.4 cuda 10.1\n"
        "ImportError: libcudart.so.9.2: cannot open shared object file: No such file or directory"
    )
    fix = explain(log)[0].causes[0].fix
    assert "rm -rf /w/CCNet/cc_attention/build  # then run again" in fix


def test_the_folder_of_a_setup_py_is_none_of_a_first_use() -> None:
    log = "Emitting ninja build file /w/build/temp.linux-x86_64-3.8/build.ninja..."
    assert not log_facts(log).first_use


def test_a_module_beside_the_file_that_imports_it_is_built_there() -> None:
    """https://github.com/open-mmlab/OpenPCDet/issues/553: in the cloned folder, python setup.py develop."""
    text = (
        'File "/w/OpenPCDet/pcdet/ops/iou3d_nms/iou3d_nms_utils.py", line 9, in <module>\n'
        "    from . import iou3d_nms_cuda\n"
        "ImportError: libcudart.so.10.1: cannot open shared object file: No such file or directory\n"
        "torch 1.7.1+cu110"
    )
    fix = explain(text)[0].causes[0].fix
    assert "rm -rf build /w/OpenPCDet/pcdet/ops/iou3d_nms/iou3d_nms_cuda.*.so" in fix
    assert fix.startswith("export CUDA_HOME=/usr/local/cuda-11.0; ")
    assert "python setup.py build_ext --inplace" in fix


def test_an_image_of_nvidia_has_its_extensions_for_its_own_torch() -> None:
    """https://github.com/huggingface/accelerate/issues/1282: pip had replaced the torch of the image."""
    text = (
        "docker from: nvcr.io/nvidia/pytorch:22.09-py3\n"
        "ImportError: /opt/conda/site-packages/transformer_engine_extensions.cpython-38-x86_64-linux-gnu.so"
        ": undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    )
    fix = explain(text)[0].causes[0].fix
    assert "pip uninstall -y transformer-engine transformer-engine-torch" in fix
    assert "start from the image again" in fix
