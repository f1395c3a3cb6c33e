"""Hooks of mkdocs (`mkdocs.yml`): adds top-level files of the repository and the data of the searching pages."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this work tree, even if another is installed

from tools import site_messages, site_symbols  # noqa: E402

_is_served = False
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


def on_startup(command: str, dirty: bool) -> None:
    """`mkdocs serve` leaves out the symbols, which take a minute."""
    global _is_served  # noqa: PLW0603
    _is_served = command == "serve"


def on_post_build(config: Any) -> None:
    """Write the data of the searching pages."""
    assets = Path(config["site_dir"], "assets")
    site_messages.write(assets)
    if not _is_served:
        site_symbols.write(assets / "symbols")
