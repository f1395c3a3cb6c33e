"""Layouts of a release that the shipped index of them doesn't have: read from its headers, kept in the user's index."""

from __future__ import annotations

import os
import re
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from abiscan.errors import AbiscanError
from abiscan.releases.layout import Layout
from abiscan.releases.layout_table import MACHINE, SHIPPED, SUFFIX, LayoutTable, pack
from abiscan.releases.open_layouts import open_layouts
from abiscan.releases.read_assertions import read_assertions
from abiscan.releases.read_layouts import OLDEST_CLANG, clang_command, read_headers

# In a wheel or a libtorch archive. All of it: torch/extension.h needs pybind11, which lies beside `ATen`, `c10`, ...
_INCLUDE = re.compile(r"(?:[^/]+/)?include/")


def add_layouts(source: Path, directory: Path, release: str, machine: str) -> str:
    """Read the layouts of one release into the user's index.

    Args:
        source: a torch wheel, libtorch archive or directory.
        directory: of the user's index; it is there.

    Returns:
        What was read and what was left out, a sentence for the user.

    Raises:
        AbiscanError: the file cannot be written.
    """
    shipped = LayoutTable(SHIPPED)
    if machine != MACHINE:
        return f"no layouts: they are read of torch for {MACHINE} alone"
    if shipped.read_from.get(release) == release:
        return f"the layouts of torch {release} are known"
    layouts: Mapping[str, Layout] = {}
    with _headers(source) as include:
        if include is None:
            return "no layouts: it has no headers"
        assertions = read_assertions(include)
        clang = clang_command()
        if clang is None:
            said = f"no layouts: they are read with Clang {OLDEST_CLANG} or later, and there is none in PATH"
        else:
            try:
                extra = [Path(sysconfig.get_paths()["include"])]
                layouts, left_out = read_headers(include, release, clang=clang, extra=extra)
                said = f"layouts read with {os.path.basename(clang)} (records: {len(layouts)})"
                if left_out:
                    said += f"; left out, since they do not compile or are not there: {', '.join(left_out)}"
            except AbiscanError as error:
                said = str(error)
    packed = pack({release: layouts}, {release: release if layouts else ""}, {}, {release: assertions})
    name = re.sub(r"[^\w.+-]", "_", f"{release}-{machine}")
    try:
        (directory / f"{name}{SUFFIX}").write_bytes(packed)
    except OSError as error:
        raise AbiscanError(f"{directory}: the layouts cannot be kept there: {error.strerror or error}") from error
    # Putting them together takes seconds, which the next scan need not wait for.
    open_layouts.cache_clear()
    open_layouts(str(directory))
    return said


@contextmanager
def _headers(source: Path) -> Iterator[Path | None]:
    """The folder of headers; unpacked for as long as they are read, where they are in an archive."""
    if source.is_dir():
        found = (each for each in (source / "torch/include", source / "include") if (each / "c10").is_dir())
        yield next(found, None)
        return
    with tempfile.TemporaryDirectory(prefix="abiscan-") as scratch, zipfile.ZipFile(source) as archive:
        for member in archive.infolist():
            at = _INCLUDE.match(member.filename)
            if at is not None and not member.is_dir():
                member.filename = member.filename[at.end() :]
                archive.extract(member, scratch)
        yield Path(scratch) if any(Path(scratch).iterdir()) else None
