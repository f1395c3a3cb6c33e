"""The commands, as click reads them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from abiscan import __version__
from abiscan.cli.examples import EXAMPLES
from abiscan.cli.exit_status import PASS, USAGE
from abiscan.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Command -> the module that has it under its own name; a run imports the one that it needs.
COMMANDS = {
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
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = COMMANDS.get(cmd_name)
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
        if args and args[0] not in COMMANDS and args[0] not in own:
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

    near = difflib.get_close_matches(word.lower(), COMMANDS, n=1, cutoff=0.8)
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


def run_command(words: Sequence[str]) -> int:
    """Run the command that `words` are and return its exit status.

    Raises:
        KeyboardInterrupt: the user ended it.
    """
    try:
        status = cli.main(args=list(words), prog_name="abiscan", standalone_mode=False)
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.ClickException as error:
        error.show()
        status = USAGE
    except click.Abort:
        raise KeyboardInterrupt from None
    return status if isinstance(status, int) else PASS
