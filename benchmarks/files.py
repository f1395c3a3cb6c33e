"""Cost of one file after another, compared with other tools: the table of `RESULTS.md` by file.

    python -m benchmarks.files FILE.so... [--runs 9] [--audit torch-abi-audit]

Measured are processor time (user and system), the median of interleaved runs, and executed instructions
(`valgrind --tool=callgrind`, with a fixed hash seed: two runs differ by less than a thousandth), in millions, if
valgrind is there. Ratios are to the floor, the imports of every command line tool here.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import ABISCAN, FLOOR, LDD_EACH, ROOT, audit, cpu_of, torch_libraries

_COLLECTED = re.compile(r"Collected : (\d+)")


def instructions(command: list[str], environment: dict[str, str]) -> float | None:
    """Executed instructions in millions; None without valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    counting = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    ran = subprocess.run(counting, capture_output=True, text=True, env=environment, cwd="/", check=False)
    found = _COLLECTED.search(ran.stderr)
    return int(found[1]) / 1e6 if found is not None else None


def rows(path: Path, runs: int, peer: str | None, environment: dict[str, str]) -> Iterator[str]:
    commands = {"floor": list(FLOOR), "abiscan": [*ABISCAN, "scan", str(path)]}
    if shutil.which("ldd"):
        commands["ldd -r"] = ["sh", "-c", LDD_EACH, "sh", str(path)]
    if peer:
        commands["torch-abi-audit"] = [peer, str(path)]
    times: dict[str, list[float]] = {name: [] for name in commands}
    memory = dict.fromkeys(commands, 0)
    for run in range(runs + 1):
        for name, command in commands.items():
            seconds, _wall, kib = cpu_of(command, environment)
            memory[name] = max(memory[name], kib)
            if run:  # page cache and byte code are warm after the first
                times[name].append(seconds)
    base = statistics.median(times["floor"])
    counted = {name: instructions(commands[name], environment) for name in ("floor", "abiscan")}
    for name in commands:
        seconds, count = statistics.median(times[name]), counted.get(name)
        cells = (f"{seconds * 1000:.0f}", f"{seconds / base:.2f}", "-" if count is None else f"{count:.0f}")
        yield f"| {path.parent.name}/{path.name} | {name} | {' | '.join(cells)} | {memory[name] / 1024:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--audit", default="torch-abi-audit", metavar="PATH", help="where that tool is")
    options = parser.parse_args()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "TORCH_LIB": torch_libraries()}
    print("| file | by | CPU ms | ratio | million instructions | MiB |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for path in options.files:
        for row in rows(path.absolute(), options.runs, audit(options.audit), environment):
            print(row, flush=True)


if __name__ == "__main__":
    main()
