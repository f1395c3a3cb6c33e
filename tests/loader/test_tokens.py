"""Dynamic string tokens, by the rules above is_dst in elf/dl-load.c of glibc."""

from __future__ import annotations

from abiscan.loader.search import expand_tokens
from tests.tables import table_rows


@table_rows
def test_tokens(text: str, expanded: str) -> None:
    assert expand_tokens(text, origin="/here", lib="lib64", platform="haswell") == expanded


def test_a_token_without_a_value_drops_the_whole_path() -> None:
    assert expand_tokens("/a/$PLATFORM/b", origin="/here", lib="lib", platform=None) == ""
    assert expand_tokens("$ORIGIN", origin=None, lib="lib", platform="x") == ""
