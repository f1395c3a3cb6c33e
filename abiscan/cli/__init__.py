"""The command line: the only module that prints, reads the environment or exits.

Exit status: 0 pass; 1 the gate failed; 2 usage; 3 incomplete (something could not be read or decided, nothing failed).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from abiscan import __version__
from abiscan.cli.examples import EXAMPLES
from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS, USAGE
from abiscan.cli.output import safe
from abiscan.errors import AbiscanError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Command -> the module that has it under its own name; a run imports the one that it needs.
_COMMANDS = {
    "scan": "abiscan.cli.scan",
    "explain": "abiscan.cli.explain",
    "rules": "abiscan.cli.rules",
    "releases": "abiscan.cli.releases",
    "fix": "abiscan.cli.fix",
    "schema": "abiscan.cli.schema",
    "diff": "abiscan.cli.diff",
    "env": "abiscan.cli.env",
    "together": "abiscan.cli.together",
    "stable": "abiscan.cli.stable",
    "run": "abiscan.cli.run_command",
    "rejudge": "abiscan.cli.rejudge",
    "dashboard": "abiscan.cli.dashboard",
}


class _Commands(click.Group):
    """The commands of the table above. `abiscan TARGET...` is `abiscan scan TARGET...`: a first word that is no command
    goes to `scan` with the rest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = getattr(importlib.import_module(module), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands; and, since `scan` may be left out, its options and targets."""
        from abiscan.cli import completion

        found = super().shell_complete(ctx, incomplete)
        scan = self.get_command(ctx, "scan")
        assert scan is not None
        if incomplete.startswith("-"):
            own = {item.value for item in found}
            return found + [x for x in scan.shell_complete(click.Context(scan), incomplete) if x.value not in own]
        return found + completion.targets(click.Context(scan), scan.params[0], incomplete)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "-h", "--version"}
        if args and args[0] not in _COMMANDS and args[0] not in own:
            _refuse_slip(args[0])
            args = ["scan", *args]
        return super().parse_args(ctx, args)


def _refuse_slip(word: str) -> None:
    """Refuse a first word that is nearly a command and no file.

    Raises:
        UsageError: it is one.
    """
    if not word.isalpha() or len(word) < 4 or os.path.exists(word):
        return
    import difflib

    near = difflib.get_close_matches(word.lower(), _COMMANDS, n=1, cutoff=0.8)
    if near:
        raise UsageError(f"no command {word!r}; did you mean {near[0]}? (abiscan scan {word} scans what is called so)")


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name="abiscan")
def cli() -> None:
    """Symbol and ABI forensics for PyTorch extension binaries.

    `abiscan TARGET...` reads shared objects, wheels, directories or installed packages, without importing torch and
    without running a byte of them, and says whether they load, why not, and what to do.
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its status."""
    # A run makes tens of thousands of values that live to its end and next to no cycles: collecting every 700
    # allocations, as is the default, takes a tenth of the time and finds nothing.
    gc.set_threshold(50_000)
    if sys.stdout is None or sys.stderr is None:
        sys.exit(_without_streams())
    try:
        status = cli.main(args=list(args) if args is not None else None, prog_name="abiscan", standalone_mode=False)
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.ClickException as error:
        error.show()
        status = USAGE
    except click.Abort:
        click.echo("abiscan: interrupted", err=True)
        status = 130
    except UsageError as error:
        click.echo(f"abiscan: error: {safe(str(error))}", err=True)
        status = USAGE
    except AbiscanError as error:
        click.echo(f"abiscan: error: {safe(str(error))}", err=True)
        status = INCOMPLETE
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            where = f"{safe(str(error.filename))}: " if error.filename else "the report could not be written: "
            click.echo(f"abiscan: error: {where}{(error.strerror or str(error)).lower()}", err=True)
            sys.exit(INCOMPLETE)
        # The reader went away (`| head`). Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = PASS
    sys.exit(status if isinstance(status, int) else PASS)


def _without_streams() -> int:
    """Standard output or standard error is closed (`>&-`): nobody would see the report, so none is made."""
    if sys.stderr is not None:
        sys.stderr.write("abiscan: error: standard output is closed: send it to a file or to /dev/null\n")
    return USAGE


def run() -> NoReturn:
    """The console command: `main`, then out of the process without taking it apart.

    Freeing every module and value one by one takes a tenth of the run and changes nothing: files are only read,
    output is flushed here, and pools are closed where they are used.
    """
    try:
        main()
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else FAIL
        with contextlib.suppress(OSError):  # told already, or there is nobody to tell
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        os._exit(status)
