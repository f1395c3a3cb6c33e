"""Sizes of classes in debug information. Oracles: DW_AT_byte_size from `readelf --debug-dump=info` for fixtures,
`sizeof` in the compiler for files compiled here."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from abiscan.elf import open_elf, read_elf
from abiscan.elf.debug_entries import MAX_STEPS
from tests.fuzz.kinds import _with_sections
from tests.programs import output_of
from tests.tables import data_text, table_rows

DRIFT = Path(__file__).parents[1] / "fixtures" / "drift"
SOURCE = data_text(__file__, "record_sizes.cpp")
WANTED = ("c10::Kernel", "c10::Kernel::In", "c10::impl::Entry", "c10::Declared")


@pytest.mark.parametrize("release", ["2.8", "2.13"])
def test_sizes_are_those_that_readelf_prints(release: str) -> None:
    file = DRIFT / f"sized-torch-{release}.so"
    printed = output_of(["readelf", "--debug-dump=info", str(file)])
    size = re.search(r"DW_AT_name +: (?:\(.*\): )?MessageLogger\n.*DW_AT_byte_size +: (\d+)", printed)
    assert size is not None
    assert open_elf(file).record_sizes({"c10::MessageLogger", "c10::X"}) == {"c10::MessageLogger": int(size[1])}


@table_rows
def test_compilers_and_versions_are_read(command: str, tmp_path: Path) -> None:
    compiler = command.split(maxsplit=1)[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source, file = tmp_path / "a.cpp", tmp_path / "a.so"
    source.write_text(SOURCE)
    subprocess.run([*command.split(), "-shared", "-fPIC", str(source), "-o", str(file)], check=True)
    binary = open_elf(file)
    place = binary.export("size")
    assert place is not None
    segment = next(s for s in binary.image.segments if s.address <= place.value < s.address + s.file_size)
    (size,) = struct.unpack_from("<Q", binary.buffer, segment.offset + place.value - segment.address)
    assert binary.record_sizes(WANTED) == {"c10::Kernel": 40, "c10::Kernel::In": 4, "c10::impl::Entry": size}


def compressed(kind: int, packed: bytes, size: int) -> bytes:
    """A file with compressed .debug_info (gABI, Elf64_Chdr)."""
    data = bytearray(
        _with_sections(
            [(b".debug_info", struct.pack("<IIQQ", kind, 0, size, 1) + packed), (b".debug_abbrev", ABBREVIATIONS)]
        )
    )
    # sh_flags of the first non-empty section (ELF64: entries of 64 bytes, flags at 8): SHF_COMPRESSED.
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    struct.pack_into("<Q", data, sections + 64 + 8, 0x800)
    return bytes(data)


def test_compressed_sections() -> None:
    body = struct.pack("<HIB", 4, 0, 8) + b"\x01\x02c10\0\x03A\0\x08\0\0"
    info = struct.pack("<I", len(body)) + body
    sizes = {"c10::A": 8}

    def read(kind: int, packed: bytes, size: int) -> dict[str, int]:
        return read_elf(compressed(kind, packed, size), "a.so").record_sizes(["c10::A"])

    assert read(1, zlib.compress(info), len(info)) == sizes
    if importlib.util.find_spec("backports") is not None and importlib.util.find_spec("backports.zstd") is not None:
        zstd = importlib.import_module("backports.zstd")
        assert read(2, zstd.compress(info), len(info)) == sizes
    # Another kind; wrong contents; over the limit; more than declared.
    for kind, packed, size in (
        (3, info, len(info)),
        (1, b"\0" + info, len(info)),
        (1, zlib.compress(info), len(info) + 1),
        (2, info, len(info)),
        (1, zlib.compress(info), 1 << 40),
    ):
        assert read(kind, packed, size) == {}


def unit(entries: bytes, abbreviations: bytes) -> bytes:
    """A file with one unit of version 4."""
    body = struct.pack("<HIB", 4, 0, 8) + entries
    return _with_sections([(b".debug_info", struct.pack("<I", len(body)) + body), (b".debug_abbrev", abbreviations)])


# 1: a compile unit with children; 2: a namespace with a name (DW_FORM_string); 3: a structure with name and size
# (data1).
ABBREVIATIONS = b"\x01\x11\x01\0\0\x02\x39\x01\x03\x08\0\0\x03\x13\0\x03\x08\x0b\x0b\0\0\0"


def test_a_record_of_two_sizes_has_none() -> None:
    one, other = b"\x03A\0\x08", b"\x03A\0\x10"
    scope = b"\x01\x02c10\0"
    assert read_elf(unit(scope + one + b"\0\0", ABBREVIATIONS), "a.so").record_sizes(["c10::A"]) == {"c10::A": 8}
    assert read_elf(unit(scope + one + one + other + b"\0\0", ABBREVIATIONS), "a.so").record_sizes(["c10::A"]) == {}


@pytest.mark.slow
def test_more_than_is_read_ends() -> None:
    """Data before the limit is found, and data after it is not."""
    before, behind = b"\x03A\0\x08", b"\x03B\0\x08"
    many = b"\x03x\0\x01" * (MAX_STEPS + 1)
    data = unit(b"\x01\x02c10\0" + before + many + behind + b"\0\0", ABBREVIATIONS)
    assert read_elf(data, "a.so").record_sizes(["c10::A", "c10::B"]) == {"c10::A": 8}


@pytest.mark.parametrize(
    ("entries", "abbreviations"),
    [
        (b"\x7f", ABBREVIATIONS),
        (b"\x01\x02c10", ABBREVIATIONS),
        (b"\x01" + b"\x80" * 20, ABBREVIATIONS),
        (b"\x01\x02c10\0\x03A\0\x08", ABBREVIATIONS[:-4]),
        (b"\x01", b"\x01\x11\x01\x03\x16\0\0\0"),
        (b"\x01\xff\xff\xff\xff\x7f", b"\x01\x11\x01\x03\x18\0\0\0"),
    ],
)
def test_damaged_information_tells_nothing(entries: bytes, abbreviations: bytes) -> None:
    assert read_elf(unit(entries, abbreviations), "a.so").record_sizes(["c10::A"]) in ({}, {"c10::A": 8})


def test_an_abbreviation_that_no_entry_has_need_not_be_known() -> None:
    """DW_FORM 0x16 (DW_FORM_indirect) is not supported; no entry here has it."""
    data = unit(b"\x01\x02c10\0\x03A\0\x08\0\0", ABBREVIATIONS[:-1] + b"\x04\x13\0\x03\x16\0\0\0")
    assert read_elf(data, "a.so").record_sizes(["c10::A"]) == {"c10::A": 8}


def test_a_long_text_is_stepped_over() -> None:
    # 4: a variable whose DW_AT_linkage_name (0x6e) is a DW_FORM_string.
    data = unit(
        b"\x01\x04" + b"x" * 100_000 + b"\0\x02c10\0\x03A\0\x08\0\0", ABBREVIATIONS[:-1] + b"\x04\x34\0\x6e\x08\0\0\0"
    )
    assert read_elf(data, "a.so").record_sizes(["c10::A"]) == {"c10::A": 8}
