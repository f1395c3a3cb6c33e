"""A wheel with the reports of its members, as the subject of rules over wheel metadata, and their findings.

A finding is about a whole wheel. It is attached to one member, so that it is reported once. It is computed from reports
alone, once all members are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.model.finding import Finding, Severity
from abiscan.model.fingerprint import container_key
from abiscan.model.report import ArtifactReport, Container
from abiscan.model.words import shortened
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule
from abiscan.wheel.tags import DeclaredTags

# Architecture -> public versions of the known torch builds for it, oldest first.
Versions = Callable[[str], Sequence[str]]


class Wheel(Struct, frozen=True):
    """A wheel with the reports of its shared objects.

    Attributes:
        members: at least one, sorted by name.
        declared: its compatibility tags.
        versions: see `Versions`.
    """

    container: Container
    members: tuple[ArtifactReport, ...]
    declared: DeclaredTags
    versions: Versions


# The member that a finding of the wheel is attached to, and the finding.
WheelFinding = tuple[ArtifactReport, Finding]


def wheel_finding(
    rule: Rule,
    wheel: Wheel,
    member: ArtifactReport,
    *,
    name: str = "",
    detail: str,
    target: str = "",
    severity: Severity | None = None,
    symbols: tuple[str, ...] = (),
) -> WheelFinding:
    # The fingerprint is that of the wheel: the member with the finding may change with a rebuild.
    key = container_key(wheel.container.path.rsplit("!", 1)[-1])
    fields = {"name": name, "detail": detail, "target": target}
    finding = make_finding(rule, fields, (key,))
    return member, replace(finding, severity=severity or rule.severity, symbols=symbols)


def other_members(members: Sequence[ArtifactReport], lead: str = "also") -> str:
    """The members after the first one, as the end of a sentence."""
    names = [member.package_path for member in members[1:]]
    return f"; {lead} {shortened(names)}" if names else ""
