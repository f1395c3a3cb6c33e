"""`layout-drift` with the shipped layouts, and for files compiled with one torch and checked against another.
`tests/fixtures/drift` is compiled with the headers of torch 2.8.0 and run with 2.13.0 (docs/explanation/layouts.md)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from abiscan.model.cause import Confidence
from abiscan.model.finding import Severity
from abiscan.releases.layout import Field, Layout, change_of, is_moved
from abiscan.releases.layout_table import SHIPPED, LayoutTable, pack
from abiscan.releases.read_layouts import read_dump, read_enumerators
from abiscan.releases.type_text import made_for
from abiscan.rules import rule
from abiscan.rules.computed.layout_drift import (
    CompiledAgainst,
    LayoutSubject,
    Numbers,
    certainly_drifted,
    drifted,
    find_layout_drift,
    not_compared,
    shared_records,
    with_held,
)
from tests.forking_process import Run
from tests.tables import data_text, table_rows

IMPL = "_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE"
# A private function of TensorImpl, called by the inline function data().
ONLY_INLINE = "_ZNK3c1010TensorImpl27throw_data_ptr_access_errorEv"
REGISTER = "_ZN3c1017RegisterOperators25checkSchemaAndRegisterOp_EONS0_7OptionsE"
CONTEXT = "_ZNK2at7Context23deterministicAlgorithmsEv"


@pytest.fixture(scope="module")
def table() -> LayoutTable:
    return LayoutTable(SHIPPED)


def test_sizes_are_those_that_clang_prints(table: LayoutTable) -> None:
    """Read with `clang++-19 -Xclang -fdump-record-layouts-complete` over the headers of these wheels."""
    sizes = {
        (record, release): layout.size
        for record in ("torch::CppFunction", "c10::KernelFunction", "at::TensorIteratorBase", "c10::TensorImpl")
        for release in ("2.4.1", "2.8.0", "2.13.0")
        if (layout := table.layout(record, release)) is not None
    }
    assert [sizes["torch::CppFunction", r] for r in ("2.4.1", "2.8.0", "2.13.0")] == [96, 96, 104]
    assert [sizes["c10::KernelFunction", r] for r in ("2.4.1", "2.8.0", "2.13.0")] == [32, 32, 40]
    assert [sizes["at::TensorIteratorBase", r] for r in ("2.8.0", "2.13.0")] == [816, 760]
    assert [sizes["c10::TensorImpl", r] for r in ("2.8.0", "2.13.0")] == [184, 176]


def test_what_is_taken_as_an_rvalue_is_made_by_the_file(table: LayoutTable) -> None:
    uses = shared_records([IMPL], [], table)
    assert {use.record: use.fields for use in uses} == {"torch::CppFunction": None, "c10::DispatchKey": None}


def test_a_container_is_made_with_its_elements(table: LayoutTable) -> None:
    """torchvision 0.24.1's image.so, made for 2.9, crashes on 2.8.0 in this function: the options contain a vector of
    kernels, which are larger since 2.9."""
    (use,) = shared_records([REGISTER], [], table)
    assert (use.record, use.fields) == ("c10::RegisterOperators::Options", None)
    side = CompiledAgainst(("2.9.0", "2.9.1"), "said so")
    assert certainly_drifted([use], side, "2.8.0", table) == ("c10::RegisterOperators::Options",)
    assert certainly_drifted([use], side, "2.10.0", table) == ()
    subject = LayoutSubject("module", "2.8.0", (use,), side, table, lambda name: name)
    (found,) = find_layout_drift(rule("layout-drift"), subject)
    assert "`c10::RegisterOperators::Options::KernelRegistrationConfig` (72 and 64 bytes)" in found.message


def test_a_returned_object_is_allocated_by_the_file(table: LayoutTable) -> None:
    """`static TensorIterator TensorIterator::binary_op(...)`, ATen/TensorIterator.h."""
    (use,) = shared_records(["_ZN2at14TensorIterator9binary_opERNS_10TensorBaseERKS1_S4_"], [], table)
    assert (use.record, use.fields) == ("at::TensorIterator", None)


@table_rows
def test_what_the_caller_makes_of_a_parameter(parameter: str, records: list[str]) -> None:
    """Objects that exist when a function of that type is called: [dcl.init.ref], [basic.life] of the C++ standard."""
    assert list(made_for(parameter)) == records


def test_what_only_inline_functions_call_tells_the_fields_that_they_read(table: LayoutTable) -> None:
    """c10/core/TensorImpl.h: only data_ptr_impl_impl() and data_impl() call it; both read these two (is_empty() reads
    the first)."""
    (use,) = shared_records([ONLY_INLINE], [], table)
    assert use.record == "c10::TensorImpl"
    assert use.fields == ("numel_", "storage_offset_")
    assert use.certain


def test_what_torch_makes_and_hands_out_does_not_matter(table: LayoutTable) -> None:
    assert "at::Context" in table.changing
    assert shared_records([CONTEXT], [], table) == ()


@pytest.mark.parametrize(
    ("built", "target", "severity"),
    [
        (("2.9.0", "2.9.1"), "2.8.0", Severity.ERROR),
        (("2.8.0", "2.9.0"), "2.8.0", Severity.NOTE),
        (("2.7.1", "2.9.0"), "2.8.0", Severity.WARNING),
        (("2.7.1", "2.8.0"), "2.8.0", None),
        ((), "2.8.0", None),
    ],
)
def test_severity_is_what_is_known_of_the_side(
    table: LayoutTable, built: tuple[str, ...], target: str, severity: Severity | None
) -> None:
    uses = [use for use in shared_records([IMPL], [], table) if use.record == "torch::CppFunction"]
    side = CompiledAgainst(built, "said so")
    subject = LayoutSubject("module", target, tuple(uses), side, table, lambda name: name)
    found = find_layout_drift(rule("layout-drift"), subject)
    assert [finding.severity for finding in found] == ([] if severity is None else [severity])
    assert bool(certainly_drifted(uses, side, target, table)) == (severity is Severity.ERROR)
    if found:
        assert "104 bytes" in found[0].message
        assert "96 in torch 2.8.0" in found[0].message


def test_a_further_member_of_a_union_moves_nothing() -> None:
    old = {"U": Layout(8, 8, (Field(0, "a", ""),))}
    new = {"U": Layout(8, 8, (Field(0, "a", ""), Field(0, "b", "")))}
    assert change_of("U", old.get, new.get) is None


def test_another_name_moves_nothing() -> None:
    old = {"G": Layout(16, 8, (Field(0, "tls_", ""), Field(64, "exclude_", "S")))}
    new = {"G": Layout(16, 8, (Field(0, "tls_", ""), Field(64, "saved_", "S")))}
    other = {"G": Layout(16, 8, (Field(0, "tls_", ""), Field(64, "saved_", "T")))}
    assert change_of("G", old.get, new.get) is None
    assert not is_moved("G", ["exclude_"], old.get, new.get)
    assert change_of("G", old.get, other.get) is not None
    assert is_moved("G", ["exclude_"], old.get, other.get)


def test_a_field_moves_with_the_record_inside_of_it() -> None:
    inside = {"A": Layout(8, 8, (Field(0, "x", ""),))}
    grown = {"A": Layout(16, 8, (Field(0, "y", ""), Field(64, "x", "")))}
    old = {"B": Layout(16, 8, (Field(0, "a", "A"), Field(64, "z", ""))), **inside}
    new = {"B": Layout(24, 8, (Field(0, "a", "A"), Field(128, "z", ""))), **grown}
    change = change_of("B", old.get, new.get)
    assert change is not None
    assert (change.moved, change.inner is not None) == ("z", True)
    assert is_moved("B", ["a"], old.get, new.get)
    assert not is_moved("B", ["a"], old.get, old.get)


def test_a_record_with_elements_of_its_own_kind_ends() -> None:
    old = {
        "T": Layout(24, 8, (Field(0, "children", "T"), Field(0, "others", "S"))),
        "S": Layout(8, 8, (Field(0, "t", "T"),)),
    }
    new = {**old, "S": Layout(16, 8, (Field(0, "t", "T"), Field(64, "x", "")))}
    change = change_of("T", old.get, new.get)
    assert change is not None
    assert change.inner is not None
    assert change.inner.record == "S"
    assert change_of("T", old.get, old.get) is None


def test_a_dump_of_clang_is_read() -> None:
    """Output of `clang++-19`."""
    text = data_text(__file__, "record_layouts.txt")
    fields = (Field(64, "held_", ""), Field(64, "held_", "c10::B"))
    fields += (Field(128, "items_", ""), Field(128, "items_", "c10::D"))
    fields += (Field(192, "flag_", ""), Field(193, "other_", ""))
    assert read_dump(text.splitlines(keepends=True)) == {"c10::A": Layout(32, 8, fields)}


@pytest.mark.slow
def test_the_same_layouts_give_the_same_bytes(table: LayoutTable) -> None:
    layouts: dict[str, dict[str, Layout]] = {release: {} for release in set(table.read_from.values())}
    for record, by_release in table.records():
        for release, layout in by_release.items():
            if release in layouts:
                layouts[release][record] = layout
    with open(SHIPPED, "rb") as file:
        assert pack(layouts, table.read_from, table.traces, table.assertions) == file.read()


DRIFT = Path(__file__).parents[2] / "fixtures" / "drift"
CALL = """
import ctypes, sys, torch
library = ctypes.CDLL(sys.argv[1])
if sys.argv[2] == "numel_of":
    library.numel_of.restype, library.numel_of.argtypes = ctypes.c_int64, [ctypes.c_void_p]
    print(library.numel_of(torch.zeros(3, 5)._cdata), flush=True)
elif sys.argv[2]:
    print(getattr(library, sys.argv[2])(), flush=True)
else:
    print("loaded", flush=True)
"""


def run_here(run: Run, file: str, function: str) -> subprocess.CompletedProcess[str]:
    return run(CALL, str(DRIFT / file), function)


@pytest.mark.torch
def test_the_process_dies_where_torch_takes_over_a_smaller_object(run_with_torch: Run) -> None:
    """Oracle: the run with torch 2.13.0. A static initialiser of the file crashes the process."""
    done = run_here(run_with_torch, "registers-torch-2.8.so", "")
    assert done.returncode < 0
    assert "loaded" not in done.stdout


@pytest.mark.torch
def test_a_moved_field_is_read_silently(run_with_torch: Run) -> None:
    assert run_here(run_with_torch, "reads-torch-2.13.so", "numel_of").stdout.strip() == "15"
    wrong = run_here(run_with_torch, "reads-torch-2.8.so", "numel_of")
    assert wrong.returncode == 0
    assert wrong.stdout.strip() != "15"


@pytest.mark.torch
def test_a_record_that_is_handed_on_works(run_with_torch: Run) -> None:
    assert run_here(run_with_torch, "hands_on-torch-2.8.so", "deterministic").stdout.strip() == "0"


def test_a_kernel_is_registered_under_a_number(table: LayoutTable) -> None:
    """`torch._C._dispatch_dump("torchvision::nms")` with the module of torchvision 0.19.1, made for 2.4: with 2.4.1 the
    kernels are for CPU and CUDA, with 2.5.1 for Undefined and CPU."""
    key = next(use for use in shared_records([IMPL], [], table) if use.record == "c10::DispatchKey")
    side = CompiledAgainst(("2.4.0", "2.4.1"), "said so")
    assert certainly_drifted([key], side, "2.5.1", table) == ("c10::DispatchKey",)
    assert certainly_drifted([key], side, "2.3.1", table) == ()
    subject = LayoutSubject("module", "2.5.1", (key,), side, table, lambda name: name)
    (found,) = find_layout_drift(rule("layout-drift"), subject)
    assert found.severity is Severity.ERROR
    assert "`CPU` is 48 in torch 2.4.1 and 49 in torch 2.5.1" in found.message


def test_keys_that_extensions_seldom_have_are_a_warning(table: LayoutTable) -> None:
    """c10/core/DispatchKey.h: 2.8 has one more backend, after CPU and CUDA and before Meta."""
    key = next(use for use in shared_records([IMPL], [], table) if use.record == "c10::DispatchKey")
    side = CompiledAgainst(("2.7.0", "2.7.1"), "said so")
    assert certainly_drifted([key], side, "2.8.0", table) == ()
    subject = LayoutSubject("module", "2.8.0", (key,), side, table, lambda name: name)
    (found,) = find_layout_drift(rule("layout-drift"), subject)
    assert found.severity is Severity.WARNING


KNOWN, LIKELY, OPEN = (
    (Severity.ERROR, Confidence.HIGH),
    (Severity.ERROR, Confidence.MEDIUM),
    (Severity.WARNING, Confidence.MEDIUM),
)


@pytest.mark.parametrize(
    ("numbers", "releases", "expected", "said"),
    [
        # c10/core/DispatchKey.h: 50 is CPU in 2.7 and 2.8, 145 Autograd in 2.7; 0 is Undefined and 8 Sparse in all.
        (Numbers((50,), complete=True), ("2.7.1", "2.8.0"), (), ""),
        (Numbers((0, 8), complete=True), ("2.4.1", "2.5.1"), (), ""),
        (Numbers((50, 145), complete=True), ("2.7.1", "2.8.0"), (KNOWN,), "145, `Autograd` in torch 2.7.1, is"),
        (Numbers((145,), complete=False), ("2.7.1", "2.8.0"), (KNOWN,), "145, `Autograd` in torch 2.7.1, is"),
        (Numbers((50,), complete=False), ("2.7.1", "2.8.0"), (OPEN,), "the key is unknown"),
        (Numbers((), complete=False), ("2.4.1", "2.5.1"), (LIKELY,), "the key is unknown"),
        (Numbers((48,), complete=True), ("2.4.1", "2.5.1"), (KNOWN,), "48, `CPU` in torch 2.4.1, is `"),
    ],
)
def test_keys_that_are_read_in_the_code(
    table: LayoutTable,
    numbers: Numbers,
    releases: tuple[str, str],
    expected: tuple[tuple[Severity, Confidence], ...],
    said: str,
) -> None:
    built, target = releases
    uses = [use for use in shared_records([IMPL], [], table, lambda: numbers) if use.record == "c10::DispatchKey"]
    side = CompiledAgainst((built,), "said so")
    assert bool(certainly_drifted(uses, side, target, table)) == any(each[0] is Severity.ERROR for each in expected)
    subject = LayoutSubject("module", target, tuple(uses), side, table, lambda name: name)
    found = find_layout_drift(rule("layout-drift"), subject)
    assert tuple((each.severity, each.confidence) for each in found) == expected
    assert all(said in each.message for each in found)


def test_what_a_class_of_the_file_holds_is_made_by_the_file(table: LayoutTable) -> None:
    """at::TensorIteratorBase has 816 bytes in 2.8.0 and 760 in 2.13.0 (Clang's dump)."""
    read = shared_records([ONLY_INLINE], [], table)
    held = {"c10::TensorImpl": "own::A", "at::TensorIteratorBase": "own::B", "c10::DispatchKey": "own::C"}
    uses = with_held(read, held)
    assert [(use.record, use.fields) for use in uses] == [("at::TensorIteratorBase", None), ("c10::TensorImpl", None)]
    side = CompiledAgainst(("2.8.0",), "said so")
    assert certainly_drifted(read, side, "2.13.0", table) == ()
    assert certainly_drifted(uses, side, "2.13.0", table) == ("at::TensorIteratorBase", "c10::TensorImpl")
    subject = LayoutSubject("module", "2.13.0", uses, side, table, lambda name: name)
    first, _second = find_layout_drift(rule("layout-drift"), subject)
    assert "816 bytes in torch 2.8.0 and 760 in torch 2.13.0" in first.message
    assert "the file's class `own::B` contains an object of this class (source: debug" in first.message
    assert (first.severity, first.symbol, first.symbols) == (Severity.ERROR, None, ())


@pytest.mark.parametrize(
    ("built", "target", "unknown", "severity"),
    [
        (("2.8.0",), "9.9.0", ("9.9.0",), Severity.WARNING),
        (("9.9.0",), "2.8.0", ("9.9.0",), Severity.WARNING),
        (("2.8.0", "9.9.0"), "9.9.0", ("9.9.0",), Severity.NOTE),
        # Made for the target, whatever its layouts are.
        (("9.9.0", "9.9.1"), "9.9.0", (), None),
        (("2.8.0",), "2.8.0", (), None),
        ((), "9.9.0", (), None),
    ],
)
def test_releases_without_layouts_are_reported(
    table: LayoutTable, built: tuple[str, ...], target: str, unknown: tuple[str, ...], severity: Severity | None
) -> None:
    uses = shared_records([IMPL], [], table)
    side = CompiledAgainst(built, "said so")
    assert drifted(uses, side, target, table) == {}
    assert not_compared(side, target, table) == unknown
    subject = LayoutSubject("module", target, uses, side, table, lambda name: name)
    found = find_layout_drift(rule("layout-drift"), subject)
    assert [each.severity for each in found] == ([] if severity is None else [severity])
    assert all(f"were not checked: the layouts of torch {unknown[0]} are unknown" in each.message for each in found)
    assert find_layout_drift(rule("layout-drift"), LayoutSubject("m", target, (), side, table, lambda name: name)) == ()


def test_a_function_that_takes_a_key_may_be_given_what_torch_handed_out(table: LayoutTable) -> None:
    name = "_ZN3c108toStringENS_11DispatchKeyE"
    assert not any(use.record == "c10::DispatchKey" for use in shared_records([name], [], table))


def test_a_further_enumerator_changes_nothing() -> None:
    old = {"E": Layout(0, 0, (Field(0, "a", ""), Field(1, "b", "")))}
    new = {"E": Layout(0, 0, (Field(0, "a", ""), Field(1, "b", ""), Field(2, "c", "")))}
    moved = {"E": Layout(0, 0, (Field(0, "a", ""), Field(1, "c", ""), Field(2, "b", "")))}
    assert change_of("E", old.get, new.get) is None
    assert change_of("E", old.get, moved.get) is not None


def test_an_enumeration_field_keeps_its_offset() -> None:
    record = {"R": Layout(2, 2, (Field(0, "key_", "E"),))}
    old = {"E": Layout(0, 0, (Field(0, "a", ""),)), **record}
    new = {"E": Layout(0, 0, (Field(1, "a", ""),)), **record}
    assert change_of("R", old.get, new.get) is None
    assert not is_moved("R", ["key_"], old.get, new.get)


def test_enumerators_are_those_that_clang_prints() -> None:
    """Output of `clang++-19 -Xclang -ast-dump -Xclang -ast-dump-filter=c10::E` for `enum class E : uint16_t { A, B = 5,
    C, D = B, F }`."""
    text = data_text(__file__, "enumerators.txt")
    read = read_enumerators(text.splitlines())
    assert read is not None
    assert [(field.name, field.offset) for field in read.fields] == [("A", 0), ("B", 5), ("C", 6), ("D", 5), ("F", 6)]
    assert read.is_enumeration
    assert read_enumerators(["nothing"]) is None
