"""Every engine gives the same results, and a unit that hangs, uses too much memory or kills its worker affects only
itself."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from abiscan.errors import UsageError
from abiscan.inputs.byte_source import FileBytes
from abiscan.registry.engines import Engine, Task, engine_of
from abiscan.registry.journal import Record
from abiscan.registry.scan_unit import Worker
from abiscan.registry.unit import Unit, local_unit
from tests.registry.kit import rows_in, told, wheel, work

pytestmark = pytest.mark.registry


class Slow(Unit, frozen=True):
    """Waits like for a server, where Python can be interrupted."""

    def open(self, *, whole: bool = False) -> FileBytes:
        signal.pause()
        raise AssertionError("nobody wakes it")


class Hanging(Unit, frozen=True):
    """Hangs in C with the interpreter's lock: no Python signal handler runs."""

    def open(self, *, whole: bool = False) -> FileBytes:
        lock, libc = ctypes.create_string_buffer(128), ctypes.PyDLL(None)
        while True:
            libc.pthread_mutex_lock(lock)  # the second call waits for ever, and no signal interrupts it


class Hungry(Unit, frozen=True):
    """Allocates far more memory than allowed."""

    def open(self, *, whole: bool = False) -> FileBytes:
        return FileBytes(str(len(bytearray(6 << 30))), "")


class Deadly(Unit, frozen=True):
    """Kills its worker, like a machine without memory, each time or only the first time."""

    marker: str = ""

    def open(self, *, whole: bool = False) -> Any:
        if not os.path.exists(self.marker):
            if self.marker:
                Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().open(whole=whole)


class Mistaken(Unit, frozen=True):
    """Simulates a defect of abiscan."""

    def open(self, *, whole: bool = False) -> FileBytes:
        raise ZeroDivisionError("a mistake")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


@pytest.fixture(params=["local", "ray"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "ray":
        request.getfixturevalue("cluster")
    return engine_of(request.param, 2)


@pytest.fixture
def wheels(tmp_path: Path) -> list[Unit]:
    for number, fixture in enumerate(("good-extension.so", "old-string-extension.so", "missing-library.so") * 2):
        wheel(tmp_path, f"demo{number}", fixture, "abi3-module.abi3.so" if number % 2 else "stable-abi.so")
    (tmp_path / "damaged-1.0-py3-none-any.whl").write_bytes(b"PK\x03\x04 and no more")
    return [local_unit(path.name, str(tmp_path)) for path in sorted(tmp_path.glob("*.whl"))]


def found_by(engine: Engine, units: list[Unit], **given: Any) -> dict[str, Record]:
    records = list(engine((Task(unit) for unit in units), work(**given)))
    assert len(records) == len(units)
    return {record.path: record for record in records}


def error_of(record: Record) -> str:
    rows = rows_in(record)
    (row,), (error,) = rows["wheels"], rows["errors"]
    assert (row["verdict"], row["gate"], row["identity"]) == ("unreadable", "incomplete", None)
    return str(error["message"])


def test_an_engine_finds_what_one_process_finds(engine: Engine, wheels: list[Unit]) -> None:
    worker = Worker(work())
    found = found_by(engine, wheels)
    for unit in wheels:
        assert told(found[unit.display]) == told(worker.scan(unit))
        assert rows_in(found[unit.display])["facts"] == worker.scan(unit).rows["facts"]


def test_what_hangs_or_eats_memory_or_breaks_costs_itself_alone(engine: Engine, wheels: list[Unit]) -> None:
    bad = [Slow("slow", "x"), Hungry("hungry", "x"), Mistaken("mistaken", "x")]
    found = found_by(engine, [*bad, *wheels], seconds=2.0, memory=3 << 30)
    assert error_of(found["slow"]) == "took longer than 2 s: given up"
    assert error_of(found["hungry"]) == "took more than 3072 MiB of memory: given up"
    assert error_of(found["mistaken"]) == "abiscan itself failed: ZeroDivisionError: a mistake"
    assert sum(record.wheel["verdict"] == "loads" for record in found.values()) >= 2


def test_what_kills_its_worker_costs_itself_alone(engine: Engine, wheels: list[Unit]) -> None:
    found = found_by(engine, [Deadly("deadly", "x"), *wheels])
    assert "died" in error_of(found["deadly"])
    assert "2 times" in error_of(found["deadly"])
    assert told(found[wheels[1].display]) == told(Worker(work()).scan(wheels[1]))


def test_a_hang_in_c_ends_with_its_worker(engine: Engine, wheels: list[Unit]) -> None:
    found = found_by(engine, [Hanging("hanging", "x"), *wheels[:2]], seconds=1.0)
    assert "died" in error_of(found["hanging"])


def test_a_worker_that_is_killed_loses_nothing(engine: Engine, wheels: list[Unit], tmp_path: Path) -> None:
    one = wheels[1]
    killed = Deadly(one.display, one.identity, one.path, marker=str(tmp_path / "killed"))
    found = found_by(engine, [killed, *wheels[2:]])
    assert (tmp_path / "killed").exists()
    assert told(found[one.display]) == told(Worker(work()).scan(one))


@pytest.mark.parametrize("name", ["spark", "local:2", ""])
def test_an_engine_that_does_not_exist_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="--engine"):
        engine_of(name, 1)


def test_no_more_than_a_few_tasks_are_under_way(engine: Engine, wheels: list[Unit]) -> None:
    taken = 0

    def tasks() -> Iterator[Task]:
        nonlocal taken
        for number in range(40):
            taken += 1
            yield Task(Unit(f"absent{number}", None, path=f"/absent/{number}"))

    outcomes = engine(tasks(), work())
    next(outcomes)
    assert taken <= 16
    assert sum(1 for _ in outcomes) == 39


def test_a_cluster_that_is_not_there_is_refused_at_once() -> None:
    """Ray itself tries for an hour. Port 1 (tcpmux) is closed."""
    import ray

    ray.shutdown()
    with pytest.raises(UsageError, match="no cluster listens there"):
        next(engine_of("ray:127.0.0.1:1", 1)([], work()))
