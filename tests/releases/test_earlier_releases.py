"""The releases before 1.13, in a separate file that is read only if a result depends on it. The ranges are from `nm -D
--defined-only` on the libraries in the wheels on the package index (x86_64)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from abiscan.diagnosis.knowledge import Environment, Knowledge
from abiscan.errors import UnknownBuild, UnreadableFile
from abiscan.model.cause import CauseId
from abiscan.model.python_version import PythonVersion
from abiscan.releases import ReleaseIndex, open_index
from abiscan.releases import index as index_module
from abiscan.releases.build import loaded_globally
from abiscan.releases.index import EARLIER, SHIPPED, is_earlier
from abiscan.target.run_torch import released_target
from tests.diagnosis.explained import explain
from tests.fixtures.tiny_elf import ARRAY, FUNC, R_64, UNDEFINED, Library, Relocation, Symbol, build
from tests.fixtures.wheels import make_wheel
from tests.programs import run_abiscan

FIXTURES = Path(__file__).parents[1] / "fixtures"
# at::TensorBase was added in 1.10 (ATen/core/TensorBase.h).
RANGES = [
    ("THCState_getCurrentStream", (("1.0.0", "1.4.0"),)),
    ("__THCudaCheck", (("1.0.0", "1.5.1"),)),  # C++ since: _Z13__THCudaCheck9cudaErrorPKci
    ("_ZN2at19UndefinedTensorImpl10_singletonE", (("1.0.0", "1.0.1"),)),
    ("_ZN3c1019UndefinedTensorImpl10_singletonE", (("1.1.0", "2.15.0"),)),
    ("_ZNK2at10TensorBase8data_ptrIdEEPT_v", (("1.10.0", "2.15.0"),)),
    ("_ZN3c105ErrorC1ENS_14SourceLocationERKSs", (("1.0.0", "1.5.1"),)),
    ("_ZN3c105ErrorC1ENS_14SourceLocationESs", (("1.6.0", "2.6.0"),)),
    ("_ZN3c1017RegisterOperatorsC1Ev", (("1.1.0", "2.1.2"),)),
    ("THPVariableClass", (("1.0.0", "2.15.0"),)),
]


@pytest.fixture(scope="module")
def history() -> ReleaseIndex:
    return open_index(earlier=True)


def run(*words: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run_abiscan(*words, "-f", "json").stdout)
    return document


@pytest.mark.parametrize(("name", "ranges"), RANGES)
def test_a_name_has_its_history_from_1_0_on(name: str, ranges: object, history: ReleaseIndex) -> None:
    found = history.history(name)
    assert found is not None
    assert found.exported_in == ranges


def test_the_two_files_follow_one_another(history: ReleaseIndex) -> None:
    for machine, first, earlier in (("x86_64", "1.0.0", 22), ("aarch64", "1.8.0", 9)):
        builds = history.builds(machine)
        assert builds[0].torch == first
        assert [build.torch for build in builds if build.own_names] == [b.torch for b in builds[:earlier]]
        assert builds[earlier].torch == "1.13.0"


def test_the_data_fits_in_the_package() -> None:
    assert sum(file.stat().st_size for file in Path(SHIPPED).parent.iterdir() if file.is_file()) < 8 << 20


@pytest.mark.parametrize(
    ("version", "earlier"), [("1.8", True), ("1.12.1+cu102", True), ("1.13.0", False), ("x", False)]
)
def test_a_version_before_the_shipped_ones(version: str, earlier: bool) -> None:
    assert is_earlier(version, open_index()) is earlier


@pytest.mark.parametrize(("version", "so"), [("1.0.0", True), ("1.4.0", True), ("1.5.0", False), ("2.6.0", False)])
def test_up_to_1_4_torch_loads_its_libraries_for_all(version: str, so: bool) -> None:
    """pytorch/pytorch pull request 31162, released with 1.5.0."""
    assert loaded_globally(version) is so


def test_a_file_that_links_nothing_of_torch_binds_up_to_1_4_alone() -> None:
    """thc-api.so needs no library of torch. 1.4.0 exports both of its names (nm), and loads libtorch with
    RTLD_GLOBAL."""
    (old,) = run(FIXTURES / "thc-api.so", "--torch", "1.4.0")["artifacts"]
    (new,) = run(FIXTURES / "thc-api.so", "--torch", "1.5.1")["artifacts"]
    assert (old["verdict"], new["verdict"]) == ("loads", "fails")


def test_a_wheel_is_checked_against_its_required_earlier_release(tmp_path: Path) -> None:
    tag = "cp38-cp38-manylinux_2_28_x86_64"
    wheel = make_wheel(tmp_path, {"pkg/_C.so": "thc-api.so"}, tag=tag, requires="torch==1.4.0")
    (artifact,) = run(wheel)["artifacts"]
    assert artifact["target"]["torch"]["value"] == "1.4.0+cu101"
    assert artifact["verdict"] == "loads"


def test_the_ranges_of_a_file_for_an_earlier_release_contain_it(tmp_path: Path) -> None:
    """`nm -D` of libtorch_python of 1.12.1 has the function, of which 1.13.0 is not the first release."""
    wrap = "_Z16THPVariable_WrapN2at10TensorBaseE"
    file = tmp_path / "x.so"
    symbols = (Symbol(wrap, type=FUNC, section=UNDEFINED),)
    file.write_bytes(build(Library((Relocation(ARRAY, R_64, wrap),), symbols=symbols, needed=("libtorch_python.so",))))
    (artifact,) = run(file, "--torch", "1.12.1")["artifacts"]
    assert artifact["verdict"] == "loads"
    (finding,) = (each for each in artifact["findings"] if each["rule"] == "libtorch-python-internals")
    assert "exported by torch 1.10.0-2.5.1" in finding["message"]
    assert [each["exported_in"] for each in artifact["imports"]] == [[["1.10.0", "2.5.1"]]]


def test_earlier_releases_are_checked_only_on_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the plain index nor its matrix needs the second file."""
    monkeypatch.setattr(index_module, "EARLIER", str(tmp_path / "gone.idx"))
    assert open_index().builds("x86_64")[0].torch == "1.13.0"
    with pytest.raises(UnreadableFile):
        open_index(earlier=True)
    with pytest.raises(UnknownBuild):
        open_index().resolve("1.8.0")
    (artifact,) = run(FIXTURES / "good-extension.so", "--torch", "2.13.0", "--matrix")["artifacts"]
    assert artifact["releases"][0]["torch"] == "1.13.0"


def test_names_of_others_are_open_on_an_earlier_build(history: ReleaseIndex) -> None:
    from abiscan.releases.exports import ReleasedExports

    old, new = (ReleasedExports(history, history.resolve(version)) for version in ("1.8.0", "2.6.0"))
    assert (old.knows("cblas_sgemm"), new.knows("cblas_sgemm")) == (False, True)
    assert old.knows("_ZN2at5emptyE")
    assert old.knows("__THCudaCheck")


@pytest.mark.parametrize(
    ("python", "said"), [(None, "torch==1.4.0  # no wheels for Python > 3.8"), ("3.8", "torch==1.4.0"), ("3.11", None)]
)
def test_advice_to_install_a_release_names_the_python(
    python: str | None, said: str | None, history: ReleaseIndex
) -> None:
    """torch 1.4.0 has wheels for CPython 3.8 and none later (tests/releases/test_pythons.py)."""
    target = released_target(history.resolve("2.6.0"), None)
    version = None if python is None else PythonVersion(*map(int, python.split(".")))
    known = Knowledge(target=target, releases=history, environment=Environment(version))
    (subject,) = explain("THCState_getCurrentStream", known)
    assert subject.causes[0].cause is CauseId.BUILT_FOR_OLDER_TORCH
    fix = subject.causes[0].fix or ""
    assert ("pip install torch==1.4.0" in fix) is (said is not None)
    assert said is None or fix.endswith(f"pip install {said}")


def test_the_file_of_the_earlier_releases_is_sound() -> None:
    from abiscan.releases.table import ReleaseTable

    table = ReleaseTable(EARLIER)
    assert table.verify() > 150_000
    assert not any(table.vtables())
