"""Hooks of mkdocs (`mkdocs.yml`): adds the top-level files of the repository to the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")


def on_files(files: Files, config: Any) -> Files:
    """Add them below `project/`."""
    for name in PROJECT:
        text = (ROOT / name).read_text(encoding="utf-8")
        # Links of top-level pages lead into docs/, the root of the site.
        files.append(File.generated(config, f"project/{name}", content=re.sub(r"\]\(docs/", "](../", text)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrite links to those files."""
    if page.file.src_uri.startswith("project/"):
        return markdown
    up = "../" * page.file.src_uri.count("/")
    return re.sub(r"\]\((?:\.\./)+(" + "|".join(map(re.escape, PROJECT)) + r")", rf"]({up}project/\1", markdown)
