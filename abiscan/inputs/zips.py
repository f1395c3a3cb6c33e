"""The directory of a zip file (PKWARE APPNOTE.TXT 6.3.10, sections 4.3.7 to 4.3.16 and 4.5.3).

Python's zipfile would suffice for honest files. It creates an object of a kilobyte for every entry that a file declares
before the first one can be read, and takes 15 ms to import; here entries are bounded and yielded as they are read.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator

from msgspec import Struct

from abiscan.errors import UnreadableFile
from abiscan.inputs.artifact import Limits
from abiscan.inputs.byte_source import ByteSource
from abiscan.model.limits import MAX_MEMBER_NAMES

LOCAL_MAGIC, EMPTY_MAGIC = b"PK\x03\x04", b"PK\x05\x06"
_ENTRY_MAGIC, _END64_MAGIC, _LOCATOR_MAGIC = b"PK\x01\x02", b"PK\x06\x06", b"PK\x06\x07"
_ENTRY, _END, _END64, _LOCATOR, _LOCAL = 46, 22, 56, 20, 30
_WINDOW = 1 << 20


class ZipMember(Struct, frozen=True):
    """An entry of the central directory.

    Attributes:
        name: decoded as UTF-8 (surrogateescape), or as cp437 if it is not UTF-8 and the UTF-8 flag is off.
        flags, method, crc: raw values.
        packed, size: in bytes.
        offset: of the local header, from the start of the source.
        mode: Unix mode, 0 if the archive was not made on Unix.
        raw_name: the name before decoding.
    """

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    mode: int
    raw_name: bytes

    @property
    def encrypted(self) -> bool:
        """Flag bit 0 (traditional and strong encryption) or bit 13 (masked directory)."""
        return bool(self.flags & 0x2001)

    @property
    def is_directory(self) -> bool:
        """Whether the name ends in a slash."""
        return self.name.endswith("/")

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link in the form of Info-ZIP: its content is the target."""
        return stat.S_ISLNK(self.mode)


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def looks_like_zip(head: bytes) -> bool:
    """Whether a file starts like a zip file. Self-extracting ones start differently and are not recognised."""
    return head.startswith((LOCAL_MAGIC, EMPTY_MAGIC))


def members(source: ByteSource, display: str, limits: Limits) -> Iterator[ZipMember]:
    """The entries of the central directory, in order.

    Raises:
        UnreadableFile: there is no directory, it is damaged, or it has more entries than `limits.members`.
    """
    start, size, count = _directory(source, display)
    if count > limits.members:
        raise UnreadableFile(display, f"an archive of {count} members; no more than {limits.members} are followed")
    if size - count * _ENTRY > MAX_MEMBER_NAMES:
        raise UnreadableFile(display, f"names of more than {MAX_MEMBER_NAMES} bytes: not followed")
    data, base = b"", start
    at, end, seen = start, start + size, 0
    while at < end:
        if at - base + _ENTRY + 3 * 0xFFFF > len(data) and base + len(data) < end:
            data, base = source.read_at(at, min(_WINDOW, end - at)), at
        here = at - base
        if data[here : here + 4] != _ENTRY_MAGIC or here + _ENTRY > len(data):
            raise UnreadableFile(display, f"damaged zip file: entry {seen + 1} of its directory is not readable")
        seen += 1
        if seen > limits.members:
            raise UnreadableFile(display, f"an archive of more than {limits.members} members: not followed")
        # One integer from which the fields are shifted: converting each field took twice as long.
        fields = int.from_bytes(data[here : here + _ENTRY], "little")
        name_size, extra_size, comment_size = fields >> 224 & 0xFFFF, fields >> 240 & 0xFFFF, fields >> 256 & 0xFFFF
        name_at = here + _ENTRY
        raw = data[name_at : name_at + name_size]
        flags = fields >> 64 & 0xFFFF
        unpacked, packed, offset = fields >> 192 & 0xFFFFFFFF, fields >> 160 & 0xFFFFFFFF, fields >> 336
        if extra_size:
            extra = data[name_at + name_size : name_at + name_size + extra_size]
            unpacked, packed, offset = _zip64([unpacked, packed, offset], extra)
        made_on_unix = data[here + 5] == 3
        yield ZipMember(
            name=_decode(raw, bool(flags & 0x800)),
            flags=flags,
            method=fields >> 80 & 0xFFFF,
            crc=fields >> 128 & 0xFFFFFFFF,
            packed=packed,
            size=unpacked,
            offset=offset,
            mode=fields >> 320 & 0xFFFF if made_on_unix else 0,
            raw_name=raw,
        )
        at += _ENTRY + name_size + extra_size + comment_size
    if seen != count:
        raise UnreadableFile(display, f"damaged zip file: its directory has {seen} entries and declares {count}")


def _decode(raw: bytes, utf8: bool) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "surrogateescape") if utf8 else raw.decode("cp437")


def _zip64(sizes: list[int], extra: bytes) -> list[int]:
    """Replace values of 0xFFFFFFFF by those of the Zip64 extra field (4.5.3), which has only those, in this order."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = _number(extra, at, 2), _number(extra, at + 2, 2)
        if kind == 1:
            field = at + 4
            for index, value in enumerate(sizes):
                if value == 0xFFFFFFFF and field + 8 <= at + 4 + length:
                    sizes[index] = _number(extra, field, 8)
                    field += 8
            break
        at += 4 + length
    return sizes


def _end_record(tail: bytes) -> int | None:
    """The offset of the end record: the last one whose comment ends with the file, because a comment may contain
    anything; otherwise the last one, because something may have been appended."""
    last = None
    at = tail.rfind(EMPTY_MAGIC)
    while at >= 0:
        if at + _END <= len(tail):
            if at + _END + _number(tail, at + 20, 2) == len(tail):
                return at
            last = at if last is None else last
        at = tail.rfind(EMPTY_MAGIC, 0, at + len(EMPTY_MAGIC) - 1)
    return last


def _directory(source: ByteSource, display: str) -> tuple[int, int, int]:
    """(start, size, entries) of the central directory."""
    total = source.size
    tail_at = max(0, total - _END - 0xFFFF)
    tail = source.read_at(tail_at, total - tail_at)
    at = _end_record(tail)
    if at is None:
        raise UnreadableFile(display, "damaged zip file: central directory not found; download it again")
    count, size, offset = _number(tail, at + 10, 2), _number(tail, at + 12, 4), _number(tail, at + 16, 4)
    end = tail_at + at
    if _number(tail, at + 4, 2) not in (0, 0xFFFF):
        raise UnreadableFile(display, "one disk of a zip file in several: join them first")
    locator = source.read_at(end - _LOCATOR, _LOCATOR) if end >= _LOCATOR else b""
    if locator.startswith(_LOCATOR_MAGIC):
        # Normally right before its locator; the offset in the locator is wrong if there is a prefix.
        for place in (_number(locator, 8, 8), end - _LOCATOR - _END64):
            record = source.read_at(place, _END64) if 0 <= place < total else b""
            if record.startswith(_END64_MAGIC) and len(record) == _END64:
                count, size, offset = _number(record, 32, 8), _number(record, 40, 8), _number(record, 48, 8)
                end = place
                break
        else:
            raise UnreadableFile(display, "damaged zip file: its Zip64 directory record is missing")
    if offset + size != end:
        # In an archive that was cut off, the end record of an archive stored in it may be found last. Its values would
        # fit if the bytes before it counted as a prefix; therefore prefixes are not supported.
        raise UnreadableFile(display, "truncated or damaged zip file: no central directory at the recorded offset")
    return offset, size, count


def data_offset(source: ByteSource, member: ZipMember, display: str) -> int:
    """The offset of a member's data.

    Raises:
        UnreadableFile: its local header is missing or belongs to another member, or its data ends beyond the archive.
    """
    return data_start(source, member, display, ahead=0)[0]


def data_start(source: ByteSource, member: ZipMember, display: str, *, ahead: int) -> tuple[int, bytes]:
    """As `data_offset`, with the first bytes of the packed data: those that were read with the local header and `ahead`
    bytes more, possibly none.

    Raises:
        UnreadableFile: as `data_offset`.
    """
    fixed = _LOCAL + len(member.raw_name)
    header = source.read_at(member.offset, fixed + ahead)
    if len(header) < _LOCAL or not header.startswith(LOCAL_MAGIC):
        raise UnreadableFile(display, "damaged zip file: there is no member at the recorded offset")
    if header[_LOCAL:fixed] != member.raw_name:
        raise UnreadableFile(display, "damaged zip file: the member has another name there than in the directory")
    length = _LOCAL + _number(header, 26, 2) + _number(header, 28, 2)
    if member.offset + length + member.packed > source.size:
        raise UnreadableFile(display, "truncated or damaged zip file: the member ends beyond it")
    return member.offset + length, header[length : length + member.packed]
