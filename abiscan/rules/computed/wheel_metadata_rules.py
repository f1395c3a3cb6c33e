"""Rules over wheel metadata, and their findings for one wheel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from abiscan.model.report import ArtifactKind, ArtifactReport, Container
from abiscan.rules import load
from abiscan.rules.computed.torch_requirement_rules import requirement_missing, requirement_too_wide
from abiscan.rules.computed.wheel_subject import Versions, Wheel, WheelFinding
from abiscan.rules.computed.wheel_tag_rules import (
    tag_beyond_stable_abi,
    tag_of_other_machine,
    tag_of_other_python,
    tag_too_old,
    tags_differ,
)
from abiscan.rules.rule import Rule
from abiscan.wheel.tags import read_declared_tags

# In the order of the findings in reports.
WHEEL_RULES: Mapping[str, Callable[[Rule, Wheel], Iterator[WheelFinding]]] = {
    "wheel-tag-too-old": tag_too_old,
    "wheel-tag-other-machine": tag_of_other_machine,
    "wheel-tag-other-python": tag_of_other_python,
    "wheel-tag-beyond-stable-abi": tag_beyond_stable_abi,
    "wheel-tags-differ": tags_differ,
    "torch-requirement-missing": requirement_missing,
    "torch-requirement-too-wide": requirement_too_wide,
}


def findings_of_wheel(
    container: Container, members: Sequence[ArtifactReport], versions: Versions
) -> Iterator[WheelFinding]:
    """Declarations of a wheel that its members contradict, each with the member that the finding is attached to."""
    shared = sorted((m for m in members if m.kind is ArtifactKind.SHARED_OBJECT), key=lambda m: m.display)
    if not shared:
        return
    wheel = Wheel(container, tuple(shared), read_declared_tags(container.declared_tags), versions)
    for identifier, compute in WHEEL_RULES.items():
        yield from compute(load.rule(identifier), wheel)
