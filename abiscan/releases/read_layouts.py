"""Layouts of torch records, as computed by Clang for the headers of a build, and the assertions of these headers.

`-fdump-record-layouts-complete` prints every complete record with the byte offset of each field and base; nested
records are indented below their field. A field of another type (`std::optional<...>`) is one field, and torch records
inside it are fields of their own. So are the elements of a container: they are stored elsewhere, but code that has the
container creates and reads them too.
"""

from __future__ import annotations

import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from abiscan.child_processes import PIPE, CompletedProcess, Failed, find_tool, run_tool
from abiscan.errors import AbiscanError
from abiscan.releases.assertions import FOLDERS, Assertion
from abiscan.releases.layout import Field, Layout
from abiscan.releases.type_text import CONTAINERS, OF_TORCH, elements, template_of

# Headers that extensions include; together they have the records that extensions share with libtorch.
HEADERS = (
    "torch/library.h",
    "ATen/ATen.h",
    "ATen/core/dispatch/Dispatcher.h",
    "torch/csrc/autograd/custom_function.h",
    "torch/extension.h",
    "torch/script.h",
    "torch/csrc/jit/python/pybind_utils.h",
    "ATen/native/TensorIterator.h",
    "ATen/CPUGeneratorImpl.h",
    "torch/csrc/distributed/c10d/ProcessGroup.hpp",
    "torch/csrc/distributed/c10d/Backend.hpp",
    "torch/csrc/distributed/c10d/Store.hpp",
    "torch/csrc/distributed/c10d/Work.hpp",
    "torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h",
    "c10/cuda/CUDAStream.h",
    "c10/cuda/CUDAGuard.h",
    "c10/cuda/CUDACachingAllocator.h",
    "ATen/cuda/CUDAGeneratorImpl.h",
    "ATen/cuda/PhiloxCudaState.h",
)
# Enumerations whose numbers an extension passes to torch, and the header of each.
ENUMERATIONS = {"c10::DispatchKey": "c10/core/DispatchKey.h"}
# First release whose headers need C++20.
CXX20_SINCE = (2, 10)
CLANGS = ("clang++", *(f"clang++-{version}" for version in range(22, 15, -1)))
# Clang 14 crashes while it prints the layouts.
OLDEST_CLANG = 16
# Timeout of one run in seconds; torch's headers take about 20.
_SECONDS = 300

# "       16 |   class c10::Storage storage_", "173:0-0 |   _Bool is_contiguous_": offset, bits, depth, text.
_LINE = re.compile(r" *(\d+)(?::(?:(\d+)-\d+|-))? \|( +)(.*?) ?$")
_ENUMERATOR = re.compile(r"EnumConstantDecl .* (\w+) '[\w:]+'$")
_VALUE = re.compile(r"-value: Int (-?\d+)$")
_SIZES = re.compile(r"sizeof=(\d+)")
_ALIGN = re.compile(r"[ ,]align=(\d+)")
_UNNAMED = re.compile(r"\((anonymous|unnamed|lambda)[^()]* at [^()]*\)")
_TAG = re.compile(r"\b(?:class|struct|enum|union) ")
_BASE = re.compile(r" \((?:primary base|base|virtual base|primary virtual base)\)$")
_EMPTY = " (empty)"
_VTABLE_POINTER = re.compile(r"\(.* (?:vtable|vbtable|vftable) pointer\)$")
# Elements stored in the record itself: `c10::KernelFunction[4]`, `std::array<c10::KernelFunction, 144>`.
_ARRAY = re.compile(r"(?:std::array<)?([\w:<>, ]*?)(?:\[\d+\]|, \d+>)$")
# Instances of templates over a function, or with longer names, belong to one call within a translation unit.
_MAX_NAME = 100


def read_dump(lines: Iterable[str]) -> dict[str, Layout]:
    """The records of torch's namespaces in Clang's output, by qualified name.

    Local, unnamed and empty records are left out: no other file can share their objects, or they have no bytes.
    """
    found: dict[str, Layout] = {}
    name = ""
    sizes = 0
    rows: list[tuple[int, int, str]] = []
    for line in lines:
        if "| [" in line or line.lstrip().startswith("| "):
            size, align = _SIZES.search(line), _ALIGN.search(line)
            sizes = (int(size[1]) if size else 0) or sizes
            if name and align is not None and rows:
                found.setdefault(name, Layout(sizes, int(align[1]), tuple(dict.fromkeys(_fields(rows)))))
                name = ""
            continue
        read = _LINE.match(line)
        if read is None:
            continue
        depth = len(read[3]) // 2
        text = _TAG.sub("", _UNNAMED.sub(r"(\1)", read[4]))
        if depth == 0:
            sizes = 0
            rows = []
            name = text if _is_shared(text) else ""
        elif name:
            rows.append((int(read[1]) * 8 + int(read[2] or 0), depth, text))
    return found


def _is_shared(name: str) -> bool:
    return (
        name.startswith(OF_TORCH)
        and not name.endswith(_EMPTY)
        and "(" not in name
        and len(name) <= _MAX_NAME
        and not name.startswith("at::_ops::")
    )


def _fields(rows: Sequence[tuple[int, int, str]]) -> Iterable[Field]:
    """The fields and bases of one record, and the torch records inside fields of other types."""
    name = ""
    hidden = 0  # Depth below which everything is part of a torch record with its own layout; 0 for none.
    for offset, depth, text in rows:
        if hidden and depth > hidden:
            continue
        hidden = 0
        if text.endswith(_EMPTY) or _VTABLE_POINTER.match(text):
            continue
        base = _BASE.search(text)
        if base is not None:
            type_, own = text[: base.start()], ""
        else:
            type_, _, own = text.rpartition(" ")
            own = own if type_ else text
        array = _ARRAY.match(type_)
        type_ = array[1] if array is not None else type_
        record = type_ if type_.startswith(OF_TORCH) and not type_.endswith(("*", "&", ")")) else ""
        if depth == 1:
            name = own
        # The parts of a base that is not torch's (std::vector) follow.
        if record or (depth == 1 and base is None):
            yield Field(offset, name, record)
        if record:
            hidden = depth
        elif template_of(type_) in CONTAINERS:
            for element in elements(type_):
                yield Field(offset, name, element)


def read_enumerators(lines: Iterable[str]) -> Layout | None:
    """The enumerators in the `-ast-dump` output of one enumeration: each has the value printed below it, otherwise the
    next one (C++, [dcl.enum])."""
    values: dict[str, int] = {}
    name, following, is_set = "", 0, True
    for line in lines:
        declared, value = _ENUMERATOR.search(line.rstrip()), _VALUE.search(line.rstrip())
        if declared is not None:
            name, is_set = declared[1], False
            values[name] = following
            following += 1
        elif value is not None and not is_set:
            values[name], is_set = int(value[1]), True
            following = values[name] + 1
    return Layout(0, 0, tuple(Field(value, name, "") for name, value in values.items())) if values else None


def _run_clang(command: Sequence[str], stdout: int | IO[str] = PIPE) -> CompletedProcess[str]:
    try:
        return run_tool(command, timeout=_SECONDS, stdout=stdout)
    except Failed as error:
        raise AbiscanError(f"{command[0]} failed to read layouts: {error}") from error


def clang_command() -> str | None:
    """A Clang in the search path that prints layouts; None if there is none."""
    for command in CLANGS:
        found = find_tool(command)
        if found is not None:
            done = _run_clang([found, "-dumpversion"])
            major = re.match(r"\d+", done.stdout)
            if done.returncode == 0 and major is not None and int(major[0]) >= OLDEST_CLANG:
                return found
    return None


def read_headers(
    include: Path, version: str, *, clang: str, extra: Sequence[Path], target: str = ""
) -> tuple[dict[str, Layout], tuple[str, ...]]:
    """Read the layouts that the headers of one build declare.

    Args:
        include: `torch/include` of the build.
        version: its release, which determines the C++ standard.
        extra: further include directories (CPython's, CUDA's).
        target: target triple of the compilation (default: this machine's).

    Returns:
        Layouts by qualified name, including those of `ENUMERATIONS`; and the headers that were left out because they do
        not exist or do not compile.

    Raises:
        AbiscanError: Clang compiles none of the headers.
    """
    roots = (include, include / "torch/csrc/api/include")
    wanted = [header for header in HEADERS if any((root / header).is_file() for root in roots)]
    number = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    command = [clang, f"-std={'c++20' if number >= CXX20_SINCE else 'c++17'}", "-w", "-fsyntax-only"]
    command += ["-ferror-limit=0", "-fno-crash-diagnostics", "-DUSE_C10D_GLOO", "-DUSE_DISTRIBUTED"]
    command += [f"-I{path}" for path in (*roots, *extra)]
    command += [f"--target={target}"] if target else []
    with tempfile.TemporaryDirectory(prefix="abiscan-") as folder:
        source, printed = Path(folder, "headers.cpp"), Path(folder, "layouts.txt")
        while wanted:
            source.write_text("".join(f"#include <{header}>\n" for header in wanted))
            dump = [*command, "-Xclang", "-fdump-record-layouts-complete", str(source)]
            with printed.open("w") as out:
                done = _run_clang(dump, stdout=out)
            if done.returncode == 0:
                with printed.open(errors="replace") as text:
                    layouts = read_dump(text)
                left_out = tuple(header for header in HEADERS if header not in wanted)
                return {**layouts, **_enumerations(command, source)}, left_out
            broken = _broken(done.stderr, str(source))
            if not broken:
                break
            wanted = [header for at, header in enumerate(wanted, 1) if at not in broken]
    raise AbiscanError(f"the headers of torch {version} do not compile with {clang}: its layouts are unknown")


def _enumerations(command: Sequence[str], source: Path) -> dict[str, Layout]:
    """The layouts of `ENUMERATIONS` that the headers have."""
    found = {}
    for name, header in ENUMERATIONS.items():
        source.write_text(f"#include <{header}>\n")
        dump = [*command, "-fno-color-diagnostics", "-Xclang", "-ast-dump", "-Xclang", f"-ast-dump-filter={name}"]
        done = _run_clang([*dump, str(source)])
        enumeration = read_enumerators(done.stdout.splitlines()) if done.returncode == 0 else None
        if enumeration is not None:
            found[name] = enumeration
    return found


def _broken(errors: str, source: str) -> set[int]:
    """The lines of the source whose header has an error."""
    broken: set[int] = set()
    included = 0
    for line in errors.splitlines():
        at = re.match(rf"(In file included from )?{re.escape(source)}:(\d+):", line)
        if at is not None:
            included = int(at[2])
        if re.search(r": (?:fatal )?error: ", line) and included:
            broken.add(included)
    return broken


_INVOCATION = re.compile(r"\bTORCH_INTERNAL_ASSERT(?:_DEBUG_ONLY)?\s*\(")
_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[(),]""", re.DOTALL)
_BLANK = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)


def read_assertions(include: Path) -> tuple[Assertion, ...]:
    """The assertions of all headers of a build, sorted.

    Args:
        include: `torch/include` of the build.
    """
    found: dict[tuple[str, int, int, int], Assertion] = {}
    for folder in FOLDERS:
        for file in sorted((include / folder).rglob("*")):
            if file.suffix in (".h", ".hpp", ".cuh", ".inc") and file.is_file():
                header = file.relative_to(include).as_posix()
                for each in _read_header(header, file.read_text("utf-8", "replace")):
                    found[each.header, each.first, each.last, each.condition] = each
    return tuple(found[key] for key in sorted(found))


def _read_header(header: str, text: str) -> Iterator[Assertion]:
    for match in _INVOCATION.finditer(text):
        # Within a macro, the line is that of the use of the macro.
        line_start = text.rfind("\n", 0, match.start()) + 1
        if text.startswith("#", line_start) or text[line_start - 2 : line_start - 1] == "\\":
            continue
        depth, condition_end = 1, 0
        for token in _TOKEN.finditer(text, match.end()):
            depth += (token[0] == "(") - (token[0] == ")")
            if not condition_end and (not depth or (token[0] == "," and depth == 1)):
                condition_end = token.start()
            if not depth:
                first = text.count("\n", 0, match.start()) + 1
                last = first + text.count("\n", match.start(), token.start())
                yield Assertion(header, first, last, _sum(text[match.end() : condition_end]))
                break


def _sum(condition: str) -> int:
    return zlib.crc32(_BLANK.sub("", condition).encode("utf-8", "surrogateescape"))
