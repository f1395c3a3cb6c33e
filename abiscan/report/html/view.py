"""Converts the report to the values of the page: causes merged over files, one heat map row per
wheel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from abiscan.model.compat_report import CompatReport
from abiscan.model.compatibility import Aspect, compatible_releases, loading_releases
from abiscan.model.fingerprint import bare_name
from abiscan.model.history import RunSummary
from abiscan.model.outcome import GateOutcome
from abiscan.model.platforms import loading_words, system_of
from abiscan.model.report import WORST_FIRST, ArtifactReport, ArtifactVerdict, Report, Verdict
from abiscan.model.target import TorchBuild
from abiscan.model.words import counted
from abiscan.report.html.anchors import anchors_of
from abiscan.report.html.file_view import STRINGS, file_view, ranges_words
from abiscan.report.html.merged import failing_rules, merged_causes, noted_rules
from abiscan.report.html.release_rows import release_map
from abiscan.report.html.trends import trends_of
from abiscan.report.html.values import FileView, PageView, RuleView, WheelView
from abiscan.report.html.wheel_view import WheelUnit, refused_by, units_of, wheel_view
from abiscan.report.order import sorted_artifacts
from abiscan.report.summary import Summary, common_target, summary_of
from abiscan.report.wording import TARGET_KINDS, machines_of, verdict_words


def page_view(
    report: Report, artifacts: Sequence[ArtifactReport], together: CompatReport | None, history: Sequence[RunSummary]
) -> PageView:
    """The values of the page.

    Args:
        artifacts: of the report, in the order of `ordered`.
    """
    counts = summary_of(report)
    labels = _labels(artifacts)
    anchors = anchors_of("file", [artifact.display for artifact in artifacts])
    files = tuple(
        file_view(report, number, artifact, labels[number], anchors[number])
        for number, artifact in enumerate(artifacts)
    )
    units = units_of(report, artifacts, together)
    anchors = anchors_of("wheel", [unit.path(artifacts) for unit in units])
    wheels = tuple(
        wheel_view(number, report, unit, artifacts, files, anchor=anchors[number]) for number, unit in enumerate(units)
    )
    named = [wheel for wheel in wheels if wheel.title]
    target = common_target(artifacts, report.torch_build)
    failing, noted = failing_rules(report, artifacts), noted_rules(report, artifacts)
    return PageView(
        report=report,
        title=_title(report, files),
        word=verdict_words(report.verdict).capitalize(),
        headline=_headline(report, counts, wheels, target),
        together=_together(units, together, machines_of(artifacts)),
        target=f"torch {target.version}" if target is not None else None,
        target_facts=_target_facts(target),
        tallies=_tallies(report, counts, failing, noted),
        causes=tuple(merged_causes(artifacts, report.cause_pages)),
        heat=release_map(units, wheels, files, artifacts),
        apart=tuple(w.title for w in wheels if w.title and not any(artifacts[f.number].releases for f in w.files)),
        failing=tuple(failing),
        noted=tuple(noted),
        wheels=wheels,
        files=files,
        imports=sum(len(a.imports) for a in artifacts),
        trends=trends_of(history),
        notes=tuple(
            # The page has no -v: the panel of each file has its target environment.
            n.removesuffix(" (details: -v)")
            for n in report.all_notes
        ),
        wheel_of={file.number: wheel for wheel in named for file in wheel.files} if len(named) > 1 else {},
    )


def ordered(report: Report) -> list[ArtifactReport]:
    """The files in the order of their numbers on the page: worst first, then by path."""
    return sorted(sorted_artifacts(report.artifacts), key=lambda a: WORST_FIRST.index(a.verdict))


# --- head of the page -------------------------------------------------------------------------------------------


def _title(report: Report, files: tuple[FileView, ...]) -> str:
    containers = sorted({a.path for a in report.artifacts} | {c.path for c in report.containers})
    if len(containers) == 1:
        return containers[0].rsplit("/", 1)[-1]
    if len(report.containers) > 1:
        return counted(len(report.containers), "wheel") if _all_wheels(report) else f"{len(report.containers)} packages"
    return f"{len(files)} files" if files else "nothing to check"


def _all_wheels(report: Report) -> bool:
    return all(container.kind == "wheel" for container in report.containers)


def _headline(report: Report, counts: Summary, wheels: Sequence[WheelView], target: TorchBuild | None) -> str:
    whole, fails, standing = counts.artifacts, counts.verdicts[ArtifactVerdict.FAILS], counts.failing
    on = f" on torch {target.version} ({target.variant})" if target else ""
    if target is None and report.torch_build is not None:
        on = ", each on its target torch"
    many = [w for w in wheels if w.title]
    match report.verdict:
        case Verdict.FAIL:
            bad = [w for w in many if w.verdict == GateOutcome.FAILS.value]
            if len(many) > 1 and bad:
                noun = "wheels" if _all_wheels(report) else "packages"
                return f"{len(bad)} of {len(many)} {noun} {'fails' if len(bad) == 1 else 'fail'}{on}."
            if fails:
                rest = "does not load" if whole == 1 else f"of {counted(whole, 'file')} {_do(fails)} not load"
                return f"{'The file' if whole == 1 else fails} {rest}{on}."
            if standing:
                return f"{counted(standing, 'finding')} {'fails' if standing == 1 else 'fail'} the run{on}."
            return f"{counted(sum(e.fails for e in report.stale), 'baseline entry', 'baseline entries')} unused."
        case Verdict.INCOMPLETE:
            return f"Nothing failed, but not everything could be read or decided{on}."
        case _:
            loads = counts.verdicts[ArtifactVerdict.LOADS]
            words = loading_words(machines_of(report.artifacts))
            if fails:
                return f"{counted(fails, 'file')} {_do(fails)} not load{on}, and the policy accepts that."
            if not loads:
                return "Nothing here needs torch."
            if len(many) > 1:
                passing = sum(w.verdict == ArtifactVerdict.LOADS.value for w in many)
                apart = sum(w.verdict == ArtifactVerdict.NOT_TORCH.value for w in many)
                others = f"; {apart} {'imports' if apart == 1 else 'import'} nothing of torch" if apart else ""
                noun = "wheels" if _all_wheels(report) else "packages"
                return f"{passing} of {len(many)} {noun} {words.many}{on}{others}."
            if whole == 1:
                return f"The file {words.one}{on}."
            return f"{loads} of {whole} files {words.many}{on}."


def _do(number: int) -> str:
    return "does" if number == 1 else "do"


def _together(units: Sequence[WheelUnit], together: CompatReport | None, machines: Sequence[str]) -> str | None:
    """The releases that everything loads on, for one wheel or for several that one environment can contain."""
    checked = [u for u in units if u.target is not None and u.target.compatibility.torch]
    words = loading_words(machines)
    if together is None or not checked or len({*map(system_of, machines)}) > 1:
        # No environment contains files of two systems.
        return None
    if len(checked) == 1:
        (unit,) = checked
        builds = unit.target.compatibility.torch if unit.target is not None else None
        text = f"{words.clause.capitalize()} on torch {loading_releases(builds or ())}."
        refused = refused_by(unit)
        if refused and unit.container is not None:
            text += f" Its requirement on torch also admits {ranges_words(refused)}, where it fails."
        return text
    versions: dict[str | None, set[str | None]] = {}
    for unit in checked:
        if unit.container is not None and unit.container.name is not None:
            versions.setdefault(unit.container.name.lower().replace("_", "-"), set()).add(unit.container.version)
    if any(len(found) > 1 for found in versions.values()):
        # No environment contains two versions of one project.
        return None
    common = together.common.torch or ()
    if any(build.compatible for build in common):
        return f"Together they {words.many} on torch {compatible_releases(common)}."
    alone = {e.input for e in together.exclusions if e.aspect is Aspect.TORCH}
    names = [t.label for t in together.inputs if t.path in alone]
    tail = f" Without {' or '.join(names[:3])} there would be one." if names and len(names) <= 3 else ""
    return f"No known release of torch loads all of them together.{tail}"


def _target_facts(target: TorchBuild | None) -> tuple[tuple[str, str], ...]:
    if target is None:
        return ()
    facts = [
        ("variant", target.variant),
        ("chosen", TARGET_KINDS[target.kind]),
        ("std::string", STRINGS[target.cxx11_abi]),
        ("CUDA", target.cuda),
        ("HIP", target.hip),
        ("machine", target.machine),
        ("Python", target.python),
        ("path", target.path),
    ]
    return tuple((name, value) for name, value in facts if value)


# Outcome -> words for one and for several files.
_FILE_WORDS = {
    GateOutcome.FAILS: ("file fails", "files fail"),
    GateOutcome.NOT_TORCH: ("file without torch imports", "files without torch imports"),
}


def _tallies(
    report: Report, counts: Summary, failing: Sequence[RuleView], noted: Sequence[RuleView]
) -> tuple[tuple[str, str, int, str], ...]:
    """(class, words, number, id of the section that lists them, or empty) for each outcome."""
    loads = loading_words(machines_of(report.artifacts))
    of_files = {**_FILE_WORDS, GateOutcome.LOADS: (f"file {loads.one}", f"files {loads.many}")}
    found = []
    for outcome, number in counts.outcomes.items():
        words = of_files.get(outcome, (f"file {verdict_words(outcome)}", f"files {verdict_words(outcome)}"))
        found.append((outcome.value, words[number != 1], number, "wheels"))
    for severity, number in counts.findings.items():
        section = "findings" if severity.at_least(report.fail_on) and failing else "noted" if noted else ""
        found.append((severity.value, f"{severity.value} finding{'s' * (number != 1)}", number, section))
    found.append(("suppressed", f"accepted finding{'s' * (counts.accepted != 1)}", counts.accepted, ""))
    found.append(("suppressed", f"ignored finding{'s' * (counts.ignored != 1)}", counts.ignored, ""))
    found.append(("stale", "stale baseline entries", counts.stale, "stale"))
    found.append(("unreadable", "inputs not read", counts.errors, "errors"))
    return tuple(item for item in found if item[2])


def _labels(artifacts: Sequence[ArtifactReport]) -> list[str]:
    """Short names: without Python tags and hashes of bundled libraries, with enough folders to be unique."""
    paths = [(a.path if a.member is None else a.member).split("/") for a in artifacts]
    shorts = [[*path[:-1], bare_name(path[-1])] for path in paths]
    labels: list[str] = []
    depths = [1] * len(shorts)
    # After four folders, the whole path in the title is as good.
    for _ in range(4):
        labels = ["/".join(short[-depth:]) for short, depth in zip(shorts, depths, strict=True)]
        # Files of several wheels are listed below the name of their wheel.
        counts = Counter((a.path, label) for a, label in zip(artifacts, labels, strict=True))
        depths = [
            depth + (counts[a.path, label] > 1) for a, depth, label in zip(artifacts, depths, labels, strict=True)
        ]
    return labels
