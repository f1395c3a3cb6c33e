"""The directory of a run: parts, journals and runs after a kill. Oracle: DuckDB on the raw tables."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from abiscan.cli.registry import print_changes
from abiscan.errors import UsageError
from abiscan.registry import store
from abiscan.registry.dashboard_view import dashboard_view, sql
from abiscan.registry.journal import serialize_outcome
from abiscan.registry.run_folder import RunKey, parts_of, runs_of, wheels_of
from abiscan.registry.run_list import compare_runs, listed_runs, remove_runs
from abiscan.registry.run_units import run_key_of
from abiscan.registry.scan_unit import Outcome, failed
from abiscan.registry.store import lock_run, open_run
from abiscan.registry.table_files import rows_of
from abiscan.registry.unit import Unit
from tests.registry.kit import work

pytestmark = pytest.mark.registry
ASKED = RunKey("0", "index", "2.13.0", "")


def kept_paths(run_directory: str) -> list[str]:
    """The paths in the raw tables of `wheels`, of every part."""
    return [row["path"] for part in parts_of(run_directory) for row in rows_of(f"{part}/wheels.parquet", "path")]


def test_a_kill_between_a_part_and_the_end_of_its_journal_leaves_no_row_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unreadable unit has no identity: only the number of the journal shows that its part exists."""
    run = open_run(str(tmp_path), ASKED, "2026-01-01T00:00:00Z")
    run.add(serialize_outcome(failed(Unit("a.whl", None), "the server answered 503")))
    run.add(serialize_outcome(failed(Unit("b.whl", "sha256:0"), "cut off")))

    def killed(_path: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            run.write_part()
    run.close()
    again = open_run(str(tmp_path), ASKED, "2026-01-02T00:00:00Z")
    again.add(serialize_outcome(failed(Unit("c.whl", None), "late")))
    again.finish("2026-01-02T00:00:01Z")
    again.close()
    assert sorted(kept_paths(run.directory)) == ["a.whl", "b.whl", "c.whl"]
    assert not list(tmp_path.glob("run=*/journal*"))


def test_a_clock_that_jumps_back_does_not_hide_a_later_run(tmp_path: Path) -> None:
    for stamp in ("2027-01-01T00:00:00Z", "2026-01-01T00:00:00Z"):
        run = open_run(str(tmp_path), ASKED, stamp, fresh=True)
        run.add(serialize_outcome(failed(Unit("a.whl", None), "late")))
        run.finish(stamp)
        run.close()
    assert [each.began[:4] for each in runs_of(str(tmp_path))] == ["2027", "2026"]
    assert dashboard_view(str(tmp_path))["run"]["began"].startswith("2026")


def test_the_newest_row_of_a_unit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_UNITS", 1)
    run = open_run(str(tmp_path), ASKED, "2026-01-01T00:00:00Z")
    for path, message in (("a.whl", "first"), ("b.whl", "first"), ("a.whl", "second")):
        run.add(serialize_outcome(failed(Unit(path, None), message)))
    run.finish("2026-01-01T00:00:01Z")
    run.close()
    assert [os.path.basename(part) for part in parts_of(run.directory)] == [f"part={n:06}" for n in (1, 2, 3)]
    assert wheels_of(run.directory).keys() == {"a.whl", "b.whl"}
    connection = duckdb.connect()
    connection.execute(f"SET file_search_path = '{tmp_path}'")
    connection.execute(sql())
    found = connection.execute("SELECT message FROM errors WHERE path = 'a.whl'").fetchall()
    assert found == [("second",)]


def test_runs_are_listed_compared_and_pruned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path)
    verdicts = [{"a": "loads", "b": "fails", "c": "loads"}, {"a": "fails", "b": "loads", "d": "loads"}]
    for number, found in enumerate(verdicts):
        run = open_run(folder, ASKED, f"2026-01-0{number + 1}T00:00:00Z", fresh=True)
        for path, verdict in found.items():
            outcome = failed(Unit(path, None), "late")
            outcome.rows["wheels"][0]["verdict"] = verdict
            run.add(serialize_outcome(outcome))
        run.finish("2026-01-03T00:00:00Z")
        run.close()
    old, new = (each.info.id for each in listed_runs(folder))
    assert [dict(each.verdicts) for each in listed_runs(folder)] == [{"fails": 1, "loads": 2}] * 2
    changes = compare_runs(folder, old, new)
    assert changes.worse == (("a", "loads", "fails"),)
    assert changes.better == (("b", "fails", "loads"),)
    assert (changes.only_old, changes.only_new, changes.unread) == (("c",), ("d",), ())
    assert print_changes(folder, old, new) == 1
    assert capsys.readouterr().out.startswith("worse: a: loads -> fails\nbetter: b: fails -> loads\n")
    lock = lock_run(os.path.join(folder, f"run={old}"))
    with pytest.raises(UsageError, match="another abiscan is writing"):
        remove_runs(folder, 1)
    lock.close()
    assert [each.id for each in remove_runs(folder, 1)] == [old]
    assert [each.id for each in runs_of(folder)] == [new]


def test_wheels_with_errors_are_read_again_on_request(tmp_path: Path) -> None:
    """A damaged member is an error of the wheel, whose other members were read: a resumed run skips it."""
    run = open_run(str(tmp_path), ASKED, "2026-01-01T00:00:00Z")
    for path, errors in (("damaged.whl", 1), ("whole.whl", 0)):
        outcome = failed(Unit(path, f"sha256:{path}"), "one member is damaged")
        outcome.rows["wheels"][0].update(verdict="loads", errors=errors, identity=f"sha256:{path}")
        run.add(serialize_outcome(Outcome(path, f"sha256:{path}", outcome.rows)))
    run.finish("2026-01-01T00:00:01Z")
    run.close()
    again = open_run(str(tmp_path), ASKED, "2026-01-02T00:00:00Z")
    assert again.has("damaged.whl", "sha256:damaged.whl")
    assert again.forget_errors() == {"damaged.whl"}
    assert not again.has("damaged.whl", "sha256:damaged.whl")
    assert again.has("whole.whl", "sha256:whole.whl")
    again.close()


def test_limits_are_not_in_the_run_key() -> None:
    """A wheel over the time limit has no identity, and a run with a higher limit continues with it."""
    assert run_key_of(work(seconds=1.0, memory=1 << 30)) == run_key_of(work(seconds=900.0))
    assert run_key_of(work(torch="2.8.0")) != run_key_of(work())
