"""A text with a release that exports the missing symbol: another torch was loaded, as a condition. Oracles: the release
index by symbol, and threads in which another torch was loaded."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from abiscan.diagnosis import Knowledge, explain
from abiscan.model.cause import Cause, CauseId
from abiscan.releases import ReleaseIndex
from tests.diagnosis.reported import MACHINE, knowledge_of

ERROR = "_ZN3c105ErrorC1ENS_14SourceLocationESs"
_CONDITION = re.compile(r"The loaded torch may be (?:newer than (\S+))?(?: and )?(?:older than (\S+))?: it does not")
SIDES = (CauseId.BUILT_FOR_NEWER_TORCH, CauseId.BUILT_FOR_OLDER_TORCH)


def _sides(text: str, knowledge: Knowledge) -> list[Cause]:
    (subject,) = explain(text, knowledge)
    return [cause for cause in subject.causes if cause.cause in SIDES]


@pytest.mark.parametrize(
    ("name", "stated", "cause"),
    [
        (ERROR, "1.7.0", CauseId.BUILT_FOR_NEWER_TORCH),
        ("_ZN5torch3jit17parseSchemaOrNameERKSs", "1.4.0", CauseId.BUILT_FOR_NEWER_TORCH),
        ("_ZNK5torch8autograd4Node4nameEv", "2.4.0", CauseId.BUILT_FOR_OLDER_TORCH),
    ],
)
def test_the_nearer_end_of_the_range_comes_first(name: str, stated: str, cause: CauseId, index: ReleaseIndex) -> None:
    (subject,) = explain(name, knowledge_of(stated, index))
    assert subject.causes[0].cause is cause
    assert "torch.__version__, torch.__file__" in subject.causes[0].fix


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
