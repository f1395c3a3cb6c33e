"""Layouts of a release that the user adds. Clang is replaced by a script with the output of clang++ 19 for the
header."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from abiscan.releases import user_layouts
from abiscan.releases.assertions import Assertion
from abiscan.releases.layout_table import SHIPPED, SUFFIX, LayoutTable, pack
from abiscan.releases.open_layouts import open_layouts
from abiscan.releases.user_layouts import add_layouts
from abiscan.rules.computed.layout_drift import CompiledAgainst, not_compared

pytestmark = pytest.mark.slow

RELEASE = "9.9.0"
HEADER = """\
namespace c10 { struct KernelFunction { char a[48]; }; }
inline void f(int a) { TORCH_INTERNAL_ASSERT(a > 1); }
"""
PRINTED = """
*** Dumping AST Record Layout
         0 | struct c10::KernelFunction
         0 |   char[48] a
           | [sizeof=48, dsize=48, align=1,
           |  nvsize=48, nvalign=1]
"""


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    file = tmp_path / "torch-9.9.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("torch/include/torch/library.h", HEADER)
        archive.writestr("torch/include/c10/core/X.h", HEADER)
        archive.writestr("torch/version.py", "")
    return file


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One record of the shipped table: merging all of them takes seconds."""
    shipped, record = LayoutTable(SHIPPED), "c10::KernelFunction"
    found = {release: shipped.layout(record, release) for release in shipped.read_from.values()}
    layouts = {release: {record: layout} for release, layout in found.items() if layout is not None}
    file = tmp_path_factory.mktemp("few") / "layouts.idx"
    file.write_bytes(pack(layouts, shipped.read_from, {}, {"2.8.0": shipped.assertions["2.8.0"]}))
    return str(file)


def ship(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("open_layouts", "user_layouts"):
        monkeypatch.setattr(f"abiscan.releases.{module}.SHIPPED", table)
    open_layouts.cache_clear()


@pytest.fixture
def index(tmp_path: Path, few: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "index"
    directory.mkdir()
    ship(few, monkeypatch)
    return directory


def clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, version: str = "19.1.7") -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "clang++"
    script.write_text(f'#!/bin/sh\n[ "$1" = -dumpversion ] && echo {version} && exit\n{body}\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("abiscan.releases.read_layouts.CLANGS", ("clang++",))


def test_user_builds_are_listed_with_the_shipped_ones(
    wheel: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clang(tmp_path, monkeypatch, f"cat <<'END'\n{PRINTED}\nEND")
    ship(SHIPPED, monkeypatch)
    said = add_layouts(wheel, index, RELEASE, "x86_64")
    assert said.startswith("layouts read with clang++ (records: 1); left out")
    assert "ATen/ATen.h" in said
    table, shipped = open_layouts(str(index)), LayoutTable(SHIPPED)
    new = table.layout("c10::KernelFunction", RELEASE)
    assert new is not None
    assert new.size == 48
    assert table.number("c10::KernelFunction", RELEASE) not in (0, table.number("c10::KernelFunction", "2.9.1"))
    assert table.layout("c10::KernelFunction", "2.8.0") == shipped.layout("c10::KernelFunction", "2.8.0")
    assert table.releases == (*shipped.releases, RELEASE)
    assert table.traces.keys() >= shipped.traces.keys()
    (own,) = (each for each in table.assertions[RELEASE] if each.header == "c10/core/X.h")
    assert table.releases_in(table.asserting(Assertion("c10/core/X.h", 2, 2, own.condition))) == (RELEASE,)
    # Cached until another one is made.
    (kept,) = index.glob("layouts-*")
    open_layouts.cache_clear()
    assert open_layouts(str(index)).path == str(kept)


def test_without_clang_its_assertions_are_known(
    wheel: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "PATH has none" in add_layouts(wheel, index, RELEASE, "x86_64")
    table = open_layouts(str(index))
    assert table.read_from[RELEASE] == ""
    assert table.layout("c10::KernelFunction", RELEASE) is None
    assert table.assertions[RELEASE]


def test_all_headers_of_a_wheel_are_there_for_clang(
    wheel: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch/extension.h includes pybind11, which a wheel ships with torch's own headers."""
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("torch/include/pybind11/pybind11.h", "")
        archive.writestr("torch/_vendor/include/x.h", "")
    found = (
        f"for each; do case $each in -I*) ls ${{each#-I}}; ls ${{each#-I}}/pybind11; esac; done > {tmp_path}/seen 2>&1"
    )
    clang(tmp_path, monkeypatch, f"{found}; cat <<'END'\n{PRINTED}\nEND")
    add_layouts(wheel, index, RELEASE, "x86_64")
    assert {"c10", "torch", "pybind11", "pybind11.h"} <= set((tmp_path / "seen").read_text().split())


def test_a_release_without_layouts_is_reported_as_not_compared(
    wheel: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    add_layouts(wheel, index, RELEASE, "x86_64")
    table = open_layouts(str(index))
    side = CompiledAgainst(("2.8.0",), "said so")
    assert not_compared(side, RELEASE, table) == (RELEASE,)
    assert not_compared(side, "2.9.0", table) == ()


def test_an_old_clang_is_none(wheel: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clang 14.0.6 crashes in `-fdump-record-layouts-complete` on the headers of torch 2.8.0."""
    clang(tmp_path, monkeypatch, "kill -SEGV $$", version="14.0.6")
    assert "Clang 16 or later, and PATH has none" in add_layouts(wheel, index, RELEASE, "x86_64")


def test_headers_that_do_not_compile_are_reported(
    wheel: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clang(tmp_path, monkeypatch, "exit 1")
    assert "do not compile" in add_layouts(wheel, index, RELEASE, "x86_64")


def test_what_is_known_or_cannot_be_is_not_read(wheel: Path, index: Path, tmp_path: Path) -> None:
    assert "are known" in add_layouts(wheel, index, "2.8.0", "x86_64")
    assert add_layouts(wheel, index, RELEASE, "aarch64").startswith("no layouts")
    bare = tmp_path / "libtorch.zip"
    with zipfile.ZipFile(bare, "w") as archive:
        archive.writestr("libtorch/lib/libc10.so", "")
    assert add_layouts(bare, index, RELEASE, "x86_64") == "no layouts: it has no headers"
    assert not list(index.glob(f"*{SUFFIX}"))


def test_members_of_an_archive_stay_in_their_folder(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = tmp_path / "torch.whl"
    with zipfile.ZipFile(hostile, "w") as archive:
        archive.writestr("torch/include/c10/../../../../outside.h", HEADER)
        archive.writestr("torch/include/c10//../up.h", HEADER)
    monkeypatch.setattr(user_layouts, "clang_command", lambda: None)
    before = set(tmp_path.rglob("*.h"))
    add_layouts(hostile, index, RELEASE, "x86_64")
    assert set(tmp_path.rglob("*.h")) == before
