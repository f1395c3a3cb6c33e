"""Answers for a torch that was built from source: prerequisites, platforms, archives, other errors of the same build.

Oracles: pip's dry run with numpy 1.24 (scipy is not upgraded without -U); setup.py of torch-scatter (FORCE_CUDA); the
std::string of the wheels in the release index (2.6.0 for aarch64 has the new one); CHANGELOG.md of pyg-lib; the
Requires-Dist of xformers; setup.py of flash-attn 2.8.3; pytorch_scatter issue 470 (conda-forge)."""

from __future__ import annotations

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.scan_options import ScanOptions
from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.other_builds import built_from_source
from abiscan.diagnosis.package_commands import install
from abiscan.diagnosis.reference import Reference, ReferringFile
from abiscan.loader import LoaderSettings
from abiscan.model.cause import CauseId
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.releases.index import ReleaseIndex

_OPTIONS = ScanOptions(None, None, LoaderSettings("/"))


@pytest.mark.parametrize(
    ("version", "variant", "expected"),
    [
        ("2.13.0a0", "cpu", True),
        ("2.13.0a0", "git7bcf7da", True),
        ("2.13.0", "cpu", False),
        ("2.14.0.dev20260101", "cu130", False),
        ("2.13.0a01", "cpu", False),
    ],
)
def test_the_version_of_version_txt_is_that_of_a_source_build(version: str, variant: str, expected: bool) -> None:
    """Oracle: setup.py and version.txt of torch 2.13.0: `2.13.0a0`, with or without a label."""
    torch = TorchBuild(TorchKind.INSTALLED, version, variant, None, None, True, "/v/torch", None)
    assert built_from_source(torch) is expected
    file = ReferringFile(distribution="torch-scatter")
    ways = install(packages_by_name()["torch-scatter"], MissingName(Reference(""), Knowledge(target=torch), file))
    assert not expected or ("--no-binary torch-scatter torch-scatter" in ways[0] and "data.pyg.org" not in ways[0])


def test_a_release_number_with_another_commit_is_a_source_build(index: ReleaseIndex) -> None:
    """Oracle: torch/version.py of each released wheel, in the index. PYTORCH_BUILD_VERSION sets the version."""
    (released,) = {build.git_revision for build in index.builds("x86_64") if build.torch == "2.13.0"}
    for commit, expected in ((released, False), ("7bcf7da3" * 5, True), ("Unknown", False), (None, False)):
        torch = TorchBuild(
            TorchKind.INSTALLED, "2.13.0", "cpu", None, None, True, "/v/torch", None, git_revision=commit
        )
        assert Knowledge(target=torch, releases=index).target_from_source is expected
        assert not Knowledge(target=torch).target_from_source


@pytest.mark.parametrize(
    ("text", "present", "absent"),
    [
        (
            "I compiled PyTorch 2.1.0 from source. The wheels of torch-sparse do not match.",
            ('"setuptools<70" wheel ninja && pip install scipy "numpy<2" && FORCE_CUDA=1 pip',),
            (),
        ),
        (
            "Kimi K2 server: I compiled PyTorch 2.1.0 from source. The wheels of torch-sparse do not match.",
            ("--no-binary torch-sparse,torch-scatter torch-sparse",),
            ("k2-fsa",),
        ),
        # Issue 396 of pytorch_scatter: ATen/OpMathType.h, which 2.1.2 includes, is in torch 1.11 and later.
        (
            "torch 1.10 compiled from source, torch-scatter wheel: version mismatch",
            ("--no-binary torch-scatter torch-scatter==2.1.1  #",),
            (),
        ),
        (
            "torch 1.11.0 compiled from source, torch-scatter wheel: version mismatch",
            ("--no-binary torch-scatter torch-scatter  #",),
            (),
        ),
        # setup.py of mmcv 2.2.0; pull request 9380 of pytorch/vision; setuptools 82 removed pkg_resources.
        (
            "I compiled PyTorch 2.4.0 from source and the mmcv wheel does not load",
            ('pip install -U "setuptools<81" wheel ninja psutil && MMCV_WITH_OPS=1',),
            (),
        ),
        (
            "I compiled PyTorch 2.1.0 from source and the mmcv wheel does not load",
            ('pip install -U "setuptools<70" wheel ninja psutil && MMCV_WITH_OPS=1',),
            ("<81",),
        ),
        (
            "I compiled PyTorch 2.8.0 from source and the torchvision wheel does not load",
            ('pip install -U "setuptools<81" wheel ninja && ', "vision.git@release/0.23"),
            (),
        ),
        # README.md of pytorch/vision: 0.24 is for torch 2.9.
        (
            "undefined symbol in torchvision after I compiled PyTorch from source",
            (
                '"setuptools<81"',
                "torch.__version__",
                "for torch 2.9 git+https://github.com/pytorch/vision.git@release/0.24",
            ),
            (),
        ),
        (
            "源码编译的 PyTorch 2.4, torch-sparse 不匹配",
            ("ninja && pip install scipy && FORCE_CUDA=1",),
            ("numpy",),
        ),
        (
            "I compiled PyTorch 2.2.0 from source without CUDA (USE_CUDA=0). The torch-scatter wheel does not match",
            ("pip install",),
            ("FORCE_CUDA", "nvcc"),
        ),
        (
            "Windows 11, PyTorch 2.3.0 compiled from source, torch-scatter wheel: version mismatch",
            ('set "FORCE_CUDA=1" && pip install', " & rem "),
            ("$(which", "  # needs"),
        ),
        (
            "My torch was compiled from source. I have only torch_scatter-2.1.2.tar.gz, the wheel does not match",
            ("FORCE_CUDA=1 pip install", " ./torch_scatter-2.1.2.tar.gz"),
            ("--no-binary",),
        ),
        (
            "torch 2.1.0 built from source, pip install torch-spline-conv pyg-lib: version mismatch",
            ('torch-spline-conv "git+https://github.com/pyg-team/pyg-lib.git@0.3.1"',),
            (),
        ),
        (
            "torch 2.1.0 is built from source. pip install torch-scatter\nModuleNotFoundError: No module named 'torch'",
            ("--no-build-isolation", "No `pip install torch`"),
            ("If it fails",),
        ),
        (
            "xFormers was built for: PyTorch 2.6.0+cu124 with CUDA 1204 (you have 2.6.0a0+git1eba9b3)",
            ("xformers==0.0.29.post3",),
            (),
        ),
        (
            "torch 2.5.0 built from source, torch_sparse wheel: OSError: /v/torch_sparse/_version_cuda.so: undefined "
            "symbol: _ZN3c1017RegisterOperatorsD1Ev",
            ("--no-binary torch-sparse",),
            ("torch>=",),
        ),
        (
            "torch 2.2.0 built from source, flash-attn wheel: undefined symbol: _ZN3c104impl3cow11cow_deleterEPv",
            ("flash-attn==2.7.4.post1",),
            ("prebuild-wheels",),
        ),
        (
            "pip list: torch 2.1.0a0+32f93b1; pip install torch_scatter -f https://data.pyg.org/whl/torch-2.1.0+cu121.html\n"
            "ImportError: libtorch_cuda_cu.so: cannot open shared object file: No such file or directory",
            ("--no-binary torch-scatter",),
            ("the source directory",),
        ),
        (
            "brew install pytorch, torch_scatter wheel: Symbol not found",
            ("--no-binary torch-scatter",),
            ("FORCE_CUDA", "nvcc"),
        ),
        (
            "aarch64, torch built from source 2.4, no wheel for torch-scatter",
            ("--no-binary torch-scatter",),
            (),
        ),
        (
            "torch-scatter: RuntimeError: Expected PyTorch version 2.1.0 but got 2.1.0a0+git7bcf7da",
            ("--no-binary torch-scatter torch-scatter",),
            ("Install the build", "pip install torch=="),
        ),
        (
            "PyTorch从源码编译, torch-scatter也从源码编译. Detected that PyTorch and torch_scatter were compiled with "
            "different CUDA versions. PyTorch has CUDA version 12.8 and torch_scatter has CUDA version 11.5.",
            ("nvcc --version", "export CUDA_HOME=/usr/local/cuda-12.8"),
            ("wheel for CUDA",),
        ),
        (
            "I have only _scatter_cuda.so and a source-built torch 2.1.0: OSError: _scatter_cuda.so: undefined symbol: "
            "_ZNK3c107SymBool10guard_boolEPKcl",
            ("--no-binary torch-scatter torch-scatter", "abiscan --matrix _scatter_cuda.so"),
            ("-lc10",),
        ),
        (
            "torch 2.2, CPU only build. pip install torch-scatter\nOSError: CUDA_HOME environment variable is not set.",
            ("--no-binary torch-scatter torch-scatter",),
            ("FORCE_CUDA=1", "CUDA_HOME=/usr"),
        ),
        (
            "torch 2.4 from source. import torch_scatter: DLL load failed while importing _scatter_cuda: The specified "
            "procedure could not be found.",
            ('set "FORCE_CUDA=1" && pip install', "--no-binary torch-scatter torch-scatter"),
            ("data.pyg.org",),
        ),
        (
            "DGL with PyTorch 2.1.0a0+git7bcf7da does not load",
            ("https://www.dgl.ai/dgl_docs/install/index.html#install-from-source",),
            ("pip install -U dgl",),
        ),
        ("I built PyTorch 2.4 from source, the pyg-lib wheel fails", (" cmake ", "pyg-lib.git@0.5.0"), ()),
        ("xformers wheel with a torch 2.3 that I built from source: undefined symbol", ("xformers==0.0.26.post1",), ()),
        (
            "flash-attn wheel does not load with my self-compiled torch 2.5.1",
            ("FLASH_ATTENTION_FORCE_BUILD=TRUE pip install", "flash-attn==2.7.4.post1"),
            (),
        ),
        (
            "On Windows I compiled PyTorch 2.6.0 from source; the wheel of torch-scatter does not match",
            ('set "FORCE_CUDA=1" && pip', "cmd.exe", "MSVC"),
            ("$(which",),
        ),
        (
            "\u6e90\u7801\u7f16\u8bd1\u7684 PyTorch 2.1.0 CPU \u7248\uff0cmacOS M2\uff0ctorch-scatter wheel fails",
            ("--no-binary torch-scatter torch-scatter",),
            ("nvcc", "FORCE_CUDA"),
        ),
        (
            "Ascend NPU, torch 2.1.0 compiled from source, torch-scatter: version mismatch",
            ("--no-binary torch-scatter torch-scatter",),
            ("nvcc", "FORCE_CUDA"),
        ),
        (
            "conda-forge pytorch 2.4.0 cuda118, torch_scatter/_version_cuda.so: undefined symbol: "
            "_ZN5torch3jit17parseSchemaOrNameERKSsb",
            ("--no-binary torch-scatter torch-scatter", "nvcc of CUDA 11"),
            ("data.pyg.org",),
        ),
        ("Jetson, torch 2.3.0 nv24.05, torch-scatter wheel is incompatible", ("--no-binary torch-scatter",), ()),
    ],
)
def test_first_fix(text: str, present: tuple[str, ...], absent: tuple[str, ...]) -> None:
    (subject, *_) = explain(text, _OPTIONS)
    fix = subject.causes[0].fix
    assert [word for word in present if word not in fix] == []
    assert [word for word in absent if word in fix] == []


def test_the_std_string_of_wheels_for_x86_64() -> None:
    text = "PyTorch 2.1.0 was built from source, the wheel of torch-scatter does not match."
    evidence = "up to 2.6.0 for x86_64"
    assert any(evidence in line for line in explain(text, _OPTIONS)[0].causes[0].evidence)
    assert not any(evidence in line for line in explain(f"Jetson Orin. {text}", _OPTIONS)[0].causes[0].evidence)


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("torch 2.5.1 from Arch Linux repos (python-pytorch-cuda), torch-scatter wheel", "2.5.1"),
        ("I use Arch Linux's python-pytorch-cuda 2.5.1 package, torch-scatter wheel", "2.5.1"),
        ("python3-torch 2.6.0+dfsg-7 of Debian, torch-scatter wheel", "2.6.0"),
        ("module load PyTorch/2.1.2-foss-2023a, torch_scatter from data.pyg.org", "2.1.2"),
    ],
)
def test_the_torch_of_a_distribution(text: str, release: str) -> None:
    """Oracle: GCC has built libstdc++'s new std::string by default since 5.1; the symbol has the old one."""
    (subject,) = explain(f"{text}: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs", _OPTIONS)
    assert subject.causes[0].cause is CauseId.CXX11_ABI_MISMATCH
    assert f"torch {release} (distribution build)" in subject.causes[0].evidence[1] + subject.title
    assert "--no-binary torch-scatter torch-scatter" in subject.causes[0].fix
    assert "data.pyg.org" not in subject.causes[0].fix


@pytest.mark.parametrize(
    "text",
    [
        "torch 2.1.0 on Debian with pip packages, torch-scatter trains slowly",
        "Fedora 39, torch 2.5.1+cu124 from pip, apt package gcc-12: torch-scatter wheel mismatch",
        "Ubuntu: apt install python3-dev, torch 2.5.1+cu124, torch_scatter wheel mismatch",
    ],
)
def test_a_distribution_with_a_torch_of_pip(text: str) -> None:
    """Oracle: what the texts say."""
    assert not any("distribution" in line for each in explain(text, _OPTIONS) for line in each.causes[0].evidence)


def test_no_release_of_torch_in_place_of_a_source_build() -> None:
    """Oracle: `pip install torch` replaces the torch that is there."""
    text = "torch from source on macOS 14, torch-scatter wheel: Library not loaded: @rpath/libtorch_cpu.dylib"
    (subject,) = explain(text, _OPTIONS)
    assert subject.causes[0].cause is CauseId.IMPORT_TORCH_FIRST
    assert not any("pip install torch" in each.fix for each in subject.causes)


def test_no_other_torch_for_a_library_of_cuda() -> None:
    """Oracle: `pip install torch` replaces the torch that is there."""
    text = (
        "安装了自己编译的torch后, import torch_sparse 报 ImportError: libcudart.so.11.0: cannot open shared object file"
    )
    (subject,) = explain(text, _OPTIONS)
    assert "--no-binary torch-sparse" in subject.causes[0].fix
    assert not any("install --force-reinstall torch " in each.fix for each in subject.causes)


@pytest.mark.parametrize(
    ("text", "of_conda_forge"),
    [
        ("conda install pytorch -c conda-forge; the wheel of torch-scatter: version mismatch", True),
        ("conda install pytorch torchvision -c pytorch -c conda-forge; torch-scatter wheel: version mismatch", False),
        ("conda install -c conda-forge gcc; torch 2.1.0+cu121, torch-scatter wheel: version mismatch", False),
    ],
)
def test_the_channel_of_torch(text: str, *, of_conda_forge: bool) -> None:
    """Oracle: conda's manual: the first channel of a command has priority."""
    evidence = " ".join(line for each in explain(text, _OPTIONS) for line in each.causes[0].evidence)
    assert ("conda-forge" in evidence) is of_conda_forge
