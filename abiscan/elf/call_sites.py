"""Finds where code calls an import, without a disassembler.

A call reaches an import in one of three ways. Each leaves bytes that can be searched for and checked by arithmetic:

- through a stub of the procedure linkage table, which jumps to the address in the import's GOT slot;
- through the GOT slot itself (`-fno-plt`);
- by its address, loaded from the GOT slot and called later.

A hit needs 32 bits of displacement that match one of a few addresses, so false hits are one in billions; nothing else
is decoded. x86-64: Intel SDM volume 2, CALL, JMP, MOV; AArch64: Arm ARM, B, BL, ADRP, LDR. Other machines have no
results.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from abiscan.elf.displacements import CHUNK, displacements, text_of
from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.functions_around import Functions
from abiscan.elf.mapping import PT_LOAD, Segment
from abiscan.elf.relocations import GOT, references
from abiscan.elf.sections import named_sections, section
from abiscan.model.facts import CallSite
from abiscan.model.limits import MAX_CODE, MAX_SITES


def find_call_sites(
    elf: DynamicFile, names: Collection[str], lines: bool = False, most: int = MAX_SITES, also: Collection[str] = ()
) -> dict[str, tuple[CallSite, ...]]:
    """Find where the code uses each import, in address order; names without a site are left out.

    Args:
        names: mangled names of imports of the file.
        lines: whether to look up source lines in DWARF, if the file has it.
        most: maximum number of sites of each import, the first ones.
        also: imports with up to MAX_SITES sites, found in the same search of the code; source lines are not looked up.

    Raises:
        UnreadableFile: a table lies outside of the file.
    """
    got_types = GOT.get(elf.machine)
    code = [s for s in elf.image.segments if s.type == PT_LOAD and s.flags & 1 and s.file_size]
    if got_types is None or not elf.image.little_endian or sum(s.file_size for s in code) > MAX_CODE:
        return {}
    symbols = {each.index: each.name for each in elf.imports if each.name in names or each.name in also}
    slots: dict[int, str] = {}
    lazy: set[int] = set()
    for each in references(elf.relocations, symbols):
        if each.type in got_types:
            slots[each.place] = symbols[each.symbol]
            if each.type == got_types[1]:
                lazy.add(each.place)
    if not slots:
        return {}
    search = _x86_64 if elf.machine == "x86_64" else _aarch64
    limits = {name: MAX_SITES if name in also else most for name in slots.values()}
    hits: dict[str, dict[int, bool]] = {}
    for name, address, called in search(elf, code, slots, lazy, limits):
        places = hits.setdefault(name, {})
        if len(places) < MAX_SITES:
            places[address] = called or places.get(address, False)
    sites = {name: sorted(places)[: limits[name]] for name, places in sorted(hits.items())}
    addresses = sorted({address for places in sites.values() for address in places})
    functions = Functions(elf, addresses)
    at_line: dict[int, tuple[str, int]] = {}
    if lines and section(elf.image, b".debug_line") is not None:
        from abiscan.elf.source_lines import source_lines

        at_line = source_lines(
            elf, sorted({each for name, places in sites.items() if name in names for each in places})
        )
    return {
        name: tuple(
            CallSite(
                address,
                _offset(code, address),
                *functions.around(address),
                hits[name][address],
                *at_line.get(address, (None, None)),
            )
            for address in places
        )
        for name, places in sites.items()
    }


def _offset(code: list[Segment], address: int) -> int:
    return next(s.offset + address - s.address for s in code if s.address <= address < s.address + s.file_size)


# --- x86-64 -----------------------------------------------------------------------------------------------------

# Memory operand [rip + disp32] of call (FF /2), jmp (FF /4) and mov r64 (REX.W 8B /r); call and jmp rel32.
# Each begins with one fixed byte: the regular expression engine searches for one byte ten times as fast as for a set.
_BY_SLOT = (
    (rb"\xff[\x15\x25]", 2),
    (rb"\x48\x8b[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]", 3),
    (rb"\x4c\x8b[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]", 3),
)
_DIRECT = ((rb"\xe8", 1), (rb"\xe9", 1))
_CALL_OR_JUMP: Final = b"\xe8\xe9"


def _x86_64(
    elf: DynamicFile, code: list[Segment], slots: dict[int, str], lazy: Collection[int], limits: Mapping[str, int]
) -> Iterator[tuple[str, int, bool]]:
    stubs: dict[int, str] = {}
    stub_at: dict[int, int] = {}
    direct: list[tuple[str, int, bool]] = []
    plt = _plt_ranges(elf)

    def is_in_table(address: int) -> bool:
        return any(start <= address < end for start, end in plt)

    for text, base, start, slot in _slot_reads(elf, code, slots, lazy, plt):
        name = slots[slot]
        if text[start] == 0xFF and text[start + 1] == 0x25:
            # A stub and a tail call of -fno-plt have the same bytes; direct calls lead only to a stub.
            stub_at[base + start] = stub = base + _stub_start(text, start)
            stubs[stub] = stubs[base + start] = name
        direct.append((name, base + start, text[start] == 0xFF))
    called: set[int] = set()
    # Whether a jump outside of the tables is a stub is known when all code was searched for calls of it.
    is_bounded = all(is_in_table(stub) for stub in stubs)
    left = {name: limits[name] for name in stubs.values()} if is_bounded else {"": 1}
    for segment in code if stubs else ():
        for start, stub in _direct_calls(elf, segment, stubs, left if is_bounded else None):
            called.add(stub)
            name = stubs[stub]
            yield name, segment.address + start, True
            if left.get(name, 0) > 1:
                left[name] -= 1
            else:
                left.pop(name, None)
        if not left:
            break
    for name, address, is_call in direct:
        if address in stubs and (is_in_table(address) or not called.isdisjoint((address, stub_at[address]))):
            continue
        yield name, address, is_call


def _direct_calls(
    elf: DynamicFile, segment: Segment, stubs: Mapping[int, str], left: Mapping[str, int] | None
) -> Iterator[tuple[int, int]]:
    """(offset in the segment, stub) of direct calls of stubs, in address order.

    Args:
        left: the names whose calls are still wanted, which the caller changes; None for all.
    """
    text, offset = text_of(elf, segment), segment.offset

    def release(start: int, end: int) -> None:
        elf.image.release(offset + start, offset + end)

    at, size = 0, CHUNK
    while at < len(text):
        part = range(at, min(at + size, len(text)))
        # Most names have calls at the beginning; fewer targets have a more selective pattern.
        wanted = {stub for stub, name in stubs.items() if left is None or name in left}
        calls: Iterable[tuple[int, int]]
        if len(wanted) <= _WINDOWED_TARGETS and len(wanted) * len(part) <= _WINDOWED_BYTES:
            windowed = [_windowed_calls(text, segment.address, stub, part) for stub in wanted]
            calls = windowed[0] if len(windowed) == 1 else sorted(call for calls in windowed for call in calls)
        else:
            found = displacements(text, segment.address, _DIRECT, wanted, part, release=release)
            calls = ((start, stub) for start, _end, stub in found)
        for start, stub in calls:
            yield start, stub
            if left is not None and not left:
                return
        at, size = part.stop, 4 * size


# Targets, and bytes of code times targets, up to which calls are searched in windows: 2 ms for each target in a MiB.
# Patterns take as long as two targets, and 2 ms to compile.
_WINDOWED_TARGETS: Final = 2
_WINDOWED_BYTES: Final = 2 * CHUNK


def _windowed_calls(text: memoryview, base: int, target: int, part: range) -> Iterator[tuple[int, int]]:
    """(offset, target) of the direct calls and jumps to one target at the offsets in `part` of the text, in order.

    In each window of 256 bytes, the upper three bytes of their displacement are the same."""
    first = part.start
    code = bytes(text[first : part.stop + 4])
    find = code.find
    # The displacement of an instruction at offset 0 of the code; 8388608 windows reach the last that a call can have.
    distance = target - base - first - 5
    for upper in range(min(distance >> 8, (1 << 23) - 1), max(distance - len(part) + 1 >> 8, -1 << 23) - 1, -1):
        end = distance - (upper << 8) + 5
        wanted = (upper & 0xFFFFFF).to_bytes(3, "little")
        at = find(wanted, max(end - 258, 2), end)
        while at >= 0:
            if code[at - 1] == distance - at + 2 & 0xFF and code[at - 2] in _CALL_OR_JUMP:
                yield first + at - 2, target
            at = find(wanted, at + 1, end)


def _slot_reads(
    elf: DynamicFile, code: list[Segment], slots: Collection[int], lazy: Collection[int], plt: list[tuple[int, int]]
) -> list[tuple[memoryview, int, int, int]]:
    """(text, its address, offset in it, slot) of each instruction that reads one of the slots."""
    texts = [(text_of(elf, segment), segment.address) for segment in code]
    # Only the stub reads a lazily bound slot: linkers give code that loads the address a slot of its own.
    found = [
        (text, base, start, slot)
        for text, base in texts
        for first, last in plt
        if (part := range(max(first - base, 0), min(last - base, len(text))))
        for start, _end, slot in displacements(text, base, _BY_SLOT[:1], lazy, part)
    ]
    others = set(slots) - {slot for _text, _base, _start, slot in found}
    found += [
        (text, base, start, slot)
        for text, base in texts
        for start, _end, slot in displacements(text, base, _BY_SLOT, others)
    ]
    return sorted(found, key=lambda each: each[1] + each[2])


def _stub_start(text: memoryview, jump: int) -> int:
    """The first byte of the stub: with CET, `endbr64` and a `bnd` prefix precede the jump; in mold's lazy stubs,
    `mov $index, %r11d` does."""
    if jump and text[jump - 1] == 0xF2:
        jump -= 1
    elif jump >= 6 and bytes(text[jump - 6 : jump - 4]) == b"\x41\xbb":
        jump -= 6
    if jump >= 4 and bytes(text[jump - 4 : jump]) == b"\xf3\x0f\x1e\xfa":
        jump -= 4
    return jump


def _plt_ranges(elf: DynamicFile) -> list[tuple[int, int]]:
    sections = named_sections(elf.image)
    return [(each.address, each.address + each.size) for name, each in sections if name.startswith(b".plt")]


# --- AArch64 ----------------------------------------------------------------------------------------------------

_BRANCH_TOP = re.compile(rb"[\x14-\x17\x94-\x97]")
_ADRP_TOP = re.compile(rb"[\x90\xb0\xd0\xf0]")
# Maximum number of instructions between an ADRP and its LDR; compilers schedule others in between.
_PAIR_DISTANCE = 8


def _aarch64(
    elf: DynamicFile, code: list[Segment], slots: dict[int, str], _lazy: Collection[int], _limits: Mapping[str, int]
) -> Iterator[tuple[str, int, bool]]:
    word = struct.Struct("<I").unpack_from
    pages = {slot & ~0xFFF for slot in slots}
    stubs: dict[int, str] = {}
    loads: list[tuple[str, int]] = []
    tops: list[tuple[Segment, memoryview, bytes]] = []
    for segment in code:
        text = text_of(elf, segment)
        tops.append((segment, text, bytes(text[3::4])))
    for segment, text, top in tops:
        base = segment.address
        for match in _ADRP_TOP.finditer(top):
            at = match.start() * 4
            adrp = word(text, at)[0]
            immediate = (adrp >> 5 & 0x7FFFF) << 2 | adrp >> 29 & 3
            if immediate & 1 << 20:
                immediate -= 1 << 21
            page = (base + at & ~0xFFF) + (immediate << 12)
            if page not in pages:
                continue
            for later in range(at + 4, min(at + 4 * _PAIR_DISTANCE, len(text) - 3), 4):
                ldr = word(text, later)[0]
                # LDR Xt, [Xn, #imm]: 1111 1001 01 imm12 Rn Rt
                if ldr >> 22 == 0x3E5 and ldr >> 5 & 31 == adrp & 31:
                    name = slots.get(page + (ldr >> 10 & 0xFFF) * 8)
                    if name is not None:
                        if adrp & 31 == 16 and ldr & 31 == 17:
                            stubs[base + at] = name
                        else:
                            loads.append((name, base + later))
                    break
    for segment, text, top in tops if stubs else ():
        base = segment.address
        for match in _BRANCH_TOP.finditer(top):
            at = match.start() * 4
            branch = word(text, at)[0]
            distance = (branch & 0x3FFFFFF) - (branch << 1 & 0x4000000)
            name = stubs.get(base + at + distance * 4)
            if name is not None:
                yield name, base + at, True
    for name, address in loads:
        yield name, address, False
