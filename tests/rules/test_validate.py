"""An invalid rule file is rejected with its name and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tables import data_text, table_rows
from tools.read_rule_file import InvalidRule, read_rule_file

GOOD = data_text(__file__, "valid_rule.toml")


def read(folder: Path, text: str, name: str = "a-thing.toml") -> None:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    read_rule_file(path)


def test_the_file_that_these_tests_change_is_right(tmp_path: Path) -> None:
    read(tmp_path, GOOD)


@table_rows
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidRule) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert str(caught.value).startswith("a-thing.toml")
    assert said in str(caught.value)


def test_file_name_is_the_id(tmp_path: Path) -> None:
    with pytest.raises(InvalidRule, match="lower-case words"):
        read(tmp_path, GOOD, "A_Thing.toml")
