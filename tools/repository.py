"""The repository's address and the version where a file must have them: from `pyproject.toml`, their one home."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def address() -> str:
    """`https://github.com/OWNER/abiscan`."""
    found: str = _project()["urls"]["Repository"]
    return found


def _project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def render(current: str) -> str:
    """A file with today's address, whole or as a workflow's `uses` has it, and the version in pre-commit's `rev`."""
    wanted = address()
    short = wanted.removeprefix("https://github.com/")
    current = re.sub(r"https://github\.com/[\w-]+/abiscan\b", wanted, current)
    current = re.sub(r"(?<=/abiscan\n    rev: v)[\d.]+", _project()["version"], current)
    return re.sub(r"(?<=uses: )[\w-]+/abiscan(?=@)", short, current)
