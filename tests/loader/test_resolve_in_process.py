"""Status and provider of imports. Oracles: LD_DEBUG=bindings for providers, and the way in which broken files were made
(tests/fixtures)."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from abiscan.binary import Binary
from abiscan.elf import open_elf
from abiscan.environment.installed_torch import read_torch
from abiscan.loader import Loader, LoaderSettings
from abiscan.loader.resolution import ResolvingImport
from abiscan.loader.resolve_on_release import resolve_on_release
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import LoaderOutcome
from abiscan.ownership.torch_names import in_scope, is_torch_library
from abiscan.releases.exports import InstalledExports
from tests import torch_here
from tests.loader import kit

pytestmark = kit.needs_glibc

_BINDING = re.compile(r"binding file (\S+) \[0\] to (\S+) \[0\]: (?:normal|protected) symbol `([^']+)'")
_OPEN = "import sys, os, ctypes, torch; [ctypes.CDLL(f, mode=os.RTLD_NOW | os.RTLD_LOCAL) for f in sys.argv[1:]]"


def _real_bindings(paths: list[str]) -> dict[str, dict[str, str]]:
    """File -> symbol -> path of its definition, by the loader."""
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, *paths],
        capture_output=True,
        text=True,
        env=kit.clean_environ({"LD_DEBUG": "bindings"}),
        check=True,
    )
    found: dict[str, dict[str, str]] = {path: {} for path in paths}
    for user, provider, name in _BINDING.findall(done.stderr):
        if user in found:
            found[user][name] = provider
    return found


@pytest.mark.torch
def test_providers_are_those_that_the_loader_binds_to(fixtures_dir: Path) -> None:
    loader = kit.loader()
    paths = [str(fixtures_dir / name) for name in ("good-extension.so", "stable-abi.so", "abi3-module.abi3.so")]
    for path, real in _real_bindings(paths).items():
        bound = {b.name: b for b in loader.resolve(open_elf(path), path).imports}
        ours = {name: b.provider for name, b in bound.items() if b.status is Status.RESOLVED and b.symbol.relocated}
        # Its own exports are looked up too, and found in itself.
        theirs = {name: os.path.basename(os.path.realpath(to)) for name, to in real.items() if name in bound}
        assert set(ours) == set(theirs), path
        assert len(ours) >= 2
        for name, provider in ours.items():
            # A provider has the name of its soname, which is a link to the file, or the file.
            assert provider is not None
            assert theirs[name].startswith(provider.partition(".so")[0]), name


@pytest.mark.torch
def test_old_string_build_lacks_what_the_loader_cannot_bind(fixtures_dir: Path) -> None:
    path = fixtures_dir / "old-string-extension.so"
    elf = open_elf(str(path))
    loader = kit.loader()
    missing = [b.name for b in loader.resolve(elf, str(path)).imports if b.status is Status.MISSING]
    prediction = loader.predict(elf, str(path))
    assert prediction.outcome is LoaderOutcome.FAILS
    assert missing
    # In the old ABI, std::string is `Ss`.
    assert all("Ss" in name for name in missing)
    assert prediction.error is not None
    assert prediction.error.rpartition(": ")[2] in missing


@pytest.mark.torch
def test_a_name_of_libtorch_python_that_the_file_does_not_need_is_unreachable(fixtures_dir: Path) -> None:
    path = fixtures_dir / "unlinked-libtorch-python.so"
    found = [b for b in kit.loader().resolve(open_elf(str(path)), str(path)).imports if b.status is Status.UNREACHABLE]
    assert {b.provider for b in found} == {"libtorch_python.so"}
    assert {b.owner for b in found} == {Owner.TORCH}


@pytest.mark.torch
@pytest.mark.parametrize("name", ["weak-import.so", "unreferenced-import.so"])
def test_what_the_loader_never_misses_is_weak(fixtures_dir: Path, name: str) -> None:
    path = fixtures_dir / name
    elf = open_elf(str(path))
    loader = kit.loader()
    assert loader.predict(elf, str(path)).outcome is LoaderOutcome.LOADS
    statuses = {b.status for b in loader.resolve(elf, str(path)).imports}
    assert Status.WEAK in statuses
    assert statuses <= {Status.WEAK, Status.RESOLVED}


@pytest.mark.torch
def test_libraries_of_another_variant_are_distinguished(fixtures_dir: Path, tmp_path: Path) -> None:
    path = fixtures_dir / "cuda-build-required.so"
    torch = read_torch(str(torch_here.cpu_build(tmp_path)), kit.environment())
    binding = Loader(LoaderSettings("/"), kit.environment(), torch).resolve(open_elf(str(path)), str(path))
    assert "libc10_cuda.so" in binding.missing_torch_libraries
    assert not any(name.startswith("libcudart") for name in binding.missing_torch_libraries)
    by_owner = {b.owner: b.status for b in binding.imports if b.status in (Status.MISSING, Status.UNDECIDED)}
    assert by_owner[Owner.TORCH] is Status.MISSING
    assert by_owner.get(Owner.CUDA, Status.UNDECIDED) is Status.UNDECIDED


@pytest.mark.torch
@pytest.mark.parametrize("name", ["good-extension.so", "old-string-extension.so", "unlinked-libtorch-python.so"])
def test_a_torch_that_is_only_known_by_name_gives_the_same_statuses(fixtures_dir: Path, name: str) -> None:
    path = str(fixtures_dir / name)
    here = kit.loader().resolve(open_elf(path), path).imports
    away = resolve_on_release(open_elf(path), {}, InstalledExports(kit.torch().libraries), ())

    def of_torch(imports: list[ResolvingImport]) -> list[tuple[str, Status]]:
        return [(b.name, b.status) for b in imports if b.owner is Owner.TORCH]

    assert len(of_torch(here)) >= 2
    assert of_torch(here) == of_torch(away.imports)


@pytest.mark.torch
def test_a_sibling_counts_for_resolution_but_not_for_the_loader(fixtures_dir: Path, tmp_path: Path) -> None:
    case = fixtures_dir / "loader" / "broken-sibling"
    target = tmp_path / "away" / "target.so"
    target.parent.mkdir()
    target.write_bytes((case / "target.so").read_bytes())
    elf, sibling = open_elf(str(target)), open_elf(str(case / "liba.so"))
    loader = kit.loader()
    binding = loader.resolve(elf, str(target), {str(case / "liba.so"): sibling})
    assert binding.missing_libraries == ()
    assert [needed.found for needed in binding.needed if needed.soname == "liba.so"] == [str(case / "liba.so")]
    assert loader.predict(elf, str(target)).error == (
        "liba.so: cannot open shared object file: No such file or directory"
    )


@pytest.mark.torch
def test_a_member_of_a_wheel_finds_bundled_libraries(fixtures_dir: Path) -> None:
    """The wheel is not installed: $ORIGIN leads to its future place."""
    case = fixtures_dir / "loader" / "broken-sibling"
    site = kit.environment().site_packages[0]
    place = f"{site}/no-such-package/target.so"
    beside = {f"{site}/no-such-package/liba.so": open_elf(str(case / "liba.so"))}
    said = kit.loader().predict(open_elf(str(case / "target.so")), place, beside)
    assert said.error == f"{site}/no-such-package/liba.so: undefined symbol: missing_in_a"


@pytest.mark.torch
def test_a_member_replaces_what_the_process_has_at_its_place(fixtures_dir: Path) -> None:
    """numpy's wheel with another numpy installed, which `import torch` loads: its own symbols are resolved."""
    module, place = fixtures_dir / "good-extension.so", "no-such-package/good-extension.so"
    site = kit.environment().site_packages[0]
    taken = next(path for path in kit.torch().libraries if path.endswith("/libshm.so"))
    assert kit.loader().find("libshm.so") is not None
    expected = kit.loader().resolve(open_elf(str(module)), f"{site}/{place}")
    beside = kit.loader().resolve(open_elf(str(module)), taken)
    assert [(b.name, b.status, b.provider) for b in beside.imports] == [
        (b.name, b.status, b.provider) for b in expected.imports
    ]
    assert kit.loader().predict(open_elf(str(module)), taken).outcome is LoaderOutcome.LOADS
    assert not any(b.status.is_unresolved for b in expected.imports)


@pytest.mark.torch
def test_scopes_of_a_released_build_are_those_of_the_installed_one() -> None:
    exports = InstalledExports(kit.torch().libraries)
    for path in kit.torch().libraries:
        elf = open_elf(path)
        own = [name for name in elf.needed if is_torch_library(name)]
        assert set(own) & exports.sonames <= in_scope([os.path.basename(path)], exports.sonames), path


def test_a_torch_with_versioned_sonames() -> None:
    """`readelf -d` on Debian's python3-torchvision 0.14.1: NEEDED libc10.so.1.13, which torch/lib has as libc10.so."""
    library = cast(Binary, SimpleNamespace(soname="libc10.so.1.13", needed=("libc.so.6",), exports_name="f".__eq__))
    exports = InstalledExports(["/torch/lib/libc10.so"], lambda _path: library)
    assert exports.library_in("f", exports.in_scope(["libc10.so.1.13"])) == "libc10.so"
    assert exports.sonames == {"libc10.so", "libc10.so.1.13"}
    assert exports.path_of("libc10.so.1.13") == "/torch/lib/libc10.so"
    assert exports.in_scope(["libc10.so.2.6"]) == frozenset()


def test_libraries_of_another_package_are_released(fixtures_dir: Path) -> None:
    """Without the garbage collector, which runs too rarely for a folder of wheels."""
    case = fixtures_dir / "loader" / "broken-sibling"
    loader = kit.loader(with_torch=False)
    gc.disable()
    try:
        opened = []
        for package in ("one", "two"):
            place, sibling = f"/no-such-place/{package}", open_elf(str(case / "liba.so"))
            elf, beside = open_elf(str(case / "target.so")), {f"{place}/liba.so": sibling}
            said = loader.predict(elf, f"{place}/target.so", beside)
            assert said.error == f"{place}/liba.so: undefined symbol: missing_in_a"
            opened.append(weakref.ref(sibling))
        del sibling, beside
        assert [each() is None for each in opened] == [True, False]
    finally:
        gc.enable()
