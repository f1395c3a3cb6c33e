"""The option table of `abiscan scan`, which other commands share, and a parser for simple command lines. All other
command lines are parsed by click with the same table (`cli.parameters`). Click takes 66 of the 540 million instructions
of a small scan."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from abiscan.cli.command_line import CommandLine


class Option(Struct, frozen=True):
    """An option.

    Attributes:
        names: `-f --format`.
        metavar: name of the value in help; None for a flag, or if there are `choices`.
        repeats: may be given several times; the value is a tuple.
        choices: the allowed values.
        minimum: minimum of an integer value; None if the value is no integer.
        default: value if the option is not given; None if there is none, or for a flag.
        bare: value if the option is given without one.
        counts: a flag whose value is the number of times it is given.
    """

    names: str
    help: str
    metavar: str | None = None
    repeats: bool = False
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    default: int | str | None = None
    bare: str | None = None
    counts: bool = False

    @property
    def key(self) -> str:
        """Its field in `CommandLine`, from its first long name."""
        return self.names.partition("--")[2].partition(" ")[0].replace("-", "_")

    @property
    def is_flag(self) -> bool:
        """Whether it has no value."""
        return self.metavar is None and not self.choices


# Heading in help -> options. Options without a heading are for developers and not in the help.
GROUPS = {
    "Target": (
        Option("-r --inputs-from", "Read PATHs from FILE, one per line.", "FILE", repeats=True),
        Option("--torch", "Check against: installed, declared, a release (2.6.0, 2.6.0+cu124) or a path.", "SPEC"),
        Option("--python", "Environment: an interpreter or a virtual environment.", "PATH"),
        Option("--root", "Use DIR as file system root (an unpacked image); read nothing else.", "DIR"),
        Option(
            "--gpu",
            "GPU that must run the kernels: sm_90, gfx942, or `here` for those of this machine; repeatable.",
            "ARCH",
            repeats=True,
        ),
        Option("--driver", "With --gpu: NVIDIA driver version: 535.104.05, or `here`.", "VERSION"),
        Option("--matrix", "Check against every known torch build, too."),
        Option("--source", "Look for the flagged calls in the sources in DIR.", "DIR", repeats=True),
    ),
    "Output": (
        Option(
            "-f --format --output-format",
            "text, concise, json, ndjson, sarif, junit, github, markdown, html; repeatable.",
            "NAME[:FILE]",
            repeats=True,
        ),
        Option("--statistics", "Print counts per rule and cause instead of the report."),
        Option("--json-lines", "Print a JSON line as each file is done, and a summary, instead of the report."),
        Option("-q --quiet", "Print failures only, without progress and summary."),
        Option("-v --verbose", "Print more of each file; -vv prints everything.", counts=True),
        Option("--color", "Default: auto.", choices=("auto", "always", "never"), default="auto"),
        Option("--imports", "Imports that -f json lists (default: all).", choices=("all", "unresolved")),
        Option("--history", "JSON reports of earlier runs in DIR, for -f html.", "DIR"),
    ),
    "Gate": (
        Option(
            "--fail-on",
            "Lowest severity that fails the run (default: error).",
            choices=("error", "warning", "note", "never"),
        ),
        Option("--select", "Apply only these rules; repeatable, or with commas.", "RULE", repeats=True),
        Option("--ignore", "Do not apply these rules; repeatable, or with commas.", "RULE", repeats=True),
        Option("--baseline", "Accept the findings in FILE; only new ones fail.", "FILE"),
        Option(
            "--baseline-release",
            "Accept the findings of a published wheel: NAME==VERSION, VERSION or latest (the one before).",
            "RELEASE",
        ),
        Option("--write-baseline", "Write the findings to FILE as a baseline, and pass.", "FILE"),
        Option("--allow-stale", "Do not fail on unused baseline entries."),
        Option("--require-torch", "Fail unless every build in this range loads the file ('>=2.4,<2.9').", "SPEC"),
        Option("--require-stable-abi", "Fail on imports outside torch's stable ABI.", "[VERSION]", bare="any"),
        Option("--exit-zero", "Exit with status 0 whatever is found (usage errors: 2)."),
        Option("--config", "Default: nearest abiscan.toml, or pyproject.toml with [tool.abiscan].", "FILE"),
    ),
    "More": (
        Option("--hash", "Add the SHA-256 of every file to the report (slower)."),
        Option("-j --jobs", "Number of processes (default: 1; 2 for wheels over 16 MiB).", "N", minimum=1),
    ),
    "": (Option("--timings", "Print the milliseconds of each pass, in one process."),),
}
OPTIONS = tuple(option for group in GROUPS.values() for option in group)


def read_plain(words: Sequence[str]) -> CommandLine | None:
    """Parse a command line of `abiscan scan` with existing paths as targets and documented options, each value as a
    separate word or after `=`. None for any other command line, which click parses or refuses."""
    by_name = {name: option for option in OPTIONS for name in option.names.split()}
    targets: list[str] = []
    found: dict[str, Any] = {}
    rest = iter(words[1:] if words[:1] == ["scan"] else words)
    for word in rest:
        if not word.startswith("-"):
            # It may be a command (no dot in the name) or a package.
            if not (("." in word or "/" in word) and os.path.exists(word)):
                return None
            targets.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = by_name.get(name)
        if option is None or option.bare is not None or (option.is_flag and equals):
            return None
        if option.is_flag:
            found[option.key] = found.get(option.key, 0) + 1 if option.counts else True
            continue
        text = value if equals else next(rest, "-")
        if not equals and text.startswith("-"):
            return None
        if not _is_plain(text, option):
            return None
        if option.repeats:
            found[option.key] = (*found.get(option.key, ()), text)
        else:
            found[option.key] = text if option.minimum is None else int(text)
    return CommandLine(targets=tuple(targets), **found) if targets else None


def _is_plain(text: str, option: Option) -> bool:
    if option.choices:
        return text in option.choices
    if option.minimum is not None:
        # Short numbers only: every parser reads them alike.
        return text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= option.minimum
    return not text.startswith("parquet")  # former format
