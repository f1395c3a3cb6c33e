"""Files for Windows and macOS in the whole pipeline, against releases. tests/fixtures/build.py lists their imports;
exports of torch are from `llvm-readobj --coff-exports` and `llvm-objdump --exports-trie` on its wheels."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.analysis.explanation import explain_text
from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.imports import Owner, Status
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.model.target import TargetSource
from abiscan.releases.add import add_build
from tests.environment.windows_tree import FIXTURES, install_torch, make_installation
from tests.fixtures.wheels import make_wheel


def options(torch: str | None = None) -> ScanOptions:
    return ScanOptions(torch, None, LoaderSettings("/"), matrix=True)


def loads_on(artifact: ArtifactReport) -> list[str]:
    return [each.torch for each in artifact.releases or () if each.loads]


def wheel(folder: Path, tag: str, members: dict[str, Path]) -> Path:
    return make_wheel(folder, members, name="demo", tag=f"cp311-cp311-{tag}", requires="torch>=2.8")


@pytest.mark.parametrize(("torch", "verdict"), [("2.7.1", ArtifactVerdict.FAILS), ("2.8.0", ArtifactVerdict.LOADS)])
def test_a_module_for_windows(fixtures_dir: Path, torch: str, verdict: ArtifactVerdict) -> None:
    (found,) = scan([str(fixtures_dir / "windows/demo/_C.cp311-win_amd64.pyd")], options(torch)).artifacts
    assert found.verdict is verdict
    assert loads_on(found)[0] == "2.8.0"
    assert found.machine == "win_amd64"
    # There is no loader prediction for Windows.
    assert found.loader is not None
    assert found.loader.outcome is None
    assert found.target is not None
    assert found.target.platform is not None
    assert found.target.platform.source is TargetSource.FILE
    # helper.dll is in the same directory.
    assert all(each.status is Status.RESOLVED for each in found.imports if (each.symbol.library or "") == "HELPER.dll")


def test_cuda_symbols_of_windows_are_not_checked(fixtures_dir: Path) -> None:
    (found,) = scan([str(fixtures_dir / "windows/cuda.pyd")], options("2.8.0")).artifacts
    assert found.verdict is ArtifactVerdict.UNDECIDED
    assert any(note.startswith("CUDA symbols not checked (1)") for note in found.notes)


def test_wheels_for_three_platforms_in_one_run(fixtures_dir: Path, tmp_path: Path) -> None:
    windows = fixtures_dir / "windows/demo"
    wheel(
        tmp_path,
        "win_amd64",
        {"demo/_C.pyd": windows / "_C.cp311-win_amd64.pyd", "demo.libs/helper.dll": windows / "helper.dll"},
    )
    wheel(tmp_path, "macosx_11_0_arm64", {"demo/_C.so": fixtures_dir / "macos/_C.cpython-311-darwin.so"})
    wheel(tmp_path, "manylinux_2_28_x86_64", {"demo/_C.so": fixtures_dir / "good-extension.so"})
    report = scan([str(tmp_path)], options())
    assert {each.machine for each in report.artifacts} == {"win_amd64", "macosx_arm64", "x86_64"}
    assert not [f.rule for each in report.artifacts for f in each.findings if f.rule == "wheel-tag-other-machine"]
    (note,) = [each for each in report.notes if "differ by platform" in each]
    assert "x86-64 on Windows: 2.8.0-2.15.0" in note
    # It imports a name from a library that never exported it.
    assert "arm64 on macOS: none" in note


def test_a_library_of_another_platform_is_reported(fixtures_dir: Path, tmp_path: Path) -> None:
    path = wheel(tmp_path, "win_amd64", {"demo/_C.so": fixtures_dir / "macos/_C.cpython-311-darwin.so"})
    report = scan([str(path)], options())
    (finding,) = [f for each in report.artifacts for f in each.findings if f.rule == "wheel-tag-other-machine"]
    assert "is built for arm64 on macOS" in finding.message


def test_the_message_of_windows_is_completed_from_the_file(fixtures_dir: Path) -> None:
    file = fixtures_dir / "windows/demo/_C.cp311-win_amd64.pyd"
    message = "ImportError: DLL load failed while importing _C: The specified procedure could not be found."
    (subject,) = explain_text(message, options("2.7.1"), needed_by=str(file)).subjects
    assert subject.causes[0].cause.value == "built-for-newer-torch"
    assert "Its torch symbols all resolve on torch 2.8.0-2.15.0." in subject.notes
    assert any("torch 2.7.1 does not export 1 of its symbols" in note for note in subject.notes)


def test_the_whole_message_of_dyld_is_answered_by_builds_for_macos() -> None:
    """c10::Error::what() is weak, and not exported by libc10.dylib, before 2.4.0."""
    message = (
        "ImportError: dlopen(/e/x/_C.so, 0x0002): Symbol not found: __ZNK3c105Error4whatEv\n"
        "  Referenced from: <5C1A> /e/x/_C.so\n  Expected in:     <99B0> /e/torch/lib/libc10.dylib"
    )
    (subject,) = explain_text(message, options("2.3.1")).subjects
    assert subject.exported_in is not None
    assert subject.exported_in.text() == "2.4.0-2.15.0"


@pytest.mark.parametrize("verdict", [ArtifactVerdict.LOADS, ArtifactVerdict.FAILS])
def test_a_module_that_needs_torch_through_another_is_checked_against_an_installed_torch(
    tmp_path: Path, verdict: ArtifactVerdict
) -> None:
    """Its symbol of torch_cpu.dll is imported by the module that it needs; Windows looks for it nowhere else."""
    site = make_installation(tmp_path)
    torch = install_torch(site)
    if verdict is ArtifactVerdict.FAILS:
        shutil.copy(torch / "lib/c10_cuda.dll", torch / "lib/torch_cpu.dll")
    shutil.copytree(FIXTURES / "linked", site / "linked")
    artifacts = scan([str(site / "linked")], options()).artifacts
    assert [each.verdict for each in artifacts] == [verdict] * 2
    assert [each.target.torch.value for each in artifacts if each.target and each.target.torch] == ["2.8.0+cu128"] * 2


def test_an_added_build_with_cuda_answers_for_its_release_alone(tmp_path: Path) -> None:
    """c10_cuda.dll of the added build exports the symbol of the file."""
    add_build(install_torch(make_installation(tmp_path)), tmp_path / "index")
    file = str(FIXTURES / "cuda.pyd")

    def verdict(torch: str) -> ArtifactVerdict:
        (found,) = scan([file], replace(options(torch), user_index=str(tmp_path / "index"))).artifacts
        return found.verdict

    assert verdict("2.8.0+cu128") is ArtifactVerdict.LOADS
    assert verdict("2.8.0") is ArtifactVerdict.FAILS
    assert verdict("2.7.1") is ArtifactVerdict.UNDECIDED
    (found,) = scan([file], replace(options("2.8.0+cu128"), user_index=str(tmp_path / "index"))).artifacts
    on_cpu = {each.torch for each in found.releases or () if each.variant == "cpu" and each.loads}
    # It stays open where the index has no build with CUDA.
    assert {"2.7.1", "2.9.0"} <= on_cpu
    assert "2.8.0" not in on_cpu


def test_a_label_that_no_build_of_the_platform_has_is_not_replaced_by_another(tmp_path: Path) -> None:
    torch = install_torch(make_installation(tmp_path))
    (torch / "version.py").write_text("__version__ = '2.8.0+cu999'\ncuda = '99.9'\n")
    add_build(torch, tmp_path / "index")
    files = [FIXTURES.parent / "good-extension.so", FIXTURES / "cuda.pyd"]
    added = replace(options("2.8.0+cu999"), user_index=str(tmp_path / "index"))
    (linux, windows) = scan(map(str, files), added).artifacts
    assert windows.verdict is ArtifactVerdict.LOADS
    assert linux.verdict is ArtifactVerdict.UNDECIDED
    assert any("torch 2.8.0+cu999 for x86_64 is not in the release index" in note for note in linux.notes)


def test_a_class_of_a_framework_that_a_file_does_not_link(fixtures_dir: Path, tmp_path: Path) -> None:
    """Metal's classes begin with MTL. dyld searches all loaded libraries for an import that names none."""
    old, new = b"__ZN2at6TensorD1Ev", b"_OBJC_CLASS_$_MTLD"
    file = tmp_path / "_C.cpython-311-darwin.so"
    file.write_bytes((fixtures_dir / "macos" / "flat-namespace.so").read_bytes().replace(old, new))
    (found,) = scan([str(file)], options()).artifacts
    note = "not linked: Metal, which exports OBJC_CLASS_$_MTLD; link it with -framework Metal"
    assert note in found.notes


@pytest.mark.parametrize(("library", "owner"), [("libtorch_abc", Owner.OTHER), ("libtorch_cpu", Owner.TORCH)])
def test_a_namespace_of_a_plugin_that_a_file_of_macos_needs(
    fixtures_dir: Path, tmp_path: Path, library: str, owner: Owner
) -> None:
    """As on Linux: torch ships no libtorch_abc, which defines names in c10::abc."""
    content = (fixtures_dir / "macos" / "flat-namespace.so").read_bytes()
    for old, new in ((b"__ZN3c109log_levelE", b"__ZN3c103abc5levelE"), (b"libtorch_cpu", library.encode())):
        content = content.replace(old, new)
    (tmp_path / "x.so").write_bytes(content)
    (found,) = scan([str(tmp_path / "x.so")], options("2.2.2")).artifacts
    assert {each.owner for each in found.imports if each.name == "_ZN3c103abc5levelE"} == {owner}


def test_what_is_not_checked_of_a_file_that_loads_is_said() -> None:
    """As docs/explanation/platforms.md has it."""
    (found,) = scan([str(FIXTURES / "demo/_C.cp311-win_amd64.pyd")], options("2.8.0")).artifacts
    assert found.verdict is ArtifactVerdict.LOADS
    assert "not checked for Windows: changed class layouts" in found.notes
    (found,) = scan([str(FIXTURES / "demo/_C.cp311-win_amd64.pyd")], options("2.7.1")).artifacts
    assert not [note for note in found.notes if note.startswith("not checked for")]


def test_cpythons_symbols_are_checked_beside_an_installed_torch_for_macos(fixtures_dir: Path, tmp_path: Path) -> None:
    """No interpreter for macOS is opened here: CPython 3.11 exports PyList_New, and none exports _Py_NoSuchName."""
    site = tmp_path / "lib/python3.11/site-packages"
    (site / "torch/lib").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    shutil.copy(fixtures_dir / "macos/bind-opcodes.so", tmp_path / "bin/python3")
    shutil.copy(fixtures_dir / "macos/universal.dylib", site / "torch/lib/libc10.dylib")
    (site / "torch/__init__.py").touch()
    (site / "torch/version.py").write_text("__version__ = '2.8.0'\n")
    file = site / "_C.cpython-311-darwin.so"
    shutil.copy(fixtures_dir / "macos/_C.cpython-311-darwin.so", file)
    (found,) = scan([str(file)], options()).artifacts
    assert found.torch_build is not None
    assert found.torch_build.version == "2.8.0"
    of_python = {each.name: each.status for each in found.imports if each.name in ("PyList_New", "_Py_NoSuchName")}
    assert of_python == {"PyList_New": Status.RESOLVED, "_Py_NoSuchName": Status.MISSING}


def test_a_library_is_found_where_its_name_locates_it(fixtures_dir: Path, tmp_path: Path) -> None:
    """`@loader_path` is the folder of the file (dyld(1)); this folder of its package has no usual name."""
    contents = (fixtures_dir / "macos/_C.cpython-311-darwin.so").read_bytes()
    assert contents.count(b"@loader_path/.dylibs/") == 1
    for folder in ("demo/lib", "demo/libs"):
        (tmp_path / folder).mkdir(parents=True)
    file = tmp_path / "demo/lib/_C.so"
    file.write_bytes(contents.replace(b"@loader_path/.dylibs/", b"@loader_path/../libs/"))
    shutil.copy(fixtures_dir / "macos/universal.dylib", tmp_path / "demo/libs/libhelp.dylib")
    (found,) = scan([str(file)], options("2.8.0")).artifacts
    needed = {each.soname: each.found for each in found.needed}
    assert needed["@loader_path/../libs/libhelp.dylib"] == "libhelp.dylib"
