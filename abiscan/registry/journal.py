"""The journal of a registry run: what is through and in no part yet. Each record is its length, its CRC-32 and the
outcome in MessagePack, so that one which the process died in is told."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec import Struct

from abiscan.registry.scan_unit import Outcome

# Length and CRC-32 of what follows.
_HEAD = 8


class Head(Struct, frozen=True):
    """What must be known of an outcome before its rows are wanted."""

    path: str
    identity: str | None


_Record = TypeVar("_Record")


def record_of(outcome: Outcome) -> bytes:
    """An outcome as it stands in a journal."""
    raw = msgspec.msgpack.encode(outcome)
    return len(raw).to_bytes(4, "little") + zlib.crc32(raw).to_bytes(4, "little") + raw


def newest(path: str) -> Iterator[Outcome]:
    """The outcomes of a journal; of a unit that is in it twice, which was scanned twice, the last one."""
    last = {head.path: end for head, end in records(path, Head)}
    for outcome, end in records(path, Outcome):
        if last[outcome.path] == end:
            yield outcome


def records(path: str, form: type[_Record]) -> Iterator[tuple[_Record, int]]:
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
