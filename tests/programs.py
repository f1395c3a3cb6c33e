"""Programs that tests run, with their output as text."""

from __future__ import annotations

import atexit
import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any

from tests.forking_process import ABISCAN, Run, forking_process

Command = Sequence[str | PathLike[str]]


def run_program(command: Command, **given: Any) -> subprocess.CompletedProcess[str]:
    """Run a command that may fail."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **given)


def output_of(command: Command, **given: Any) -> str:
    """What a command that must succeed writes to standard output."""
    return subprocess.run(command, capture_output=True, text=True, check=True, **given).stdout


@functools.cache
def abiscan_process() -> Run:
    """Runs a program in a child of one process that has imported abiscan, until the end of the tests."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    return stack.enter_context(forking_process(sys.executable, ABISCAN, Path(folder)))


def run_abiscan(
    *words: str | PathLike[str],
    cwd: str | PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    seconds: int = 600,
) -> subprocess.CompletedProcess[str]:
    """Run the command as `python -m abiscan` does after its imports. What depends on the start of a process, on a pipe
    or on the seed of hashes needs `run_program`."""
    return abiscan_process()(
        "from abiscan.__main__ import start; start(forget_directory=True)",
        *map(os.fspath, words),
        cwd=os.fspath(os.getcwd() if cwd is None else cwd),
        environment=dict(os.environ if env is None else env),
        stdin=stdin,
        seconds=seconds,
    )
