"""Files for Windows and macOS: mutates the fields of their tables, and reads everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.fuzz.mutate import mutate_bytes, mutate_field

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"

# (offset, size) of a part of a file with a table.
Place = tuple[int, int]


def _kind(
    directory: str, places: Callable[[bytes], list[Place]], read: Callable[[bytes], None]
) -> tuple[Callable[[Random], bytes], Callable[[bytes], None]]:
    files = sorted(path for path in (FIXTURES / directory).rglob("*") if path.is_file())
    seeds = [(data, places(data)) for data in (path.read_bytes() for path in files)]

    def make(rng: Random) -> bytes:
        data, tables = rng.choice(seeds)
        out = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            start, size = rng.choice(tables)
            width = rng.choice((1, 2, 4, 4, 8))
            mutate_field(out, start + rng.randrange(max(1, size // width)) * width, width, rng)
        return mutate_bytes(bytes(out), rng) if rng.random() < 0.1 else bytes(out)

    return make, read


def pe_kind() -> tuple[Callable[[Random], bytes], Callable[[bytes], None]]:
    """Functions that make and read a PE file."""
    from abiscan.binary.pe_binary import PeBinary
    from abiscan.pe.pe_file import read_pe
    from abiscan.pe.pe_image import PeImage

    def places(data: bytes) -> list[Place]:
        image = PeImage(data, "seed")
        header = int.from_bytes(data[60:64], "little")
        found = [(60, 4), (header, 24), (header + 24, 240), (header + 264, 40 * (len(image.sections) - 1))]
        for address, size in image.directories:
            section = image.section_at(address)
            if address and section is not None:
                at = section.offset + address - section.start
                found += [(at, min(size or 64, 64)), (at, min(size or 400, section.end - address, 400))]
        found += [(each.offset, each.end - each.start) for each in image.sections[1:]]
        return found

    def read(data: bytes) -> None:
        pe = read_pe(data, "fuzz.pyd")
        binary = PeBinary(pe)
        binary.facts()
        names = [each.name for each in binary.exports()]
        for each in pe.export_table.rows():
            assert pe.export_table.has_ordinal(each.ordinal)
            assert each.name is None or binary.exports_name(each.name)
        binary.exported_among((*names, "absent"))
        binary.names_with_prefix("m")
        list(binary.strings_with(b"a"))

    return _kind("windows", places, read)


def macho_kind() -> tuple[Callable[[Random], bytes], Callable[[bytes], None]]:
    """Functions that make and read a Mach-O file."""
    from abiscan.binary.macho_binary import MachoBinary
    from abiscan.macho.load_commands import dyld_tables
    from abiscan.macho.macho_file import read_macho
    from abiscan.macho.macho_image import MachoImage

    def places(data: bytes) -> list[Place]:
        found: list[Place] = [(0, 64)]
        for piece in MachoImage(data, "seed").slices:
            image = MachoImage(data, "seed", machine=piece.machine)
            commands = sum(len(each.body) + 8 for each in image.commands)
            found += 3 * [(piece.offset, 32), (piece.offset + 32, commands)]
            tables = dyld_tables(image)
            for table in (tables.chained, tables.bind, tables.lazy_bind, tables.exports):
                if table is not None and table[1]:
                    found += 2 * [(piece.offset + table[0], table[1])]
        return found

    def read(data: bytes) -> None:
        for each in MachoImage(data, "fuzz.so").slices:
            macho = read_macho(data, "fuzz.so", each.machine)
            binary = MachoBinary(macho)
            binary.facts()
            names = [export.name for export in binary.exports()]
            assert binary.exported_among((*names, "absent")) == set(names)
            binary.names_with_prefix("_ZN2at")
            list(binary.strings_with(b"a"))

    return _kind("macos", places, read)
