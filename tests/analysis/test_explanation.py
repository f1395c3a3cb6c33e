"""The torch and machine of an explanation: from the text, and from this machine only if the text is from here."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.analysis.explanation import explain_text
from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.python import PythonEnvironment, read_environment
from abiscan.loader import LoaderSettings
from abiscan.model.cause import CauseId
from abiscan.model.python_version import PythonVersion
from abiscan.model.subject import Subject
from tests.fixtures.wheels import FIXTURES, record_package
from tests.tables import table_rows

NAME = "_ZNK3c107SymBool10guard_boolEPKcl"  # of torch 2.0.0 and later


@pytest.fixture
def here(tmp_path: Path) -> ScanOptions:
    """An environment without torch, in which a libcudart.so.12 is installed."""
    site = tmp_path / "lib/python3.11/site-packages"
    library = site / "nvidia/cuda_runtime/lib/libcudart.so.12"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"\x7fELF")
    environment = PythonEnvironment(None, None, PythonVersion(3, 11), str(site), (str(site),), None)
    return ScanOptions(None, environment, LoaderSettings(str(tmp_path)))


def _told(subjects: tuple[Subject, ...]) -> str:
    return " ".join(fact for subject in subjects for cause in subject.causes for fact in cause.evidence)


def test_a_library_of_every_machine_is_no_evidence(tmp_path: Path) -> None:
    """GLIBC_2.17 is in the libc.so.6 of this machine; the message reports that another one lacks it."""
    folders = ("/lib/x86_64-linux-gnu", "/lib64", "/lib/aarch64-linux-gnu")
    libc = next(path for folder in folders if (path := Path(folder, "libc.so.6")).exists())
    mine = tmp_path / "_C.so"
    mine.write_bytes(b"\x7fELF")
    options = ScanOptions(None, read_environment(sys.executable), LoaderSettings(str(tmp_path)))
    told = [
        _told(
            explain_text(f"ImportError: {libc}: version `GLIBC_2.17' not found (required by {path})", options).subjects
        )
        for path in ("/elsewhere/_C.so", mine)
    ]
    assert ["on this machine defines GLIBC_2.17" in each for each in told] == [False, True]


@table_rows
def test_a_torch_is_advised_on_which_the_package_of_the_file_loads(
    here: ScanOptions, others: tuple[str, ...], advised: str | None
) -> None:
    """message-logger.so loads on 2.11.0 and later (nm -D over the wheels of torch); autograd-node-subclass.so is
    compiled for 2.13.0, and the layout of its base class differs in 2.14 (DWARF of each release). A package of the same
    folder with another name (sphericart and sphericart-torch) does not count."""
    assert here.environment is not None
    site = Path(here.environment.site_packages[0])
    names = ("message-logger.so", *others)
    (site / "x_y").mkdir()
    for name in names:
        (site / "x_y" / name).write_bytes((FIXTURES / name).read_bytes())
    record_package(site, "x-torch", *(f"x_y/{name}" for name in names))
    text = f"PyTorch version: 2.4.0\nImportError: {site}/x_y/message-logger.so: undefined symbol: "
    (subject,) = explain_text(f"{text}_ZN3c1013MessageLoggerC1ENS_14SourceLocationEib", here).subjects
    ways = re.findall(r'pip install ("torch[^"]*")', " ".join(cause.fix for cause in subject.causes))
    assert set(ways) == ({advised} if advised else set())


@table_rows
def test_a_library_that_a_package_did_not_load_is_read(
    name: str, words: str, here: ScanOptions, tmp_path: Path
) -> None:
    """old-string-extension.so lacks symbols of every torch 2.13.0 (the loader, tests/cli/test_cli.py); the message has
    no symbol. FFmpeg may be missing, too."""
    package = "torchcodec" if "torchcodec" in name else "torchaudio"
    path = tmp_path / package / name
    path.parent.mkdir()
    shutil.copy(FIXTURES / "old-string-extension.so", path)
    subjects = explain_text(f"{words}Could not load this library: {path}", replace(here, torch="2.13.0")).subjects
    causes = [cause.cause for cause in subjects[0].causes]
    assert causes[0] is CauseId.CXX11_ABI_MISMATCH
    assert (CauseId.LIBRARY_MISSING in causes) == (package == "torchcodec")


@pytest.mark.torch
@pytest.mark.parametrize("named", [False, True])
def test_the_python_on_the_command_line_has_the_error(named: bool) -> None:
    """Oracle: the metadata of the installed torch. The symbol is one that no release exports."""
    version = importlib.metadata.version("torch").partition("+")[0]
    options = ScanOptions(None, read_environment(sys.executable), LoaderSettings("/"), python_named=named)
    symbol = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"
    (subject,) = explain_text(f"ImportError: /elsewhere/_C.so: undefined symbol: {symbol}", options).subjects
    assert (f"with torch {version}" in subject.causes[0].fix) is named


def _environment_with(cuda: str | None, hip: str | None, site: Path) -> PythonEnvironment:
    """An environment with the libraries of the installed torch, and the version of a source build."""
    installed = Path(importlib.util.find_spec("torch").submodule_search_locations[0])  # type: ignore[union-attr,index]
    torch = site / "torch"
    torch.mkdir()
    (torch / "lib").symlink_to(installed / "lib")
    (torch / "__init__.py").touch()
    (torch / "version.py").write_text(f"__version__ = '2.1.0a0+git7bcf7da'\ncuda = {cuda!r}\nhip = {hip!r}\n")
    return PythonEnvironment(None, None, PythonVersion(3, 11), str(site), (str(site),), None)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("variant", "has", "lacks"),
    [
        ((None, None), "pip install --no-build-isolation", "FORCE_CUDA|nvcc|hipcc"),
        ((None, "5.6.31061"), "needs hipcc", "nvcc"),
        (("11.8", None), "needs nvcc of CUDA 11", "hipcc"),
    ],
)
@pytest.mark.parametrize(
    "beside", ["", "such as torch 2.1.0 and CUDA 12.0", "PyTorch version: 2.1.0+cu121", "PyTorch version: 2.2.0"]
)
def test_the_torch_of_the_named_environment_counts_before_the_text(
    variant: tuple[str | None, str | None], has: str, lacks: str, beside: str, tmp_path: Path
) -> None:
    environment = _environment_with(*variant, tmp_path)
    options = ScanOptions(None, environment, LoaderSettings("/"), python_named=True)
    text = f"I built torch from source, and the wheel of torch_scatter does not load. {beside}"
    (subject,) = explain_text(text, options).subjects
    fix = subject.causes[0].fix
    assert has in fix
    assert re.search(lacks, fix) is None, fix
    assert not any("CUDA 12.0" in each for each in subject.causes[0].evidence)
    assert any("2.2.0, which the text names" in note for note in subject.notes) is ("2.2.0" in beside)


@pytest.mark.torch
def test_no_release_replaces_a_source_build_that_is_not_for_the_gpu(tmp_path: Path) -> None:
    environment = _environment_with("11.8", None, tmp_path)
    options = ScanOptions(None, environment, LoaderSettings("/"), python_named=True)
    text = "I built torch from source for ROCm, and the wheel of torch_scatter does not load."
    (subject,) = explain_text(text, options).subjects
    assert "is not for ROCm: use the Python" in subject.causes[0].fix
    assert "torch==2.1.0a0" not in subject.causes[0].fix
    assert any("for CUDA 11.8; the text is of ROCm" in note for note in subject.notes)


def test_local_files_are_no_evidence_for_another_machine(here: ScanOptions, tmp_path: Path) -> None:
    message = "libcudart.so.11.0: cannot open shared object file: No such file or directory"
    elsewhere = explain_text(
        f'  File "/elsewhere/site-packages/a/__init__.py", line 1\nImportError: {message}', here
    ).subjects
    assert "Installed instead: " not in _told(elsewhere)
    script = tmp_path / "train.py"
    script.write_text("import a")
    own = explain_text(f'  File "{script}", line 1\nImportError: {message}', here).subjects
    assert "Installed instead: " in _told(own)
    assert "libcudart.so.12" in _told(own)


@pytest.mark.torch
def test_a_name_that_the_installed_torch_exports_was_missing_from_another(
    here: ScanOptions, torch_python: Path
) -> None:
    options = ScanOptions(None, read_environment(str(torch_python)), here.settings)
    (subject,) = explain_text(NAME, options).subjects
    assert subject.causes[0].cause is CauseId.BUILT_FOR_NEWER_TORCH
    assert "which is installed here, exports it" in subject.notes[-1]
    (subject,) = explain_text(NAME, ScanOptions("installed", options.environment, options.settings)).subjects
    assert subject.causes[0].cause is not CauseId.BUILT_FOR_NEWER_TORCH


@pytest.mark.torch
def test_a_symbol_missing_in_the_installed_torch_is_explained_for_it(here: ScanOptions, torch_python: Path) -> None:
    options = ScanOptions(None, read_environment(str(torch_python)), here.settings)
    (subject,) = explain_text("_ZN3c1017RegisterOperatorsD1Ev", options).subjects  # exported until torch 2.1
    assert subject.causes[0].cause is CauseId.BUILT_FOR_OLDER_TORCH
    assert not subject.causes[0].evidence[0].startswith("If your torch")


@pytest.mark.parametrize("torch", [None, "2.8.0"])
def test_a_mac_name_is_not_explained_by_the_strings_of_linux(torch: str | None, here: ScanOptions) -> None:
    """libc++ has one std::string (https://libcxx.llvm.org); `_GLIBCXX_USE_CXX11_ABI` belongs to libstdc++. The function
    is in every torch for macOS on arm64 since 1.8.0, the first in the index (llvm-objdump)."""
    text = (
        "dlopen(/elsewhere/_C.so, 0x0006): Symbol not found: "
        "__ZN3c105ErrorC1ENS_14SourceLocationENSt3__112basic_stringIcNS2_11char_traitsIcEENS2_9allocatorIcEEEE\n"
        "  Expected in: /elsewhere/torch/lib/libc10.dylib"
    )
    (subject,) = explain_text(text, ScanOptions(torch, here.environment, here.settings)).subjects
    assert all(cause.cause is not CauseId.CXX11_ABI_MISMATCH for cause in subject.causes)
    assert not any("CXX11_ABI" in (cause.fix or "") for cause in subject.causes)
    assert subject.exported_in is not None
    assert subject.exported_in[0][0] == "1.8.0"
    assert len(subject.exported_in) == 1
    assert "does not export it: it is another build" not in _told((subject,))
    assert "macOS" in " ".join(subject.notes)


def test_a_package_without_gpu_code_needs_nvcc_only_beside_a_torch_with_cuda(here: ScanOptions) -> None:
    """torchtext 0.17.2 has no GPU code, but its CMakeLists.txt calls `find_package(Torch)`. Oracle for what this
    requires: torch/share/cmake/Caffe2/Caffe2Config.cmake."""
    symbol = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    error = f"OSError: /x/site-packages/torchtext/lib/libtorchtext.so: undefined symbol: {symbol}"
    (subject,) = explain_text(f"My torch was built from source.\n{error}", here).subjects
    builds = [line for line in subject.causes[0].fix.splitlines() if "--no-build-isolation" in line]
    assert builds
    assert all("  # for a torch with CUDA: needs nvcc" in line for line in builds)


def test_a_damaged_torch_does_not_hide_the_answer(tmp_path: Path) -> None:
    """The package has no libtorch: the text is explained as for an unknown torch."""
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("")
    environment = PythonEnvironment(None, None, PythonVersion(3, 11), str(tmp_path), (str(tmp_path),), None)
    options = ScanOptions(None, environment, LoaderSettings(str(tmp_path)), python_named=True)
    for text in ("torch.compile: NameError: name 's2' is not defined", "torch 2.5.1, inductor: s2 is not defined"):
        (subject,) = explain_text(text, options).subjects
        assert subject.causes[0].cause is CauseId.GENERATED_KERNEL
