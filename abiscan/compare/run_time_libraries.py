"""GPU libraries that another file of their package opens by name at run time: without them the package loads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from abiscan.binary import open_binary
from abiscan.compare.file_outcome import FileOutcome
from abiscan.errors import UnreadableFile
from abiscan.filesystem import FileSystem
from abiscan.inputs.distributions import Distribution
from abiscan.model.report import ArtifactVerdict


def with_openers(
    outcomes: Mapping[str, Sequence[FileOutcome]], packages: Sequence[Distribution], files: FileSystem
) -> dict[str, list[FileOutcome]]:
    """The outcomes, with `opened_by` of the files that fail only because of a GPU library.

    Args:
        outcomes: package name -> outcomes of its shared objects.
    """
    paths = {package.name: package.shared_objects for package in packages}
    return {
        name: [
            replace(each, opened_by=_opener(each, found, paths.get(name, ()), files)) if each.lacks_gpu else each
            for each in found
        ]
        for name, found in outcomes.items()
    }


def _opener(file: FileOutcome, others: Sequence[FileOutcome], paths: Sequence[str], files: FileSystem) -> str:
    """The name of the loading file of the package that contains the name of this one as a string; empty if none
    does."""
    name = os.path.basename(file.place).encode()
    for other in others:
        if other.for_another or other.verdict is not ArtifactVerdict.LOADS:
            continue
        for path in paths:
            if path.endswith(f"/{other.place}") and _contains(path, name, files):
                return os.path.basename(path)
    return ""


def _contains(path: str, name: bytes, files: FileSystem) -> bool:
    try:
        strings = open_binary(files.host(path), path).strings_with(name)
        return any(os.path.basename(text) == name for text in strings)
    except (UnreadableFile, FileNotFoundError):
        return False
