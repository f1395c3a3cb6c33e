"""Where a registry run keeps what it found.

    DIR/run=ID/run.json            what was asked, of what; written when the run begins and when it is through
    DIR/run=ID/part=N/TABLE.parquet  some hundred units each; a part is there whole or not at all
    DIR/run=ID/journal             what is through and in no part yet; nobody reads it but the next run

A unit is in the journal as soon as it is through, so that a killed run loses what was under way and nothing else. A
part is written beside and renamed, all of its tables at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import IO, Any, TypeVar

import msgspec
from msgspec import Struct

from abiscan.errors import UnreadableFile, UsageError
from abiscan.registry.scan_unit import FACTS_FORMAT, Outcome
from abiscan.registry.table_rows import SCHEMA_VERSION, TABLES, Row

# A part has at most so many units, and their outcomes at most so many bytes in the journal.
_UNITS, _BYTES = 256, 48 << 20
# Facts are read so many rows at a time; so many groups of rows are kept for those whose turn is later.
_FACTS_GROUP, _GROUPS_KEPT = 16, 8
# Rows that are written at a time.
_GROUPS = {table.name: _FACTS_GROUP if table.name == "facts" else 10_000 for table in TABLES}
# Length and CRC-32 of what follows.
_HEAD = 8


class Asked(Struct, frozen=True):
    """What decides the rows of a unit beside its contents: a run with other ones is another run.

    Attributes:
        abiscan: version of the tool.
        index: hash over the release index and the layouts, the user's own included.
        torch: `--torch`; None for what each wheel declares.
        options: everything else that the command line or the configuration says, as text.
    """

    abiscan: str
    index: str
    torch: str | None
    options: str
    schema_version: int = SCHEMA_VERSION


class RunInfo(Struct, frozen=True):
    """The file run.json.

    Attributes:
        began, ended: UTC, ISO 8601; `ended` None where it was broken off or is under way.
        units: how many it has rows of, where it ended.
    """

    id: str
    asked: Asked
    began: str
    ended: str | None = None
    units: int | None = None


class Run:
    """One run's folder, open for adding."""

    def __init__(self, directory: str, info: RunInfo) -> None:
        self.info = info
        self.directory = directory
        self._made = [path for path in (os.path.dirname(directory), directory) if not os.path.exists(path)]
        os.makedirs(directory, exist_ok=True)
        self._lock = open(os.path.join(directory, "lock"), "w")  # noqa: SIM115 - held until `close`
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise UsageError(f"{directory}: another abiscan is writing there") from None
        for name in os.listdir(directory):
            if name.startswith(".part="):
                shutil.rmtree(os.path.join(directory, name), ignore_errors=True)
        self.done: dict[str, str | None] = {}
        for part in parts_of(directory):
            self.done.update(_done_in(part))
        self._waiting = self._journal_bytes = 0
        self._journal = self._open_journal()
        self._write_info(info)

    def has(self, path: str, identity: str | None) -> bool:
        """Whether the rows of a unit with these contents are there."""
        return identity is not None and self.done.get(path, "") == identity

    def add(self, outcome: Outcome) -> None:
        """Keep what was found of a unit.

        Raises:
            OSError: the disk is full, say; what was added before stays.
        """
        raw = msgspec.msgpack.encode(outcome)
        start = self._journal.tell()
        try:
            self._journal.write(len(raw).to_bytes(4, "little") + zlib.crc32(raw).to_bytes(4, "little") + raw)
            self._journal.flush()
        except OSError:
            with contextlib.suppress(OSError):
                self._journal.truncate(start)
            raise
        self.done[outcome.path] = outcome.identity
        self._waiting += 1
        self._journal_bytes += len(raw)
        if self._waiting >= _UNITS or self._journal_bytes >= _BYTES:
            self.write_part()

    def write_part(self) -> None:
        """Make a part of what the journal has.

        Raises:
            OSError: it cannot be written; nothing of it is left then, and the journal stays.
        """
        if not self._waiting:
            return
        number = max((int(part.rpartition("=")[2]) for part in parts_of(self.directory)), default=0) + 1
        place = os.path.join(self.directory, f"part={number:06}")
        beside = os.path.join(self.directory, f".part={number:06}")
        try:
            os.makedirs(beside)
            _write_tables(beside, os.path.join(self.directory, "journal"))
            _sync(beside)
            os.rename(beside, place)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
        _sync(self.directory)
        self._journal.seek(0)
        self._journal.truncate()
        self._waiting = self._journal_bytes = 0

    def finish(self, ended: str) -> None:
        """All units are through.

        Raises:
            OSError: the last part cannot be written.
        """
        self.write_part()
        self.info = msgspec.structs.replace(self.info, ended=ended, units=len(self.done))
        self._write_info(self.info)
        self._journal.close()
        os.unlink(os.path.join(self.directory, "journal"))

    def close(self) -> None:
        """Give the folder back; what is in the journal stays there for the next run."""
        self._journal.close()
        self._lock.close()

    def discard(self) -> None:
        """Nothing came of it: leave nothing that was not there before."""
        self.close()
        if self.directory in self._made and not self.done:
            shutil.rmtree(self.directory, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.rmdir(self._made[0])

    def _open_journal(self) -> IO[bytes]:
        path = os.path.join(self.directory, "journal")
        good = 0
        for outcome, end in _records(path, _Head):
            good = end
            if self.has(outcome.path, outcome.identity):
                continue  # a part was written, and the process died before it emptied the journal
            self.done[outcome.path] = outcome.identity
            self._waiting += 1
        self._journal_bytes = good
        file = open(path, "r+b" if os.path.exists(path) else "w+b")  # noqa: SIM115 - held until `close`
        if self._waiting == 0:
            good = 0
        file.truncate(good)
        file.seek(good)
        return file

    def _write_info(self, info: RunInfo) -> None:
        path = os.path.join(self.directory, "run.json")
        with open(f"{path}.new", "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(info)) + b"\n")
        os.replace(f"{path}.new", path)


def open_run(directory: str, asked: Asked, now: str, *, fresh: bool = False) -> Run:
    """The run to add to: the newest with the same question, else a new one.

    Args:
        now: UTC, `2026-01-31T12:34:56Z`.

    Raises:
        UsageError: the folder holds something else, or another process writes there.
    """
    same = [run for run in runs_of(directory) if run.asked == asked] if not fresh else []
    if same:
        return Run(os.path.join(directory, f"run={same[-1].id}"), msgspec.structs.replace(same[-1], ended=None))
    question = zlib.crc32(msgspec.json.encode(asked))
    stamp = now.replace("-", "").replace(":", "")
    info = RunInfo(f"{stamp}-{question:08x}", asked, now)
    return Run(os.path.join(directory, f"run={info.id}"), info)


def wheels_of(run_directory: str) -> dict[str, dict[str, Any]]:
    """Path -> a few columns of its row in `wheels`, the newest of each."""
    found = {}
    for part in parts_of(run_directory):
        for row in _rows(os.path.join(part, "wheels.parquet"), "path", "identity", "verdict", "gate"):
            found[row["path"]] = row
    return found


def all_wheels(directory: str) -> list[str]:
    """The paths of every unit that some run in a folder looked at, sorted."""
    found = set[str]()
    for run in runs_of(directory):
        found.update(wheels_of(os.path.join(directory, f"run={run.id}")))
    return sorted(found)


def runs_of(directory: str) -> list[RunInfo]:
    """The runs that are kept in a folder, oldest first.

    Raises:
        UsageError: it is a file, or a run of a later abiscan is in it.
    """
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{directory}: {(error.strerror or str(error)).lower()}") from error
    found = []
    for name in names:
        if name.startswith("run="):
            try:
                with open(os.path.join(directory, name, "run.json"), "rb") as file:
                    found.append(msgspec.json.decode(file.read(), type=RunInfo))
            except FileNotFoundError:
                continue
            except (OSError, msgspec.MsgspecError) as error:
                raise UsageError(f"{directory}/{name}/run.json: cannot be read: {error}") from error
    for run in found:
        if run.asked.schema_version > SCHEMA_VERSION:
            raise UsageError(
                f"{directory}: has tables of schema {run.asked.schema_version}, this abiscan knows {SCHEMA_VERSION}"
            )
    return sorted(found, key=lambda run: (run.began, run.id))


def runs_with_tables(directory: str) -> list[RunInfo]:
    """The runs in a folder of which something can be asked, oldest first.

    Raises:
        UsageError: there is none.
    """
    runs = runs_of(directory)
    found = [run for run in runs if parts_of(os.path.join(directory, f"run={run.id}"))]
    if not found and runs:
        raise UsageError(f"{directory}: no run in it has come to an end: abiscan scan TARGET... --resume {directory}")
    if not found:
        raise UsageError(f"{directory}: no run with tables in it (abiscan scan TARGET... -f parquet:{directory})")
    return found


def parts_of(run_directory: str) -> list[str]:
    """The parts of a run, oldest first."""
    try:
        names = sorted(name for name in os.listdir(run_directory) if name.startswith("part="))
    except FileNotFoundError:
        return []
    return [os.path.join(run_directory, name) for name in names]


class FactsOf:
    """What the runs in a folder stored of each unit, the newest of each; the facts themselves stay on the disk."""

    def __init__(self, directory: str) -> None:
        self._newest: dict[str, tuple[str | None, str, int]] = {}
        for run in runs_of(directory):
            for part in parts_of(os.path.join(directory, f"run={run.id}")):
                file = os.path.join(part, "facts.parquet")
                for row, about in enumerate(_rows(file, "path", "identity", "format")):
                    if about["format"] == FACTS_FORMAT:
                        self._newest[about["path"]] = about["identity"], file, row
        self._groups: OrderedDict[tuple[str, int], list[bytes]] = OrderedDict()
        self._files: OrderedDict[str, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self._newest)

    def paths(self) -> Iterator[tuple[str, str | None]]:
        """(path, identity) of every unit, in the order in which its facts lie on the disk."""
        for path, (identity, _file, _row) in sorted(self._newest.items(), key=lambda item: item[1][1:]):
            yield path, identity

    def of(self, path: str, identity: str | None) -> bytes | None:
        """The facts of a unit with these contents; None where there are none."""
        known = self._newest.get(path)
        if known is None or identity is None or known[0] != identity:
            return None
        _identity, file, row = known
        return self._group(file, row // _FACTS_GROUP)[row % _FACTS_GROUP]

    def _group(self, file: str, number: int) -> list[bytes]:
        from pyarrow import parquet

        found = self._groups.get((file, number))
        if found is None:
            with _whole(file):
                opened = self._files.get(file) or parquet.ParquetFile(file)
                self._files[file] = opened
                found = opened.read_row_group(number, columns=["facts"]).column(0).to_pylist()
            self._groups[file, number] = found
            while len(self._groups) > _GROUPS_KEPT:
                self._groups.popitem(last=False)
            while len(self._files) > _GROUPS_KEPT:
                self._files.popitem(last=False)
        return found


# --- parts ------------------------------------------------------------------------------------------------------


def schemas() -> dict[str, Any]:
    """Table -> its schema, as pyarrow has it."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "integer": pa.int64(),
        "real": pa.float64(),
        "truth": pa.bool_(),
        "bytes": pa.large_binary(),
    }
    about = {b"abiscan.schema_version": str(SCHEMA_VERSION).encode()}
    return {
        table.name: pa.schema([(column.name, types[column.type]) for column in table.columns], metadata=about)
        for table in TABLES
    }


def _write_tables(directory: str, journal: str) -> None:
    """The tables of what the journal has, group of rows by group of rows: no more is held."""
    import pyarrow as pa
    from pyarrow import parquet

    # A unit that is in the journal twice was scanned twice: the last one counts.
    last = {head.path: end for head, end in _records(journal, _Head)}
    made = schemas()
    paths = {name: os.path.join(directory, f"{name}.parquet") for name in made}
    with contextlib.ExitStack() as open_files:
        writers = {
            name: open_files.enter_context(parquet.ParquetWriter(paths[name], schema, compression="zstd"))
            for name, schema in made.items()
        }
        waiting: dict[str, list[Row]] = {name: [] for name in made}

        def write(name: str) -> None:
            rows, waiting[name] = waiting[name], []
            columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in made[name]]
            writers[name].write_table(pa.Table.from_arrays(columns, schema=made[name]))

        for outcome, end in _records(journal, Outcome):
            if last[outcome.path] != end:
                continue
            for name, most in _GROUPS.items():
                for row in outcome.rows.get(name, ()):
                    waiting[name].append(row)
                    if len(waiting[name]) >= most:
                        write(name)
        for name in made:
            if waiting[name]:
                write(name)
    for path in paths.values():
        _sync(path)


def _done_in(part: str) -> dict[str, str | None]:
    return {row["path"]: row["identity"] for row in _rows(os.path.join(part, "wheels.parquet"), "path", "identity")}


def check_tables(run_directory: str) -> None:
    """Look at every table of a run for damage that its end shows.

    Raises:
        UnreadableFile: one is damaged.
    """
    from pyarrow import parquet

    for part in parts_of(run_directory):
        for table in TABLES:
            file = os.path.join(part, f"{table.name}.parquet")
            with _whole(file):
                parquet.ParquetFile(file).close()


def _rows(file: str, *columns: str) -> list[Row]:
    from pyarrow import parquet

    with _whole(file):
        found: list[Row] = parquet.read_table(file, columns=list(columns), partitioning=None).to_pylist()
        return found


@contextlib.contextmanager
def _whole(file: str) -> Iterator[None]:
    """Whatever pyarrow says of a table that is not what was written is an error in a line.

    Raises:
        UnreadableFile: it is damaged, or gone.
    """
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, ValueError, KeyError) as error:
        why = " ".join(str(error).split())[:200]
        part = os.path.dirname(file)
        raise UnreadableFile(
            file, f"a damaged table ({why}); remove {part} and go on with scan --resume: its wheels are looked at again"
        ) from error


class _Head(Struct, frozen=True):
    """What must be known of an outcome before its rows are wanted."""

    path: str
    identity: str | None


_Record = TypeVar("_Record")


def _records(path: str, form: type[_Record]) -> Iterator[tuple[_Record, int]]:
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


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
