"""Adds the layouts of a release that the shipped layout index lacks: reads them from its headers into the user's
index."""

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
from abiscan.releases.read_layouts import OLDEST_CLANG, clang_command, read_assertions, read_headers

# In a wheel or a libtorch archive. Everything is needed: torch/extension.h includes pybind11, which is beside `ATen`.
_INCLUDE = re.compile(r"(?:[^/]+/)?include/")


def add_layouts(source: Path, directory: Path, release: str, machine: str) -> str:
    """Read the layouts of one release into the user's index.

    Args:
        source: a torch wheel, libtorch archive or directory.
        directory: of the user's index; it must exist.

    Returns:
        A sentence for the user on what was read and what was left out.

    Raises:
        AbiscanError: the file cannot be written.
    """
    shipped = LayoutTable(SHIPPED)
    if machine != MACHINE:
        return f"no layouts: they are only read for {MACHINE}"
    if shipped.read_from.get(release) == release:
        return f"the layouts of torch {release} are known"
    layouts: Mapping[str, Layout] = {}
    with _headers(source) as include:
        if include is None:
            return "no layouts: it has no headers"
        assertions = read_assertions(include)
        clang = clang_command()
        if clang is None:
            summary = f"no layouts: reading them needs Clang {OLDEST_CLANG} or later, and PATH has none"
        else:
            try:
                extra = [Path(sysconfig.get_paths()["include"])]
                layouts, left_out = read_headers(include, release, clang=clang, extra=extra)
                summary = f"layouts read with {os.path.basename(clang)} (records: {len(layouts)})"
                if left_out:
                    summary += f"; left out, since they do not compile or do not exist: {', '.join(left_out)}"
            except AbiscanError as error:
                summary = str(error)
    packed = pack({release: layouts}, {release: release if layouts else ""}, {}, {release: assertions})
    name = re.sub(r"[^\w.+-]", "_", f"{release}-{machine}")
    try:
        (directory / f"{name}{SUFFIX}").write_bytes(packed)
    except OSError as error:
        raise AbiscanError(f"{directory}: the layouts cannot be kept there: {error.strerror or error}") from error
    # Merging takes seconds; this way the next scan does not wait for it.
    open_layouts.cache_clear()
    open_layouts(str(directory))
    return summary


@contextmanager
def _headers(source: Path) -> Iterator[Path | None]:
    """The include directory; if it is in an archive, unpacked while it is used."""
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
