"""Stores the results of a registry run.

- DIR/run=ID/run.json: options of the run; written at its beginning and end.
- DIR/run=ID/part=N/TABLE.parquet: some thousand units each; a part is complete or does not exist.
- DIR/run=ID/journal-N: finished units that are in no part yet; it becomes part N. Only the next run reads it.

A unit is in the journal as soon as it is finished, so a killed run loses only active units. All tables of a part are
written under a temporary name and renamed together."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import zlib
from typing import IO

import msgspec

from abiscan.errors import UsageError
from abiscan.registry.journal import Head, Record, frame_record, read_newest, read_records
from abiscan.registry.run_folder import RunInfo, RunKey, part_number, parts_of, runs_of
from abiscan.registry.table_files import new_part, rows_of, write_tables

# Maximum units of a part, and bytes of their outcomes in the journal: a run over a million wheels has a thousand parts.
_UNITS, _BYTES = 1024, 96 << 20


class Run:
    """The directory of one run, opened for writing."""

    def __init__(self, directory: str, info: RunInfo) -> None:
        self.info = info
        self.directory = directory
        self._made = [path for path in (os.path.dirname(directory), directory) if not os.path.exists(path)]
        os.makedirs(directory, exist_ok=True)
        self._lock = lock_run(directory)
        for name in os.listdir(directory):
            if name.startswith(".part="):
                shutil.rmtree(os.path.join(directory, name), ignore_errors=True)
        self.done: dict[str, str | None] = {}
        for part in parts_of(directory):
            rows = rows_of(os.path.join(part, "wheels.parquet"), "path", "identity")
            self.done.update((row["path"], row["identity"]) for row in rows)
        self._number = max(map(part_number, parts_of(directory)), default=0) + 1
        self._waiting = self._journal_bytes = 0
        self._journal = self._open_journal()
        self._write_info(info)

    def has(self, path: str, identity: str | None) -> bool:
        """Whether a unit with these contents has rows."""
        return identity is not None and self.done.get(path, "") == identity

    def forget_errors(self) -> frozenset[str]:
        """Mark every wheel with errors as not done. Return their paths."""
        with_errors = {
            row["path"]: bool(row["errors"])
            for part in parts_of(self.directory)
            for row in rows_of(os.path.join(part, "wheels.parquet"), "path", "errors")
        }
        found = frozenset(path for path, has in with_errors.items() if has)
        self.done.update(dict.fromkeys(found))
        return found

    def add(self, record: Record) -> None:
        """Store the outcome of a unit.

        Raises:
            OSError: such as a full disk; earlier outcomes are kept.
        """
        written = frame_record(record)
        start = self._journal.tell()
        try:
            self._journal.write(written)
            self._journal.flush()
        except OSError:
            with contextlib.suppress(OSError):
                self._journal.truncate(start)
            raise
        self.done[record.path] = record.identity
        self._waiting += 1
        self._journal_bytes += len(written)
        if self._waiting >= _UNITS or self._journal_bytes >= _BYTES:
            self.write_part()

    def write_part(self) -> None:
        """Write the journal as a part.

        Raises:
            OSError: it cannot be written; the incomplete part is removed, the journal is kept.
        """
        if not self._waiting:
            return
        with new_part(self.directory, self._number) as beside:
            write_tables(beside, read_newest(self._journal_path()))
        # If the process dies here, the journal of a finished part stays: the next run removes it.
        self._journal.close()
        os.unlink(self._journal_path())
        self._number += 1
        self._waiting = self._journal_bytes = 0
        self._journal = self._open_journal()

    def finish(self, ended: str) -> None:
        """Finish the run.

        Raises:
            OSError: the last part cannot be written.
        """
        self.write_part()
        self.info = msgspec.structs.replace(self.info, ended=ended, units=len(self.done))
        self._write_info(self.info)
        self._journal.close()
        os.unlink(self._journal_path())

    def close(self) -> None:
        """Close the directory. The journal is kept for the next run."""
        self._journal.close()
        self._lock.close()

    def discard(self) -> None:
        """Remove everything that the run created."""
        self.close()
        if self.directory in self._made and not self.done:
            shutil.rmtree(self.directory, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.rmdir(self._made[0])

    def _journal_path(self) -> str:
        return os.path.join(self.directory, f"journal-{self._number:06}")

    def _open_journal(self) -> IO[bytes]:
        path = self._journal_path()
        for name in os.listdir(self.directory):
            if name.startswith("journal") and name != os.path.basename(path):
                os.unlink(os.path.join(self.directory, name))  # its part exists
        good = 0
        for head, end in read_records(path, Head):
            good = end
            self.done[head.path] = head.identity
            self._waiting += 1
        self._journal_bytes = good
        file = open(path, "r+b" if os.path.exists(path) else "w+b")  # noqa: SIM115 - held until `close`
        file.truncate(good)
        file.seek(good)
        return file

    def _write_info(self, info: RunInfo) -> None:
        path = os.path.join(self.directory, "run.json")
        with open(f"{path}.new", "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(info)) + b"\n")
        os.replace(f"{path}.new", path)


def lock_run(directory: str) -> IO[str]:
    """The lock of a run directory, held until it is closed.

    Raises:
        UsageError: another process is writing there.
    """
    lock = open(os.path.join(directory, "lock"), "w")  # noqa: SIM115 - held by the caller
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise UsageError(f"{directory}: another abiscan is writing there") from None
    return lock


def open_run(directory: str, asked: RunKey, now: str, *, fresh: bool = False) -> Run:
    """The run to add to: the newest with the same options, else a new one.

    Args:
        now: UTC, `2026-01-31T12:34:56.789Z`.

    Raises:
        UsageError: the directory contains other files, or another process is writing there.
    """
    same = [run for run in runs_of(directory) if run.asked == asked] if not fresh else []
    if same:
        return Run(same[-1].place(directory), msgspec.structs.replace(same[-1], ended=None))
    number = max((run.number for run in runs_of(directory)), default=0) + 1
    question = zlib.crc32(msgspec.json.encode(asked))
    stamp = now.replace("-", "").replace(":", "")
    info = RunInfo(f"{stamp}-{question:08x}", asked, now, number=number)
    return Run(info.place(directory), info)
