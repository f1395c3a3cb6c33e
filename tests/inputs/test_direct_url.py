"""direct_url.json (https://packaging.python.org/en/latest/specifications/direct-url/)."""

from __future__ import annotations

import pytest

from abiscan.inputs.direct_url import editable_directory


@pytest.mark.parametrize(
    ("url", "directory"),
    [
        ("file:///src/a%20b", "/src/a b"),
        ("https://example.org/a", None),
        # No path has a null character; found by fuzzing.
        ("file:///src/a%00b", None),
        ("file:///src/a\0b", None),
        ("file://[", None),
    ],
)
def test_the_directory_of_an_editable_installation(url: str, directory: str | None) -> None:
    assert editable_directory({"url": url, "dir_info": {"editable": True}}) == directory
