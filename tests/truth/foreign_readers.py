"""Imports and exports of a file for Windows or macOS, by LLVM's tools, LIEF and pefile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.programs import run_program

# (library, name or `#ordinal`, delayed); (name, ordinal, forwarder).
PeImport = tuple[str, str, bool]
PeExport = tuple[str | None, int, str | None]


# Length in bytes from which pefile may truncate a name.
_CUT = 200


class PeTables(Struct, frozen=True):
    """Imports and exports of a PE file."""

    imports: frozenset[PeImport]
    exports: frozenset[PeExport]


class MachoTables(Struct, frozen=True):
    """Imports and exports of a slice of a Mach-O file.

    Attributes:
        imports: (name, weak) of non-lazy imports.
        lazy: names of lazy imports.
        libraries: (name, library) of both, the library as LLVM abbreviates it (`libc10`, `flat-namespace`).
        undefined: undefined symbols of the symbol table.
        exports: (name, address; None for a re-export).
    """

    imports: frozenset[tuple[str, bool]]
    lazy: frozenset[str]
    libraries: frozenset[tuple[str, str]]
    undefined: frozenset[str]
    exports: frozenset[tuple[str, int | None]]


def _lines(*command: str | Path) -> list[str]:
    # llvm-objdump fails on a file whose export trie is empty.
    done = run_program(command, errors="surrogateescape")
    return done.stdout.splitlines()


def pe_of_llvm(path: Path) -> PeTables:
    """From llvm-readobj."""
    imports: set[PeImport] = set()
    exports: set[PeExport] = set()
    library, delayed, fields = "", False, dict[str, str]()
    for line in _lines("llvm-readobj-19", "--coff-imports", "--coff-exports", path):
        key, _, value = line.strip().partition(":")
        if key in ("Import {", "DelayImport {", "Export {"):
            delayed = key[0] == "D" or (delayed and line[0] == " ")
            fields = {}
        elif key == "Symbol" and (found := re.fullmatch(r" (.*) \((\d+)\)", value)):
            imports.add((library, found[1] or f"#{found[2]}", delayed))
        elif key == "Name":
            library = value.strip()
            fields[key] = library
        elif key in ("Ordinal", "ForwardedTo", "RVA"):
            fields[key] = value.strip()
        elif key == "}" and "Ordinal" in fields:
            forwarder = fields.get("ForwardedTo")
            if forwarder or int(fields.get("RVA", "0"), 16):
                exports.add((fields.get("Name") or None, int(fields["Ordinal"]), forwarder))
            fields = {}
    return PeTables(frozenset(imports), frozenset(exports))


def pe_of_lief(path: Path) -> PeTables:
    """From LIEF."""
    import lief

    file: Any = lief.PE.parse(str(path))
    imports = {
        (library.name, f"#{entry.ordinal}" if entry.is_ordinal else entry.name, delayed)
        for delayed, libraries in ((False, file.imports), (True, file.delay_imports))
        for library in libraries
        for entry in library.entries
    }
    exports: set[PeExport] = set()
    for entry in file.get_export().entries if file.has_exports else ():
        forward = entry.forward_information
        forwarder = f"{forward.library}.{forward.function}" if entry.is_forwarded else None
        if forwarder or entry.address:
            exports.add((entry.name or None, entry.ordinal, forwarder))
    return PeTables(frozenset(imports), frozenset(exports))


def pe_names_of_pefile(path: Path) -> tuple[set[str], set[str]]:
    """(imported, exported names) from pefile, as far as it reads them: it silently stops in long tables and truncates
    long names."""
    import pefile

    file: Any = pefile.PE(str(path), fast_load=True)
    directories = [pefile.DIRECTORY_ENTRY[f"IMAGE_DIRECTORY_ENTRY_{name}"] for name in ("IMPORT", "EXPORT")]
    file.parse_data_directories(directories)
    imports = {
        each.name.decode("utf-8", "surrogateescape")
        for library in getattr(file, "DIRECTORY_ENTRY_IMPORT", ())
        for each in library.imports
        if each.name and not each.import_by_ordinal and len(each.name) < _CUT
    }
    table = getattr(file, "DIRECTORY_ENTRY_EXPORT", None)
    names = [each.name for each in table.symbols] if table else []
    return imports, {name.decode("utf-8", "surrogateescape") for name in names if name and len(name) < _CUT}


def macho_of_llvm(path: Path, machine: str) -> MachoTables:
    """From llvm-objdump and llvm-nm."""
    tool = ("llvm-objdump-19", "--macho", f"--arch={machine}")
    bound = [*_bound(_lines(*tool, "--bind", path)), *_chained(_lines(*tool, "--chained-fixups", path))]
    late = list(_bound(_lines(*tool, "--lazy-bind", path)))
    undefined = {
        line.split()[-1]
        for line in _lines("llvm-nm-19", "--undefined-only", "--just-symbol-name", f"--arch={machine}", path)
        if line.strip() and not line.endswith(":")
    }
    exports: set[tuple[str, int | None]] = set()
    for line in _lines(*tool, "--exports-trie", path):
        if found := re.match(r"(0x[0-9A-Fa-f]+|\[re-export\])\s+(\S+)", line):
            exports.add((found[2], None if found[1][0] == "[" else int(found[1], 16)))
    return MachoTables(
        frozenset((name, weak) for name, weak, _ in bound),
        frozenset(name for name, _, _ in late),
        frozenset((name, library) for name, _, library in (*bound, *late)),
        frozenset(undefined),
        frozenset(exports),
    )


def _bound(lines: list[str]) -> Iterator[tuple[str, bool, str]]:
    for line in lines:
        words = line.split()
        # Segment, section, address; the last words are the library and the symbol.
        if len(words) >= 5 and words[2].startswith("0x"):
            weak = words[-1] == "(weak_import)"
            yield words[-2] if weak else words[-1], weak, words[-3] if weak else words[-2]


def _chained(lines: list[str]) -> Iterator[tuple[str, bool, str]]:
    weak, library = False, ""
    for line in lines:
        key, _, value = line.strip().partition(" = ")
        if key == "weak_import":
            weak = value == "1"
        elif key == "lib_ordinal":
            library = value.partition("(")[2].removesuffix(")")
        elif key == "name_offset":
            yield value.partition("(")[2].removesuffix(")"), weak, library
