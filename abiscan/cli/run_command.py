"""`abiscan run`: runs a command, passes its output through and explains its errors at the end."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from typing import Any, Final

import click
from msgspec.structs import replace

from abiscan.cli.command_line import CommandLine
from abiscan.cli.options import scan_options
from abiscan.cli.output import note, style_for
from abiscan.cli.parameters import require_posix, select_options
from abiscan.errors import os_error_words
from abiscan.model.words import counted

# Exit statuses of a command that was not started (POSIX.1-2024, env): not found, not executable.
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


@click.command(
    context_settings={"allow_interspersed_args": False},
    params=[
        click.Argument(["command"], nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] COMMAND..."),
        *select_options(
            "color",
            torch="Torch to explain against: installed, a release, or a path.",
            python="Environment (default: that of COMMAND, else the active one).",
            verbose="Print all causes and all evidence.",
        ),
    ],
)
@click.pass_context
def run(ctx: click.Context, /, command: tuple[str, ...], **given: Any) -> None:
    """Run COMMAND and explain its errors.

    Passes through the output and exit status of COMMAND. At its end, explains the errors in the last MiB of the output
    (imports, linkers, compilers, torch.compile) on standard error, as `abiscan explain` does.
    """
    require_posix("run")
    from abiscan.cli.child_process import pass_through

    try:
        status, tail = pass_through(command)
    except OSError as error:
        words = "no such command" if isinstance(error, FileNotFoundError) else os_error_words(error)
        note(f"error: {command[0]}: {words}")
        ctx.exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE)
    text = tail.decode("utf-8", "replace")
    if status == 0:
        text = re.sub(_WARNING, "", text)
    _explain(text, command, CommandLine(**given))
    ctx.exit(status)


# Of a command that succeeded, a line with a warning is no error, unless a library was not loaded.
_WARNING: Final = r"(?m)^(?!.*(?i:symbol|shared object|cannot open|dlopen)).*\b(?:\w*W|w)arning: .*$"


def _explain(text: str, command: Sequence[str], line: CommandLine) -> None:
    """Explain the errors in the text. If that fails, print one line; the exit status stays that of the command."""
    from abiscan.diagnosis.readings.read_text import read_text

    if not read_text(text).found:
        return  # symbols without an error message
    from abiscan.analysis.explanation import explain_text
    from abiscan.errors import AbiscanError
    from abiscan.report import subjects_text
    from abiscan.report.escape import safe_text

    line = replace(line, python=line.python or _python_of(command[0]))
    try:
        subjects = explain_text(_shown(command) + text, scan_options(replace(line, quiet=True))).subjects
    except AbiscanError as error:
        note(f"error: {error}")
        return
    known = [subject for subject in subjects if subject.causes]
    if known:
        shown = subjects_text.render(known, style_for(line, sys.stderr))
        click.echo(
            f"\nabiscan: {counted(len(known), 'error')} explained:\n{safe_text(shown)}",
            err=True,
            nl=False,
            color=True,
        )


def _shown(command: Sequence[str]) -> str:
    """The line of a command that installs packages: its options decide the cause. Empty for others: code in them may
    contain names and messages."""
    return f"$ {shlex.join(command)}\n" if "install" in command else ""


def _python_of(name: str) -> str | None:
    """The virtual environment of a command (`pyvenv.cfg`, PEP 405); None if it is in none."""
    import shutil

    path = shutil.which(name)
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(path))) if path else None
    return prefix if prefix is not None and os.path.isfile(os.path.join(prefix, "pyvenv.cfg")) else None
