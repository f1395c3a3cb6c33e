"""A rule file that breaks the law is refused with its name and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.rules.validate import InvalidRule, read_rule_file

GOOD = """
summary = "A thing is called"
why = "Because."
example = "thing();"
use_instead = "Nothing."
references = ["https://example.org/thing"]
since = "0.1.0"
severity = "note"
confidence = "high"
message = "calls {name}"
fix = "do not"
[[import]]
base = ["thing"]
"""


def read(folder: Path, text: str, name: str = "a-thing.toml") -> None:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    read_rule_file(path)


def test_the_model_of_these_tests_is_lawful(tmp_path: Path) -> None:
    read(tmp_path, GOOD)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('why = "Because."', "", "why is missing"),
        ('why = "Because."', 'why = ""', "why must be text"),
        ('since = "0.1.0"', 'since = "0.1.0"\ncolour = "red"', "unknown key 'colour'"),
        ('severity = "note"', 'severity = "fatal"', "'fatal' is none of error, warning, note"),
        ("https://example.org/thing", "http://example.org", "references must be https links"),
        ("{name}", "{nmae}", "names nmae"),
        ("{name}", "{name", "expected '}'"),
        ('base = ["thing"]', 'bases = ["thing"]', "unknown key 'bases'"),
        ('base = ["thing"]', "base = []", "base must be a list that is not empty"),
        ('base = ["thing"]', 'severity = "note"', "it would match everything"),
        ('base = ["thing"]', 'base = ["thing"]\nmessage = "one"', "message and fix go together"),
        ('base = ["thing"]', 'name = ["thing"]\nscope = ["at"]', "a whole C name has no scope"),
        ('base = ["thing"]', 'name_starts = ["_ZN2at"]', "mangled names are matched by scope and base"),
        ('[[import]]\nbase = ["thing"]', "", "it matches nothing"),
        ("[[import]]", '[severity_when]\nresolved = "error"\n[[import]]', "an import that binds is no error"),
        ("[[import]]", '[severity_when]\nlost = "error"\n[[import]]', "unknown key 'lost'"),
        ('summary = "A thing is called"', 'summary = "A thing is called."', "summary must not end with"),
        ('summary = "A thing is called"', "summary = A thing", "a-thing.toml"),
    ],
)
def test_broken_law(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidRule) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert str(caught.value).startswith("a-thing.toml")
    assert said in str(caught.value)


def test_file_name_is_the_id(tmp_path: Path) -> None:
    with pytest.raises(InvalidRule, match="lower-case words"):
        read(tmp_path, GOOD, "A_Thing.toml")
