"""Dynamic string tokens: $ORIGIN, $LIB and $PLATFORM (gABI, "Substitution Sequences"; elf/dl-load.c of glibc)."""

from __future__ import annotations

import re

# The longest name counts, so $ORIGINAL is not a token; braces must close.
_TOKEN = r"\$(?:\{(ORIGIN|PLATFORM|LIB)\}|(ORIGIN|PLATFORM|LIB)(?![A-Za-z0-9_]))"


def expand_tokens(text: str, *, origin: str | None, lib: str, platform: str | None) -> str:
    """Replace the tokens of one path; empty if a token has no value: the loader then drops the path.

    Args:
        origin: directory of the object that contains the text.
        lib: `lib64`, or `lib/x86_64-linux-gnu` on a multiarch system.
        platform: AT_PLATFORM, or the loader's value for the CPU.
    """
    if "$" not in text:
        return text
    name, slash, rest = text.partition("/")
    if name == "$ORIGIN" and "$" not in rest:  # nearly all
        return "" if origin is None else origin + slash + rest
    values = {"ORIGIN": origin, "LIB": lib, "PLATFORM": platform}
    if any(values[match[1] or match[2]] is None for match in re.finditer(_TOKEN, text)):
        return ""
    return re.sub(_TOKEN, lambda match: values[match[1] or match[2]] or "", text)
