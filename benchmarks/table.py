"""Cost of abiscan compared with other tools, measured interleaved in one run.

    python -m benchmarks.table [--small] [--runs 3] [--corpus DIR] [--audit PATH] [--write]

The commands of a row are started in turn, so that load affects all equally. Measured are processor time (user and
system, with all child processes) and wall time, which on a shared machine includes others. A ratio is the median over
the rounds of the ratio to the row's first command. Memory is the peak of all processes of the command in one further
run (Pss of /proc/PID/smaps_rollup: shared pages divided, mapped temporary files counted), or the largest ru_maxrss if
that is more.

`--small` measures only the test fixtures, once (under a minute); otherwise the wheels of `tests.corpus` too. Rows of
dlopen need torch. `ldd` and torch-abi-audit (`--audit`: its executable or virtual environment) are omitted, with a
note, if they are missing.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from abiscan.binary import open_binary
from abiscan.errors import UnreadableFile
from abiscan.inputs import Artifact, expand
from abiscan.model.report import ArtifactKind

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
RESULTS = Path(__file__).with_name("RESULTS.md")
# The first line after the table.
OTHER_SECTIONS = "## Failing files"
CORPUS = Path("~/.cache/abiscan/corpus").expanduser()
# Files of one run that are timed one by one.
MANY = 212
GOOD, BAD = FIXTURES / "good-extension.so", FIXTURES / "gcc-const-data-ptr.so"
SMALL_WHEEL, LARGE_WHEEL = 10e6, 100e6

# No resolve(): the interpreter of a virtual environment is identified by its own path, not its target.
ABISCAN = (sys.executable, "-m", "abiscan")
FLOOR = (sys.executable, "-c", "import click, elftools.elf.elffile, cxxfilt")
DLOPEN = "import ctypes, os, sys, torch; ctypes.CDLL(sys.argv[1], os.RTLD_NOW | os.RTLD_LOCAL)"
LDD_EACH = 'for f in "$@"; do LD_LIBRARY_PATH=$TORCH_LIB ldd -r "$f"; done'
# Cost of each further file of one call, in processor seconds: the pipeline of the command in one process, without the
# first file.
PER_FILE = """
import gc, sys, time
gc.set_threshold(50_000)  # as the command does
from abiscan.inputs import Artifact, expand
from abiscan.cli.command_line import CommandLine
from abiscan.cli.options import scan_options
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.scan_batch import check_artifact
from abiscan.report.problems_text import PLACES
options = scan_options(CommandLine(), sites=PLACES[0])
context = AnalysisContext(options)
times = []
for item in expand(sys.argv[1:], cwd=options.settings.cwd):
    if isinstance(item, Artifact):
        started = time.process_time()
        for _ in check_artifact(item, context):
            pass
        context.loader.forget()
        times.append(time.process_time() - started)
print(*times[1:])
"""
# The same members and chunks that abiscan unpacks; Python's start-up is subtracted below.
ZLIB = """
import sys, zipfile, zlib
with zipfile.ZipFile(sys.argv[1]) as archive, open(sys.argv[1], "rb") as file:
    for name in sys.argv[2:]:
        member = archive.getinfo(name)
        file.seek(member.header_offset)
        head = file.read(30)
        file.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
        left, inflater = member.compress_size, zlib.decompressobj(-15)
        while left > 0:
            data = file.read(min(1 << 16, left))
            left -= len(data)
            data if member.compress_type == 0 else inflater.decompress(data)
"""


@dataclass
class Row:
    """Commands with the same task.

    Attributes:
        commands: name -> command; the first is the reference for the others.
        less: a command whose time is subtracted from each: start-up.
    """

    name: str
    commands: dict[str, list[str]]
    less: dict[str, list[str]] = field(default_factory=dict)


def started_in(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    # Not here: abiscan would read the pyproject.toml of this project as its configuration.
    place = tempfile.gettempdir()
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=place)


def cpu_of(command: list[str], environment: dict[str, str]) -> tuple[float, float, int]:
    """Processor seconds, wall seconds, ru_maxrss in KiB."""
    started = time.perf_counter()
    process = started_in(command, environment)
    _pid, _status, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - started, usage.ru_maxrss


def memory_of(command: list[str], environment: dict[str, str]) -> int:
    """Peak memory of all processes of a command in KiB, as far as readable; 0 without /proc."""
    if not Path("/proc/self/smaps_rollup").exists():
        return 0
    process = started_in(command, environment)
    most = 0
    while process.poll() is None:
        most = max(most, sum(map(_pss, _tree(process.pid))))
        time.sleep(0.03)
    return most


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii").split():
                yield from _tree(int(child))
    except OSError:
        return


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def measure(row: Row, runs: int, environment: dict[str, str], *, sampled: bool) -> list[str]:
    """The row's lines of the table.

    Args:
        sampled: measure the memory of all processes together, in a further run.
    """
    everything = {**row.commands, **{f"less {name}": command for name, command in row.less.items()}}
    for command in everything.values() if runs > 1 else ():
        cpu_of(command, environment)  # page cache and byte code are warm for all
    rounds: list[dict[str, tuple[float, float]]] = []
    largest = dict.fromkeys(row.commands, 0)
    for _ in range(runs):
        times: dict[str, tuple[float, float]] = {}
        for name, command in everything.items():
            seconds, wall, most = cpu_of(command, environment)
            times[name] = seconds, wall
            if name in largest:
                largest[name] = max(largest[name], most)
        rounds.append(times)
    first = next(iter(row.commands))

    def net(times: dict[str, tuple[float, float]], name: str, clock: int) -> float:
        return times[name][clock] - (times[f"less {name}"][clock] if name in row.less else 0.0)

    def ratio(name: str, clock: int) -> str:
        whole = statistics.median(times[name][clock] / times[first][clock] for times in rounds)
        if not row.less:
            return f"{whole:.2f}"
        # A difference of less than a tenth of the start-up is not measurable.
        clear = [t for t in rounds if all(net(t, each, clock) > 0.1 * t[each][clock] for each in (name, first))]
        told = [net(t, name, clock) / net(t, first, clock) for t in clear]
        return f"{f'{statistics.median(told):.2f}' if len(told) == runs else '-'} ({whole:.2f})"

    lines = []
    for name, command in row.commands.items():
        seconds, wall = (statistics.median(times[name][clock] for times in rounds) for clock in (0, 1))
        # The kernel counts processes that end between two samples.
        memory = max(memory_of(command, environment) if sampled else 0, largest[name])
        cells = (f"{seconds:.3f}", ratio(name, 0), f"{wall:.3f}", ratio(name, 1), f"{memory / 1024:.0f}")
        lines.append(f"| {row.name} | {name} | {' | '.join(cells)} |")
    return lines


def each_further(files: list[Path], runs: int, environment: dict[str, str]) -> list[str]:
    """Cost of one more file: `ldd -r` of it, and abiscan's share in a run over all of them, without the first. The
    minimum of all rounds."""
    names = [str(path) for path in files]
    by: dict[str, list[list[float]]] = {}
    for _ in range(runs):
        if shutil.which("ldd"):
            commands = (["sh", "-c", LDD_EACH, "sh", name] for name in names[1:])
            by.setdefault("ldd -r", []).append([cpu_of(command, environment)[0] for command in commands])
        done = subprocess.run(
            [sys.executable, "-c", PER_FILE, *names], stdout=subprocess.PIPE, text=True, check=True, env=environment
        )
        by.setdefault("abiscan", []).append([float(word) for word in done.stdout.split()])
    lines = []
    for what, value in (("mean", statistics.mean), ("median", statistics.median)):
        told = {name: value([min(times) for times in zip(*rounds, strict=True)]) for name, rounds in by.items()}
        first = next(iter(told.values()))
        row = f"each further of {len(names)} files, {what}"
        lines += [
            f"| {row} | {name} | {seconds:.4f} | {seconds / first:.2f} | - | - | - |" for name, seconds in told.items()
        ]
    return lines


def shared_objects(wheel: Path) -> list[str]:
    """The members that abiscan unpacks whole."""
    found = (item for item in expand([str(wheel)], cwd=os.getcwd()) if isinstance(item, Artifact))
    return [item.member for item in found if item.kind is ArtifactKind.SHARED_OBJECT and item.member]


def wheel_row(wheel: Path, least: Path) -> Row:
    """Zlib, then abiscan, for one wheel; `least` is one with nothing to unpack."""
    members = shared_objects(wheel)
    size = wheel.stat().st_size / 1e6
    return Row(
        f"{wheel.name.split('-')[0]} ({size:.1f} MB, {len(members)} files)",
        {
            "zlib": [sys.executable, "-c", ZLIB, str(wheel), *members],
            "abiscan": [*ABISCAN, "scan", str(wheel)],
            "abiscan -j 1": [*ABISCAN, "scan", "-j", "1", str(wheel)],
        },
        {
            "zlib": [sys.executable, "-c", ZLIB, str(least)],
            "abiscan": [*ABISCAN, "scan", str(least)],
            "abiscan -j 1": [*ABISCAN, "scan", "-j", "1", str(least)],
        },
    )


def made_wheel(path: Path, files: list[Path], copies: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(copies):
            for file in files:
                archive.write(file, f"made/{number}/{file.name}")
    return path


def some_files(options: argparse.Namespace, count: int) -> list[Path]:
    """A fixed selection of shared objects of the corpus; a few fixtures with `--small`."""
    if options.small:
        return sorted(p for p in FIXTURES.glob("*.so") if "hostile" not in p.name)[:4]
    unpacked = sorted(p for p in (options.corpus / "unpacked").rglob("*.so") if p.is_file())
    return random.Random(5).sample(unpacked, min(count, len(unpacked)))


def rows(options: argparse.Namespace, made: Path) -> Iterator[Row]:
    """The measured rows."""
    peer = audit(options.audit)
    ldd = shutil.which("ldd")
    for what, path in (("a good file", GOOD), ("a bad file", BAD)):
        commands = {"floor": list(FLOOR), "abiscan": [*ABISCAN, "scan", str(path)]}
        if ldd:
            commands["ldd -r"] = ["sh", "-c", LDD_EACH, "sh", str(path)]
        if peer:
            commands["torch-abi-audit"] = [peer, str(path)]
        if not options.small or path == BAD:
            commands["import torch, dlopen"] = [sys.executable, "-W", "ignore", "-c", DLOPEN, str(path)]
        yield Row(what, commands)
    files = some_files(options, 60)
    if options.small:
        wheels = [made_wheel(made / "made-1.0-py3-none-any.whl", files, 2)]
    else:
        found = sorted(options.corpus.glob("*.whl"), key=lambda path: path.stat().st_size)
        small = [path for path in found if 1e6 < path.stat().st_size < SMALL_WHEEL]
        large = [path for path in found if path.stat().st_size > LARGE_WHEEL]
        wheels = [*small[len(small) // 10 :: max(1, len(small) // 5)], *large]
    names = [str(path) for path in files]
    several = {"ldd -r": ["sh", "-c", LDD_EACH, "sh", *names]} if ldd else {}
    yield Row(f"{len(names)} files", {**several, "abiscan": [*ABISCAN, "scan", *names]})
    least = made_wheel(made / "least-1.0-py3-none-any.whl", [GOOD], 1)
    for wheel in wheels:
        yield wheel_row(wheel, least)
    numbers = (1, 4, 16) if options.small else (1, 10, 100)
    by_number = {n: made_wheel(made / f"many{n}-1.0-py3-none-any.whl", [GOOD], n) for n in numbers}
    yield Row("growth with files", {f"{n}": [*ABISCAN, "scan", str(path)] for n, path in by_number.items()})
    by_imports = sorted(((imports(path), path) for path in files), key=lambda pair: pair[0])
    some = dict([by_imports[0], by_imports[len(by_imports) // 2], by_imports[-1]])
    yield Row("growth with imports", {f"{n} imports": [*ABISCAN, "scan", str(path)] for n, path in some.items()})
    yield Row(
        "growth with builds",
        {
            "one release": [*ABISCAN, "scan", "--torch", "2.9.0", str(BAD)],
            "all releases": [*ABISCAN, "scan", "--torch", "2.9.0", "--matrix", str(BAD)],
        },
    )


def audit(path: str) -> str | None:
    """The executable of torch-abi-audit: `path`, or the one of the virtual environment there."""
    return shutil.which(path) or shutil.which(str(Path(path) / "bin" / "torch-abi-audit"))


def imports(path: Path) -> int:
    try:
        return len(open_binary(path).imports)
    except UnreadableFile:
        return 0


def torch_libraries() -> str:
    """The folder of the libraries of the installed torch, for `ldd -r`; others find them themselves."""
    return str(next((Path(p) / "torch" / "lib" for p in sys.path if (Path(p) / "torch" / "lib").is_dir()), ""))


def machine() -> str:
    """The kind of machine, without its name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    busy = "shared" if os.getloadavg()[0] > 1 else "idle"
    return f"{os.cpu_count()} cores {platform.machine()}, {memory} GiB, {busy}; Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="fixtures alone")
    parser.add_argument("--runs", type=int, default=None, help="rounds, whose median is told (3; 1 with --small)")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="directory of tests.corpus")
    parser.add_argument("--audit", default="torch-abi-audit", metavar="PATH", help="where that tool is")
    parser.add_argument("--write", action="store_true", help=f"to {RESULTS.name} too")
    options = parser.parse_args()
    runs = options.runs or (1 if options.small else 3)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(ROOT)
    environment["TORCH_LIB"] = torch_libraries()
    kind = machine()
    told = [
        "# What abiscan costs",
        "",
        f"{datetime.datetime.now(datetime.UTC).date()}, {kind}, {runs} rounds, medians; `python -m benchmarks.table`.",
        "Ratios are to the first line of each row; of wheels without start-up (- where it is nearly all), and with it.",
        "",
        "| what | by | CPU s | ratio | wall s | ratio | MiB |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(told), flush=True)
    with tempfile.TemporaryDirectory() as made:
        for row in rows(options, Path(made)):
            lines = measure(row, runs, environment, sampled=not options.small)
            print("\n".join(lines), flush=True)
            told += lines
        lines = each_further(some_files(options, MANY), runs, environment)
        print("\n".join(lines), flush=True)
        told += lines
    absent = [
        name for name, path in (("ldd", shutil.which("ldd")), ("torch-abi-audit", audit(options.audit))) if not path
    ]
    if absent:
        told += ["", f"Not here: {', '.join(absent)}."]
        print("\n".join(told[-2:]))
    if options.write:
        # The sections below are of `benchmarks.files`, and notes.
        kept = RESULTS.read_text(encoding="utf-8").partition(OTHER_SECTIONS)
        RESULTS.write_text("\n".join(told) + "\n\n" + "".join(kept[1:]), encoding="utf-8")


if __name__ == "__main__":
    main()
