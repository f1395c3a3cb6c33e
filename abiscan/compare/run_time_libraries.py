"""Files that another file of their package opens at run time: without them the package loads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from abiscan.binary import open_binary
from abiscan.compare.file_outcome import FileOutcome
from abiscan.compare.optional_loading import optional_files
from abiscan.errors import UnreadableFile
from abiscan.filesystem import FileSystem
from abiscan.inputs.distributions import Distribution
from abiscan.model.report import ArtifactVerdict


def with_openers(
    outcomes: Mapping[str, Sequence[FileOutcome]], packages: Sequence[Distribution], files: FileSystem
) -> dict[str, list[FileOutcome]]:
    """The outcomes, with `opened_by` of the files that fail only because of a GPU library and that another library
    opens, and `caught_by` of those that Python code of the package loads in a `try` statement.

    Args:
        outcomes: package name -> outcomes of its shared objects.
    """
    paths = {package.name: package.shared_objects for package in packages}
    result = {}
    for name, found in outcomes.items():
        caught = _optional(found, paths.get(name, ()), files)
        result[name] = [
            replace(
                each,
                opened_by=_opener(each, found, paths.get(name, ()), files) if each.lacks_gpu else "",
                caught_by=caught.get(each.package_path, ""),
            )
            for each in found
        ]
    return result


def _optional(found: Sequence[FileOutcome], paths: Sequence[str], files: FileSystem) -> dict[str, str]:
    """The files that fail and are optional, with the Python source that loads them."""
    openers: dict[str, str] = {}
    sites: dict[str, list[str]] = {}
    for each in found:
        if each.verdict is ArtifactVerdict.FAILS and not each.for_another:
            for path in paths:
                if path.endswith(f"/{each.package_path}"):
                    sites.setdefault(path.removesuffix(f"/{each.package_path}"), []).append(each.package_path)
    for site, places in sites.items():
        openers |= optional_files(site, places, files)
    return openers


def _opener(file: FileOutcome, others: Sequence[FileOutcome], paths: Sequence[str], files: FileSystem) -> str:
    """The name of the loading file of the package that contains the name of this one as a string; empty if none
    does."""
    name = os.path.basename(file.package_path).encode()
    for other in others:
        if other.for_another or other.verdict is not ArtifactVerdict.LOADS:
            continue
        for path in paths:
            if path.endswith(f"/{other.package_path}") and _contains(path, name, files):
                return os.path.basename(path)
    return ""


def _contains(path: str, name: bytes, files: FileSystem) -> bool:
    try:
        strings = open_binary(files.host(path), path).strings_with(name)
        return any(os.path.basename(text) == name for text in strings)
    except (UnreadableFile, FileNotFoundError):
        return False
