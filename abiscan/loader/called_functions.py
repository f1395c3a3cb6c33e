"""Functions of a file that the loader calls: resolvers of indirect functions and initialisation functions. Each must
be code once the file is mapped, relocated and protected.

Only `check_code` decides whether a call can succeed; what it cannot decide stays undecided.
"""

from __future__ import annotations

from msgspec.structs import replace

from abiscan.elf import ElfFile
from abiscan.elf.dynamic import DT_INIT, DT_INIT_ARRAY, DT_INIT_ARRAYSZ, DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ
from abiscan.elf.image import ET_EXEC
from abiscan.elf.mapping import (
    MAX_ADDRESS_SPACE,
    PF_W,
    PF_X,
    area_at,
    first_outside,
    is_unmapped,
    mapped_runs,
    protected,
    read_only_pages,
)
from abiscan.elf.symbols import STT_GNU_IFUNC
from abiscan.loader.bound_symbols import Binder, Definition
from abiscan.loader.failure import Undecidable, crash
from abiscan.loader.first_instructions import CalledFile, check_beginning
from abiscan.loader.relocation_checks import loader_tables
from abiscan.loader.written_words import (
    Word,
    WordEffect,
    final_words,
    initial_word,
    is_followed,
    types_with,
    written_places,
)

# Machines on which a function address is the address of a descriptor in the data (64-bit PowerPC ELF ABI, version 1).
_FUNCTION_DESCRIPTORS = frozenset(("ppc64",))
# Nothing is mapped below the default link address of executables (x86-64 psABI 3.3.3). Above it and below 4 GiB, only
# an executable that is not position-independent is.
_LOWEST_CODE = 0x400000
_ABOVE_EXECUTABLES = 1 << 32
_INIT, _INIT_ARRAY, _RESOLVER = (
    "initialisation function (DT_INIT)",
    "initialisation function (DT_INIT_ARRAY)",
    "resolver of an indirect function",
)
# Number of bytes at the start of a function that no relocation may overwrite, or its first instruction is unknown.
_BEGINNING = 16


def _called(elf: ElfFile, path: str, *, relocated: bool) -> CalledFile:
    areas = elf.image.areas
    if relocated:
        areas = protected(areas, *read_only_pages(elf.image.segments))
    return CalledFile(elf, path, areas, tuple(loader_tables(elf, mapped_runs(areas))))


# --- during relocation (elf/do-rel.h) -----------------------------------------------------------------------------


def check_resolvers(elf: ElfFile, path: str, bind: Binder) -> None:
    """Check the resolvers of indirect functions that its relocations call: those of IRELATIVE and of symbols.

    Raises:
        LoadFailure, Undecidable: the load fails here, or may fail.
    """
    kinds = types_with(elf.machine, WordEffect.RESOLVER)
    addresses = {address for table in elf.relocations for kind in kinds for address in table.addends(kind)}
    symbols = elf.symbols.resolvers(elf.referred)
    if not addresses and not symbols:
        return
    called = _called(elf, path, relocated=False)
    for address in addresses:
        check_code(called, address, _RESOLVER, bind)
    referred = {symbol.number: symbol for symbol in symbols}
    for index, kind in elf.relocated(referred):
        check_resolver(elf, path, bind(index, kind), bind, called)


def check_resolver(elf: ElfFile, path: str, found: Definition, bind: Binder, called: CalledFile | None = None) -> None:
    """Check the resolver that the loader calls for a relocation of `elf` whose symbol is an indirect function.

    Args:
        called: `elf`, if the caller has it.

    Raises:
        LoadFailure, Undecidable: the load fails here, or may fail.
    """
    symbol, other = found.symbol, found.elf
    if symbol is None or other is None or symbol.type != STT_GNU_IFUNC or not symbol.section:
        return
    if found.is_absolute:
        _check_number(symbol.value, path, _RESOLVER, bind)
    elif other is elf:
        check_code(called or _called(elf, path, relocated=False), symbol.value, _RESOLVER, bind)
    else:
        name = other.path if found.item is None else found.item.name
        check_code(_called(other, name, relocated=True), symbol.value, _RESOLVER, bind)


# --- _dl_init, call_init (elf/dl-init.c) --------------------------------------------------------------------------


def check_started(elf: ElfFile, path: str, bind: Binder, is_opened: bool) -> None:
    """Check that the functions that are called at the end of loading are code.

    Args:
        is_opened: whether the file is the argument of dlopen: only then its DT_PREINIT_ARRAY is called.

    Raises:
        LoadFailure, Undecidable: the load fails here, or may fail.
    """
    values = elf.dynamic.values
    if elf.machine in _FUNCTION_DESCRIPTORS or values.keys().isdisjoint((DT_INIT, DT_INIT_ARRAY, DT_PREINIT_ARRAY)):
        return
    called = replace(_called(elf, path, relocated=True), is_first=True)
    if is_opened and DT_PREINIT_ARRAY in values and DT_PREINIT_ARRAYSZ in values:
        _check_array(called, "DT_PREINIT_ARRAY", values[DT_PREINIT_ARRAY], values[DT_PREINIT_ARRAYSZ], bind)
        called = replace(called, is_first=False)
    if DT_INIT in values:
        check_code(called, values[DT_INIT], _INIT, bind)
        called = replace(called, is_first=False)
    if DT_INIT_ARRAY in values:
        if DT_INIT_ARRAYSZ not in values:
            raise crash(path, "its dynamic section has DT_INIT_ARRAY without DT_INIT_ARRAYSZ, which the loader reads")
        _check_array(called, "DT_INIT_ARRAY", values[DT_INIT_ARRAY], values[DT_INIT_ARRAYSZ], bind)


def _check_array(called: CalledFile, tag: str, start: int, size: int, bind: Binder) -> None:
    elf, path = called.elf, called.path
    width = 8 if elf.image.is64 else 4
    # The loader's counter has 32 bits.
    count = size // width & 0xFFFFFFFF
    if not count:
        return
    end = start + count * width
    outside = first_outside(mapped_runs(called.areas), start, count * width)
    if outside == start and is_unmapped(elf.image.loads, start):
        raise crash(path, f"its table of initialisation functions ({tag}) is at {start:#x}, where nothing is mapped")
    if outside is not None:
        raise Undecidable(f"{path} has initialisation functions in a table ({tag}) that is not all mapped")
    what = f"initialisation function ({tag})"
    written = final_words(elf, start, end, bind)
    for place in range(start, end, width):
        word = written.get(place)
        if word is None:
            number = initial_word(elf, place).number
            _check_number(number, path, f"{what}, which nothing relocates,", bind)
        elif is_followed(elf.machine):
            _check_word(called, word, what, place, bind)
        called = replace(called, is_first=False)


def _check_word(called: CalledFile, word: Word, what: str, place: int, bind: Binder) -> None:
    path = called.path
    if word.unknown:
        raise Undecidable(f"{path}: the address of its {what} at {place:#x} {word.unknown}")
    if word.times > 1:
        raise crash(path, f"the address of its {what} at {place:#x} is relocated {word.times} times")
    if word.elf is None:
        _check_number(word.number, path, what, bind)
    elif word.elf is called.elf:
        check_code(called, word.number, what, bind)
    else:
        other = _called(word.elf, path, relocated=True)
        area = area_at(other.areas, word.number)
        if area is not None and not area.flags & PF_X:
            raise crash(path, f"its {what} is at {word.number:#x} of {word.elf.path}, which is not executable")
        raise Undecidable(f"{path}: its {what} is in {word.elf.path}, and what it does there is unknown")


def _check_number(number: int, path: str, what: str, bind: Binder) -> None:
    """Check a call of an address to which no load address is added."""
    executable = bind.executable
    nowhere = number < _LOWEST_CODE or number >= MAX_ADDRESS_SPACE
    if not nowhere and number < _ABOVE_EXECUTABLES and executable is not None:
        area = area_at(executable.image.areas, number) if executable.image.type == ET_EXEC else None
        nowhere = area is None or not area.flags & PF_X
    if nowhere:
        raise crash(path, f"its {what} is at the absolute address {number:#x}, where no code is mapped")
    raise Undecidable(f"{path}: its {what} is at the absolute address {number:#x}; what is mapped there is unknown")


# --- code ---------------------------------------------------------------------------------------------------------


def check_code(called: CalledFile, address: int, what: str, bind: Binder) -> None:
    """Check a call of an address in the file itself.

    Raises:
        LoadFailure: the call certainly ends the process.
        Undecidable: it may.
    """
    elf, path = called.elf, called.path
    area = area_at(called.areas, address)
    if area is None:
        if is_unmapped(elf.image.loads, address):
            raise crash(path, f"its {what} is at {address:#x}, where nothing is mapped")
        raise Undecidable(f"{path}: its {what} is at {address:#x}, outside of the file's own memory")
    if not area.flags & PF_X:
        raise crash(path, f"its {what} is at {address:#x}, which is no code")
    if area.offset is not None and _is_in_headers(elf, area.offset + address - area.start):
        raise Undecidable(f"{path}: its {what} is at {address:#x}, in the headers of the file")
    if any(start <= address < end for start, end in called.tables):
        raise Undecidable(f"{path}: its {what} is at {address:#x}, in a table of the file")
    is_written = area.flags & PF_W or elf.dynamic.has_text_relocations
    if is_written and written_places(elf).may_change(address, address + _BEGINNING):
        raise Undecidable(f"{path}: relocations write over its {what} at {address:#x}")
    if elf.machine == "x86_64":
        check_beginning(called, address, what, bind)


def _is_in_headers(elf: ElfFile, offset: int) -> bool:
    """Whether a file offset is in the ELF header or the program headers."""
    start, end = elf.image.header_table
    return offset < (64 if elf.image.is64 else 52) or start <= offset < end
