"""The repository's address where a file must spell it: made of `[project.urls]` in `pyproject.toml`, its one home."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def address() -> str:
    """`https://github.com/OWNER/abiscan`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: str = project["project"]["urls"]["Repository"]
    return found


def render(current: str) -> str:
    """A file with today's address, whole or as a workflow's `uses` has it."""
    wanted = address()
    short = wanted.removeprefix("https://github.com/")
    current = re.sub(r"https://github\.com/[\w-]+/abiscan\b", wanted, current)
    return re.sub(r"(?<=uses: )[\w-]+/abiscan(?=@)", short, current)
