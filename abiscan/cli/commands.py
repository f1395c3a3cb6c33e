"""The commands for click."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from abiscan import __version__
from abiscan.cli.exit_status import PASS, USAGE
from abiscan.cli.parameters import EXAMPLES, CommandGroup
from abiscan.cli.renamed import FORMER_COMMANDS, rename_words
from abiscan.cli.scan_arguments import OPTIONS
from abiscan.errors import UsageError, nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_TITLES = {
    "Check files": ("scan", "explain", "fix", "run"),
    "Compare and plan": ("diff", "compat", "env", "migrate"),
    "Look up": ("rules", "releases"),
    "Many wheels": ("registry",),
}
COMMANDS = (*(name for names in _TITLES.values() for name in names), "schema")
# Command -> module, if they have different names: `cli` has a function `run`.
_MODULES = {"run": "run_command", **dict.fromkeys(_TITLES["Compare and plan"], "comparison")}


class _Commands(CommandGroup):
    """The commands of the table above. `abiscan PATH...` is `abiscan scan PATH...`."""

    titles = _TITLES

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"abiscan.cli.{_MODULES.get(cmd_name, cmd_name)}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands, and options and inputs of `scan`, which may be omitted."""
        from abiscan.cli import completion

        found = super().shell_complete(ctx, incomplete)
        scan = self.get_command(ctx, "scan")
        assert scan is not None
        if incomplete.startswith("-"):
            own = {item.value for item in found}
            return found + [x for x in scan.shell_complete(click.Context(scan), incomplete) if x.value not in own]
        return found + completion.targets(click.Context(scan), scan.params[0], incomplete)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*COMMANDS, "-h", "--help", "--version"):
            _refuse_slip(args[0])
            args = ["scan", *args]
        return super().parse_args(ctx, args)


def _refuse_slip(word: str) -> None:
    """Refuse a first word that is similar to a command name and is neither a file nor an installed package.

    Raises:
        UsageError: it is.
    """
    if not word.isalpha() or len(word) < 3 or os.path.exists(word):
        return
    near = nearest(word.lower(), (*COMMANDS, *FORMER_COMMANDS), 0.7)
    if near is None:
        return
    from abiscan.cli.options import environment_of
    from abiscan.inputs.packages import find_installed

    environment = environment_of(None)
    if environment is None or find_installed(word, environment.site_packages) is None:
        raise UsageError(
            f"no command, file or installed package {word!r}; did you mean {FORMER_COMMANDS.get(near, near)}?"
        )


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
    no_args_is_help=True,
    options_metavar="[--version]",
    subcommand_metavar="[COMMAND] [--help] [OPTIONS] PATH...",
)
@click.version_option(__version__, prog_name="abiscan")
def cli() -> None:
    """Check whether PyTorch extensions load; if not, print cause and fix."""


def move_command_first(words: Sequence[str]) -> list[str]:
    """`--color never diff A B` as `diff --color never A B`: the first word that is neither an option nor the value of
    one comes first, if it is a command."""
    with_value = {name: option for option in OPTIONS if not option.is_flag for name in option.names.split()}
    known = (*COMMANDS, *FORMER_COMMANDS)
    option = None
    for place, word in enumerate(words):
        is_value = option is not None and (option.bare is None or word not in known)
        # `-vf json`: flags with one letter may precede.
        option = None if is_value else with_value.get(word) or with_value.get(f"-{word.lstrip('-qv')}")
        if not is_value and (word == "--" or not word.startswith("-")):
            return [word, *words[:place], *words[place + 1 :]] if word in known else list(words)
    return list(words)


def run_command(words: Sequence[str]) -> int:
    """Run the command line `words` and return the exit status.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    try:
        words = rename_words(move_command_first(words), [name for name in COMMANDS if name != "scan"])
        status = cli.main(args=list(words), prog_name="abiscan", standalone_mode=False)
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.ClickException as error:
        error.show()
        status = USAGE
    except click.Abort:
        raise KeyboardInterrupt from None
    return status if isinstance(status, int) else PASS
