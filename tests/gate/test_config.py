"""Configuration: valid files, and errors with their advice."""

from __future__ import annotations

import datetime

import pytest

from abiscan.errors import UsageError
from abiscan.gate.config import load_config, parse_fail_on
from abiscan.gate.path_pattern import path_matches
from abiscan.gate.policy import Ignore, Policy
from abiscan.model.finding import Severity
from tests.processor_time import at_most
from tests.tables import data_text, table_rows

RULES = ("missing-import", "const-data-ptr", "unstable-abi")

FULL = data_text(__file__, "every_option.toml")


def test_every_field_in_one_declaration() -> None:
    assert load_config(FULL, "abiscan.toml", RULES) == Policy(
        fail_on=Severity.WARNING,
        severities=(("const-data-ptr", Severity.ERROR), ("unstable-abi", Severity.NOTE)),
        ignores=(
            Ignore(
                "abiscan.toml, ignore 1",
                "goes with 2.0",
                "const-data-ptr",
                "_ZNK2at*",
                "torchvision.libs/*",
                datetime.date(2027, 1, 31),
            ),
            Ignore("abiscan.toml, ignore 2", "not ours", path="vendor/**"),
        ),
        allow_stale=True,
        baseline="abiscan-baseline.json",
        require_torch=">=2.4,<2.9",
        require_stable_abi=True,
        stable_abi_version="2.10",
        imports_shown="unresolved",
    )


def test_pyproject_has_it_below_tool() -> None:
    text = "[project]\nname = 'x'\n[tool.abiscan]\nfail-on = 'never'\n[tool.ruff]\nunknown = 1\n"
    assert load_config(text, "some/pyproject.toml", RULES) == Policy(fail_on=None)
    assert load_config("[project]\nname = 'x'\n", "pyproject.toml", RULES) == Policy()


@table_rows
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_config(text, "abiscan.toml", RULES)
    assert message in str(caught.value)
    assert str(caught.value).startswith("abiscan.toml")
    assert "\n" not in str(caught.value)


def test_rules_of_the_gate_are_known() -> None:
    policy = load_config("[severity]\nrequire-torch = 'warning'", "abiscan.toml", ())
    assert policy.severities == (("require-torch", Severity.WARNING),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("error", Severity.ERROR), ("warning", Severity.WARNING), ("note", Severity.NOTE), ("never", None)],
)
def test_fail_on(text: str, expected: Severity | None) -> None:
    assert parse_fail_on(text) is expected


@table_rows
def test_path_patterns(pattern: str, path: str, expected: bool) -> None:
    assert path_matches(pattern, path) is expected


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 100_000 + " = 1",
        "[" + " . ".join(["'a b'", '"c"'] * 20_000) + "]",
        "\n".join("[" + ".".join("a" * parts) + "]" for parts in range(1, 1000)),
        "a = [" + "1," * 600_000 + "]",
    ],
    ids=["key", "quoted key", "headers", "size"],
)
def test_what_takes_too_long_to_parse_is_refused_at_once(text: str) -> None:
    """tomllib took 7 GB for the first of them."""
    with at_most(1), pytest.raises(UsageError, match=r"limit: |more than 32 parts"):
        load_config(text, "abiscan.toml", RULES)


@pytest.mark.parametrize(
    "pattern", ["**/" * 200 + "b", "*a" * 60 + "b", "**a" * 60 + "b", "?*" * 60 + "b", "a/**/" * 60 + "b"]
)
def test_patterns_of_many_stars_take_no_longer(pattern: str) -> None:
    """As regular expressions, they never ended."""
    with at_most(1):
        for path in ("a" * 4000, "a/" * 2000):
            assert not path_matches(pattern, path)


@pytest.mark.parametrize("key", ["path", "symbol"])
def test_a_long_pattern_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match=r"a pattern of 5000 characters \(limit: 4096\)"):
        load_config(f"[[ignore]]\n{key} = '{'[a' * 2500}'\nreason = 'x'\n", "abiscan.toml", RULES)


def test_names_of_many_parts_are_no_keys() -> None:
    symbols = ", ".join(f"'a.b.c.{number}'" for number in range(500))
    with pytest.raises(UsageError, match="unknown key"):
        load_config(f"# {symbols}\nunknown = [{symbols}]\n", "abiscan.toml", RULES)
