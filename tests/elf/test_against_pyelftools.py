"""The readers agree with pyelftools, an independent implementation, on real libraries."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import NoteSection, SymbolTableSection

from abiscan.elf import ElfFile, gnu_hash, open_elf, sysv_hash
from abiscan.elf.notes import has_sections
from tests import torch_here

FIXTURES = Path(__file__).parent.parent / "fixtures"
SHARED_OBJECTS = sorted(FIXTURES.glob("*.so"))


def readable_with_sections(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(64)
    return len(head) == 64 and head[16 if head[5] == 1 else 17] == 3 and head[60:62] not in (b"\0\0",)


CASES = [
    *(pytest.param(lambda p=p: p, id=p.name) for p in SHARED_OBJECTS if readable_with_sections(p)),
    *(
        pytest.param(lambda name=name: torch_here.library(name), id=name, marks=pytest.mark.torch)
        for name in ("libc10.so", "libtorch_python.so", "libshm.so")
    ),
]


class Oracle:
    def __init__(self, path: Path) -> None:
        self.elf = ELFFile(io.BytesIO(path.read_bytes()))
        self.dynsym = next(
            s for s in self.elf.iter_sections() if isinstance(s, SymbolTableSection) and s["sh_type"] == "SHT_DYNSYM"
        )
        self.symbols = list(self.dynsym.iter_symbols())[1:]
        self.dynamic = next(s for s in self.elf.iter_sections() if isinstance(s, DynamicSection))

    def tags(self, tag: str) -> list[object]:
        return [t for t in self.dynamic.iter_tags() if t.entry.d_tag == tag]


@pytest.mark.parametrize("find", CASES)
def test_reads_what_pyelftools_reads(find: Callable[[], Path]) -> None:
    path = find()
    oracle = Oracle(path)
    ours = open_elf(path)

    assert list(ours.needed) == [t.needed for t in oracle.tags("DT_NEEDED")]
    assert [ours.soname] == ([t.soname for t in oracle.tags("DT_SONAME")] or [None])
    assert [ours.runpath] == ([t.runpath for t in oracle.tags("DT_RUNPATH")] or [None])
    assert [ours.rpath] == ([t.rpath for t in oracle.tags("DT_RPATH")] or [None])

    undefined = [
        (s.name, s["st_info"]["bind"], s["st_info"]["type"])
        for s in oracle.symbols
        if s["st_shndx"] == "SHN_UNDEF" and s.name and s["st_info"]["bind"] != "STB_LOCAL"
    ]
    bindings = {"global": "STB_GLOBAL", "weak": "STB_WEAK", "unique": "STB_LOOS", "other": "other"}
    types = {"notype": "STT_NOTYPE", "object": "STT_OBJECT", "func": "STT_FUNC", "tls": "STT_TLS", "ifunc": "STT_LOOS"}
    # pyelftools writes U+FFFD for bytes that are not UTF-8; ours can be converted back.
    assert [(readable(i.name), bindings[i.binding], types.get(i.type, i.type)) for i in ours.imports] == undefined

    exported = Counter(
        (s.name, s["st_value"], s["st_size"])
        for s in oracle.symbols
        if s["st_shndx"] != "SHN_UNDEF"
        and s.name
        and s["st_info"]["bind"] != "STB_LOCAL"
        and s["st_other"]["visibility"] not in ("STV_HIDDEN", "STV_INTERNAL")
    )
    assert Counter((e.name, e.value, e.size) for e in ours.exports()) == exported

    assert ours.facts().build_id == build_id(oracle)


def readable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def build_id(oracle: Oracle) -> str | None:
    for section in oracle.elf.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    return None


@pytest.mark.parametrize("find", CASES)
def test_reads_the_versions_that_pyelftools_reads(find: Callable[[], Path]) -> None:
    path = find()
    oracle = Oracle(path)
    ours = open_elf(path)
    sections = list(oracle.elf.iter_sections())
    versym = next((s for s in sections if isinstance(s, GNUVerSymSection)), None)
    verneed = next((s for s in sections if isinstance(s, GNUVerNeedSection)), None)
    verdef = next((s for s in sections if isinstance(s, GNUVerDefSection)), None)

    needs = [(n.name, a.name) for n, aux in (verneed.iter_versions() if verneed else ()) for a in aux]
    assert [(library, v.name) for library, entries in ours.symbols.version_records.needs for v, _ in entries] == needs
    defined = [next(iter(aux)).name for _, aux in (verdef.iter_versions() if verdef else ())]
    assert [v.name for v, _index, _flags in ours.symbols.version_records.definitions] == defined

    for found in ours.imports:
        if versym is None or verneed is None:
            assert found.version is None
            continue
        index = versym.get_symbol(found.index)["ndx"]
        expected = verneed.get_version(index) if isinstance(index, int) else None
        wanted = (expected[0].name, expected[1].name) if expected else None
        assert ((found.version.library, found.version.name) if found.version else None) == wanted


@pytest.mark.parametrize("find", CASES)
def test_every_export_is_found_through_the_hash_table_and_no_import_is(find: Callable[[], Path]) -> None:
    path = find()
    ours = open_elf(path)
    exports = {e.name for e in ours.exports()}
    for name in list(exports)[:3000]:
        assert ours.exports_name(name), name
    for found in ours.imports:
        assert ours.exports_name(found.name) == (found.name in exports)


def test_hash_functions_agree_with_pyelftools() -> None:
    from elftools.elf.hash import ELFHashTable, GNUHashTable

    for name in ("", "printf", "exit", "syscall", "_ZNK2at10TensorBase8data_ptrIfEEPT_v", "flapenguin.me"):
        assert gnu_hash(name.encode()) == GNUHashTable.gnu_hash(name)
        assert sysv_hash(name.encode()) == ELFHashTable.elf_hash(name)


@pytest.mark.torch
def test_without_section_headers_the_same_symbols_are_read() -> None:
    path = torch_here.library("libc10.so")
    data = bytearray(path.read_bytes())
    whole = ElfFile(bytes(data), "whole")
    data[40:48] = bytes(8)  # e_shoff
    data[60:64] = bytes(4)  # e_shnum, e_shstrndx
    bare = ElfFile(bytes(data), "bare")
    assert bare.imports == whole.imports
    assert list(bare.exports()) == list(whole.exports())
    assert not has_sections(bare.image)
    assert bare.facts().build_id == whole.facts().build_id is not None
