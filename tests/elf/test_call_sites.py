"""Call sites, compared with objdump."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.elf.call_sites import _windowed_calls, find_call_sites
from abiscan.elf.displacements import displacements
from abiscan.model.limits import MAX_SITES
from tests.processor_time import at_most
from tests.programs import output_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILES = [
    "clang-const-data-ptr.so",
    "gcc-const-data-ptr.so",
    "good-extension.so",
    "stripped-extension.so",
    "unstripped-extension.so",
    "cuda-build-required.so",
]
COMPILERS = {
    "plt": "g++ -O2",
    "plt-cet": "g++ -O2 -fcf-protection=full -Wl,-z,ibtplt",
    "no-plt": "g++ -O2 -fno-plt",
    "bind-now": "g++ -O2 -Wl,-z,now",
    "unoptimised": "g++ -O0",
    "clang": "clang++-19 -O2",
    "clang-no-plt": "clang++-19 -O2 -fno-plt",
}


def disassembled(path: Path) -> set[tuple[str, int]]:
    """(import, address) of calls, jumps and loads through the PLT or the GOT, by binutils."""
    slots = {}
    listing = output_of(["readelf", "-rW", path])
    for line in listing.splitlines():
        parts = line.split()
        if len(parts) >= 5 and ("JUMP_SLO" in parts[2] or "GLOB_DAT" in parts[2]):
            slots[int(parts[0], 16)] = parts[4].split("@")[0]
    found = set()
    section = ""
    code = output_of(["objdump", "-d", "--no-show-raw-insn", path])
    for line in code.splitlines():
        if line.startswith("Disassembly"):
            section = line.split()[-1]
        instruction = re.match(r"\s+([0-9a-f]+):\s+(.*)$", line)
        if instruction is None or section.startswith(".plt"):
            continue
        address, text = int(instruction[1], 16), instruction[2]
        stub = re.match(r"(?:bnd )?(?:call|jmp)\s+[0-9a-f]+ <([^>]+)@plt>$", text)
        slot = re.search(r"# ([0-9a-f]+) <", text)
        if stub:
            found.add((stub[1], address))
        elif slot and int(slot[1], 16) in slots and re.match(r"(?:\w+ |rex\.W )*(call|jmp|mov)\b.*\(%rip\)", text):
            found.add((slots[int(slot[1], 16)], address))
    return found


def located(path: Path, lines: bool = False, most: int = MAX_SITES) -> set[tuple[str, int]]:
    elf = open_elf(path)
    # Each access to a thread-local variable calls it with a prefix that objdump prints in several ways.
    names = {each.name for each in elf.imports} - {"__tls_get_addr"}
    return {(name, site.address) for name, sites in find_call_sites(elf, names, lines, most).items() for site in sites}


def needs(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


@pytest.mark.parametrize(
    ("few", "windowed"), [(0, 0), (1 << 20, 0), (0, 1 << 20)], ids=["by upper half", "by second byte", "in windows"]
)
@pytest.mark.parametrize("name", FILES)
def test_same_sites_as_objdump(name: str, few: int, windowed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("objdump", "readelf")
    monkeypatch.setattr("abiscan.elf.call_sites._WINDOWED_TARGETS", windowed)
    monkeypatch.setattr("abiscan.elf.call_sites._WINDOWED_BYTES", windowed << 20)
    monkeypatch.setattr("abiscan.elf.displacements._FEW", few)
    monkeypatch.setattr("abiscan.elf.call_sites.MAX_SITES", 10_000)
    path = FIXTURES / name
    imports = {each.name for each in open_elf(path).imports} - {"__tls_get_addr"}
    expected = {pair for pair in disassembled(path) if pair[0] in imports}
    assert expected
    assert located(path, most=10_000) == expected
    first = {name: sorted(each for each in expected if each[0] == name)[:2] for name in imports}
    assert located(path, most=2) == {pair for pairs in first.values() for pair in pairs}


@pytest.mark.parametrize("few", [0, 1 << 20], ids=["by upper half", "by second byte"])
def test_targets_anywhere_in_64_bits_cost_nothing(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relocation in a hostile file may have any address: the others' calls are found, in the same time. Oracle: the
    target address of a call instruction (Intel SDM, volume 2, CALL: displacement from the next one)."""
    monkeypatch.setattr("abiscan.elf.displacements._FEW", few)
    base = 0x1000
    code = bytes(64) + b"\xe8" + (0x2000 - (base + 64 + 5)).to_bytes(4, "little", signed=True) + bytes(64)
    targets = {0x2000, 1 << 62, (1 << 64) - 8}
    with at_most(5):
        assert list(displacements(memoryview(code), base, [(b"\xe8", 1)], targets)) == [(64, 65, 0x2000)]
        part = range(len(code))
        found = [call for each in sorted(targets) for call in _windowed_calls(memoryview(code), base, each, part)]
        assert found == [(64, 0x2000)]


@pytest.mark.parametrize("opcode", [0xE8, 0xE9])
@pytest.mark.parametrize("target", [0, 0x7F, 0x100, 0x1FF, 0x1000, 0x13F8, 0x4000, 0x80000003])
def test_a_call_at_any_offset_is_found_in_windows(target: int, opcode: int) -> None:
    """Also the last and the first of a part. Oracle: as above."""
    base, size = 0x1000, 1024
    for at in (0, 1, 254, 255, 256, 257, 511, 700, size - 6, size - 5):
        code = bytearray(size)
        code[at : at + 5] = bytes([opcode]) + (target - (base + at + 5) & 0xFFFFFFFF).to_bytes(4, "little")
        within = -(1 << 31) <= target - (base + at + 5) < 1 << 31
        for part in (range(size), range(at, size), range(at + 1)):
            found = list(_windowed_calls(memoryview(code), base, target, part))
            assert ((at, target) in found) is within, (at, part)
            assert all(offset in part for offset, _target in found)
        assert (at, target) not in _windowed_calls(memoryview(code), base, target, range(at + 1, size))


@pytest.mark.parametrize("compiler", COMPILERS.values(), ids=COMPILERS)
def test_every_way_to_call(compiler: str, tmp_path: Path) -> None:
    needs("objdump", "readelf", compiler.split(maxsplit=1)[0])
    path = tmp_path / "x.so"
    source = FIXTURES / "src" / "const_data_ptr.cpp"
    subprocess.run([*compiler.split(), "-std=c++17", "-shared", "-fPIC", source, "-o", path], check=True)
    assert {name for name, _address in disassembled(path) if "data_ptr" in name}
    assert located(path) == disassembled(path)


@pytest.mark.parametrize("flags", ["", "-Wl,-z,ibtplt", "-Wl,-z,now"])
def test_stubs_of_mold(flags: str, tmp_path: Path) -> None:
    """objdump does not name these stubs: the oracle is the same object linked by GNU ld."""
    needs("g++", "mold")
    source, unlinked = FIXTURES / "src" / "const_data_ptr.cpp", tmp_path / "x.o"
    subprocess.run(["g++", "-O2", "-std=c++17", "-fPIC", "-c", source, "-o", unlinked], check=True)
    found = []
    for linker in ("bfd", "mold"):
        path = tmp_path / f"{linker}.so"
        subprocess.run(["g++", "-shared", f"-fuse-ld={linker}", *flags.split(), unlinked, "-o", path], check=True)
        names = {each.name for each in open_elf(path).imports if "data_ptr" in each.name}
        sites = find_call_sites(open_elf(path), names)
        found.append({name: [(site.function, site.called) for site in sites[name]] for name in sites})
    assert found[0]
    assert found[0] == found[1]


@pytest.mark.parametrize("flags", ["-g", "-g -gdwarf-4"])
def test_lines_are_those_of_the_source(flags: str, tmp_path: Path) -> None:
    needs("g++")
    path = tmp_path / "x.so"
    source = FIXTURES / "src" / "const_data_ptr.cpp"
    subprocess.run(["g++", *flags.split(), "-std=c++17", "-shared", "-fPIC", source, "-o", path], check=True)
    text = source.read_text().splitlines()
    found = find_call_sites(open_elf(path), {"_ZNK2at10TensorBase14const_data_ptrIfLi0EEEPKT_v"}, lines=True)
    ((site,),) = found.values()
    assert site.line is not None
    assert site.file is not None
    assert "const_data_ptr<float>()" in text[site.line - 1]
    assert Path(site.file).name == "const_data_ptr.cpp"
    assert site.function == "_Z11first_valueRKN2at10TensorBaseE"


def test_aarch64() -> None:
    """The only call of the fixture, by aarch64-linux-gnu-objdump: `bl` to the stub of `undefined_elsewhere`."""
    elf = open_elf(FIXTURES / "aarch64.so")
    names = {each.name for each in elf.imports if each.type.value != "object"}
    sites = find_call_sites(elf, names)
    if shutil.which("aarch64-linux-gnu-objdump") is None:
        pytest.skip("aarch64-linux-gnu-objdump is not installed")
    code = output_of(["aarch64-linux-gnu-objdump", "-d", FIXTURES / "aarch64.so"])
    branches = re.findall(r"^\s+([0-9a-f]+):\s+[0-9a-f]+\s+bl?\s+[0-9a-f]+ <([^>]+)@plt>", code, re.MULTILINE)
    assert branches
    assert {(name, site.address) for name, all_ in sites.items() for site in all_ if site.called} == {
        (name, int(address, 16)) for address, name in branches
    }


def test_other_machines_yield_nothing() -> None:
    elf = open_elf(FIXTURES / "riscv64.so")
    assert find_call_sites(elf, {each.name for each in elf.imports}) == {}


def test_stripped_of_sections_still_finds_the_calls() -> None:
    with_sections = located(FIXTURES / "gcc-const-data-ptr.so")
    without = located(FIXTURES / "no-sections.so")
    assert {name for name, _address in without} == {name for name, _address in with_sections}
    assert len(without) == len(with_sections)


def test_a_stripped_file_names_its_exported_functions() -> None:
    name = "_ZNK2at10TensorBase14const_data_ptrIfLi0EEEPKT_v"
    found = find_call_sites(open_elf(FIXTURES / "stripped-extension.so"), {name})
    assert [site.function for site in found[name]] == ["_Z11first_valueRKN2at10TensorBaseE"]
