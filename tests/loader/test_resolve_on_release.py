"""Resolution against a released build depends only on the file, its package and the index, on every host."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.binary import open_binary
from abiscan.environment.python_names import exports as python_exports
from abiscan.loader.resolve_on_release import resolve_on_release, settle_python_names
from abiscan.model.imports import Owner, Status
from abiscan.model.python_version import PythonVersion
from abiscan.ownership.torch_names import is_torch_library
from abiscan.releases import open_index
from abiscan.releases.exports import ReleasedExports

INDEX = open_index()


def exports(version: str) -> ReleasedExports:
    return ReleasedExports(INDEX, INDEX.resolve(version))


def python(minor: int) -> tuple[object, ...]:
    found = python_exports(PythonVersion(3, minor))
    assert found is not None
    return (found,)


def test_everything_of_a_good_file_binds_but_what_may_stay_unbound(fixtures_dir: Path) -> None:
    file = open_binary(str(fixtures_dir / "good-extension.so"))
    bound = resolve_on_release(file, {}, exports("2.13.0"), python(11))  # type: ignore[arg-type]
    # This includes unversioned symbols of the C++ library: the linker found those in a torch library.
    assert {b.status for b in bound.imports} <= {Status.RESOLVED, Status.WEAK}
    assert bound.missing_libraries == bound.missing_torch_libraries == ()
    assert all(needed.found for needed in bound.needed if not is_torch_library(needed.soname))
    libc = {b.provider for b in bound.imports if b.owner is Owner.LIBC and b.status is Status.RESOLVED}
    assert libc <= {"libc.so.6", "ld-linux-x86-64.so.2"}


def test_the_old_string_build_lacks_what_the_loader_lacks(fixtures_dir: Path) -> None:
    """Five names, by dlsym over torch 2.13.0 (tests/fixtures/build.py)."""
    file = open_binary(str(fixtures_dir / "old-string-extension.so"))
    bound = resolve_on_release(file, {}, exports("2.13.0"), python(11))  # type: ignore[arg-type]
    assert sum(b.status is Status.MISSING for b in bound.imports) == 5


def test_names_of_python_are_those_of_every_python_that_is_promised(fixtures_dir: Path) -> None:
    """Symbols such as `_PyObject_GC_UNTRACK` are added and removed: the table was made with nm over CPython's
    releases."""
    file = open_binary(str(fixtures_dir / "python-abi-mismatch.so"))
    by_python = {
        minor: sum(
            b.status is Status.MISSING
            for b in resolve_on_release(file, {}, exports("2.13.0"), python(minor)).imports  # type: ignore[arg-type]
            if b.owner is Owner.PYTHON
        )
        for minor in (8, 13)
    }
    assert max(by_python.values()) > 0
    nobody = resolve_on_release(file, {}, exports("2.13.0"), ())
    assert {b.status for b in nobody.imports if b.owner is Owner.PYTHON} <= {Status.UNDECIDED, Status.WEAK}


def test_names_of_python_are_settled_by_the_pythons_of_a_wheel(fixtures_dir: Path) -> None:
    """The process has another Python than the file is for. The table of each was made with nm."""
    file = open_binary(str(fixtures_dir / "python-abi-mismatch.so"))
    for here, other in ((8, 13), (13, 8)):
        settled, of_other = (
            resolve_on_release(file, {}, exports("2.13.0"), python(minor))  # type: ignore[arg-type]
            for minor in (here, other)
        )
        wanted = [each.status for each in of_other.imports if each.owner is Owner.PYTHON]
        assert [each.status for each in settled.imports if each.owner is Owner.PYTHON] != wanted
        settle_python_names(settled, python(other))  # type: ignore[arg-type]
        assert [each.status for each in settled.imports if each.owner is Owner.PYTHON] == wanted


@pytest.mark.parametrize(("version", "served"), [("2.15.0", True), ("2.8.0", False)])
def test_the_cuda_of_the_build(fixtures_dir: Path, version: str, served: bool) -> None:
    """readelf: it needs libcudart.so.13. torch 2.15.0 has CUDA 13.2, 2.8.0 has 12.8 (torch/version.py)."""
    file = open_binary(str(fixtures_dir / "cuda-build-required.so"))
    needed = resolve_on_release(file, {}, exports(version), ()).needed
    (runtime,) = [library for library in needed if library.soname == "libcudart.so.13"]
    assert (runtime.found is not None) is served


def test_no_build_decides_nothing(fixtures_dir: Path) -> None:
    file = open_binary(str(fixtures_dir / "good-extension.so"))
    bound = resolve_on_release(file, {}, None, ())
    assert {b.status for b in bound.imports if b.owner is Owner.TORCH} == {Status.UNDECIDED}
