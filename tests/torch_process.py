"""A process that has imported torch, and forks a child for each program: an import takes longer than most programs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# One thread: a child would lack the others.
_SERVER = """
import json, os, sys, traceback
import torch, torch._dynamo

def child(request):
    for number, name in enumerate(("output", "error"), 1):
        os.dup2(os.open(request[name], os.O_WRONLY), number)
    os.chdir(request["cwd"])
    sys.path[0], sys.argv[1:] = "", request["arguments"]
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

for line in sys.stdin:
    process = os.fork()
    if process == 0:
        child(json.loads(line))
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
os._exit(0)
"""


@contextmanager
def torch_process(python: Path, directory: Path) -> Iterator[Run]:
    """Start it. What it yields runs a program after `import torch` and returns its status (negative: a signal) and
    output.

    Args:
        python: an interpreter with torch.
        directory: for the output of programs.
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    files = {name: directory / name for name in ("output", "error")}

    with subprocess.Popen(
        [python, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        reader, writer = server.stdout, server.stdin

        def run(code: str, *arguments: str, cwd: Path = directory) -> subprocess.CompletedProcess[str]:
            for path in files.values():
                path.write_text("")
            request = {"code": code, "arguments": arguments, "cwd": str(cwd)}
            writer.write(json.dumps(request | {name: str(path) for name, path in files.items()}) + "\n")
            writer.flush()
            status = int(reader.readline())
            output, error = (path.read_text(encoding="utf-8", errors="replace") for path in files.values())
            return subprocess.CompletedProcess(["python", "-c", code, *arguments], status, output, error)

        yield run
        writer.close()
