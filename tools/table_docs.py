"""docs/tables.md: every table of a registry run with its columns, from `abiscan.registry.table_rows`."""

from __future__ import annotations

from abiscan.registry.table_rows import SCHEMA_VERSION, TABLES

_HEAD = f"""# Tables of a registry run

Schema version {SCHEMA_VERSION}, which each file says in its Parquet metadata (`abiscan.schema_version`). Columns may be
added; none is renamed or retyped. Each table is a file in each part of a run, `DIR/run=ID/part=N/TABLE.parquet`; a part
is there whole or not at all. Where a wheel was looked at again within a run, its rows of the later part count: the
views that `abiscan dashboard DIR` writes to `DIR/dashboard.sql` leave the others out. [scale.md](scale.md) has how runs
are made.
"""


def render(_current: str) -> str:
    """The whole page."""
    parts = [_HEAD]
    for table in TABLES:
        parts += [f"\n## `{table.name}`\n", f"{table.of[0].upper()}{table.of[1:]}.\n", "| column | type | meaning |"]
        parts += ["| --- | --- | --- |"]
        parts += [f"| `{column.name}` | {column.type} | {column.of} |" for column in table.columns]
    return "\n".join(parts) + "\n"
