"""The address of the project, for links in reports."""

from __future__ import annotations

# `python tools/generate.py` writes the address of `[project.urls]` here; OWNER until there is one.
HOME = "https://github.com/OWNER/abiscan"


def project_address() -> str | None:
    """None until the project has an address."""
    return None if "/OWNER/" in HOME else HOME


def documentation_address() -> str | None:
    """The directory of the documentation; None until the project has an address."""
    home = project_address()
    return None if home is None else f"{home}/blob/main/docs"
