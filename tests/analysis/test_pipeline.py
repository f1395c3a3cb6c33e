"""The run in batches: every division gives the same report, and one container is held at a time."""

from __future__ import annotations

import mmap
import os
import re
import shutil
import signal
import sys
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.analysis.batches import Batch, OpenedContainer, Scanned, ScannedArtifact, plan
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.executors import default_jobs, in_children, in_process
from abiscan.analysis.merge import finish_containers, merge
from abiscan.analysis.run import scan, stream
from abiscan.analysis.scan_batch import check_artifact, scan_batch
from abiscan.analysis.scan_options import ScanOptions
from abiscan.binary import formats
from abiscan.elf.opening import map_file
from abiscan.errors import UsageError
from abiscan.inputs import Artifact
from abiscan.loader import LoaderSettings
from abiscan.model.limits import MAX_COPIED
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container, InputError, Report
from abiscan.model.target import TargetEnvironment
from tests.fixtures.wheels import FIXTURES, make_wheel
from tests.report.samples import TARGET, an_artifact


def options(cwd: Path) -> ScanOptions:
    return ScanOptions("2.13.0", None, LoaderSettings(str(cwd)))


def fill(folder: Path) -> Path:
    """Two files, a source, an unreadable file and three wheels, one of them in a folder."""
    for name in ("good-extension.so", "old-string-extension.so"):
        shutil.copy(FIXTURES / name, folder / name)
    (folder / "damaged.so").write_bytes((FIXTURES / "good-extension.so").read_bytes()[:100])
    (folder / "inner").mkdir()
    for number, place in enumerate((folder, folder, folder / "inner")):
        members = {"demo/good.so": "good-extension.so", "demo/old.so": "old-string-extension.so"}
        make_wheel(place, members, name=f"demo{number}")
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return fill(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of one process on the directory of `fill`."""
    return scan(["."], options(fill(tmp_path_factory.mktemp("whole"))))


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small archives are divided, too."""
    monkeypatch.setattr("abiscan.analysis.batches._PART", 1)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("jobs", [2, 3, 5])
def test_every_division_gives_the_same_report(tree: Path, whole: Report, jobs: int) -> None:
    assert [c.path for c in whole.containers] == sorted(c.path for c in whole.containers)
    assert len(whole.containers) == 3
    assert len(whole.errors) == 1
    assert scan(["."], options(tree), jobs=jobs) == whole


def test_processes_give_the_same_report(tree: Path, whole: Report) -> None:
    assert scan(["."], options(tree), jobs=2, executor=in_children(2)) == whole


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("targets", [["."], ["cut.so"], ["good-extension.so", "cut.so", "old-string-extension.so"]])
def test_a_file_that_is_cut_off_while_it_is_mapped_costs_that_file(
    tree: Path, whole: Report, monkeypatch: pytest.MonkeyPatch, targets: list[str], jobs: int
) -> None:
    """Reading a truncated mapping raises SIGBUS (mmap(2)), not an exception."""
    without = scan([target for target in targets if target != "cut.so"], options(tree)) if len(targets) > 1 else None
    if targets == ["."]:
        without = whole
    with (tree / "cut.so").open("wb") as file:
        file.write((FIXTURES / "good-extension.so").read_bytes())
        file.truncate(MAX_COPIED + 1)

    def cut_off(path: str, shown: str, *, copy_up_to: int = 0) -> bytes | mmap.mmap:
        mapped = map_file(path, shown, copy_up_to=copy_up_to)
        if shown == "cut.so":
            os.truncate(path, 0)
        return mapped

    monkeypatch.setattr(formats, "map_file", cut_off)
    report = scan(targets, options(tree), jobs=jobs, executor=in_children(jobs))
    (died,) = (each for each in report.errors if each.path == "cut.so")
    # With two processes, the other one may divide the files after the cut, and have the empty file in its part, too.
    assert "SIGBUS" in died.message or (jobs == 2 and "empty file" in died.message)
    if without is not None:
        assert len(report.errors) == len(without.errors) + 1
        assert set(report.errors) == {*without.errors, died}
        assert report.artifacts == without.artifacts
        assert report.containers == without.containers


def test_a_file_that_is_cut_off_before_another_process_finds_it_has_one_error(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process, which reports what is no shared object, looks for files after the second has emptied one."""
    names = ["good-extension.so", "old-string-extension.so"]
    without = scan(names, options(tree))
    with (tree / "cut.so").open("wb") as file:
        file.write((FIXTURES / "good-extension.so").read_bytes())
        file.truncate(MAX_COPIED + 1)

    def cut_off(path: str, shown: str, *, copy_up_to: int = 0) -> bytes | mmap.mmap:
        mapped = map_file(path, shown, copy_up_to=copy_up_to)
        if shown == "cut.so":
            os.truncate(path, 0)
            time.sleep(1)  # until the other has reported the empty file
        return mapped

    def late(batch: Batch, *rest: object) -> Iterator[Scanned]:
        if batch.part == 0:
            deadline = time.monotonic() + 30
            while (tree / "cut.so").stat().st_size and time.monotonic() < deadline:
                time.sleep(0.01)
        yield from scan_batch(batch, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(formats, "map_file", cut_off)
    monkeypatch.setattr("abiscan.analysis.executors.scan_batch", late)
    report = scan([*names, "cut.so"], options(tree), jobs=2, executor=in_children(2))
    assert [each.path for each in report.errors] == ["cut.so"]
    assert report.artifacts == without.artifacts


@pytest.mark.parametrize(("jobs", "times", "is_read"), [(1, 1, False), (2, 1, True), (2, 2, False)])
def test_a_process_that_is_killed_for_memory_is_tried_again_alone(
    tree: Path, whole: Report, monkeypatch: pytest.MonkeyPatch, jobs: int, times: int, *, is_read: bool
) -> None:
    """The out-of-memory killer sends SIGKILL (proc(5), oom_score): beside others, or with one process, too."""
    died = next(each.display for each in whole.artifacts if "demo1" in each.display and "old" in each.display)
    kills = tree / "kills"
    kills.write_text("")

    def check(artifact: Artifact, context: AnalysisContext) -> object:
        if artifact.display == died and len(kills.read_text()) < times:
            kills.write_text(kills.read_text() + "x")
            os.kill(os.getpid(), signal.SIGKILL)
        return check_artifact(artifact, context)

    monkeypatch.setattr("abiscan.analysis.scan_batch.check_artifact", check)
    report = scan(["."], options(tree), jobs=jobs, executor=in_children(jobs))
    unread = InputError(
        died,
        "the process that read it died (SIGKILL, which the system sends when memory is short): the file was not read",
    )
    assert (unread in report.errors) is not is_read
    assert (report.artifacts == whole.artifacts) is is_read


def test_without_fork_no_archive_is_divided(tree: Path, whole: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """os.fork: "Availability: POSIX"."""
    monkeypatch.setattr("abiscan.analysis.batches._PART", 1)
    monkeypatch.delattr(os, "fork")
    divided = list(plan(["."], options(tree), 5))
    assert any(batch.parts > 1 for batch in divided)
    seen: list[Batch] = []

    def here(batches: Iterable[Batch], context: AnalysisContext) -> Iterator[Scanned]:
        for batch in batches:
            seen.append(batch)
            yield from scan_batch(batch, context)

    monkeypatch.setattr("abiscan.analysis.executors.in_process", here)
    assert scan(["."], options(tree), jobs=5, executor=in_children(5)) == whole
    assert all(batch.parts == 1 for batch in seen)


def test_children_give_the_same_report_and_the_same_errors(tree: Path, whole: Report) -> None:
    assert scan(["."], options(tree), executor=in_children(1)) == whole
    with pytest.raises(UsageError) as here:
        scan([".", "nothing.so"], options(tree))
    with pytest.raises(UsageError) as there:
        scan([".", "nothing.so"], options(tree), executor=in_children(1))
    assert str(there.value) == str(here.value)


def test_an_executor_is_any_function_from_shares_to_what_they_find(tree: Path, whole: Report) -> None:
    """As in a cluster: each batch separately, with its own services, in any order."""

    def backwards(batches: Iterable[Batch], context: AnalysisContext) -> Iterator[Scanned]:
        for batch in reversed(list(batches)):
            yield from scan_batch(batch, AnalysisContext(context.options))

    assert scan(["."], options(tree), jobs=2, executor=backwards).artifacts == whole.artifacts


def test_an_archive_is_a_share_of_its_own_where_there_are_enough(tree: Path) -> None:
    batches = list(plan(["."], options(tree), jobs=2))
    assert [s.targets for s in batches if s.archives] == [
        ("demo0-1.0-cp311-cp311-manylinux_2_28_x86_64.whl",),
        ("demo1-1.0-cp311-cp311-manylinux_2_28_x86_64.whl",),
        ("inner/demo2-1.0-cp311-cp311-manylinux_2_28_x86_64.whl",),
    ]
    assert [(s.part, s.parts) for s in batches if not s.archives] == [(0, 2), (1, 2)]
    assert sum(s.sources for s in batches) == 1


@pytest.mark.parametrize(("size", "parts"), [(500_000, 1), (9 << 20, 2), (13 << 20, 3), (40 << 20, 3)])
def test_one_archive_is_divided_by_its_members_where_it_is_large(tree: Path, size: int, parts: int) -> None:
    name = "demo0-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(tree / name, "a") as wheel:
        wheel.writestr("demo/weights", bytes(size - (tree / name).stat().st_size))
    assert [(s.targets, s.part, s.parts) for s in plan([name], options(tree), jobs=3)] == [
        ((name,), part, parts) for part in range(parts)
    ]
    whole = scan([name], options(tree))
    assert scan([name], options(tree), jobs=3, executor=in_children(3)) == whole


def test_a_missing_target_is_reported_before_the_scan(tree: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        list(plan(["good-extension.so", "absent.so"], options(tree), jobs=2))
    with pytest.raises(UsageError, match="no such file"):
        next(stream(["good-extension.so", "absent.so"], AnalysisContext(options(tree))))


def test_a_container_is_checked_after_its_last_member() -> None:
    """Ten thousand containers of two members each: only one is held at a time."""
    made = 0

    def scanned() -> Iterator[Scanned]:
        nonlocal made
        for number in range(10_000):
            path = f"{number}.zip"
            names = (f"{path}!a.so", f"{path}!b.so")
            made += 1
            yield OpenedContainer(_container(path, names))
            for name in names:
                yield ScannedArtifact(name, path, (_report(path, name),))

    containers = 0
    for item in finish_containers(scanned(), lambda machine: ()):
        if isinstance(item, Container):
            containers += 1
            assert made == containers, "the next container was opened before this one was handed on"
    assert containers == 10_000


def test_an_incomplete_container_is_checked_at_the_end() -> None:
    items: list[Scanned] = [
        OpenedContainer(_container("a.zip", ("a.zip!a.so", "a.zip!seen-before.so"))),
        ScannedArtifact("a.zip!a.so", "a.zip", (_report("a.zip", "a.zip!a.so"),)),
    ]
    container, report = finish_containers(items, lambda machine: ())
    assert isinstance(container, Container)
    assert container.verdict is ArtifactVerdict.LOADS
    assert container.artifacts == ("a.zip!a.so",)
    assert isinstance(report, ArtifactReport)


def test_the_builds_that_files_are_checked_against_are_sorted() -> None:
    """Eight builds of one release, which would otherwise have the order of a set."""
    variants = ["cpu", "cu118", "cu121", "cu124", "cu126", "cu128", "rocm6.2", "xpu"]
    targets = [TargetEnvironment(torch_build=replace(TARGET, variant=variant)) for variant in variants]
    items = [an_artifact(f"{target.torch_build}.so", target=target) for target in reversed(targets)]
    (note,) = merge(items, ()).notes
    assert re.findall(r"\+(\w+(?:\.\d)?)", note) == variants


def test_in_process_keeps_one_set_of_services(tree: Path) -> None:
    context = AnalysisContext(options(tree))
    list(in_process(plan(["good-extension.so"], context.options), context))
    index = context.index
    list(in_process(plan(["old-string-extension.so"], context.options), context))
    assert context.index is index


def _container(path: str, members: tuple[str, ...]) -> Container:
    return Container(path, "archive", None, None, (), (), (), (), ArtifactVerdict.UNDECIDED, members)


def _report(path: str, display: str) -> ArtifactReport:
    from abiscan.model.report import ArtifactKind

    member = display.partition("!")[2]
    return ArtifactReport(path, member, ArtifactKind.SHARED_OBJECT, 1, "x86_64", ArtifactVerdict.LOADS)


@pytest.mark.skipif(sys.platform != "linux", reason="processes begin as copies of this one on Linux alone")
@pytest.mark.parametrize("processors", [1, 2, 64])
def test_two_processes_look_at_large_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: set(range(processors)))
    sizes = {"a.whl": 9 << 20, "b.whl": 8 << 20, "c.so": 1 << 30, "d.tar.gz": 1 << 30, "dist/e.whl": 1 << 30}
    (tmp_path / "dist").mkdir()
    for name, size in sizes.items():
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    expected = {
        ("a.whl",): 1,
        ("a.whl", "b.whl"): min(2, processors),
        ("c.so", "d.tar.gz", "absent.whl"): 1,
        ("dist",): min(2, processors),
        (".",): min(2, processors),
    }
    assert {targets: default_jobs(targets, options(tmp_path)) for targets in expected} == expected
