"""The package catalogue: its rows refer to each other, have sources, and give valid pip commands. Oracle for names,
versions and file names of wheels: `packaging`, which pip uses."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from abiscan.diagnosis.catalogue.load_packages import load_packages, package_of_file, packages_by_namespace, wheels_of
from abiscan.diagnosis.catalogue.package_row import Package, Wheels
from abiscan.diagnosis.fixes.build_commands import build
from abiscan.diagnosis.fixes.package_commands import find_package, install
from abiscan.diagnosis.fixes.wheel_choice import for_release
from abiscan.diagnosis.knowledge import Environment, Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.reference import Reference, ReferringFile
from abiscan.library import api
from abiscan.model.cause import CauseId
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild, TorchKind
from tests.diagnosis.explained import explain
from tests.tables import table_rows
from tools import package_data

ROWS = package_data.catalogue()
WHEELS = {row.id: row for row in ROWS.wheels}
USED = [(package, wheels) for package in ROWS.package for wheels in wheels_of(package)]


def missing(path: str, version: str, variant: str, python: str = "", platform: str = "") -> MissingName:
    cuda = f"{variant[2:4]}.{variant[4:]}" if variant.startswith("cu") else None
    target = TorchBuild(TorchKind.RELEASE, version, variant, cuda, None, None, None, None)
    major, _, minor = python.partition(".")
    of = PythonVersion(int(major), int(minor)) if python else None
    environment = Environment(python=of, platform=platform)
    return MissingName(Reference("_ZN1a1bEv"), Knowledge(target=target, environment=environment), ReferringFile(path))


def command(path: str, version: str, variant: str, python: str = "", platform: str = "") -> tuple[str, ...]:
    name = missing(path, version, variant, python, platform)
    package = find_package(name)
    assert package is not None
    return install(package, name)


def test_the_generated_file_has_the_rows() -> None:
    assert [package.name for package in load_packages().package] == [package.name for package in ROWS.package]


def test_names_are_normalised_and_each_once() -> None:
    names = [package.name for package in ROWS.package]
    assert names == [canonicalize_name(name) for name in names]
    assert len(names) == len(set(names))
    modules = [module for package in ROWS.package for module in package.modules]
    assert len(modules) == len(set(modules))


def test_every_row_of_wheels_is_used_and_has_a_source_with_a_date() -> None:
    assert {wheels.id for _package, wheels in USED} == set(WHEELS)
    for wheels in WHEELS.values():
        assert urlsplit(wheels.source.split("; ")[0].split(" ")[0]).scheme == "https", wheels.id
        assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", wheels.date), wheels.id


@pytest.mark.parametrize("wheels", WHEELS.values(), ids=lambda wheels: wheels.id)
def test_releases_and_pythons_are_versions(wheels: Wheels) -> None:
    for torch, release in wheels.releases.items():
        Version(release)
        assert ".".join(torch.split(".")[:2]) in {".".join(each.split(".")[:2]) for each in wheels.variants}, torch
    assert len(wheels.pythons) in (0, 2)
    assert all(Version(each) for each in (*wheels.pythons, *wheels.variants))


@pytest.mark.parametrize(("package", "wheels"), USED, ids=lambda row: getattr(row, "id", getattr(row, "name", "")))
def test_pip_can_read_every_command(package: Package, wheels: Wheels) -> None:
    if package.name == "torch":
        return
    path = f"/v/site-packages/{(package.modules or (package.name,))[0]}/_C.so"
    for minor, variants in wheels.variants.items():
        torch = next((each for each in wheels.releases if f"{each}.".startswith(f"{minor}.")), minor)
        torch = torch if torch.count(".") == 2 else f"{torch}.0"
        for variant in variants:
            label = f"{variant}1" if re.fullmatch(r"cu1\d", variant) else variant
            name = missing(path, torch, label, wheels.pythons[0] if wheels.pythons else "3.10", wheels.platforms[0])
            first = install(package, name)[0]
            assert first.startswith("pip install "), first
            # With the package index, too, pip prefers a newer source to a wheel of the page, unless a release is named.
            named = wheels.with_torch and re.search(r" torch==\S+ torch\w+==[\d.]+(?:\+\w+)? -f ", first) is not None
            assert named or (" -f " in first) == ("--no-index" in first), first
            last = first.partition("  # ")[0].rpartition(" && ")[2]  # after what it needs besides
            for argument in re.findall(r'"[^"]*"|\S+', last)[2:]:
                text = argument.strip('"')
                if text.endswith(".whl"):
                    project, version, _build, _tags = parse_wheel_filename(text.rpartition("/")[2])
                    assert project == package.name
                    assert version.local
                elif text.startswith("https://"):
                    assert urlsplit(text).netloc
                elif not text.startswith("-"):
                    assert Requirement(text).name


@table_rows
def test_the_command_of_the_project(path: str, build: str, python: str, first: str) -> None:
    torch, _, variant = build.partition("+")
    assert command(path, torch, variant, python)[0] == first


@table_rows
def test_no_wheel_is_promised_that_cannot_exist(path: str, build: str, python: str, first: str, later: str) -> None:
    torch, _, variant = build.partition("+")
    (way,) = command(f"/v/site-packages/{path}", torch, variant, *python.split())
    assert way.startswith(first)
    assert later in way


def test_a_package_for_cuda_brings_the_cuda_build_of_torch() -> None:
    """A CPU build of torch loads none of its files."""
    (way,) = command("/v/flash_attn_2_cuda.so", "2.8.0", "cpu", "3.12")
    lead, torch, wheel = way.splitlines()
    assert lead == "flash-attn needs a GPU of NVIDIA and a CUDA build of torch:"
    assert torch.startswith(
        "pip install --force-reinstall torch==2.8.0 --index-url https://download.pytorch.org/whl/cu12"
    )
    assert "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312" in wheel


@table_rows
def test_a_torch_newer_than_the_catalogue_may_have_a_wheel(path: str, torch: str, variant: str, install: str) -> None:
    (way,) = command(path, torch, variant)
    assert way.splitlines()[1] == install
    assert way.splitlines()[2] == "Otherwise build it:"


def test_wheels_that_pip_cannot_search_are_on_a_page() -> None:
    says, build = command("/v/flash_attn_2_cuda.so", "2.8.0", "cu128", "3.12", "win_amd64")
    assert says.endswith("https://github.com/kingbri1/flash-attention/releases")
    assert "--no-binary flash-attn flash-attn" in build


def test_a_build_from_the_index_is_not_older_than_the_installed_release() -> None:
    """Oracle: `pip download --no-binary torch-harmonics torch-harmonics` got 0.8.0 where 0.9.3 is installed."""
    file = ReferringFile("/v/_C.so", distribution="torch_scatter", distribution_version="2.1.2+pt26cu124")
    installed = MissingName(missing(file.path, "2.15.0", "cpu").reference, Knowledge(), file)
    known = find_package(installed)
    assert known is not None
    (line,) = (build(known, installed) or "").splitlines()
    assert '--no-binary torch-scatter "torch-scatter>=2.1.2"' in line


@table_rows
def test_a_package_that_is_built_for_a_cuda_is_that_of_torch(variant: str, requirement: str) -> None:
    (way,) = command("/v/site-packages/spconv/core_cc.so", "2.8.0", variant)
    assert requirement in way


@table_rows
def test_a_file_is_of_a_package(path: str, name: str | None) -> None:
    found = package_of_file(path)
    assert (None if found is None else found.name) == name


def test_a_namespace_is_of_a_package() -> None:
    found = packages_by_namespace().get("c10_npu")
    assert found is not None
    assert found.name == "torch-npu"
    assert packages_by_namespace().get("c10") is None


def test_a_package_that_is_named_for_a_torch_comes_with_that_torch() -> None:
    name = missing("/v/dgl/graphbolt/libgraphbolt_pytorch_2.6.0.so", "2.6.0", "cu124")
    package = find_package(name)
    assert package is not None
    assert for_release(package, "2.3.1", name) == (
        "pip install --force-reinstall --no-deps --no-index dgl -f https://data.dgl.ai/wheels/torch-2.3/cu121/repo.html",
    )
    # No index for a torch before 2.1 is in the table.
    none, torch, _ = for_release(
        package, "1.9.0", missing("/v/dgl/dgl_sparse/libdgl_sparse_pytorch_1.9.0.so", "1.9.0", "cu111")
    )
    assert none == "No wheel of dgl for torch 1.9.0 is known; the first known after it is for torch 2.1:"
    assert torch.startswith("pip install torch==2.1.")
    none, torch, dgl = for_release(package, "2.6.0", name)
    assert none.startswith("No wheel of dgl for torch 2.6.0 is known")
    assert torch == "pip install torch==2.4.0 --index-url https://download.pytorch.org/whl/cu124"
    assert (
        dgl
        == "pip install --force-reinstall --no-deps --no-index dgl -f https://data.dgl.ai/wheels/torch-2.4/cu124/repo.html"
    )


@table_rows
def test_a_library_comes_in_a_package_that_is_named(library: str, way: str) -> None:
    (subject,) = explain(
        f"OSError: {library}: cannot open shared object file: No such file or directory", Knowledge(), None
    )
    assert subject.causes[0].cause is CauseId.LIBRARY_MISSING
    assert subject.causes[0].fix.splitlines()[0] == way


@pytest.mark.parametrize("library", ["libcudart.so.13", "libcublas.so.13"])
def test_no_second_cuda_runtime_is_advised(library: str) -> None:
    target = TorchBuild(TorchKind.RELEASE, "2.11.0", "cu126", "12.6", None, None, None, None)
    text = f"ImportError: {library}: cannot open shared object file: No such file or directory"
    (subject,) = explain(text, Knowledge(target=target), None)
    assert subject.causes[0].cause is CauseId.CUDA_LIBRARY_MISMATCH
    assert "for CUDA 12" in subject.causes[0].fix.splitlines()[0]
    assert not any("nvidia-c" in cause.fix for cause in subject.causes)


@table_rows
def test_a_build_installs_its_tools_first(torch: str, variant: str, command: str) -> None:
    """torch/utils/cpp_extension.py imports pkg_resources.packaging in 2.1.2, not in 2.2.2; setuptools 70 has none."""
    name = missing("/v/torch_scatter/_version_cuda.so", torch, variant)
    package = find_package(name)
    assert package is not None
    built = build(package, name)
    assert built is not None
    assert built.startswith(command)


def test_a_need_for_nvcc_has_a_source_and_a_build() -> None:
    rows = [package for package in ROWS.package if package.gpu_compiler is not None]
    assert all(row.sdist or row.repository or row.checkout for row in rows)
    assert all(row.gpu_compiler.source and re.fullmatch(r"\d{4}-\d\d-\d\d", row.gpu_compiler.date) for row in rows)
    forced = {row.name for row in ROWS.package if "FORCE_CUDA=1" in row.environment}
    assert forced <= {row.name for row in rows if row.gpu_compiler.needed == "always"}


@table_rows
def test_a_build_names_nvcc_where_the_package_needs_it(path: str, note: str) -> None:
    """Oracle: the setup.py or CMakeLists.txt that the row names."""
    name = missing(f"/x/site-packages/{path}", "2.8.0", "cu128")
    package = find_package(name)
    assert package is not None
    assert (build(package, name) or "").partition("  # ")[2] == note


def test_the_platform_of_collect_env_decides() -> None:
    """torch/utils/collect_env.py, get_os: `OS: NAME (MACHINE)`; data.pyg.org has wheels of torch-scatter for it since
    torch 2.6."""
    head = "PyTorch version: 2.5.0+cpu\nOS: Ubuntu 22.04.5 LTS (aarch64)\nPython version: 3.10.4\n"
    subjects = api.explain(f"{head}ModuleNotFoundError: No module named 'torch_scatter'")
    assert "No wheel of torch-scatter for torch 2.5.0 (cpu) on this platform" in subjects[0].causes[0].fix
