"""The package for an index: metadata, displayed README, complete sdist."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

import abiscan
from tests.programs import output_of

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HATCH = PROJECT["tool"]["hatch"]


def test_one_version_and_one_owner_are_named_everywhere() -> None:
    version = PROJECT["project"]["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert version == abiscan.__version__
    assert f"\nversion: {version}\n" in citation
    texts = [citation, *((ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "docs/how-to/ci.md"))]
    assert (
        len(
            {owner for text in texts for owner in re.findall(r"([\w-]+)/abiscan\b(?=[@/\s\"]|$)", text)}
            - {"opt", "bin"}
        )
        == 1
    )


def test_what_the_index_shows_links_to_the_repository() -> None:
    """The substitution in the build (hatch-fancy-pypi-readme: `re.sub` over the fragments)."""
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in HATCH["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        shown = re.sub(row["pattern"], row["replacement"], shown)
    links = re.findall(r"\]\(([^)\s]+)\)", shown)
    assert links
    repository = PROJECT["project"]["urls"]["Repository"]
    # A page of the repository, or a raw file, which images need.
    pages, files = f"{repository}/blob/main/", f"{repository}/raw/main/"
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [link for link in links if link.startswith(files)] == [files + picture for picture in pictures]
    for link in links:
        assert link.startswith("https://"), link
        if link.startswith(repository):
            assert (ROOT / link.removeprefix(pages).removeprefix(files).partition("#")[0]).exists(), link


@pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="an unpacked sdist: the list of tracked files is the repository's"
)
def test_the_sdist_has_every_tracked_file() -> None:
    """By its patterns, which are prefixes; targets of directory links are included by name."""
    git = shutil.which("git")
    assert git is not None
    shown = output_of([git, "ls-files", "-s", "-z"], cwd=ROOT)
    included = [pattern.lstrip("/") for pattern in HATCH["build"]["targets"]["sdist"]["include"]]
    forced = HATCH["build"]["targets"]["sdist"]["force-include"]
    always = {"pyproject.toml", "LICENSE", ".gitignore"}
    for row in filter(None, shown.split("\0")):
        mode, path = row.split()[0], row.partition("\t")[2]
        assert path in always or any(path == each or path.startswith(f"{each}/") for each in included), path
        if mode == "120000" and (ROOT / path).is_dir():
            assert forced.get(path) == path, path
