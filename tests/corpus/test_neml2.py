"""The example of docs/how-to/recipes.md, on the wheel of the package index."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import run_abiscan

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "docs" / "how-to" / "recipes.md").read_text(encoding="utf-8")


@pytest.mark.corpus
def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    block = RECIPES.partition("<!-- neml2 -->\n```text\n$ abiscan ")[2].partition("```")[0]
    command, *shown = block.splitlines()
    # With an environment of its own: the wheel is that for the page's Python.
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    done = run_abiscan(
        *command.split(),
        env={
            "PATH": "/usr/bin:/bin",
            "VIRTUAL_ENV": str(environment),
            "PYTHONPATH": str(ROOT),
            "HOME": str(Path.home()),
        },
    )
    assert done.returncode == 1, done.stderr
    printed = re.sub(r"cp3\d+", "cp311", " ".join(done.stdout.split()))
    for part in " ".join(line.strip() for line in shown).split("..."):
        assert " ".join(part.split()).removeprefix("FAILS ") in printed
