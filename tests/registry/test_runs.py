"""The commands: tables that are complete or missing, runs that continue where they stopped, and rechecked verdicts."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from abiscan.registry.journal import serialize_outcome
from abiscan.registry.run_folder import RunKey, parts_of, runs_of
from abiscan.registry.scan_unit import Worker
from abiscan.registry.store import open_run
from abiscan.registry.stored_facts import FactsOf
from abiscan.registry.table_rows import COLUMNS, TABLES
from abiscan.registry.unit import local_unit
from tests.registry.kit import COST, serving, wheel, work
from tests.tables import table_rows

pytestmark = pytest.mark.registry
ASKED = RunKey("0", "index", "2.13.0", "")


def abiscan(*arguments: str, cwd: Path, **given: Any) -> subprocess.CompletedProcess[str]:
    found = subprocess.run(
        [sys.executable, "-m", "abiscan", *arguments],
        cwd=cwd,
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
        **given,
    )
    assert "Traceback" not in found.stderr, found.stderr
    return found


def table(directory: Path, name: str, run: str = "run=*") -> list[dict[str, Any]]:
    """The rows of the newest run, read by DuckDB, without cost."""
    import duckdb

    place = sorted(directory.glob(run))[-1]
    answer = duckdb.sql(f"SELECT * FROM read_parquet('{place}/part=*/{name}.parquet', hive_partitioning=false)")
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]
    return sorted(({k: v for k, v in row.items() if k not in COST} for row in rows), key=repr)


def tables(directory: Path) -> dict[str, list[dict[str, Any]]]:
    return {each.name: table(directory, each.name) for each in TABLES if each.name != "facts"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "wheels"
    found.mkdir()
    wheel(found, "alpha", "good-extension.so", "missing-library.so")
    wheel(found, "beta", "old-string-extension.so")
    wheel(found, "gamma", "stable-abi.so")
    wheel(found, "hostile", "hostile-names.so")
    (found / "damaged-1.0-py3-none-any.whl").write_bytes(b"PK\x03\x04 and no more")
    return tmp_path


def test_the_tables_agree_with_the_report(folder: Path) -> None:
    found = abiscan("registry", "scan", "wheels", "-o", "out", "--torch", "2.13.0", cwd=folder)
    assert found.returncode == 1, found.stderr
    wheels = {row["path"]: row for row in table(folder / "out", "wheels")}
    for path, row in wheels.items():
        told = json.loads(abiscan(path, "--torch", "2.13.0", "--matrix", "-f", "json", "-q", cwd=folder).stdout)
        assert row["gate"] == told["verdict"], path
        files = [each for each in table(folder / "out", "files") if each["path"] == path]
        assert {each["member"]: each["verdict"] for each in files} == {
            each["member"]: each["verdict"] for each in told["artifacts"]
        }
        findings = [each for each in table(folder / "out", "findings") if each["path"] == path]
        assert sorted((f["member"], f["rule"]) for f in findings) == sorted(
            (each["member"], f["rule"]) for each in told["artifacts"] for f in each["findings"]
        )
        assert row["errors"] == len(told["errors"])


def test_every_column_is_there_and_described(folder: Path) -> None:
    abiscan("registry", "scan", "wheels", "-o", "out", cwd=folder)
    from pyarrow import parquet

    (part,) = (folder / "out").glob("run=*/part=*")
    assert {path.stem for path in part.iterdir()} == set(COLUMNS)
    for name, columns in COLUMNS.items():
        schema = parquet.read_schema(part / f"{name}.parquet")
        assert tuple(schema.names) == columns
        assert schema.metadata[b"abiscan.schema_version"] == b"2"
    assert all(column.of for each in TABLES for column in each.columns)


def test_what_is_done_is_not_done_again_and_what_changed_is(folder: Path) -> None:
    abiscan("registry", "scan", "wheels", "-o", "out", cwd=folder)
    before = tables(folder / "out")
    again = abiscan("registry", "scan", "wheels", "--resume", "out", cwd=folder)
    assert "(4 of them before)" in again.stderr, "all but the damaged one, which is tried again"
    assert {name: len(rows) for name, rows in tables(folder / "out").items() if name == "files"} == {
        "files": len(before["files"])
    }
    path = wheel(folder / "wheels", "beta", "good-extension.so")
    os.utime(path, (1, 1))
    assert "(3 of them before)" in abiscan("registry", "scan", "wheels", "--resume", "out", cwd=folder).stderr
    abiscan("registry", "dashboard", "out", cwd=folder)
    import duckdb

    connection = duckdb.connect(config={"file_search_path": str(folder / "out")})
    connection.execute((folder / "out" / "dashboard.sql").read_text())
    (row,) = connection.execute("SELECT verdict FROM wheels WHERE path LIKE '%beta%'").fetchall()
    assert row == ("loads",), "the newest row of a wheel counts"


def test_other_options_are_another_run(folder: Path) -> None:
    abiscan("registry", "scan", "wheels", "-o", "out", "--torch", "2.13.0", cwd=folder)
    abiscan("registry", "scan", "wheels", "--resume", "out", "--torch", "2.6.0", cwd=folder)
    abiscan("registry", "scan", "wheels", "--resume", "out", "--torch", "2.6.0", "--fail-on", "never", cwd=folder)
    assert [run.asked.torch for run in runs_of(str(folder / "out"))] == ["2.13.0", "2.6.0", "2.6.0"]


@pytest.mark.parametrize("release", ["2.4.1", "declared"])
def test_a_recheck_agrees_with_a_new_scan(folder: Path, release: str) -> None:
    abiscan("registry", "scan", "wheels", "-o", "out", "--torch", "2.13.0", cwd=folder)
    abiscan("registry", "scan", "wheels", "-o", "fresh", "--torch", release, cwd=folder)
    (folder / "wheels").rename(folder / "away")
    found = abiscan("registry", "recheck", "out", "--torch", release, cwd=folder)
    assert "0 bytes read" in found.stderr
    old, new = tables(folder / "out"), tables(folder / "fresh")
    # Units without facts are reported.
    unknown = {row["path"] for row in old["errors"] if "no stored facts" in row["message"]}
    assert {path.rpartition("/")[2].partition("-")[0] for path in unknown} == {"damaged", "hostile"}
    for name, rows in new.items():
        assert [row for row in old[name] if row["path"] not in unknown] == [
            row for row in rows if row["path"] not in unknown
        ], name


def test_a_resumed_run_against_another_release_reads_only_what_has_no_facts(folder: Path) -> None:
    abiscan("registry", "scan", "wheels", "-o", "out", "--torch", "2.13.0", cwd=folder)
    abiscan("registry", "scan", "wheels", "--resume", "out", "--torch", "2.4.1", cwd=folder)
    import duckdb

    place = sorted((folder / "out").glob("run=*"))[-1]
    rows = duckdb.sql(f"SELECT path, source FROM read_parquet('{place}/part=*/wheels.parquet')").fetchall()
    sources = {path.rpartition("/")[2].partition("-")[0]: source for path, source in rows}
    assert sources == {"alpha": "facts", "beta": "facts", "gamma": "facts", "hostile": "read", "damaged": "read"}


def many(folder: Path, number: int) -> None:
    for each in range(number):
        os.link(
            folder / "wheels" / next((folder / "wheels").glob("alpha*")).name,
            folder / "wheels" / f"a{each:03}-1.0-py3-none-any.whl",
        )


def _began(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "abiscan", *arguments],
        cwd=folder,
        text=True,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        journal = next(iter(folder.glob("out/run=*/journal-*")), None)
        if journal is not None and journal.stat().st_size > 20_000:
            return process
        time.sleep(0.02)
    raise AssertionError("nothing was written")


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=["killed", "Ctrl-C", "ended by its system"]
)
def test_an_interrupted_run_continues(folder: Path, how: signal.Signals) -> None:
    many(folder, 120)
    process = _began(folder, "registry", "scan", "wheels", "-o", "out", "-j", "2")
    os.killpg(process.pid, how)
    said = process.communicate(timeout=60)[1]
    assert "Traceback" not in said
    if how is not signal.SIGKILL:
        assert process.returncode == 128 + how, said
        assert "continue with --resume out" in said
    found = abiscan("registry", "scan", "wheels", "--resume", "out", "-j", "2", cwd=folder)
    before = re.search(r"125 wheels \((\d+) of them before\)", found.stderr)
    assert before is not None, found.stderr
    assert 0 < int(before[1]) < 125
    abiscan("registry", "scan", "wheels", "-o", "whole", "-j", "2", cwd=folder)
    assert tables(folder / "out") == tables(folder / "whole")
    assert not list((folder / "out").glob("run=*/journal*"))


def test_a_full_disk_keeps_what_was_through(folder: Path) -> None:
    many(folder, 40)

    def little_room() -> None:
        # EFBIG instead of the ENOSPC of a full disk: the same OSError of the same write.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    found = abiscan("registry", "scan", "wheels", "-o", "out", cwd=folder, preexec_fn=little_room)
    assert found.returncode == 3
    assert "abiscan: error: out" in found.stderr
    assert "file too large" in found.stderr
    kept = re.search(r"(\d+) wheels are kept; continue with --resume out", found.stderr)
    assert kept is not None
    assert int(kept[1]) > 0
    assert f"({kept[1]} of them before)" in abiscan("registry", "scan", "wheels", "--resume", "out", cwd=folder).stderr


def test_a_journal_that_was_cut_off_loses_its_last_record(folder: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "out")
    worker = Worker(work())
    outcomes = [
        worker.scan(local_unit(f"wheels/{p.name}", str(folder))) for p in sorted((folder / "wheels").glob("*a-1*"))
    ]
    run = open_run(place, ASKED, "2026-01-01T00:00:00Z")
    for outcome in outcomes:
        run.add(serialize_outcome(outcome))
    run.close()
    journal = Path(run.directory, "journal-000001")
    whole = journal.read_bytes()
    for cut in (1, 7, len(whole) // 2, len(whole) - 9):
        journal.write_bytes(whole[:-cut])
        again = open_run(place, ASKED, "2026-01-02T00:00:00Z")
        assert set(again.done) < {outcome.path for outcome in outcomes}
        again.close()
    journal.write_bytes(whole)
    again = open_run(place, ASKED, "2026-01-02T00:00:00Z")
    again.finish("2026-01-02T00:00:01Z")
    again.close()
    (_part,) = parts_of(run.directory)
    facts = FactsOf(place)
    assert len(facts) == len(outcomes)
    assert facts.of(outcomes[0].path, outcomes[0].identity) == outcomes[0].rows["facts"][0]["facts"]
    assert facts.of(outcomes[0].path, "file:1:1") is None


def test_two_runs_do_not_write_into_one(tmp_path: Path) -> None:
    from abiscan.errors import UsageError

    first = open_run(str(tmp_path), ASKED, "2026-01-01T00:00:00Z")
    with pytest.raises(UsageError, match="another abiscan is writing"):
        open_run(str(tmp_path), ASKED, "2026-01-01T00:00:00Z")
    first.close()


def test_an_index_is_a_target_of_the_command(folder: Path) -> None:
    with serving(folder / "wheels") as server:
        found = abiscan("registry", "scan", f"{server.url}/simple/", "-o", "out", "-j", "2", cwd=folder)
        assert "5 wheels" in found.stderr
        assert (
            "(4 of them before)"
            in abiscan("registry", "scan", f"{server.url}/simple/", "--resume", "out", cwd=folder).stderr
        )


@table_rows
def test_unsupported_options_are_usage_errors(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    found = abiscan("registry", "scan", "wheels", *arguments, cwd=folder)
    assert found.returncode == 2
    assert said in found.stderr
    assert [path.name for path in folder.iterdir()] == ["wheels"]


def test_facts_that_cannot_be_read_are_read_anew_from_the_wheel(folder: Path) -> None:
    unit = local_unit(next((folder / "wheels").glob("alpha*")).name, str(folder / "wheels"))
    worker = Worker(work())
    outcome = worker.scan(unit)
    (facts,) = (row["facts"] for row in outcome.rows["facts"])
    assert worker.check_stored(unit, facts).rows["wheels"][0]["source"] == "facts"
    for broken in (b"", b"\x00", facts[: len(facts) // 2], facts.replace(b"imports", b"exports", 1)):
        assert worker.check_stored(unit, broken).rows["wheels"][0]["source"] == "read"


def bound_by_permissions() -> None:
    """Drops root's capabilities too: later programs cannot bypass permissions (capabilities(7))."""
    import ctypes

    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def errors_of(directory: Path) -> dict[str, str]:
    """Path -> message of unreadable units in the newest run."""
    unread = {row["path"] for row in table(directory, "wheels") if row["verdict"] == "unreadable"}
    found = {row["path"]: row["message"] for row in table(directory, "errors")}
    assert unread == set(found)
    return found


def test_what_is_named_like_an_archive_and_cannot_be_read_has_a_row(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    (wheels / "closed").mkdir(parents=True)
    wheel(wheels, "alpha", "good-extension.so")
    wheel(wheels / "closed", "beta", "good-extension.so")
    locked = wheel(wheels, "gamma", "good-extension.so")
    (wheels / "empty.whl").touch()
    (wheels / "page.whl").write_text("<!DOCTYPE html><html><body>404</body></html>")
    (wheels / "dangling.whl").symlink_to("nowhere.whl")
    os.mkfifo(wheels / "fifo.whl")
    (wheels / "README.txt").write_text("no archive, and none of the name")
    locked.chmod(0)
    (wheels / "closed").chmod(0)
    try:
        found = abiscan(
            "registry",
            "scan",
            "wheels",
            "-o",
            "out",
            "--torch",
            "2.13.0",
            cwd=tmp_path,
            preexec_fn=bound_by_permissions,
        )
        named = abiscan(
            "registry", "scan", "wheels/empty.whl", "-o", "one", cwd=tmp_path, preexec_fn=bound_by_permissions
        )
    finally:
        (wheels / "closed").chmod(0o755)
    assert (found.returncode, named.returncode) == (3, 3), found.stderr
    said = errors_of(tmp_path / "out")
    assert len(table(tmp_path / "out", "wheels")) == 7
    for path, why in {
        f"wheels/{locked.name}": "permission denied",
        "wheels/closed": "cannot be listed: permission denied",
        "wheels/empty.whl": "empty file",
        "wheels/page.whl": "not an archive: it is text",
        "wheels/dangling.whl": "a symbolic link to nowhere.whl, which does not exist",
        "wheels/fifo.whl": "a named pipe, not an archive",
    }.items():
        assert why in said.pop(path)
    assert not said
    assert "empty file" in errors_of(tmp_path / "one")["wheels/empty.whl"]


def test_a_bad_entry_of_a_list_is_an_error_row_and_others_go_on(folder: Path) -> None:
    (folder / "wheels" / "empty.whl").touch()
    (good,) = (folder / "wheels").glob("gamma*")
    (folder / "list.txt").write_text(f"absent.whl\nwheels/empty.whl\nnostore://bucket/\nwheels/{good.name}\n")
    found = abiscan("registry", "scan", "-r", "list.txt", "-o", "out", "--torch", "2.13.0", cwd=folder)
    assert found.returncode == 3, found.stderr
    told = found.stderr.splitlines()
    assert any(line.startswith("abiscan: absent.whl: no such file") for line in told), told
    assert len(told) == 4
    said = errors_of(folder / "out")
    assert "no such file" in said.pop("absent.whl")
    assert "empty file" in said.pop("wheels/empty.whl")
    assert "nostore" in said.pop("nostore://bucket/")
    assert not said
    assert f"wheels/{good.name}" in {row["path"] for row in table(folder / "out", "wheels")}
    absent = abiscan("registry", "scan", "wheels", "absent.whl", "-o", "other", cwd=folder)
    assert absent.returncode == 2
    assert "no such file" in absent.stderr
    assert not (folder / "other").exists()


def test_a_file_name_with_invalid_text_is_escaped(folder: Path) -> None:
    (path,) = (folder / "wheels").glob("gamma*")
    odd = os.fsencode(folder / "wheels") + b"/caf\xe9-1.0-py3-none-any.whl"
    os.link(path, odd)
    with open(os.fsencode(folder / "wheels") + b"/empty\xff.whl", "wb"):
        pass
    (folder / "list.txt").write_bytes(b"wheels/caf\xe9-1.0-py3-none-any.whl\nabsent\xff.whl\n")
    first = abiscan("registry", "scan", "wheels", "-r", "list.txt", "-o", "out", "--torch", "2.13.0", cwd=folder)
    assert first.returncode in (1, 3), first.stderr
    name = r"wheels/caf\xe9-1.0-py3-none-any.whl"
    rows = {row["path"]: row for row in table(folder / "out", "wheels")}
    assert rows[name]["verdict"] == rows[f"wheels/{path.name}"]["verdict"] == "loads"
    assert {r"wheels/empty\xff.whl", r"absent\xff.whl"} <= set(errors_of(folder / "out"))
    again = abiscan("registry", "scan", "wheels", "--resume", "out", "--torch", "2.13.0", cwd=folder)
    assert "(5 of them before)" in again.stderr
    judged = abiscan("registry", "recheck", "out", "--torch", "2.4.1", cwd=folder)
    assert name in {row["path"] for row in table(folder / "out", "wheels")}, judged.stderr


@pytest.mark.parametrize("name", ["wheels", "facts", "readiness"])
def test_a_damaged_table_is_one_line(folder: Path, name: str) -> None:
    abiscan("registry", "scan", "wheels", "-o", "out", "--torch", "2.13.0", cwd=folder)
    (file,) = (folder / "out").glob(f"run=*/part=*/{name}.parquet")
    whole = file.read_bytes()
    commands = [["registry", "dashboard", "out"]]
    if name != "readiness":  # which no other table reads
        commands += [
            ["registry", "recheck", "out", "--torch", "2.4.1"],
            ["registry", "scan", "wheels", "--resume", "out", "--torch", "2.13.0"],
        ]
    if name == "facts":
        commands = commands[1:]
    for data in (whole[: len(whole) // 2], b""):
        file.write_bytes(data)
        for command in commands:
            found = abiscan(*command, cwd=folder)
            assert found.returncode == 3, (command, found.stderr)
            assert found.stderr.count("\n") == 1, found.stderr
            assert f"{name}.parquet: a damaged table" in found.stderr
            assert "and continue with registry scan --resume" in found.stderr
            assert len(list((folder / "out").glob("run=*"))) == 1
    shutil.rmtree(file.parent)
    assert abiscan("registry", "scan", "wheels", "--resume", "out", "--torch", "2.13.0", cwd=folder).returncode == 1
    assert len(table(folder / "out", "wheels")) == 5


def test_commands_on_what_holds_no_run_make_nothing(folder: Path) -> None:
    (folder / "empty").mkdir()
    for command in (
        ["registry", "recheck", "empty"],
        ["registry", "dashboard", "empty"],
        ["registry", "recheck", "absent"],
        ["registry", "scan", "wheels", "--resume", "absent"],
        ["registry", "scan", "wheels", "--resume", "empty"],
        ["registry", "scan", "nostore://bucket/", "-o", "absent"],
        ["registry", "scan", "list.txt", "-o", "absent"],
    ):
        found = abiscan(*command, cwd=folder)
        assert found.returncode == 2, (command, found.stderr)
        assert sorted(path.name for path in folder.iterdir()) == ["empty", "wheels"], command
        assert not list((folder / "empty").iterdir()), command


def test_a_recheck_of_an_unfinished_run_has_a_note(folder: Path) -> None:
    abiscan("registry", "scan", "wheels", "-o", "out", "--torch", "2.13.0", cwd=folder)
    (about,) = (folder / "out").glob("run=*/run.json")
    about.write_text(json.dumps({**json.loads(about.read_text()), "ended": None, "units": None}))
    assert (
        "registry scan PATH... --resume out"
        in abiscan("registry", "recheck", "out", "--torch", "2.4.1", cwd=folder).stderr
    )
    (part,) = about.parent.glob("part=*")
    for other in (folder / "out").glob("run=*"):
        if other != about.parent:
            shutil.rmtree(other)
    shutil.rmtree(part)
    for command in ("recheck", "dashboard"):
        found = abiscan("registry", command, "out", cwd=folder)
        assert found.returncode == 2
        assert "--resume out" in found.stderr
        assert len(list((folder / "out").glob("run=*"))) == 1


def test_the_summary_covers_the_requested_wheels(folder: Path) -> None:
    (gamma,) = (folder / "wheels").glob("gamma*")
    (beta,) = (folder / "wheels").glob("beta*")
    said = abiscan("registry", "scan", f"wheels/{gamma.name}", "-o", "out", "--torch", "2.13.0", cwd=folder).stderr
    assert said.startswith("abiscan: 1 wheel: 1 loads;"), said
    said = abiscan("registry", "scan", f"wheels/{beta.name}", "--resume", "out", "--torch", "2.13.0", cwd=folder).stderr
    assert said.startswith("abiscan: of this command's 1 wheel: 1 fails;"), said
    assert "; 2 in the tables; out/run=" in said


def test_a_gpu_and_its_driver_are_checked_with_stored_facts(tmp_path: Path) -> None:
    """For sm_110 the fixture has only PTX, of CUDA 13.0 (cuobjdump), the release with driver 580."""
    path = wheel(tmp_path, "demo", "gpu-cuda.so")
    assert abiscan("registry", "scan", path.name, "-o", "out", "--torch", "2.13.0", cwd=tmp_path).returncode == 0
    for driver, status in (("470", 1), ("580.65.06", 0)):
        options = ("--torch", "2.13.0", "--gpu", "sm_110", "--driver", driver)
        assert abiscan("scan", path.name, *options, cwd=tmp_path).returncode == status
        assert abiscan("registry", "recheck", "out", *options, cwd=tmp_path).returncode == status
        assert [row["rule"] for row in table(tmp_path / "out", "findings")] == ["ptx-newer-than-driver"] * status
    assert "needs --gpu" in abiscan("registry", "recheck", "out", "--driver", "580", cwd=tmp_path).stderr


def test_the_exit_status_covers_the_requested_wheels(folder: Path) -> None:
    """As for one report in README.md: earlier results count if the command includes their wheels."""
    one = {path.name.partition("-")[0]: f"wheels/{path.name}" for path in (folder / "wheels").iterdir()}
    options = ("--torch", "2.13.0")
    assert abiscan("registry", "scan", one["gamma"], "-o", "out", *options, cwd=folder).returncode == 0
    for names, status in (
        (["beta"], 1),
        (["gamma"], 0),  # although beta's rows are in the tables
        (["gamma", "beta"], 1),  # although nothing is scanned
        (["damaged"], 3),
        (["damaged", "beta"], 1),
    ):
        targets = [one[name] for name in names]
        assert abiscan("registry", "scan", *targets, "--resume", "out", *options, cwd=folder).returncode == status, (
            names
        )
    assert abiscan("registry", "recheck", "out", *options, cwd=folder).returncode == 1
    assert abiscan("registry", "recheck", "out", *options, "--fail-on", "never", cwd=folder).returncode == 3
    assert abiscan("registry", "dashboard", "out", cwd=folder).returncode == 0


def test_another_index_of_whatever_kind_is_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from abiscan.data import data_file
    from abiscan.registry import run_units

    shipped = sorted(Path(data_file("releases.idx")).parent.glob("*.idx"))
    assert len(shipped) > 2
    for file in shipped:
        shutil.copy(file, tmp_path)
    monkeypatch.setattr(run_units, "data_file", lambda name: str(tmp_path / name))
    seen = {run_units.index_revision(None)}
    for file in shipped:
        with (tmp_path / file.name).open("ab") as one:
            one.write(b"x")
        seen.add(run_units.index_revision(None))
    assert len(seen) == len(shipped) + 1
