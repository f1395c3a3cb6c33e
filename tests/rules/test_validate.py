"""An invalid rule file is rejected with its name and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.read_rule_file import InvalidRule, read_rule_file

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


def test_the_file_that_these_tests_change_is_right(tmp_path: Path) -> None:
    read(tmp_path, GOOD)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('why = "Because."', "", "missing required field `why`"),
        ('why = "Because."', 'why = ""', "why is empty"),
        ('since = "0.1.0"', 'since = "0.1.0"\ncolour = "red"', "unknown field `colour`"),
        ('severity = "note"', 'severity = "fatal"', "Invalid enum value 'fatal' - at `$.severity`"),
        ("https://example.org/thing", "http://example.org", "references must be https links"),
        ("{name}", "{nmae}", "names nmae"),
        ("{name}", "{name", "expected '}'"),
        ('base = ["thing"]', 'bases = ["thing"]', "unknown field `bases` - at `$.import[0]`"),
        ('base = ["thing"]', "base = []", "base is empty"),
        ('base = ["thing"]', 'base = "thing"', "Expected `array`, got `str` - at `$.import[0].base`"),
        ('since = "0.1.0"', 'since = "0.1.0"\nid = "other"', "the file's name is the id"),
        ("[[import]]", '[[source]]\nmember = ["x"]\nlanguages = ["rust"]\n[[import]]', "Invalid enum value 'rust'"),
        ('base = ["thing"]', 'severity = "note"', "it would match everything"),
        ('base = ["thing"]', 'base = ["thing"]\nmessage = "one"', "message and fix go together"),
        ('base = ["thing"]', 'name = ["thing"]\nscope = ["at"]', "a whole C name has no scope"),
        ('base = ["thing"]', 'name_starts = ["_ZN2at"]', "mangled names are matched by scope and base"),
        ('base = ["thing"]', 'base = ["thing"]\nscope = ["at::native"]', "are lists of parts"),
        ('[[import]]\nbase = ["thing"]', "", "it matches nothing"),
        ("[[import]]", '[severity_when]\nresolved = "error"\n[[import]]', "an import that binds is no error"),
        ("[[import]]", '[severity_when]\nlost = "error"\n[[import]]', "'lost' - at `key` in `$.severity_when`"),
        ('summary = "A thing is called"', 'summary = "A thing is called."', "summary must not end with"),
        ('summary = "A thing is called"', "summary = A thing", "a-thing.toml"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidRule) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert str(caught.value).startswith("a-thing.toml")
    assert said in str(caught.value)


def test_file_name_is_the_id(tmp_path: Path) -> None:
    with pytest.raises(InvalidRule, match="lower-case words"):
        read(tmp_path, GOOD, "A_Thing.toml")
