"""`abiscan schema`."""

from __future__ import annotations

import click

from abiscan.data import data_file


@click.command(hidden=True)
def schema() -> None:
    """Print the JSON schema of the reports.

    `$defs/explain` in it is that of `explain -f json`.
    """
    with open(data_file("report.schema.json"), encoding="utf-8") as file:
        click.echo(file.read(), nl=False)
