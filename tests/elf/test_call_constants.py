"""Constants before a call. Oracle: the compiled source, for two compilers and two architectures."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.elf.call_constants import call_constants
from abiscan.model.limits import MAX_SITES
from tests.tables import data_text

DRIFT = Path(__file__).parents[1] / "fixtures" / "drift"
# Key is passed like std::optional<c10::DispatchKey>: its number, and whether there is one.
SOURCE = data_text(__file__, "call_constants.cpp")
NAME = "_Z4takePviPKc3KeyS1_j"
KEYS = [0x31, 0x91, None, 0x20, 0x4A]
UNKNOWN = "unknown"
COMPILERS = {
    "gcc": "g++ -O2",
    "gcc-small": "g++ -Os",
    "gcc-unoptimised": "g++ -O0",
    "gcc-cet": "g++ -O2 -fcf-protection=full -Wl,-z,ibtplt",
    "gcc-no-plt": "g++ -O2 -fno-plt",
    "clang": "clang++ -O2",
    "aarch64": "clang++ -O2 --target=aarch64-linux-gnu -fuse-ld=lld -nostdlib",
}


def keys(path: Path, names: list[str]) -> list[int | str | None]:
    found: list[int | str | None] = []
    for words in call_constants(open_elf(path), names, 3).values():
        for low, high, flag, _rest in words:
            known = low is not None and high is not None
            found.append(
                UNKNOWN if flag is None or (flag and not known) else (low or 0) | (high or 0) << 8 if flag else None
            )
    return found


@pytest.mark.parametrize("compiler", COMPILERS)
def test_constants_are_those_of_the_source(compiler: str, tmp_path: Path) -> None:
    command = COMPILERS[compiler].split()
    tools = [command[0], *(["ld.lld"] if "-fuse-ld=lld" in command else [])]
    if any(shutil.which(tool) is None for tool in tools):
        pytest.skip(f"needs {' and '.join(tools)}")
    (tmp_path / "keys.cpp").write_text(SOURCE)
    flags = ["-std=c++17", "-fno-reorder-functions" if command[0] == "g++" else "-g0", "-shared", "-fPIC"]
    subprocess.run([*command, *flags, "keys.cpp", "-o", "keys.so"], cwd=tmp_path, check=True)
    found = keys(tmp_path / "keys.so", [NAME])
    expected: list[int | str | None] = [*KEYS, *[UNKNOWN] * 4]
    if "-O0" in command:
        # Control flow may enter a block with earlier values: no wrong value is read.
        assert all(each in (is_, UNKNOWN) for each, is_ in zip(found, expected, strict=True))
    else:
        # Clang computes one constant from another: it adds to a register for the second call of `twice`.
        assert [*found[:4], *found[5:7]] == [*expected[:4], *expected[5:7]]
        assert found[4] in (expected[4], *([UNKNOWN] if compiler == "aarch64" else []))
        # In branches and unrolled loops, each copy of the call has its own.
        assert all(each in (UNKNOWN, *range(9)) for each in found[7:])


def test_of_a_module_of_torch() -> None:
    """tests/fixtures/drift/registers.cpp: `TORCH_LIBRARY_IMPL(aten, PrivateUse3, m)`, 64 in torch 2.8.0."""
    elf = open_elf(DRIFT / "registers-torch-2.8.so")
    names = [each.name for each in elf.imports if each.name.startswith("_ZN5torch7LibraryC")]
    assert keys(DRIFT / "registers-torch-2.8.so", names) == [64]
    assert call_constants(elf, [], 3) == {}


def test_more_calls_than_are_looked_at_are_not_all(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    calls = "".join(f'void f{n}() {{ take(room, 1, "", Key{{{n}, true}}, "", 1); }}\n' for n in range(MAX_SITES + 5))
    (tmp_path / "many.cpp").write_text(SOURCE.partition("void constant")[0] + calls)
    command = ["g++", "-O2", "-std=c++17", "-shared", "-fPIC", "many.cpp", "-o", "many.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = keys(tmp_path / "many.so", [NAME])
    assert found[:-1] == list(range(MAX_SITES))
    assert found[-1] == UNKNOWN
