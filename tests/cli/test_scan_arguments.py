"""Command lines that are parsed without click have the same meaning as with click; click parses or rejects the
others."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from abiscan.cli.command_line import CommandLine
from abiscan.cli.commands import cli
from abiscan.cli.scan import scan
from abiscan.cli.scan_arguments import OPTIONS, read_plain
from tests.inputs.kit import FIXTURES

TARGET = str(FIXTURES / "good-extension.so")
NAMES = [name for option in OPTIONS for name in option.names.split()]
VALUES = [
    "2.9.0",
    "json",
    "json:out.json",
    "3",
    "0",
    "007",
    "-1",
    "256",
    "255",
    "1.5",
    "٣",
    "",
    "never",
    "Never",
    "a=b",
]
# Single words that are packages, typing errors of commands, or values of options.
WORDS = [TARGET, "scan", "torch", "rule", "-", "--", "--help", "-qv", "-j2", "--no-matrix", "--form", *VALUES, *NAMES]


def by_click(words: list[str]) -> dict[str, object] | None:
    """The parameters of `scan` without defaults; None if click rejects the command line."""
    try:
        group = cli.make_context("abiscan", list(words))
        if group._protected_args[:1] != ["scan"]:
            return None
        context = scan.make_context("scan", [*group.args])
    except (click.ClickException, click.exceptions.Exit, Exception):
        return None
    defaults = {param.name: param.get_default(context) for param in scan.params}
    empty = (None, (), False, 0)
    return {
        name: value
        for name, value in context.params.items()
        if value != defaults[name] and not (value in empty and defaults[name] not in (1, "auto"))
    }


def without_defaults(line: CommandLine) -> dict[str, object]:
    return {name: value for name, value in asdict(line).items() if value != getattr(CommandLine(), name)}


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.one_of(
            st.sampled_from([TARGET, *NAMES, *WORDS]).map(lambda word: [word]),
            st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)).map(list),
            st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)).map(lambda pair: ["=".join(pair)]),
        ),
        max_size=6,
    )
)
def test_the_result_is_that_of_click(parts: list[list[str]]) -> None:
    words = [word for part in parts for word in part]
    read = read_plain(words)
    if read is not None:
        assert without_defaults(read) == by_click(words), words


@pytest.mark.parametrize(
    "words",
    [
        [TARGET],
        ["scan", TARGET, "-q"],
        ["-q", TARGET, "-v", TARGET],
        [TARGET, "--torch", "2.9.0", "-j", "2"],
        [TARGET, "--torch=2.9.0", "-f", "json:out", "--format", "text", "--fail-on", "never", "--color=always"],
        [TARGET, "--inputs-from=-1"],
        [TARGET, "--select", "a,b", "--select=c", "--jobs", "2", "--hash", "--baseline", "b.json", "-v", "--verbose"],
    ],
)
def test_what_is_written_as_documented_needs_no_click(words: list[str]) -> None:
    read = read_plain(words)
    assert read is not None
    assert without_defaults(read) == by_click(words)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["scan"],
        ["explain", TARGET],
        ["torch"],
        ["-q"],
        [TARGET, "-h"],
        [TARGET, "--jobs", "0"],
        [TARGET, "--jobs", "two"],
        [TARGET, "--fail-on", "Never"],
        [TARGET, "--torch"],
        [TARGET, "--torch", "-q"],
        [TARGET, "--quiet=yes"],
        [TARGET, "--require-stable-abi", TARGET],
        [TARGET, "-f", "parquet:out"],
        [TARGET, "-vv"],
        [TARGET, "--", "-q"],
        [TARGET, "-qv"],
        [TARGET, "--unknown"],
        ["nothing.so"],
    ],
)
def test_what_may_mean_something_else_is_left_to_click(words: list[str]) -> None:
    assert read_plain(words) is None


def test_the_table_of_options_and_the_value_have_the_same_fields() -> None:
    """The keywords that click passes fit `CommandLine`, and the defaults in table and class are equal."""
    assert {option.key for option in OPTIONS} | {"targets"} == set(CommandLine.__struct_fields__)
    for option in OPTIONS:
        default = option.default if option.default is not None else () if option.repeats else None
        assert getattr(CommandLine(), option.key) == ((0 if option.counts else False) if option.is_flag else default), (
            option.key
        )


def test_a_file_that_is_called_as_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first word is the command, as in click; another word without a dot is not a path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scan").touch()
    assert read_plain(["scan", "./scan"]) == CommandLine(targets=("./scan",))
    assert read_plain(["scan", "scan"]) is None
