"""Names of untrusted files and logs, for commands."""

from __future__ import annotations

import re

_WORD = r"[A-Za-z0-9_.+/@:~][A-Za-z0-9_.+/@:~-]{0,255}"
_DISTRIBUTION = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"


def safe(text: str, otherwise: str) -> str:
    """A name that is safe in a command; `otherwise` if it contains characters that a shell interprets. Names come from
    untrusted files and logs."""
    return text if re.fullmatch(_WORD, text) else otherwise


def normalised(name: str | None) -> str | None:
    """A normalised project name (PEP 503); None if it is invalid, or not an extension."""
    if name is None or not re.fullmatch(_DISTRIBUTION, name) or name.lower() in ("torch", "lib", "build", "bin"):
        return None
    return re.sub(r"[-_.]+", "-", name).lower()
