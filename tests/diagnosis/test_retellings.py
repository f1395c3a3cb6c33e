"""Reports as people retell them, in English and Chinese: torch built from source with prebuilt extensions, HIP's
`__ldg` without an overload for c10::Half, a symbol that only Clang makes, a kernel of TorchInductor with an undefined
size, and a pybind11 function under Dynamo. Oracle: what the sentences say; pytorch_scatter issue 412."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.cause import CauseId, Confidence
from abiscan.report.explain_text import render

_OPTIONS = ScanOptions(None, None, LoaderSettings("/"))

_BUILT_FROM_SOURCE = (
    "自己编译的 PyTorch 2.1.0,安装 torch-scatter 后报版本不匹配",
    "源码编译的 torch 和 torch_scatter 版本不匹配",
    "自行编译的torch,import torch_scatter 失败",
    "I compiled PyTorch myself and now the pip torch-scatter wheel doesn't work",
    "PyTorch version: 2.1.0a0+git7bcf7da\npip install torch-scatter -f https://data.pyg.org/whl/torch-2.1.0+cu121.html",
    "我自己从源码编译了 torch 2.3,pip 装的 torch-sparse 报 undefined symbol",
    "手动编译的PyTorch和torch-cluster不兼容",
    "PyTorch是自己编译的,torch_scatter导入失败",
    "torch 是源码编译的,torch-scatter 装不上",
    "用源码编译安装的 PyTorch 2.1,torch-scatter 预编译包无法使用",
    "I built torch 2.2 by hand and torch_sparse fails to import",
    "torch-scatter does not load with our custom-built PyTorch",
    "My self-compiled PyTorch 2.1.0 and torch-cluster: version mismatch",
    "We use our own build of PyTorch and torch-scatter won't import: it can't find a symbol",
    "torch_scatter不支持自己编译的torch",
    "无法在自己编译的torch上加载torch-scatter",
    "torch-scatter no longer works after I compiled PyTorch 2.4 from source",
    "torch-scatter torch-sparse torch-cluster 都用 whl 装的, PyTorch v2.1.0 是源码编译",
    "PyTorch 2.1.0 (源码编译, CUDA 12.0), pip install torch-scatter -f https://data.pyg.org/whl/torch-2.1.0+cu121.html",
    "从源码安装 PyTorch 2.1.0 之后 torch-scatter 等 whl 不兼容",
    "自己 build 的 PyTorch 2.1.0+cu120, torch-scatter 版本不匹配",
    "Source-built torch 2.1.0, torch-scatter wheels do not load",
    "编译好的 PyTorch (main 分支) 和 torch_scatter wheel 不兼容",
    "No matching distribution found for torch-scatter with torch 2.1.0 compiled from source",
    "torch-scatter wheel does not match my torch 2.5.1, which I compiled from source",
    "Why does the torch-scatter wheel fail although my source build also says 2.1.0?",
    "no torch-scatter wheel for cu120, since I built PyTorch with CUDA 12.0",
    "I only have _scatter_cuda.so, and it does not load; my torch is built from source",
    "How do I install the extensions of torch-geometric when PyTorch is compiled from source?",
    "PyTorch Scatter 与源码编译的兼容性问题",
    "We maintain a fork of PyTorch (2.2). After pip install torch-scatter -f ...: undefined symbol",
    "PyTorch 2.0 编译自源码,torch_sparse 报 undefined symbol",
    "git clone pytorch; python setup.py develop; pip install torch_scatter: RuntimeError: PyTorch version mismatch",
    "torch_scatter segfaults, PyTorch was built from the v2.3.0 tag",
    "We have an internal PyTorch build (2.3 + patches). PyG's prebuilt wheels crash on import.",
    "My company ships its own PyTorch; torch-sparse wheel from data.pyg.org: undefined symbol",
    "源码编译pytorch, 安装pyg, 版本号对不上",
    "torch 2.2 built with debug (DEBUG=1 python setup.py develop) torch_scatter crash",
    "My lab built pytorch on the cluster. torch-cluster wheel from data.pyg.org cannot be imported",
    "对于torch-scatter等扩展库,去掉预编译包的-f参数,从源码安装",
    "源码安装 torch 之后 import torch_sparse 报错:undefined symbol",
    "After python setup.py develop in the pytorch repo, torch_scatter can no longer be imported",
    "Same CUDA 12.0 for both, yet torch-cluster from pip doesn't work with my compiled pytorch",
    "We patched PyTorch and rebuilt it; should torch-scatter be rebuilt as well?",
)

_NO_OVERLOAD = (
    "torch_scatter 编译失败,__ldg 不支持 c10::Half",
    "hipcc says __ldg has no overload for c10::Half",
    "HIP的__ldg实现不包括PyTorch特有的c10::Half类型",
    "segment_csr_cuda.hip __ldg 类型不匹配,我用的是 NVIDIA 显卡",
    "编译torch-scatter时hipcc找不到适用于c10::Half的__ldg",
    "__ldg 没有 c10::Half 的重载",
    "AMD 显卡上编译 torch_scatter,__ldg不匹配,类型是 at::Half",
    "ROCm 编译 torch-scatter 报 __ldg 类型错误",
    "HIP 缺少 __ldg(c10::Half const*) 的实现",
    "HIP does not support __ldg on c10::Half",
    "no overload of __ldg for at::Half in hipcc",
    "torch_scatter won't build on ROCm because __ldg doesn't accept c10::Half",
    "__ldg is not defined for c10::BFloat16 under HIP",
    "ROCm lacks __ldg for half types, segment_coo_hip.hip fails",
    "no matching function for call to '__ldg'",
    "编译torch-scatter报错 no matching function for call to '__ldg'",
    "PyTorch Scatter 的 __ldg 函数调用问题",
    "How can I add an __ldg overload for c10::Half under HIP?",
    "torch-scatter 2.0.9 fails on ROCm 6.1 + torch 2.4 with __ldg for c10::Half",
    "scatter2.0.9 no matching function for call to \u2018__ldg\u2019",
    "torch-scatter 2.0.9 __ldg error on HIP",
    "torch_scatter build fail MI210: no known conversion from 'const c10::Half *' to 'const char *' for 1st argument",
    "note: no known conversion from 'const c10::Half *' to 'const float *'\n__ldg(const float* ptr) {}",
    "有人在 ROCm 下编译过 pyg 吗?torch_scatter 卡在 __ldg",
    "[Bug] hipified segment_csr kernel does not compile (c10::Half / __ldg)",
    "torch-scatter 2.0.9 在 DCU 上編譯失敗,__ldg 沒有 c10::Half 的多載",
    "torch_scatter 2.0.9 setup.py install hipcc gfx906 __ldg c10::Half, dtk-22.10, torch 1.10",
    "hipcc: no matching function for call to __ldg (c10::Half), torch-scatter 2.0.9, ROCm 5.2",
    "csrc/hip/segment_csr_hip.hip:188:20: error: use of undeclared identifier '__ldg'",
    'error: identifier "__ldg" is undefined, torch 1.13 CUDA 11.7, torch-scatter',
    "HIP implementation of __ldg supports many basic types but not c10::Half, what can I do?",
    "在 AMD 显卡上装 torch-scatter,编译 segment_csr 时半精度类型报错",
    "my scatter build fails on half precision with the AMD compiler",
    "c10::Half __ldg",
    "I don't have an AMD GPU. Why does building torch-scatter complain about HIP and __ldg?",
    "能不能把 torch-scatter 里的 __ldg 直接换成普通读取 *p?",
    "hipcc 编译 pytorch_scatter 时 fp16 的只读缓存加载函数没有对应版本",
    "FAILED: csrc/hip/segment_csr_hip.o  hipcc ... candidate function not viable: no known conversion from "
    "'const c10::Half *' to 'const long *' for 1st argument\nRuntimeError: Error compiling objects for extension",
)

_NEITHER = (
    "We don't build PyTorch from source; training loss is NaN",
    "我没有从源码编译PyTorch, 训练 loss 为 nan",
    "教程: 如何从源码编译PyTorch",
    "PyTorch不是自己编译的, torch-scatter 版本不匹配",
    "our lab did not build torch from source; torch-scatter is slow",
    "scatter plot of the losses, torch from source",
    "no build of torch is patched here; torch-scatter trains well",
    "PyTorch不是自己 build 的, torch-scatter 版本不匹配",
    "How to make a local build of PyTorch 2.1.0",
    "torch 2.1.0 from PyPI, torch-scatter 自己编的, 训练 loss 为 nan",
    "I did not compile PyTorch myself; torch-scatter fails",
    "How to build PyTorch from source",
    "We never compiled PyTorch from source, torch_sparse fails",
    "怎么从源码编译torch?",
    "我想从源码编译PyTorch, torch-scatter 需要吗",
    "Built PyTorch from source; training loss is NaN",
    "torch 是官方wheel, torch-scatter 训练 loss 为 nan",
    "torch-scatter itself I compiled from source, accuracy is low",
    "__ldg loads through the read-only cache",
    "does __ldg support half?",
    "__ldg是CUDA中的一种特殊内存访问函数",
    "Use __ldg for c10::Half under CUDA, it works",
    "we replaced __ldg under HIP",
    "CUDA 的 __ldg 函数很快",
    "abiscan fix rewrites __ldg",
    "Jetson Orin: pip install torch-scatter takes long",
    "HIP's __ldg compiles for float",
    "__ldg 支持 c10::Half",
    "the HIP build reads with __ldg",
)


@pytest.mark.parametrize("text", _BUILT_FROM_SOURCE)
def test_torch_built_from_source(text: str) -> None:
    (subject,) = explain(text, _OPTIONS)
    assert subject.causes[0].cause is CauseId.DISTRIBUTION_VARIANT
    assert "--no-binary torch-" in subject.causes[0].fix


_MISSING_CHECK = (
    "OSError: /v/torch_scatter/_version_cuda.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
)


@pytest.mark.parametrize(
    "said",
    [
        "Source-built torch 2.1.0",
        "Source-built torch 2.1.0, CPU only (USE_CUDA=0)",
        "torch 自己编的 2.1.0",
        "torch 是我用源码 build 出来的 2.1.0",
        "torch 本地 build 的 2.1.0 (git clone, python setup.py develop)",
        "a local build of torch 2.1.0",
    ],
)
def test_no_wheel_for_a_source_build(said: str) -> None:
    """Oracle: what the text says; pytorch, c10/util/Exception.cpp: std::string is in its name."""
    (subject,) = explain(f"{said}\n{_MISSING_CHECK}", _OPTIONS)
    assert subject.causes[0].cause is CauseId.CXX11_ABI_MISMATCH
    assert "data.pyg.org" not in subject.causes[0].fix
    assert "--no-binary torch-scatter" in subject.causes[0].fix


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("源码编译 torch 后 torchvision::nms does not exist", '"git+https://github.com/pytorch/vision.git"'),
        (
            "I built torch 2.1.0 from source. RuntimeError: operator torchvision::nms does not exist",
            '"git+https://github.com/pytorch/vision.git@release/0.16"',
        ),
        (
            "torchaudio and torchvision wheels mismatch, torch 2.1.0 built from source",
            '"git+https://github.com/pytorch/audio.git@release/2.1" '
            '"git+https://github.com/pytorch/vision.git@release/0.16"',
        ),
        (
            "torch 2.1.0 源码编译, torch-scatter: The detected CUDA version (12.0) mismatches the version that was "
            "used to compile PyTorch (11.8). Please make sure to use the same CUDA versions.",
            "build torch from source again with CUDA 12.0",
        ),
    ],
)
def test_a_source_build_is_not_replaced(text: str, fix: str) -> None:
    """Oracle: the tables of releases in the README of pytorch/vision and in the documentation of torchaudio."""
    (subject,) = explain(text, _OPTIONS)
    assert fix in subject.causes[0].fix
    assert all(" torch==" not in each.fix and "force-reinstall torch " not in each.fix for each in subject.causes[:1])


@pytest.mark.parametrize(
    "said",
    [
        "ROCm torch 2.1, torch-scatter: OSError: libc10_cuda.so",
        "torch 2.1.0+rocm5.6, torch-scatter: OSError: libc10_cuda.so",
        "DCU 上装 torch-scatter: OSError: libc10_cuda.so",
        "AMD显卡 ROCm 5.6, torch-scatter wheel pt113cu117: ImportError: libcudart.so.11.0",
    ],
)
def test_a_library_of_cuda_without_a_gpu_of_nvidia(said: str) -> None:
    """Oracle: torch's wheels for ROCm contain libc10_hip.so, and no library of CUDA (their RECORD)."""
    (subject,) = explain(f"{said}: cannot open shared object file: No such file or directory", _OPTIONS)
    (cause,) = subject.causes
    assert cause.cause is CauseId.ROCM_NAMING
    assert "scatter" in cause.fix
    assert "nvidia" not in cause.fix


def test_a_library_of_cuda_with_a_torch_for_cuda() -> None:
    """The torch in the text is for CUDA: another GPU in the machine decides nothing."""
    text = "AMD Radeon, torch 2.1.0+cu121: OSError: libc10_cuda.so: cannot open shared object file: No such file"
    (subject,) = explain(text, _OPTIONS)
    assert subject.causes[0].cause is CauseId.IMPORT_TORCH_FIRST


def test_sources_for_a_hip_that_has_none() -> None:
    """Oracle: the rows of torch-scatter in the package catalogue: torch 1.10 has no source for HIP 5.6 and later."""
    text = (
        "DCU, dtk-22.10, torch 1.10, torch-scatter\n"
        "segment_csr_cuda.hip:33: error: no matching function for call to '__ldg'"
    )
    (subject,) = explain(text, _OPTIONS)
    assert "torch-scatter: no source is known that compiles unchanged with this torch and HIP 5.6 or later" in (
        subject.causes[0].fix.splitlines()
    )


def test_a_source_build_on_a_dcu() -> None:
    """Oracle: the text says that this torch is a source build; the build of extensions is for it."""
    (subject,) = explain("海光DCU, torch 2.1.0 源码编译, torch-scatter 版本不匹配", _OPTIONS)
    assert "torch must be Hygon's" not in subject.causes[0].fix
    assert subject.causes[0].fix.splitlines()[-1].startswith("or, instead of this torch, install Hygon's builds")


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("torch 从源码编译, import torch_scatter: ModuleNotFoundError: No module named 'scipy'", "pip install scipy"),
        (
            "torch 源码编译, torch-sparse: fatal error: parallel_hashmap/phmap.h: No such file or directory",
            "git submodule update --init --recursive",
        ),
    ],
)
def test_another_error_beside_a_source_build(text: str, fix: str) -> None:
    """Oracle: the messages; .gitmodules of pytorch_sparse has third_party/parallel-hashmap."""
    (subject,) = explain(text, _OPTIONS)
    assert subject.causes[0].cause is CauseId.LIBRARY_MISSING
    assert subject.causes[0].fix.endswith(fix)


def test_an_extension_that_imports_another() -> None:
    """Oracle: torch_sparse/storage.py of 0.6.18 imports torch_scatter."""
    (subject,) = explain("torch 2.1.0 built from source, torch-sparse wheel does not load", _OPTIONS)
    assert "--no-binary torch-sparse,torch-scatter torch-sparse torch-scatter" in subject.causes[0].fix


def test_packages_that_are_built_in_different_ways() -> None:
    """Oracle: setup.py of pytorch_scatter reads FORCE_CUDA; both packages are in the text."""
    text = "torch built from source 2.5 + CUDA 12.4, torchvision and torch-scatter wheels mismatch"
    (subject,) = explain(text, _OPTIONS)
    assert '"git+https://github.com/pytorch/vision.git@release/0.20"' in subject.causes[0].fix
    assert "FORCE_CUDA=1 pip install" in subject.causes[0].fix
    assert "--no-binary torch-scatter torch-scatter" in subject.causes[0].fix


@pytest.mark.parametrize(
    "text",
    [
        "ABI:PyTorch从源码编译时使用了不同的ABI设置,二进制接口不兼容。",
        "PyTorch扩展会检查主框架的版本,源码编译的版本无法通过预编译扩展的校验。",
        "扩展要解析PyTorch的符号,编译环境不一致时符号查找失败。",
    ],
)
def test_a_sentence_without_a_package(text: str) -> None:
    """Oracle: each sentence names torch, its extensions, and a failure."""
    (subject,) = explain(text, _OPTIONS)
    assert subject.causes[0].cause is CauseId.DISTRIBUTION_VARIANT
    assert subject.text == "torch"


@pytest.mark.parametrize(
    ("text", "present", "absent"),
    [
        ("ROCm 6.0 and python-pytorch-rocm 2.2.1, torch-scatter", ("pytorch_scatter.git",), ("==2.1.2", "HIP before")),
        ("HIP SDK 5.4 hipcc, torch 2.0, torch-scatter", ("==2.1.2",), ("32caa1c", "pyg-rocm-build")),
        ("torch-scatter 2.1.2 ROCm 6.1", (), ("2.0.9",)),
        (
            "torch-scatter2.0.9 PyTorch 1.13 CUDA 11.7",
            ("cu117", "may be newer than 2.0.9"),
            ("64-bit", "pyg-rocm-build"),
        ),
    ],
)
def test_the_hip_of_the_text(text: str, present: tuple[str, ...], absent: tuple[str, ...]) -> None:
    """Oracle: the rows `package.hip` of torch-scatter; the texts name the release of ROCm, or none."""
    (subject,) = explain(f"{text}: no matching function for call to '__ldg'", _OPTIONS)
    assert [word for word in present if word not in subject.causes[0].fix] == []
    assert [word for word in absent if word in subject.causes[0].fix] == []


def test_one_problem_beside_a_patched_load() -> None:
    """Oracle: the error of the text is HIP's hipErrorNoBinaryForGpu."""
    (subject,) = explain("torch-scatter on ROCm: hipErrorNoBinaryForGpu after patching __ldg, how to fix", _OPTIONS)
    assert subject.causes[0].cause is CauseId.GPU_ARCHITECTURE_MISMATCH


def test_a_message_of_nvcc_is_not_of_clang() -> None:
    """Oracle: nvcc 12 prints `no instance of overloaded function`, Clang 19 `no matching function for call to`."""
    text = 'error: no instance of overloaded function "__ldg" matches the argument list: (const c10::BFloat16 *)'
    (subject,) = explain(text, _OPTIONS)
    assert not any("Clang" in each for each in subject.causes[0].evidence)


def test_clang_compiles_for_cuda_too() -> None:
    """Oracle: llvm.org, Compiling CUDA with clang: nothing in the message shows HIP."""
    (subject,) = explain("my_kernel.cu:5:3: error: no matching function for call to '__ldg'", _OPTIONS)
    assert not any("compiler is HIP's" in each for each in subject.causes[0].evidence)


def test_no_gpu_of_hip() -> None:
    """Oracle: rocm.docs.amd.com, installation prerequisites (groups) and containers (devices)."""
    (subject,) = explain("torch-1.13.0+rocm5.2: RuntimeError: No HIP GPUs are available", _OPTIONS)
    assert "/dev/kfd" in subject.causes[0].fix
    assert not any(word in each.fix for each in subject.causes for word in ("nvidia", "NVIDIA", "--gpus"))


@pytest.mark.parametrize("text", _NO_OVERLOAD)
def test_no_overload_of_load(text: str) -> None:
    (subject,) = explain(text, _OPTIONS)
    assert subject.causes[0].cause is CauseId.HALF_INTRINSIC
    assert "torch-scatter" in subject.causes[0].fix


@pytest.mark.parametrize(
    "text",
    ["spconv 编译 __ldg half hip 报错 no matching function", "xformers: no matching function for call to '__ldg'"],
)
def test_a_load_in_another_package(text: str) -> None:
    """Oracle: the sentences, which name the package whose source calls the function."""
    (subject,) = explain(text, _OPTIONS)
    assert subject.causes[0].cause is CauseId.HALF_INTRINSIC
    assert "torch-scatter" not in subject.causes[0].fix
    assert "with `*p`" in subject.causes[0].fix


@pytest.mark.parametrize(
    "text",
    [
        "我在PyTorch 1.13 + CUDA 11.8下装pytorch_scatter,编译到segment_csr_cuda.hip就挂了",
        "编译pytorch_scatter时segment_csr_cuda.hip报错,类型不匹配",
        "why does pytorch scatter compile a .hip file when I have CUDA 11.8?",
        "为什么我有NVIDIA显卡,编译扩展时调用的却是hipcc?",
        "no matching function for call to '__ldg'",
    ],
)
def test_torch_decides_whether_hip_compiles(text: str) -> None:
    """Oracle: torch/utils/cpp_extension.py, IS_HIP_EXTENSION. The GPU of the text is unknown."""
    (subject,) = explain(text, _OPTIONS)
    fix = subject.causes[0].fix
    assert "torch.version.hip" in fix
    assert "NVIDIA GPU:" in fix
    assert "AMD GPU" in fix
    assert "torch==2." not in fix


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (
            "Is there a prebuilt wheel of torch-scatter for torch 1.13 and CUDA 11.7?",
            "--no-index torch-scatter -f https://data.pyg.org/whl/torch-1.13.0+cu117.html",
        ),
        (
            "PyTorch 1.13 + CUDA 11.7 直接安装预编译的 torch-scatter 命令是什么?",
            "--no-index torch-scatter -f https://data.pyg.org/whl/torch-1.13.0+cu117.html",
        ),
        ("torch-cluster wheel for torch 2.4 cpu?", "torch-cluster -f https://data.pyg.org/whl/torch-2.4.0+cpu.html"),
        ("how can I install torch-scatter from source instead of the wheel?", "--no-binary torch-scatter"),
        ("怎么从源码安装torch-scatter torch-sparse torch-cluster", "torch-scatter torch-sparse torch-cluster  #"),
        ("should I drop the -f option", "keep -f"),
        ("do all extensions have to be compiled from source if torch is?", "--no-build-isolation"),
        ("GNN libraries break with my own libtorch build", "--no-build-isolation"),
    ],
)
def test_questions_about_wheels_and_sources(text: str, command: str) -> None:
    """Oracle: docs/source/install/installation.rst of pytorch_geometric."""
    (subject,) = explain(text, _OPTIONS)
    assert command in subject.causes[0].fix


@pytest.mark.parametrize(
    "text",
    [
        "I built PyTorch from source, same version 2.1.0, torch-scatter wheel gives version mismatch",
        "源码编译的PyTorch,版本号都是2.1.0,装torch-scatter预编译包还是不匹配",
    ],
)
def test_the_version_that_the_torches_share(text: str) -> None:
    (subject,) = explain(text, _OPTIONS)
    assert 'install -U "setuptools<70" wheel' in subject.causes[0].fix


def test_a_need_of_an_older_torch_is_said_once_and_of_numpy_where_it_is_used() -> None:
    """Oracle: torch_scatter of 2.1.2 imports no numpy; torch_sparse of 0.6.18 imports scipy."""
    (subject,) = explain("torch_scatter fails, I compiled PyTorch from source", _OPTIONS)
    assert subject.causes[0].fix.count("setuptools<70") == 1
    assert "numpy" not in subject.causes[0].fix
    (subject,) = explain("torch_sparse fails, I compiled PyTorch from source", _OPTIONS)
    assert subject.causes[0].fix.count("numpy<2") == 1


def test_a_release_of_torch_that_nobody_named_is_not_installed() -> None:
    """Oracle: the text, which names torch-scatter alone."""
    (subject,) = explain("torch-scatter 2.0.9 HIP __ldg error", _OPTIONS)
    assert "torch==X.Y.0 --index-url https://download.pytorch.org/whl/cuNNN" in subject.causes[0].fix
    assert "torch-X.Y.0+cuNNN.html" in subject.causes[0].fix


def test_an_older_hip_compiles_the_sources_with_wrong_values() -> None:
    """Oracle: the table of docs/tutorials/hip.md, HIP 5.2 with torch's flags."""
    for said, warned in (("", True), ("ROCm 5.7", False), ("ROCm 5.2", False)):
        (subject,) = explain(f"hipcc: no matching function for call to '__ldg' torch-scatter {said}", _OPTIONS)
        assert ("wrong values of Half" in subject.causes[0].fix) is warned


@pytest.mark.parametrize("text", _NEITHER)
def test_no_such_report(text: str) -> None:
    assert explain(text, _OPTIONS) == ()


def test_minor_release_of_cuda() -> None:
    """Oracle: torch/utils/cpp_extension.py, _check_cuda_version of 1.10 to 2.13 warns for another minor release."""
    text = (
        "UserWarning: The detected CUDA version (12.2) has a minor version mismatch with the version that was used to "
        "compile PyTorch (12.1). Most likely this shouldn't be a problem."
    )
    (subject,) = explain(text, _OPTIONS)
    assert "harmless" in subject.causes[0].evidence[0]


def test_page_without_a_wheel_for_this_python() -> None:
    """Oracle: rusty1s/pytorch_scatter, building.yml at 2.1.1: torch 1.13.0 for Python 3.7 to 3.10."""
    text = (
        "Looking in links: https://data.pyg.org/whl/torch-1.13.0+cu117.html\n"
        "ERROR: Could not find a version that satisfies the requirement torch-scatter (from versions: none)\n"
        "ERROR: No matching distribution found for torch-scatter"
    )
    (subject,) = explain(text, _OPTIONS)
    assert "3.7-3.10" in " ".join(subject.causes[0].evidence)
    assert "python=3.10" in subject.causes[0].fix


_OTHER_MANGLING = (
    "missing symbol at::TensorBase::const_data_ptr<long>",
    "undefined symbol里面有 TnNSt9enable_if",
    "flashinfer 的 so 里 const_data_ptr 符号找不到",
    "flashinfer_kernels.abi3.so 缺少符號 const_data_ptr",
    "用clang18編譯的擴充套件載入時找不到符號 at::TensorBase::const_data_ptr<float, 0>() const,用g++編譯就正常",
    "用 clang 编译的扩展,加载时找不到符号 at::TensorBase::const_data_ptr<long>() const,用 gcc 编译就没问题",
    "flashinfer.abi3.so has an undefined symbol for TensorBase::const_data_ptr<long>, c++filt can't demangle it",
    'After compiling FlashInfer, python dies with "symbol lookup error". LLVM 19 reads `long const* '
    "at::TensorBase::const_data_ptr<long, 0>() const`. Which PyTorch version has this symbol?",
    "at::TensorBase::const_data_ptr<long>() const 未定义,要换哪个 torch 版本?",
    "libtorch does not export const_data_ptr<long> that flashinfer needs",
    "14const_data_ptrIlTnNSt9enable_if 找不到",
    "clang 编译 FlashInfer 后报 symbol lookup error,调用的是 tensor.const_data_ptr<int64_t>()。nm 看 libtorch_cpu.so "
    "里只有 _ZNK2at10TensorBase14const_data_ptrIlLi0EEEPKT_v",
    "FlashInfer: flashinfer_kernels.abi3.so has an undefined symbol for const_data_ptr that c++filt can't decode",
    "flashinfer 加载失败:未定义符号 _ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE"
    "4typeELi0EEEPKS3_v,哪个版本的PyTorch支持?",
    "I built flashinfer with clang 18 and importing flashinfer_kernels fails with undefined symbol const_data_ptr",
    "用 clang-18 编译的 flashinfer,import 时报 undefined symbol: const_data_ptr<long>",
    "动态库 flashinfer_kernels.abi3.so 找不到符号 at::TensorBase::const_data_ptr<int64_t>,demangle 不出来",
    "const_data_ptr undefined symbol flashinfer, is data_ptr safe to use instead?",
    "TensorBase::const_data_ptr 未定义,enable_if,flashinfer",
    "const_data_ptr",
    "tensor.const_data_ptr<int64_t>() 链接不上",
    "扩展链接 const_data_ptr 失败",
    "符号 const_data_ptr 无法被 c++filt 和 llvm-cxxfilt-14 解析",
    "Which torch version exports TensorBase::const_data_ptr?",
    "哪個 PyTorch 版本匯出 const_data_ptr",
    "在FlashInfer中把const_data_ptr换成data_ptr安全吗",
    '{"log": "undefined symbol: at::TensorBase::const_data_ptr<long>() const\\nc++filt does not demangle it"}',
)

_UNDEFINED_SIZE = (
    "NameError 变量 s2 没有被定义 torch.compile DeltaNet",
    "s2 找不到定义",
    "變數 s2 未定義",
    "NameError:變數 s2 未定義",
    "triton_meta constants {10: s2} NameError",
    "inductor generated a kernel whose constants contain s2, and s2 isn't defined anywhere",
    "第10个键的值是 s2,但是没有定义,编译 fused_recurrent_delta_rule_fwd_kernel 时报错",
    "the variable s2 does not exist in the generated triton code",
    "DeltaNet torch.compile NameError",
    "torch inductor unknown variable s2",
    "TorchInductor编译时生成的Triton内核变量未定义,如何解决?",
    'compile DeltaNet fused_recurrent_delta_rule_fwd_kernel error "s2 is not defined" pytorch 2.5.1 cuda 12.1',
    "使用TorchInductor编译Flash Linear Attention的DeltaNet模型(fused_recurrent模式)时Triton内核报错,变量s2未定义",
    "triton_meta['constants'] 里的 s2 没定义,NameError,怎么办",
    "torchinductor generates triton kernel with undefined variable s0 when dynamic shapes are on",
    "inductor 生成代码引用了未定义的变量 s2",
    "fla fused_recurrent NameError s2",
    "DeltaNet 训练时 torch.compile 失败 NameError: name 's2' is not defined,升级 PyTorch 能解决吗",
    '{"error": "NameError: name \'s2\' is not defined", "stack": "/tmp/torchinductor_root/ab/cab.py"}',
    "undefined symbol: s2 triton kernel inductor",
    "the triton kernel generated by TorchInductor uses an undefined symbol s2",
    "Inductor 生成的代码里有未定义符号 s2",
    "name 's2' undefined symbol in fused_recurrent_delta_rule_fwd_kernel",
    "triton kernel references s2 but never defines it",
    "Inductor 產生的 kernel 引用了未初始化的變數 s2",
    "triton kernel 报名字错误 s2",
    "DeltaNet模型训练时,TorchInductor报错,具体表现为Triton内核编译过程中出现的变量未定义问题",
)

_NOT_TRACED = (
    "aiter ck_moe Dynamo 无法追踪",
    "如何用direct_register_custom_op注册ck_moe",
    "ck_moe PyCapsule dynamo skipped",
    "ck_moe 被 dynamo 跳过",
    "vLLM 图模式 aiter ck_moe 报错",
    "How do I register ck_moe as a custom op for torch.compile?",
    "torch.library.custom_op 注册 ck_moe",
    "自定义算子 ck_moe 与图模式不兼容",
    "ck_moe can't be traced",
    "enforce_eager=False 时 aiter 的 ck_moe 报错",
    "Dynamo編譯器無法追蹤 aiter.jit.aiter_.PyCapsule.ck_moe 函數",
    "direct_register_custom_op in vLLM: how do I register an aiter kernel so that Dynamo can trace it?",
    "How do I make a C++ function bound with pybind11 work under torch.compile?",
    "怎样让 pybind11 绑定的 C++ 算子支持 torch.compile?",
    "vLLM ROCm aiter: torch._dynamo can't trace ck_moe",
    "图模式下调用 aiter 的 ck_moe 算子报 marked as skipped",
    "vllm rocm aiter graph break PyCapsule ck_moe",
    "torch.compile skips my pybind11 function lltm_cpp.forward",
    "aiter 的 PyCapsule.ck_moe 不能被 torch.compile 追踪,vLLM 0.8.3",
    "torch dynamo failed to trace lltm's f_moe",
    "Dynamo 不支持追踪 PyCapsule 函数 ck_moe,vLLM ROCm",
    "pybind11 op breaks torch.compile: Dynamo does not know how to trace the builtin `my_ext.PyCapsule.forward.`",
    "vLLM graph mode + aiter: Dynamo error in ck_moe; want to keep aiter",
    "torch.compile cannot trace my pybind11 function",
)


@pytest.mark.parametrize(
    "text",
    [
        "torch.compile fails in train_step with an error",
        "aiter installation error",
        "the class at::TensorBase has no member named const_data_ptr",
        'error: identifier "s2" is undefined',
        "flashinfer const_data_ptr",
        "aiter needs ROCm 6.3 in vLLM",
        "register a new user in vllm dashboard",
        "Tracing the request through vllm with opentelemetry trace_id",
        "my custom op foo_bar registered with TORCH_LIBRARY works under torch.compile",
        "torch.compile works with my pybind11 function my_ops.gelu after registering it",
        "ConstraintViolationError: Constraints violated (batch)! s0 = 2*s1",
        "const_data_ptr was added to torch in 2.1 as part of the COW work",
        "triton inference server: model repository s3 is not initialized",
    ],
)
def test_words_of_these_reports_alone_are_none(text: str) -> None:
    assert explain(text, _OPTIONS) == ()


def test_a_loader_error_without_its_symbol() -> None:
    """Oracle: the sentence names a file and no symbol."""
    (subject,) = explain("在编译生成的动态链接库文件flashinfer_kernels.abi3.so中出现了符号查找错误", _OPTIONS)
    (cause,) = subject.causes
    assert cause.confidence is Confidence.LOW
    assert cause.fix.startswith("abiscan flashinfer_kernels.abi3.so")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        *((text, CauseId.TEMPLATE_MANGLING) for text in _OTHER_MANGLING),
        *((text, CauseId.GENERATED_KERNEL) for text in _UNDEFINED_SIZE),
        *((text, CauseId.OP_NOT_REGISTERED) for text in _NOT_TRACED),
    ],
)
def test_each_report_is_read_in_other_words(text: str, cause: CauseId) -> None:
    subjects = explain(text, _OPTIONS)
    assert [subject.causes[0].cause for subject in subjects] == [cause]


@pytest.mark.parametrize(
    "row", tomllib.loads((Path(__file__).parent / "data/retellings.toml").read_text("utf-8"))["text"]
)
def test_one_answer_to_a_retelling(row: dict[str, Any]) -> None:
    """Oracle: the sentences and comments of the table."""
    (subject,) = explain(row["text"], _OPTIONS)
    first = subject.causes[0]
    assert (subject.text, first.cause) == (row["subject"], row["cause"])
    answer = "\n".join(part for cause in subject.causes for part in (*cause.evidence, cause.fix))
    assert [part for part in row.get("has", []) if part not in answer] == []
    assert [part for part in row.get("lacks", []) if part in answer] == []


def test_a_message_without_the_function_asks_for_it() -> None:
    (subject,) = explain("torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped", _OPTIONS)
    assert subject.causes[0].fix.startswith("The text does not name the function.")
    assert "custom_op" not in subject.causes[0].fix


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("vLLM and aiter: dynamo cannot trace PyCapsule.ck_moe", "export VLLM_ROCM_USE_AITER_MOE=0"),
        ("vLLM and aiter: dynamo cannot trace PyCapsule.gemm_a8w8", "export VLLM_ROCM_USE_AITER=0"),
    ],
)
def test_the_package_in_the_text_is_the_module(text: str, first: str) -> None:
    (subject,) = explain(text, _OPTIONS)
    assert subject.causes[0].fix.startswith(first)
    assert "import collections.abc, torch, aiter" in subject.causes[0].fix
    assert "MODULE" not in subject.causes[0].fix
    assert "NAMESPACE" not in subject.causes[0].fix


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            "posix.getpid",
            "Attempted to call function marked as skipped\n  Developer debug context: module: posix, qualname: getpid",
        ),
        (
            "_warnings.warn",
            "Dynamo does not know how to trace the builtin `_warnings.warn.` This function is either a Python builtin "
            "(e.g. _warnings.warn) or a third-party C/C++ Python extension (perhaps created with pybind).",
        ),
    ],
)
def test_a_function_of_python_is_moved_out_of_the_graph(function: str, text: str) -> None:
    """Oracle: torch 2.13 runs the function outside of the graph; these modules are in sys.stdlib_module_names."""
    (subject,) = explain(text, _OPTIONS)
    (cause,) = subject.causes
    assert cause.confidence is not Confidence.HIGH
    assert cause.fix.startswith(f"Call {function} outside of the compiled function")
    assert "custom_op" not in cause.fix
    assert "does not name" not in cause.fix


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("torch 2.5.1+rocm6.2", "pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/rocm6.2.4"),
        ("torch 2.5.1+xpu", "pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/xpu"),
        ("torch 2.5.1+cu124", "pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124"),
    ],
)
def test_another_torch_is_of_the_same_build(text: str, command: str) -> None:
    """Oracle: the variants of torch 2.6.0 in its release notes: cu118, cu124, cu126, rocm6.1, rocm6.2.4, xpu."""
    (subject,) = explain(f"{text} NameError: name 's2' is not defined", _OPTIONS)
    fix = subject.causes[0].fix
    assert command in fix.splitlines()
    assert "package index" not in fix


@pytest.mark.parametrize("where", ["Radeon gfx1100", "ROCm 6.2 torch 2.5.1"])
def test_a_gpu_of_amd_gets_no_build_for_cuda(where: str) -> None:
    """Oracle: builds of torch for CUDA do not run on these GPUs (https://pytorch.org/get-started/locally)."""
    (subject,) = explain(f"{where}, inductor: NameError: name 's2' is not defined", _OPTIONS)
    assert "/cu1" not in subject.causes[0].fix
    assert "CUDA" not in subject.causes[0].fix
    assert "--index-url https://download.pytorch.org/whl/rocm" in subject.causes[0].fix


@pytest.mark.parametrize(
    "text",
    [
        # Oracle: the wheels 0.1 to 0.3.0 have torch.compiler.disable in fla/ops/delta_rule/fused_recurrent.py, and none
        # in fla/ops/gated_delta_rule/fused_recurrent.py.
        "fla torch.compile fused_recurrent_gated_delta_rule_fwd_kernel NameError: name 's2' is not defined",
        "torch.compile of fla Gated DeltaNet: NameError: name 's2' is not defined",
        "torch.compile of DeltaNet, flash-linear-attention 0.2.0: NameError: name 's2' is not defined",
        "fla 0.5.2 torch 2.5.1 fused_recurrent NameError s2",
    ],
)
def test_flash_linear_attention_is_installed_only_for_its_kernel(text: str) -> None:
    (subject,) = explain(text, _OPTIONS)
    fix = subject.causes[0].fix
    assert "flash-linear-attention" not in fix
    assert "pip install torch==2.6.0" in fix


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("torch 2.5.1, CUDA 12.1", "pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124"),
        ("PyTorch nightly 2.6.0.dev20241001", "pip install torch==2.6.0  # the build of the package index"),
    ],
)
def test_the_torch_of_the_text_chooses_the_build(text: str, command: str) -> None:
    """Oracle: torch 2.6.0 has builds for CUDA 12.4 and 12.6; a nightly of 2.6 is older than 2.6.0 (PEP 440)."""
    (subject,) = explain(f"{text}: inductor NameError: name 's2' is not defined", _OPTIONS)
    assert subject.causes[0].fix.startswith(command)


def test_a_size_that_depends_on_data_is_not_made_static() -> None:
    """Oracle: torch/fx/experimental/symbolic_shapes.py names unbacked sizes u0, u1, ...; mark_static is for inputs."""
    (subject,) = explain("inductor: NameError: name 'u0' is not defined", _OPTIONS)
    assert "dynamic=False" not in subject.causes[0].fix
    assert not any("136504" in each for each in subject.causes[0].evidence)


def test_a_torch_with_the_fix_has_another_bug() -> None:
    """Oracle: pytorch/pytorch issue 136504, fixed in torch 2.6.0."""
    (subject,) = explain("torch 2.13.0 inductor: NameError: name 's2' is not defined", _OPTIONS)
    said = "\n".join(subject.causes[0].evidence)
    assert "it is another bug" in said
    assert "A size that torch.compile made dynamic was passed" not in said


@pytest.mark.parametrize(
    ("text", "variable", "release"),
    [
        ("sglang and aiter: dynamo cannot trace PyCapsule.ck_moe", False, False),
        ("vLLM 0.9.1 and aiter: dynamo cannot trace PyCapsule.ck_moe", True, False),
        ("vLLM 0.8.3 and aiter: dynamo cannot trace PyCapsule.ck_moe", True, True),
    ],
)
def test_advice_about_vllm(text: str, variable: bool, release: bool) -> None:
    """Oracle: rocm_aiter_fused_moe.py of the wheels of vLLM registers the operators from 0.8.5 on."""
    (subject,) = explain(text, _OPTIONS)
    fix = subject.causes[0].fix
    assert ("VLLM_ROCM_USE_AITER_MOE" in fix) is variable
    assert ("vLLM 0.8.5" in fix) is release


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("aiter ck_moe Attempted to call function marked as skipped", True),
        ("vLLM on ROCm: ck_moe Attempted to call function marked as skipped", True),
        ("vLLM on ROCm: Attempted to call function marked as skipped, aiter ck_moe", True),
        ("Attempted to call function marked as skipped: ck_moe (aiter)", True),
    ],
)
def test_the_function_beside_the_message_is_named(text: str, named: bool) -> None:
    """Oracle: the sentence; ck_moe is a function of aiter (pytorch issue 151049)."""
    (subject,) = explain(text, _OPTIONS)
    assert subject.causes[0].fix.startswith("export VLLM_ROCM_USE_AITER_MOE=0")
    assert ("def ck_moe(PARAMETERS)" in subject.causes[0].fix) is named
    assert "does not name the function" not in subject.causes[0].fix


def test_another_word_after_the_message_is_no_function() -> None:
    (subject,) = explain("Attempted to call function marked as skipped in my_script", _OPTIONS)
    assert "my_script" not in subject.text


def test_graph_mode_is_not_the_first_advice_without_a_function() -> None:
    (subject,) = explain("vllm torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped", _OPTIONS)
    lines = subject.causes[0].fix.splitlines()
    assert lines[0].startswith("The text does not name the function.")
    assert "enforce_eager=True" in lines[1]


def test_annotations_of_the_docstring_are_imported() -> None:
    """Oracle: pybind11 in torch 2.13 prints `collections.abc.Sequence[torch.Tensor]` in docstrings."""
    (subject,) = explain("Dynamo cannot trace the builtin `lltm.PyCapsule.forward`", _OPTIONS)
    assert "import collections.abc, torch, lltm" in subject.causes[0].fix


_CLANG_NAME = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"


def test_the_flag_of_clang_reaches_nvcc() -> None:
    """Oracle: nvcc with clang++-19 as host compiler: only NVCC_APPEND_FLAGS changes the name in objects of .cu files;
    BuildExtension of torch 2.13 passes neither CFLAGS nor CXXFLAGS to nvcc."""
    (subject,) = explain(f"flashinfer_kernels.abi3.so: undefined symbol: {_CLANG_NAME}", _OPTIONS)
    assert 'NVCC_APPEND_FLAGS set to "-Xcompiler -fclang-abi-compat=17"' in subject.causes[0].fix


def test_the_checkout_is_of_the_release() -> None:
    """Oracle: the tags of flashinfer's repository: v0.2.2, v0.2.5. Its branch main does not call const_data_ptr."""
    (subject,) = explain(f"flashinfer_kernels.abi3.so: undefined symbol: {_CLANG_NAME}", _OPTIONS)
    clone = "git clone --recursive --branch vRELEASE https://github.com/flashinfer-ai/flashinfer"
    assert clone in subject.causes[0].fix


@pytest.mark.parametrize(
    ("said", "tag"), [("flashinfer-python==0.2.2", "v0.2.2"), ("FlashInfer v0.2.1.post2", "v0.2.1.post2")]
)
def test_the_checkout_is_of_the_release_in_the_text(said: str, tag: str) -> None:
    """Oracle: the tags of flashinfer's repository."""
    (subject,) = explain(f"{said}: flashinfer_kernels.abi3.so: undefined symbol: {_CLANG_NAME}", _OPTIONS)
    assert f"git clone --recursive --branch {tag} https" in subject.causes[0].fix


@pytest.mark.parametrize(
    ("said", "build"),
    [
        ("torch 2.5.1+cpu: flashinfer/flashinfer_kernels.abi3.so", "torch 2.5.1 for CUDA installed, not its CPU build"),
        ("flashinfer/flashinfer_kernels.abi3.so", "needs nvcc of the CUDA release of torch"),
        ("vllm/_C.abi3.so", "python use_existing_torch.py && pip install -r requirements/build.txt && MAX_JOBS=4 pip"),
        ("vllm/_C.abi3.so", "--branch vRELEASE https://github.com/vllm-project/vllm)"),
        (
            "sgl_kernel/common_ops.abi3.so",
            "sgl-kernel of a checkout (git clone --recursive https://github.com/sgl-project",
        ),
        ("flash_attn_2_cuda.so", "wheel ninja packaging psutil &&"),
    ],
)
def test_a_checkout_is_built_with_its_requirements(said: str, build: str) -> None:
    """Oracle: get_cuda_version() in setup.py of flashinfer 0.2.5 runs nvcc; the installation guide of vLLM 0.8 to 0.21;
    sgl-kernel/pyproject.toml; pyproject.toml of flash-attn."""
    (subject,) = explain(f"{said}: undefined symbol: {_CLANG_NAME}", _OPTIONS)
    assert build in subject.causes[0].fix


@pytest.mark.parametrize(
    "folder", ["/home/user/.cache/flashinfer/80/cached_ops/page", "/h/.cache/torch_extensions/py310/page"]
)
def test_a_module_that_is_compiled_at_its_first_use_has_no_checkout(folder: str) -> None:
    """Oracle: torch/utils/cpp_extension.py reads CXX, and passes CC to nvcc as its host compiler."""
    (subject,) = explain(f"ImportError: {folder}/page.so: undefined symbol: {_CLANG_NAME}", _OPTIONS)
    assert subject.causes[0].fix.startswith(f"rm -rf {folder}; export CC=gcc CXX=g++")
    assert "DIRECTORY" not in subject.causes[0].fix


def test_headers_without_the_constraint() -> None:
    """Oracle: ATen/core/TensorBase.h of torch 2.12.0 declares the template without std::enable_if_t."""
    text = "built with clang, undefined symbol const_data_ptr, it works with g++, torch 2.12.0"
    (subject,) = explain(text, _OPTIONS)
    assert any("built against headers of torch 2.3.0-2.11.0" in each for each in subject.causes[0].evidence)


def test_the_releases_that_export_const_data_ptr() -> None:
    """Oracle: nm -D of libtorch_cpu.so 2.1.0 to 2.15.0, as docs/rules/const-data-ptr.md has it."""
    (subject,) = explain("Which torch version exports TensorBase::const_data_ptr?", _OPTIONS)
    assert "2.3.0-2.11.0 as ...14const_data_ptrIlLi0EEEPKT_v" in subject.causes[0].evidence[0]


def test_unknown_is_not_for_lists_and_numbers() -> None:
    """Oracle: torch 2.13, torch.library.opcheck of operators with results List[Tensor], int and bool."""
    (subject,) = explain("Dynamo cannot trace the builtin `lltm.PyCapsule.forward`", _OPTIONS)
    assert '"unknown" may copy every tensor argument, and raises where RESULT is a list or a number' in (
        subject.causes[0].fix
    )


def test_the_demangler_that_reads_a_name_of_clang() -> None:
    """Oracle: llvm-cxxfilt-14 prints the name as it is, llvm-cxxfilt-19 reads it."""
    (subject,) = explain(f"undefined symbol: {_CLANG_NAME}", _OPTIONS)
    assert subject.notes[0].endswith("llvm-cxxfilt of LLVM 19 can.")


@pytest.mark.parametrize(
    "text",
    [
        "undefined symbol at::TensorBase::const_data_ptr when importing flashinfer",
        "undefined symbol: at::TensorBase::const_data_ptr",
        "flashinfer 报错找不到符号 TensorBase::const_data_ptr",
    ],
)
def test_a_template_without_arguments_is_one_problem(text: str) -> None:
    """Oracle: nm -D of libtorch_cpu.so 2.13 has 52 names of this template: nothing in the text chooses one."""
    (subject,) = explain(text, _OPTIONS)
    assert subject.text == "const_data_ptr"
    assert "Float8" not in str(subject.causes)
    assert subject.causes[0].fix.startswith("nm -D FILE | grep const_data_ptr | abiscan explain -")


def test_a_template_with_arguments_is_that_symbol() -> None:
    (subject,) = explain("undefined symbol: long const* at::TensorBase::const_data_ptr<long>() const", _OPTIONS)
    assert "const_data_ptr<long" in (subject.demangled or "")


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("NameError: name 's2' is not defined in my Flask app", Confidence.LOW),
        ("NameError: name 's2' is not defined when running my notebook", Confidence.LOW),
        ("pandas \u62a5\u9519 NameError: name 's1' is not defined", Confidence.LOW),
        ("NameError: name 's2' is not defined, with torch.compile", Confidence.MEDIUM),
        ("triton: NameError: name 's2' is not defined", Confidence.MEDIUM),
    ],
)
def test_a_name_of_any_program_is_torch_compiles_only_beside_its_words(text: str, confidence: Confidence) -> None:
    """Oracle: `s2` is a name that programs have, too (Python reference, Naming and binding)."""
    (subject,) = explain(text, _OPTIONS)
    (cause,) = subject.causes
    assert (cause.cause, cause.confidence) == (CauseId.GENERATED_KERNEL, confidence)
    is_sure = confidence is not Confidence.LOW
    assert ("pip install" in cause.fix) is is_sure
    assert ("If torch.compile is used" in cause.evidence[0]) is not is_sure
    assert render((subject,)).startswith("cause: " if is_sure else "possible cause: ")


@pytest.mark.parametrize(
    "text",
    [
        "torch 2.5.1 torch_npu inductor NameError: name 's2' is not defined",
        "\u6607\u817e torch.compile NameError: name 's2' is not defined",
        "Ascend 910B torch.compile NameError: name 'u0' is not defined",
        "torch_npu 2.10, torch.compile: NameError: name '_Runner__mm_kernel_0' is not defined",
    ],
)
def test_an_npu_gets_no_torch_for_cuda(text: str) -> None:
    """Oracle: README of Ascend/pytorch: each torch_npu works with one release of torch, whose CPU build it extends."""
    (subject,) = explain(text, _OPTIONS)
    assert "pip install" not in subject.causes[0].fix
    assert "cu12" not in subject.causes[0].fix


def test_a_torch_that_the_text_does_not_name_may_have_the_fix() -> None:
    """Oracle: pytorch/pytorch issue 136504, fixed in torch 2.6.0: with it, the cache or another bug is left."""
    (subject,) = explain("torch.compile: NameError: name 's2' is not defined", _OPTIONS)
    lines = subject.causes[0].fix.splitlines()
    otherwise = lines.index("If it prints 2.6 or later:")
    assert "a release before 2.6" in lines[0]
    assert lines[otherwise + 1].startswith("rm -rf ")
    assert "short script" in lines[otherwise + 2]


def test_the_cache_of_windows_is_in_its_folder_for_temporary_files() -> None:
    """Oracle: torch/_inductor/runtime/cache_dir_utils.py: torchinductor_USER in tempfile.gettempdir()."""
    (subject,) = explain("Windows 11, torch.compile: NameError: name 's2' is not defined", _OPTIONS)
    fix = subject.causes[0].fix
    assert "rm -rf" not in fix
    assert "torchinductor_USER in %TEMP%" in fix


def test_liger_kernel_is_a_package_and_no_kernel() -> None:
    """Oracle: the distribution liger-kernel on the package index."""
    (subject,) = explain("liger-kernel rms_norm with torch.compile: NameError: name 's2' is not defined", _OPTIONS)
    assert "launches the kernel," in subject.causes[0].fix


@pytest.mark.parametrize(
    ("module", "qualname", "said"),
    [
        # Oracle: Python's import statement: Encoder is a class, no module.
        ("my_ext", "Encoder.forward", "wrap the call of Encoder.forward in a function"),
        # Oracle: the compiled modules of the wheels of triton and torch.
        ("triton._C.libtriton", "get_num_warps", "Call triton._C.libtriton.get_num_warps outside of"),
        ("torch._C", "_cuda_getDevice", "Call torch._C._cuda_getDevice outside of"),
    ],
)
def test_methods_and_functions_of_torch_are_not_registered(module: str, qualname: str, said: str) -> None:
    text = (
        "torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped\n"
        f"  Developer debug context: module: {module}, qualname: {qualname}, skip reason: <missing reason>"
    )
    (subject,) = explain(text, _OPTIONS)
    fix = subject.causes[0].fix
    assert said in fix
    assert "import " not in fix
    assert "custom_op(" not in fix
