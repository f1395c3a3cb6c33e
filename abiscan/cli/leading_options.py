"""Options before the command: `abiscan --color never diff A B` is `abiscan diff --color never A B`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from abiscan.cli.scan_arguments import OPTIONS, Option

_BY_NAME = {name: option for option in OPTIONS for name in option.names.split()}


def move_command_first(words: Sequence[str], commands: Collection[str]) -> list[str]:
    """The command line with the command as the first word, if only options of the table precede it; else unchanged."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        used = _words_of_option(words[place:], commands)
        if not used:
            return list(words)
        place += used
    if place >= len(words) or words[place] not in commands:
        return list(words)
    return [words[place], *words[:place], *words[place + 1 :]]


def _words_of_option(words: Sequence[str], commands: Collection[str]) -> int:
    """Number of words of the first option with its value; 0 if it is not in the table."""
    name, equals, _ = words[0].partition("=")
    if not name.startswith("--"):
        option, attached = _last_short(words[0])
        equals = equals or attached
    else:
        option = _BY_NAME.get(name)
    if option is None:
        return 0
    if option.is_flag or equals:
        return 1
    if option.bare is not None and (len(words) < 2 or words[1].startswith("-") or words[1] in commands):
        return 1
    return 2


def _last_short(word: str) -> tuple[Option | None, str]:
    """The last option of `-qv` or `-fjson`, and its attached value."""
    for number, letter in enumerate(word[1:], 2):
        option = _BY_NAME.get(f"-{letter}")
        if option is None or not option.is_flag or number == len(word):
            return option, word[number:]
    return None, ""
