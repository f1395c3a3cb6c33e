"""Torch and Python versions in a log. The lines are output of collect_env, pip, conda and prompts."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.log_facts import LogFacts
from abiscan.diagnosis.messages.find_log_facts import log_facts
from abiscan.diagnosis.messages.message_paths import paths_in
from abiscan.diagnosis.messages.source_builds import find_source_build


@pytest.mark.parametrize(
    ("text", "torch"),
    [
        ("PyTorch version: 2.1.0a0+git7bcf7da\nIs debug build: False", "2.1.0a0+git7bcf7da"),
        ("PyTorch version: 1.4.0\nCUDA used to build PyTorch: None", "1.4.0+cpu"),
        ("PyTorch version: 2.4.0\nCUDA used to build PyTorch: N/A\nROCM used to build PyTorch: 6.1.4", "2.4.0+rocm6.1"),
        ("torch                              1.9.1+cu111\ntorch-cluster    1.6.0", "1.9.1+cu111"),
        (">>> torch.__version__\n'2.1.2+cu121'", "2.1.2+cu121"),
        ("Name: torch\nVersion: 2.4.0+cu121\nSummary: x", "2.4.0+cu121"),
        ("pytorch                   1.8.1           py3.8_cuda11.1_cudnn8.0.5_0    pytorch", "1.8.1+cu111"),
        ("PyTorch version: 1.9.0\nIs debug build: False\nCUDA used to build PyTorch: 11.1", "1.9.0+cu111"),
        ("PyTorch version: 1.9.0\nCUDA used to build PyTorch: 11.1\n>>> torch.version.cuda\n'10.2'", "1.9.0"),
        (">>> torch.__version__\n'1.9.0'\n>>> torch.version.cuda\n'11.1'", "1.9.0+cu111"),
        ("torch 1.9.0 (cu111)", "1.9.0+cu111"),
        ("Torch: 2.0.1 cu11.8", "2.0.1+cu118"),
        ("torch 2.5.1 cu12", "2.5.1"),
        # Tags of images: hub.docker.com/r/pytorch/pytorch/tags, runpod/pytorch, AWS's deep learning containers, NGC.
        ("FROM pytorch/pytorch:2.0.1-cuda11.7-cudnn8-devel", "2.0.1+cu117"),
        ("image pytorch:2.0.1-py3.10-cuda11.8.0", "2.0.1+cu118"),
        ("pytorch-training:2.0.1-gpu-py310-cu118-ubuntu20.04-ec2", "2.0.1+cu118"),
        ("FROM nvcr.io/nvidia/pytorch:23.10-py3", None),
        ("torch 1.9.0, CUDA 11.1 on the machine", "1.9.0"),
        ("[pip3] torch==1.8.0\n[pip3] torchaudio==0.8.0a0+a751e1d", "1.8.0"),
        ("pytorch=1.13.1+cu117, python=3.9", "1.13.1+cu117"),
        ("my torch is 2.3.1.", "2.3.1"),
        ("my torch is 2.3.1+cu121.", "2.3.1+cu121"),
        ("torch==2.2.0a0+81ea7a4.nv23.12", "2.2.0a0+81ea7a4.nv23.12"),
        ("\u6211\u7684torch\u7248\u672c\u662f2.1.0", "2.1.0"),
        ("PyTorch 2.0.1+cu118 with CUDA 1108 (you have 2.1.0+cu121)", "2.1.0+cu121"),
        ("RuntimeError: Expected PyTorch version 1.4 but found version 1.5.", "1.5"),
        ("I built it from source (v2.3.0, 2.3.0a0+git97ff6cf)", "2.3.0a0+git97ff6cf"),
        ("PyTorch from 2.3.0a0+git97ff6cf or 2.4.0a0+git1234567", None),
        # The most reliable lines count: a command that was tried may have failed.
        ("pip install torch==2.4.0\nPyTorch version: 2.3.0+cu121", "2.3.0+cu121"),
        # Contradictory lines are ignored.
        ("works with torch 2.6.0 and not with torch 2.7.0", "2.7.0"),
        ("it no longer works with torch 2.7.0", "2.7.0"),
        ("flash_attn-2.7.4+cu12torch2.4cxx11abiTRUE-cp310.whl and torch-1.9.0+cu111.html", None),
        ("Uninstalling torch-2.0.0", None),
        ("torchvision 0.20.1", None),
        ("pytorch-triton           3.0.0", None),
        ("requires torch 2.0", None),
        ("\u6211\u7684 torch \u662f 1.12.1+cu113\u3002", "1.12.1+cu113"),
        (" torch.__version__ '2.1.0+cu118'", "2.1.0+cu118"),
        ("$ python -c 'import torch; print(torch.__version__, torch.version.cuda)'\n2.5.1 12.4", "2.5.1"),
        # xFormers, xformers/_cpp_lib.py: the release that it was built for, and in brackets the installed one.
        ("PyTorch 2.1.2+cu121 with CUDA 1201 (you have 2.2.0)\n    Python  3.10.13 (you have 3.10.6)", "2.2.0"),
        ("I upgraded from torch 2.3.0 to torch 2.6.0", "2.6.0"),
        ("It works with torch 2.3.0. With torch 2.6.0:", "2.6.0"),
        ("libtorch-cxx11-abi-shared-with-deps-2.0.1+cpu.zip", "2.0.1+cpu"),
        ("libtorch-shared-with-deps-1.13.1+cu117.zip, PyTorch version: 2.0.1", "2.0.1"),
        # In text without spaces, a version ends before non-ASCII characters.
        ("PyTorch 2.12.1\u7248\u672c\u62a5\u9519", "2.12.1"),
        ("\u4f7f\u7528PyTorch 2.12.1\u548cCUDA 13.0\u65f6", "2.12.1"),
        ("\u5728torch 2.12.1\u4e0a:", "2.12.1"),
        # tools/generate_torch_version.py of pytorch, for a source without git.
        ("torch is 2.1.0a0+gitUnknown here", "2.1.0a0+gitUnknown"),
        ("", None),
    ],
)
def test_torch(text: str, torch: str | None) -> None:
    assert log_facts(text).torch == torch


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("Python version: 3.11.3 (main, Apr 19 2023) [GCC 12.2.1] (64-bit runtime)", (3, 11)),
        ('File "/opt/conda/lib/python3.8/site-packages/torch/__init__.py"', (3, 8)),
        ("Python 3.8.13 (default, Oct 21 2022, 23:50:54) ", (3, 8)),
        ("/usr/lib/python3.8/a and /usr/lib/python3.9/b", None),
        ("", None),
    ],
)
def test_python(text: str, python: tuple[int, int] | None) -> None:
    assert log_facts(text) == LogFacts(None, python)


def test_paths() -> None:
    text = "ImportError: /a/site-packages/x/_C.so: undefined symbol: f\nsee https://example.org/b.so and ./c.so"
    assert paths_in(text) == ("/a/site-packages/x/_C.so",)


@pytest.mark.parametrize(
    ("text", "companions"),
    [
        (
            "torch        2.4.0\ntorchaudio   2.4.0\ntorchvision  0.18.1\n",
            {"torchvision": "0.18.1", "torchaudio": "2.4.0"},
        ),
        ("Name: torchvision\nVersion: 0.17.0+cu121\n", {"torchvision": "0.17.0+cu121"}),
        ("torch==2.2.1+cpu\ntorchvision==0.17.1+cu121", {"torchvision": "0.17.1+cu121"}),
        (">>> torchvision.__version__\n'0.20.1'", {"torchvision": "0.20.1"}),
        ("pytorch version is 1.10.1 and torchvision version is: 0.11.2+cu102.", {"torchvision": "0.11.2+cu102"}),
        ("torchvision\u7248\u672c\u662f0.15.2", {"torchvision": "0.15.2"}),
        ("torchvision 0.15.2 and torchvision 0.16.0", {}),
        ("pip uninstall torchvision 0.15.2", {}),
        ("my-torchvision 0.15.2", {}),
    ],
)
def test_packages_that_are_released_with_torch(text: str, companions: dict[str, str]) -> None:
    assert log_facts(text).companions == companions


@pytest.mark.parametrize(
    ("text", "cxx11_abi"),
    [
        (">>> torch._C._GLIBCXX_USE_CXX11_ABI\nTrue", True),
        ("print(torch._C._GLIBCXX_USE_CXX11_ABI)\nFALSE", False),
        ("torch.compiled_with_cxx11_abi() = True", True),
        ("g++ -D_GLIBCXX_USE_CXX11_ABI=0 -c a.cpp", None),
        ("torch.compiled_with_cxx11_abi() returns True", True),
        ("print(torch._C._GLIBCXX_USE_CXX11_ABI) -> True, torch 2.5.1", True),
        ("`_GLIBCXX_USE_CXX11_ABI` is `False`", False),
        ("torch.compiled_with_cxx11_abi()\u8fd4\u56deTrue", True),
        ("-c 'import torch; print(torch.__version__, torch.compiled_with_cxx11_abi())'\n2.5.1 True", True),
        # torch.__config__.show(): compiler flags of torch.
        ("PyTorch built with:\n  - GCC 9.3\n  - Build settings: CXX_FLAGS= -D_GLIBCXX_USE_CXX11_ABI=0 -O2", False),
        # The names of libtorch's archives on its download page.
        ("libtorch-cxx11-abi-shared-with-deps-2.0.1+cpu.zip", True),
        ("libtorch-shared-with-deps-1.13.1+cu117.zip", False),
        # conda list: name, version, build, channel.
        ("pytorch                   2.4.1           cuda120_py311h25b6552_300    conda-forge", True),
        ("pytorch                   2.4.1           py3.11_cuda12.1_cudnn9.1.0_0    pytorch", None),
        ("torch.compiled_with_cxx11_abi(): True\ntorch.compiled_with_cxx11_abi(): False", None),
    ],
)
def test_the_string_that_torch_was_built_with(text: str, cxx11_abi: bool | None) -> None:
    assert log_facts(text).cxx11_abi is cxx11_abi


def test_a_label_tells_the_string() -> None:
    """Release notes of PyTorch 2.6: its wheels for CUDA 12.6 are built with CXX11_ABI=1, those for CUDA 12.4 with 0."""
    assert log_facts("PyTorch version: 2.6.0+cu126").cxx11_abi is True
    assert log_facts("PyTorch version: 2.6.0+cu124").cxx11_abi is None


@pytest.mark.parametrize(
    ("text", "torch"),
    [
        ("- PyTorch Version (e.g., 1.0): 1.7.1", "1.7.1"),
        ("- PyTorch version (GPU?): 1.10.0+cu111 (True)", "1.10.0+cu111"),
        ("torch version .................... 2.0.1+cu117", "2.0.1+cu117"),
        ("In [2]: torch.__version__\nOut[2]: '1.1.0'", "1.1.0"),
        ("| PyTorch | 2.5.1+cu124 |", "2.5.1+cu124"),
        ("- **PyTorch**: 2.1.0", "2.1.0"),
        ("- torch `2.3.0a0+40ec155e58.nv24.03`", "2.3.0a0+40ec155e58.nv24.03"),
        ("### PyTorch version\n\n2.1.0", "2.1.0"),
        ("Successfully installed torch-2.3.1 torchvision-0.18.1", "2.3.1"),
        ("I upgraded to the 1.2.0 version of pytorch", "1.2.0"),
        ("/home/user/envs/torch0.4.1/lib/python3.6/", "0.4.1"),
        ("Backend Library & Version (e.g., PyTorch 0.4.1): pytorch 1.9.0", "1.9.0"),
        ("PyTorch 2.5.1 with CUDA 1204 (you have 2.6.0)\nPython  3.10.11 (you have 3.10.0)", "2.6.0"),
        ("Found existing installation: torch 2.1.0", None),
        ("torch 2.1.0 -> 2.2.0", None),
    ],
)
def test_forms_in_which_a_torch_is_named(text: str, torch: str | None) -> None:
    """Issue templates of PyTorch, Transformers and DGL, ds_report, IPython, Markdown, pip, xFormers."""
    assert log_facts(text).torch == torch


@pytest.mark.parametrize(
    ("text", "built"),
    [
        ("I built PyTorch 2.3.0 from source", True),
        ("torch 2.1.0 was built from source.", True),
        ("PyTorch 2.1.0 compiled from source, CUDA 12.1", True),
        ("PyTorch (which I compiled myself from source)", True),
        ("a source-built torch", True),
        ("\u6211\u4ece\u6e90\u7801\u7f16\u8bd1\u4e86PyTorch 2.1.0", True),
        ("\u4ece\u6e90\u4ee3\u7801\u6784\u5efa\u7684torch", True),
        ("PyTorch\u662f\u4ece\u6e90\u7801\u7f16\u8bd1\u7684", True),
        ("My PyTorch 2.1.0 (CUDA 12.0) was compiled from source, torch-scatter wheel fails", True),
        ("torch-scatter mismatch after compiling from source PyTorch 2.1", True),
        ("PyTorch and torch-scatter were both built from source", True),
        ("How you installed PyTorch (`conda`, `pip`, source): source", True),
        ("I cloned pytorch and ran python setup.py install; the wheel of torch-scatter fails", True),
        ("PyTorch \u4e0d\u662f pip \u88c5\u7684,\u662f\u6e90\u7801\u7f16\u8bd1\u7684", True),
        ("\u7f16\u8bd1\u5b89\u88c5\u7684 PyTorch 2.1.0", True),
        # About extensions, not torch.
        ("pip install torch==2.1.0 && python setup.py install", False),
        ("I built torch-scatter from source against torch 2.1.0", False),
        ("torch 2.1.0+cu118 (pip). Building torch-sparse from source fails", False),
        ("torch 2.12: pip tries to build flash-attn from source", False),
        ("I built torch-scatter from source", False),
        ("torchvision was built from source", False),
        ("\u4ece\u6e90\u7801\u7f16\u8bd1PyTorch Scatter", False),
        ("pip install torch; then mmcv was built from source", False),
        ("torch/csrc compiled, errors from source files", False),
        ("torch 2.1.0: source build of torchvision fails", False),
        ("torch, custom build of mmcv", False),
        ("pip torch 2.1.0, local build of torch_scatter", False),
        ("pip \u88c5\u7684 torch \u548c\u81ea\u5df1\u7f16\u7684 torch-scatter", False),
        ("torch 2.6.0 \u52a0\u8f7d\u81ea\u5df1\u7f16\u7684 so \u62a5 undefined symbol", False),
        ("torch 2.6.0 \u52a0\u8f7d\u81ea\u5df1\u7f16\u7684 my_ops.so \u62a5 undefined symbol", False),
        ("torch 2.6.0 \u52a0\u8f7d\u81ea\u5df1\u7f16\u8bd1\u7684\u52a8\u6001\u5e93\u62a5\u9519", False),
        ("torch 2.6.0, self-compiled my_ops.so: undefined symbol", False),
        ("torch 2.6.0 \u662f\u81ea\u5df1\u7f16\u7684 \u52a0\u8f7d my_ops.so \u62a5\u9519", True),
        ("\u81ea\u5df1\u7f16\u7684 torch 2.6.0 \u52a0\u8f7d my_ops.so", True),
        ("my torch 2.6.0 is self-compiled so the wheel fails", True),
        # Not there, or not yet.
        ("Do I need a local build of torch 2.1.0?", False),
        ("If you use a local build of torch", False),
        ("Not a local build of torch", False),
        ("torch 2.1.0, \u4e0d\u662f\u672c\u5730 build \u7684", False),
        ("see https://github.com/pytorch/pytorch/issues/1, then pip install torch-scatter", False),
        ("Requires-Dist: torch>=2.1.0a0", False),
        ("Successfully built torch-scatter torch-sparse", False),
        ("Is torch_scatter built torch 2.1 compatible?", False),
        ("The wheel of torch_scatter was built for torch 2.1", False),
        ("torch 2.12.0a0 of the main branch", True),
        ("git clone https://github.com/pytorch/pytorch\ncd pytorch\npip install -e .", True),
        ("Built PyTorch 2.3 with CUDA 12.1 last week", True),
    ],
)
def test_torch_from_source(text: str, *, built: bool) -> None:
    assert (find_source_build(text) is not None) is built


@pytest.mark.parametrize(
    ("text", "torch"),
    [
        ("PyTorch built from source, v2.1.0, CUDA 12.0", "2.1.0"),
        ("PyTorch built from source (tag v2.1.0)", "2.1.0"),
        ("torch built from source 2.1.0", "2.1.0"),
        ("torch \u4ece\u6e90\u7801\u7f16\u8bd1 2.1.0", "2.1.0"),
        ("torch built from source (python setup.py install) 2.1.0", "2.1.0"),
        ("I compiled torch by hand, 2.1.0", "2.1.0"),
        ("torch \u81ea\u5df1\u6e90\u7801\u7f16\u8bd1\u7684 2.1.0", "2.1.0"),
        ("torch 2.6.0a0+git", "2.6.0a0+git"),
        ("torch built from source 2.5 + CUDA 12.4", "2.5"),
        # Of CUDA, a time and an extension.
        ("I built torch from source, 1.5 hours", None),
        ("torch built from source, CUDA 12.0", None),
        ("I built torch from source, 2.1.2 of torch-scatter", None),
        ("I built torch from source, 2.1.2 torch-scatter", None),
        ("torch built from source. 2.1.2 is the release of torch-scatter", None),
    ],
)
def test_release_of_a_source_build(text: str, torch: str | None) -> None:
    """Oracle: what the sentences say."""
    assert log_facts(text).torch == torch
    assert log_facts(text).from_source


def test_the_only_shared_object_names_the_package() -> None:
    text = "flashinfer_kernels.abi3.so does not load"
    assert log_facts(text).project == "flashinfer-python"
    assert not log_facts(f"{text}, as flash_attn_2_cuda.so").project
    assert not log_facts("libfoo.so and libtorch_cpu.so").project


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("on PyTorch 1.12.1 and CUDA 11.3", "cu113"),
        ("CUDA Version: 11.8", "cu118"),
        ("CUDA toolkit 12.1.105", "cu121"),
        ("CUDA 11.3, later CUDA 12.1", ""),
        # nvidia-smi: what the driver supports.
        ("Driver Version: 535.104.05   CUDA Version: 12.2", ""),
        ("libcudart.so.11.0", ""),
    ],
)
def test_the_only_cuda_release_of_a_text(text: str, variant: str) -> None:
    assert log_facts(text).variant == variant
