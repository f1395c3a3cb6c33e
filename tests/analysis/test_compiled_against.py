"""The headers that a file was compiled against: the evidence, its order, and no result from a contradiction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from abiscan.analysis.compiled_against import HeaderEvidence, compiled_against, headers_of, laid_out_as
from abiscan.analysis.package_members import asserted_beside
from abiscan.analysis.shared_layouts import SharedLayouts, drifting_on, with_layouts
from abiscan.elf import open_elf
from abiscan.inputs.artifact import Artifact
from abiscan.inputs.expand import expand
from abiscan.model.finding import Severity
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.target import TargetSource
from abiscan.model.versions import ReleaseRanges
from abiscan.releases.assertions import MARK, Assertion, assertions_in
from abiscan.releases.layout_table import SHIPPED, LayoutTable
from abiscan.releases.matrix import Matrix
from abiscan.rules.computed.layout_drift import CompiledAgainst, Numbers, shared_records
from abiscan.target.declared import DeclaredTorch
from tests.fixtures.wheels import make_wheel
from tests.programs import run_abiscan

DRIFT = Path(__file__).parents[1] / "fixtures" / "drift"
KNOWN = ("2.7.1", "2.8.0", "2.9.0", "2.9.1", "2.10.0")
OF_2_9 = CompiledAgainst(("2.9.0", "2.9.1"), "the headers of torch 2.9 assert")


def matrix(exporting: Sequence[str]) -> Matrix:
    verdicts = tuple(
        ReleaseVerdict(v, v, "", True, ReleaseState.LOADS if v in exporting else ReleaseState.FAILS, (), (), "")
        for v in KNOWN
    )
    ranges = ReleaseRanges.of_known(KNOWN, lambda release: release in exporting)
    return Matrix(verdicts, ranges, {}, ())


def declared(specifier: str) -> DeclaredTorch:
    return DeclaredTorch((specifier,), TargetSource.REQUIREMENT, f"it requires torch{specifier}")


@pytest.mark.parametrize(
    ("exporting", "asserting", "requires", "beside", "expected"),
    [
        (KNOWN, None, None, (), (KNOWN, "torch 2.7.1-2.10.0 exports all its imports")),
        (KNOWN, OF_2_9, None, (), (("2.9.0", "2.9.1"), "the headers of torch 2.9 assert")),
        (
            KNOWN[1:],
            OF_2_9,
            None,
            (),
            (("2.9.0", "2.9.1"), "torch 2.8.0-2.10.0 exports all its imports; the headers of torch 2.9 assert"),
        ),
        # Compiled code is stronger evidence than package metadata.
        (KNOWN, OF_2_9, "==2.8.0", (), (("2.9.0", "2.9.1"), "the headers of torch 2.9 assert")),
        (KNOWN, None, "==2.9.1", (), (("2.9.1",), "it requires torch==2.9.1")),
        (KNOWN, None, ">=2.8", (), (KNOWN, "torch 2.7.1-2.10.0 exports all its imports")),
        (KNOWN, None, None, ("2.8.0",), (("2.8.0",), "torch 2.8.0 exports what the files of its package import")),
        # Not of this torch, such as a build between two releases.
        (KNOWN[:2], OF_2_9, None, (), (KNOWN[:2], "torch 2.7.1-2.8.0 exports all its imports")),
        ((), OF_2_9, "==2.8.0", (), ((), "")),
    ],
)
def test_each_fact_narrows_what_is_left(
    exporting: Sequence[str],
    asserting: CompiledAgainst | None,
    requires: str | None,
    beside: Sequence[str],
    expected: tuple[tuple[str, ...], str],
) -> None:
    said = declared(requires) if requires is not None else None
    found = compiled_against(
        matrix(exporting), HeaderEvidence(asserting, declared=said, exported_beside=lambda: beside)
    )
    assert (found.releases, found.because) == expected


SIZED = CompiledAgainst(("2.7.1", "2.8.0"), "its debug information gives")


def test_debug_information_is_read_where_assertions_leave_several_releases() -> None:
    def read() -> CompiledAgainst:
        return SIZED

    found = compiled_against(matrix(KNOWN), HeaderEvidence(declared=declared("==2.9.1"), sized=read))
    assert found == CompiledAgainst(SIZED.releases, "its debug information gives")
    found = compiled_against(matrix(KNOWN), HeaderEvidence(OF_2_9, sized=lambda: pytest.fail("was read")))
    assert found.because == OF_2_9.because
    # If it names a torch that does not export the file's imports, the file is of another build.
    found = compiled_against(matrix(KNOWN[3:]), HeaderEvidence(sized=read))
    assert found.releases == KNOWN[3:]


def test_keys_in_the_code_are_read_where_several_releases_are_left() -> None:
    without_2_7 = CompiledAgainst(KNOWN[1:], "its code registers kernels under 65")

    def keyed(releases: Sequence[str]) -> CompiledAgainst | None:
        assert tuple(releases) == KNOWN
        return without_2_7

    found = compiled_against(matrix(KNOWN), HeaderEvidence(keyed=keyed))
    assert found == without_2_7

    def unread(_releases: Sequence[str]) -> CompiledAgainst | None:
        raise AssertionError("one release is left")

    assert compiled_against(matrix(KNOWN), HeaderEvidence(OF_2_9, keyed=unread)).releases == OF_2_9.releases
    # Every release is excluded: the file is of another torch.
    nothing = CompiledAgainst((), "its code registers kernels under 999")
    found = compiled_against(matrix(KNOWN), HeaderEvidence(keyed=lambda _releases: nothing))
    assert found.releases == KNOWN


def test_other_files_of_a_package_assert_for_one_that_does_not() -> None:
    others = CompiledAgainst(("2.9.0", "2.9.1"), "said so")
    assert compiled_against(matrix(KNOWN), HeaderEvidence(asserting_beside=lambda: others)).releases == others.releases

    def unasked() -> CompiledAgainst | None:
        raise AssertionError("its own assertions leave one release")

    assert compiled_against(matrix(KNOWN), HeaderEvidence(OF_2_9, asserting_beside=unasked)).releases == OF_2_9.releases


def test_assertions_of_a_package_are_read_from_its_files(tmp_path: Path) -> None:
    """`hands_on-torch-2.8.so` has no assertions."""
    table = LayoutTable(SHIPPED)

    def asserted(*files: str) -> CompiledAgainst | None:
        members = {f"demo/m{number}.so": DRIFT / name for number, name in enumerate(files)}
        path = make_wheel(tmp_path, members, version=f"1.0+{len(files)}")
        groups = {id(a.group): a.group for a in expand([str(path)], cwd=str(tmp_path)) if isinstance(a, Artifact)}
        (group,) = groups.values()
        asserted_beside.cache_clear()
        return asserted_beside(group, table, "x86_64")

    assert asserted("hands_on-torch-2.8.so") is None
    found = asserted("hands_on-torch-2.8.so", "registers-torch-2.8.so")
    assert found is not None
    assert "2.8.0" in found.releases
    assert "2.9.0" not in found.releases
    assert "a file of its package has the assertions of the headers" in found.because
    # Whatever the number of smaller files without assertions.
    assert asserted(*["hands_on-torch-2.8.so"] * 12, "registers-torch-2.8.so") is not None
    # Files for two releases: a package is compiled against one torch, so the result is unknown.
    assert asserted("hands_on-torch-2.8.so", "registers-torch-2.8.so", "generator-torch-2.13.so") is None


def test_sizes_in_debug_information_tell_the_release() -> None:
    """c10::MessageLogger has 408 bytes to 2.9, 400 in 2.10 and 424 since 2.11: Clang's dump of c10/util/Logging.h."""
    table = LayoutTable(SHIPPED)
    for release, of, not_of in (("2.8", "2.8.0", "2.10.0"), ("2.13", "2.13.0", "2.10.0")):
        sizes = open_elf(DRIFT / f"sized-torch-{release}.so").record_sizes(table.changing.keys())
        found = laid_out_as(sizes, table)
        assert found is not None
        assert of in found.releases
        assert not_of not in found.releases
        assert f"`c10::MessageLogger` {408 if release == '2.8' else 424} bytes" in found.because
    assert laid_out_as({}, table) is None
    assert laid_out_as({"c10::MessageLogger": 1}, table) is None


def test_assertions_of_two_releases_tell_nothing() -> None:
    table = LayoutTable(SHIPPED)
    assert headers_of((), table) is None
    old = assertions_in(open_elf(DRIFT / "registers-torch-2.8.so").strings_with(MARK))
    new = assertions_in(open_elf(DRIFT / "generator-torch-2.13.so").strings_with(MARK))
    found = headers_of(old, table)
    assert found is not None
    assert "2.8.0" in found.releases
    assert "2.9.0" not in found.releases
    assert headers_of((*old, *new), table) is None
    assert headers_of((Assertion("c10/core/Own.h", 1, 1, 1),), table) is None


def findings(file: str, torch: str) -> list[dict[str, Any]]:
    done = run_abiscan(DRIFT / file, "--torch", torch, "-f", "json", "-q")
    (artifact,) = json.loads(done.stdout)["artifacts"]
    return [each for each in artifact["findings"] if each["rule"] == "layout-drift"]


def test_unknown_layouts_are_not_reported_as_equal() -> None:
    table = LayoutTable(SHIPPED)
    uses = shared_records(["_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE"], [], table)
    shared = SharedLayouts(uses, CompiledAgainst(("2.8.0",), "said so"), table, dict)
    releases = ("2.7.1", "2.8.0", "2.9.0", "9.9.0")
    cells = [ReleaseVerdict(f"{r}+cpu", r, "cpu", True, ReleaseState.LOADS, (), (), "") for r in releases]
    found = {each.torch: (each.state, each.reason) for each in with_layouts(cells, shared)}
    assert found["2.8.0"] == (ReleaseState.LOADS, "")
    assert found["2.9.0"][0] is ReleaseState.OTHER_LAYOUT
    assert found["9.9.0"] == (ReleaseState.LOADS, "layouts not compared")


def test_dispatch_keys_are_read_only_if_no_class_decides() -> None:
    """Reading the code takes up to a tenth of the time of a wheel. Oracle: the headers, in which CppFunction differs
    between torch 2.8.0 and 2.13.0 and DispatchKey too."""
    table, read = LayoutTable(SHIPPED), list[str]()

    def keys() -> Numbers:
        read.append("the code")
        return Numbers((), complete=False)

    name = "_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE"
    uses = shared_records([name], [], table, keys)
    side = CompiledAgainst(("2.8.0",), "said so")
    assert drifting_on(["2.8.0", "2.13.0"], SharedLayouts(uses, side, table, dict)) == (("2.13.0", Severity.ERROR),)
    assert not read
    of_keys = tuple(use for use in uses if use.numbers is not None)
    assert drifting_on(["2.13.0"], SharedLayouts(of_keys, side, table, dict)) == (("2.13.0", Severity.ERROR),)
    assert read


def test_assertions_alone_identify_the_headers() -> None:
    """`registers-torch-2.8.so` declares nothing, and both releases export its imports. The run with 2.13.0 is in
    `tests/rules/computed/test_layout_drift.py`: it crashes."""
    (found,) = (each for each in findings("registers-torch-2.8.so", "2.13.0") if "CppFunction" in each["message"])
    assert (found["severity"], found["confidence"]) == ("error", "high")
    assert "it has the assertions of the headers of torch" in found["message"]
    # registers.cpp: TORCH_LIBRARY_IMPL(aten, PrivateUse3, m).
    (key,) = (each for each in findings("registers-torch-2.8.so", "2.13.0") if "DispatchKey" in each["message"])
    assert "64, `PrivateUse3` in torch 2.8.0, is `Meta` in torch 2.13.0" in key["message"]
    assert (key["severity"], key["confidence"]) == ("error", "high")
    assert findings("registers-torch-2.8.so", "2.8.0") == []
