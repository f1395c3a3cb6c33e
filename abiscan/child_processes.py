"""Starts all child processes, such that neither the working directory nor a variable adds code to them.

Python puts the working directory first in `sys.path` for `-m` and `-c` (https://docs.python.org/3/using/cmdline.html
#cmdoption-P), and an empty or relative entry of PATH means the working directory (POSIX.1-2017, 8.3): otherwise a
user who can write to a directory could run code as the user who scans it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO

DEVNULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
CompletedProcess = subprocess.CompletedProcess
TimeoutExpired = subprocess.TimeoutExpired
Child = subprocess.Popen[bytes]
Failed = (OSError, subprocess.SubprocessError)
"""Raised if a child cannot be started, or exceeds its time limit."""


def find_tool(name: str, search_path: str | None = None) -> str | None:
    """Find the absolute path of a program in the absolute directories of a search path; None if none contains it.

    Args:
        search_path: in the format of PATH; None for PATH itself.
    """
    import shutil

    searched = os.environ.get("PATH", "") if search_path is None else search_path
    return shutil.which(name, path=_absolute_directories(searched))


def _absolute_directories(search_path: str) -> str:
    return os.pathsep.join(each for each in search_path.split(os.pathsep) if os.path.isabs(each))


def _environment() -> dict[str, str]:
    """Return the variables of this process without those that change Python's imports, and with only absolute
    directories in PATH."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PATH": _absolute_directories(os.environ.get("PATH", ""))}


def run_tool(
    command: Sequence[str],
    *,
    timeout: float | None = None,
    stdout: int | IO[str] = subprocess.PIPE,
    variables: Mapping[str, str] | None = None,
    is_stalled: Callable[[], bool] = lambda: False,
) -> subprocess.CompletedProcess[str]:
    """Run a program until it ends, with its output as text.

    Args:
        command: absolute path of the program (`find_tool`), and its arguments.
        timeout: seconds after which it is killed.
        stdout: as in `subprocess.run`.
        variables: environment variables to set.
        is_stalled: called once a second; if true, the program is killed as after the timeout.

    Raises:
        OSError, subprocess.SubprocessError: it cannot be started, or exceeds its time limit.
    """
    if not os.path.isabs(command[0]):
        raise ValueError(f"not an absolute path: {command[0]}")
    with subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**_environment(), **(variables or {})},
        text=True,
        errors="replace",
    ) as child:
        begun = time.monotonic()
        try:
            while True:
                left = float("inf") if timeout is None else timeout - (time.monotonic() - begun)
                try:
                    out, err = child.communicate(timeout=max(min(1.0, left), 0))
                    return subprocess.CompletedProcess(list(command), child.returncode, out, err)
                except subprocess.TimeoutExpired:
                    if left <= 1 or is_stalled():
                        raise
        except BaseException:
            child.kill()
            raise


def run_module(
    module: str,
    arguments: Sequence[str],
    *,
    timeout: float | None = None,
    stdout: int = subprocess.PIPE,
    variables: Mapping[str, str] | None = None,
    is_stalled: Callable[[], bool] = lambda: False,
) -> subprocess.CompletedProcess[str]:
    """Run a module of this interpreter (`python -I -m MODULE`), which imports nothing from the working directory,
    PYTHONPATH or the user's site directory.

    Args:
        timeout, stdout, variables, is_stalled: as in `run_tool`.

    Raises:
        OSError, subprocess.SubprocessError: as in `run_tool`.
    """
    command = [sys.executable, "-I", "-m", module, *arguments]
    return run_tool(command, timeout=timeout, stdout=stdout, variables=variables, is_stalled=is_stalled)


def start_command(command: Sequence[str], *, stdout: int, stderr: int) -> Child:
    """Start the command of a user (`abiscan run -- COMMAND`) like a shell: with every variable and the whole PATH.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.Popen(list(command), stdout=stdout, stderr=stderr)


@contextlib.contextmanager
def safe_workers() -> Iterator[None]:
    """Keep worker processes that are started in this context from importing from the working directory (`spawn` runs
    `python -c`)."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("PYTHONSAFEPATH", None)
        else:
            os.environ["PYTHONSAFEPATH"] = before
