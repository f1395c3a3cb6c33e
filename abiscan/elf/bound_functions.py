"""Reads the names of functions on tensors that a pybind11 module binds from its code.

pybind11 stores the signature of each function as text, with `{torch.Tensor}` for the type of torch's caster (pybind11,
detail/descr.h; torch/csrc/utils/pybind.h). Code that binds a function loads the address of its name, then that of the
signature, in the same function or in one that it calls. Only x86-64: `lea r64, [rip + disp32]` (REX.W 8D /r, ModRM 00
reg 101) and `call rel32` (E8), Intel SDM volume 2. Without optimisation (`-O0`) nothing is inlined: the name is the
second argument of `module_::def`, in rsi (System V ABI for x86-64, 3.2.3), three calls above the signature."""

from __future__ import annotations

import functools
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from abiscan.elf.displacements import displacements, text_of
from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.functions_around import frame_starts
from abiscan.elf.mapping import PT_LOAD, Segment
from abiscan.elf.sections import read_only_data
from abiscan.model.limits import MAX_CODE

_SIGNATURE: Final = re.compile(rb"\([^\0]{0,2000}\) -> [^\0]{1,500}")
_TENSOR: Final = b"torch.Tensor"
_LOADS: Final = (
    (rb"\x48\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]", 3),
    (rb"\x4c\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]", 3),
)
_LOAD: Final = re.compile(b"|".join(pattern for pattern, _size in _LOADS))
_LOAD_RSI: Final = b"\x48\x8d\x35"
_CALL: Final = ((rb"\xe8", 1),)
_NAME: Final = re.compile(rb"[A-Za-z]\w{0,127}")
_DISPLACEMENT: Final = struct.Struct("<i").unpack_from
# Maximum number of signatures, names, bytes of code between a name and the signature, and calls between them.
_MAX_SIGNATURES, _MAX_NAMES, _APART, _DEPTH = 4096, 4096, 1024, 3
# Maximum number of loads around a signature.
_NEAR: Final = 32
# Bytes of code after a signature in which the name is loaded again, for the attribute of the module.
_BEHIND: Final = 256


def bound_functions(elf: DynamicFile) -> tuple[str, ...]:
    """The names, in the order of the code; empty if it does not show them.

    Raises:
        UnreadableFile: a table lies outside of the file.
    """
    segments = [each for each in elf.image.segments if each.type == PT_LOAD and each.file_size]
    code = [each for each in segments if each.flags & 1]
    if elf.machine != "x86_64" or sum(each.file_size for each in code) > MAX_CODE:
        return ()
    signatures = set(_signatures(elf, segments))
    if not signatures or len(signatures) > _MAX_SIGNATURES:
        return ()
    names: dict[str, None] = {}
    starts = frame_starts(elf)
    string_at = functools.partial(_string_at, elf, segments)
    for segment in code:
        text = text_of(elf, segment)
        wanted = {place for place, _end, _target in displacements(text, segment.address, _LOADS, signatures)}
        for calls in range(_DEPTH + 1):
            binders: set[int] = set()
            places = [segment.address + place for place in sorted(wanted)]
            before: tuple[int, str | None] = (0, None)
            for place, following in zip(places, [*places[1:], 1 << 64], strict=False):
                start = _start(starts, place)
                around = range(max(start or 0, place - _APART), min(following, place + _BEHIND))
                loads = list(_loads(text, segment.address, around))
                if calls < _DEPTH:
                    name = _name_before(loads, place, around, before, string_at)
                else:
                    since = range(max(around.start, before[0]), place)
                    name = _second_argument(loads, since, text, segment.address, string_at)
                before = place, name
                if name is not None:
                    names[name] = None
                elif start is not None:
                    binders.add(start)
            wanted = {place for place, _end, _target in displacements(text, segment.address, _CALL, binders)}
            if not wanted or len(names) > _MAX_NAMES:
                break
    return tuple(names)


def _signatures(elf: DynamicFile, segments: list[Segment]) -> Iterator[int]:
    """The addresses of the signatures of functions on tensors."""
    image = elf.image
    for start, end in image.places_with(_TENSOR, read_only_data(image)):
        if _SIGNATURE.fullmatch(image.buffer, start, end) is not None:
            yield from (s.address + start - s.offset for s in segments if 0 <= start - s.offset < s.file_size)


def _loads(text: memoryview, base: int, around: range) -> Iterator[tuple[int, int]]:
    """(address, target) of bytes that look like a load of an address."""
    for found in _LOAD.finditer(text, max(around.start - base, 0), min(around.stop - base + 2, len(text))):
        behind = found.end()
        if behind + 4 <= len(text):
            yield base + found.start(), base + behind + 4 + _DISPLACEMENT(text, behind)[0]


def _start(starts: list[int], address: int) -> int | None:
    at = bisect_right(starts, address) - 1
    return starts[at] if at >= 0 else None


def _name_before(
    loads: list[tuple[int, int]],
    place: int,
    around: range,
    before: tuple[int, str | None],
    string_at: Callable[[int], bytes | None],
) -> str | None:
    """The identifier whose address is loaded before a place and again after it; else the last one. After another bound
    function, the first one other than its name: documentation of one word follows the name.

    Args:
        around: addresses at which loads count.
        before: the previous place, and its name.
    """
    at = bisect_right(loads, (place, -1))
    again = {target for address, target in loads[at : at + _NEAR] if address < around.stop}
    found = []
    for address, target in reversed(loads[max(0, at - _NEAR) : at]):
        if address < max(around.start, before[0]):
            break
        text = string_at(target)
        if text is not None and _NAME.fullmatch(text) is not None and text.decode() != before[1]:
            if target in again:
                return text.decode()
            found.append(text.decode())
    if not found:
        return None
    return found[-1] if before[1] is not None and before[0] >= around.start else found[0]


def _second_argument(
    loads: list[tuple[int, int]], before: range, text: memoryview, base: int, string_at: Callable[[int], bytes | None]
) -> str | None:
    """The identifier whose address a call has in rsi; the last one before the call if it is copied there.

    Args:
        before: addresses before the call at which loads count.
        text: the code, at address `base`.
    """
    at = bisect_right(loads, (before.stop, -1))
    last = None
    for address, target in reversed(loads[max(0, at - _NEAR) : at]):
        if address < before.start:
            break
        found = string_at(target)
        if found is not None and _NAME.fullmatch(found) is not None:
            if bytes(text[address - base :][: len(_LOAD_RSI)]) == _LOAD_RSI:
                return found.decode()
            last = last or found.decode()
    return last


def _string_at(elf: DynamicFile, segments: list[Segment], address: int) -> bytes | None:
    for segment in segments:
        at = address - segment.address
        if 0 <= at < segment.file_size and not segment.flags & 2:
            end = segment.offset + segment.file_size
            return elf.image.string(segment.offset + at, min(end, segment.offset + at + 256)) or None
    return None
