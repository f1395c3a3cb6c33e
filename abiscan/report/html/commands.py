"""Splits a fix into prose and commands, so that each command can be copied."""

from __future__ import annotations

import re

from msgspec import Struct

# Prefixes of commands in fixes. A sentence may begin with the name of a program too.
_BEGINNING = (
    r"(?:[A-Z][A-Z0-9_]*=(?:\"[^\"]*\"|\S+) )*"
    r"(?:pip (?:install|uninstall|list|show|download) |python3? -[cm] |conda install |apt-get install |export [A-Z_]+="
    r"|abiscan |auditwheel (?:repair|show) |patchelf --|wheel (?:tags|unpack|pack) |readelf -|ldd |ldconfig -)"
)
# To the end of the line, if it starts the line or follows a colon.
_AT_END = re.compile(rf"(?:^|(?<=: )){_BEGINNING}[^`]+$")
# Between backticks; one with an upper-case word is a pattern.
_QUOTED = re.compile(rf"`({_BEGINNING}[^`]+)`")
_PLACEHOLDER = re.compile(r"(?:^|[\s=/])[A-Z]{3,}(?:[\s/]|$)")
# A command up to the prose after it, outside of quotes.
_COMMAND = re.compile(r"""((?:"[^"]*"|'[^']*'|(?! in an? | \(|,? or$)[^"'])+)(.*)""")
_FULL_STOP = re.compile(r"(?<=[\w\"')\]])\.$")


class CommandStep(Struct, frozen=True):
    """A line of a fix.

    Attributes:
        text: prose; may be empty. `remark`: text after the command.
        commands: commands in it that can be run unchanged.
    """

    text: str
    commands: tuple[str, ...] = ()
    remark: str = ""


def steps_of(fix: str) -> tuple[CommandStep, ...]:
    """The lines of a fix.

    >>> steps_of('Install another build\\nor: pip install "torch>=2.4"')[1]
    CommandStep(text='or', commands=('pip install "torch>=2.4"',), remark='')
    """
    return tuple(_step(line.strip()) for line in fix.split("\n") if line.strip())


def _step(line: str) -> CommandStep:
    found = _AT_END.search(line)
    if found is not None:
        command, _, remark = found[0].partition("  # ")
        plain = _COMMAND.fullmatch(command)
        if plain is not None and not _PLACEHOLDER.search(plain[1]):
            before = line[: found.start()].rstrip().removesuffix(":")
            return CommandStep(before, (_FULL_STOP.sub("", plain[1].rstrip()),), (plain[2] + remark).strip())
    quoted = [match for match in _QUOTED.findall(line) if not _PLACEHOLDER.search(match)]
    return CommandStep(line, tuple(dict.fromkeys(quoted)))
