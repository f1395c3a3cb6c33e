"""direct_url.json (https://packaging.python.org/en/latest/specifications/direct-url/)."""

from __future__ import annotations

from pathlib import Path

from abiscan.filesystem import HERE
from abiscan.inputs.packages import editable_directory, shared_objects_below
from tests.tables import table_rows


@table_rows
def test_the_directory_of_an_editable_installation(url: str, directory: str | None) -> None:
    assert editable_directory({"url": url, "dir_info": {"editable": True}}) == directory


def test_a_directory_that_is_no_project_is_not_searched(tmp_path: Path) -> None:
    """Found by fuzzing: `file:///` made `env` read the whole file system."""
    (tmp_path / "_C.so").touch()
    assert list(shared_objects_below(str(tmp_path), HERE)) == []
    (tmp_path / "pyproject.toml").touch()
    assert list(shared_objects_below(str(tmp_path), HERE)) == [str(tmp_path / "_C.so")]
