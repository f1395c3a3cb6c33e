"""Makes the traces of the layout index from torch headers, with libclang.

An import that only inline functions call shows that one of them was compiled into the file. An import that returns a
class by value shows that the file allocates one. Needs the Python bindings of libclang (`pip install clang`, in the
version of the library), and a Clang whose headers are used.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import clang.cindex as clang
import msgspec
from msgspec import Struct

sys.path.insert(0, str(Path(__file__).parents[1]))

from abiscan.errors import AbiscanError
from abiscan.model import versions
from abiscan.releases.layout_table import Trace
from abiscan.releases.read_layouts import CXX20_SINCE, HEADERS

_NAMESPACES = frozenset({"at", "c10", "torch", "c10d", "caffe2"})
_Kind = clang.CursorKind
_METHODS = frozenset({_Kind.CXX_METHOD, _Kind.CONSTRUCTOR, _Kind.DESTRUCTOR, _Kind.CONVERSION_FUNCTION})
_FUNCTIONS = _METHODS | {_Kind.FUNCTION_DECL, _Kind.FUNCTION_TEMPLATE}
_RECORDS = frozenset({_Kind.CLASS_DECL, _Kind.STRUCT_DECL, _Kind.CLASS_TEMPLATE})
# Maximum number of callers: the callers of an export such as torchCheckFail have nothing in common.
_MAX_CALLERS = 60
# Depth of calls between inline functions that are followed for reads.
_DEPTH = 2


class Body(Struct, frozen=True):
    """An inline function: the fields that it reads (`c10::TensorImpl::numel_`) and the functions that it calls."""

    reads: frozenset[str]
    calls: frozenset[str]


class HeaderCalls(Struct):
    """Data of one release: its inline functions by name, its non-public members, and classes that functions without a
    body in the headers return by value."""

    bodies: dict[str, Body]
    not_public: set[str]
    results: dict[str, str]


def read_calls(source: Path, arguments: Iterable[str], library: str) -> HeaderCalls:
    """Parse `source`, which includes the headers.

    Raises:
        AbiscanError: it does not compile, so the result would be incomplete.
    """
    if not clang.Config.loaded:
        clang.Config.set_library_file(library)
    unit = clang.Index.create().parse(str(source), args=list(arguments))
    errors = [each for each in unit.diagnostics if each.severity >= clang.Diagnostic.Error]
    if errors:
        raise AbiscanError(f"{len(errors)} errors: {errors[0]}")
    found = HeaderCalls({}, set(), {})
    for cursor in _functions(unit.cursor):
        if cursor.kind in _METHODS and cursor.access_specifier is not clang.AccessSpecifier.PUBLIC:
            found.not_public.add(cursor.mangled_name)
        if cursor.is_definition():
            found.bodies[_name(cursor)] = _body(cursor)
        elif cursor.mangled_name:
            found.results[cursor.mangled_name] = cursor.result_type.get_canonical().spelling.removeprefix("const ")
    return found


def _functions(cursor: clang.Cursor) -> Iterator[clang.Cursor]:
    for child in cursor.get_children():
        if child.kind is _Kind.NAMESPACE:
            if cursor.kind is not _Kind.TRANSLATION_UNIT or child.spelling in _NAMESPACES:
                yield from _functions(child)
        elif child.kind in _RECORDS:
            if child.is_definition():
                yield from _functions(child)
        elif child.kind in _FUNCTIONS:
            yield child


def _body(function: clang.Cursor) -> Body:
    reads, calls = set(), set()
    for cursor in function.walk_preorder():
        if cursor.kind not in (_Kind.MEMBER_REF_EXPR, _Kind.MEMBER_REF, _Kind.CALL_EXPR):
            continue
        meant = cursor.referenced
        if meant is not None and meant.kind is _Kind.FIELD_DECL:
            reads.add(_qualified(meant))
        elif meant is not None and meant.kind in _FUNCTIONS:
            calls.add(_name(meant))
    return Body(frozenset(reads), frozenset(calls))


def _name(function: clang.Cursor) -> str:
    """The mangled name; for a template and its instances, which share one body, Clang's name of the template."""
    template = clang.conf.lib.clang_getSpecializedCursorTemplate(function)
    if template is not None:
        function = template
    return str(function.mangled_name or function.get_usr())


def _qualified(cursor: clang.Cursor) -> str:
    parts = []
    while cursor is not None and cursor.kind is not _Kind.TRANSLATION_UNIT:
        parts.append(cursor.spelling)
        cursor = cursor.semantic_parent
    return "::".join(reversed(parts))


def traces_of(calls: HeaderCalls, records: Iterable[str]) -> dict[str, Trace]:
    """For each function without a body in the headers: the fields that every inline caller reads, directly or in inline
    functions that it calls, and the classes that it returns by value."""
    wanted = frozenset(records)

    @cache
    def reads(name: str, depth: int) -> frozenset[str]:
        body = calls.bodies[name]
        inner = (each for each in body.calls if depth and each != name and each in calls.bodies)
        return body.reads.union(*(reads(each, depth - 1) for each in inner))

    callers: dict[str, list[str]] = {}
    for name, body in calls.bodies.items():
        for called in body.calls:
            if called not in calls.bodies and called.startswith("_Z"):
                callers.setdefault(called, []).append(name)
    returned = {name: record for name, record in calls.results.items() if record in wanted}
    found = {name: Trace({}, False, record) for name, record in returned.items()}
    for called, names in callers.items():
        if len(names) > _MAX_CALLERS:
            continue
        fields: dict[str, list[str]] = {}
        for field in sorted(frozenset.intersection(*(reads(name, _DEPTH) for name in names))):
            record, _, name = field.rpartition("::")
            if record in wanted:
                fields.setdefault(record, []).append(name)
        if fields:
            kept = {record: tuple(names) for record, names in fields.items()}
            found[called] = Trace(kept, called in calls.not_public, returned.get(called, ""))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headers", type=Path, help="torch/include of a release")
    parser.add_argument("release")
    parser.add_argument("--cache", type=Path, required=True, help="of build_layout_index.py, which read that release")
    parser.add_argument("--include", type=Path, action="append", default=[], help="CPython's headers, CUDA's")
    parser.add_argument("--library", default="libclang-19.so.1")
    parser.add_argument("--clang", default="clang++-19", help="of the same version")
    options = parser.parse_args()
    layouts = json.loads((options.cache / f"{options.release}.json").read_bytes())
    roots = (options.headers, options.headers / "torch/csrc/api/include", *options.include)
    present = [header for header in HEADERS if any((root / header).is_file() for root in roots)]
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "headers.cpp")
        source.write_text("".join(f"#include <{header}>\n" for header in present))
        standard = "-std=c++20" if (versions.order(options.release) or ()) >= CXX20_SINCE else "-std=c++17"
        resources = subprocess.run([options.clang, "-print-resource-dir"], capture_output=True, text=True, check=True)
        arguments = [
            standard,
            "-w",
            "-DUSE_C10D_GLOO",
            "-DUSE_DISTRIBUTED",
            f"-resource-dir={resources.stdout.strip()}",
        ]
        calls = read_calls(source, [*arguments, *(f"-I{root}" for root in roots)], options.library)
    traces = traces_of(calls, {record for record in layouts if "<" not in record})
    (options.cache / f"{options.release}.traces.json").write_bytes(msgspec.json.encode(traces))
    print(f"{options.release}: {len(calls.bodies)} inline functions, {len(traces)} functions that tell of a record")
    return 0


if __name__ == "__main__":
    sys.exit(main())
