"""Facts about a file, the releases and the installed torch from other programs, for the table of evidence.

pyelftools reads the file and the installed torch's libraries, the release index is queried build by build, and GNU's
demangler reads names."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import cxxfilt
from elftools.elf.dynamic import Dynamic, DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.hash import ELFHashSection, GNUHashSection
from msgspec import Struct

from abiscan.model.cause import CauseGroup
from abiscan.model.imports import CheckedImport
from abiscan.model.report import ArtifactReport
from abiscan.model.target import TorchKind
from abiscan.releases import Build, ReleaseIndex
from abiscan.releases.build import SymbolHistory


class ElfFile(Struct, frozen=True):
    """Data of a file from pyelftools.

    Attributes:
        imports: undefined names of the dynamic symbol table -> (library, version) of versioned references.
        exports: its defined names.
    """

    needed: tuple[str, ...]
    imports: Mapping[str, tuple[str, str] | None]
    exports: frozenset[str]


def read_elf(data: bytes) -> ElfFile:
    """Read the dynamic segment, as a loader does; versions from sections."""
    elf = ELFFile(io.BytesIO(data))
    dynamic = next(segment for segment in elf.iter_segments() if isinstance(segment, DynamicSegment))
    needs: dict[int, tuple[str, str]] = {}
    versioned = None
    for section in elf.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for need, asked in section.iter_versions():
                needs.update({each["vna_other"]: (need.name, each.name) for each in asked})
        elif isinstance(section, GNUVerSymSection):
            versioned = section
    imports: dict[str, tuple[str, str] | None] = {}
    exports: set[str] = set()
    for at, symbol in enumerate(dynamic.iter_symbols()):
        if symbol["st_shndx"] != "SHN_UNDEF":
            exports.add(symbol.name)
        elif symbol.name:
            number = None if versioned is None else versioned.get_symbol(at)["ndx"]
            imports[symbol.name] = needs.get(number) if isinstance(number, int) else None
    return ElfFile(needed_of(dynamic), imports, frozenset(exports))


def needed_of(dynamic: Dynamic) -> tuple[str, ...]:
    """The needed libraries of a file; pyelftools names the attribute after the tag."""
    return tuple(str(vars(tag)["needed"]) for tag in dynamic.iter_tags("DT_NEEDED"))


class Libraries:
    """The libraries of an installed torch; names are looked up in their hash tables by pyelftools."""

    def __init__(self, folder: Path) -> None:
        self._tables: list[tuple[str, ELFHashSection | GNUHashSection]] = []
        self._open = ExitStack()
        for path in sorted(folder.glob("*.so")):
            elf = ELFFile(self._open.enter_context(path.open("rb")))
            table = elf.get_section_by_name(".gnu.hash") or elf.get_section_by_name(".hash")
            assert isinstance(table, (ELFHashSection, GNUHashSection)), path
            self._tables.append((path.name, table))

    def close(self) -> None:
        """Close the libraries."""
        self._open.close()

    def exporting(self, name: str) -> frozenset[str]:
        """The libraries that export a name."""
        found = set()
        for library, table in self._tables:
            symbol = table.get_symbol(name)
            if symbol is not None and symbol["st_shndx"] != "SHN_UNDEF":
                found.add(library)
        return frozenset(found)


class Sight:
    """Data of the oracles besides the file, for all files of a session."""

    def __init__(
        self,
        index: ReleaseIndex,
        torch: Path | None = None,
        libraries: Libraries | None = None,
        python: tuple[int, int] | None = None,
    ) -> None:
        """From the index and, with an installed torch, its directory, libraries and CPython."""
        self.index = index
        self.torch = torch
        self.libraries = libraries
        self.python = python

    @property
    def lib(self) -> Path:
        """The library directory of the installed torch."""
        assert self.torch is not None
        return self.torch / "lib"


# Prefixes of nested names (Itanium C++ ABI, 5.1.2): with qualifiers of a member function, and of class data.
_NESTED = ("_ZN", "_ZNK", "_ZNR", "_ZNKR", "_ZNO", "_ZNKO", "_ZTVN", "_ZTIN", "_ZTSN")


class Case:
    """The subject of a sentence: the file, and one of its imports or a cause of the whole file."""

    def __init__(
        self,
        report: ArtifactReport,
        file: ElfFile,
        sight: Sight,
        *,
        bound: CheckedImport | None = None,
        group: CauseGroup | None = None,
        beside: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self.report = report
        self.file = file
        self.sight = sight
        self.bound = bound
        self.group = group
        self._beside = beside

    # --- the name ---------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The mangled name; empty for a library."""
        return "" if self.bound is None else self.bound.name

    @property
    def demangled(self) -> str:
        """GNU's demangled text, or LLVM's if GNU does not know the encoding (`Tn`)."""
        text = demangled(self.name)
        return self.bound.demangled if text == self.name and self.bound and self.bound.demangled else text

    @property
    def qualified(self) -> str:
        """The same without return type, parameters and template arguments."""
        return qualified(self.demangled)

    # --- releases ---------------------------------------------------------------------------------------------------

    @property
    def builds(self) -> tuple[Build, ...]:
        """Every build of the file's architecture."""
        return self.sight.index.builds(self.report.machine or "x86_64")

    @property
    def known(self) -> list[str]:
        """Their versions, oldest first."""
        return list(dict.fromkeys(build.torch for build in self.builds))

    def history(self, name: str) -> SymbolHistory | None:
        """A name over all builds."""
        machine = self.report.machine or "x86_64"
        return self.sight.index.lookup((name,), machine, of_others=True).get(name)

    def exported_in(self, name: str) -> set[str]:
        """The versions that export a name."""
        history = self.history(name)
        return set() if history is None else {build.torch for build in history.exporting_builds}

    def forms(self, entity: str) -> set[str]:
        """Every name in the index that demangles to a function, class or object with this qualified name."""
        parts = entity.split("::")
        encoded = ["".join(f"{len(part.encode())}{part}" for part in parts[:end]) for end in range(1, len(parts) + 1)]
        # Template arguments may follow each class; constructors, destructors and operators have codes.
        begins = [f"{each}I" for each in encoded[:-1]] + encoded[-1:]
        if len(parts) > 1 and (parts[-1].lstrip("~") == parts[-2] or parts[-1].startswith("operator")):
            begins.append(encoded[-2])
        starts = [f"_Z{encoded[0]}"] if len(parts) == 1 else [f"{kind}{each}" for kind in _NESTED for each in begins]
        machine = self.report.machine or "x86_64"
        found = {name for start in starts for name in self.sight.index.prefix(start, machine, 5000)}
        return {name for name in found if qualified(demangled(name)) in (entity, name)}

    @property
    def alike(self) -> set[str]:
        """Other names in the index with the same qualified name, including its CUDA spelling."""
        return (self.forms(self.qualified) | self.forms(re.sub("hip", "cuda", self.qualified))) - {self.name}

    # --- the target -------------------------------------------------------------------------------------------------

    @property
    def torch(self) -> str:
        """The target's version; empty without a target."""
        return "" if self.report.torch_build is None else self.report.torch_build.version

    @property
    def label(self) -> str:
        """The target in a sentence."""
        target = self.report.torch_build
        if target is None:
            return "the installed torch"
        return f"torch {target.version}" + (f" ({target.variant})" if target.variant else "")

    @property
    def installed(self) -> bool:
        """Whether the file is checked against the torch of this machine."""
        return self.report.torch_build is not None and self.report.torch_build.kind is TorchKind.INSTALLED

    @property
    def build(self) -> Build | None:
        """The target as a build of the index; None for the installed one."""
        target = self.report.torch_build
        if target is None or self.installed:
            return None
        return next((b for b in self.builds if (b.torch, b.variant) == (target.version, target.variant)), None)

    def has(self, name: str) -> set[str]:
        """The libraries of the target that export a name."""
        if self.installed:
            assert self.sight.libraries is not None
            return set(self.sight.libraries.exporting(name))
        history = self.history(name)
        export = None if history is None or self.build is None else history.export(self.build)
        return set() if export is None else set(export.libraries)

    @property
    def ships(self) -> set[str]:
        """The libraries of the target."""
        if self.installed:
            return {path.name for path in self.sight.lib.iterdir()}
        return set() if self.build is None else set(self.build.libraries)

    @property
    def brings(self) -> set[str]:
        """Further libraries that the target's libraries need."""
        if self.installed:
            return {need for path in self.sight.lib.glob("*.so") for need in _needed(path)}
        return set() if self.build is None else set(self.build.brings)

    @property
    def is_cpu(self) -> bool:
        """Whether the target is a CPU build."""
        target = self.report.torch_build
        return target is not None and target.cuda is None and target.hip is None

    def lacks(self, soname: str) -> bool:
        """Whether a needed library of the file was not found."""
        return soname in self.file.needed and any(n.soname == soname and not n.found for n in self.report.needed)

    def lacks_beside(self, soname: str) -> bool:
        """Whether only another file of its package needs a library, which the target does not provide."""
        return soname not in self.file.needed and soname in self._beside() - self.ships - self.brings

    @property
    def lacking(self) -> list[str]:
        """The needed libraries that were not found, and those of its package that the target does not provide."""
        own = [n.soname for n in self.report.needed if n.found is None]
        return own + sorted(self._beside() - self.ships - self.brings)

    @property
    def base(self) -> str:
        """The file name."""
        return (self.report.member or self.report.path).rsplit("/", 1)[-1].lower()


@cache
def _needed(path: Path) -> tuple[str, ...]:
    with path.open("rb") as stream:
        segments = ELFFile(stream).iter_segments()
        return needed_of(next(segment for segment in segments if isinstance(segment, DynamicSegment)))


@cache
def demangled(name: str) -> str:
    """GNU's text of a name, with one spelling of std::string; the name itself if it is not C++."""
    try:
        text: str = cxxfilt.demangle(name)
    except (cxxfilt.InvalidName, UnicodeError):
        return name
    return text.replace("[abi:cxx11]", "").replace("std::__cxx11::", "std::")


def spans(text: str, known: list[str]) -> set[str]:
    """The known versions that `2.0.0-2.2.2, 2.4.0 and 2.6.0` means."""
    found: set[str] = set()
    for part in re.split(r", | and ", text):
        first, _, last = part.partition("-")
        found.update(known[known.index(first) : known.index(last or first) + 1])
    return found


@cache
def qualified(text: str) -> str:
    """A demangled name without return type, parameters and template arguments."""
    text = re.sub(r"^(?:vtable|typeinfo|typeinfo name|VTT) for ", "", text)
    depth = 0
    kept = ""
    for at, letter in enumerate(text):
        if letter == "<" and not kept.endswith("operator"):
            depth += 1
        elif letter == ">" and depth:
            depth -= 1
        elif not depth and letter == "(" and not text.startswith("(anonymous namespace)", at):
            break
        elif not depth:
            kept += letter
    return kept.split(" ")[-1]
