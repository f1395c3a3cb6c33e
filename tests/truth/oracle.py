"""What the loader of this machine does with a file: the oracle of the loader tests.

`ask` opens every file as CPython opens an extension (`RTLD_NOW | RTLD_LOCAL`) in a process that has, or has not,
imported torch, and returns the loader's own words. It runs the files' constructors: for files that are trusted
enough to be run only. `abiscan` itself never does any of this.

By default one process imports torch and forks a child for each file; `fresh=True` starts an interpreter for each.
`test_oracle.py` holds that both say the same.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SERVER = Path(__file__).with_name("server.py")
# What a user's shell may hold that changes what the loader does; a test sets them itself where it wants them.
LOADER_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_BIND_NOW", "LD_AUDIT", "GLIBC_TUNABLES", "LD_DYNAMIC_WEAK")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one file.

    Attributes:
        outcome: `loads`; `fails`, the loader refused it; `crash`, the process died or left in the attempt (a
            constructor, an IFUNC resolver, an assertion of the loader); `timeout`, it did not come back.
        text: the loader's message for `fails`, how the process ended for `crash` and `timeout`, else empty.
    """

    outcome: str
    text: str = ""


def _run(python: Path, request: list[str], env: Mapping[str, str], cwd: Path | None) -> list[Answer]:
    paths = request[2:]
    encoded = b"".join(os.fsencode(item) + b"\0" for item in request)
    environment = {name: value for name, value in os.environ.items() if name not in LOADER_VARIABLES}
    # One thread: a pool started by the import would be missing in the forked child.
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= env
    done = subprocess.run(
        [python, "-P", _SERVER], input=encoded, capture_output=True, env=environment, cwd=cwd, check=False
    )
    fields = [os.fsdecode(field) for field in done.stdout.split(b"\0")[:-1]]
    if len(fields) != 2 * len(paths):
        raise RuntimeError(
            f"{python} answered for {len(fields) // 2} of {len(paths)} files (exit status {done.returncode}): "
            f"{os.fsdecode(done.stderr)[-2000:]}"
        )
    return [Answer(outcome, text) for outcome, text in zip(fields[::2], fields[1::2], strict=True)]


def ask(
    files: Iterable[Path],
    *,
    python: Path,
    torch: bool = False,
    modules: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: int = 60,
    fresh: bool = False,
    retry: bool = True,
) -> dict[str, Answer]:
    """Ask the loader about each of `files`, one process a file.

    Args:
        files: what to open, by the path that is handed to `dlopen`; a path without a slash is searched for.
        python: the interpreter; with `torch`, its environment must have one.
        modules: what else to import before, in this order.
        env: variables to set for the process (`LD_LIBRARY_PATH`, `LD_PRELOAD`); others of the loader are removed.
        timeout: seconds a file.
        fresh: start an interpreter for each file, instead of forking one that has done its imports.
        retry: ask again, in a fresh process, about files that killed a forked one.

    Raises:
        RuntimeError: the interpreter itself could not be run to the end.
    """
    mode = ",".join(["torch"] * torch + list(modules))
    paths = [str(file) for file in files]
    if fresh:
        return {path: _run(python, [mode, str(timeout), path], env or {}, cwd)[0] for path in paths}
    answers = dict(zip(paths, _run(python, [mode, str(timeout), *paths], env or {}, cwd), strict=True))
    # A constructor may fail over being forked (threads, locks): only a fresh process says that it fails always.
    for path, answer in answers.items():
        if retry and answer.outcome in {"crash", "timeout"}:
            answers[path] = _run(python, [mode, str(timeout), path], env or {}, cwd)[0]
    return answers
