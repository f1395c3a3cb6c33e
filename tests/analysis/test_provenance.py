"""The provenance of files, against pyelftools, the spelling of names and the build options of the fixtures."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from msgspec.structs import replace

from abiscan.elf import open_elf
from abiscan.model.facts import VersionNeed
from abiscan.provenance.read_provenance import highest
from tests.programs import output_of, run_abiscan
from tests.tables import table_rows

FILES = tuple(
    sorted(
        path.name
        for path in (Path(__file__).parents[1] / "fixtures").glob("*.so")
        # For files of another machine or without symbols of torch, CPython or libc, only the compiler is known.
        if path.name not in ("aarch64.so", "i386.so", "riscv64.so") and not path.name.startswith("big-endian")
    )
)


@pytest.fixture(scope="module")
def made(fixtures_dir: Path) -> Mapping[str, Mapping[str, Any]]:
    """The provenance of every fixture, by file name, as the JSON report has it."""
    files = (fixtures_dir / name for name in FILES)
    done = run_abiscan("scan", "--torch", "2.13.0", "--matrix", "-f", "json", "-q", *files)
    artifacts = json.loads(done.stdout)["artifacts"]
    return {Path(artifact["path"]).name: artifact["provenance"] for artifact in artifacts}


def elf_of(path: Path) -> ELFFile:
    return ELFFile(io.BytesIO(path.read_bytes()))


def imports(path: Path) -> list[str]:
    dynamic = next(s for s in elf_of(path).iter_segments() if isinstance(s, DynamicSegment))
    return [symbol.name for symbol in dynamic.iter_symbols() if symbol["st_shndx"] == "SHN_UNDEF"]


def versions(path: Path, family: str) -> list[tuple[int, ...]]:
    """The required versions of a family (VER_FLG_WEAK, 2, marks optional ones)."""
    return [
        tuple(int(part) for part in need.name.removeprefix(f"{family}_").split("."))
        for section in elf_of(path).iter_sections()
        if isinstance(section, GNUVerNeedSection)
        for _, needs in section.iter_versions()
        for need in needs
        if need.name.startswith(f"{family}_") and not need["vna_flags"] & 2
    ]


@pytest.mark.parametrize("name", FILES)
def test_compilers_are_the_strings_of_the_comment_section(
    name: str, made: Mapping[str, Mapping[str, Any]], fixtures_dir: Path
) -> None:
    section = elf_of(fixtures_dir / name).get_section_by_name(".comment")
    strings = set() if section is None else {part.decode() for part in section.data().split(b"\0") if part}
    assert set(made[name]["compilers"]) == strings


@pytest.mark.parametrize(("family", "field"), [("GLIBC", "glibc_needed"), ("GLIBCXX", "libstdcxx_needed")])
@pytest.mark.parametrize("name", [name for name in FILES if name != "no-sections.so"])
def test_the_highest_version_that_is_needed(
    name: str, family: str, field: str, made: Mapping[str, Mapping[str, Any]], fixtures_dir: Path
) -> None:
    wanted = versions(fixtures_dir / name, family)
    assert made[name][field] == (".".join(map(str, max(wanted))) if wanted else None)


def test_versions_are_compared_as_numbers_and_those_that_may_be_absent_left_out(fixtures_dir: Path) -> None:
    names = ("GLIBC_2.4", "GLIBC_2.14", "GLIBC_2.2.5", "GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "GLIBCXX_3.4.29")
    needs = (*(VersionNeed("libc.so.6", name, False) for name in names), VersionNeed("libc.so.6", "GLIBC_2.38", True))
    facts = replace(open_elf(str(fixtures_dir / "good-extension.so")).facts(), version_needs=needs)
    assert highest(facts, "GLIBC") == "2.14"
    assert highest(facts, "GLIBCXX") == "3.4.29"
    assert highest(facts, "CXXABI") is None


def test_without_section_headers_versions_are_still_read_and_compilers_are_not(
    made: Mapping[str, Mapping[str, Any]],
) -> None:
    whole, stripped = made["gcc-const-data-ptr.so"], made["no-sections.so"]
    facts = [fact for fact in whole["facts"] if fact["topic"] != "compiler"]
    unread = "it has no section headers, which locate device code"
    assert stripped == {**whole, "compilers": [], "facts": facts, "gpu_not_read": unread}


@pytest.mark.parametrize("name", FILES)
def test_the_string_abi_is_how_torch_names_spell_it(
    name: str, made: Mapping[str, Mapping[str, Any]], fixtures_dir: Path
) -> None:
    torch_names = [n for n in imports(fixtures_dir / name) if n.startswith("_Z") and ("c10" in n or "5torch" in n)]
    new = any("NSt7__cxx1112basic_string" in n for n in torch_names)
    # `Ss` is the old std::string, and so is its spelling without the inline namespace; no other name here contains
    # either.
    old = any("RKSs" in n or "ESs" in n or "NSt12basic_string" in n or "ISbIcE" in n for n in torch_names)
    assert made[name]["cxx11_abi"] == (None if new == old else new)


@table_rows
def test_the_interface_of_torch(name: str, abi: str, made: Mapping[str, Mapping[str, Any]]) -> None:
    assert made[name]["abi"] == abi


@pytest.mark.parametrize(
    ("name", "python"), [("abi3-module.abi3.so", "abi3"), ("good-extension.so", "any"), ("gcc-const-data-ptr.so", None)]
)
def test_the_python_abi(name: str, python: str | None, made: Mapping[str, Mapping[str, Any]]) -> None:
    assert made[name]["python_abi"] == python


def test_the_interpreter_of_a_tagged_file_name(tmp_path: Path, fixtures_dir: Path) -> None:
    files = [tmp_path / f"_C.{tag}.so" for tag in ("cpython-311-x86_64-linux-gnu", "cpython-313t-x86_64-linux-gnu")]
    for file in files:
        file.write_bytes((fixtures_dir / "good-extension.so").read_bytes())
    done = run_abiscan("scan", "--torch", "2.13.0", "-f", "json", "-q", *files)
    found = [artifact["provenance"]["python_abi"] for artifact in json.loads(done.stdout)["artifacts"]]
    assert found == ["cp311", "cp313t"]


def test_the_cuda_release_is_that_of_the_needed_toolkit_library(
    made: Mapping[str, Mapping[str, Any]], fixtures_dir: Path
) -> None:
    for name in FILES:
        dynamic = next(s for s in elf_of(fixtures_dir / name).iter_segments() if isinstance(s, DynamicSegment))
        sonames = [str(vars(tag)["needed"]) for tag in dynamic.iter_tags("DT_NEEDED")]
        releases = [s.removeprefix("libcudart.so.") for s in sonames if s.startswith("libcudart.so.")]
        assert [made[name]["cuda"]] == (releases or [None]), name
    assert made["cuda-build-required.so"]["cuda"] is not None


def test_gpu_code_is_what_the_fixture_was_built_for(made: Mapping[str, Mapping[str, Any]], fixtures_dir: Path) -> None:
    # By default nvcc writes machine code and PTX for one architecture, with these words.
    content = (fixtures_dir / "nvcc-const-data-ptr.so").read_bytes()
    assert b"-arch sm_75 " in content
    assert b".target sm_75" in content
    assert made["nvcc-const-data-ptr.so"]["gpu_archs"] == ["compute_75", "sm_75"]
    with_code = [name for name in FILES if made[name]["gpu_archs"]]
    assert with_code == sorted(["nvcc-const-data-ptr.so", *(name for name in FILES if name.startswith("gpu-"))])


@table_rows
def test_the_releases_that_export_all_its_names(
    name: str, torch_releases: list[list[str]] | None, made: Mapping[str, Mapping[str, Any]]
) -> None:
    assert made[name]["torch_releases"] == torch_releases


def facts(made: Mapping[str, Any], topic: str) -> list[tuple[str, str]]:
    return [(fact["value"], fact["source"]) for fact in made["facts"] if fact["topic"] == topic]


@pytest.mark.parametrize("family", ["GLIBC", "GLIBCXX", "CXXABI", "GCC"])
@pytest.mark.parametrize("name", [name for name in FILES if name != "no-sections.so"])
def test_a_floor_and_a_name_that_needs_it(
    name: str, family: str, made: Mapping[str, Mapping[str, Any]], fixtures_dir: Path
) -> None:
    wanted = versions(fixtures_dir / name, family)
    found = facts(made[name], family.lower())
    if not wanted:
        assert found == []
        return
    text = ".".join(map(str, max(wanted)))
    ((value, source),) = found
    assert value == text
    # readelf prints `name@VERSION` for a versioned import.
    listed = output_of(["readelf", "-W", "--dyn-syms", str(fixtures_dir / name)])
    assert f"{source.partition('@')[0]}@{family}_{text}" in listed or source == f"{family}_{text}"


@table_rows
def test_facts(name: str, topic: str, values: list[str], made: Mapping[str, Mapping[str, Any]]) -> None:
    told = [value for value, _ in facts(made[name], topic)]
    assert [value for value in told if not value.startswith("LLD")] == values


def test_a_directory_of_the_machine_that_built_it(tmp_path: Path) -> None:
    out = tmp_path / "x.so"
    paths = "-Wl,-rpath,/home/runner/lib:/usr/lib/x86_64-linux-gnu:\\$ORIGIN/../lib"
    subprocess.run(f"gcc -shared -nostdlib -x c /dev/null {paths} -o {out}", shell=True, check=True)
    done = run_abiscan("scan", "--torch", "2.13.0", "-f", "json", "-q", out)
    (artifact,) = json.loads(done.stdout)["artifacts"]
    assert [value for value, _ in facts(artifact["provenance"], "run-path")] == ["/home/runner/lib"]


@pytest.mark.parametrize("path", ["{here}/none:", ":{here}/none", "below", "{here}/none", "$ORIGIN/none"])
def test_a_run_path_is_relative_where_the_real_loader_looks_below_the_working_directory(
    path: str, tmp_path: Path
) -> None:
    for folder in ("cwd/below", "away"):
        (tmp_path / folder).mkdir(parents=True)
    library, user = tmp_path / "cwd/below/libanswer.so", tmp_path / "away/user.so"
    command = ["gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"]
    subprocess.run([*command, library, "-Wl,-soname,libanswer.so"], check=True)
    path = path.format(here=tmp_path)
    link = ["-x", "none", f"-L{library.parent}", "-Wl,--no-as-needed", "-lanswer", f"-Wl,-rpath,{path}"]
    subprocess.run([*command, user, *link], check=True)
    (tmp_path / "cwd/libanswer.so").write_bytes(library.read_bytes())
    load = [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(user)!r})"]
    loads = subprocess.run(load, cwd=tmp_path / "cwd", capture_output=True, check=False).returncode == 0
    done = run_abiscan("scan", "--torch", "2.13.0", "-f", "json", "-q", user)
    (artifact,) = json.loads(done.stdout)["artifacts"]
    assert loads == ("relative-run-path" in {finding["rule"] for finding in artifact["findings"]})


def test_cuda_is_detected_from_sonames_with_its_release(tmp_path: Path) -> None:
    """The sonames in NVIDIA's wheels for CUDA 13 (nvidia-cusparse, nvidia-cufft, nvidia-cuda-runtime)."""
    sonames = ("libcusparse.so.12", "libcufft.so.12", "libcudart.so.13")
    for soname in sonames:
        stub = ["gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", f"-Wl,-soname,{soname}", "-o", tmp_path / soname]
        subprocess.run(stub, check=True)
    out = tmp_path / "user.so"
    link = ["-x", "none", f"-L{tmp_path}", "-Wl,--no-as-needed", *(f"-l:{soname}" for soname in sonames)]
    subprocess.run(["gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", *link, "-o", out], check=True)
    done = run_abiscan("scan", "--torch", "2.13.0", "-f", "json", "-q", out)
    (artifact,) = json.loads(done.stdout)["artifacts"]
    assert artifact["provenance"]["cuda"] == "13"
