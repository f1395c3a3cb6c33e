"""Remedies that participants of public threads report as helpful, or that a page of the package gives: the fix of the
first cause must be a command for it. Texts were shortened; folders were made up."""

from __future__ import annotations

import pytest

from abiscan.diagnosis import explain
from abiscan.releases import ReleaseIndex
from tests.diagnosis.reported import knowledge_of_text

_WARNING = (
    "_ZN3c107WarningC1ENS_7variantIJNS0_11UserWarningENS0_18DeprecationWarningEEEERKNS_14SourceLocationENSt7__cxx1112"
    "basic_stringIcSt11char_traitsIcESaIcEEEb"
)
# Thread or page, text, cause, words of the remedy.
THREADS = (
    (
        "deepseek-ai/DeepGEMM/issues/137",
        "ImportError: /x/deep_gemm_cpp.cpython-312-x86_64-linux-gnu.so: undefined symbol: cudaLibraryGetKernel, "
        "version libcudart.so.12",
        "cuda-library-mismatch",
        ("--index-url https://download.pytorch.org/whl/cu128", "LD_PRELOAD=/usr/local/cuda-12.8/lib64/libcudart.so.12"),
    ),
    (
        "sgl-project/sglang/issues/18203 and pull/18747",
        "[sgl_kernel] CRITICAL: Could not load any common_ops library!\n- ImportError: libcudart.so.12: cannot open "
        "shared object file: No such file or directory",
        "cuda-library-mismatch",
        ("sgl-kernel --index-url https://docs.sglang.io/whl/cu130",),
    ),
    (
        "agentica-project/rllm/issues/8",
        "ImportError: common_ops.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEa",
        "built-for-older-torch",
        ("sgl-kernel==0.3.21",),
    ),
    (
        "meta-pytorch/torchcodec/issues/1631",
        "OSError: dlopen(/x/torchcodec/libtorchcodec_core8.dylib, 6): Library not loaded: @rpath/libavutil.60.dylib",
        "library-missing",
        ("brew install ffmpeg", "export DYLD_FALLBACK_LIBRARY_PATH=$(brew --prefix ffmpeg)/lib"),
    ),
    (
        "meta-pytorch/torchcodec/issues/1180",
        "torch 2.10.0\nRuntimeError: Could not load libtorchcodec. Likely causes:",
        "library-missing",
        ('"torchcodec==0.10.*"',),
    ),
    (
        "facebookresearch/detectron2/issues/2472",
        "ImportError: /x/site-packages/detectron2/_C.cpython-36m-x86_64-linux-gnu.so: undefined symbol: "
        "_ZN6caffe28TypeMeta21_typeMetaDataInstanceIdEEPKNS_6detail12TypeMetaDataEv",
        "built-for-older-torch",
        ('"git+https://github.com/facebookresearch/detectron2.git"',),
    ),
    (
        "deepspeedai/DeepSpeed/issues/1625 and pull/1879",
        "ImportError: /x/.cache/torch_extensions/py38_cu111/cpu_adam/cpu_adam.so: undefined symbol: "
        "curandCreateGenerator",
        "library-not-linked",
        ("LD_PRELOAD=libcurand.so", "rm -rf /x/.cache/torch_extensions/py38_cu111/cpu_adam"),
    ),
)


@pytest.mark.parametrize(("thread", "text", "cause", "remedy"), THREADS, ids=[thread for thread, *_ in THREADS])
def test_the_fix_is_the_remedy_of_the_thread(
    thread: str, text: str, cause: str, remedy: tuple[str, ...], index: ReleaseIndex
) -> None:
    first = explain(text, knowledge_of_text(text, index))[0].causes[0]
    assert first.cause.value == cause, thread
    assert [each for each in remedy if each not in first.fix] == []


def test_an_example_with_the_old_string_is_of_a_torch_that_has_it(index: ReleaseIndex) -> None:
    """Wheels of torch 2.7 and later have only the C++11 std::string: mamba-ssm has no file of the other for them."""
    file = "/x/site-packages/selective_scan_cuda.cpython-310-x86_64-linux-gnu.so"
    text = f"ImportError: {file}: undefined symbol: {_WARNING}"
    first = explain(text, knowledge_of_text(text, index))[0].causes[0]
    assert first.cause.value == "cxx11-abi-mismatch"
    assert "torch2.6cxx11abiFALSE" in first.fix
