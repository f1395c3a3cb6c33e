"""The values of the dashboard, from the same SQL views that users get (`dashboard.sql`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from abiscan.errors import UnreadableFile, UsageError
from abiscan.model.versions import order
from abiscan.registry.run_folder import check_tables, runs_with_tables
from abiscan.report.dashboard import dashboard_lists

# Maximum number of rows on the page; the SQL views have all of them.
_PACKAGES, _WHEELS_OF_ONE, _WHEELS = 300, 8, 2400
_FILES_OF_ONE, _FILES, _NAMES_OF_ONE = 6, 3000, 8
_LISTED, _RUNS = 100, 60

Rows = list[dict[str, Any]]


def sql() -> str:
    """The views, for DuckDB in the directory of the runs."""
    return resources.files("abiscan.registry").joinpath("dashboard.sql").read_text(encoding="utf-8")


def dashboard_view(directory: str, run: str | None = None) -> dict[str, Any]:
    """The values of the page.

    Args:
        run: the run with details; None for the newest finished run, or the newest if none is finished.

    Raises:
        UsageError: there is no such run, or none with a table.
        UnreadableFile: a table is damaged.
    """
    import duckdb

    runs = runs_with_tables(directory)
    known = [each.id for each in runs]
    if run is not None and run not in known:
        raise UsageError(f"{directory}: no run {run} with tables; known: {', '.join(known[-8:])}")
    try:
        return _view(directory, run)
    except duckdb.Error as error:
        for each in runs:
            check_tables(each.place(directory))
        raise UnreadableFile(directory, f"its tables cannot be read: {' '.join(str(error).split())[:300]}") from error


def _view(directory: str, run: str | None) -> dict[str, Any]:
    import duckdb

    connection = duckdb.connect(config={"preserve_insertion_order": "false"})
    connection.execute(f"SET file_search_path = {_quoted(directory)}")
    connection.execute(sql())

    def ask(query: str) -> Rows:
        answer = connection.execute(query)
        names = [column[0] for column in answer.description or ()]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    chosen = run or ask("FROM shown")[0]["run"]
    _keep_rows_of(chosen, connection)
    trend = ask("FROM trend")
    releases = sorted((row["torch"] for row in ask("SELECT DISTINCT torch FROM heat")), key=lambda v: order(v) or ())
    packages = _listed_packages(connection, ask)
    cells: dict[str, dict[str, Any]] = {name: {} for name in packages}
    for row in ask("FROM heat SEMI JOIN listed USING (package)"):
        cells[row["package"]][row["torch"]] = row
    counts = ask(
        "SELECT package, count(*) AS wheels, count(*) FILTER (verdict = 'fails') AS fails, "
        "count(*) FILTER (verdict IN ('undecided', 'unreadable')) AS open "
        "FROM packages SEMI JOIN shown USING (run) SEMI JOIN listed USING (package) GROUP BY package"
    )
    totals = ask(
        "SELECT torch, sum(works * wheels) / sum(wheels) AS works, sum(wheels) AS wheels, "
        "mode(reason) AS reason FROM heat GROUP BY torch"
    )
    newest = {
        row["verdict"]: row["number"]
        for row in ask("SELECT verdict, count(*) AS number FROM newest_releases GROUP BY verdict")
    }
    lists = {each.id: ask(f"FROM {each.view} LIMIT {_LISTED + 1}") for each in dashboard_lists()}
    for row in lists["worst"]:
        row["wheel"] = row["path"].rsplit("/", 1)[-1]
    about = next(row for row in trend if row["run"] == chosen)
    return {
        "directory": directory,
        "run": about,
        "notes": _notes(about, trend),
        "trend": trend[-_RUNS:],
        "newest": newest,
        "releases": releases,
        "packages": [{"name": name, "cells": cells[name]} for name in packages],
        "counts": {row["package"]: row for row in counts},
        "all_packages": ask("SELECT count(DISTINCT package) AS number FROM heat")[0]["number"],
        "totals": {row["torch"]: row for row in totals},
        "wheels": _wheels(connection, ask),
        **{name: rows[:_LISTED] for name, rows in lists.items()},
        "cut": {name: len(rows) > _LISTED for name, rows in lists.items()},
    }


def _keep_rows_of(run: str, connection: Any) -> None:
    """Look up the newest rows of one run once, for the views of the page."""
    connection.execute(f"CREATE OR REPLACE VIEW shown AS SELECT {_quoted(run)} AS run")
    for table in ("readiness", "files", "imports", "findings", "causes", "errors"):
        unbound = " WHERE status IN ('missing', 'unreachable', 'undecided')" if table == "imports" else ""
        connection.execute(f"CREATE TEMP TABLE one_{table} AS FROM {table} SEMI JOIN shown USING (run){unbound}")
        connection.execute(f"CREATE OR REPLACE VIEW {table} AS FROM one_{table}")


def _listed_packages(connection: Any, ask: Callable[[str], Rows]) -> list[str]:
    """The packages of the page, also as table `listed`: those that load on some releases only come first."""
    packages = [
        row["package"]
        for row in ask(
            "SELECT package FROM heat GROUP BY package "
            f"ORDER BY abs(avg(works) - 0.5), max(wheels) DESC, package LIMIT {_PACKAGES}"
        )
    ]
    connection.execute("CREATE TEMP TABLE listed(package VARCHAR)")
    connection.executemany("INSERT INTO listed VALUES (?)", [[name] for name in packages] or [["-"]])
    return packages


def _notes(about: Mapping[str, Any], trend: Rows) -> list[str]:
    """Notes on the displayed run."""
    found = []
    if about["ended"] is None:
        found.append("This run has not come to its end: what it has not looked at yet is not on the page.")
    newest = trend[-1]
    if newest["run"] != about["run"]:
        state = "" if newest["ended"] is not None else ", which has not come to its end"
        found.append(
            f"The newest run is {newest['run']}{state}: abiscan registry dashboard --run {newest['run']} shows it."
        )
    return found


def _wheels(connection: Any, ask: Callable[[str], Rows]) -> dict[str, Rows]:
    """The newest wheels of each listed package, each with the files that have most missing symbols, and those
    symbols."""
    found = ask(
        "SELECT package, path, version, verdict FROM packages SEMI JOIN shown USING (run) "
        "SEMI JOIN listed USING (package)"
    )
    found.sort(key=lambda row: row["path"])
    found.sort(key=lambda row: order(row["version"] or "") or (), reverse=True)
    wheels: dict[str, Rows] = {}
    for row in found:
        wheels.setdefault(row["package"], []).append({**row, "works": [], "files": [], "failing": 0})
    kept = {row["path"]: row for rows in wheels.values() for row in rows[:_WHEELS_OF_ONE]}
    kept = dict(list(kept.items())[:_WHEELS])
    connection.execute("CREATE TEMP TABLE kept(path VARCHAR)")
    connection.executemany("INSERT INTO kept VALUES (?)", [[path] for path in kept] or [["-"]])
    for row in ask("SELECT DISTINCT path, torch FROM readiness SEMI JOIN kept USING (path) WHERE works"):
        kept[row["path"]]["works"].append(row["torch"])
    for row in ask("SELECT path, count(*) AS files FROM worst_files SEMI JOIN kept USING (path) GROUP BY path"):
        kept[row["path"]]["failing"] = row["files"]
    for row in ask(
        "SELECT path, member, torch, unresolved, cause, summary, fix, names FROM ("
        "FROM worst_files SEMI JOIN kept USING (path) "
        f"QUALIFY row_number() OVER (PARTITION BY path ORDER BY unresolved DESC, member) <= {_FILES_OF_ONE}) "
        "LEFT JOIN (SELECT path, member, "
        f"list(coalesce(demangled, mangled) ORDER BY status = 'undecided', mangled)[:{_NAMES_OF_ONE}] AS names "
        "FROM imports SEMI JOIN kept USING (path) "
        "WHERE status IN ('missing', 'unreachable', 'undecided') GROUP BY path, member) "
        f"USING (path, member) ORDER BY path, unresolved DESC, member LIMIT {_FILES}"
    ):
        kept[row["path"]]["files"].append({**row, "names": row["names"] or []})
    return {name: [row for row in rows if row["path"] in kept] for name, rows in wheels.items()}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
