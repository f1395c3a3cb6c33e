"""Runs inside the tested interpreter: opens each file in its own child process and reports the loader's result.

Started by `oracle.py` as a script, never imported. It imports only built-in modules and `ctypes`, so that a forked
child is in the same state as a fresh process after `import torch`: the same libraries are loaded. Protocol: standard
input has the modules to import first (separated by commas), the timeout in seconds, then the paths, each ended by NUL;
standard output has one record per path: outcome, NUL, message, NUL."""

import ctypes
import importlib
import os
import signal
import sys


def _open(path: bytes, report: int, timeout: int) -> None:
    """In the child: open, report, exit. Output of the file's constructors is discarded."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    signal.alarm(timeout)
    try:
        ctypes.CDLL(os.fsdecode(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        os.write(report, b"fails\0" + os.fsencode(str(error)))
    except UnicodeDecodeError as error:
        # A message with bytes that are not UTF-8, which CPython 3.11 cannot convert to str.
        os.write(report, b"fails\0" + error.object)
    else:
        os.write(report, b"loads\0")
    # Destructors of the opened files are not tested.
    os._exit(0)


def ask_loader(path: bytes, timeout: int) -> tuple[bytes, bytes]:
    """(outcome, text) of opening one file in a child, see `oracle.Answer`; waits at most `timeout` seconds."""
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
        except BlockingIOError:  # a grandchild of a constructor still holds the other end
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
