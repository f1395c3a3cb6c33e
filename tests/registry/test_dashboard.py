"""The page over many wheels: names escaped, small for any number of wheels, and the same counts as DuckDB."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from abiscan.registry.dashboard_view import dashboard_view
from abiscan.registry.journal import serialize_outcome
from abiscan.registry.run_folder import RunInfo, RunKey, runs_of
from abiscan.registry.scan_unit import Worker
from abiscan.registry.store import open_run
from abiscan.registry.table_files import schemas
from abiscan.registry.table_rows import TABLES
from abiscan.registry.unit import local_unit
from abiscan.report.dashboard import render
from tests.registry.kit import TAG, wheel, work
from tests.report.test_html import Elements

pytestmark = pytest.mark.registry
ASKED = RunKey("0", "index", "2.13.0", "")


def test_the_page_shows_what_the_tables_have(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder, "alpha", "good-extension.so")
    wheel(folder, "beta", "old-string-extension.so")
    wheel(folder, "hostile", "hostile-names.so")
    (folder / "<img src=x onerror=alert(1)>-1.0-py3-none-any.whl").write_bytes(b"PK\x03\x04")
    run = open_run(str(tmp_path / "out"), ASKED, "2026-01-01T00:00:00Z")
    worker = Worker(work())
    for path in sorted(folder.iterdir()):
        run.add(serialize_outcome(worker.scan(local_unit(path.name, str(folder)))))
    run.finish("2026-01-01T00:00:01Z")
    run.close()
    view = dashboard_view(str(tmp_path / "out"))
    assert (view["run"]["loads"], view["run"]["fails"], view["run"]["unreadable"]) == (1, 2, 1)
    assert {"cxx11-abi-mismatch"} <= {row["cause"] for row in view["causes"]}
    cells = {each["name"]: each["cells"] for each in view["packages"]}
    assert cells["alpha"]["2.13.0"]["works"] == 1
    assert cells["beta"]["2.13.0"]["works"] == 0
    page = render(view)
    assert "<img" not in page
    assert "&lt;img src=x" in page
    assert "http" not in re.sub(r"<script.*?</script>|http-equiv", "", page, flags=re.DOTALL)
    assert 'src="' not in page
    data = Elements(page).data
    ((name, verdict, works, files, more),) = data["packages"]["beta"]
    assert (name, verdict, more) == (f"beta-1.0-{TAG}.whl", "fails", 0)
    # It was compiled with the headers of 2.13.0, and a std::string that no wheel of that release has.
    assert data["texts"][works] == ""
    ((_name, loads, on, *_rest),) = data["packages"]["alpha"]
    assert loads == "loads"
    assert "2.13.0" in data["texts"][on]
    ((member, torch, unresolved, cause, _summary, fix, names),) = files
    assert [data["texts"][each] for each in (member, torch, cause)] == [
        "beta/old-string-extension.so",
        "2.13.0",
        "cxx11-abi-mismatch",
    ]
    # nm -D --undefined-only: the fixture is made for these missing symbols.
    assert unresolved == len(names)
    assert any("torchCheckFail" in data["texts"][each] for each in names)
    assert any(data["texts"][prose] for prose, _commands, _remark in fix)


def test_the_newest_release_of_each_package_is_charted(tmp_path: Path) -> None:
    """Older releases and pre-releases (PEP 440) do not count."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    run = open_run(str(tmp_path / "out"), ASKED, "2026-01-01T00:00:00Z")
    worker = Worker(work())
    for version, fixture in (
        ("1.9", "old-string-extension.so"),
        ("1.10", "good-extension.so"),
        ("2.0rc1", "old-string-extension.so"),
    ):
        path = wheel(folder, "alpha", fixture, version=version)
        run.add(serialize_outcome(worker.scan(local_unit(path.name, str(folder)))))
    run.add(
        serialize_outcome(worker.scan(local_unit(wheel(folder, "beta", "old-string-extension.so").name, str(folder))))
    )
    run.finish("2026-01-01T00:00:01Z")
    run.close()
    view = dashboard_view(str(tmp_path / "out"))
    assert view["newest"] == {"loads": 1, "fails": 1}
    assert {each["name"]: each["cells"]["2.13.0"]["works"] for each in view["packages"]} == {"alpha": 1, "beta": 0}
    assert "Newest release of each package: 1 of 2 load." in render(view)


def test_the_newest_run_that_came_to_its_end_is_shown(tmp_path: Path) -> None:
    """Unless another is named; the page reports that there is a later one, and which runs have not ended."""
    place, folder = str(tmp_path / "out"), tmp_path / "wheels"
    folder.mkdir()
    unit = local_unit(wheel(folder, "alpha", "good-extension.so").name, str(folder))
    for number, torch in enumerate(("2.13.0", "2.12.0", "2.11.0")):
        run = open_run(place, RunKey("0", "index", torch, ""), f"2026-01-0{number + 1}T00:00:00Z")
        run.add(serialize_outcome(Worker(work(torch)).scan(unit)))
        if torch == "2.11.0":
            run.write_part()  # like a run that is killed after its first part
        else:
            run.finish(f"2026-01-0{number + 1}T01:00:00Z")
        run.close()
    ids = [each.id for each in runs_of(place)]
    view = dashboard_view(place)
    assert (view["run"]["run"], view["run"]["torch"]) == (ids[1], "2.12.0")
    assert "not come to its end" in (page := render(view))
    assert f"--run {ids[2]}" in page
    cut_short = dashboard_view(place, ids[2])
    assert cut_short["run"]["run"] == ids[2]
    assert "This run has not come to its end" in render(cut_short)
    finished = dashboard_view(place, ids[0])
    assert [each["run"] for each in finished["trend"]] == ids


def test_a_hundred_thousand_wheels_are_a_page_that_opens(tmp_path: Path) -> None:
    import duckdb

    part = tmp_path / "run=a" / "part=000001"
    part.mkdir(parents=True)
    info = RunInfo("a", ASKED, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", 100_000)
    (tmp_path / "run=a" / "run.json").write_bytes(msgspec.json.encode(info))
    made = {
        "wheels": "SELECT 'w' || i AS path, 'package-with-a-long-name-' || i % 20000 AS name, '1.' || i AS version, "
        "CASE WHEN i % 3 = 0 THEN 'fails' ELSE 'loads' END AS verdict FROM range(100000) t(i)",
        "readiness": "SELECT 'w' || i AS path, '2.' || r || '.0' AS torch, 'cpu' AS variant, (i + r) % 3 > 0 AS works, "
        "'symbols added later' AS reason FROM range(100000) t(i), range(16) s(r)",
        "files": "SELECT 'w' || i AS path, 'm' AS member, 'fails' AS verdict, i % 977 AS unresolved, 1000 AS imports "
        "FROM range(0, 100000, 3) t(i)",
        "causes": "SELECT 'w' || i AS path, 'm' AS member, 'cause-' || i % 20 AS cause, repeat('text ', 40) AS fix, "
        "repeat('example ', 40) AS summary, ['a', 'b'] AS symbols FROM range(0, 100000, 3) t(i)",
    }
    connection = duckdb.connect()
    for each in TABLES:
        empty = ", ".join(f"NULL::{_TYPES[column.type]} AS {column.name}" for column in each.columns)
        rows = f"UNION ALL BY NAME {made[each.name]}" if each.name in made else ""
        query = f"SELECT * FROM (SELECT {empty} WHERE false {rows})"
        connection.execute(f"COPY ({query}) TO '{part}/{each.name}.parquet' (FORMAT parquet)")
    assert set(schemas()) == {each.name for each in TABLES}
    view = dashboard_view(str(tmp_path))
    assert view["run"]["wheels"] == 100_000
    assert view["all_packages"] == 20_000
    page = render(view)
    assert "of 20000 packages" in page
    assert len(page.encode()) < 3_000_000


_TYPES = {
    "text": "VARCHAR",
    "texts": "VARCHAR[]",
    "integer": "BIGINT",
    "real": "DOUBLE",
    "boolean": "BOOLEAN",
    "bytes": "BLOB",
}
