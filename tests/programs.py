"""Programs that tests run, with their output as text."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from os import PathLike
from typing import Any

Command = Sequence[str | PathLike[str]]


def run_program(command: Command, **given: Any) -> subprocess.CompletedProcess[str]:
    """Run a command that may fail."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **given)


def output_of(command: Command, **given: Any) -> str:
    """What a command that must succeed writes to standard output."""
    return subprocess.run(command, capture_output=True, text=True, check=True, **given).stdout


def run_abiscan(*words: str | PathLike[str], **given: Any) -> subprocess.CompletedProcess[str]:
    """Run the command, with this interpreter."""
    return run_program([sys.executable, "-m", "abiscan", *words], **given)
