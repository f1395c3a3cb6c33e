"""The target environment of a file depends on the file, not on the Python or directory of abiscan."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.python import PythonEnvironment, read_environment
from abiscan.loader import LoaderSettings
from abiscan.model.finding import Severity
from abiscan.model.imports import Status
from abiscan.model.python_version import PythonVersion
from abiscan.model.report import ArtifactReport, ArtifactVerdict, InputError, Report
from abiscan.model.target import TargetSource
from abiscan.releases import open_index
from abiscan.report import text
from tests.fixtures.crafted import rename
from tests.fixtures.tiny_elf import (
    ARRAY,
    DATA,
    FUNC,
    FUNCTION,
    R_64,
    UNDEFINED,
    Library,
    Relocation,
    Symbol,
    build,
)
from tests.fixtures.wheels import FIXTURES, TAG, make_wheel
from tests.programs import run_program
from tests.tables import table_rows


def environment(tmp_path: Path, version: PythonVersion) -> PythonEnvironment:
    """An environment without packages, and without torch."""
    site = tmp_path / str(version)
    site.mkdir(exist_ok=True)
    return PythonEnvironment(None, None, version, str(site), (str(site),), None)


def wheel(folder: Path, *members: tuple[str, str], name: str = "x", tag: str = TAG, requires: str = "") -> str:
    return make_wheel(folder, members, name=name, tag=tag, requires=requires).name


def report_of(folder: Path, targets: list[str], where: PythonEnvironment | None, torch: str | None = None) -> Report:
    return scan(targets, ScanOptions(torch, where, LoaderSettings(str(folder))))


def only(folder: Path, file: str, *, tag: str = TAG, requires: str = "", torch: str | None = None) -> ArtifactReport:
    """The report of the one file of a wheel."""
    name = wheel(folder, ("x/_C.so", file), tag=tag, requires=requires)
    (artifact,) = report_of(folder, [name], None, torch).artifacts
    return artifact


def values(artifact: ArtifactReport) -> tuple[str | None, str | None]:
    assert artifact.target is not None
    torch, python = artifact.target.torch, artifact.target.python
    return torch and torch.value, python and python.value


def test_the_report_of_wheels_is_the_same_from_every_interpreter_but_for_the_loader(tmp_path: Path) -> None:
    """A mixed dist/: each wheel against the torch that it requires and the Python of its tag."""
    names = [
        wheel(
            tmp_path,
            ("first/_C.so", "good-extension.so"),
            ("first/libold.so", "old-string-extension.so"),
            name="first",
            requires="torch==2.13.0",
        ),
        wheel(
            tmp_path,
            ("second/_C.so", "stable-abi.so"),
            name="second",
            tag="cp39-cp39-manylinux_2_28_x86_64",
            requires="torch>=2.4",
        ),
        wheel(tmp_path, ("third/_C.so", "abi3-module.abi3.so"), name="third", tag="cp313-cp313-manylinux_2_28_x86_64"),
    ]
    reports = [
        [replace(artifact, loader=None) for artifact in report_of(tmp_path, names, where).artifacts]  # type: ignore[arg-type]
        for where in (None, environment(tmp_path, PythonVersion(3, 11)), environment(tmp_path, PythonVersion(3, 13)))
    ]
    assert reports[0] == reports[1] == reports[2]
    settings = {artifact.path: values(artifact) for artifact in reports[0]}
    assert settings[names[0]] == ("2.13.0+cu130", "3.11")
    # torch 2.9 and later have no wheels for CPython 3.9.
    assert settings[names[1]] == ("2.8.0+cu128", "3.9")
    assert settings[names[2]][1] == "3.13"


def test_one_run_judges_the_builds_of_a_package_each_for_its_own_torch(tmp_path: Path) -> None:
    """metatensor-torch ships a folder for each release: the build with the old string ABI is for 2.6 and fits no later
    one."""
    members = (("x/torch-2.6/lib/x.so", "old-string-extension.so"), ("x/torch-2.13/lib/x.so", "good-extension.so"))
    name = wheel(tmp_path, *members, tag="py3-none-manylinux_2_28_x86_64", requires="torch>=2.1")
    report = report_of(tmp_path, [name], environment(tmp_path, PythonVersion(3, 11)))
    found = {a.member: (values(a)[0], a.target.torch.source) for a in report.artifacts if a.target and a.target.torch}
    assert found["x/torch-2.6/lib/x.so"] == ("2.6.0+cu124", TargetSource.FOLDER)
    assert found["x/torch-2.13/lib/x.so"] == ("2.13.0+cu130", TargetSource.FOLDER)
    verdicts = {a.member: a.verdict for a in report.artifacts}
    assert verdicts["x/torch-2.13/lib/x.so"] is ArtifactVerdict.LOADS


def test_a_name_that_a_member_exports_is_that_members(tmp_path: Path) -> None:
    """The package loads it first with RTLD_GLOBAL; the file alone does not find it in its needed libraries."""
    alone = wheel(
        tmp_path, ("a/_C.so", "extension-source-not-built.so"), name="alone", tag="py3-none-manylinux_2_28_x86_64"
    )
    (missing,) = report_of(tmp_path, [alone], None).artifacts
    names = [b.name for b in missing.imports if b.status.is_unresolved]
    assert names
    assert missing.verdict is ArtifactVerdict.FAILS


def test_an_unknown_release_leaves_the_file_undecided(tmp_path: Path) -> None:
    artifact = only(tmp_path, "good-extension.so", requires="torch==1.4.0")
    assert artifact.verdict is ArtifactVerdict.UNDECIDED
    assert any("no known release of torch satisfies it" in note for note in artifact.notes)


def test_the_command_line_comes_first(tmp_path: Path) -> None:
    artifact = only(tmp_path, "good-extension.so", requires="torch==2.8.0", torch="2.13.0")
    assert artifact.target is not None
    assert artifact.target.torch is not None
    assert (artifact.target.torch.value, artifact.target.torch.source) == ("2.13.0+cu130", TargetSource.COMMAND_LINE)


@pytest.mark.torch
def test_declared_leaves_the_installed_torch_alone(tmp_path: Path, torch_python: Path) -> None:
    where = read_environment(str(torch_python))
    assert where.version is not None
    python = f"cp{where.version.major}{where.version.minor}"
    name = wheel(
        tmp_path, ("x/_C.so", "good-extension.so"), tag=f"{python}-{python}-linux_x86_64", requires="torch==2.13.0"
    )
    sources = {}
    for spec in (None, "declared"):
        (artifact,) = report_of(tmp_path, [name], where, torch=spec).artifacts
        assert artifact.target is not None
        assert artifact.target.torch is not None
        sources[spec] = artifact.target.torch.source
    assert sources == {None: TargetSource.ENVIRONMENT, "declared": TargetSource.REQUIREMENT}


@pytest.mark.parametrize("release", ["1.13.0", "2.1.0", "2.6.0", "2.8.0", "2.11.0", "2.13.0", "2.15.0"])
def test_the_verdict_on_a_release_is_the_matrixs_cell_of_it(tmp_path: Path, release: str) -> None:
    """For the fixtures, the matrix agrees with --torch RELEASE (tests/corpus checks real files)."""
    options = ScanOptions(
        release, environment(tmp_path, PythonVersion(3, 11)), LoaderSettings(str(FIXTURES)), matrix=True
    )
    compared = 0
    for artifact in scan([str(path) for path in FIXTURES.glob("*.so")], options).artifacts:
        if artifact.releases is None or artifact.torch_build is None:
            continue
        (cell,) = [
            each
            for each in artifact.releases
            if (each.torch, each.variant) == (artifact.torch_build.version, artifact.torch_build.variant)
        ]
        if artifact.verdict is not ArtifactVerdict.UNDECIDED:
            compared += 1
            assert (artifact.verdict is ArtifactVerdict.LOADS) is cell.loads, (artifact.display, cell)
    assert compared > 15


def test_a_member_fails_where_the_library_that_it_needs_does(tmp_path: Path) -> None:
    """clang-const-data-ptr.so misses a name on every release (nm -D of libtorch_cpu), needs-broken-sibling.so none."""
    name = wheel(
        tmp_path,
        ("pair/needs-broken-sibling.so", "needs-broken-sibling.so"),
        ("pair/clang-const-data-ptr.so", "clang-const-data-ptr.so"),
        name="pair",
        requires="torch==2.13.0",
    )
    report = report_of(tmp_path, [name], environment(tmp_path, PythonVersion(3, 11)))
    verdicts = {artifact.member: artifact for artifact in report.artifacts}
    assert verdicts["pair/clang-const-data-ptr.so"].verdict is ArtifactVerdict.FAILS
    dependent = verdicts["pair/needs-broken-sibling.so"]
    assert dependent.verdict is ArtifactVerdict.FAILS
    assert any("but it needs clang-const-data-ptr.so, which does not load" in note for note in dependent.notes)
    assert not dependent.causes


def test_a_build_for_a_release_needs_the_library_of_the_same_release(tmp_path: Path) -> None:
    """synapx 0.2.1 has `libsynapx.so` in a folder for each release, beside the module that needs it. The library of 2.2
    is broken (nm -D), that of 2.13 is not."""
    library, module = "clang-const-data-ptr.so", "needs-broken-sibling.so"
    name = wheel(
        tmp_path,
        (f"x/libtorch-2.2.X/{module}", module),
        (f"x/libtorch-2.2.X/{library}", library),
        (f"x/libtorch-2.13.X/{module}", module),
        (f"x/libtorch-2.13.X/{library}", "good-extension.so"),
    )
    verdicts = {a.member: a.verdict for a in report_of(tmp_path, [name], None).artifacts}
    assert verdicts[f"x/libtorch-2.13.X/{module}"] is ArtifactVerdict.NOT_TORCH
    assert verdicts[f"x/libtorch-2.2.X/{module}"] is ArtifactVerdict.FAILS


@pytest.mark.torch
@pytest.mark.parametrize("torch", ["2.13.0", None])
def test_a_member_fails_with_its_sibling_whatever_else_is_absent(
    tmp_path: Path, torch_python: Path, torch: str | None
) -> None:
    """The same pair, whose second needs a missing library of another package: ld.so stops there, and would reject both
    if it existed. Installed and released torch give the same result (torchcodec 0.6.0 on torch 2.13.0)."""
    vendors = tmp_path / "vendors.so"
    vendors.write_bytes((FIXTURES / "clang-const-data-ptr.so").read_bytes())
    rename(b"libm.so.6", b"libz.so.9")(vendors)
    name = wheel(
        tmp_path,
        ("pair/needs-broken-sibling.so", "needs-broken-sibling.so"),
        ("pair/clang-const-data-ptr.so", str(vendors)),
        name="pair",
        tag="py3-none-linux_x86_64",
    )
    report = report_of(tmp_path, [name], read_environment(str(torch_python)), torch)
    members = {artifact.member: artifact for artifact in report.artifacts}
    assert members["pair/clang-const-data-ptr.so"].verdict is ArtifactVerdict.FAILS
    dependent = members["pair/needs-broken-sibling.so"]
    assert dependent.verdict is ArtifactVerdict.FAILS
    (reason,) = [note for note in dependent.notes if "all its imports resolve" in note]
    assert "clang-const-data-ptr.so" in reason


def test_a_library_missing_in_the_torch_is_reported(tmp_path: Path) -> None:
    """No build for CUDA has libtorch_hip.so; the missing name has no owner."""
    file = tmp_path / "x.so"
    file.write_bytes(build(Library(needed=("libtorch_hip.so",))))
    artifact = only(tmp_path, str(file), tag="py3-none-linux_x86_64", requires="torch==2.8.0")
    assert artifact.verdict is ArtifactVerdict.FAILS
    assert any(", but it does not load: no ROCm" in note for note in artifact.notes)


def test_the_headline_names_python_where_its_names_alone_are_missing(tmp_path: Path) -> None:
    """python-abi-mismatch.so uses PyUnstable_Code_GetExtra, since CPython 3.12, and _PyGen_Send, removed in 3.10 (nm
    -D); its torch symbols resolve (vllm 0.12.0 on torch 2.9.0)."""
    for tag, words in (
        ("cp39-abi3", "some Python of >=3.9 (wheel tag cp39-abi3)"),
        ("cp313-cp313", "Python 3.13 (wheel tag cp313-cp313)"),
    ):
        name = wheel(tmp_path, ("x/_C.so", "python-abi-mismatch.so"), tag=f"{tag}-linux_x86_64")
        report = report_of(tmp_path, [name], None, torch="2.9.0")
        assert report.artifacts[0].verdict is ArtifactVerdict.FAILS
        assert f"undefined on {words}" in text.render(report, text.Style(width=None)), tag


def test_a_library_of_a_package_is_bound_in_the_scope_of_what_loads_it(tmp_path: Path) -> None:
    """unlinked-libtorch-python.so imports from libtorch_python and does not need it (readelf -d): alone it fails. A
    module that needs both loads it, like `_C.so` of intel_extension_for_pytorch with its libraries."""
    alone = wheel(tmp_path, ("x/unlinked-libtorch-python.so", "unlinked-libtorch-python.so"))
    (failed,) = report_of(tmp_path, [alone], None, torch="2.13.0").artifacts
    assert failed.verdict is ArtifactVerdict.FAILS
    both = wheel(
        tmp_path,
        ("y/unlinked-libtorch-python.so", "unlinked-libtorch-python.so"),
        ("y/needs-unlinked.so", "needs-unlinked.so"),
        name="y",
    )
    verdicts = {a.member: a.verdict for a in report_of(tmp_path, [both], None, torch="2.13.0").artifacts}
    assert verdicts == dict.fromkeys(verdicts, ArtifactVerdict.LOADS)


def test_missing_libraries_of_dependents_leave_symbols_undecided(tmp_path: Path) -> None:
    """nm -D: missing-library.so imports found_nowhere, which neither libc10 nor libc exports. If the module that loads
    it needs another missing library, that one may export it: ld.so resolves it in the module's scope, as
    libnpu_profiler.so of torch_npu uses libascendcl.so, which libtorch_npu.so needs."""
    inner, module = tmp_path / "inner.so", tmp_path / "module.so"
    inner.write_bytes((FIXTURES / "missing-library.so").read_bytes())
    rename(b"libdoesnotexist.so.7", b"libc10.so")(inner)
    found = []
    for project, soname in (("x", b"libtorch_python.so"), ("y", b"libascendcl.so")):
        module.write_bytes((FIXTURES / "needs-unlinked.so").read_bytes())
        rename(b"libtorch_python.so", soname)(module)
        members = (("x/unlinked-libtorch-python.so", str(inner)), ("x/module.so", str(module)))
        name = wheel(tmp_path, *members, name=project)
        artifacts = report_of(tmp_path, [name], None, torch="2.13.0").artifacts
        found.append(next(a for a in artifacts if a.member != "x/module.so"))
        if project == "y":
            assert not [a for a in artifacts if a.verdict is ArtifactVerdict.FAILS]
    whole, left_open = found
    assert whole.verdict is ArtifactVerdict.FAILS
    assert [b.name for b in whole.imports if b.status is Status.MISSING] == ["found_nowhere"]
    assert left_open.verdict is ArtifactVerdict.LOADS
    assert [b.name for b in left_open.imports if b.status is Status.UNDECIDED] == ["found_nowhere"]
    assert any(
        "may come from libascendcl.so, which other files of the package need and which was not found" in note
        for note in left_open.notes
    )
    assert not left_open.causes


@pytest.mark.torch
@pytest.mark.parametrize("torch", ["2.8.0", None])
def test_a_plugin_of_another_program_does_not_fail_its_wheel(
    tmp_path: Path, torch_python: Path, torch: str | None
) -> None:
    """nm -D: liba.so imports missing_in_a, which nothing exports, and nothing of torch and Python.
    libdeepmd_lmpplugin.so has such names from LAMMPS, which loads it. A Python module has no such host program."""
    where = read_environment(str(torch_python))
    plugin = wheel(tmp_path, ("x/liba.so", "loader/broken-sibling/liba.so"), tag="py3-none-manylinux_2_28_x86_64")
    (report,) = report_of(tmp_path, [plugin], where, torch).artifacts
    assert report.verdict is ArtifactVerdict.NOT_TORCH
    assert [b.name for b in report.imports if b.status is Status.UNDECIDED] == ["missing_in_a"]
    assert not report.causes
    assert "not exported by its package, maybe by the program that loads it: missing_in_a" in report.notes
    module = tmp_path / "module.so"
    symbols = (Symbol("PyInit_module", FUNCTION, FUNC), Symbol("nowhere", section=UNDEFINED))
    module.write_bytes(build(Library((Relocation(ARRAY, R_64, "nowhere"),), symbols=symbols)))
    (failed,) = report_of(
        tmp_path,
        [wheel(tmp_path, ("y/module.so", str(module)), name="y", tag="cp311-cp311-linux_x86_64")],
        where,
        torch,
    ).artifacts
    assert failed.verdict is ArtifactVerdict.FAILS


def _importing(path: Path, names: tuple[str, ...], needed: tuple[str, ...], *exported: str) -> bytes:
    """Write a file that imports names, and return it."""
    symbols = (*(Symbol(each, section=UNDEFINED) for each in names), *(Symbol(e, FUNCTION, FUNC) for e in exported))
    relocations = tuple(Relocation(ARRAY + 8 * at, R_64, name) for at, name in enumerate(names))
    path.write_bytes(build(Library(relocations, symbols=symbols, needed=needed)))
    return path.read_bytes()


# In libc10.so of torch 2.8.0 (nm -D).
_OF_TORCH = "_ZN3c1019UndefinedTensorImpl10_singletonE"


@pytest.mark.parametrize("has_library", [True, False])
def test_a_library_of_the_package_with_the_name_of_one_of_torch_is_its_own(tmp_path: Path, has_library: bool) -> None:
    """nvfuser_cu128_torch28 0.2.34: readelf -d shows libnvfuser_codegen.so in nvfuser_common/lib, which RUNPATH of its
    modules names; torch 2.8.0 ships none (torch 2.0 did). libnvf_cutlass.so needs a symbol of it and does not link
    it, as nm shows."""
    error, fusion = "_ZN7nvfuser12nvfErrorFailEv", "_ZN5torch3jit4fuser4cuda4mineEv"
    part = _importing(tmp_path / "part", (error, _OF_TORCH), ("libc10.so",))
    own = _importing(tmp_path / "own", (_OF_TORCH,), ("libnvf_cutlass.so", "libc10.so"), error, fusion)
    needed = ("libnvfuser_codegen.so", "libc10.so")
    module = _importing(tmp_path / "module", (error, fusion, _OF_TORCH), needed, "PyInit__C")
    members = {"nvfuser/_C.so": module, "nvfuser_common/lib/libnvf_cutlass.so": part}
    if has_library:
        members["nvfuser_common/lib/libnvfuser_codegen.so"] = own
    name = make_wheel(tmp_path, members, name="nvfuser", tag="cp311-cp311-linux_x86_64").name
    verdicts = {each.verdict for each in report_of(tmp_path, [name], None, torch="2.8.0").artifacts}
    assert verdicts == {ArtifactVerdict.LOADS if has_library else ArtifactVerdict.FAILS}


@pytest.mark.parametrize(
    ("needed", "verdict"), [("libtorch_supa.so", ArtifactVerdict.LOADS), ("libother.so", ArtifactVerdict.FAILS)]
)
def test_names_of_the_backend_of_a_plugin_are_not_torchs(tmp_path: Path, needed: str, verdict: ArtifactVerdict) -> None:
    """torch_supa_ext 2.12.0a1 needs libtorch_supa.so of the package torch_supa, which its METADATA names as the plugin
    of torch; nm -D lists these imports. A name in `c10` that no torch exports stays missing."""
    names = ("_ZN3c104supa20getCurrentSUPAStreamEa", "_ZNK3c104supa10SUPAStream6streamEv", _OF_TORCH)
    _importing(tmp_path / "supa.so", names, (needed, "libc10.so"), "PyInit_supa")
    artifact = only(tmp_path, str(tmp_path / "supa.so"), tag="cp311-cp311-linux_x86_64", torch="2.8.0")
    assert artifact.verdict is verdict
    _importing(tmp_path / "other.so", (*names, "_ZN3c104mine6streamEv"), (needed, "libc10.so"), "PyInit_other")
    artifact = only(tmp_path, str(tmp_path / "other.so"), tag="cp311-cp311-linux_x86_64", torch="2.8.0")
    assert artifact.verdict is ArtifactVerdict.FAILS


@pytest.mark.torch
def test_members_are_resolved_with_each_other_not_with_an_installed_version(tmp_path: Path, torch_python: Path) -> None:
    """numpy 2.2.6 with 2.4.6 installed: pip replaces the installed files with those of the wheel."""
    site = tmp_path / "site"
    (site / "x").mkdir(parents=True)
    (site / "x" / "libdep.so").write_bytes(build(Library(symbols=(Symbol("of_another_version", FUNCTION, FUNC),))))
    dependency, module = tmp_path / "libdep.so", tmp_path / "module.so"
    dependency.write_bytes(build(Library(symbols=(Symbol("of_this_version", FUNCTION, FUNC),))))
    symbols = (Symbol("PyInit_module", FUNCTION, FUNC), Symbol("of_this_version", section=UNDEFINED))
    relocations = (Relocation(ARRAY, R_64, "of_this_version"),)
    module.write_bytes(build(Library(relocations, symbols=symbols, needed=("libdep.so",))))
    here = read_environment(str(torch_python))
    where = replace(here, site_packages=(str(site), *here.site_packages))
    members = (("x/module.so", str(module)), ("x/libdep.so", str(dependency)))
    name = wheel(tmp_path, *members, tag="cp311-cp311-linux_x86_64")
    settings = LoaderSettings(str(tmp_path), library_path=str(site / "x"))
    found = {each.member: each for each in scan([name], ScanOptions(None, where, settings)).artifacts}
    assert found["x/module.so"].verdict is ArtifactVerdict.NOT_TORCH
    assert [b.status for b in found["x/module.so"].imports] == [Status.RESOLVED]


@pytest.mark.parametrize(
    ("tag", "known", "loads"),
    [("manylinux_2_28_x86_64", True, False), ("manylinux_2_28_x86_64", False, True), ("linux_x86_64", True, True)],
)
def test_a_function_of_a_newer_libstdcxx_is_torchs_where_the_tag_has_none(
    tmp_path: Path, tag: str, known: bool, loads: bool
) -> None:
    """By nm over the wheels of torch: libtorch_cpu exports std::string::_M_replace_cold since 2.8.0; libstdc++ has it
    as GLIBCXX_3.4.31 (gnu.ver of GCC), and manylinux_2_28 guarantees GLIBCXX_3.4.24 (auditwheel's policy). On torch
    2.6.0 it fails, like torch-harmonics 0.9.3. _M_dispose is in every libstdc++ with the C++11 std::string."""
    method = "15_M_replace_coldEPcmPKcmm" if known else "10_M_disposeEv"
    wanted = f"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE{method}"
    file = tmp_path / "x.so"
    symbols = (Symbol(wanted, type=FUNC, section=UNDEFINED), Symbol("PyInit_x", FUNCTION, FUNC))
    needed = ("libtorch_cpu.so", "libstdc++.so.6")
    file.write_bytes(build(Library((Relocation(ARRAY, R_64, wanted),), symbols=symbols, needed=needed)))
    verdicts = {}
    for torch in ("2.6.0", "2.8.0"):
        artifact = only(tmp_path, str(file), tag=f"cp311-cp311-{tag}", torch=torch)
        verdicts[torch] = artifact.verdict is ArtifactVerdict.LOADS
        reasons = [note for note in artifact.notes if "exported neither by torch 2.6.0+cu124 nor by" in note]
        assert bool(reasons) is not verdicts[torch]
    assert verdicts == {"2.6.0": loads, "2.8.0": True}


_OPENED = """
import ctypes, pathlib
ctypes.CDLL(str(pathlib.Path(__file__).parent / "x.so"), mode=%s)
"""


@table_rows
def test_functions_of_a_library_that_is_opened_lazily_may_be_unresolved(
    tmp_path: Path, mode: str, kind: int, dynamic: tuple[tuple[int, int], ...], loads: bool
) -> None:
    """The oracle is ld.so: the package is imported."""
    symbols = (Symbol("nowhere", type=FUNC, section=UNDEFINED), Symbol("torch_of_x", FUNCTION, FUNC))
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text(_OPENED % mode)
    plt = (Relocation(ARRAY, kind, "nowhere"),)
    library = Library(plt=plt, symbols=symbols, dynamic=((3, DATA), *dynamic))
    (package / "x.so").write_bytes(build(library))
    done = run_program([sys.executable, "-c", "import pkg"], cwd=tmp_path)
    assert (done.returncode == 0) is loads, done.stderr
    # The same with a library of torch, which the loader in this test does not have.
    (package / "x.so").write_bytes(build(library._replace(needed=("libc10.so",))))
    members = (("pkg/x.so", str(package / "x.so")), ("pkg/__init__.py", str(package / "__init__.py")))
    name = wheel(tmp_path, *members, tag="cp311-cp311-linux_x86_64")
    (artifact,) = report_of(tmp_path, [name], None, torch="2.8.0").artifacts
    assert (artifact.verdict is ArtifactVerdict.LOADS) is loads
    notes = [note for note in artifact.notes if "loads lazily: 1 symbol" in note]
    assert bool(notes) is loads


def test_the_cuda_in_a_members_name_selects_its_target(tmp_path: Path) -> None:
    """A wheel with one build per CUDA: each is checked against the newest release that pip installs with that CUDA."""
    name = wheel(tmp_path, ("x/_C_cu12.so", "stable-abi.so"), ("x/_C_cu13.so", "stable-abi.so"), requires="torch>=2.10")
    both = report_of(tmp_path, [name], None).artifacts
    assert [a.target and a.target.gpu and a.target.gpu.value.split(".")[0] for a in both] == ["CUDA 12", "CUDA 13"]
    assert [a.torch_build and a.torch_build.version for a in both] == ["2.10.0", "2.15.0"]
    # No known build of 2.15.0 has CUDA 12: the symbols of another build are used, with a note.
    pinned = wheel(tmp_path, ("y/_C_cu12.so", "stable-abi.so"), name="y", requires="torch==2.15.0")
    (artifact,) = report_of(tmp_path, [pinned], None).artifacts
    assert artifact.verdict is ArtifactVerdict.LOADS
    assert any("no build of 2.15.0 for CUDA 12" in note for note in artifact.notes)


def test_a_build_that_the_index_lacks_leaves_a_file_open_and_not_failed(tmp_path: Path) -> None:
    """The name declares torch 2.13 and the imports use the old string ABI; the index has no such 2.13."""
    named = wheel(tmp_path, ("x/_C_torch213.so", "old-string-extension.so"))
    required = wheel(tmp_path, ("y/_C.so", "old-string-extension.so"), name="y", requires="torch==2.13.0")
    open_one, failed = report_of(tmp_path, [named, required], None).artifacts
    assert open_one.verdict is ArtifactVerdict.UNDECIDED
    assert any("no build of torch 2.13.0 with the std::string of this file" in note for note in open_one.notes)
    assert not open_one.causes
    assert failed.verdict is ArtifactVerdict.FAILS


def test_a_file_that_loads_has_no_causes(tmp_path: Path) -> None:
    options = ScanOptions(None, environment(tmp_path, PythonVersion(3, 11)), LoaderSettings(str(FIXTURES)))
    artifacts = scan([str(path) for path in FIXTURES.glob("*.so")], options).artifacts
    assert not any(a.causes for a in artifacts if a.verdict is not ArtifactVerdict.FAILS)
    assert any(a.causes for a in artifacts)


def test_an_invalid_requirement_is_reported(tmp_path: Path) -> None:
    name = wheel(tmp_path, ("x/_C.so", "good-extension.so"), requires="torch>=two")
    said = "not read, invalid: Requires-Dist: torch>=two"
    report = report_of(tmp_path, [name], None)
    assert report.errors == (InputError(name, said),)
    assert f"{name}: {said}" in text.render(report, text.Style(width=None))


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        (None, "it has no METADATA"),
        (b"", "its METADATA cannot be read"),
        (b"\x7fELF\x02\x01\0\xff: \xfe", "its METADATA cannot be read"),
        (b"Metadata-Version: 2.1\nName: x\nVersion: 1.0\n", None),
    ],
)
def test_invalid_metadata_is_reported_once_per_wheel(tmp_path: Path, metadata: bytes | None, said: str | None) -> None:
    """Core metadata specification: Metadata-Version, Name and Version are required."""
    name = "x-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        for member in ("x/_C.so", "x/_D.so"):
            archive.write(FIXTURES / "good-extension.so", member)
        if metadata is not None:
            archive.writestr("x-1.0.dist-info/METADATA", metadata)
    report = report_of(tmp_path, [name], None)
    found = [note for note in report.notes if "METADATA" in note] + [f"{e.path}: {e.message}" for e in report.errors]
    assert found == ([] if said is None else [f"{name}: {said}: its requirements are unknown"])
    # Unreadable metadata is never reported as clean.
    assert bool(report.errors) is bool(metadata is not None and said)


@pytest.mark.parametrize("tag", ["xy99-xy99", "cp399-cp399t", "pp310-pypy310_pp73"])
def test_the_tag_of_an_unknown_python_leaves_its_symbols_undecided(tmp_path: Path, tag: str) -> None:
    """python-abi-mismatch.so imports _PyGen_Send (nm -D), which CPython 3.10 and later do not export; other Pythons are
    unknown."""
    inner = tmp_path / "inner.so"
    inner.write_bytes((FIXTURES / "good-extension.so").read_bytes())
    members = (("x/_C.so", "python-abi-mismatch.so"), ("x/_D.so", str(inner)))
    name = wheel(tmp_path, *members, tag=f"{tag}-manylinux_2_28_x86_64")
    where = environment(tmp_path, PythonVersion(3, 11))
    report = report_of(tmp_path, [name], where)
    assert [note for note in report.notes if f"{name}: the tag {tag} names a Python whose" in note]
    of_python = [b.status for a in report.artifacts for b in a.imports if b.name == "_PyGen_Send"]
    assert of_python == [Status.UNDECIDED]
    assert not any(a.causes for a in report.artifacts)
    assert {a.verdict for a in report.artifacts if a.member == "x/_D.so"} == {ArtifactVerdict.UNDECIDED}


def test_a_direct_reference_without_a_release_is_reported(tmp_path: Path) -> None:
    line = "torch @ git+https://github.com/pytorch/pytorch@main"
    name = wheel(tmp_path, ("x/_C.so", "good-extension.so"), requires=line)
    report = report_of(tmp_path, [name], None)
    assert f"{name}: the reference names no release of torch: Requires-Dist: {line}" in report.notes


def test_the_note_on_the_newest_build_needs_a_file_with_it(tmp_path: Path) -> None:
    declared = [
        wheel(tmp_path, ("x/_C.so", "good-extension.so"), name=f"x{release[2]}", requires=f"torch=={release}")
        for release in ("2.8.0", "2.9.0")
    ]
    where = environment(tmp_path, PythonVersion(3, 11))
    target = report_of(tmp_path, declared, where).torch_build
    assert target is not None
    assert target.note is None
    plain = wheel(tmp_path, ("x/_C.so", "good-extension.so"), name="plain")
    mixed = report_of(tmp_path, [*declared, plain], where).torch_build
    assert mixed is not None
    assert "the newest known" in (mixed.note or "")
    # A file that declares that very release is not checked against it for lack of a torch.
    newest = wheel(tmp_path, ("x/_C.so", "good-extension.so"), name="newest", requires=f"torch=={mixed.version}")
    named = report_of(tmp_path, [newest], where).torch_build
    assert named is not None
    assert (named.version, named.note) == (mixed.version, None)
    other = report_of(tmp_path, [wheel(tmp_path, ("x/y.so", "empty-library.so"), name="other")], where).torch_build
    assert other is not None
    assert other.note is None


@pytest.mark.parametrize(("requires", "advised"), [("torch>=2.8", True), ("torch==2.13.0", False)])
def test_another_torch_is_advised_where_the_package_admits_it(tmp_path: Path, requires: str, advised: bool) -> None:
    """gcc-const-data-ptr.so loads on 2.3.0-2.11.0 (tests/releases: nm over the wheels)."""
    artifact = only(tmp_path, "gcc-const-data-ptr.so", requires=requires, torch="2.13.0")
    assert artifact.verdict is ArtifactVerdict.FAILS
    fixes = " ".join(cause.fix for cause in artifact.causes)
    assert ("pip install" in fixes and '"torch>=2.8.0,<=2.11.0"' in fixes) is advised
    assert '"torch==2.13.0"' not in fixes


@table_rows
def test_a_symbol_that_every_admitted_release_exports_is_a_note(
    tmp_path: Path, fixture: str, rule: str, requires: str, severity: Severity
) -> None:
    artifact = only(tmp_path, fixture, requires=requires, torch="2.9.0")
    assert {finding.severity for finding in artifact.findings if finding.rule == rule} == {severity}


def advice(folder: Path, torch: str, *members: tuple[str, str]) -> set[str]:
    """The versions that a package is advised to install instead of this torch."""
    name = wheel(folder, *members)
    fixes = (cause.fix for a in report_of(folder, [name], None, torch=torch).artifacts for cause in a.causes)
    return {way for fix in fixes for way in re.findall(r'pip install ("torch[^"]*")', fix)}


def test_a_torch_with_another_layout_is_not_advised(tmp_path: Path) -> None:
    """autograd-node-subclass.so is compiled for 2.13.0; torch::autograd::Node has another layout since 2.14
    (tests/releases: DWARF of each release)."""
    assert advice(tmp_path, "2.4.0", ("x/_C.so", "autograd-node-subclass.so")) == {'"torch==2.13.0"'}


def test_a_torch_is_advised_on_which_every_file_of_the_package_loads(tmp_path: Path) -> None:
    """By nm over the wheels of torch: one file's name is in 2.3.0-2.11.0, the other's in 2.11.0 and later."""
    first, second = ("x/_C.so", "gcc-const-data-ptr.so"), ("x/_D.so", "message-logger.so")
    assert advice(tmp_path, "2.13.0", first, second) == {'"torch==2.11.0"'}
    assert advice(tmp_path, "2.13.0", first) == {'"torch>=2.3.0,<=2.11.0"'}


def test_a_torch_is_advised_on_which_every_file_has_its_layouts(tmp_path: Path) -> None:
    """autograd-node-subclass.so is compiled for 2.13.0 and crashes on 2.14 and later, where message-logger.so loads."""
    first, second = ("x/_C.so", "autograd-node-subclass.so"), ("x/_D.so", "message-logger.so")
    assert advice(tmp_path, "2.4.0", second) == {'"torch>=2.11.0"'}
    assert advice(tmp_path, "2.4.0", first, second) == {'"torch==2.13.0"'}


def test_no_torch_is_advised_where_a_file_of_the_package_loads_on_none(tmp_path: Path) -> None:
    """extension-source-not-built.so imports a function of its own package that no file defines (nm over all of
    them)."""
    first, second = ("x/_C.so", "gcc-const-data-ptr.so"), ("x/_D.so", "extension-source-not-built.so")
    assert advice(tmp_path, "2.13.0", first, second) == set()


def test_a_missing_declaration_is_reported_first_with_changed_layouts(tmp_path: Path) -> None:
    """autograd-node-subclass.so is compiled for 2.13.0 and loads on later ones, where it crashes."""
    name = wheel(tmp_path, ("x/_C.so", "autograd-node-subclass.so"))
    shown = text.render(report_of(tmp_path, [name], None), text.Style(width=None, fail_on=Severity.ERROR))
    assert "the wheel declares no torch requirement, and has `layout-drift` on torch " in shown.splitlines()[1]
    assert "fix: Declare `torch>=2.13,<2.14`" in shown.splitlines()[2]


def test_a_missing_declaration_is_reported_first_for_a_failing_wheel(tmp_path: Path) -> None:
    """gcc-const-data-ptr.so loads on 2.3.0-2.11.0 (nm over the wheels), and not on the newest release."""
    members = (("x/_C.so", "gcc-const-data-ptr.so"), ("x/_D.so", "gcc-const-data-ptr.so"))
    lines = text.render(report_of(tmp_path, [wheel(tmp_path, *members)], None), text.Style(width=None))
    newest = open_index().newest("x86_64").torch
    assert lines.splitlines()[1:3] == [
        "  warning[torch-requirement-missing]: the wheel declares no torch requirement, and does not load on torch "
        f"{newest} (the newest known); all members load on torch 2.3.0-2.11.0",
        "    fix: Declare `torch>=2.3,<2.12`",
    ]
    # A loading one needs no line.
    fine = report_of(tmp_path, [wheel(tmp_path, ("y/_C.so", "stable-abi.so"), name="y")], None)
    assert "torch-requirement-missing" not in text.render(fine, text.Style(width=None))


def test_no_torch_is_advised_that_ships_another_cuda(tmp_path: Path) -> None:
    """torch-tensorrt 2.9.0 needs libcudart.so.13; pip installs 2.9 with CUDA 12 (Requires-Dist of its wheels) and 2.11
    with CUDA 13."""
    file = tmp_path / "x.so"
    file.write_bytes(build(Library(needed=("libc10.so", "libcudart.so.13"))))
    for requires, advised in (("torch>=2.9,<2.10", set()), ("torch>=2.9", {'"torch>=2.11.0"'})):
        artifact = only(tmp_path, str(file), requires=requires, torch="2.9.1")
        assert artifact.verdict is ArtifactVerdict.FAILS
        fixes = " ".join(cause.fix for cause in artifact.causes)
        assert set(re.findall(r'pip install ("torch[^"]*")', fixes)) == advised


def test_no_torch_is_advised_that_has_no_wheels_for_the_python(tmp_path: Path) -> None:
    """message-logger.so loads on 2.11.0 and later, which have no wheels for CPython 3.9."""
    artifact = only(tmp_path, "message-logger.so", tag="cp39-cp39-manylinux_2_28_x86_64", torch="2.8.0")
    assert artifact.verdict is ArtifactVerdict.FAILS
    assert not any('"torch' in cause.fix for cause in artifact.causes)


def test_no_torch_is_named_as_declared_without_a_declaration(tmp_path: Path) -> None:
    plain = wheel(tmp_path, ("x/_C.so", "good-extension.so"), name="plain")
    older = wheel(tmp_path, ("y/_C.so", "good-extension.so"), name="older", tag="cp39-cp39-manylinux_2_28_x86_64")
    pinned = wheel(tmp_path, ("z/_C.so", "good-extension.so"), name="pinned", requires="torch==2.6.0")
    where = environment(tmp_path, PythonVersion(3, 11))
    (note,) = [n for n in report_of(tmp_path, [plain, older], where).notes if "checked against" in n]
    assert "against the newest known release for its tags: 2.8.0+cu128, 2.15.0+cu132" in note
    (note,) = [n for n in report_of(tmp_path, [plain, pinned], where).notes if "checked against" in n]
    assert "the declared torch, or the newest known release for its tags: 2.6.0+cu124, 2.15.0" in note
