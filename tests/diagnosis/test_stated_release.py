"""The torch of a text: whether it is a source build; another torch was loaded, as a condition, where the stated release
exports the missing symbol; commands for an unknown release are of one that can have the error.

Oracles: the release index by symbol, and threads in which another torch was loaded. `data/source_builds.toml` has
answers about source builds."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.fixes.package_commands import install
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.other_builds import built_from_source
from abiscan.diagnosis.reference import Reference, ReferringFile
from abiscan.model.cause import Cause, CauseId
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.releases import ReleaseIndex
from tests.diagnosis.explained import explain
from tests.diagnosis.reported import MACHINE, knowledge_of
from tests.tables import table_rows

ERROR = "_ZN3c105ErrorC1ENS_14SourceLocationESs"
_CONDITION = re.compile(r"The loaded torch may be (?:newer than (\S+))?(?: and )?(?:older than (\S+))?: it does not")
SIDES = (CauseId.BUILT_FOR_NEWER_TORCH, CauseId.BUILT_FOR_OLDER_TORCH)


def _sides(text: str, knowledge: Knowledge) -> list[Cause]:
    (subject,) = explain(text, knowledge)
    return [cause for cause in subject.causes if cause.cause in SIDES]


@pytest.mark.parametrize("stated", ["1.1.0", "1.6.0", "1.7.0", "1.13.0", "2.2.0", "2.6.0"])
@pytest.mark.parametrize("name", [ERROR, "_ZN5torch3jit17parseSchemaOrNameERKSs", "_ZN3c1017RegisterOperatorsC1Ev"])
def test_no_release_that_the_condition_names_exports_it(name: str, stated: str, index: ReleaseIndex) -> None:
    history = index.history(name, MACHINE)
    assert history is not None
    exported = {build.torch for build in history.exporting_builds}
    known = list(dict.fromkeys(build.torch for build in index.builds(MACHINE)))
    conditions = [
        found for side in _sides(name, knowledge_of(stated, index)) for found in map(_CONDITION.match, side.evidence)
    ]
    found = [condition for condition in conditions if condition is not None]
    assert bool(found) == (stated in exported)
    for condition in found:
        after, before = condition.groups()
        first = 0 if after is None else known.index(after) + 1
        last = len(known) if before is None else known.index(before)
        assert known[first:last]
        assert exported.isdisjoint(known[first:last])


def test_no_such_cause_for_a_known_torch_or_a_linker(index: ReleaseIndex) -> None:
    known = knowledge_of("1.7.0", index)
    assert _sides(ERROR, known)
    assert not _sides(ERROR, replace(known, exact=True))
    assert not _sides(f"a.o: undefined reference to `{ERROR}'", known)


def test_a_name_of_every_release_has_neither_side(index: ReleaseIndex) -> None:
    assert not _sides("_ZTIN5torch2nn6ModuleE", knowledge_of("1.9.0", index))


@table_rows
def test_the_version_of_version_txt_is_that_of_a_source_build(version: str, variant: str, expected: bool) -> None:
    """Oracle: setup.py and version.txt of torch 2.13.0: `2.13.0a0`, with or without a label."""
    torch = TorchBuild(TorchKind.INSTALLED, version, variant, None, None, True, "/v/torch", None)
    assert built_from_source(torch) is expected
    file = ReferringFile(distribution="torch-scatter")
    ways = install(packages_by_name()["torch-scatter"], MissingName(Reference(""), Knowledge(target=torch), file))
    assert not expected or ("--no-binary torch-scatter torch-scatter" in ways[0] and "data.pyg.org" not in ways[0])


def test_a_release_number_with_another_commit_is_a_source_build(index: ReleaseIndex) -> None:
    """Oracle: torch/version.py of each released wheel, in the index. PYTORCH_BUILD_VERSION sets the version."""
    (released,) = {build.git_revision for build in index.builds("x86_64") if build.torch == "2.13.0"}
    for commit, expected in ((released, False), ("7bcf7da3" * 5, True), ("Unknown", False), (None, False)):
        torch = TorchBuild(
            TorchKind.INSTALLED, "2.13.0", "cpu", None, None, True, "/v/torch", None, git_revision=commit
        )
        assert Knowledge(target=torch, releases=index).target_from_source is expected
        assert not Knowledge(target=torch).target_from_source


@table_rows
def test_the_example_lacks_the_symbol(text: str, symbol: str, index: ReleaseIndex) -> None:
    best = explain(text + symbol, Knowledge(releases=index))[0].causes[0]
    history = index.history(symbol, "x86_64")
    assert history is not None
    examples = re.findall(r"# for torch ([\d.]+\d)", best.fix)
    assert examples
    assert "None" not in best.fix
    assert not any(history.exported_in.contains(each) for each in examples), best.fix
