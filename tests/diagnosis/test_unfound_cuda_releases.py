"""A CUDA library that was not found: its release, and where it is. Oracle: what solved the threads that are named."""

from __future__ import annotations

from abiscan.library.api import explain

MISSING = "ImportError: {}: cannot open shared object file: No such file or directory\n"


def test_from_cuda_11_on_a_name_has_the_major_release() -> None:
    """https://docs.nvidia.com/cuda/cuda-toolkit-release-notes: libcudart.so.11.0 is of every CUDA 11."""
    text = MISSING.format("libcudart.so.11.0") + "torch 2.0.1+cu118"
    assert "built for CUDA 11.8, the same CUDA release" in " ".join(
        line for cause in explain(text)[0].causes for line in cause.evidence
    )


def test_first_lines_of_a_package_import_no_torch() -> None:
    """https://github.com/parlance/ctcdecode/issues/92: import torch before ctcdecode."""
    module = "/e/lib/python3.6/site-packages/ctcdecode/_ext/ctc_decode.cpython-36m-x86_64-linux-gnu.so"
    text = (
        'File "<stdin>", line 1, in <module>\n'
        '  File "/e/lib/python3.6/site-packages/ctcdecode/__init__.py", line {}, in <module>\n'
        f"    from ._ext import ctc_decode\nImportError: {module}: undefined symbol: "
        "_ZN2at19UndefinedTensorImpl10_singletonE"
    )
    assert explain(text.format(1))[0].causes[0].cause == "import-torch-first"
    assert explain(text.format(30))[0].causes[0].cause == "built-for-older-torch"
