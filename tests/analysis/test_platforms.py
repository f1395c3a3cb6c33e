"""Files for Windows and macOS through the whole pipeline, against releases. tests/fixtures/build.py says what they
import; what torch exports is told by `llvm-readobj --coff-exports` and `llvm-objdump --exports-trie` of its wheels."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.imports import Status
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.model.target import TargetSource

METADATA = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: torch>=2.8\n"


def options(torch: str | None = None) -> ScanOptions:
    return ScanOptions(torch, None, LoaderSettings("/"), matrix=True)


def loads_on(artifact: ArtifactReport) -> list[str]:
    return [each.torch for each in artifact.releases or () if each.loads]


def wheel(folder: Path, tag: str, members: dict[str, Path]) -> Path:
    path = folder / f"demo-1.0-cp311-cp311-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, file in members.items():
            archive.write(file, name)
        archive.writestr("demo-1.0.dist-info/METADATA", METADATA)
        archive.writestr("demo-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nTag: cp311-cp311-{tag}\n")
    return path


@pytest.mark.parametrize(("torch", "verdict"), [("2.7.1", ArtifactVerdict.FAILS), ("2.8.0", ArtifactVerdict.LOADS)])
def test_a_module_for_windows(fixtures_dir: Path, torch: str, verdict: ArtifactVerdict) -> None:
    (found,) = scan([str(fixtures_dir / "windows/demo/_C.cp311-win_amd64.pyd")], options(torch)).artifacts
    assert found.verdict is verdict
    assert loads_on(found)[0] == "2.8.0"
    assert found.machine == "win_amd64"
    # What the loader of Windows does on a machine is not predicted.
    assert found.loader is not None
    assert found.loader.outcome is None
    assert found.target is not None
    assert found.target.platform is not None
    assert found.target.platform.source is TargetSource.FILE
    # helper.dll lies beside it.
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
    (note,) = [each for each in report.notes if "on each platform" in each]
    assert "x86-64 on Windows: 2.8.0 - 2.15.0" in note
    # It imports a name from a library that never exported it.
    assert "arm64 on macOS: none" in note


def test_a_wheel_with_a_library_of_another_platform_is_told_so(fixtures_dir: Path, tmp_path: Path) -> None:
    path = wheel(tmp_path, "win_amd64", {"demo/_C.so": fixtures_dir / "macos/_C.cpython-311-darwin.so"})
    report = scan([str(path)], options())
    (finding,) = [f for each in report.artifacts for f in each.findings if f.rule == "wheel-tag-other-machine"]
    assert "is built for arm64 on macOS" in finding.message


def test_the_message_of_windows_is_completed_from_the_file(fixtures_dir: Path) -> None:
    file = fixtures_dir / "windows/demo/_C.cp311-win_amd64.pyd"
    message = "ImportError: DLL load failed while importing _C: The specified procedure could not be found."
    (subject,) = explain(message, options("2.7.1"), needed_by=str(file))
    assert subject.causes[0].cause.value == "built-for-newer-torch"
    assert "Its torch symbols all resolve on torch 2.8.0 - 2.15.0." in subject.notes
    assert any("torch 2.7.1 does not export 1 of its symbols" in note for note in subject.notes)


def test_the_whole_message_of_dyld_is_answered_by_builds_for_macos() -> None:
    """c10::Error::what() is weak, and not exported by libc10.dylib, before 2.4.0."""
    message = (
        "ImportError: dlopen(/e/x/_C.so, 0x0002): Symbol not found: __ZNK3c105Error4whatEv\n"
        "  Referenced from: <5C1A> /e/x/_C.so\n  Expected in:     <99B0> /e/torch/lib/libc10.dylib"
    )
    (subject,) = explain(message, options("2.3.1"))
    assert subject.exported_in is not None
    assert subject.exported_in.text() == "2.4.0 - 2.15.0"
