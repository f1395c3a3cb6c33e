"""Reading the macOS fixtures. Expected values come from their sources (tests/fixtures/src/macos) and from llvm-objdump
--macho (--bind, --lazy-bind, --chained-fixups, --exports-trie, --dylibs-used), unless another oracle is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.binary.macho_binary import MachoBinary
from abiscan.errors import UnreadableFile
from abiscan.file_buffer import Sparse
from abiscan.macho.macho_file import MachoFile, read_macho
from abiscan.macho.macho_magic import peek_macho
from abiscan.model.facts import BinaryKind, FileFormat, SymbolType
from abiscan.model.macho_facts import LibraryLink, LinkedLibrary, MachoImport, linker_name, source_name

TORCH, C10 = "@rpath/libtorch_cpu.dylib", "@rpath/libc10.dylib"
NEWER, SYSTEM = "/usr/lib/libnewer.dylib", "/usr/lib/libSystem.B.dylib"
IN_LIBRARIES = {
    MachoImport("__ZN2at6TensorD1Ev", TORCH, False),
    MachoImport("__ZNK2at6Tensor14const_data_ptrIfEEPKT_v", TORCH, False),
    MachoImport("__ZN2at5emptyEPKxmPNSt3__19allocatorIcEE", TORCH, False),
    MachoImport("__ZN3c109log_levelE", C10, False),
    MachoImport("_newer_function", NEWER, True),
    MachoImport("__tlv_bootstrap", SYSTEM, False),
}
FLAT = {
    MachoImport("_PyModule_Create2", None, False),
    MachoImport("_PyExc_ValueError", None, False),
}


def _read(fixtures_dir: Path, name: str, machine: str | None = None) -> MachoFile:
    return read_macho((fixtures_dir / "macos" / name).read_bytes(), name, machine)


def test_imports_of_chained_fixups(fixtures_dir: Path) -> None:
    file = _read(fixtures_dir, "chained-fixups.so")
    coalesced = MachoImport("_coalesced", None, False)
    assert set(file.imports) == IN_LIBRARIES | FLAT | {coalesced}
    assert len(file.imports) == len(set(file.imports))


def test_imports_of_bind_opcodes(fixtures_dir: Path) -> None:
    file = _read(fixtures_dir, "bind-opcodes.so")
    binder = MachoImport("dyld_stub_binder", SYSTEM, False)
    assert set(file.imports) == IN_LIBRARIES | FLAT | {binder}


def test_without_two_levels_every_lookup_is_flat(fixtures_dir: Path) -> None:
    file = _read(fixtures_dir, "flat-namespace.so")
    assert {each.library for each in file.imports} == {None}


def test_load_commands(fixtures_dir: Path) -> None:
    file = _read(fixtures_dir, "chained-fixups.so")
    assert file.libraries == (
        LinkedLibrary(TORCH, LibraryLink.NORMAL),
        LinkedLibrary(C10, LibraryLink.NORMAL),
        LinkedLibrary(NEWER, LibraryLink.WEAK),
        LinkedLibrary(SYSTEM, LibraryLink.NORMAL),
    )
    assert (file.machine, file.bits, file.install_name) == ("arm64", 64, None)
    # llvm-objdump --private-headers: LC_UUID.
    assert file.uuid == "4c4c449055553144a1c9b4180c6beb16"


@pytest.mark.parametrize("machine", ["arm64", "x86_64"])
def test_exports_of_every_kind(fixtures_dir: Path, machine: str) -> None:
    file = _read(fixtures_dir, "universal.dylib", machine)
    assert file.machine == machine
    found = {each.name: (each.weak, each.thread_local, each.is_code) for each in file.exports.values()}
    assert found == {
        "_function": (False, False, True),
        "_data": (False, False, False),
        "_weak_function": (True, False, True),
        "_local_value": (False, True, False),
        "_absolute": (False, False, False),
    }
    assert file.exports["_absolute"].address == 0x1234
    assert MachoBinary(file).exported_among(("data", "absent")) == {"data"}
    assert file.install_name == "@rpath/libexports.dylib"
    assert LinkedLibrary("/usr/lib/libup.dylib", LibraryLink.REEXPORT) in file.libraries


def test_a_universal_file(fixtures_dir: Path) -> None:
    file = _read(fixtures_dir, "universal.dylib")
    assert file.machine == "arm64"
    # llvm-lipo -archs.
    assert [each.machine for each in file.slices] == ["x86_64", "arm64"]
    with pytest.raises(UnreadableFile, match="no slice for i386, only for x86_64, arm64"):
        _read(fixtures_dir, "universal.dylib", "i386")


def test_behind_the_protocol_names_are_those_of_the_source(fixtures_dir: Path) -> None:
    binary = MachoBinary(_read(fixtures_dir, "bind-opcodes.so"))
    facts = binary.facts()
    assert facts.format is FileFormat.MACHO
    assert facts.needed == (TORCH, C10, SYSTEM)
    imports = {each.name: each for each in facts.imports}
    assert imports["_ZN2at5emptyEPKxmPNSt3__19allocatorIcEE"].library == TORCH
    assert imports["PyModule_Create2"].library is None
    assert imports["newer_function"].may_stay_unbound
    assert "\x01dyld_stub_binder" in imports
    exports = {each.name: each.type for each in binary.exports()}
    assert exports["PyInit__C"] is SymbolType.FUNC
    assert exports["module_version"] is SymbolType.OBJECT
    assert binary.names_with_prefix("PyInit") == ("PyInit__C",)
    assert binary.exported_among(("PyInit__C", "_PyInit__C")) == {"PyInit__C"}


@pytest.mark.parametrize("name", ["_x", "__Z1fv", "dyld_stub_binder", "", "_", "\x01x", "_\x01x"])
def test_names_go_forth_and_back(name: str) -> None:
    assert linker_name(source_name(name)) == name


def test_what_the_first_bytes_tell(fixtures_dir: Path) -> None:
    directory = fixtures_dir / "macos"
    for name in ("chained-fixups.so", "bind-opcodes.so", "universal.dylib"):
        assert peek_macho((directory / name).read_bytes()[:64]) is BinaryKind.SHARED_OBJECT
    # The start of a Java class of version 52.
    assert peek_macho(b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(64)) is None
    assert peek_macho(b"\x7fELF") is None


def test_parts_that_were_left_out_of_a_member_are_unpacked(fixtures_dir: Path) -> None:
    """Data that looks like GPU code is omitted from a member of a wheel, in any place."""
    data = (fixtures_dir / "macos" / "chained-fixups.so").read_bytes()
    hole = (600, len(data))
    sparse = Sparse(data[:600] + bytes(len(data) - 600), [hole], lambda: data)
    assert MachoBinary(read_macho(sparse, "x")).facts() == MachoBinary(read_macho(data, "x")).facts()
