"""`abiscan dashboard`."""

from __future__ import annotations

import click


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.option("-o", "--output", metavar="FILE", help="The page (default: DIR/dashboard.html).")
def dashboard(directory: str, output: str | None) -> None:
    """One HTML page over the runs whose tables are in DIR, and the SQL behind it in DIR/dashboard.sql."""
    from abiscan.cli.registry_run import needs

    needs("duckdb")
