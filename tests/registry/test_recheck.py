"""A check with stored facts gives the same result as a scan of the wheel against that release."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import msgspec
import pytest

from abiscan.analysis import stored_containers
from abiscan.analysis.batches import Batch
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.merge import finish_containers, merge
from abiscan.analysis.scan_batch import scan_batch, scan_items
from abiscan.analysis.scan_options import ScanOptions
from abiscan.analysis.stored_containers import FactKeeper, StoredContainer, artifacts_of
from abiscan.elf.elf_file import ElfFile
from abiscan.loader import LoaderSettings
from abiscan.model.report import Report
from tests.registry.kit import FIXTURES, wheel

OBJECTS = sorted(path.relative_to(FIXTURES).as_posix() for path in FIXTURES.glob("*.so"))
TOGETHER = ("good-extension.so", "missing-library.so", "needs-unlinked.so", "old-string-extension.so")


def context(torch: str) -> AnalysisContext:
    return AnalysisContext(ScanOptions(torch, None, LoaderSettings("/"), matrix=True))


def scanned(path: Path, torch: str) -> Report:
    found = context(torch)
    return merge(finish_containers(scan_batch(Batch((str(path),)), found), found.known_versions), ())


def stored(path: Path, torch: str) -> bytes | None:
    """The stored facts of a scan against one release, as in a file; None if a name in it is no text."""
    found = context(torch)
    found.keeper = FactKeeper()
    list(scan_batch(Batch((str(path),)), found))
    try:
        return msgspec.msgpack.encode(tuple(found.keeper.containers()))
    except UnicodeEncodeError:
        return None


def judged_again(facts: bytes | None, torch: str) -> Report:
    assert facts is not None
    containers = msgspec.msgpack.decode(facts, type=tuple[StoredContainer, ...])
    artifacts = [each for number, box in enumerate(containers) for each in artifacts_of(box, f"{number}")]
    found = context(torch)
    return merge(finish_containers(scan_items(artifacts, Batch(()), found), found.known_versions), ())


@pytest.mark.parametrize("fixture", OBJECTS)
def test_stored_facts_give_the_same_result_as_the_file(tmp_path: Path, fixture: str) -> None:
    path = wheel(tmp_path, "demo", fixture)
    facts = stored(path, "2.6.0")
    truth = scanned(path, "2.13.0")
    if facts is None:
        # It is read again instead, see test_runs.py.
        names = [bound.name for artifact in truth.artifacts for bound in artifact.imports]
        assert any(not name.isascii() for name in names)
        return
    path.unlink()
    again = judged_again(facts, "2.13.0")
    assert again.artifacts == truth.artifacts
    assert again.containers == truth.containers


def test_functions_that_pybind11_binds_keep_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: the message of the scan. Real wheels, such as torch_harmonics 0.9.3, had the imports instead."""
    monkeypatch.setattr(ElfFile, "bound_functions", lambda _self: ("forward",))
    monkeypatch.setattr(stored_containers, "pybind11_ids", lambda _binary: iter((b"__pybind11_internals_v4_gcc__",)))
    path = wheel(tmp_path, "demo", "op-not-registered.so")
    facts = stored(path, "2.6.0")
    said = []
    for report in (scanned(path, "2.13.0"), judged_again(facts, "2.13.0")):
        (artifact,) = report.artifacts
        said += [each.message for each in artifact.findings if each.rule == "op-not-registered"]
    assert "(`forward`)" in said[0]
    assert len(said) == 2
    assert said[0] == said[1]


def test_a_model_calls_what_it_called(tmp_path: Path) -> None:
    """`torch.ops.aten` has _linalg_svd; at::_ops::_scaled_grouped_mm_v2::call was added in 2.10.0 (the release
    index)."""
    path = tmp_path / "model.pt2"
    calls = ("aten::_linalg_svd", "aten::_scaled_grouped_mm_v2", "mine::f.out")
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(FIXTURES / "aotinductor" / "model.so", "model/m.so")
        archive.writestr("model/m.json", json.dumps({"nodes": [{"node": {"target": each}} for each in calls]}))
    facts = stored(path, "2.6.0")
    for torch in ("2.8.0", "2.13.0"):
        (truth,) = scanned(path, torch).artifacts
        assert [each.in_torch for each in truth.called] == [True, torch == "2.13.0", None]
        assert judged_again(facts, torch).artifacts == (truth,)


def test_facts_from_before_calls_were_kept_say_so(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(FIXTURES / "aotinductor" / "model.so", "model/m.so")
    (container,) = msgspec.msgpack.decode(stored(path, "2.6.0") or b"")
    (artifact,) = container["artifacts"]
    del artifact["file"]["calls"]
    (again,) = judged_again(msgspec.msgpack.encode([container]), "2.13.0").artifacts
    assert [note for note in again.notes if "not among its stored facts" in note]


@pytest.mark.parametrize("torch", ["1.13.1", "2.4.1", "2.13.0", "declared"])
def test_files_of_a_package_serve_each_other_as_they_did(tmp_path: Path, torch: str) -> None:
    siblings = sorted(path.relative_to(FIXTURES).as_posix() for path in (FIXTURES / "loader").rglob("*.so"))[:12]
    chosen = {Path(name).name: name for name in (*TOGETHER, *siblings)}
    path = wheel(tmp_path, "demo", *chosen.values(), requires="torch>=2.3,<2.8")
    facts = stored(path, "2.6.0")
    assert judged_again(facts, torch).artifacts == scanned(path, torch).artifacts
