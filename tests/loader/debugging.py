"""LD_DEBUG output of this machine's loader, in a process without torch that opens one file."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from abiscan.elf import open_elf
from abiscan.loader.examination import Examination, examine
from abiscan.loader.process import Process, build_process
from abiscan.loader.search import LoaderSettings
from tests.loader import kit

_OPEN = """
import ctypes, os, sys
try:
    ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_LOCAL)
except OSError as error:
    print(error)
"""
_SCOPE = re.compile(r"object=(\S+) \[0\]\n[^\n]* scope 0: [^\n]*\n[^\n]* scope 1: ([^\n]*)")
_BINDING = re.compile(r"binding file (\S+) \[0\] to (\S+) \[0\]: \w+ symbol `([^']+)'(?: \[([^]]+)\])?")


def _open(path: Path, categories: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, path],
        capture_output=True,
        text=True,
        env=kit.clean_environ({"LD_DEBUG": categories}),
        check=True,
        cwd="/",
    )
    return done.stdout.strip(), done.stderr


def message(path: Path) -> str:
    """The error message for a file; empty if it loads."""
    return _open(path, "")[0]


def search_list(path: Path) -> list[str]:
    """The file and its needed libraries, in the order of symbol lookup."""
    scopes = dict(reversed(_SCOPE.findall(_open(path, "scopes")[1])))
    return scopes[str(path)].split()


def bindings(path: Path) -> dict[tuple[str, str], str]:
    """(object, symbol) -> object that it was bound to, for all relocated objects."""
    return {(user, name): to for user, to, name, _version in _BINDING.findall(_open(path, "bindings")[1])}


def plain_process() -> Process:
    """The model of this process."""
    builder = build_process(LoaderSettings("/"), kit.environment(), None)
    assert builder is not None
    return builder.build(modules=True)


def examined(path: Path, process: Process) -> Examination:
    return examine(process, open_elf(str(path)), str(path), {})
