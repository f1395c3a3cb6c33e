"""Reading the Windows fixtures. Expected values come from their sources (tests/fixtures/src/windows) and from
llvm-readobj --coff-imports --coff-exports, unless another oracle is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.binary.pe_binary import PeBinary
from abiscan.file_buffer import Sparse
from abiscan.model.facts import BinaryKind, FileFormat, SymbolType
from abiscan.model.pe_facts import PeImport
from abiscan.pe.pe_file import PeFile, read_pe
from abiscan.pe.pe_magic import peek_pe


@pytest.fixture
def module(fixtures_dir: Path) -> PeFile:
    path = fixtures_dir / "windows" / "_C.cp311-win_amd64.pyd"
    return read_pe(path.read_bytes(), "_C.pyd")


@pytest.fixture
def exporter(fixtures_dir: Path) -> PeFile:
    return read_pe((fixtures_dir / "windows" / "forwarders.dll").read_bytes(), "forwarders.dll")


def test_imports_have_their_library_and_ordinals(module: PeFile) -> None:
    torch, c10, python = "torch_cpu.dll", "c10.dll", "python311.dll"
    assert module.imports == (
        PeImport(torch, "??$const_data_ptr@M@Tensor@at@@QEBAPEBMXZ"),
        PeImport(torch, "??$data_ptr@N@Tensor@at@@QEBAPEANXZ"),
        PeImport(torch, "??1Tensor@at@@UEAA@XZ"),
        PeImport(torch, "?empty@at@@YA?AVTensor@1@PEB_J_K@Z"),
        PeImport(c10, "?DeviceTypeName@c10@@YAPEBDAEBUDeviceType@1@_N@Z"),
        PeImport(c10, "?log_level@c10@@3HA"),
        PeImport(python, "PyExc_ValueError"),
        PeImport(python, "PyModule_Create2"),
        PeImport("WS2_32.dll", None, 115),
        PeImport("late.dll", "late", delayed=True),
    )
    assert module.libraries == (torch, c10, python, "WS2_32.dll")
    assert module.imports[8].symbol == "#115"


def test_headers_and_records(module: PeFile) -> None:
    assert (module.machine, module.bits) == ("x86_64", 64)
    assert module.export_table.name == "_C.cp311-win_amd64.pyd"
    # llvm-readobj --coff-debug-directory: PDBGUID, PDBAge.
    assert module.debug_id == "833d5ba89c012ba34c4c44205044422e1"


def test_exports_of_every_kind(exporter: PeFile) -> None:
    found = list(exporter.export_table.rows())
    assert [(each.name, each.ordinal, each.is_code, each.forwarder) for each in found] == [
        ("alias", 9, True, None),
        ("by_number", 12, False, "WS2_32.#115"),
        ("forwarded", 11, False, "KERNEL32.Sleep"),
        ("function", 3, True, None),
        ("some_data", 4, False, None),
        (None, 7, True, None),
    ]
    # Numbers 0, 2, 5, 13 and 1 << 40 are unused, between others and outside.
    numbers = (0, 2, 3, 5, 7, 9, 13, 1 << 40)
    assert [number for number in numbers if exporter.export_table.has_ordinal(number)] == [3, 7, 9]
    assert PeBinary(exporter).exported_among(("function", "nameless", "forwarded")) == {"function", "forwarded"}


def test_a_file_of_32_bits(fixtures_dir: Path) -> None:
    file = read_pe((fixtures_dir / "windows" / "i386.dll").read_bytes(), "i386.dll")
    assert (file.machine, file.bits, file.debug_id) == ("i386", 32, None)


def test_behind_the_protocol(module: PeFile, exporter: PeFile) -> None:
    binary = PeBinary(module)
    facts = binary.facts()
    assert facts.format is FileFormat.PE
    assert facts.needed == ("torch_cpu.dll", "c10.dll", "python311.dll", "WS2_32.dll")
    assert [(each.name, each.library, each.may_stay_unbound) for each in facts.imports[-2:]] == [
        ("#115", "WS2_32.dll", False),
        ("late", "late.dll", True),
    ]
    exports = {each.name: each.type for each in PeBinary(exporter).exports()}
    assert exports == {
        "alias": SymbolType.FUNC,
        "by_number": SymbolType.NOTYPE,
        "forwarded": SymbolType.NOTYPE,
        "function": SymbolType.FUNC,
        "some_data": SymbolType.OBJECT,
    }
    assert PeBinary(exporter).names_with_prefix("f") == ("forwarded", "function")
    assert PeBinary(exporter).names_with_prefix("f", 1) == ("forwarded",)


def test_what_the_first_bytes_tell(fixtures_dir: Path) -> None:
    data = (fixtures_dir / "windows" / "forwarders.dll").read_bytes()
    assert peek_pe(data[:1024]) is BinaryKind.SHARED_OBJECT
    at = int.from_bytes(data[60:64], "little") + 22
    program = bytearray(data)
    program[at + 1] &= ~0x20
    assert peek_pe(bytes(program[:1024])) is BinaryKind.EXECUTABLE
    assert peek_pe(b"MZ" + bytes(100)) is BinaryKind.UNKNOWN
    assert peek_pe(b"\x7fELF") is None


def test_parts_that_were_left_out_of_a_member_are_unpacked(fixtures_dir: Path) -> None:
    """Data that looks like GPU code is omitted from a member of a wheel, in any place."""
    data = (fixtures_dir / "windows" / "_C.cp311-win_amd64.pyd").read_bytes()
    hole = (600, len(data))
    sparse = Sparse(data[:600] + bytes(len(data) - 600), [hole], lambda: data)
    assert PeBinary(read_pe(sparse, "x")).facts() == PeBinary(read_pe(data, "x")).facts()
