"""The fixtures match their names, by pyelftools and their bytes; the sources still build them."""

from __future__ import annotations

import io
import shutil
import struct
import sys
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from tests.fixtures.build import RECIPES
from tests.fixtures.loader_cases import CASES
from tests.programs import run_program

# The name in FlashInfer's reports (flashinfer-ai/flashinfer issue 872), and GCC's for the same declaration.
CLANG_NAME = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"
GCC_NAME = "_ZNK2at10TensorBase14const_data_ptrIlLi0EEEPKT_v"


def _dynamic(path: Path) -> DynamicSegment:
    elf = ELFFile(io.BytesIO(path.read_bytes()))
    return next(segment for segment in elf.iter_segments() if isinstance(segment, DynamicSegment))


def _imports(path: Path) -> set[str]:
    return {symbol.name for symbol in _dynamic(path).iter_symbols() if symbol["st_shndx"] == "SHN_UNDEF"}


def _needed(path: Path) -> list[str]:
    # pyelftools names the attribute after the tag.
    return [str(vars(tag)["needed"]) for tag in _dynamic(path).iter_tags("DT_NEEDED")]


def test_every_recipe_and_case_is_committed(fixtures_dir: Path) -> None:
    assert [recipe.name for recipe in RECIPES if not (fixtures_dir / recipe.name).is_file()] == []
    assert [case.name for case in CASES if not (fixtures_dir / "loader" / case.name).is_dir()] == []


def test_the_fixtures_stay_small(fixtures_dir: Path) -> None:
    files = [path for path in fixtures_dir.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    assert sum(path.lstat().st_size for path in files) < 2_250_000


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("clang-const-data-ptr.so", CLANG_NAME),
        ("clang-compat-17-const-data-ptr.so", GCC_NAME),
        ("gcc-const-data-ptr.so", GCC_NAME),
        ("nvcc-const-data-ptr.so", GCC_NAME),
        ("no-sections.so", GCC_NAME),
        ("stripped-extension.so", GCC_NAME),
        ("sysv-hash.so", GCC_NAME),
        ("cuda-build-required.so", "_ZN3c104cuda9SetDeviceEab"),
        ("materialize-cow-storage.so", "_ZN3c104impl3cow23materialize_cow_storageERNS_11StorageImplE"),
        ("unlinked-libtorch-python.so", "_Z16THPVariable_WrapRKN2at10TensorBaseE"),
        ("unreferenced-import.so", "never_looked_up"),
        ("hostile-names.so", "<script>alert(1)</script>"),
    ],
)
def test_it_imports_the_name_it_is_about(fixtures_dir: Path, file: str, name: str) -> None:
    assert name in _imports(fixtures_dir / file)


def test_the_good_and_the_old_string_extension_differ_in_the_string_alone(fixtures_dir: Path) -> None:
    good, old = _imports(fixtures_dir / "good-extension.so"), _imports(fixtures_dir / "old-string-extension.so")
    torch_names = [name for name in good - old if "c10" in name or "5torch" in name]
    assert torch_names
    assert all("__cxx11" in name for name in torch_names)
    assert not any("__cxx11" in name for name in old if "c10" in name or "5torch" in name)
    assert _needed(fixtures_dir / "good-extension.so") == _needed(fixtures_dir / "old-string-extension.so")


def test_the_stable_extension_uses_no_unstable_name(fixtures_dir: Path) -> None:
    imports = _imports(fixtures_dir / "stable-abi.so")
    assert not [name for name in imports if name.startswith(("_ZN2at", "_ZNK2at", "_ZN3c10", "_ZNK3c10"))]
    assert [name for name in imports if name.startswith(("aoti_torch_", "torch_"))]


def test_libtorch_python_is_not_needed_where_it_is_not_linked(fixtures_dir: Path) -> None:
    assert "libtorch_python.so" not in _needed(fixtures_dir / "unlinked-libtorch-python.so")
    assert "libtorch_python.so" in _needed(fixtures_dir / "libtorch-python-internals.so")


def test_no_section_headers_are_left(fixtures_dir: Path) -> None:
    header = (fixtures_dir / "no-sections.so").read_bytes()[:64]
    assert struct.unpack_from("<Q", header, 40) == (0,)
    assert struct.unpack_from("<HHH", header, 58) == (0, 0, 0)


@pytest.mark.parametrize(
    ("file", "machine", "bits", "little"),
    [
        ("aarch64.so", "EM_AARCH64", 64, True),
        ("i386.so", "EM_386", 32, True),
        ("big-endian-ppc64.so", "EM_PPC64", 64, False),
        ("big-endian-s390x.so", "EM_S390", 64, False),
        ("riscv64.so", "EM_RISCV", 64, True),
    ],
)
def test_the_other_machines(fixtures_dir: Path, file: str, machine: str, bits: int, little: bool) -> None:
    elf = ELFFile(io.BytesIO((fixtures_dir / file).read_bytes()))
    assert (elf["e_machine"], elf.elfclass, elf.little_endian) == (machine, bits, little)


TOOLS = ("gcc", "g++", "clang-19", "clang++-19", "readelf")
# Quick ones of each kind. All of them: python tests/fixtures/build.py --check
REBUILT = (
    "malformed-name.so",
    "hostile-names.so",
    "unreferenced-import.so",
    "bad/object.o",
    "loader/plain",
    "loader/version-missing",
    "loader/rpath-and-runpath",
    "loader/unversioned-to-hidden-second",
    "loader/graph-00",
)


@pytest.mark.skipif(any(shutil.which(tool) is None for tool in TOOLS), reason=f"needs {', '.join(TOOLS)}")
def test_the_sources_still_make_the_committed_files() -> None:
    script = Path(__file__).parent / "fixtures" / "build.py"
    done = run_program([sys.executable, script, "--check", *REBUILT])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
