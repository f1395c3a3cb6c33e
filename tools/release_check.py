"""Refuse a release that is not ready: `python tools/release_check.py`. docs/development/releasing.md says when."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(root: Path) -> Iterator[str]:
    """What must be fixed before a release, as sentences."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    if any(re.search(r"\bOWNER\b", url) for url in project["urls"].values()):
        yield "pyproject.toml: [project.urls] names OWNER: nobody has said where the project lives"
    if f'__version__ = "{version}"' not in (root / "abiscan" / "__init__.py").read_text(encoding="utf-8"):
        yield f"abiscan/__init__.py: not version {version}"
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text(encoding="utf-8"):
        yield f"CITATION.cff: not version {version}"
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE) is None:
        yield f"CHANGELOG.md: no heading `## [{version}] - YYYY-MM-DD`"
    if _git(root, "status", "--porcelain"):
        yield "the work tree differs from the commit"
    tagged = _git(root, "rev-parse", "-q", "--verify", f"refs/tags/v{version}^{{commit}}")
    if tagged and tagged != _git(root, "rev-parse", "HEAD"):
        yield f"v{version} is the tag of another commit"


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False).stdout.strip()


def main() -> int:
    found = list(problems(ROOT))
    for each in found:
        print(each, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
