"""Causes of whole files: fixtures for the purpose (tests/fixtures/build.py), resolved against literal exports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from abiscan.diagnosis.file_causes import diagnose
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.elf import open_elf
from abiscan.model.cause import CauseId, Confidence, Diagnosis
from abiscan.model.facts import VersionNeed
from abiscan.model.imports import CheckedImport, Owner, Status
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.model.versions import ReleaseRanges
from abiscan.releases import open_index
from abiscan.releases.exports import ReleasedExports
from tests.diagnosis.explained import checked, imported, shared_object
from tests.tables import table_rows

Released = Callable[[str], Knowledge]


def _diagnose(path: Path, knowledge: Knowledge, status: Status = Status.MISSING) -> Diagnosis:
    """Every C++ or torch import that the target does not export is missing; the others are resolved."""
    elf = open_elf(path)
    file = elf.facts()
    assert knowledge.exports is not None
    bound = []
    for symbol in file.imports:
        library = knowledge.exports.library_of(symbol.name)
        torch = symbol.name.startswith(
            ("_ZN2at", "_ZNK2at", "_ZN3c10", "_ZNK3c10", "_ZN5torch", "_ZNK5torch", "aoti_", "torch_", "THP")
        )
        missing = torch and library is None
        owner, result = Owner.TORCH if torch else Owner.OTHER, status if missing else Status.RESOLVED
        bound.append(checked(symbol, owner, result, library))
    return diagnose(file, bound, knowledge)


@table_rows
def test_one_cause_is_printed_once(
    fixture: str, version: str, cause: CauseId, fixtures_dir: Path, released: Released
) -> None:
    found = _diagnose(fixtures_dir / f"{fixture}.so", released(version))
    missing = set(found.causes)
    assert missing
    group = found.groups[0]
    assert (group.cause, group.confidence) == (cause, Confidence.HIGH)
    assert set(group.symbols) == missing
    assert len(found.groups) == 1
    assert group.summary.endswith(".")
    assert version in group.summary or cause is CauseId.TEMPLATE_MANGLING


def test_every_missing_import_has_causes_and_no_other(fixtures_dir: Path, released: Released) -> None:
    found = _diagnose(fixtures_dir / "old-string-extension.so", released("2.13.0"))
    # Five names, by dlsym over torch 2.13.0 (tests/fixtures/build.py).
    assert len(found.causes) == 5
    assert all(found.causes.values())


def test_a_file_that_binds_has_no_causes(fixtures_dir: Path, released: Released) -> None:
    found = _diagnose(fixtures_dir / "good-extension.so", released("2.13.0"))
    assert found.groups == ()


def test_unreachable_names_of_libtorch_python(fixtures_dir: Path, released: Released) -> None:
    knowledge = released("2.13.0")
    elf = open_elf(fixtures_dir / "unlinked-libtorch-python.so")
    file = elf.facts()
    bound = [
        checked(symbol, Owner.TORCH, Status.UNREACHABLE, "libtorch_python.so")
        for symbol in file.imports
        if "THPVariable" in symbol.name
    ]
    (group,) = diagnose(file, bound, knowledge).groups
    assert group.cause is CauseId.LIBTORCH_PYTHON_NOT_LINKED
    assert "-ltorch_python" in group.fix


@table_rows
def test_a_library_beside_the_file_exports_the_symbol(
    released: Released, needed: str, cause: CauseId, words: str
) -> None:
    """As glibc: `ld -shared` of two copies of libfoo.so, of which the run path names the one without the symbol."""
    symbol = checked(imported("foo_new"), Owner.OTHER, Status.UNREACHABLE, "libfoo.so")
    (group,) = diagnose(shared_object("x.so", (needed,)), [symbol], released("2.13.0")).groups
    assert group.cause is cause
    assert words in group.evidence[0]


def test_missing_causes_come_before_undecided_ones(released: Released) -> None:
    imports = [checked(imported(f"avcodec_{number}"), Owner.OTHER, Status.UNDECIDED) for number in range(20)]
    imports.append(checked(imported("_ZN3c1017RegisterOperatorsD1Ev"), Owner.OTHER))
    groups = diagnose(shared_object("x.so"), imports, released("2.13.0")).groups
    assert [group.cause for group in groups] == [CauseId.BUILT_FOR_OLDER_TORCH, CauseId.LIBRARY_NOT_LINKED]
    assert len(groups[1].symbols) == 20


def test_a_wheel_member_is_in_no_source_tree(released: Released) -> None:
    """kaldifeat 1.4: pip copies KALDIFEAT.data/platlib to site-packages (PEP 427), where no setup.py lies."""
    member = "/w/kaldifeat-1.4-py38-none-any.whl!kaldifeat-1.4.data/platlib/_kaldifeat.cpython-38-x86_64-linux-gnu.so"
    needed = ("libcudart.so.10.1",)
    found = diagnose(
        shared_object(member, needed), (), released("2.13.0"), libraries=needed, distribution=("kaldifeat", "1.4")
    )
    fixes = [group.fix for group in found.groups]
    assert fixes
    assert not any("build_ext --inplace" in fix for fix in fixes)


@table_rows
def test_a_fix_is_for_the_system_and_the_distribution_of_the_file(
    name: str, machine: str, distribution: str | None, wrong: str, released: Released
) -> None:
    missing = (
        "_ZN3c104cuda20getCurrentCUDAStreamEa"
        if machine == "x86_64"
        else "?THPVariable_Wrap@@YAPEAU_object@@VTensor@at@@@Z"
    )
    bound, file = checked(imported(missing), Owner.TORCH), shared_object(name, machine=machine)
    knowledge = replace(released("2.13.0"), machine=machine)
    target = replace(knowledge.target, variant="cpu", cuda=None) if knowledge.target is not None else None
    knowledge = replace(knowledge, target=target)
    needed = ("libc10_cuda.so",) if machine == "x86_64" else ()
    found = diagnose(file, (bound,), knowledge, libraries=needed, distribution=(distribution, None))
    fixes = [f"fix: {group.fix}" for group in found.groups]
    assert fixes
    assert not any(wrong in fix for fix in fixes), fixes


# --- libraries that were not found, commands that name the distribution, the order of several problems ----------------

# Resolutions are literal values; the release index has the builds with libc10_cuda.so and their exports.
CUDA_STREAM = "_ZN3c104cuda20getCurrentCUDAStreamEa"
COW = "_ZN3c104impl3cow23materialize_cow_storageERNS_11StorageImplE"  # torch 2.3.0-2.12.1


def knowledge(variant: str = "cpu") -> Knowledge:
    index = open_index(earlier=True)
    target = TorchBuild(TorchKind.INSTALLED, "2.13.0", variant, None, None, True, "/x/torch", None, "x86_64")
    exports = ReleasedExports(index, index.resolve("2.13.0"))
    return Knowledge(target=target, exports=exports, releases=index)


def missing(name: str, status: Status = Status.MISSING, version: VersionNeed | None = None) -> CheckedImport:
    return checked(imported(name, version), Owner.TORCH if name.startswith("_Z") else Owner.CUDA, status)


def found(
    path: str, *imports: CheckedImport, needed: tuple[str, ...] = (), known: Knowledge | None = None, **more: object
) -> Diagnosis:
    return diagnose(shared_object(path, needed), imports, known or knowledge(), **more)  # type: ignore[arg-type]


def test_a_torch_library_without_an_import_is_a_cause() -> None:
    diagnosis = found("torchaudio/_torchaudio.so", libraries=("libc10_cuda.so",))
    (group,) = diagnosis.groups
    assert group.cause is CauseId.CUDA_BUILD_REQUIRED
    assert group.symbols == ()
    assert any("libc10_cuda.so" in sentence for sentence in group.evidence)


def test_a_foreign_library_without_an_import_is_a_cause() -> None:
    (group,) = found("_C.so", libraries=("libzzz.so.4",)).groups
    assert group.cause is CauseId.LIBRARY_MISSING


def test_an_import_of_a_missing_library_is_not_a_version_mismatch() -> None:
    need = VersionNeed("libcudart.so.12", "libcudart.so.12", False)
    diagnosis = found("_C.so", missing("cudaMalloc", Status.UNDECIDED, need), libraries=("libcudart.so.12",))
    evidence = [sentence for cause in next(iter(diagnosis.causes.values())) for sentence in cause.evidence]
    assert evidence
    assert not any("was found" in sentence for sentence in evidence)
    assert [group.symbols for group in diagnosis.groups] == [("cudaMalloc",)]


def test_what_no_variant_would_cure_leads() -> None:
    """By the index, torch 2.13.0 exports no materialize_cow_storage in any variant; a GPU build alone does not help."""
    imports = [missing(CUDA_STREAM), missing(CUDA_STREAM.replace("Ea", "Ei")), missing(COW)]
    none_loads = replace(knowledge(), no_variant_loads=True, loads_on=ReleaseRanges([("2.5.0", "2.5.1")]))
    by_number = found("_C.so", *imports, libraries=("libc10_cuda.so",))
    by_need = found("_C.so", *imports, libraries=("libc10_cuda.so",), known=none_loads)
    assert by_number.groups[0].cause is CauseId.CUDA_BUILD_REQUIRED
    assert by_need.groups[0].cause is CauseId.BUILT_FOR_OLDER_TORCH
    assert {g.cause for g in by_number.groups} == {g.cause for g in by_need.groups}
    (of_gpu,) = (group for group in by_need.groups if group.cause is CauseId.CUDA_BUILD_REQUIRED)
    assert of_gpu.fix.startswith('pip install "torch>=2.5.0,<=2.5.1"\n')


def test_the_cuda_build_is_that_of_the_libraries_that_the_file_needs() -> None:
    """Of torch 2.13.0 the index has the wheel of the package index, of CUDA 13.0 (its own version is 2.13.0+cu130)."""

    def fix(*needed: str) -> str:
        (group,) = found("_C.so", missing(CUDA_STREAM), libraries=("libc10_cuda.so",), needed=needed).groups
        return group.fix.split("\n")[0]

    command = "pip install --force-reinstall torch==2.13.0 --index-url https://download.pytorch.org/whl/cu130"
    assert fix("libcudart.so.13") == command
    assert fix() == command
    command = "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu126"
    assert fix("libcudart.so.12").partition("  # ")[0] == command


def test_a_name_that_moved_into_the_cuda_library_has_the_same_cause() -> None:
    """`at::cuda::getCurrentDeviceProperties` is exported by libtorch_cuda.so of torch 2.13.0, by others before 1.5."""
    moved = missing("_ZN2at4cuda26getCurrentDevicePropertiesEv")
    diagnosis = found("_C.so", missing(CUDA_STREAM), moved, libraries=("libc10_cuda.so", "libtorch_cuda.so"))
    (group,) = diagnosis.groups
    assert group.cause is CauseId.CUDA_BUILD_REQUIRED
    assert len(group.symbols) == 2


def test_commands_name_the_distribution_that_metadata_or_place_tell() -> None:
    def fix(path: str, distribution: str | None = None, version: str | None = None) -> str:
        return found(path, missing(COW), distribution=(distribution, version)).groups[0].fix

    assert "--no-binary torch-scatter " in fix("dist/x.whl!torch_scatter/_C.so", distribution="torch_scatter")
    assert "--no-binary torch-scatter " in fix("/v/lib/python3.11/site-packages/torch_scatter/_C.so")
    # RECORD of torch_supa_ext 2.12.0a1 has this file, built for its backend.
    other = fix("torch_supa_ext/deepspeed.cpython-310-x86_64-linux-gnu.so", distribution="torch_supa_ext")
    assert "source directory of torch-supa-ext" in other
    # torchao publishes no source: pip cannot build it.
    binary_only = fix("dist/x.whl!torchao/_C.so", distribution="torchao")
    assert "--no-binary" not in binary_only
    assert "Install the release of torchao for torch 2.13.0 (cpu), if one exists:" in binary_only
    labelled = fix("dist/x.whl!ext/_C.so", distribution="ext", version="2.1.2+pt24cu121")
    assert "look for pt213" in labelled
    for path in ("tests/fixtures/Mine.so", "/home/me/project/Mine.so", "Mine.so"):
        told = fix(path)
        assert "--no-binary" not in told
        assert "source directory of Mine.so" in told
    hostile = fix("a/$(reboot).so", distribution="x; reboot")
    assert "reboot" not in hostile
