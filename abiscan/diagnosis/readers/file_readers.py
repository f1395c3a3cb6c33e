"""Values of messages about a file: its path and name, before or behind the anchor."""

from __future__ import annotations

import re
from typing import Final

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.text import message_paths
from abiscan.diagnosis.text.message_text import Hit
from abiscan.diagnosis.text.name_tokens import last_quoted
from abiscan.ownership.standard_libraries import is_glibc_name

# glibc 2.38 added the C23 conversions; the table of its names is from 2.36.
_SINCE_2_38: Final = "__isoc23_"


def file_before(hit: Hit, _values: Values) -> Values | None:
    """`file` and `name` of the library before the anchor: `/x/_C.so: `, `'/x/_C.so' (`."""
    before = hit.before.removesuffix("(").removesuffix("cannot load ")
    file = message_paths.path_before(before) or last_quoted(before)
    return _of_file(file) if file is not None and message_paths.is_file(file) else None


def path_before(hit: Hit, _values: Values) -> Values | None:
    """`file` and `name` of the path, with folders, before the anchor."""
    path = message_paths.path_before(hit.before.replace(" (deleted)", ""))
    return _of_file(path) if path is not None and "/" in path else None


def file_tried_by_dyld(hit: Hit, _values: Values) -> Values | None:
    """`file` and `name` of the library that dyld tried; empty if the message has none."""
    file = last_quoted(hit.before.rpartition(" (")[0]) or message_paths.path_before(hit.before)
    if hit.rest.startswith(" in /"):
        file = hit.rest[4:4_100].split(",", 1)[0].strip()
    if file is None:
        return {}
    return _of_file(file) if message_paths.is_file(file) else None


def quoted_file_before(hit: Hit, _values: Values) -> Values | None:
    """`file` and `name` of the last quoted library before the anchor: `"libc10.dylib" can't `."""
    before = hit.before.rstrip()
    for word in ("can't", "can\u2019t", "cannot"):
        before = before.removesuffix(word)
    file = last_quoted(before.rstrip())
    return _of_file(file) if file is not None and message_paths.is_file(file) else None


def glibc_symbol(_hit: Hit, values: Values) -> Values | None:
    """No values; applies if the value `symbol` is a name of glibc."""
    symbol = values.get("symbol", "")
    return {} if is_glibc_name(symbol) or symbol.startswith(_SINCE_2_38) else None


def skipped_file(hit: Hit, values: Values) -> Values | None:
    """`file`: the only file of the value `library`, which the linker skipped in the lines before the anchor."""
    above = hit.preceding(3) + hit.line
    name = re.escape(values["library"])
    found = re.search(
        rf"skipping incompatible (\S{{1,512}}) (?:when|while) searching for (?:-l)?{name}(?![\w.+-])", above
    )
    return None if found is None else {"file": found[1]}


def _of_file(path: str) -> Values:
    return {"file": path, "name": path.rsplit("/", 1)[-1]}
