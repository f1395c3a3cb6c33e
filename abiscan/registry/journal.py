"""The journal of a registry run: finished units that are in no part yet. A record has its length, its CRC-32 and the
outcome in MessagePack, with compressed tables; a truncated record is detected."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from abiscan.registry.scan_unit import Outcome
from abiscan.registry.table_rows import COLUMNS, Row

# Length and CRC-32 of the record.
_HEAD = 8


class Head(Struct, frozen=True, array_like=True):
    """The fields of an outcome that are needed without its rows."""

    path: str
    identity: str | None


Tables = dict[str, list[list[Any]]]
"""Table -> columns of an outcome, in the order of `COLUMNS`; without empty tables."""


class _Stored(Struct, frozen=True, array_like=True):
    """The form of an outcome in a journal. Begins with the fields of `Head`.

    Attributes:
        tables: `Tables` in MessagePack, compressed by zlib.
    """

    path: str
    identity: str | None
    tables: bytes

    @property
    def columns(self) -> Tables:
        return msgspec.msgpack.decode(zlib.decompress(self.tables), type=Tables)


class Record(Struct, frozen=True):
    """A serialized outcome. The worker serializes it, so that the collecting process need not parse it.

    Attributes:
        wheel: its row of `wheels`.
        raw: `_Stored` in MessagePack.
    """

    path: str
    identity: str | None
    wheel: Row
    raw: bytes

    @property
    def columns(self) -> Tables:
        """All rows."""
        return msgspec.msgpack.decode(self.raw, type=_Stored).columns


def serialize_outcome(outcome: Outcome) -> Record:
    """Serialize an outcome."""
    tables = {
        table: [[row.get(column) for row in rows] for column in COLUMNS[table]]
        for table, rows in outcome.rows.items()
        if rows
    }
    packed = zlib.compress(msgspec.msgpack.encode(tables), 1)
    raw = msgspec.msgpack.encode(_Stored(outcome.path, outcome.identity, packed))
    return Record(outcome.path, outcome.identity, outcome.rows["wheels"][0], raw)


def frame_record(record: Record) -> bytes:
    """A record in the form of a journal."""
    raw = record.raw
    return len(raw).to_bytes(4, "little") + zlib.crc32(raw).to_bytes(4, "little") + raw


def read_newest(path: str) -> Iterator[Tables]:
    """The tables of the outcomes of a journal. If a unit was scanned twice, the last one."""
    last = {head.path: end for head, end in read_records(path, Head)}
    for outcome, end in read_records(path, _Stored):
        if last[outcome.path] == end:
            yield outcome.columns


_Form = TypeVar("_Form")


def read_records(path: str, form: type[_Form]) -> Iterator[tuple[_Form, int]]:
    """The complete records of a journal, each with its end offset, up to the first incomplete one."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except FileNotFoundError:
        return
    decoder = msgspec.msgpack.Decoder(form)
    with file:
        while True:
            head = file.read(_HEAD)
            if len(head) < _HEAD:
                return
            raw = file.read(int.from_bytes(head[:4], "little"))
            if zlib.crc32(raw) != int.from_bytes(head[4:], "little"):
                return
            try:
                record = decoder.decode(raw)
            except msgspec.MsgspecError:
                return
            yield record, file.tell()
