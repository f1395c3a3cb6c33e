"""What a registry run costs: wheels an hour, bytes, memory, with each engine, and whether the tables stay the same.

    python benchmarks/registry.py WHEEL... [--count 1000] [--jobs 1 2] [--engines local ray] [--no-server] [--kill]

Makes `--count` wheels of those that are named, by hard links under other names, has pypiserver (the extra `registry`
and `pip install pypiserver`) serve them on the loopback address as an index, scans that index, judges it again from its
stored facts, and with `--kill` kills a run in the middle and goes on. CPU seconds are of all processes of a run.
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

import duckdb

ABISCAN = (sys.executable, "-m", "abiscan")
# What differs from run to run, and what a name or place has to do with.
COST = "bytes_read, seconds, cpu_seconds, peak_memory, hash_checked, source, identity, size"
TABLES = ("wheels", "files", "imports", "findings", "causes", "windows", "readiness", "errors")


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


def memory_of(root: int) -> int:
    """Resident bytes of a process and everything below it."""
    children: dict[int, list[int]] = {}
    sizes: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError):
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry))
                sizes[int(entry)] = int(fields[21]) * resource.getpagesize()
    found, waiting = 0, [root]
    while waiting:
        each = waiting.pop()
        found += sizes.get(each, 0)
        waiting += children.get(each, [])
    return found


def run(*arguments: str, kill_at: int | None = None) -> dict[str, float]:
    """One command: wall and CPU seconds, and resident memory in the middle and at its most.

    Args:
        kill_at: kill it with all its workers after so many seconds.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    process = subprocess.Popen([*ABISCAN, *arguments], start_new_session=True, stderr=subprocess.PIPE, text=True)
    samples: list[int] = []

    def sample() -> None:
        while process.poll() is None:
            samples.append(memory_of(process.pid))
            time.sleep(0.5)

    sampler = threading.Thread(target=sample)
    sampler.start()
    if kill_at is not None:
        time.sleep(kill_at)
        os.killpg(process.pid, signal.SIGKILL)
    said = (process.communicate()[1] or "").strip().splitlines()
    sampler.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if kill_at is None and process.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(arguments)}: {process.returncode}\n" + "\n".join(said[-5:]))
    print("   ", said[-1] if said else "", file=sys.stderr)
    third = max(1, len(samples) // 3)
    return {
        "wall": time.monotonic() - began,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "memory_first_third": max(samples[:third], default=0) / 1e6,
        "memory_last_third": max(samples[-third:], default=0) / 1e6,
    }


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
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--rejudge", default="2.12.0", metavar="RELEASE")
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
            cost = run("scan", target, "-f", f"parquet:{place}", "--engine", engine, "-j", str(jobs))
            cost["wheels_an_hour"] = given.count / cost["wall"] * 3600
            cost["same_tables"] = first is None or same(first, place)
            first = first or place
            found[f"{engine} -j {jobs}"] = cost
    assert first is not None
    read = duckdb.sql(f"SELECT sum(bytes_read), sum(size) FROM read_parquet('{first}/run=*/part=*/wheels.parquet')")
    found["bytes_read"], found["bytes_stored"] = map(int, read.fetchall()[0])
    found["table_bytes"] = {t: sum(p.stat().st_size for p in first.rglob(f"{t}.parquet")) for t in (*TABLES, "facts")}
    jobs = str(max(given.jobs))
    if given.kill:
        place = tables / "killed"
        half = max(2, int(found[f"{given.engines[0]} -j {jobs}"]["wall"] / 2))  # type: ignore[index]
        run("scan", target, "-f", f"parquet:{place}", "-j", jobs, kill_at=half)
        run("scan", target, "--resume", str(place), "-j", jobs)
        found["killed_and_resumed_same_tables"] = same(first, place)
    cost = run("rejudge", str(first), "--torch", given.rejudge, "-j", jobs)
    fresh = tables / "fresh"
    cost["scan"] = run("scan", target, "-f", f"parquet:{fresh}", "--torch", given.rejudge, "-j", jobs)["cpu"]
    cost["same_tables"] = same(first, fresh)
    found[f"rejudge -j {jobs}"] = cost
    return found


if __name__ == "__main__":
    main()
