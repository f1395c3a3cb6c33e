"""Dynamic string tokens, by the rules above is_dst in elf/dl-load.c of glibc."""

from __future__ import annotations

import pytest

from abiscan.loader.tokens import expand_tokens


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$ORIGIN/../lib", "/here/../lib"),
        ("${ORIGIN}/x", "/here/x"),
        ("${ORIGIN}x", "/herex"),
        ("$ORIGINX/x", "$ORIGINX/x"),
        ("$ORIGIN_/x", "$ORIGIN_/x"),
        ("${ORIGIN/x", "${ORIGIN/x"),
        ("/a/$LIB/$ORIGIN", "/a/lib64//here"),
        ("$PLATFORM-$LIB", "haswell-lib64"),
        ("$HOME/x", "$HOME/x"),
        ("$$ORIGIN", "$/here"),
        ("no token", "no token"),
    ],
)
def test_tokens(text: str, expanded: str) -> None:
    assert expand_tokens(text, origin="/here", lib="lib64", platform="haswell") == expanded


def test_a_token_without_a_value_drops_the_whole_path() -> None:
    assert expand_tokens("/a/$PLATFORM/b", origin="/here", lib="lib", platform=None) == ""
    assert expand_tokens("$ORIGIN", origin=None, lib="lib", platform="x") == ""
