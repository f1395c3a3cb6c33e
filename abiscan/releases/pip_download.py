"""Downloads one wheel with pip: the only place that runs pip. It uses the user's own configuration (indexes, proxies,
credentials), accepts only wheels, and so runs no code of what it downloads."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from abiscan.child_processes import DEVNULL, TimeoutExpired, run_module
from abiscan.errors import AbiscanError
from abiscan.model.limits import MAX_PIP_SECONDS, MIN_RATE, PIP_RATE_SECONDS

# Messages of pip or urllib3, mostly warnings, before "no matching distribution".
_UNREACHABLE = re.compile(
    r"Name or service not known|Temporary failure in name resolution|Failed to (?:establish a new connection|resolve)"
    r"|Connection(?:Error| refused| aborted| reset)|Network is unreachable|Max retries exceeded|ProxyError|SSLError"
    r"|ReadTimeoutError|ConnectTimeoutError|Retrying \(Retry"
)
_NO_PIP = re.compile(r"No module named '?pip\b")


class Fetched(Struct, frozen=True):
    """Result of a download.

    Attributes:
        wheel: the file; None if there is none.
        reason: why there is none, in pip's own last line.
        offered: the versions that the index has, as listed by pip; empty if it has none or was not reached.
        unreachable: no server answered in time, so it is unknown whether there is such a wheel.
        stopped: whether pip was stopped after a limit, which `reason` names.
    """

    wheel: Path | None
    reason: str = ""
    offered: str = ""
    unreachable: bool = False
    stopped: bool = False


class _Growth:
    """Checks whether the download grows: pip itself only limits the time of one read.

    Attributes:
        stalled: the last result of `is_stalled`.
    """

    def __init__(self, unfinished: Path) -> None:
        self.stalled = False
        self._unfinished = unfinished
        self._since, self._size = time.monotonic(), 0

    def is_stalled(self) -> bool:
        """Whether fewer bytes arrived in a period than a server must send (SECURITY.md)."""
        now = time.monotonic()
        if now - self._since > PIP_RATE_SECONDS:
            size = sum(_size(path) for path in self._unfinished.rglob("*"))
            self.stalled = abs(size - self._size) < MIN_RATE * (now - self._since)
            self._since, self._size = now, size
        return self.stalled


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:  # pip has moved it
        return 0


def pip_download(
    requirement: str, into: Path, *, python: str, platforms: Sequence[str], abis: Sequence[str] = (), quiet: bool
) -> Fetched:
    """Download the wheel of one requirement, without its dependencies.

    Args:
        requirement: a name with a version, or the URL of a wheel; never an option.
        into: an existing directory without wheels.
        python: the CPython of the wheel, such as `311`.
        platforms: accepted platform tags.
        abis: accepted ABI tags; if empty, those of the Python.
        quiet: no progress bar; otherwise pip prints it to stderr.

    Raises:
        AbiscanError: this Python has no pip.
    """
    command = ["download", "--disable-pip-version-check", "--no-input"]
    command += [f"--dest={os.fspath(into)}", "--no-deps", "--only-binary=:all:", "--implementation=cp"]
    command += [f"--python-version={python}", *(f"--platform={each}" for each in platforms)]
    command += [f"--abi={each}" for each in abis]
    command += ["--quiet"] if quiet else ["--progress-bar=on"]
    output = DEVNULL if quiet else sys.stderr.fileno()
    with tempfile.TemporaryDirectory(prefix="abiscan-pip-") as unfinished:
        growth = _Growth(Path(unfinished))
        try:
            done = run_module(
                "pip",
                [*command, "--", requirement],
                timeout=MAX_PIP_SECONDS,
                stdout=output,
                variables={"TMPDIR": unfinished},
                is_stalled=growth.is_stalled,
            )
        except TimeoutExpired:
            limit = f"more than {MAX_PIP_SECONDS} s"
            if growth.stalled:
                limit = f"less than {MIN_RATE} bytes a second for {PIP_RATE_SECONDS} s"
            return Fetched(None, f"pip was stopped: {limit} to fetch it", unreachable=True, stopped=True)
    wheels = sorted(into.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return Fetched(wheels[0])
    if _NO_PIP.search(done.stderr):
        raise AbiscanError(f"{sys.executable} has no pip, which fetches: python -m ensurepip")
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    # A traceback follows `ERROR: Exception:`; its last line is the error.
    errors = [line[7:] for line in lines if line.startswith("ERROR: ") and line != "ERROR: Exception:"]
    last = (errors or lines or [f"pip ended with status {done.returncode}"])[-1]
    if last.startswith("ResolutionImpossible"):
        # Nothing else is installed or requested, so only a constraint can conflict with it.
        last = "a constraint in the configuration of pip excludes it (see pip config list)"
    # "Could not find a version that satisfies the requirement torch==9.9 (from versions: 1.13.0, ...)"
    known = re.search(r"\(from versions: ([^)]+)\)", done.stderr)
    offered = known[1] if known is not None and known[1] != "none" else ""
    unreachable = not offered and _UNREACHABLE.search(done.stderr) is not None
    return Fetched(None, last, offered, unreachable)
