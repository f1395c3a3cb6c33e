"""Runs inside the interpreter that is asked: opens each file in a child of its own and tells what the loader said.

Started by `oracle.py` as a script, never imported. It imports only what every interpreter has built in, and `ctypes`,
so that a forked child stands where a fresh process stands after `import torch`: the same libraries in memory.

Protocol: standard input is what to import before (commas between), the timeout in seconds, then the paths, all ended by
NUL bytes; standard output is one record a path: outcome, NUL, message, NUL.
"""

import ctypes
import importlib
import os
import signal
import sys


def _open(path: bytes, report: int, timeout: int) -> None:
    """In the child: try, report, leave. Whatever the file's constructors print goes nowhere."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    signal.alarm(timeout)
    try:
        ctypes.CDLL(os.fsdecode(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        os.write(report, b"fails\0" + os.fsencode(str(error)))
    except UnicodeDecodeError as error:
        # A message that names bytes which are not UTF-8; CPython 3.11 cannot make a str of it.
        os.write(report, b"fails\0" + error.object)
    else:
        os.write(report, b"loads\0")
    # Destructors of what was opened are not the question.
    os._exit(0)


def ask_loader(path: bytes, timeout: int) -> tuple[bytes, bytes]:
    """(outcome, text) of opening one file in a child, as `oracle.Answer` has them; waits `timeout` seconds at most."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _open(path, writer, timeout)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    os.set_blocking(reader, False)
    parts = []
    while True:
        try:
            part = os.read(reader, 65536)
        except BlockingIOError:  # a grandchild of some constructor still holds the other end
            break
        if not part:
            break
        parts.append(part)
    os.close(reader)
    said = b"".join(parts)
    if said:
        outcome, _, text = said.partition(b"\0")
        return outcome, text
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGALRM:
            return b"timeout", b"no answer in %d s" % timeout
        return b"crash", b"killed by signal %d" % number
    return b"crash", b"left with exit status %d" % os.WEXITSTATUS(status)


def main() -> None:
    mode, seconds, *paths = sys.stdin.buffer.read().split(b"\0")[:-1]
    for module in filter(None, mode.decode().split(",")):
        importlib.import_module(module)
    for path in paths:
        outcome, text = ask_loader(path, int(seconds))
        sys.stdout.buffer.write(outcome + b"\0" + text + b"\0")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
