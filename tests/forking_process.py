"""A process that has imported what programs need and forks a child for each: imports take longer than most programs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]

TORCH = "import torch, torch._dynamo"
# Every module of the package without those of optional packages.
ABISCAN = """
import importlib, pkgutil
from contextlib import suppress
from abiscan.cli import _import_msgspec
_import_msgspec()
for module in pkgutil.walk_packages(__import__("abiscan").__path__, "abiscan."):
    with suppress(ImportError):
        importlib.import_module(module.name)
"""
# One thread: a child would lack the others.
_SERVER = """
import json, os, signal, sys, traceback

def child(request):
    for number, name in enumerate(("input", "output", "error")):
        os.dup2(os.open(request[name], os.O_APPEND | os.O_WRONLY if number else os.O_RDONLY), number)
    os.chdir(request["cwd"])
    if request["environment"] is not None:
        os.environ.clear()
        os.environ.update(request["environment"])
    sys.path[0], sys.argv[1:] = "", request["arguments"]
    signal.alarm(request["seconds"])
    try:
        exec(compile(request["code"], "program", "exec"), {"__name__": "__main__"})
        status = 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)

requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
exec(sys.argv.pop(1))
for line in requests:
    process = os.fork()
    if process == 0:
        child(json.loads(line))
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), file=answers, flush=True)
os._exit(0)
"""


@contextmanager
def forking_process(python: Path | str, imports: str, directory: Path) -> Iterator[Run]:
    """Start it. What it yields runs a program after the imports and returns its status (negative: a signal) and output.

    Args:
        python: an interpreter.
        directory: for the input and output of programs.
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    files = {name: directory / name for name in ("input", "output", "error")}

    with subprocess.Popen(
        [python, "-c", _SERVER, imports], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        reader, writer = server.stdout, server.stdin

        def run(
            code: str,
            *arguments: str,
            cwd: Path | str = directory,
            stdin: str = "",
            environment: Mapping[str, str] | None = None,
            seconds: int = 600,
        ) -> subprocess.CompletedProcess[str]:
            for path in files.values():
                path.write_text(stdin if path.name == "input" else "", encoding="utf-8")
            request = {
                "code": code,
                "arguments": arguments,
                "cwd": str(cwd),
                "environment": environment,
                "seconds": seconds,
            }
            writer.write(json.dumps(request | {name: str(path) for name, path in files.items()}) + "\n")
            writer.flush()
            status = int(reader.readline())
            output, error = (files[name].read_text("utf-8", "surrogateescape") for name in ("output", "error"))
            return subprocess.CompletedProcess(["python", "-c", code, *arguments], status, output, error)

        yield run
        writer.close()
