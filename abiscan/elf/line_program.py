"""A unit's line number program, read from .debug_line: versions 2 to 5 (DWARF 5, section 6.2).

Every count is checked against the bytes that follow, so the time is bounded by the size of the unit.

pyelftools is not used for this, since it makes an object for each row: all programs of libpython 3.13 (3.4 MB, 1.85
million rows) take 1.1 s of CPU time here and 20.7 s with it (pyelftools 0.33, CPython 3.11).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from abiscan.elf.abbreviations import DamagedEntries, initial_length, text_end, uleb

# Directory and file entries of version 5: DW_LNCT_* (section 6.2.4.1).
_PATH, _DIRECTORY = 1, 2
# Allowed DW_FORM_* (section 7.5.6): those of fixed size, and `data16`, which holds an MD5.
_NUMBERS = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8}
_MD5, _STRING, _BLOCK, _UDATA, _STRP, _LINE_STRP = 0x1E, 0x08, 0x09, 0x0F, 0x0E, 0x1F


class DamagedLines(Exception):  # noqa: N818 - describes the program, and ends the search
    """The line program or its header is damaged."""


class LineSections(Struct, frozen=True):
    """Sections of line programs.

    Attributes:
        programs: .debug_line.
        strings, line_strings: .debug_str and .debug_line_str.
        order: byte order of the file.
    """

    programs: bytes | memoryview
    strings: bytes | memoryview
    line_strings: bytes | memoryview
    order: Literal["little", "big"]


def find_lines(
    sections: LineSections, offset: int, addresses: Sequence[int], found: dict[int, tuple[str, int]]
) -> None:
    """Add (file as given to the compiler, line from 1) for the addresses that the unit at `offset` has rows for and
    that `found` lacks.

    Args:
        addresses: sorted.

    Raises:
        DamagedLines: the program is damaged; `found` has the addresses before that point.
    """
    try:
        header = _Header(sections, offset)
        _run(header, addresses, found)
    except (IndexError, DamagedEntries) as error:
        raise DamagedLines(str(error)) from error


def unit_size(sections: LineSections, offset: int) -> int:
    """Size of the unit at `offset` in bytes, from its header."""
    length, first, _word = initial_length(sections.programs, offset, sections.order)
    return first + length - offset


def _text_at(data: bytes | memoryview, at: int) -> bytes:
    """The zero-terminated text at an offset; empty if it does not end."""
    end = text_end(data, at)
    return bytes(data[at:end]) if end >= 0 else b""


class _Header:
    def __init__(self, sections: LineSections, offset: int) -> None:
        self._sections = sections
        end = min(offset + unit_size(sections, offset), len(sections.programs))
        self.data = data = bytes(sections.programs[offset:end])
        _length, self._at, self._word = initial_length(data, 0, sections.order)
        self.version = self._number(2)
        if not 2 <= self.version <= 5:
            raise DamagedLines(f"version {self.version}")
        if self.version == 5:
            self._number(2)  # sizes of an address and of a segment selector
        self.program = self._number(self._word)
        self.program += self._at
        self.step = self._number(1)
        if self.version >= 4 and self._number(1) != 1:
            raise DamagedLines("operations of a VLIW machine")
        self._number(1)  # default_is_stmt
        base = self._number(1)
        self.line_base = base - 256 if base > 127 else base
        self.line_range = self._number(1)
        if not self.line_range:
            raise DamagedLines("a line_range of 0")
        self.operands = (0, *self._bytes(max(self._number(1), 1) - 1))
        self._directories: list[bytes] = []
        self._files: list[tuple[bytes, int]] = []
        if self.version == 5:
            self._directories = [name for name, _directory in self._entries()]
            self._files = self._entries()
        else:
            while name := self._string():
                self._directories.append(name)
            while name := self._string():
                self.add_file(name, self._uleb())
                self._uleb(), self._uleb()  # time and size

    def add_file(self, name: bytes, directory: int) -> None:
        self._files.append((name, directory))

    def file_name(self, number: int) -> str:
        """Version 5 counts files and directories from 0, earlier ones from 1; directory 0 is that of the
        compilation."""
        first = 0 if self.version == 5 else 1
        if not first <= number < len(self._files) + first:
            return "?"
        raw, directory = self._files[number - first]
        name = raw.decode("utf-8", "replace")
        if not name.startswith("/") and first <= directory < len(self._directories) + first:
            folder = self._directories[directory - first].decode("utf-8", "replace")
            return f"{folder}/{name}" if folder not in ("", ".") else name
        return name

    def _entries(self) -> list[tuple[bytes, int]]:
        formats = [(self._uleb(), self._uleb()) for _ in range(self._number(1))]
        count = self._uleb()
        # Each entry has at least one byte, or no content.
        if count > len(self.data) - self._at or (count and not formats):
            raise DamagedLines(f"{count} directories or files")
        found = []
        for _ in range(count):
            name, directory = b"", 0
            for content, form in formats:
                value = self._value(form)
                if content == _PATH and isinstance(value, bytes):
                    name = value
                elif content == _DIRECTORY and isinstance(value, int):
                    directory = value
            found.append((name, directory))
        return found

    def _value(self, form: int) -> bytes | int:
        if form in _NUMBERS:
            return self._number(_NUMBERS[form])
        if form == _UDATA:
            return self._uleb()
        if form == _STRING:
            return self._string()
        if form in (_STRP, _LINE_STRP):
            at = self._number(self._word)
            return _text_at(self._sections.strings if form == _STRP else self._sections.line_strings, at)
        if form == _MD5:
            return self._bytes(16)
        if form == _BLOCK:
            return self._bytes(self._uleb())
        raise DamagedLines(f"an entry of form {form:#x}")  # no producer writes another

    def _bytes(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        if self._at > len(self.data):
            raise DamagedLines("its header ends outside of it")
        return self.data[start : self._at]

    def _number(self, size: int) -> int:
        return int.from_bytes(self._bytes(size), self._sections.order)

    def _string(self) -> bytes:
        end = self.data.find(b"\0", self._at)
        if end < 0:
            raise DamagedLines("a name without an end")
        found = self.data[self._at : end]
        self._at = end + 1
        return found

    def _uleb(self) -> int:
        value, self._at = uleb(self.data, self._at)
        return value


def _run(header: _Header, addresses: Sequence[int], found: dict[int, tuple[str, int]]) -> None:
    """Run the state machine (section 6.2.5) with the registers that are needed. A row applies from its address to that
    of the next row of its sequence."""
    data, order, wide = header.data, header._sections.order, len(addresses)
    step, line_base, line_range, operands = header.step, header.line_base, header.line_range, header.operands
    opcode_base = len(operands)
    beyond = 1 << 64
    at, end = header.program, len(data)
    address, file, line = 0, 1, 1
    in_row, row_address, row_file, row_line = False, 0, 0, 0
    wanted, goal = 0, beyond
    while at < end:
        opcode = data[at]
        at += 1
        is_row = is_last = False
        if opcode >= opcode_base:
            adjusted = opcode - opcode_base
            address += adjusted // line_range * step
            line += line_base + adjusted % line_range
            is_row = True
        elif opcode == 0:
            size, at = uleb(data, at)
            following = at + size
            if not size or following > end:
                raise DamagedLines("an operation that ends outside of it")
            match data[at]:
                case 1:  # DW_LNE_end_sequence
                    is_row = is_last = True
                case 2:  # DW_LNE_set_address
                    address = int.from_bytes(data[at + 1 : following], order)
                case 3:  # DW_LNE_define_file
                    stop = data.find(b"\0", at + 1, following)
                    if stop > 0:
                        header.add_file(data[at + 1 : stop], uleb(data, stop + 1)[0])
            at = following
        elif opcode == 1:  # DW_LNS_copy
            is_row = True
        elif opcode == 2:  # DW_LNS_advance_pc
            value, at = uleb(data, at)
            address += value * step
        elif opcode == 3:  # DW_LNS_advance_line
            value, at = _sleb(data, at)
            line += value
        elif opcode == 4:  # DW_LNS_set_file
            file, at = uleb(data, at)
        elif opcode == 8:  # DW_LNS_const_add_pc
            address += (255 - opcode_base) // line_range * step
        elif opcode == 9:  # DW_LNS_fixed_advance_pc
            address += int.from_bytes(data[at : at + 2], order)
            at += 2
        else:
            for _ in range(operands[opcode]):
                at = uleb(data, at)[1]
        if not is_row:
            continue
        if in_row and address >= row_address:
            # Addresses may exceed any real one.
            while goal < address and wanted < wide:
                if goal not in found:
                    found[goal] = (header.file_name(row_file), row_line)
                wanted += 1
                goal = addresses[wanted] if wanted < wide else beyond
        else:
            wanted = bisect_left(addresses, address)
            goal = addresses[wanted] if wanted < wide else beyond
        in_row, row_address, row_file, row_line = True, address, file, line
        if is_last:
            in_row, address, file, line = False, 0, 1, 1


def _sleb(data: bytes, at: int) -> tuple[int, int]:
    value, following = uleb(data, at)
    bits = 7 * (following - at)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), following
