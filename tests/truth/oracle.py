"""Results of this machine's loader for a file: the oracle of the loader tests.

`ask` opens every file like CPython opens an extension (`RTLD_NOW | RTLD_LOCAL`), in a process with or without torch,
and returns the loader's message. It runs the files' constructors: only for files that are trusted. `abiscan` itself
never does this.

By default one process imports torch and forks a child for each file; `fresh=True` starts an interpreter for each.
`test_oracle.py` checks that both give the same results."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SERVER = Path(__file__).with_name("server.py")
# Variables of a user's shell that affect the loader; tests set them explicitly.
LOADER_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_BIND_NOW", "LD_AUDIT", "GLIBC_TUNABLES", "LD_DYNAMIC_WEAK")


@dataclass(frozen=True, slots=True)
class Answer:
    """The result for one file.

    Attributes:
        outcome: `loads`; `fails`, the loader rejected it; `crash`, the process died or exited (a constructor, an IFUNC
            resolver, an assertion of the loader); `timeout`.
        text: the loader's message for `fails`, the end of the process for `crash` and `timeout`, else empty.
    """

    outcome: str
    text: str = ""


def _run(python: Path, request: list[str], env: Mapping[str, str], cwd: Path | None) -> list[Answer]:
    paths = request[2:]
    encoded = b"".join(os.fsencode(item) + b"\0" for item in request)
    environment = {name: value for name, value in os.environ.items() if name not in LOADER_VARIABLES}
    # One thread: the forked child would lack a thread pool started by the import.
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
    """The loader's result for each of `files`, one process per file.

    Args:
        files: paths for `dlopen`; a path without a slash is searched.
        python: the interpreter; with `torch`, its environment must have one.
        modules: modules to import before, in order.
        env: variables for the process (`LD_LIBRARY_PATH`, `LD_PRELOAD`); other loader variables are removed.
        timeout: seconds per file.
        fresh: start an interpreter for each file, instead of forking one with its imports.
        retry: repeat, in a fresh process, files that killed a forked one.

    Raises:
        RuntimeError: the interpreter itself failed.
    """
    mode = ",".join(["torch"] * torch + list(modules))
    paths = [str(file) for file in files]
    if fresh:
        return {path: _run(python, [mode, str(timeout), path], env or {}, cwd)[0] for path in paths}
    answers = dict(zip(paths, _run(python, [mode, str(timeout), *paths], env or {}, cwd), strict=True))
    # A constructor may fail in a forked process (threads, locks): only a fresh process shows that it always fails.
    for path, answer in answers.items():
        if retry and answer.outcome in {"crash", "timeout"}:
            answers[path] = _run(python, [mode, str(timeout), path], env or {}, cwd)[0]
    return answers
