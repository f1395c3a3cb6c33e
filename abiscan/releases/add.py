"""Adds a build that the shipped index lacks: downloads it, reads it, stores it in the user's index."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from abiscan.errors import AbiscanError, UsageError
from abiscan.model.versions import is_version, order
from abiscan.releases.build import Build
from abiscan.releases.index import SUFFIX, ReleaseIndex
from abiscan.releases.pip_download import pip_download
from abiscan.releases.read_build import Progress, assemble, read_build
from abiscan.releases.table import ReleaseTable
from abiscan.releases.writer import write_index

PLATFORMS = {
    "x86_64": ("manylinux1_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64"),
    "aarch64": ("manylinux2014_aarch64", "manylinux_2_17_aarch64", "manylinux_2_28_aarch64"),
    "win_amd64": ("win_amd64",),
    "win_arm64": ("win_arm64",),
    "macosx_arm64": tuple(f"macosx_{release}_0_arm64" for release in range(11, 16)),
    "macosx_x86_64": ("macosx_10_9_x86_64", "macosx_10_13_x86_64", "macosx_11_0_x86_64"),
}
"""The platform tags of torch's wheels, by platform."""
# libtorch exports the same in the wheels of all Pythons, except for macOS on x86-64; the first Python with a wheel is
# taken. Up to 1.13 every release has one for 3.7.
PYTHONS = ("311", "312", "310", "313", "314", "39", "37")


def download(version: str, machine: str, into: Path, *, quiet: bool = False, pythons: Sequence[str] = PYTHONS) -> Path:
    """Download the wheel of one torch version with pip, without its dependencies.

    Args:
        machine: key of a platform (`x86_64`, `win_amd64`); need not be that of this machine.
        into: an existing directory.
        pythons: the CPythons, such as `311`; the first with a wheel is taken.
        quiet: no progress bar; otherwise pip prints it to stderr.

    Raises:
        UsageError: there is no such version for this architecture.
        AbiscanError: pip fails otherwise; the text is its last line.
    """
    if machine not in PLATFORMS:
        raise UsageError(f"torch has no wheels for {machine}; known: {', '.join(PLATFORMS)}")
    if not re.fullmatch(r"[\w.!+-]+", version) or version.startswith("-"):
        raise UsageError(f"{version!r} is not a version")
    offered: set[str] = set()
    last = ""
    for python in pythons:
        found = pip_download(f"torch=={version}", into, python=python, platforms=PLATFORMS[machine], quiet=quiet)
        if found.wheel is not None:
            return found.wheel
        offered.update(filter(None, found.offered.split(", ")))
        last = found.reason
        if found.unreachable or "No matching distribution" not in found.reason:
            raise AbiscanError(f"torch {version} for {machine} could not be fetched: {found.reason}")
    # No Python has wheels of all releases.
    known = sorted((each for each in offered if is_version(each)), key=lambda each: (order(each) or (), each))
    raise UsageError(
        f"torch {version} for {machine} is not on the package index: {'it has ' + ', '.join(known) if known else last}"
    )


def read_archive(source: Path, cache: Path | None, progress: Progress = lambda line: None) -> ReleaseIndex:
    """Read the exports of one torch wheel or libtorch archive, as an index with that one build.

    Args:
        cache: directory in which they are cached, by the file's path, size and modification time; None for no cache.

    Raises:
        AbiscanError: it contains no torch.
    """
    if cache is not None:
        stat = source.stat()
        key = f"{source.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}".encode("utf-8", "surrogateescape")
        kept = cache / hashlib.sha256(key).hexdigest()[:24]
        # A damaged file, or one of another abiscan version, is made again.
        with contextlib.suppress(AbiscanError, OSError, IndexError):
            return _one_build(next(iter(sorted(kept.glob(f"*{SUFFIX}"))), None))
        with contextlib.suppress(OSError):
            kept.mkdir(parents=True, exist_ok=True)
            if os.access(kept, os.W_OK):
                return _make_index(source, kept, progress)
    with tempfile.TemporaryDirectory(prefix="abiscan-") as folder:
        # The table is mapped and remains readable after its file is deleted.
        return _make_index(source, Path(folder), progress)


def _make_index(source: Path, directory: Path, progress: Progress) -> ReleaseIndex:
    add_build(source, directory, progress)
    progress("")
    return _one_build(next(iter(sorted(directory.glob(f"*{SUFFIX}"))), None))


def _one_build(file: Path | None) -> ReleaseIndex:
    if file is None:
        raise IndexError("no build is stored there")
    return ReleaseIndex([ReleaseTable(file, user=True)])


def add_build(source: Path, directory: Path, progress: Progress = lambda line: None) -> Build:
    """Read a torch wheel, libtorch archive or directory into the user's index.

    Args:
        directory: of the user's index, created if it does not exist; the build replaces one with the same key.

    Raises:
        AbiscanError: the source is none of these, or the file cannot be written.
    """
    item = assemble(read_build(source, progress))
    name = re.sub(r"[^\w.+-]", "_", item.build.key)
    try:
        write_index(directory / f"{name}{SUFFIX}", [item])
    except OSError as error:
        raise AbiscanError(f"{directory}: the build cannot be kept there: {error.strerror or error}") from error
    return item.build
