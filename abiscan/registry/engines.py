"""Engines scan the units of a run. An engine is a function from tasks to outcomes, in any order. A task that hangs,
uses all memory or kills its worker affects only itself. All engines give the same outcomes."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import Struct

from abiscan.child_processes import safe_workers
from abiscan.errors import AbiscanError, UsageError, require_modules
from abiscan.registry.journal import Record, serialize_outcome
from abiscan.registry.scan_unit import Work, Worker, failed
from abiscan.registry.threads import interrupts_masked
from abiscan.registry.unit import Unit

# A worker is replaced after this many units, which limits leaks.
_UNITS_A_WORKER = 200
# Attempts for a unit whose worker dies: the machine may be the reason.
_ATTEMPTS = 2
# Tasks in flight per worker: one running, the others queued while a part is written.
_AHEAD = 8
# Seconds between two checks of a cluster.
_LOOK = 5.0
# Seconds after the limit of `Work.seconds` before an engine kills a worker.
_PATIENCE = 60.0


class LostCluster(AbiscanError):  # noqa: N818 - see abiscan.errors.UnreadableFile
    """The cluster of an engine ended before the run. Finished units are kept."""


class Task(Struct, frozen=True):
    """A unit to scan.

    Attributes:
        facts: stored facts of an earlier run; the unit is checked with these and not read.
    """

    unit: Unit
    facts: bytes | None = None


Engine = Callable[[Iterable[Task], Work], Iterator[Record]]


def engine_of(name: str, jobs: int) -> Engine:
    """The engine of `--engine NAME[:ADDRESS]`.

    Raises:
        UsageError: unknown engine, or its package is not installed.
    """
    kind, _, address = name.partition(":")
    if kind == "local" and not address:
        require_modules("this needs pebble, which is not installed: pip install 'abiscan[registry]'", "pebble")
        return partial(_local, jobs)
    if kind == "ray":
        require_modules("this needs ray, which is not installed: pip install 'abiscan[ray]'", "ray")
        return partial(_ray, address or None, jobs)
    raise UsageError(f"--engine {name}: local, ray or ray:ADDRESS")


_worker: list[Worker] = []


def _start(work: Work) -> None:
    import gc

    # The parent handles Ctrl-C and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(50_000)
    _worker[:] = [Worker(work)]


def _look(task: Task) -> Record:
    (worker,) = _worker
    return serialize_outcome(
        worker.scan(task.unit) if task.facts is None else worker.check_stored(task.unit, task.facts)
    )


def _look_for(task: Task, work: Work) -> Record:
    """The same in a worker that was not started for this run."""
    if not _worker or _worker[0].work != work:
        _worker[:] = [Worker(work)]
    return _look(task)


# --- processes of this machine ----------------------------------------------------------------------------------


def _local(jobs: int, tasks: Iterable[Task], work: Work) -> Iterator[Record]:
    with safe_workers():
        yield from _in_pool(jobs, tasks, work)


def _in_pool(jobs: int, tasks: Iterable[Task], work: Work) -> Iterator[Record]:
    import multiprocessing
    from concurrent.futures import FIRST_COMPLETED, Future, wait
    from multiprocessing import resource_tracker

    from pebble import ProcessExpired, ProcessPool

    resource_tracker.ensure_running()  # starting it later would unblock SIGINT
    # No fork: the pool has threads, and a child must not inherit a lock that one of them holds.
    pool = ProcessPool(
        jobs,
        max_tasks=_UNITS_A_WORKER,
        initializer=_start,
        initargs=(work,),
        context=multiprocessing.get_context("spawn"),
    )
    limit = work.seconds * 1.5 + _PATIENCE
    waiting = iter(tasks)
    under_way: dict[Future[Record], tuple[Task, int]] = {}

    def send(task: Task, attempt: int) -> None:
        # The pool starts its threads here. A worker must not get Ctrl-C before `_start` runs.
        with interrupts_masked():
            under_way[pool.schedule(_look, args=(task,), timeout=limit)] = task, attempt

    through = False
    try:
        while True:
            while len(under_way) < _AHEAD * jobs and (task := next(waiting, None)) is not None:
                send(task, 1)
            if not under_way:
                break
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                task, attempt = under_way.pop(future)
                try:
                    record = future.result()
                except TimeoutError:
                    record = _unread(task.unit, f"took longer than {limit:g} s: its worker was ended")
                except ProcessExpired as died:
                    if attempt < _ATTEMPTS:
                        send(task, attempt + 1)
                        continue
                    record = _unread(task.unit, _died(attempt, died.exitcode))
                except Exception as error:
                    record = _unread(task.unit, _broke(error))
                yield record
        through = True
    finally:
        pool.close() if through else pool.stop()
        pool.join()


def _unread(unit: Unit, why: str) -> Record:
    return serialize_outcome(failed(unit, why))


def _died(attempts: int, status: int | None = None) -> str:
    how = ""
    if status is not None:
        how = f" ({signal.Signals(-status).name})" if status < 0 else f" (exit status {status})"
    return f"the process that read it died{how}, {attempts} times: unread"


def _broke(error: BaseException) -> str:
    return f"abiscan itself failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"


# --- ray --------------------------------------------------------------------------------------------------------


def _ray(address: str | None, jobs: int, tasks: Iterable[Task], work: Work) -> Iterator[Record]:
    import ray

    here = not ray.is_initialized()
    if here:
        _connect(address, jobs)
    head = ray.get_runtime_context().gcs_address
    asked = ray.put(work)

    look = ray.remote(num_cpus=1, max_retries=_ATTEMPTS - 1, max_calls=_UNITS_A_WORKER)(_look_for)
    waiting = iter(tasks)
    under_way: dict[Any, Task] = {}
    lost = False
    try:
        while True:
            # Ray ends this process with a stack dump a minute after its cluster is gone.
            lost = not _answers(head)
            if lost:
                raise LostCluster(f"--engine ray: the cluster at {head} is gone")
            # Read each time: the size of a cluster changes.
            room = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while len(under_way) < room and (task := next(waiting, None)) is not None:
                under_way[look.remote(task, asked)] = task
            if not under_way:
                return
            ready, _rest = ray.wait(list(under_way), num_returns=1, timeout=_LOOK)
            for reference in ready:
                task = under_way.pop(reference)
                try:
                    record: Record = ray.get(reference)
                except ray.exceptions.OutOfMemoryError:
                    record = _unread(task.unit, "its node had no memory left for it: given up")
                except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError):
                    record = _unread(task.unit, _died(_ATTEMPTS))
                except ray.exceptions.RayError as error:
                    lost = not _answers(head)
                    if lost:
                        raise LostCluster(f"--engine ray: the cluster at {head} is gone") from error
                    record = _unread(task.unit, _broke(error))
                yield record
    finally:
        if not lost:
            for reference in under_way:
                ray.cancel(reference, force=True)
            if here:
                ray.shutdown()


def _connect(address: str | None, jobs: int) -> None:
    import ray

    if address and address.rpartition(":")[2].isdigit() and not _answers(address):
        # Ray would try for an hour.
        raise UsageError(f"--engine ray:{address}: no cluster listens there")
    found: dict[str, Any] = (
        {"address": address} if address else {"address": "local", "num_cpus": jobs, "include_dashboard": False}
    )
    ends = signal.getsignal(signal.SIGTERM)
    try:
        with safe_workers():
            ray.init(**found, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        raise UsageError(f"--engine ray: no cluster: {' '.join(str(error).split())[:300]}") from error
    # Ray's own handler prints the stacks of its threads.
    signal.signal(signal.SIGTERM, ends)


def _answers(address: str) -> bool:
    """Whether a server listens at `HOST:PORT`, with retries."""
    import socket

    host, _, port = address.rpartition(":")
    for pause in (0.5, 2.0, 0.0):
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
        except OSError:
            time.sleep(pause)
        else:
            return True
    return False
