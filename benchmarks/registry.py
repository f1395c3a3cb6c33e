"""Cost of a registry run: wheels per hour, bytes and memory with each engine, and whether the tables are equal.

    python benchmarks/registry.py WHEEL... [--count 1000] [--jobs 1 2] [--engines local ray] [--no-server] [--kill ray]

Makes `--count` wheels from the given ones as hard links with other names, serves them on the loopback address with
pypiserver (the extra `registry` and `pip install pypiserver`), scans that index, and checks it again from its stored
facts. With `--kill`, it kills and continues a run, and kills a worker of each engine. CPU seconds include all processes
that the run waited for, which excludes those of Ray.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
from pyarrow import parquet

from abiscan.registry.journal import Head, read_records

ABISCAN = (sys.executable, "-m", "abiscan")
# Columns that differ from run to run, or depend on names or places.
COST = "bytes_read, seconds, cpu_seconds, peak_memory, hash_checked, source, identity, size"
TABLES = ("wheels", "files", "imports", "findings", "causes", "compatibility", "readiness", "errors")


def links(wheels: list[Path], count: int, folder: Path) -> None:
    for number in range(count):
        wheel = wheels[number % len(wheels)]
        _name, _, rest = wheel.name.partition("-")
        os.link(wheel, folder / f"demo{number:05}-{rest}")


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", str(port), "-a", ".", "-P", "."]
    command += ["--disable-fallback", "--backend", "simple-dir", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/simple/"
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=30):
                break
            time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait()


class Tree(NamedTuple):
    """A process and its descendants.

    Attributes:
        own, below: resident bytes of the process itself, and of its descendants.
        workers: process ids of those that scan.
    """

    own: int
    below: int
    workers: list[int]


def tree_of(root: int) -> Tree:
    children: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError):
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry))
                sizes[int(entry)] = int(fields[21]) * resource.getpagesize()
    found, waiting, workers = 0, list(children.get(root, [])), []
    while waiting:
        each = waiting.pop()
        found += sizes.get(each, 0)
        waiting += children.get(each, [])
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{each}/cmdline").read_bytes()
            workers += [each] if b"spawn_main" in command or command.startswith(b"ray::_look_for") else []
    return Tree(sizes.get(root, 0), found, workers)


def through(tables: Path) -> int:
    """Number of finished wheels of the runs in a folder."""
    parts = [parquet.read_metadata(each).num_rows for each in tables.glob("run=*/part=*/wheels.parquet")]
    return sum(parts) + sum(1 for each in tables.glob("run=*/journal-*") for _ in read_records(str(each), Head))


def run(tables: Path, *arguments: str, kill: str = "", after: int = 0) -> dict[str, float]:
    """Run one command: wall and CPU seconds, and resident memory in the first and last third of its time.

    Args:
        tables: output directory.
        kill: `all` of its processes, or a `worker`, by SIGKILL as soon as `after` wheels are finished.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    process = subprocess.Popen([*ABISCAN, *arguments], start_new_session=True, stderr=subprocess.PIPE, text=True)
    samples: list[Tree] = []
    killed = 0

    def watch() -> None:
        nonlocal killed
        while process.poll() is None:
            samples.append(tree_of(process.pid))
            if kill and not killed and samples[-1].workers and through(tables) >= after:
                killed = samples[-1].workers[0] if kill == "worker" else process.pid
                os.kill(killed, signal.SIGKILL) if kill == "worker" else os.killpg(killed, signal.SIGKILL)
            time.sleep(0.5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    said = (process.communicate()[1] or "").strip().splitlines()
    watcher.join()
    after_it = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.monotonic() - began
    if kill and not killed:
        raise SystemExit(f"{' '.join(arguments)}: came to its end before anything was killed")
    if kill != "all" and process.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(arguments)}: {process.returncode}\n" + "\n".join(said[-5:]))
    print("   ", said[-1] if said else "", file=sys.stderr)
    third = max(1, len(samples) // 3)
    first, last = samples[:third], samples[-third:]
    return {
        "wall": wall,
        "cpu": after_it.ru_utime + after_it.ru_stime - before.ru_utime - before.ru_stime,
        "command_mb_first_third": max(each.own for each in first) / 1e6,
        "command_mb_last_third": max(each.own for each in last) / 1e6,
        "others_mb_first_third": max(each.below for each in first) / 1e6,
        "others_mb_last_third": max(each.below for each in last) / 1e6,
    }


def idle(tables: Path, wall: float, jobs: int) -> float:
    """Fraction of time in which workers had no wheel, over the whole command."""
    (one,) = sorted(tables.glob("run=*"))[-1:]
    busy = duckdb.sql(f"SELECT sum(seconds) FROM read_parquet('{one}/part=*/wheels.parquet')").fetchall()[0][0]
    return 1 - float(busy) / (wall * jobs)


def rows(directory: Path, table: str) -> list[str]:
    (one,) = sorted(directory.glob("run=*"))[-1:]
    left_out = f" EXCLUDE ({COST})" if table == "wheels" else ""
    found = duckdb.sql(f"SELECT *{left_out} FROM read_parquet('{one}/part=*/{table}.parquet', hive_partitioning=false)")
    return sorted(map(repr, found.fetchall()))


def same(one: Path, other: Path) -> bool:
    return all(rows(one, table) == rows(other, table) for table in TABLES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--jobs", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--engines", nargs="+", default=["local", "ray"])
    parser.add_argument("--no-server", action="store_true", help="scan the folder")
    parser.add_argument("--kill", nargs="+", metavar="ENGINE", help="a run in its middle; a worker of each engine")
    parser.add_argument("--recheck", default="2.12.0", metavar="RELEASE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="registry-", dir=given.wheels[0].parent) as made:
        folder, tables = Path(made, "wheels"), Path(made, "tables")
        folder.mkdir()
        tables.mkdir()
        links(given.wheels, given.count, folder)
        with contextlib.nullcontext(str(folder)) if given.no_server else served(folder) as target:
            report = measured(given, target, tables)
    print(json.dumps(report, indent=2))


def measured(given: argparse.Namespace, target: str, tables: Path) -> dict[str, object]:
    found: dict[str, object] = {"wheels": given.count}
    first: Path | None = None
    for engine in given.engines:
        for jobs in given.jobs:
            place = tables / f"{engine}-{jobs}"
            cost = run(place, "registry", "scan", target, "-o", str(place), "--engine", engine, "-j", str(jobs))
            cost["wheels_an_hour"] = given.count / cost["wall"] * 3600
            cost["workers_idle"] = idle(place, cost["wall"], jobs)
            cost["same_tables"] = first is None or same(first, place)
            first = first or place
            found[f"{engine} -j {jobs}"] = cost
    assert first is not None
    read = duckdb.sql(f"SELECT sum(bytes_read), sum(size) FROM read_parquet('{first}/run=*/part=*/wheels.parquet')")
    found["bytes_read"], found["bytes_stored"] = map(int, read.fetchall()[0])
    found["table_bytes"] = {t: sum(p.stat().st_size for p in first.rglob(f"{t}.parquet")) for t in (*TABLES, "facts")}
    jobs = str(max(given.jobs))
    half = given.count // 2
    if given.kill:
        place = tables / "killed"
        run(place, "registry", "scan", target, "-o", str(place), "-j", jobs, kill="all", after=half)
        kept = through(place)
        run(place, "registry", "scan", target, "--resume", str(place), "-j", jobs)
        found["killed and resumed"] = {"kept": kept, "same_tables": same(first, place)}
        for engine in given.kill:
            place = tables / f"{engine}-worker-killed"
            command = ("registry", "scan", target, "-o", str(place), "--engine", engine, "-j", jobs)
            run(place, *command, kill="worker", after=half)
            found[f"{engine}, a worker killed"] = {"wheels": through(place), "same_tables": same(first, place)}
    cost = run(first, "registry", "recheck", str(first), "--torch", given.recheck, "-j", jobs)
    cost["workers_idle"] = idle(first, cost["wall"], int(jobs))
    fresh = tables / "fresh"
    again = run(fresh, "registry", "scan", target, "-o", str(fresh), "--torch", given.recheck, "-j", jobs)
    cost["cpu_of_a_fresh_scan"] = again["cpu"]
    cost["same_tables"] = same(first, fresh)
    found[f"recheck -j {jobs}"] = cost
    return found


if __name__ == "__main__":
    main()
