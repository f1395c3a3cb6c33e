"""Requirements on every file: that it loads, `--require-torch RANGE` and `--require-stable-abi [VERSION]`.

Each produces findings of its own rule, so that baseline, ignores and every format treat them like any other. What
cannot be decided is reported as such and makes the run incomplete; it never counts as satisfied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan.errors import UsageError
from abiscan.model import versions
from abiscan.model.cause import Confidence
from abiscan.model.finding import DOES_NOT_LOAD, Finding, RuleInfo, Severity
from abiscan.model.fingerprint import fingerprint, module_key
from abiscan.model.imports import Owner, is_cxx_name
from abiscan.model.release import ReleaseVerdict
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict
from abiscan.model.target import TargetSource
from abiscan.model.words import shortened

if TYPE_CHECKING:
    from abiscan.model.dependency_specifiers import SpecifierSet

REQUIRE_TORCH = "require-torch"
REQUIRE_STABLE_ABI = "require-stable-abi"

REQUIREMENT_RULES = (
    RuleInfo(
        REQUIRE_TORCH,
        "A file does not load on every torch build of the required range",
        "The project declares a range of torch releases. With one of these builds, the import fails. "
        "A release whose default build has another CUDA than the file needs counts as one that does not load it.",
        "abiscan --require-torch '>=2.4,<2.9' dist/*.whl",
        "Build a wheel for each group of builds, narrow the range, or remove the calls to functions that changed.",
        ("https://packaging.python.org/en/latest/specifications/version-specifiers/",),
        "0.1.0",
        Severity.ERROR,
        Confidence.HIGH,
    ),
    RuleInfo(
        REQUIRE_STABLE_ABI,
        "A file uses torch symbols outside the stable ABI",
        "Only the C shims are guaranteed between torch releases. Any other symbol of torch may change.",
        "abiscan --require-stable-abi 2.10 dist/*.whl",
        "Move the extension to torch/csrc/stable and torch/headeronly (STABLE_TORCH_LIBRARY).",
        ("https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html",),
        "0.1.0",
        Severity.ERROR,
        Confidence.HIGH,
    ),
)
# This rule is always active: the gate must not depend on another rule.
VERDICT_RULE = RuleInfo(
    DOES_NOT_LOAD,
    "A file does not load for a reason outside the file",
    "A library of the package that the file needs does not load, or torch ships another CUDA release.",
    "abiscan dist/*.whl",
    "Fix the library that it needs, or build the file for the CUDA release of torch.",
    (),
    "0.1.0",
    Severity.ERROR,
    Confidence.HIGH,
)
GATE_RULES = (*REQUIREMENT_RULES, VERDICT_RULE)


def parse_require_torch(text: str, where: str = "--require-torch") -> SpecifierSet:
    """Parse the range.

    Raises:
        UsageError: it is not a version specifier.
    """
    from abiscan.model.dependency_specifiers import InvalidDependency, read_specifiers

    try:
        parsed = read_specifiers(text)
    except InvalidDependency:
        raise UsageError(f"{where}: {text!r} is not a version range; write for example '>=2.4,<2.9'") from None
    if not len(parsed):
        raise UsageError(f"{where}: the range is empty; write for example '>=2.4,<2.9'")
    return parsed


def parse_stable_abi(text: str, where: str = "--require-stable-abi") -> tuple[int, ...]:
    """The release as numbers, as many as are given.

    Raises:
        UsageError: it is not a release.
    """
    found = versions.order(text) if versions.is_version(text) else None
    if found is None:
        raise UsageError(f"{where}: {text!r} is not a torch release; write for example 2.10")
    return found[: text.partition("+")[0].count(".") + 1]


def check_known(spec: str | None, stable: str | None, known: Collection[str]) -> None:
    """Check that a required range, and the release of a required stable ABI, are among the known releases.

    Raises:
        UsageError: they are not, so no file could be checked.
    """
    if not known:
        return
    span = f"they are {'-'.join(dict.fromkeys((min(known, key=_order), max(known, key=_order))))}"
    if spec is not None and not any(parse_require_torch(spec).contains(each, prereleases=True) for each in known):
        raise UsageError(f"require-torch: {spec!r} allows no torch release that can be checked; {span}")
    if stable is not None:
        wanted = parse_stable_abi(stable)
        if not any(_order(each)[: len(wanted)] == wanted for each in known):
            raise UsageError(f"require-stable-abi: torch {stable} is not a release that can be checked; {span}")


def _order(version: str) -> versions.Order:
    return versions.order(version) or ()


def require_torch(artifact: ArtifactReport, spec: str) -> Finding | str | None:
    """The finding, or the reason if the requirement cannot be decided; None if it holds."""
    if not _uses_torch(artifact):
        return None
    if artifact.releases is None:
        declared = (
            None if artifact.target is None or artifact.target.takes_the_torch_of_the_run else artifact.target.torch
        )
        made_for = artifact.machine if declared is None else declared.value  # `ROCm 6`
        why = "" if artifact.torch_build else f": no torch build for {made_for} is known"
        return f"{artifact.display}: not checked against torch {spec}{why}"
    accepted = parse_require_torch(spec)
    inside = [r for r in artifact.releases if accepted.contains(r.torch, prereleases=True)]
    own = named_release(artifact)
    if own is not None and inside:
        # A package with one build for each release uses this one only on its own release.
        inside = [r for r in inside if versions.minor(r.torch) == own]
        if not inside:
            return None
    if not inside:
        return f"{artifact.display}: no known build of torch for {artifact.machine} is in the range {spec}"
    failing = [r for r in inside if not r.fits]
    return _torch_finding(artifact, spec, inside, failing) if failing else None


def named_release(artifact: ArtifactReport) -> str | None:
    """The minor release (`2.9`) in the file's path within its package; None if it has none."""
    torch = None if artifact.target is None else artifact.target.torch
    if artifact.member is None or torch is None or torch.source is not TargetSource.FOLDER:
        return None
    return versions.minor(torch.value.partition("+")[0])


def require_builds(artifacts: Iterable[ArtifactReport], spec: str) -> dict[str, Finding]:
    """For packages with one build for each torch release: display name of one of their files -> the finding on releases
    of the range for which the package has no build."""
    packages: dict[str, list[ArtifactReport]] = {}
    for artifact in artifacts:
        if artifact.releases is not None and named_release(artifact) is not None:
            packages.setdefault(artifact.path, []).append(artifact)
    found = {}
    accepted = parse_require_torch(spec)
    for path, builds in packages.items():
        first = builds[0]
        present = {named_release(build) for build in builds}
        known = dict.fromkeys(versions.minor(r.torch) for r in first.releases or () if accepted.contains(r.torch))
        absent = [minor for minor in known if minor not in present]
        if absent:
            message = f"has one build for each torch release, but none for {', '.join(absent)}, which {spec} allows"
            key = (module_key(path, None), *absent)
            found[first.display] = _finding(REQUIRE_TORCH, message, REQUIREMENT_RULES[0].use_instead, key)
    return found


def _torch_finding(
    artifact: ArtifactReport, spec: str, inside: list[ReleaseVerdict], failing: list[ReleaseVerdict]
) -> Finding:
    by_reason: dict[str, list[ReleaseVerdict]] = {}
    for release in failing:
        by_reason.setdefault(release.reason or "missing imports", []).append(release)
    parts = []
    for reason, group in by_reason.items():
        names = shortened([release.name for release in group])
        missing = max(len(r.missing) for r in group)
        parts.append(f"{names} ({reason}{f', {missing} missing' if missing else ''})")
    builds = sorted(release.build for release in failing)
    return _finding(
        REQUIRE_TORCH,
        f"fails on {len(failing)} of {len(inside)} known builds of torch {spec}: {'; '.join(parts)}",
        REQUIREMENT_RULES[0].use_instead,
        # The builds are part of the fingerprint: a baseline that accepts a failure on 2.4 does not accept one on 2.5.
        (module_key(artifact.path, artifact.member), *builds),
        tuple(sorted({name for release in failing for name in release.missing})),
    )


def _finding(
    rule: str, message: str, fix: str, key: Iterable[str], names: tuple[str, ...] = (), *, symbol: str | None = None
) -> Finding:
    """A finding of the gate.

    Args:
        key: what identifies it besides the rule.
    """
    return Finding(rule, Severity.ERROR, Confidence.HIGH, symbol, message, fix, fingerprint(rule, *key), names)


def require_stable_abi(artifact: ArtifactReport, version: str | None) -> Finding | str | None:
    """As `require_torch`."""
    if not _uses_torch(artifact) or artifact.provenance.abi == "none":
        return None
    if artifact.provenance.abi is None:
        return f"{artifact.display}: unknown whether it uses only torch's stable ABI"
    module = module_key(artifact.path, artifact.member)
    if artifact.provenance.abi != "stable":
        # A C shim has no mangled name, so of torch's names the mangled ones are the others.
        names = tuple(sorted(b.name for b in artifact.imports if b.owner is Owner.TORCH and is_cxx_name(b.name)))
        message = f"imports {len(names) or 'some'} C++ symbols of torch, which are not guaranteed between releases"
        only = names[0] if len(names) == 1 else None
        fix = REQUIREMENT_RULES[1].use_instead
        return _finding(REQUIRE_STABLE_ABI, message, fix, (module,), names, symbol=only)
    if version is None:
        return None
    releases = artifact.provenance.torch_releases
    if releases is None:
        return f"{artifact.display}: unknown which torch release its C shims need"
    wanted = parse_stable_abi(version)
    # `2.10` includes every 2.10.x.
    if any((versions.order(first) or ())[: len(wanted)] <= wanted for first, _last in releases):
        return None
    needs = f"needs torch {releases.first} or newer" if releases else "are exported together by no known release"
    message = f"uses only torch's C shims, but {needs}; {version} is required"
    fix = f"Define TORCH_TARGET_VERSION for {version} and avoid newer functions."
    return _finding(REQUIRE_STABLE_ABI, message, fix, (module, version))


def _uses_torch(artifact: ArtifactReport) -> bool:
    return artifact.kind is ArtifactKind.SHARED_OBJECT and artifact.verdict not in (
        ArtifactVerdict.NOT_TORCH,
        ArtifactVerdict.UNREADABLE,
    )


def with_requirements(
    artifact: ArtifactReport, torch: str | None, stable: bool, stable_version: str | None
) -> tuple[ArtifactReport, list[str]]:
    """Add the findings of both requirements; also returns notes on what could not be decided."""
    answers = [require_torch(artifact, torch)] if torch is not None else []
    answers += [require_stable_abi(artifact, stable_version)] if stable else []
    findings = [each for each in answers if isinstance(each, Finding)]
    undecided = [each for each in answers if isinstance(each, str)]
    return (replace(artifact, findings=(*artifact.findings, *findings)) if findings else artifact), undecided


def with_verdict(artifact: ArtifactReport) -> ArtifactReport:
    """Add the finding that a file does not load, which no rule reports as an error."""
    cause = artifact.causes[0] if artifact.causes else None
    reasons = (artifact.loader.error, *artifact.failure_reasons, *artifact.notes, "it does not load")
    why = cause.summary if cause is not None else next(filter(None, reasons))
    fix = (cause.fix if cause is not None else "") or VERDICT_RULE.use_instead
    finding = _finding(DOES_NOT_LOAD, why, fix, (module_key(artifact.path, artifact.member),))
    return replace(artifact, findings=(*artifact.findings, finding))
