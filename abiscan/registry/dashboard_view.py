"""What the dashboard shows, asked of the tables by the SQL that users get, too (`dashboard.sql`)."""

from __future__ import annotations

import os
from importlib import resources
from typing import Any

from abiscan.errors import UnreadableFile, UsageError
from abiscan.model.versions import order
from abiscan.registry.run_folder import check_tables, runs_with_tables

# What the page lists of each kind; the SQL has all of it.
_PACKAGES, _WHEELS_OF_ONE, _WHEELS = 300, 8, 2400
_LISTED, _RUNS = 100, 60

Rows = list[dict[str, Any]]


def sql() -> str:
    """The views, as DuckDB takes them in the folder of the runs."""
    return resources.files("abiscan.registry").joinpath("dashboard.sql").read_text(encoding="utf-8")


def dashboard_view(directory: str, run: str | None = None) -> dict[str, Any]:
    """The values of the page.

    Args:
        run: whose details are shown; None for the newest.

    Raises:
        UsageError: there is no such run, or none with a table.
        UnreadableFile: a table is damaged.
    """
    import duckdb

    known = [each.id for each in runs_with_tables(directory)]
    if run is not None and run not in known:
        raise UsageError(f"{directory}: no run {run} with tables; known: {', '.join(known[-8:])}")
    try:
        return _view(directory, known, run)
    except duckdb.Error as error:
        for each in known:
            check_tables(os.path.join(directory, f"run={each}"))
        raise UnreadableFile(directory, f"its tables cannot be read: {' '.join(str(error).split())[:300]}") from error


def _view(directory: str, known: list[str], run: str | None) -> dict[str, Any]:
    import duckdb

    connection = duckdb.connect(config={"preserve_insertion_order": "false"})
    connection.execute(f"SET file_search_path = {_quoted(directory)}")
    connection.execute(sql())
    chosen = run or known[-1]
    connection.execute(f"CREATE OR REPLACE VIEW shown AS SELECT {_quoted(chosen)} AS run")

    def ask(query: str) -> Rows:
        answer = connection.execute(query)
        names = [column[0] for column in answer.description or ()]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]

    trend = ask("FROM trend")
    releases = sorted((row["torch"] for row in ask("SELECT DISTINCT torch FROM heat")), key=lambda v: order(v) or ())
    # Packages that a release breaks come before those that all or none loads.
    packages = ask(
        "SELECT package, max(heat.wheels) AS wheels FROM heat GROUP BY package "
        f"ORDER BY abs(avg(heat.works) - 0.5), wheels DESC, package LIMIT {_PACKAGES}"
    )
    names = sorted(row["package"] for row in packages)
    connection.execute("CREATE TEMP TABLE listed(package VARCHAR)")
    connection.executemany("INSERT INTO listed VALUES (?)", [[name] for name in names] or [["-"]])
    cells: dict[str, dict[str, Any]] = {name: {} for name in names}
    for row in ask("FROM heat SEMI JOIN listed USING (package)"):
        cells[row["package"]][row["torch"]] = row
    totals = ask(
        "SELECT torch, sum(works * wheels) / sum(wheels) AS works, sum(wheels) AS wheels FROM heat GROUP BY torch"
    )
    wheels = ask(
        "FROM (SELECT package, path, version, packages.verdict, first(cause) AS cause, first(fix) AS fix "
        "FROM packages SEMI JOIN shown USING (run) SEMI JOIN listed USING (package) "
        "LEFT JOIN worst_files USING (path) GROUP BY package, path, version, packages.verdict) "
        f"QUALIFY row_number() OVER (PARTITION BY package ORDER BY version DESC, path) <= {_WHEELS_OF_ONE} "
        f"ORDER BY package, version DESC, path LIMIT {_WHEELS}"
    )
    return {
        "directory": directory,
        "run": next(row for row in trend if row["run"] == chosen),
        "trend": trend[-_RUNS:],
        "releases": releases,
        "packages": [{"name": name, "cells": cells[name]} for name in names],
        "all_packages": ask("SELECT count(DISTINCT package) AS number FROM heat")[0]["number"],
        "totals": {row["torch"]: row for row in totals},
        "causes": ask(f"FROM causes_by_count LIMIT {_LISTED}"),
        "rules": ask(f"FROM rules_by_count LIMIT {_LISTED}"),
        "missing": ask(f"FROM missing_names LIMIT {_LISTED}"),
        "worst": ask(f"FROM worst_files LIMIT {_LISTED}"),
        "errors": ask(f"FROM errors_by_count LIMIT {_LISTED}"),
        "wheels": wheels,
    }


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
