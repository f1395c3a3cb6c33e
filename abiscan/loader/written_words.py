"""Contents of words in a file's memory after relocation: `_dl_relocate_object` in elf/dl-reloc.c of glibc.

The order is that of the loader: the bytes of the file, DT_RELR, then each table; within a table, indirect functions
last. Only the requested words are followed.
"""

from __future__ import annotations

import enum
import itertools
from bisect import bisect_left, bisect_right

from msgspec import Struct

from abiscan.elf import ElfFile
from abiscan.elf.mapping import Area, area_at
from abiscan.elf.relocations import RelocatedWord
from abiscan.elf.symbols import STT_GNU_IFUNC
from abiscan.loader.bound_symbols import Binder, Definition
from abiscan.loader.failure import Undecidable
from abiscan.model.limits import MAX_WRITTEN_WORDS


class WordEffect(enum.Enum):
    """The value that a relocation type writes."""

    NOTHING = enum.auto()
    RELATIVE = enum.auto()
    SYMBOL_AND_ADDEND = enum.auto()
    SYMBOL = enum.auto()
    SIZE = enum.auto()
    # Four bytes.
    HALF = enum.auto()
    HALF_SIZE = enum.auto()
    COPY = enum.auto()
    RESOLVER = enum.auto()
    TLS_MODULE = enum.auto()
    TLS_OFFSET = enum.auto()
    STATIC_TLS = enum.auto()
    TLS_DESCRIPTOR = enum.auto()


# By machine: x86-64 psABI, table 4.10, and sysdeps/x86_64/dl-machine.h; AArch64 ELF ABI 5.7, and
# sysdeps/aarch64/dl-machine.h, whose GLOB_DAT and JUMP_SLOT have the addend added.
EFFECTS: dict[str, dict[int, WordEffect]] = {
    "x86_64": {
        0: WordEffect.NOTHING,
        1: WordEffect.SYMBOL_AND_ADDEND,
        2: WordEffect.HALF,
        5: WordEffect.COPY,
        6: WordEffect.SYMBOL,
        7: WordEffect.SYMBOL,
        8: WordEffect.RELATIVE,
        10: WordEffect.HALF,
        16: WordEffect.TLS_MODULE,
        17: WordEffect.TLS_OFFSET,
        18: WordEffect.STATIC_TLS,
        32: WordEffect.HALF_SIZE,
        33: WordEffect.SIZE,
        36: WordEffect.TLS_DESCRIPTOR,
        37: WordEffect.RESOLVER,
        38: WordEffect.RELATIVE,
    },
    "aarch64": {
        0: WordEffect.NOTHING,
        256: WordEffect.NOTHING,
        257: WordEffect.SYMBOL_AND_ADDEND,
        258: WordEffect.HALF,
        1024: WordEffect.COPY,
        1025: WordEffect.SYMBOL_AND_ADDEND,
        1026: WordEffect.SYMBOL_AND_ADDEND,
        1027: WordEffect.RELATIVE,
        1028: WordEffect.TLS_MODULE,
        1029: WordEffect.TLS_OFFSET,
        1030: WordEffect.STATIC_TLS,
        1031: WordEffect.TLS_DESCRIPTOR,
        1032: WordEffect.RESOLVER,
    },
    # Only the types that need static TLS.
    "i386": {14: WordEffect.STATIC_TLS, 37: WordEffect.STATIC_TLS, 41: WordEffect.TLS_DESCRIPTOR},
    "riscv64": {11: WordEffect.STATIC_TLS},
    "loongarch64": {11: WordEffect.STATIC_TLS},
    "ppc64le": {73: WordEffect.STATIC_TLS},
    "s390x": {56: WordEffect.STATIC_TLS},
}
# A TLS offset below this cannot be an address: no static TLS block is larger.
_SMALL = 1 << 16
_WRAP = 1 << 64
# Addresses below this can be added to a load address without a carry into bit 48, in all address space layouts.
_SMALL_FILE = 1 << 40


class Word(Struct, frozen=True):
    """The contents of a word.

    Attributes:
        number: modulo 2**64.
        elf: the file whose load address is added to it; None for a plain number.
        times: how often the load address is added.
        unknown: why it is unknown, as a predicate of "the word"; empty if it is known.
    """

    number: int = 0
    elf: ElfFile | None = None
    times: int = 0
    unknown: str = ""


def is_followed(machine: str) -> bool:
    """Whether all relocation types of a machine are in the table."""
    return WordEffect.RELATIVE in EFFECTS.get(machine, {}).values()


def types_with(machine: str, *effects: WordEffect) -> frozenset[int]:
    """The relocation types of a machine with one of these effects."""
    return frozenset(kind for kind, effect in EFFECTS.get(machine, {}).items() if effect in effects)


def final_words(elf: ElfFile, start: int, end: int, bind: Binder) -> dict[int, Word]:
    """Words from `start` up to `end` that relocations write, by address. Types that are not in the machine's table make
    a word unknown.

    Raises:
        UnreadableFile: a table of relocations lies outside of the file.
        Undecidable: they are written too often.
    """
    width = 8 if elf.image.is64 else 4
    written = _Words(elf, start, end, width)
    for place in elf.packed.places:
        if start - width < place < end:
            written.add_base(place)
    effects = EFFECTS.get(elf.machine, {})
    copies = types_with(elf.machine, WordEffect.COPY)
    for table in elf.relocations:
        # A descriptor takes two words, a copy any number.
        found = table.within(start - 2 * width + 1, end, copies)
        found = [each for each in found if each.type not in copies or _may_write_into(elf, each, start, end)]
        resolved = [each for each in found if effects.get(each.type) is WordEffect.RESOLVER]
        for each in [each for each in found if effects.get(each.type) is not WordEffect.RESOLVER] + resolved:
            _apply(written, each, effects.get(each.type), bind)
    return written.words()


def _may_write_into(elf: ElfFile, copy: RelocatedWord, start: int, end: int) -> bool:
    """Whether a copy relocation may write into an address range; its exact size is looked up later."""
    return copy.place < end and copy.place + elf.symbols.raw(copy.symbol).size > start


def initial_word(elf: ElfFile, place: int) -> Word:
    """The contents of a word in the file, before any relocation."""
    width = 8 if elf.image.is64 else 4
    data = memory_bytes(elf, elf.image.areas, place, width)
    return Word(int.from_bytes(data, "little" if elf.image.little_endian else "big"))


def memory_bytes(elf: ElfFile, areas: tuple[Area, ...], address: int, size: int) -> bytes:
    """Up to `size` bytes of memory from an address, as filled from the file and with zeros; fewer if the memory of the
    file ends before."""
    area = area_at(areas, address)
    if area is not None and area.offset is not None and address + size <= area.end:
        first = area.offset + address - area.start
        return elf.image[first : first + size].ljust(size, b"\0")
    found = bytearray()
    while area is not None and len(found) < size:
        at = address + len(found)
        length = min(area.end - at, size - len(found))
        offset = None if area.offset is None else area.offset + at - area.start
        data = b"" if offset is None else elf.image[offset : offset + length]
        found += data.ljust(length, b"\0")
        area = area_at(areas, at + length)
    return bytes(found)


class WrittenPlaces:
    """The addresses to which the relocations of a file write."""

    def __init__(self, elf: ElfFile) -> None:
        nothing, copies, descriptors = (
            types_with(elf.machine, effect)
            for effect in (WordEffect.NOTHING, WordEffect.COPY, WordEffect.TLS_DESCRIPTOR)
        )
        self._places, copied = [*elf.packed.places], []
        has_descriptors = False
        for table in elf.relocations:
            if table.types.isdisjoint(nothing | copies):
                self._places += table.places()
            else:
                pairs = zip(table.places(), table.infos(), strict=True)
                self._places += [place for place, info in pairs if info & table.mask not in nothing | copies]
            copied += table.of_types(copies & table.types)
            has_descriptors |= not table.types.isdisjoint(descriptors)
        self._places.sort()
        self._most = (8 if elf.image.is64 else 4) * (2 if has_descriptors else 1)
        copied.sort(key=lambda each: each.place)
        self._copies = [each.place for each in copied]
        ends = (each.place + elf.symbols.raw(each.symbol).size for each in copied)
        self._ends = list(itertools.accumulate(ends, max))

    def may_change(self, start: int, end: int) -> bool:
        """Whether a relocation may write into an address range."""
        if bisect_right(self._places, start - self._most) < bisect_left(self._places, end):
            return True
        before = bisect_left(self._copies, end)
        return before > 0 and self._ends[before - 1] > start


def written_places(elf: ElfFile) -> WrittenPlaces:
    """The addresses to which the relocations of a file write, sorted once for all calls."""
    places: WrittenPlaces | None = elf.kept.get(written_places)
    if places is None:
        places = elf.kept[written_places] = WrittenPlaces(elf)
    return places


class _Words:
    """The words written so far: whole words, and partly written words as (value, index of the byte in it) for each
    byte."""

    def __init__(self, elf: ElfFile, start: int, end: int, width: int) -> None:
        self.elf, self.start, self.end, self.width = elf, start, end, width
        self._whole: dict[int, Word] = {}
        self._parts: dict[int, list[tuple[Word, int]]] = {}
        self._steps = 0

    def write(self, place: int, size: int, word: Word) -> None:
        """Write the first `size` bytes of a value."""
        width = self.width
        if size == width and (place - self.start) % width == 0:
            if self.start <= place < self.end:
                self._parts.pop(place, None)
                self._whole[place] = word
            return
        first, last = max(place, self.start), min(place + size, self.end)
        slots = range(first - (first - self.start) % width, last, width)
        self._steps += len(slots)
        if self._steps > MAX_WRITTEN_WORDS:
            what = f"{self.elf.path}: relocations write more than {MAX_WRITTEN_WORDS} words over a table of functions"
            raise Undecidable(what)
        for slot in slots:
            parts = self._parts.get(slot)
            if parts is None:
                before = self._whole.pop(slot, None) or initial_word(self.elf, slot)
                parts = self._parts[slot] = [(before, at) for at in range(width)]
            for at in range(max(first, slot), min(last, slot + width)):
                parts[at - slot] = (word, at - place)

    def add_base(self, place: int) -> None:
        """Add the load address to the present value."""
        if (place - self.start) % self.width == 0:
            old = self._at(place)
            self.write(place, self.width, Word(old.number, self.elf, old.times + 1, old.unknown))
        else:
            self.write(place, self.width, Word(unknown="is relocated in part"))

    def words(self) -> dict[int, Word]:
        """The words of which at least one byte was written."""
        return self._whole | {place: self._at(place) for place in self._parts}

    def _at(self, place: int) -> Word:
        parts = self._parts.get(place)
        if parts is None:
            return self._whole.get(place) or initial_word(self.elf, place)
        is_little = self.elf.image.little_endian
        known = [_byte(word, index, is_little, self.width) for word, index in parts]
        if None not in known:
            return Word(int.from_bytes(bytes(byte or 0 for byte in known), "little" if is_little else "big"))
        unsure = {id(word): word for (word, _), byte in zip(parts, known, strict=True) if byte is None}
        whole = next(iter(unsure.values()))
        for at, ((word, index), byte) in enumerate(zip(parts, known, strict=True)):
            # A byte with the same value in both words does not matter.
            if (word is not whole or index != at) and (byte is None or byte != _byte(whole, at, is_little, self.width)):
                unknown = next((word.unknown for word in unsure.values() if word.unknown), "")
                return Word(unknown=unknown or "is overwritten in part by another relocation")
        return whole


def _byte(word: Word, index: int, little_endian: bool, width: int) -> int | None:
    """One byte of a value; None if it is unknown or depends on the load address."""
    if word.unknown or index >= width:
        return None
    place = index if little_endian else width - 1 - index
    if word.times == 0 or place == 0:
        return word.number >> 8 * place & 0xFF
    # A load address is page-aligned and has 47 bits.
    return 0 if word.times == 1 and place >= 6 and word.number < _SMALL_FILE else None


def _apply(written: _Words, each: RelocatedWord, effect: WordEffect | None, bind: Binder) -> None:
    width = written.width
    if effect is WordEffect.NOTHING:
        return
    if effect is WordEffect.RELATIVE:
        written.write(each.place, width, Word(each.addend, written.elf, 1))
        return
    if effect is None or effect is WordEffect.RESOLVER:
        what = "is filled by a relocation type that is not followed" if effect is None else "is chosen by a resolver"
        written.write(each.place, width, Word(unknown=what))
        return
    found = bind(each.symbol, each.type)
    match effect:
        case WordEffect.COPY:
            size = written.elf.symbols.raw(each.symbol).size
            if found.symbol is not None:
                size = min(size, found.symbol.size)
            if not found.is_absent and size:
                _copy(written, each.place, size, found)
        case WordEffect.SYMBOL | WordEffect.SYMBOL_AND_ADDEND:
            addend = each.addend if effect is WordEffect.SYMBOL_AND_ADDEND else 0
            written.write(each.place, width, _address(found, addend))
        case WordEffect.SIZE:
            size = 0 if found.symbol is None else found.symbol.size
            known = "" if found.symbol is not None else "is the size of an unknown symbol"
            written.write(each.place, width, Word((size + each.addend) % _WRAP, unknown=known))
        case WordEffect.HALF | WordEffect.HALF_SIZE:
            written.write(each.place, 4, Word())
        case WordEffect.TLS_MODULE:
            if not found.is_absent:
                written.write(each.place, width, Word(1))
        case WordEffect.TLS_OFFSET | WordEffect.STATIC_TLS:
            if not found.is_absent:
                written.write(each.place, width, _offset(found, each.addend))
        case WordEffect.TLS_DESCRIPTOR:
            written.write(each.place, 2 * width, Word(unknown="is part of a TLS descriptor"))


def _copy(written: _Words, place: int, size: int, found: Definition) -> None:
    """Copy a variable. Bytes of this file that no relocation writes are known."""
    elf, width = written.elf, written.width
    source = None if found.symbol is None or found.elf is not elf or found.is_absolute else found.symbol.value
    if source is None or written_places(elf).may_change(source, source + size):
        written.write(place, size, Word(unknown="is copied from a variable with an unknown value"))
        return
    first = max(written.start - place, 0) // width * width
    for at in range(first, min(size, written.end - place), width):
        written.write(place + at, min(width, size - at), initial_word(elf, source + at))


def _address(found: Definition, addend: int) -> Word:
    if found.is_absent:
        return Word(addend % _WRAP)
    if found.symbol is None or found.elf is None:
        return Word(unknown="is the address of a symbol that this file does not define")
    if found.symbol.type == STT_GNU_IFUNC and found.symbol.section:
        return Word(unknown="is chosen by a resolver")
    number = (found.symbol.value + addend) % _WRAP
    return Word(number) if found.is_absolute else Word(number, found.elf, 1)


def _offset(found: Definition, addend: int) -> Word:
    if found.symbol is None:
        return Word(unknown="is a TLS offset")
    number = (found.symbol.value + addend) % _WRAP
    # The amount that static TLS subtracts is small.
    return Word(number) if number < _SMALL else Word(unknown="is a TLS offset")
