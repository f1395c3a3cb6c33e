"""A CUDA library that was not found: its release, and where it is. Oracle: what solved the threads that are named."""

from __future__ import annotations

from abiscan.library.api import explain

MISSING = "ImportError: {}: cannot open shared object file: No such file or directory\n"


def test_up_to_cuda_10_a_name_has_both_numbers_of_the_release() -> None:
    """https://github.com/GOATmessi8/ASFF/issues/81: cudatoolkit 10.0 has libcudart.so.10.0 alone."""
    text = MISSING.format("libcudart.so.10.1") + "conda install pytorch=1.3.1 torchvision cudatoolkit=10.0 -c pytorch"
    cause = explain(text)[0].causes[0]
    assert cause.cause == "cuda-library-mismatch"
    assert cause.fix.startswith("Install a build of the extension for CUDA 10.0")
    assert "LD_LIBRARY_PATH" not in cause.fix


def test_from_cuda_11_on_a_name_has_the_major_release() -> None:
    """https://docs.nvidia.com/cuda/cuda-toolkit-release-notes: libcudart.so.11.0 is of every CUDA 11."""
    text = MISSING.format("libcudart.so.11.0") + "torch 2.0.1+cu118"
    assert "built for CUDA 11.8, the same CUDA release" in " ".join(
        line for cause in explain(text)[0].causes for line in cause.evidence
    )


def test_a_library_of_a_listed_package_is_installed() -> None:
    """https://github.com/NVIDIA/TransformerEngine/issues/1853: cuDNN of pip is outside the loader's search path."""
    text = MISSING.format("libcudnn_adv.so.9") + "nvidia-cudnn-cu12        9.7.1.26\ntorch    2.7.0+cu128"
    cause = explain(text)[0].causes[0]
    assert cause.cause == "import-torch-first"
    assert "import nvidia.cudnn; print(list(nvidia.cudnn.__path__)[0])" in cause.fix


def test_conda_has_the_toolkit_of_one_release() -> None:
    """https://github.com/conda-forge/pytorch-cpu-feedstock/issues/135"""
    text = (
        "mamba create -n test pytorch==1.12=*cuda112* -c conda-forge\n    from torch._C import *  # noqa: F403\n"
        + MISSING.format("libcupti.so.11.2")
    )
    assert explain(text)[0].causes[0].fix.startswith("conda install -c conda-forge cudatoolkit=11.2")


def test_an_image_of_nvidia_has_extensions_for_its_own_torch() -> None:
    """https://github.com/huggingface/transformers/issues/28230"""
    name = "_ZN2at4_ops5zeros4callEN3c108ArrayRefINS2_6SymIntEEENS2_8optionalINS2_10ScalarTypeEEENS6_INS2_6LayoutEEE"
    file = "/usr/local/lib/python3.10/dist-packages/transformer_engine_extensions.cpython-310-x86_64-linux-gnu.so"
    text = (
        "torch==2.1.2+cu121\nPytorch's NGC docker [23:10-py3]\n"
        f"ImportError: {file}: undefined symbol: {name}NS6_INS2_6DeviceEEENS6_IbEE"
    )
    cause = explain(text)[0].causes[0]
    assert cause.cause == "distribution-variant"
    assert cause.fix.startswith("pip uninstall -y transformer-engine transformer-engine-torch")


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
