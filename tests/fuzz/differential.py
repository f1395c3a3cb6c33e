"""Compares abiscan's prediction for mutated shared objects with this machine's loader.

The loader runs code of the files: each is opened in a forked child that cannot write files and is stopped after a few
seconds. Mutations change tables, not code. Use a container anyway."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import IO, NamedTuple

from abiscan.elf import open_elf
from abiscan.environment.python import read_environment
from abiscan.errors import UnreadableFile
from abiscan.loader import Loader, LoaderSettings
from tests.fixtures.loader_crash_cases import CASES
from tests.fixtures.tiny_elf import build
from tests.fuzz.kinds import FIXTURES
from tests.fuzz.mutate import mutate_elf
from tests.truth.oracle import LOADER_VARIABLES

_ROOT = Path(__file__).resolve().parents[2]
_SERVER = """
import os, resource, sys
sys.path.insert(0, sys.argv[1])
from tests.truth.server import ask_loader
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
for line in sys.stdin.buffer:
    outcome, text = ask_loader(line[:-1], 5)
    sys.stdout.buffer.write(outcome + b"\\0" + text.replace(b"\\0", b"").replace(b"\\n", b" ") + b"\\n")
    sys.stdout.buffer.flush()
"""
_MOST = 40_000


class Seed(NamedTuple):
    """A shared object that the loader loads, in a directory with its needed libraries."""

    directory: str
    data: bytes


class Outcome(NamedTuple):
    """Both results for one input.

    Attributes:
        loader: `loads`, `fails`, `crash` or `timeout`.
        abiscan: `loads`, `fails`, `undecided` or `unreadable`.
    """

    loader: str
    loader_text: str
    abiscan: str
    abiscan_text: str

    @property
    def sort(self) -> str:
        """`agreed`. `open`: abiscan makes no claim. `passed`: the loader fails, abiscan predicts success. `dies`: the
        process died, abiscan predicts success. `refused`: the loader succeeds, abiscan predicts failure. `words`: both
        fail with different messages."""
        if self.abiscan in ("undecided", "unreadable"):
            return "open"
        if self.abiscan == "loads":
            return {"loads": "agreed", "fails": "passed"}.get(self.loader, "dies")
        if self.loader == "loads":
            return "refused"
        return "words" if self.loader == "fails" and self.loader_text != self.abiscan_text else "agreed"


class Differential:
    """One process with the loader and one model of it, for any number of inputs."""

    def __init__(self, directory: str) -> None:
        if platform.libc_ver()[0] != "glibc":
            raise SystemExit("the differential kind asks glibc's loader, which this interpreter does not run with")
        self._directory = directory
        environment = {name: value for name, value in os.environ.items() if name not in LOADER_VARIABLES}
        self._server = subprocess.Popen(
            [sys.executable, "-P", "-S", "-c", _SERVER, str(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._model = Loader(LoaderSettings(cwd="/"), read_environment(sys.executable))
        self._number = 0
        self._all = self._candidates()
        self._loaded = [self.ask(self._write(seed, seed.data))[0] == "loads" for seed in self._all]

    def _candidates(self) -> list[Seed]:
        found = []
        for path in sorted((FIXTURES / "loader").glob("*/target.so")):
            if not path.is_file() or path.stat().st_size > _MOST:
                continue
            data = path.read_bytes()
            if data[:6] != b"\x7fELF\2\1":
                continue
            copy = os.path.join(self._directory, path.parent.name)
            shutil.copytree(path.parent, copy, symlinks=True)
            found.append(Seed(copy, data))
        return found + [Seed(self._directory, build(library)) for library in CASES.values()]

    def _write(self, seed: Seed, data: bytes) -> str:
        self._number += 1
        path = os.path.join(seed.directory, f"fuzz-{self._number}.so")
        with open(path, "wb") as file:
            file.write(data)
        return path

    def ask(self, path: str) -> tuple[str, str]:
        """The result of the loader for a file."""
        stdin, stdout = self._server.stdin, self._server.stdout
        assert stdin is not None
        assert stdout is not None
        return _asked(stdin, stdout, path)

    def predicted(self, path: str) -> tuple[str, str]:
        """The prediction of abiscan."""
        try:
            elf = open_elf(path)
        except UnreadableFile as error:
            said = self._model.predict(None, path)
            return ("fails", said.error or "") if said.outcome is not None else ("unreadable", error.reason)
        try:
            said = self._model.predict(elf, path)
        except UnreadableFile as error:
            return "unreadable", error.reason
        finally:
            self._model.forget()
        if said.outcome is None:
            return "undecided", said.undecided or ""
        return said.outcome.value, said.error or ""

    def make(self, rng: Random) -> tuple[Seed, bytes]:
        """A mutated shared object and its directory."""
        # Draw from all seeds: if one does not load, or is too slow, the inputs of the others do not change.
        while True:
            number = rng.randrange(len(self._all))
            if self._loaded[number]:
                return self._all[number], mutate_elf(self._all[number].data, rng)

    def run(self, seed: Seed, data: bytes) -> Outcome:
        """Both results for one input."""
        path = self._write(seed, data)
        try:
            return Outcome(*self.ask(path), *self.predicted(path))
        finally:
            os.unlink(path)


def _asked(stdin: IO[bytes], stdout: IO[bytes], path: str) -> tuple[str, str]:
    stdin.write(os.fsencode(path) + b"\n")
    stdin.flush()
    answer = stdout.readline()
    if not answer:
        raise RuntimeError("the process that asks the loader is gone")
    outcome, _, text = answer[:-1].partition(b"\0")
    return outcome.decode(), os.fsdecode(text)


def minimised(both: Differential, seed: Seed, data: bytes) -> bytes:
    """The input with as few changed bytes as possible for the same kind of outcome."""
    wanted = both.run(seed, data).sort
    changed = [at for at, (old, new) in enumerate(zip(seed.data, data, strict=False)) if old != new]
    best = data
    for at in changed:
        tried = bytearray(best)
        tried[at] = seed.data[at]
        if both.run(seed, bytes(tried)).sort == wanted:
            best = bytes(tried)
    return best


def start() -> Differential:
    """In this process, with its files in a directory of their own."""
    return Differential(tempfile.mkdtemp(prefix="abiscan-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
