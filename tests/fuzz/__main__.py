"""`python -m tests.fuzz`: mutated inputs in many processes; findings as lines of JSON.

A finding is an exception that is not meant for users, more than 2 s of processor time of a usual machine
(`tests/processor_time.py`), more than 512 MiB more memory than at the start, a dead process, or (differential) a result
that differs from the loader's. Exit status 1 if there is one, except for differential ones that accept nothing wrong.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.fuzz.kinds import KINDS
from tests.processor_time import slowness

DIFFERENTIAL = "differential"
SECONDS_PER_INPUT = 2.0
MEMORY_PER_PROCESS = 512 << 20
# A process is restarted after this many inputs, so that leaks do not add up.
_PER_PROCESS = 2000
# Seconds without a new input after which a process counts as hung in code that no signal interrupts; and before its
# first one, while it reads the seeds and runs the loader on them.
_STUCK, _STUCK_AT_START = 60.0, 600.0
_STARTING = -1
# Kinds of differential outcomes that are findings.
_FINDS = ("passed", "dies", "refused", "words")
# Findings that the file's own code may cause, or that accept nothing wrong: the exit status stays 0.
_TO_LOOK_AT = ("dies", "refused", "words")


class _Hang(BaseException):
    """The time of one input is over."""


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, help="stop after so long (default: 30, or none where --count is given)"
    )
    parser.add_argument("--count", type=int, help="stop after so many inputs, all kinds together")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--kinds", default=",".join(KINDS), help=f"of {', '.join((*KINDS, DIFFERENTIAL))}; comma-separated"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers: the same seed, the same inputs")
    parser.add_argument("--seeds", help="a directory of more shared objects to start from (elf)")
    parser.add_argument("--save", help="a directory for the inputs of findings")
    parser.add_argument("--replay", metavar="KIND:NUMBER", help="run one input in this process")
    parser.add_argument(
        "--minimise", action="store_true", help="with --replay of a differential input: make it smaller"
    )
    return parser.parse_args()


def rng_of(seed: int, kind: str, number: int) -> Random:
    """The random number generator of one input."""
    return Random(f"{seed}/{kind}/{number}")


# Runs an input; for the differential kind it returns both results.
_Run = Callable[[], dict[str, Any] | None]


def _maker(kind: str, seeds: str | None) -> Callable[[Random], tuple[bytes, _Run]]:
    """A function from random numbers to an input and the function that runs it."""
    if kind == DIFFERENTIAL:
        from tests.fuzz.differential import start

        both = start()

        def make(rng: Random) -> tuple[bytes, _Run]:
            seed, data = both.make(rng)

            def compare() -> dict[str, Any]:
                said = both.run(seed, data)
                return {"sort": said.sort, "file": os.path.basename(seed.directory), **said._asdict()}

            return data, compare

        return make
    from tests.fuzz.kinds import kind_of

    made = kind_of(kind, seeds)

    def plain(rng: Random) -> tuple[bytes, _Run]:
        data = made.make(rng)
        return data, lambda: made.run(data)

    return plain


class _Board:
    """The current input of each process, readable after it died: kind, number, time."""

    # Each field is one word, which is written at once.
    _ROW = struct.Struct("<qqd")

    def __init__(self, jobs: int) -> None:
        self._memory = mmap.mmap(-1, self._ROW.size * jobs)

    def write(self, job: int, kind: int, number: int) -> None:
        # Not pack_into, which writes zeros first: a reader might see a time of 0.
        start = job * self._ROW.size
        self._memory[start : start + self._ROW.size] = self._ROW.pack(kind, number, time.monotonic())

    def read(self, job: int) -> tuple[int, int, float]:
        kind, number, at = self._ROW.unpack_from(self._memory, job * self._ROW.size)
        return kind, number, at


class _Plan(NamedTuple):
    """Shared by all processes of a run.

    Attributes:
        out: file descriptor for results.
        end: when to stop, by the monotonic clock.
    """

    args: argparse.Namespace
    kinds: list[str]
    board: _Board
    out: int
    end: float


def _work(job: int, first: int, plan: _Plan) -> None:
    """In its own process: run inputs first, first + jobs, ... up to a limit, and write the results to `out`."""
    from abiscan.errors import AbiscanError

    args, kinds, board, out, end = plan
    tempfile.tempdir = tempfile.mkdtemp(prefix=f"job{job}-")

    def over(_number: int, _frame: object) -> None:
        taken = time.process_time() - started
        left = SECONDS_PER_INPUT * slowness() - taken
        if left <= 0:
            raise _Hang
        signal.setitimer(signal.ITIMER_PROF, left)

    signal.signal(signal.SIGPROF, over)
    makers = {kind: _maker(kind, args.seeds) for kind in kinds}
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_PER_PROCESS, resource.RLIM_INFINITY))
    counts: Counter[str] = Counter()
    slowest: dict[str, float] = {}
    following = first
    for done, number in enumerate(range(first, first + _PER_PROCESS * args.jobs, args.jobs)):
        following = number
        if time.monotonic() > end or (args.count is not None and number >= args.count):
            following = -1
            break
        if done % 100 == 0:
            _line(out, {"counts": counts, "slowest": slowest})
            counts.clear()
        kind = kinds[number // args.jobs % len(kinds)]
        board.write(job, kinds.index(kind), number)
        finding: dict[str, Any] | None = None
        said: dict[str, Any] | None = None
        data = b""
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_INPUT)
        try:
            data, run = makers[kind](rng_of(args.seed, kind, number))
            said = run()
        except AbiscanError:
            counts[f"{kind} refused"] += 1
        except _Hang:
            finding = {"what": "hang", "text": "".join(traceback.format_exc(limit=-6))}
        except MemoryError:
            finding = {"what": "memory", "text": "".join(traceback.format_exc(limit=-6))}
        except BaseException as error:  # any other exception is a finding
            finding = {"what": type(error).__name__, "text": "".join(traceback.format_exc(limit=-8))}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        slowest[kind] = max(slowest.get(kind, 0.0), time.process_time() - started)
        counts[kind] += 1
        if said is not None:
            counts[f"{kind} {said['sort']}"] += 1
            counts[f"{kind} loader {said['loader']}"] += 1
            if said["sort"] in _FINDS:
                finding = {"what": said["sort"], **said}
        if finding is not None:
            which = {"kind": kind, "number": number, "seed": args.seed, "crc32": zlib.crc32(data)}
            _line(out, {"finding": which | finding})
            if args.save:
                _save(which, data, args.save)
        following = number + args.jobs
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _line(out, {"job": job, "next": following, "counts": counts, "slowest": slowest, "peak_kib": peak})


def _line(out: int, value: dict[str, Any]) -> None:
    os.write(out, json.dumps(value).encode() + b"\n")


def _spawn(job: int, first: int, plan: _Plan) -> int:
    plan.board.write(job, _STARTING, first)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _work(job, first, plan)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def main() -> int:
    """Run, and print findings and a summary as lines of JSON."""
    args = _parse()
    kinds = [kind for kind in args.kinds.split(",") if kind]
    unknown = set(kinds) - {*KINDS, DIFFERENTIAL}
    if unknown:
        sys.exit(f"no kind is called {', '.join(sorted(unknown))}; there are {', '.join((*KINDS, DIFFERENTIAL))}")
    if args.replay:
        return _replay(args)
    seconds = args.seconds if args.seconds is not None else 30.0 if args.count is None else 1e9
    begun = time.monotonic()
    end = begun + seconds
    board = _Board(args.jobs)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory(prefix="abiscan-fuzz-", dir=memory) as scratch:
        tempfile.tempdir = scratch
        plan = _Plan(args, kinds, board, log.fileno(), end)
        running = {_spawn(job, job, plan): job for job in range(args.jobs)}
        results: list[dict[str, Any]] = []
        # Last lines of processes that had not ended when they were read: two may end at once.
        last: dict[int, dict[str, Any]] = {}
        position = 0
        while running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                _kill_stuck(running, board)
                time.sleep(0.05)
                continue
            if child not in running:
                continue
            job = running.pop(child)
            position, news = _read(log.fileno(), position)
            results += news
            last |= {each["job"]: each for each in news if "job" in each}
            own = last.pop(job, None)
            if own is not None:
                following = own["next"]
            else:
                kind, number, _at = board.read(job)
                ended = f"killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "exited"
                name = kinds[kind] if kind != _STARTING else "start"
                results.append({"finding": {"kind": name, "number": number, "seed": args.seed, "what": ended}})
                following = number + args.jobs
            if following >= 0 and time.monotonic() < end and (args.count is None or following < args.count):
                running[_spawn(job, following, plan)] = job
        _position, news = _read(log.fileno(), position)
        results += news
    # The inputs of findings are made again below, and the directory is gone.
    tempfile.tempdir = None
    return _report(results, args, time.monotonic() - begun)


def _kill_stuck(running: dict[int, int], board: _Board) -> None:
    for child, job in running.items():
        kind, _number, at = board.read(job)
        if time.monotonic() - at > (_STUCK_AT_START if kind == _STARTING else _STUCK):
            os.kill(child, signal.SIGKILL)


def _read(log: int, position: int) -> tuple[int, list[dict[str, Any]]]:
    data = os.pread(log, os.fstat(log).st_size - position, position)
    whole = data[: data.rfind(b"\n") + 1]
    return position + len(whole), [json.loads(line) for line in whole.splitlines()]


def _report(results: list[dict[str, Any]], args: argparse.Namespace, seconds: float) -> int:
    counts: Counter[str] = Counter()
    slowest: dict[str, float] = {}
    findings = [each["finding"] for each in results if "finding" in each]
    for each in results:
        counts.update(each.get("counts", {}))
        for kind, took in each.get("slowest", {}).items():
            slowest[kind] = max(slowest.get(kind, 0.0), took)
    for finding in findings:
        sys.stdout.write(json.dumps({"finding": finding}) + "\n")
        if args.save and "crc32" not in finding and finding["kind"] != "start":
            # Its process died: make it again.
            _save(
                finding,
                _maker(finding["kind"], args.seeds)(rng_of(args.seed, finding["kind"], finding["number"]))[0],
                args.save,
            )
    summary = {
        "inputs": sum(count for name, count in counts.items() if " " not in name),
        "findings": len(findings),
        "findings_by_type": Counter(f"{finding['kind']} {finding['what']}" for finding in findings),
        "counts": dict(sorted(counts.items())),
        "slowest_seconds": {kind: round(took, 3) for kind, took in sorted(slowest.items())},
        "peak_mib": max((each.get("peak_kib", 0) for each in results), default=0) // 1024,
        "seconds": round(seconds, 1),
        "seed": args.seed,
    }
    sys.stdout.write(json.dumps({"summary": summary}) + "\n")
    return 1 if any(finding["what"] not in _TO_LOOK_AT for finding in findings) else 0


def _save(finding: dict[str, Any], data: bytes, directory: str) -> None:
    os.makedirs(directory, exist_ok=True)
    Path(directory, f"{finding['kind']}-{finding['seed']}-{finding['number']}").write_bytes(data)


def _replay(args: argparse.Namespace) -> int:
    kind, _, number = args.replay.partition(":")
    rng = rng_of(args.seed, kind, int(number))
    if kind == DIFFERENTIAL and args.minimise:
        from tests.fuzz.differential import minimised, start

        both = start()
        seed, data = both.make(rng)
        data = minimised(both, seed, data)
        changes = [(at, old, new) for at, (old, new) in enumerate(zip(seed.data, data, strict=False)) if old != new]
        sys.stdout.write(
            json.dumps({"seed": seed.directory, "changes": changes, **both.run(seed, data)._asdict()}) + "\n"
        )
    else:
        data, run = _maker(kind, args.seeds)(rng)
        sys.stdout.write(json.dumps({"crc32": zlib.crc32(data), "said": run()}) + "\n")
    if args.save:
        Path(args.save).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
