"""The readers of PE and Mach-O files on real wheels, compared with LLVM's tools, LIEF and pefile. `pip install lief
pefile && pytest -m platform_truth`, with Debian's llvm-19. Downloads 600 MB, once."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from abiscan.macho.macho_file import read_macho
from abiscan.model.macho_facts import MachoExport, MachoImport
from abiscan.model.pe_facts import PeExport
from abiscan.pe.pe_file import read_pe
from tests.corpus.fetch import corpus_dir, download
from tests.corpus.wheels import MACOS, MACOS_EXTENSIONS, WINDOWS, Wheel
from tests.truth.foreign_readers import macho_of_llvm, pe_names_of_pefile, pe_of_lief, pe_of_llvm

pytestmark = pytest.mark.platform_truth

_WINDOWS_SUFFIXES, _MACOS_SUFFIXES = (".pyd", ".dll"), (".so", ".dylib")
# pefile takes a minute for one of these.
_LARGE = 64 << 20


def _members(wheel: Wheel, suffixes: tuple[str, ...], directory: Path) -> Iterator[Path]:
    with zipfile.ZipFile(download(wheel, corpus_dir())) as archive:
        for number, member in enumerate(archive.namelist()):
            if member.endswith(suffixes):
                path = directory / f"{number}-{Path(member).name}"
                path.write_bytes(archive.read(member))
                yield path
                path.unlink()


def _export(each: PeExport) -> tuple[str | None, int, str | None]:
    return each.name, each.ordinal, each.forwarder


@pytest.mark.parametrize("wheel", WINDOWS, ids=lambda wheel: wheel.requirement)
def test_windows(wheel: Wheel, tmp_path: Path) -> None:
    count = 0
    for path in _members(wheel, _WINDOWS_SUFFIXES, tmp_path):
        file = read_pe(path.read_bytes(), path.name)
        imports = {(each.library, each.symbol, each.delayed) for each in file.imports}
        exports = set(map(_export, file.export_table.rows()))
        for oracle in (pe_of_llvm(path), pe_of_lief(path)):
            assert (path.name, imports ^ oracle.imports) == (path.name, set())
            assert (path.name, exports ^ oracle.exports) == (path.name, set())
        if path.stat().st_size < _LARGE:
            imported, exported = pe_names_of_pefile(path)
            assert imported <= {name for _, name, _ in imports}
            assert exported <= {name for name, _, _ in exports}
        count += 1
    assert count


def _address(each: MachoExport, base: int) -> int | None:
    return None if each.is_reexport else each.address + base


# LLVM's words for lookups outside of one library.
_NO_LIBRARY = ("flat-namespace", "this-image", "main-executable", "weak")


def _differs(found: MachoImport, library: str) -> bool:
    """Whether LLVM has another library for an import; it leaves out folders, versions and suffixes."""
    if found.library is None:
        return library not in _NO_LIBRARY
    return not found.library.rpartition("/")[2].startswith(library.rpartition("/")[2])


@pytest.mark.parametrize("wheel", [*MACOS, *MACOS_EXTENSIONS], ids=lambda wheel: wheel.requirement)
def test_macos(wheel: Wheel, tmp_path: Path) -> None:
    count = imported = exported = 0
    for path in _members(wheel, _MACOS_SUFFIXES, tmp_path):
        data = path.read_bytes()
        for each in read_macho(data, path.name).slices:
            file = read_macho(data, path.name, each.machine)
            oracle = macho_of_llvm(path, each.machine)
            imports = {(found.name, found.weak) for found in file.imports}
            names = {name for name, _ in imports}
            # LLVM does not show whether a lazy import is weak.
            assert (path.name, {entry for entry in imports ^ oracle.imports if entry[0] not in oracle.lazy}) == (
                path.name,
                set(),
            )
            assert (path.name, oracle.lazy - names) == (path.name, set())
            # Coalesced symbols are defined in the file.
            assert (path.name, names - oracle.undefined - set(file.exports)) == (path.name, set())
            by_name = {found.name: found for found in file.imports}
            wrong = {(name, library) for name, library in oracle.libraries if _differs(by_name[name], library)}
            assert (path.name, wrong) == (path.name, set())
            exports = {(found.name, _address(found, file.base_address)) for found in file.exports.values()}
            assert (path.name, exports ^ oracle.exports) == (path.name, set())
            count += 1
            imported, exported = imported + len(imports), exported + len(exports)
    print(f"\n{wheel.file}: {count} slices, {imported} imports and {exported} exports, equal")
    assert count


def test_there_is_enough_to_compare() -> None:
    """As many files as in the first comparison: 70 for Windows, 100 for macOS."""
    for wheels, suffixes, least in ((WINDOWS, _WINDOWS_SUFFIXES, 70), (MACOS, _MACOS_SUFFIXES, 100)):
        found = 0
        for wheel in wheels:
            with zipfile.ZipFile(download(wheel, corpus_dir())) as archive:
                found += sum(name.endswith(suffixes) for name in archive.namelist())
        assert found >= least
