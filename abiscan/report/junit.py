"""JUnit XML for CI servers (GitLab, Jenkins, Azure): one suite per file or container.

Each artifact is a test case `loads on torch X` (of macOS `symbols resolve on torch X`) or `does not use torch`, and
each rule with findings is another. A failure fails the gate; unreadable and undecided files are errors; accepted
findings are skipped, with the reason; a finding below the gate's severity passes and is in the output of the case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, zip_longest
from xml.sax.saxutils import escape, quoteattr

from abiscan.model.finding import DOES_NOT_LOAD, Finding
from abiscan.model.outcome import GateOutcome, outcome_of
from abiscan.model.platforms import loading_words
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report
from abiscan.report.escape import printable, printable_lines
from abiscan.report.order import sorted_artifacts, sorted_errors, sorted_findings
from abiscan.report.wording import fixes_once, place_words

_Case = tuple[str, str, str]  # state, name, XML


def render(report: Report) -> str:
    """The run as one XML document, ending in a newline."""
    suites = []
    for path, members in groupby(sorted_artifacts(report.artifacts), key=lambda a: a.path):
        suites.append((path, [case for artifact in members for case in _cases(report, artifact)]))
    errors: dict[str, list[_Case]] = {}
    for error in sorted_errors(report):
        body = _element("error", "unreadable", error.message, ())
        errors.setdefault(error.path.split("!", 1)[0], []).append(_case("error", error.path, "can be read", body))
    suites += list(errors.items())
    if report.stale:
        suites.append(("baseline and configuration", [_stale(e.source, e.entry, e.fails) for e in report.stale]))
    counts = [_counts(cases) for _, cases in suites]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    totals = [sum(column) for column in zip(*counts, strict=True)] or [0, 0, 0, 0]
    lines.append(f'<testsuites name="abiscan" {_attributes(totals, all_of=False)}>')
    for (path, cases), count in zip(suites, counts, strict=True):
        lines.append(f"  <testsuite name={_attribute(path)} {_attributes(count, all_of=True)}>")
        lines += [xml for _, _, xml in cases]
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _cases(report: Report, artifact: ArtifactReport) -> list[_Case]:
    target = artifact.checked_against(report.torch_build)
    words = loading_words([artifact.machine])
    name = f"{words.clause} on torch {target.version} ({target.variant})" if target else words.one
    if artifact.verdict is ArtifactVerdict.NOT_TORCH:
        name = "does not use torch"
    cases = [_loads(report, artifact, name)]
    by_rule: dict[str, list[Finding]] = {}
    for finding in sorted_findings(artifact.findings):
        if finding.rule == DOES_NOT_LOAD:
            continue  # the first case covers it
        by_rule.setdefault(finding.rule, []).append(finding)
    return cases + [_rule(report, artifact, rule, by_rule[rule]) for rule in sorted(by_rule)]


def _loads(report: Report, artifact: ArtifactReport, name: str) -> _Case:
    outcome = outcome_of(artifact, report.fail_on, report.accepted)
    match artifact.verdict:
        case ArtifactVerdict.UNREADABLE | ArtifactVerdict.UNDECIDED if outcome in (
            GateOutcome.ACCEPTED,
            GateOutcome.REPLACED,
        ):
            return _case("skipped", artifact.display, name, f'      <skipped message="{outcome}"/>')
        case ArtifactVerdict.UNREADABLE:
            return _case("error", artifact.display, name, _element("error", "unreadable", "could not be read", ()))
        case ArtifactVerdict.UNDECIDED:
            message = "; ".join(artifact.notes) or "cannot be decided with what is on this machine"
            return _case("error", artifact.display, name, _element("error", "undecided", message, ()))
        case ArtifactVerdict.FAILS:
            message = artifact.loader.error or (artifact.causes[0].summary if artifact.causes else "does not load")
            word = "ignored" if outcome is GateOutcome.IGNORED else "accepted"
            if outcome is not GateOutcome.FAILS or (report.fail_on is None and artifact.findings):
                body = f"      <skipped message={_attribute(f'{word}: {message}')}/>"
                return _case("skipped", artifact.display, name, body)
            lines = [
                line for group, fix in fixes_once(artifact.causes) for line in (group.summary, *group.evidence, fix)
            ]
            return _case("failure", artifact.display, name, _element("failure", "fails", message, lines))
        case _:
            return _case("passed", artifact.display, name, "")


def _rule(report: Report, artifact: ArtifactReport, rule: str, findings: list[Finding]) -> _Case:
    failing = [f for f in findings if report.failing(f)]
    if failing:
        first = failing[0].message if len(failing) == 1 else f"{len(failing)} findings: {failing[0].message}"
        lines = list(_lines(failing))
        return _case("failure", artifact.display, rule, _element("failure", rule, first, lines))
    if all(f.suppressed for f in findings):
        reason = findings[0].suppression or "accepted"
        return _case("skipped", artifact.display, rule, f"      <skipped message={_attribute(reason)}/>")
    text = "\n".join(_lines(findings))
    return _case("passed", artifact.display, rule, f"      <system-out>{_text(text)}</system-out>")


def _stale(source: str, entry: str, fails: bool) -> _Case:
    body = _element("failure", "stale", entry, ()) if fails else f"      <system-out>{_text(entry)}</system-out>"
    return _case("failure" if fails else "passed", source, f"still needed: {entry}", body)


def _lines(findings: Sequence[Finding]) -> Iterable[str]:
    """The findings of one rule; findings with the same fix in turn have it once, after the last."""
    for finding, following in zip_longest(findings, findings[1:]):
        yield f"{finding.severity.value}: {finding.message}"
        for location in finding.locations:
            where = place_words(location)
            if where:
                yield f"  {where}"
        if finding.fix and (following is None or following.fix != finding.fix):
            yield f"  fix: {finding.fix}"


def _case(state: str, where: str, name: str, body: str) -> _Case:
    head = f"    <testcase classname={_attribute(where)} name={_attribute(name)}"
    return state, name, f"{head}>\n{body}\n    </testcase>" if body else f"{head}/>"


def _element(tag: str, kind: str, message: str, lines: Iterable[str]) -> str:
    text = _text("\n".join(lines))
    return f"      <{tag} type={_attribute(kind)} message={_attribute(message)}>{text}</{tag}>"


def _counts(cases: list[_Case]) -> list[int]:
    states = [state for state, _, _ in cases]
    return [len(cases), states.count("failure"), states.count("error"), states.count("skipped")]


def _attributes(counts: list[int], *, all_of: bool) -> str:
    # Only suites have `skipped`, in the schema of most servers.
    names = ("tests", "failures", "errors", "skipped") if all_of else ("tests", "failures", "errors")
    return " ".join(f'{name}="{count}"' for name, count in zip(names, counts, strict=False))


def _attribute(value: str) -> str:
    """A quoted attribute. XML 1.0 allows no control characters, not even escaped, so `printable` replaces them."""
    return quoteattr(printable(value))


def _text(value: str) -> str:
    return escape(printable_lines(value))
