"""Mach-O files with wrong tables: rejected with one line, or read, in linear time."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from abiscan.binary.macho_binary import MachoBinary
from abiscan.errors import UnreadableFile
from abiscan.macho.dyld_data import DamagedTableError, bound_symbols, read_trie
from abiscan.macho.macho_file import read_macho
from abiscan.macho.symbol_list import external_symbols
from abiscan.model.macho_facts import MachoImport
from tests.processor_time import at_most


def _file(commands: list[bytes], content: bytes = b"", flags: int = 0x80) -> bytes:
    """A bundle for arm64 with these load commands, followed by the content."""
    table = b"".join(commands)
    head = struct.pack("<IIIIIIII", 0xFEEDFACF, 0x0100000C, 0, 8, len(commands), len(table), flags, 0)
    return head + table + content


def _data_command(kind: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIII", kind, 16, offset, size)


def _exports(trie: bytes) -> bytes:
    return _file([_data_command(0x80000033, 48, len(trie))], trie)


def _node(children: list[tuple[bytes, int]], terminal: bytes = b"") -> bytes:
    """A node with children below offset 128."""
    edges = b"".join(name + b"\0" + bytes([at]) for name, at in children)
    return bytes([len(terminal)]) + terminal + bytes([len(children)]) + edges


def test_the_trie_of_these_tests_is_read() -> None:
    leaf = _node([], b"\0\x10")
    trie = _node([(b"_a", 6)]) + leaf
    assert list(read_trie(trie)) == [(b"_a", 0, 16)]
    assert list(read_macho(_exports(trie), "x.so").exports) == ["_a"]


@pytest.mark.parametrize(
    ("trie", "what"),
    [
        (_node([(b"_a", 0)]), "reached twice"),
        (_node([(b"_a", 10), (b"_b", 10)]) + _node([], b"\0\x10"), "reached twice"),
        (_node([(b"_a", 100)]), "ends outside"),
        (b"\x80" * 11, "more than ten bytes"),
        (b"\x00\x02_a\0\x20", "ends outside"),
        # The second node begins at the second byte of the first one.
        (_node([(b"`A", 1), (b"b", 9)]) + _node([]), "nodes of the export trie overlap"),
    ],
    ids=["itself", "shared", "outside", "number", "cut off", "overlap"],
)
def test_a_damaged_trie_is_refused(trie: bytes, what: str) -> None:
    with pytest.raises(UnreadableFile, match=what) as error:
        _ = read_macho(_exports(trie), "x.so").exports
    assert "\n" not in str(error.value)


def test_a_trie_as_deep_as_it_is_long_is_refused_in_time() -> None:
    """A chain of edges of one letter: all names together have half the square of its length."""
    count = 60_000
    trie = b"".join(b"\0\1a\0" + _three((number + 1) * 7) for number in range(count)) + b"\0\0"
    with at_most(2), pytest.raises(DamagedTableError, match="names of more than"):
        list(read_trie(trie))


def test_nodes_at_every_byte_are_refused_in_time() -> None:
    """Each node names the next byte: 255 edges within each other's names."""
    trie = bytes([0, 255]) * 50_000
    with at_most(2), pytest.raises(DamagedTableError):
        list(read_trie(trie))


def _three(value: int) -> bytes:
    return bytes([value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14])


def test_a_repeated_bind_is_one_step() -> None:
    """BIND_OPCODE_DO_BIND_ULEB_TIMES_SKIPPING_ULEB with a count of 2**63."""
    opcodes = b"\x11\x40_name\0" + b"\xc0" + b"\xff" * 9 + b"\x01" + b"\x00\x00"
    assert list(bound_symbols(opcodes)) == [(b"_name", 1, False)]


def test_a_symbol_that_is_set_again_and_again_is_one_import() -> None:
    opcodes = b"\x3e\x40_name\0" + b"\x90\x3f\x90\x3e" * 100_000
    command = struct.pack("<II10I", 0x80000022, 48, 0, 0, 80, len(opcodes), 0, 0, 0, 0, 0, 0)
    file = read_macho(_file([command], opcodes), "x.so")
    assert file.imports == (MachoImport("_name", None, False),) * 2


@pytest.mark.parametrize("opcodes", [b"\x40_name", b"\xe0", b"\x20\x80", b"\x20" + b"\xff" * 11])
def test_damaged_opcodes_are_refused(opcodes: bytes) -> None:
    with pytest.raises(DamagedTableError):
        list(bound_symbols(opcodes))


def test_ordinals_and_flags_of_opcodes() -> None:
    """Ordinals of <mach-o/loader.h>: BIND_OPCODE_SET_DYLIB_SPECIAL_IMM has a signed number."""
    opcodes = b"\x3e\x41_a\0\x90\x3d\x40_b\0\x90\x11\x90\x30\x40_c\0\x90"
    assert list(bound_symbols(opcodes)) == [(b"_a", -2, True), (b"_b", -3, False), (b"_b", 1, False), (b"_c", 0, False)]


def _chained(imports: bytes, count: int, kind: int, symbols: bytes = b"\0_name\0", packing: int = 0) -> bytes:
    body = struct.pack("<IIIIIII", 0, 0, 28, 28 + len(imports), count, kind, packing) + imports + symbols
    return _file([_data_command(0x80000034, 48, len(body))], body)


@pytest.mark.parametrize(
    ("data", "weak"),
    [
        (_chained(struct.pack("<I", 0xFE | 1 << 9), 1, 1), False),
        (_chained(struct.pack("<Ii", 0xFD | 1 << 8 | 1 << 9, 4), 1, 2), True),
        (_chained(struct.pack("<QQ", 0xFFFF | 1 << 16 | 1 << 32, 4), 1, 3), True),
        (_chained(struct.pack("<QQ", 0 | 1 << 32, 4), 1, 3), False),
    ],
)
def test_the_three_formats_of_chained_imports(data: bytes, weak: bool) -> None:
    """The bit fields of <mach-o/fixup-chains.h>."""
    (found,) = read_macho(data, "x.so").imports
    assert found == MachoImport("_name", None, weak)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (_chained(b"", 1 << 31, 1), "end outside of their"),
        (_chained(struct.pack("<I", 0xFE), 1, 4), "unknown format 4"),
        (_chained(struct.pack("<I", 0xFE), 1, 1, packing=1), "compressed"),
        (_chained(struct.pack("<I", 3 | 1 << 9), 1, 1), "library 3, of 0"),
    ],
)
def test_damaged_chained_fixups_are_refused(data: bytes, what: str) -> None:
    with pytest.raises(UnreadableFile, match=what):
        _ = read_macho(data, "x.so").imports


def test_a_file_without_tables_of_dyld_is_read_from_its_symbol_table() -> None:
    """Fields of <mach-o/nlist.h>: a weak undefined symbol, another, a common one, a private one, a definition."""
    names = b"\0_weak\0_flat\0_here\0"
    rows = (
        struct.pack("<IBBHQ", 1, 0x01, 0, 0xFE40, 0),
        struct.pack("<IBBHQ", 7, 0x01, 0, 0xFE00, 0),
        struct.pack("<IBBHQ", 7, 0x01, 0, 0, 8),
        struct.pack("<IBBHQ", 7, 0x1F, 1, 0, 8),
        struct.pack("<IBBHQ", 13, 0x0F, 1, 0x80, 64),
    )
    table = b"".join(rows)
    command = struct.pack("<IIIIII", 2, 24, 56, len(rows), 56 + len(table), len(names))
    file = read_macho(_file([command], table + names), "x.so")
    assert file.imports == (MachoImport("_weak", None, True), MachoImport("_flat", None, False))
    assert [(each.name, each.address, each.weak) for each in file.exports.values()] == [("_here", 64, True)]
    assert len(list(external_symbols(file))) == 3


@pytest.mark.parametrize(
    "commands",
    [
        [b"\x0c\0\0\0\x04\0\0\0"],
        [struct.pack("<II", 0x0C, 4096)],
        [struct.pack("<IIIIII", 0x0C, 24, 90, 0, 0, 0)],
        [struct.pack("<IIII", 0x22, 16, 1, 1)],
    ],
)
def test_damaged_load_commands_are_refused(commands: list[bytes]) -> None:
    with pytest.raises(UnreadableFile):
        MachoBinary(read_macho(_file(commands), "x.so")).facts()


def test_slices_that_overlap_or_end_outside_are_refused() -> None:
    thin = _file([])
    for first, second in (((64, len(thin)), (80, len(thin))), ((64, 1 << 20), (1 << 21, 8)), ((0, 8), (64, 8))):
        rows = struct.pack(">IIIII", 7, 3, *first, 0) + struct.pack(">IIIII", 0x0100000C, 0, *second, 0)
        with pytest.raises(UnreadableFile):
            read_macho((b"\xca\xfe\xba\xbe\0\0\0\2" + rows).ljust(64, b"\0") + thin * 2, "x.so")


@pytest.mark.parametrize("name", ["chained-fixups.so", "universal.dylib"])
def test_a_file_that_is_cut_off_is_refused(fixtures_dir: Path, name: str) -> None:
    data = (fixtures_dir / "macos" / name).read_bytes()
    for length in range(0, len(data), len(data) // 50):
        with pytest.raises(UnreadableFile) as error:
            read_macho(data[:length], name)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("kind", "what"), [(1, "an object file"), (4, "a core dump"), (10, "debug information"), (99, "unknown")]
)
def test_other_types_of_files_are_named(kind: int, what: str) -> None:
    data = bytearray(_file([]))
    data[12] = kind
    with pytest.raises(UnreadableFile, match=what):
        read_macho(bytes(data), "x.o")
