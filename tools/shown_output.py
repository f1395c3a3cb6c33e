"""Runs commands for pages that show their output, in an environment without torch."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A block after this comment is the output of its first line, `$ abiscan ...`; `| head -N` keeps the first lines.
_BLOCK = re.compile(r"(<!-- run -->\n```(?:console|diff|text)\n)\$ abiscan (.*?)\n.*?(```)", re.DOTALL)
WIDTH = 110


@contextlib.contextmanager
def empty_environment() -> Iterator[str]:
    """An empty virtual environment, removed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{folder}/venv"], check=True)
        yield f"{folder}/venv"


def printed(arguments: list[str], environment: str) -> str:
    """The standard output of a command with lines of at most WIDTH columns; the environment is displayed as .venv. A
    diff stays unchanged."""
    variables = {name: value for name, value in os.environ.items() if name not in ("CONDA_PREFIX", "FORCE_COLOR")}
    done = subprocess.run(
        [sys.executable, "-m", "abiscan", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**variables, "VIRTUAL_ENV": environment, "PYTHONPATH": str(ROOT)},
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"abiscan {shlex.join(arguments)}: {done.stderr}")
    if arguments[0] == "fix":
        return done.stdout.rstrip("\n")
    lines: list[str] = []
    for line in done.stdout.replace(environment, ".venv").splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        wrapper = textwrap.TextWrapper(WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
        lines += wrapper.wrap(line) or [""]
    return "\n".join(lines)


def with_output(page: str) -> str:
    """A page with the current output of the commands in its marked blocks."""

    def again(found: re.Match[str]) -> str:
        command, _, rest = found[2].partition(" | head -")
        arguments = shlex.split(command)
        shown = printed(arguments, environment)
        if rest:
            lines = shown.splitlines()
            shown = "\n".join(lines[: int(rest)] + (["..."] if len(lines) > int(rest) else []))
        return f"{found[1]}$ abiscan {found[2]}\n{shown}\n{found[3]}"

    if "<!-- run -->" not in page:
        raise ValueError("a page without a block behind <!-- run -->")
    with empty_environment() as environment:
        return _BLOCK.sub(again, page)
