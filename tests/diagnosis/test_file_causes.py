"""Causes of whole files: fixtures for the purpose (tests/fixtures/build.py), resolved against literal exports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from abiscan.diagnosis.file_causes import diagnose
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.elf import open_elf
from abiscan.model.cause import CauseId, Confidence, Diagnosis
from abiscan.model.facts import SharedObject
from abiscan.model.imports import CheckedImport, DemangledBy, Owner, Status
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
        bound.append(CheckedImport(symbol, None, DemangledBy.NONE, owner, result, library))
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
        CheckedImport(symbol, None, DemangledBy.NONE, Owner.TORCH, Status.UNREACHABLE, "libtorch_python.so")
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
    from abiscan.model.facts import Import, SymbolBinding, SymbolType, Visibility

    symbol = Import("foo_new", SymbolBinding.GLOBAL, SymbolType.NOTYPE, Visibility.DEFAULT, None, True, 1)
    imports = [CheckedImport(symbol, None, DemangledBy.NONE, Owner.OTHER, Status.UNREACHABLE, "libfoo.so")]
    file = SharedObject("x.so", 1, "x86_64", 64, None, (needed,), None, None, None, (), (), (), ())
    (group,) = diagnose(file, imports, released("2.13.0")).groups
    assert group.cause is cause
    assert words in group.evidence[0]


def test_missing_causes_come_before_undecided_ones(released: Released) -> None:
    from abiscan.model.facts import Import, SymbolBinding, SymbolType, Visibility

    def bound(name: str, status: Status) -> CheckedImport:
        symbol = Import(name, SymbolBinding.GLOBAL, SymbolType.NOTYPE, Visibility.DEFAULT, None, True, 1)
        return CheckedImport(symbol, None, DemangledBy.NONE, Owner.OTHER, status, None)

    imports = [bound(f"avcodec_{number}", Status.UNDECIDED) for number in range(20)]
    imports.append(bound("_ZN3c1017RegisterOperatorsD1Ev", Status.MISSING))
    file = SharedObject("x.so", 1, "x86_64", 64, None, (), None, None, None, (), (), (), ())
    groups = diagnose(file, imports, released("2.13.0")).groups
    assert [group.cause for group in groups] == [CauseId.BUILT_FOR_OLDER_TORCH, CauseId.LIBRARY_NOT_LINKED]
    assert len(groups[1].symbols) == 20


def test_a_wheel_member_is_in_no_source_tree(released: Released) -> None:
    """kaldifeat 1.4: pip copies KALDIFEAT.data/platlib to site-packages (PEP 427), where no setup.py lies."""
    member = "/w/kaldifeat-1.4-py38-none-any.whl!kaldifeat-1.4.data/platlib/_kaldifeat.cpython-38-x86_64-linux-gnu.so"
    needed = ("libcudart.so.10.1",)
    file = SharedObject(member, 1, "x86_64", 64, None, needed, None, None, None, (), (), (), ())
    found = diagnose(file, (), released("2.13.0"), libraries=needed, distribution=("kaldifeat", "1.4"))
    fixes = [group.fix for group in found.groups]
    assert fixes
    assert not any("build_ext --inplace" in fix for fix in fixes)


@table_rows
def test_a_fix_is_for_the_system_and_the_distribution_of_the_file(
    name: str, machine: str, distribution: str | None, wrong: str, released: Released
) -> None:
    from msgspec.structs import replace

    from abiscan.model.facts import Import, SymbolBinding, SymbolType, Visibility

    missing = (
        "_ZN3c104cuda20getCurrentCUDAStreamEa"
        if machine == "x86_64"
        else "?THPVariable_Wrap@@YAPEAU_object@@VTensor@at@@@Z"
    )
    symbol = Import(missing, SymbolBinding.GLOBAL, SymbolType.NOTYPE, Visibility.DEFAULT, None, True, 1)
    bound = CheckedImport(symbol, None, DemangledBy.NONE, Owner.TORCH, Status.MISSING, None)
    file = SharedObject(name, 1, machine, 64, None, (), None, None, None, (), (), (), ())
    knowledge = replace(released("2.13.0"), machine=machine)
    target = replace(knowledge.target, variant="cpu", cuda=None) if knowledge.target is not None else None
    knowledge = replace(knowledge, target=target)
    needed = ("libc10_cuda.so",) if machine == "x86_64" else ()
    found = diagnose(file, (bound,), knowledge, libraries=needed, distribution=(distribution, None))
    fixes = [f"fix: {group.fix}" for group in found.groups]
    assert fixes
    assert not any(wrong in fix for fix in fixes), fixes
