"""`docs/reference/tables.md`: every table of a registry run with its columns, from `abiscan.registry.table_rows`."""

from __future__ import annotations

from abiscan.registry.table_rows import SCHEMA_VERSION, TABLES

_HEAD = f"""# Tables of a registry run

For users who query the tables of [`abiscan registry scan`](../how-to/registry.md).

Schema version {SCHEMA_VERSION}; each file has it in its Parquet metadata (`abiscan.schema_version`). Columns may be
added; none is renamed or retyped. Each table is one file in each part of a run: `DIR/run=ID/part=N/TABLE.parquet`. A
part is complete or absent. If a run scans a wheel twice, the rows of the later part are valid: use the views in
`DIR/dashboard.sql`, which `abiscan registry dashboard DIR` writes.
"""


def render(_current: str) -> str:
    """The whole page."""
    parts = [_HEAD]
    for table in TABLES:
        parts += [f"\n## `{table.name}`\n", f"{table.of[0].upper()}{table.of[1:]}.\n", "| column | type | meaning |"]
        parts += ["| --- | --- | --- |"]
        parts += [f"| `{column.name}` | {column.type} | {column.of} |" for column in table.columns]
    return "\n".join(parts) + "\n"
