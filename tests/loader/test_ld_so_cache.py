"""ld.so.cache. Oracle: `ldconfig -p`."""

from __future__ import annotations

import functools
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abiscan.loader.ld_so_cache import LibraryCache, compare_names
from tests.programs import output_of

_LDCONFIG = shutil.which("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
_LINE = re.compile(r"\t(\S+) \(libc6,x86-64([^)]*)\) => (\S+)")
_X86_64 = 0x0303


@pytest.mark.skipif(_LDCONFIG is None or platform.machine() != "x86_64", reason="asks ldconfig, on x86_64")
def test_every_name_that_ldconfig_lists_is_found_at_the_path_it_lists_first() -> None:
    assert _LDCONFIG is not None
    printed = output_of([_LDCONFIG, "-p"])
    listed: dict[str, str] = {}
    for name, extra, path in _LINE.findall(printed):
        if not extra:  # others are for hardware that this machine may not have
            listed.setdefault(name, path)
    assert len(listed) > 20
    cache = LibraryCache.read("/etc/ld.so.cache", _X86_64, (), legacy=True)
    assert {name: cache.lookup(name) for name in listed} == listed


@pytest.mark.skipif(_LDCONFIG is None or platform.machine() != "x86_64", reason="asks ldconfig, on x86_64")
@pytest.mark.parametrize("layout", ["new", "compat"])
def test_a_cache_made_for_the_purpose(tmp_path: Path, fixtures_dir: Path, layout: str) -> None:
    """Hardware subdirectories, in both formats of the file that ldconfig writes."""
    assert _LDCONFIG is not None
    plain = tmp_path / "lib"
    for directory in (plain, plain / "glibc-hwcaps" / "x86-64-v2", plain / "glibc-hwcaps" / "x86-64-v3"):
        directory.mkdir(parents=True)
        # ldconfig uses sonames, and file names without one.
        shutil.copy(fixtures_dir / "empty-library.so", directory / "libmade.so.2")
    shutil.copy(fixtures_dir / "empty-library.so", plain / "libmade.so.10")
    config, made = tmp_path / "conf", tmp_path / "cache"
    config.write_text(f"{plain}\n")
    subprocess.run([_LDCONFIG, "-X", "-c", layout, "-f", config, "-C", made], check=True, capture_output=True)
    data = made.read_bytes()
    found = {
        levels: LibraryCache(data, _X86_64, levels, legacy=False).lookup("libmade.so.2")
        for levels in [(), ("x86-64-v2",), ("x86-64-v3", "x86-64-v2")]
    }
    # If one file has both formats, ldconfig counts the names of these directories from the new header, and the loader
    # from the start of the file (glibc_hwcaps_compare in elf/dl-cache.c), so it finds none.
    below = {"new": f"{plain}/glibc-hwcaps/{{}}/libmade.so.2", "compat": f"{plain}/libmade.so.2"}[layout]
    assert found == {
        (): f"{plain}/libmade.so.2",
        ("x86-64-v2",): below.format("x86-64-v2"),
        ("x86-64-v3", "x86-64-v2"): below.format("x86-64-v3"),
    }
    assert LibraryCache(data, _X86_64, (), legacy=False).lookup("libmade.so.10") == f"{plain}/libmade.so.10"
    assert LibraryCache(data, _X86_64, (), legacy=False).lookup("libmade.so.1") is None
    assert LibraryCache(data, 0x0A03, (), legacy=False).lookup("libmade.so.2") is None


@pytest.mark.parametrize(
    ("smaller", "larger"),
    # Runs of digits are compared by value (_dl_cache_libcmp).
    [
        (b"liba.so.2", b"liba.so.10"),
        (b"liba.so", b"libb.so"),
        (b"lib", b"lib2"),
        (b"libx.so", b"libx.so.1"),
        (b"", b"a"),
    ],
)
def test_order_of_names(smaller: bytes, larger: bytes) -> None:
    assert compare_names(smaller, larger) < 0 < compare_names(larger, smaller)


_NAMES = st.text(alphabet="ab.019", max_size=8).map(str.encode)


@given(_NAMES, _NAMES, _NAMES)
def test_order_of_names_is_an_order(a: bytes, b: bytes, c: bytes) -> None:
    assert compare_names(a, a) == 0
    assert (compare_names(a, b) > 0) == (compare_names(b, a) < 0)
    if compare_names(a, b) <= 0 and compare_names(b, c) <= 0:
        assert compare_names(a, c) <= 0


@functools.cache
def _real_cache() -> bytes:
    path = Path("/etc/ld.so.cache")
    return path.read_bytes()[:20000] if path.exists() else b"glibc-ld.so.cache1.1"


@given(st.integers(0, 20000), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=8))
def test_damage_is_survived(length: int, changes: list[tuple[int, int]]) -> None:
    data = bytearray(_real_cache()[:length])
    for at, value in changes:
        if at < len(data):
            data[at] = value
    found = LibraryCache(bytes(data), _X86_64, ("x86-64-v3", "x86-64-v2"), legacy=True).lookup("libc.so.6")
    assert found is None or isinstance(found, str)
