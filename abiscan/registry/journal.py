"""The journal of a registry run: what is through and in no part yet. Each record is its length, its CRC-32 and the
outcome in MessagePack, so that one which the process died in is told."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from abiscan.registry.scan_unit import Outcome
from abiscan.registry.table_rows import COLUMNS, Row

# Length and CRC-32 of what follows.
_HEAD = 8


class Head(Struct, frozen=True, array_like=True):
    """What must be known of an outcome before its rows are wanted."""

    path: str
    identity: str | None


class Columns(Struct, frozen=True, array_like=True):
    """An outcome as it is written: begins as `Head` does.

    Attributes:
        tables: table -> its columns, in the order of `COLUMNS`; a table without a row is left out.
    """

    path: str
    identity: str | None
    tables: dict[str, list[list[Any]]]


class Record(Struct, frozen=True):
    """An outcome as a worker hands it on: written by the worker, so that the one process that keeps them all does not
    take each apart.

    Attributes:
        wheel: its row of `wheels`.
        raw: `Columns` in MessagePack.
    """

    path: str
    identity: str | None
    wheel: Row
    raw: bytes

    @property
    def columns(self) -> Columns:
        """All of its rows."""
        return msgspec.msgpack.decode(self.raw, type=Columns)


def record_of(outcome: Outcome) -> Record:
    """An outcome, written."""
    tables = {
        table: [[row.get(column) for row in rows] for column in COLUMNS[table]]
        for table, rows in outcome.rows.items()
        if rows
    }
    raw = msgspec.msgpack.encode(Columns(outcome.path, outcome.identity, tables))
    return Record(outcome.path, outcome.identity, outcome.rows["wheels"][0], raw)


def framed(record: Record) -> bytes:
    """A record as it stands in a journal."""
    raw = record.raw
    return len(raw).to_bytes(4, "little") + zlib.crc32(raw).to_bytes(4, "little") + raw


def newest(path: str) -> Iterator[Columns]:
    """The outcomes of a journal; of a unit that is in it twice, which was scanned twice, the last one."""
    last = {head.path: end for head, end in records(path, Head)}
    for outcome, end in records(path, Columns):
        if last[outcome.path] == end:
            yield outcome


_Form = TypeVar("_Form")


def records(path: str, form: type[_Form]) -> Iterator[tuple[_Form, int]]:
    """The whole records of a journal, each with where it ends, up to the first that is not whole: the process died
    while it wrote that."""
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
