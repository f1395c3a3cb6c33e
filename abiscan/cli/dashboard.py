"""`abiscan dashboard`."""

from __future__ import annotations

import os

import click


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.option("--run", "run", metavar="ID", help="Whose details are shown (default: the newest that has ended).")
@click.option("-o", "--output", metavar="FILE", help="The page (default: DIR/dashboard.html).")
def dashboard(directory: str, run: str | None, output: str | None) -> None:
    """Write one HTML page over the runs whose tables are in DIR, and the SQL behind it as DIR/dashboard.sql."""
    from abiscan.cli.output import write
    from abiscan.cli.registry_run import needs

    needs("duckdb")
    from abiscan.registry.dashboard_view import dashboard_view, sql
    from abiscan.report.dashboard import render

    page = output or os.path.join(directory, "dashboard.html")
    write(page, render(dashboard_view(directory, run)))
    write(os.path.join(directory, "dashboard.sql"), sql())
    click.echo(f"abiscan: wrote {page}", err=True)
