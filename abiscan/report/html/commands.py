"""What to do, taken apart: prose, and the commands in it, each on its own so that it can be copied and run."""

from __future__ import annotations

import re

from msgspec import Struct

# Programs whose command lines fixes give whole.
_PROGRAMS = "pip|python3?|abiscan|auditwheel|patchelf|conda|wheel"
# To the end of its line, where the line begins with it or a colon stands before it.
_AT_END = re.compile(rf"(?:^|(?<=: ))(?:{_PROGRAMS}) [^`]+$")
# Between backticks; one with a word in capitals is a pattern, with fewer than three words a program's name.
_QUOTED = re.compile(rf"`((?:{_PROGRAMS}) \S+ [^`]+)`")
_PLACEHOLDER = re.compile(r"(?:^|[\s=/])[A-Z]{3,}(?:[\s/]|$)")


class Step(Struct, frozen=True):
    """A line of a fix: `text` is prose, `commands` what in it can be run as it stands."""

    text: str
    commands: tuple[str, ...] = ()


def steps_of(fix: str) -> tuple[Step, ...]:
    """The lines of a fix.

    >>> steps_of('Install another build\\nor: pip install "torch>=2.4"')[1]
    Step(text='or', commands=('pip install "torch>=2.4"',))
    """
    return tuple(_step(line.strip()) for line in fix.split("\n") if line.strip())


def _step(line: str) -> Step:
    found = _AT_END.search(line)
    if found is not None and not _PLACEHOLDER.search(found[0]):
        return Step(line[: found.start()].rstrip().removesuffix(":"), (_bare(found[0]),))
    quoted = [match for match in _QUOTED.findall(line) if not _PLACEHOLDER.search(match)]
    return Step(line, tuple(dict.fromkeys(quoted)))


def _bare(command: str) -> str:
    """Without the full stop that ends the sentence, and without a remark behind `#`."""
    return command.partition("  #")[0].rstrip().removesuffix(".")
