"""Speed of abiscan as ratios measured in one run: absolute times on a shared machine mean little.

    python benchmarks/speed.py FILE.so [FILE.so ...] [--peer torch-abi-audit] [--runs 15]

Needs torch in the environment that runs it. Each command is started as a user would start it, in turn with the others,
so that load affects all equally; the figure is the median. Peak memory is the kernel's ru_maxrss of the process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

BASELINE = "import click, elftools.elf.elffile, cxxfilt"

# Cost of each further file of one call, in processor seconds: the pipeline of the command in one process, without the
# first file.
PER_FILE = """
import gc, sys, time
gc.set_threshold(50_000)  # as the command does
from abiscan.inputs import Artifact, expand
from abiscan.cli.command_line import CommandLine
from abiscan.cli.options import scan_options
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.scan_batch import analyse
from abiscan.report.problems_text import PLACES
options = scan_options(CommandLine(), sites=PLACES[0])
context = AnalysisContext(options)
times = []
for item in expand(sys.argv[1:], cwd=options.settings.cwd):
    if isinstance(item, Artifact):
        started = time.process_time()
        for _ in analyse(item, context):
            pass
        context.loader.forget()
        times.append(time.process_time() - started)
print(*times[1:])
"""


def run(command: list[str]) -> tuple[float, int]:
    """Wall time in seconds and peak memory in KiB of one run."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _pid, _status, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return time.perf_counter() - started, usage.ru_maxrss


def medians(commands: dict[str, list[str]], runs: int) -> dict[str, tuple[float, int]]:
    times: dict[str, list[float]] = {name: [] for name in commands}
    memory: dict[str, int] = dict.fromkeys(commands, 0)
    for command in commands.values():
        run(command)  # page cache and byte code are warm for all
    for _ in range(runs):
        for name, command in commands.items():
            seconds, kib = run(command)
            times[name].append(seconds)
            memory[name] = max(memory[name], kib)
    return {name: (statistics.median(t), memory[name]) for name, t in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--peer", action="append", default=[], help="another tool to time on the first file")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()

    # No resolve(): the interpreter of a virtual environment is identified by its own path, not its target.
    abiscan = str(Path(sys.executable).parent / "abiscan")
    first = str(options.files[0])
    commands = {
        "baseline: " + BASELINE: [sys.executable, "-c", BASELINE],
        "abiscan FILE": [abiscan, first],
        "abiscan --matrix FILE": [abiscan, "--matrix", first],
        "import torch": [sys.executable, "-c", "import torch"],
    }
    if shutil.which("ldd"):
        commands["ldd -r FILE"] = ["ldd", "-r", first]
    for peer in options.peer:
        found = shutil.which(peer) or str(Path(sys.executable).parent / peer)
        commands[f"{peer} FILE"] = [found, first]
    measured = medians(commands, options.runs)
    base = measured["baseline: " + BASELINE][0]
    print(f"{first}: {options.runs} runs each, medians")
    for name, (seconds, kib) in measured.items():
        print(f"  {seconds / base:6.2f} x baseline  {seconds * 1000:8.1f} ms  {kib / 1024:7.1f} MiB  {name}")

    if len(options.files) > 1:
        files = [str(f) for f in options.files]
        done = subprocess.run([sys.executable, "-c", PER_FILE, *files], stdout=subprocess.PIPE, text=True, check=True)
        times = sorted(float(line) for line in done.stdout.split())
        ours = statistics.median(times)
        print(f"{len(times)} files in one call: {ours * 1000:.1f} ms for the median file", end="")
        print(
            f", {statistics.mean(times) * 1000:.1f} in the mean, {times[int(len(times) * 0.9)] * 1000:.1f} at 90 %",
            end="",
        )
        if shutil.which("ldd"):
            theirs = statistics.median(run(["ldd", "-r", f])[0] for f in files)
            print(f"; ldd -r {theirs * 1000:.1f}: {ours / theirs:.2f} x")
        else:
            print()


if __name__ == "__main__":
    main()
