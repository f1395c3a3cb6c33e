"""Former names of commands and options: accepted, with a note that has the new name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from abiscan.cli.output import print_stderr

FORMER_COMMANDS = {
    "together": "compat",
    "stable": "migrate",
    "rejudge": "registry recheck",
    "dashboard": "registry dashboard",
}
_OPTIONS = {"--no-stale": "--allow-stale", "--targets-from": "--inputs-from"}
_TABLES = re.compile(r"(?:-f|--format=)?parquet:(.*)", re.DOTALL)


def rename_words(words: Sequence[str], commands: Sequence[str]) -> list[str]:
    """The command line with current names.

    Args:
        commands: commands other than `scan`.
    """
    found = list(words)
    renamed: list[tuple[str, str]] = []
    if words[:1] and words[0] in FORMER_COMMANDS:
        renamed.append((words[0], FORMER_COMMANDS[words[0]]))
        found[:1] = FORMER_COMMANDS[words[0]].split()
    elif words[:1] and words[0] not in commands:
        options = words[: words.index("--")] if "--" in words else words
        names = [word.partition("=")[0] for word in options]
        renamed += [each for each in _OPTIONS.items() if each[0] in names]
        found[: len(options)] = [
            _OPTIONS.get(name, name) + word[len(name) :] for name, word in zip(names, options, strict=True)
        ]
        places = [number for number, word in enumerate(options) if _TABLES.fullmatch(word)]
        if places or any(word.partition("=")[0] == "--resume" for word in options):
            renamed.append(("scan -f parquet:DIR", "registry scan -o DIR"))
            for place in reversed(places):
                bare = found[place].startswith("parquet:")
                found[place - bare : place + 1] = ["-o", found[place].partition(":")[2]]
            found = ["registry", "scan", *found[found[:1] == ["scan"] :]]
    for old, new in renamed:
        print_stderr(f"abiscan: `{old}` is now `{new}`")
    return found
