"""Table of functions that read values of a message which no pattern can capture; rows name them as `reader`. A reader
gets the place of the anchor and the values so far. It returns further values, or None if the row does not apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from abiscan.diagnosis.catalogue import compiler_readers, name_readers, python_readers
from abiscan.diagnosis.messages.message_paths import is_file, path_before
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.diagnosis.messages.name_tokens import last_quoted
from abiscan.ownership.glibc import is_glibc_name

Values = Mapping[str, str]
# glibc 2.38 added the C23 conversions; the table of its names is from 2.36.
_SINCE_2_38: Final = "__isoc23_"


def _file_before(hit: Hit, _values: Values) -> Values | None:
    """`file` and `name` of the library before the anchor: `/x/_C.so: `, `'/x/_C.so' (`."""
    before = hit.before.removesuffix("(")
    file = path_before(before) or last_quoted(before)
    return _of_file(file) if file is not None and is_file(file) else None


def _path_before(hit: Hit, _values: Values) -> Values | None:
    """`file` and `name` of the path, with folders, before the anchor."""
    path = path_before(hit.before.replace(" (deleted)", ""))
    return _of_file(path) if path is not None and "/" in path else None


def _file_tried_by_dyld(hit: Hit, _values: Values) -> Values | None:
    """`file` and `name` of the library that dyld tried; empty if the message has none."""
    file = last_quoted(hit.before.rpartition(" (")[0]) or path_before(hit.before)
    if hit.rest.startswith(" in /"):
        file = hit.rest[4:4_100].split(",", 1)[0].strip()
    if file is None:
        return {}
    return _of_file(file) if is_file(file) else None


def _quoted_file_before(hit: Hit, _values: Values) -> Values | None:
    """`file` and `name` of the last quoted library before the anchor: `"libc10.dylib" can't `."""
    before = hit.before.rstrip()
    for word in ("can't", "can\u2019t", "cannot"):
        before = before.removesuffix(word)
    file = last_quoted(before.rstrip())
    return _of_file(file) if file is not None and is_file(file) else None


def _glibc_symbol(_hit: Hit, values: Values) -> Values | None:
    """No values; applies if the value `symbol` is a name of glibc."""
    symbol = values.get("symbol", "")
    return {} if is_glibc_name(symbol) or symbol.startswith(_SINCE_2_38) else None


def _of_file(path: str) -> Values:
    return {"file": path, "name": path.rsplit("/", 1)[-1]}


VALUE_READERS: Final[Mapping[str, Callable[[Hit, Values], Values | None]]] = {
    "file-before": _file_before,
    "path-before": _path_before,
    "file-tried-by-dyld": _file_tried_by_dyld,
    "quoted-file-before": _quoted_file_before,
    "glibc-symbol": _glibc_symbol,
    "compiled-module": python_readers.compiled_module,
    "private-module": python_readers.private_module,
    "package-module": python_readers.package_module,
    "wheel-tags": python_readers.wheel_tags,
    "undeclared-name": compiler_readers.undeclared_name,
    "torch-member": compiler_readers.torch_member,
    "last-frame": python_readers.last_frame,
    "generated-frame": python_readers.generated_frame,
    "undefined-symbol": name_readers.undefined_symbol,
    "symbol-behind": name_readers.symbol_behind,
    "link-time-reference": name_readers.link_time_reference,
    "relocation": name_readers.relocation,
    "located-symbol": name_readers.located_symbol,
    "dyld-symbol": name_readers.dyld_symbol,
    "undefined-reference": name_readers.undefined_reference,
    "referenced-name": name_readers.referenced_name,
    "unresolved-external": name_readers.unresolved_external,
    "library-header": compiler_readers.library_header,
    "unopened-library": name_readers.unopened_library,
    "library-alone": name_readers.library_alone,
    "android-library": name_readers.android_library,
    "symbol-version": name_readers.symbol_version,
    "skipped-function": python_readers.skipped_function,
    "retold-function": python_readers.retold_function,
    "source-build": python_readers.source_build,
    "built-extensions": python_readers.built_extensions,
}
