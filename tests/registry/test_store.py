"""The folder of a run: parts, journals and runs after a kill, and parts that are merged. The oracle is DuckDB, which
reads the raw tables."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from abiscan.registry import merge_parts, store
from abiscan.registry.dashboard_view import dashboard_view, sql
from abiscan.registry.journal import record_of
from abiscan.registry.run_folder import Asked, every_part, runs_of, wheels_of
from abiscan.registry.scan_unit import failed
from abiscan.registry.store import open_run
from abiscan.registry.table_files import rows_of
from abiscan.registry.unit import Unit

pytestmark = pytest.mark.registry
ASKED = Asked("0", "index", "2.13.0", "")


def kept_paths(run_directory: str) -> list[str]:
    """The paths in the raw tables of `wheels`, of every part."""
    return [row["path"] for part in every_part(run_directory) for row in rows_of(f"{part}/wheels.parquet", "path")]


def test_a_kill_between_a_part_and_the_end_of_its_journal_leaves_no_row_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unit that could not be read has no identity: only the number of the journal shows that its part is there."""
    run = open_run(str(tmp_path), ASKED, "2026-01-01T00:00:00Z")
    run.add(record_of(failed(Unit("a.whl", None), "the server answered 503")))
    run.add(record_of(failed(Unit("b.whl", "sha256:0"), "cut off")))

    def killed(_path: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            run.write_part()
    run.close()
    again = open_run(str(tmp_path), ASKED, "2026-01-02T00:00:00Z")
    again.add(record_of(failed(Unit("c.whl", None), "late")))
    again.finish("2026-01-02T00:00:01Z")
    again.close()
    assert sorted(kept_paths(run.directory)) == ["a.whl", "b.whl", "c.whl"]
    assert not list(tmp_path.glob("run=*/journal*"))


def test_a_clock_that_jumps_back_does_not_hide_a_later_run(tmp_path: Path) -> None:
    for stamp in ("2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z"):
        run = open_run(str(tmp_path), ASKED, stamp, fresh=True)
        run.add(record_of(failed(Unit("a.whl", None), "late")))
        run.finish(stamp)
        run.close()
    assert [each.began[:4] for each in runs_of(str(tmp_path))] == ["2027", "2026"]
    assert dashboard_view(str(tmp_path))["run"]["began"].startswith("2026")


def test_small_parts_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 parts of one unit: two merged ones of 16, and 8. The newest row of a unit counts."""
    monkeypatch.setattr(store, "_UNITS", 1)
    run = open_run(str(tmp_path), ASKED, "2026-01-01T00:00:00Z")
    for number in range(38):
        run.add(record_of(failed(Unit(f"{number:02}.whl", None), "first")))
    run.add(record_of(failed(Unit("00.whl", None), "second")))
    run.add(record_of(failed(Unit("37.whl", None), "second")))
    run.finish("2026-01-01T00:00:01Z")
    run.close()
    names = [os.path.basename(part) for part in every_part(run.directory)]
    assert names == ["part=000001-000016", "part=000017-000032", *(f"part={n:06}" for n in range(33, 41))]
    assert sorted(set(kept_paths(run.directory))) == [f"{number:02}.whl" for number in range(38)]
    assert wheels_of(run.directory).keys() == {f"{number:02}.whl" for number in range(38)}
    connection = duckdb.connect()
    connection.execute(f"SET file_search_path = '{tmp_path}'")
    connection.execute(sql())
    found = connection.execute("SELECT message FROM errors WHERE path = '00.whl'").fetchall()
    assert found == [("second",)]


def test_a_merge_that_was_killed_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_UNITS", 1)
    run = open_run(str(tmp_path), ASKED, "2026-01-01T00:00:00Z")
    for number in range(15):
        run.add(record_of(failed(Unit(f"{number:02}.whl", None), "first")))

    def killed(_path: str) -> None:
        raise KeyboardInterrupt

    last = record_of(failed(Unit("15.whl", None), "first"))
    with monkeypatch.context() as patched:
        patched.setattr(merge_parts, "remove_merged", killed)
        with pytest.raises(KeyboardInterrupt):
            run.add(last)
    run.close()
    assert len(every_part(run.directory)) == 17
    assert len(wheels_of(run.directory)) == 16
    open_run(str(tmp_path), ASKED, "2026-01-01T00:00:00Z").close()
    assert [os.path.basename(part) for part in every_part(run.directory)] == ["part=000001-000016"]
