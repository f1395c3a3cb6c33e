"""Wheels, packages and archives of a run: their metadata, and the combined verdict of their members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from abiscan.inputs import Group
from abiscan.model.finding import Finding, Severity
from abiscan.model.report import WORST_FIRST, ArtifactReport, ArtifactVerdict, Container
from abiscan.model.target import TorchBuild
from abiscan.target.build_names import names_release, release_in_name
from abiscan.target.declared import marker_environments
from abiscan.target.declared_pythons import pythons_of_tags
from abiscan.target.package_builds import module_of, verified_releases
from abiscan.wheel.container_facts import ContainerFacts, ContainerKind
from abiscan.wheel.requirement_lines import spelled
from abiscan.wheel.tags import applicable, read_declared_tags, torch_requirements


def container_of(group: Group) -> Container:
    """The report of a container, without verdict."""
    facts = group.facts
    asked = tuple(line for line in facts.requires_dist if torch_requirements([line]))
    return Container(
        path=facts.path,
        kind=facts.kind.value,
        name=facts.name,
        version=facts.version,
        tags=facts.file_tags,
        metadata_tags=facts.metadata_tags,
        requires_dist=facts.requires_dist,
        requires_torch=asked,
        verdict=ArtifactVerdict.UNDECIDED,
        artifacts=tuple(sorted(artifact.display for artifact in group)),
        requires_python=facts.requires_python,
        applicable_torch=_applicable(asked, facts) if asked else (),
    )


def _applicable(lines: Sequence[str], facts: ContainerFacts) -> tuple[str, ...]:
    declared = read_declared_tags(facts.declared_tags)
    machine = next((platform.machine for platform in declared.platforms if platform.machine), "")
    pythons = pythons_of_tags(declared.interpreters)
    environments = marker_environments(torch_requirements(lines), pythons, facts.requires_python or "", machine)
    return tuple(spelled(line) for line in lines if applicable(torch_requirements([line]), environments))


def finish_container(
    container: Container, members: Iterable[ArtifactReport], versions: Callable[[str], Sequence[str]]
) -> Iterator[Container | ArtifactReport]:
    """The container with its verdict, and its members with the findings of wheel rules.

    Args:
        members: the reports of its artifacts.
        versions: architecture -> public versions of the known torch builds, oldest first.
    """
    reports = _with_alternatives(sorted(members, key=lambda member: member.display))
    yield replace(container, verdict=rolled_up(reports), artifacts=tuple(sorted(member.display for member in reports)))
    reports = _with_verified_advice(reports, versions)
    found: dict[str, list[Finding]] = {}
    if container.kind == ContainerKind.WHEEL:
        from abiscan.rules.computed.wheel_metadata_rules import findings_of_wheel

        for member, finding in findings_of_wheel(container, reports, versions):
            found.setdefault(member.display, []).append(finding)
    for report in reports:
        extra = found.get(report.display)
        yield report if extra is None else replace(report, findings=(*report.findings, *extra))


def _with_verified_advice(
    members: list[ArtifactReport], versions: Callable[[str], Sequence[str]]
) -> list[ArtifactReport]:
    """The members, without fixes that advise a torch on which another member of the package does not load. A build for
    some releases advises all releases for which the package has a build."""
    verified = verified_releases(members) if any(member.causes for member in members) else None
    if verified is None:
        return members
    from abiscan.diagnosis.fixes.torch_ranges import restrict_releases

    builds = Counter(module_of(member) for member in members)

    def narrow(member: ArtifactReport) -> ArtifactReport:
        known = tuple(dict.fromkeys(versions(member.machine or "")))
        one_of_several = builds[module_of(member)] > 1

        def fixed(fix: str) -> str:
            return restrict_releases(fix, known, verified.__contains__, widen=one_of_several)

        return replace(
            member,
            causes=tuple(replace(cause, fix=fixed(cause.fix)) for cause in member.causes),
            import_causes={
                name: tuple(replace(cause, fix=fixed(cause.fix)) for cause in causes)
                for name, causes in member.import_causes.items()
            },
        )

    return [narrow(member) if member.causes else member for member in members]


def _with_alternatives(members: Sequence[ArtifactReport]) -> list[ArtifactReport]:
    """The members; each that the package does not load is marked with the build of the same module that it does load.

    Of builds for several torch releases, a package loads the one whose path names the release, even if that fails. Of
    builds for several accelerators or instruction sets it loads one that loads and has code for the given GPUs.
    """
    families: dict[tuple[str, TorchBuild | None], list[ArtifactReport]] = {}
    for member in members:
        families.setdefault((module_of(member), member.torch_build), []).append(member)
    served: dict[str, tuple[ArtifactReport, str]] = {}
    for family in families.values():
        named = [each for each in family if _is_for(each)]
        chosen = {each.display for each in named}
        # Only the first of each verdict and release: there may be as many builds as members of an archive.
        first: dict[tuple[ArtifactVerdict, str | None], tuple[int, ArtifactReport]] = {}
        for number, each in enumerate(family):
            if not _lacks_kernels(each):
                first.setdefault((each.verdict, release_in_name(each.package_path)), (number, each))
        for each in family:
            if named and each.display not in chosen:
                release = named[0].torch_build.version if named[0].torch_build is not None else ""
                served[each.display] = named[0], f"for torch {release} its package has another build"
            # An installed package may load its CUDA build because it is there (torch-scatter).
            elif each.member is not None and (each.verdict is ArtifactVerdict.FAILS or _lacks_kernels(each)):
                serving = {ArtifactVerdict.LOADS, each.verdict} - {ArtifactVerdict.FAILS}
                # A build for another release replaces nothing.
                alike = (
                    first.get((verdict, r)) for verdict in serving for r in (release_in_name(each.package_path), None)
                )
                by = min((found for found in alike if found is not None), default=None, key=lambda found: found[0])
                if by is not None:
                    served[each.display] = by[1], "another build of it loads here"
    return [_replaced(member, *served[member.display]) if member.display in served else member for member in members]


def _is_for(member: ArtifactReport) -> bool:
    """Whether the path names the release that the member was checked against."""
    target = member.torch_build
    return target is not None and names_release(member.package_path, target.version) is True


def _lacks_kernels(member: ArtifactReport) -> bool:
    return any(finding.rule == "no-kernel-image" for finding in member.findings)


def _replaced(member: ArtifactReport, by: ArtifactReport, why: str) -> ArtifactReport:
    reason = f"{why}: {by.package_path}"
    findings = tuple(
        finding if finding.severity is Severity.NOTE else replace(finding, suppressed=True, suppression=reason)
        for finding in member.findings
    )
    note = f"it does not count for the wheel: {reason}"
    return replace(member, findings=findings, replaced_by=by.display, notes=(*member.notes, note))


def rolled_up(members: Iterable[ArtifactReport]) -> ArtifactVerdict:
    """The verdict of a container: the worst of the members that no other build replaces."""
    found = (member.verdict for member in members if member.replaced_by is None)
    return min(found, key=WORST_FIRST.index, default=ArtifactVerdict.NOT_TORCH)
