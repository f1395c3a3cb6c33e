"""The options of `abiscan scan`: the one table of them, and a reader of plain command lines.

click reads every command line by this table (`cli.scan`). It is 66 of the 540 million instructions of a small scan, so
that what can mean one thing only is read here, and everything else is left to it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from abiscan.cli.command_line import CommandLine


class Option(Struct, frozen=True):
    """An option.

    Attributes:
        names: `-f`, `--format`.
        key: its field in `CommandLine`.
        metavar: how help calls its value; None for a flag, and where `choices` say it.
        repeats: it may stand several times, and its value is a tuple.
        choices: the only values.
        least: it takes a number, of at least this.
        whole: an integer, where it takes a number.
        default: its value where it is not given; None for none, or for a flag that is not set.
        bare: its value where it stands without one, which may be left out then.
        hidden: for those who work on abiscan; not in the help.
    """

    names: tuple[str, ...]
    key: str
    help: str
    metavar: str | None = None
    repeats: bool = False
    choices: tuple[str, ...] = ()
    least: int | None = None
    whole: bool = True
    default: int | str | None = None
    bare: str | None = None
    hidden: bool = False

    @property
    def is_flag(self) -> bool:
        """Whether it takes no value."""
        return self.metavar is None and not self.choices


OPTIONS = (
    Option(("-r", "--targets-from"), "lists", "More targets, one a line.", "FILE", repeats=True),
    Option(
        ("--torch",),
        "torch",
        "Resolve against: installed, declared, a release (2.6.0, 2.6.0+cu124), or a path.",
        "SPEC",
    ),
    Option(("--python",), "python", "Whose environment to look at: an interpreter or a virtual environment.", "PATH"),
    Option(("--root",), "root", "Look at the file system in DIR (an unpacked image) and at nothing outside.", "DIR"),
    Option(
        ("--gpu",),
        "gpus",
        "A GPU that must run its kernels: sm_90, gfx942, or here; repeatable, or with commas.",
        "ARCH",
        repeats=True,
    ),
    Option(
        ("--driver",),
        "driver",
        "NVIDIA's driver beside --gpu, which must compile PTX: 535.104.05, or here.",
        "VERSION",
    ),
    Option(("--matrix",), "matrix", "Also judge every known torch build of the file's architecture."),
    Option(("--source",), "sources", "Find the flagged calls in these sources.", "DIR", repeats=True),
    Option(
        ("-f", "--format"),
        "formats",
        "text, json, ndjson, sarif, junit, github, markdown, html; repeatable. parquet:DIR: tables of many wheels.",
        "NAME[:FILE]",
        repeats=True,
    ),
    Option(("--resume",), "resume", "Go on with the tables in DIR: what is done there is not done again.", "DIR"),
    Option(("--engine",), "engine", "Who scans for tables: local (default), ray, or ray:ADDRESS.", "ENGINE"),
    Option(("--time-limit",), "time_limit", "For each wheel of tables.", "SECONDS", least=1, whole=False),
    Option(("--memory-limit",), "memory_limit", "For each wheel of tables.", "MIB", least=256),
    Option(
        ("--imports",),
        "imports",
        "Imports that -f json lists (default: all); they are all counted.",
        choices=("all", "unresolved"),
    ),
    Option(
        ("--history",),
        "history",
        "JSON reports of earlier runs (*.json): the page shows windows and findings over time.",
        "DIR",
    ),
    Option(
        ("--fail-on",),
        "fail_on",
        "Lowest severity that fails the run (default: error).",
        choices=("error", "warning", "note", "never"),
    ),
    Option(("--select",), "select", "Only these rules; repeatable, or with commas.", "RULE", repeats=True),
    Option(("--ignore",), "ignore", "Not these rules; repeatable, or with commas.", "RULE", repeats=True),
    Option(("--baseline",), "baseline", "Accept what this file lists; only what is new fails.", "FILE"),
    Option(("--write-baseline",), "write_baseline", "Write what is found now as the baseline, and pass.", "FILE"),
    Option(("--no-stale",), "no_stale", "Let baseline entries pass that match nothing any more."),
    Option(
        ("--require-torch",),
        "require_torch",
        "Every build in this range must load the file ('>=2.4,<2.9').",
        "SPEC",
    ),
    Option(
        ("--require-stable-abi",),
        "require_stable_abi",
        "Only torch's stable C ABI may be imported (of at most this release).",
        "[VERSION]",
        bare="any",
    ),
    Option(("--config",), "config", "Default: [tool.abiscan] in pyproject.toml, or abiscan.toml, upward.", "FILE"),
    Option(("--hash",), "hashes", "sha256 of every file in the report (reads all of it)."),
    Option(
        ("-j", "--jobs"),
        "jobs",
        "Processes (default: 1; 2 for wheels of 16 MiB and more, given two processors).",
        "N",
        least=1,
    ),
    Option(("-q", "--quiet"), "quiet", "Only what fails."),
    Option(("-v", "--verbose"), "verbose", "All imports, all symbols, all releases."),
    Option(("--color",), "color", "Default: auto.", choices=("auto", "always", "never"), default="auto"),
    Option(("--timings",), "timings", "Print the milliseconds of each pass, in one process.", hidden=True),
)


def read_plain(words: Sequence[str]) -> CommandLine | None:
    """A command line of `abiscan scan`: targets that are paths which exist, and options that stand as they are
    documented, each value a word of its own or behind `=`. None for any other, which click reads or refuses."""
    by_name = {name: option for option in OPTIONS for name in option.names}
    targets: list[str] = []
    found: dict[str, Any] = {}
    rest = iter(words[1:] if words[:1] == ["scan"] else words)
    for word in rest:
        if not word.startswith("-"):
            if not _is_path(word):
                return None
            targets.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = by_name.get(name)
        if option is None or option.bare is not None or (option.is_flag and equals):
            return None
        if option.is_flag:
            found[option.key] = True
            continue
        text = value if equals else next(rest, "-")
        if not equals and text.startswith("-"):
            return None
        if not _is_plain(text, option):
            return None
        if option.repeats:
            found[option.key] = (*found.get(option.key, ()), text)
        else:
            found[option.key] = text if option.least is None else int(text)
    return CommandLine(targets=tuple(targets), **found) if targets else None


def _is_path(word: str) -> bool:
    """Whether a word can be nothing but a target: no option, no command (their names have no dot) and no package."""
    return ("." in word or "/" in word) and os.path.exists(word)


def _is_plain(text: str, option: Option) -> bool:
    if option.choices:
        return text in option.choices
    if option.least is not None:
        # Of few digits: nobody reads such a number otherwise.
        digits = option.whole and text.isascii() and text.isdecimal() and len(text) < 10
        return digits and int(text) >= option.least
    return True
