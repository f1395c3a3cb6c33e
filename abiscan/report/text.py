"""The report for a person at a terminal: the verdict, the first thing to fix, then the rest.

A file that loads takes up to five lines, one that does not about thirty; `verbose` lifts both. The text is made for
reading and may change; scripts read the JSON report.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from msgspec import Struct

from abiscan.model.binding import (
    BoundImport,
    LoaderOutcome,
    Owner,
    Status,
)
from abiscan.model.cause import CauseGroup
from abiscan.model.finding import Finding, Severity
from abiscan.model.report import (
    ArtifactKind,
    ArtifactReport,
    ArtifactVerdict,
    Container,
    Report,
    Verdict,
)
from abiscan.model.target import Target, TargetKind
from abiscan.model.versions import Windows
from abiscan.report.escape import printable

# How many lines each part of a bad file's block may take before `-v` is named.
_CAUSES, _SYMBOLS_FIRST, _SYMBOLS_OTHER, _FINDINGS, _EVIDENCE = 3, 4, 2, 3, 2
# Bad files of one run or wheel that are all told in full.
_IN_FULL = 3
# Characters of a loader's message that are printed in any case.
_LONG = 400
# A run over more files than this gives a line to each good one, and a block only to bad ones.
_BRIEF_FROM = 2


class Style(Struct, frozen=True):
    """How to write: width in columns (None: never wrap, for a pipe), colours, all of it."""

    width: int | None = 80
    color: bool = False
    verbose: bool = False
    quiet: bool = False

    def paint(self, text: str, code: str) -> str:
        """`text` in an ANSI style, where colours are wanted."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def strong(self, text: str) -> str:
        return self.paint(text, "1")

    def dim(self, text: str) -> str:
        return self.paint(text, "2")


_WORDS = {
    ArtifactVerdict.LOADS: ("loads", "32;1"),
    ArtifactVerdict.FAILS: ("FAILS", "31;1"),
    ArtifactVerdict.UNDECIDED: ("undecided", "33;1"),
    ArtifactVerdict.UNREADABLE: ("unreadable", "31;1"),
    ArtifactVerdict.NOT_TORCH: ("not torch", "36"),
}
_SEVERITY_COLOR = {Severity.ERROR: "31;1", Severity.WARNING: "33;1", Severity.NOTE: "36"}


def render(report: Report, style: Style | None = None) -> str:
    """The whole report as text, ending in a newline."""
    style = style or Style()
    lines: list[str] = []
    brief = len(report.artifacts) >= _BRIEF_FROM and not style.verbose
    inside = {display: container for container in report.containers for display in container.artifacts}
    loose = [artifact for artifact in report.artifacts if artifact.display not in inside]
    lines += _artifact_lines(loose, report.target, style, brief=brief)
    for container in report.containers:
        members = [artifact for artifact in report.artifacts if inside.get(artifact.display) is container]
        shown = _artifact_lines(members, report.target, style, brief=brief)
        if shown and lines:
            lines.append("")
        if shown and len(members) > 1:
            lines += wrap(_container_line(container, members), style, "", "  ")
        lines += shown
    for error in report.errors:
        lines += wrap(
            f"{printable(error.path)}: {printable(error.message)}", style, style.paint("unreadable ", "31;1"), "  "
        )
    lines += _run_notes(report, style)
    return "\n".join(lines) + "\n" if lines else ""


def _artifact_lines(
    artifacts: Sequence[ArtifactReport], target: Target | None, style: Style, *, brief: bool
) -> list[str]:
    """What is in order first, so that what is not stands last, where a terminal ends."""
    lines: list[str] = []
    bad = [artifact for artifact in artifacts if _is_bad(artifact)]
    for artifact in artifacts:
        if artifact in bad:
            continue
        if brief or (_is_accepted(artifact) and not style.verbose):
            if not style.quiet:
                lines.append(_one_line(artifact, style))
        else:
            lines += _block(artifact, target, style)
    for number, artifact in enumerate(bad):
        if lines:
            lines.append("")
        # The files of one wheel mostly share their causes: one is told in full, the others in short.
        short = number > 0 and len(bad) > _IN_FULL and not style.verbose
        lines += (_short_block if short else _block)(artifact, target, style)
    return lines


def _short_block(artifact: ArtifactReport, target: Target | None, style: Style) -> list[str]:
    """The verdict, the loader's word, the leading cause and the releases: a line each."""
    word, code = _WORDS[artifact.verdict] if artifact.kind is ArtifactKind.SHARED_OBJECT else ("source", "36")
    lines = wrap(_headline(artifact, target), style, style.paint(word, code) + " ", "  ")
    lines += _loader_lines(artifact, style)
    for group in artifact.causes[:1]:
        more = f"; {_count(len(artifact.causes) - 1, 'further cause')}" if len(artifact.causes) > 1 else ""
        lines += wrap(f"{group.summary} [{group.cause}]{more}", style, "  " + style.strong("why: "), "    ")
    if not artifact.causes:
        lines += _finding_lines(artifact, style)
    releases = _matrix_line(artifact)
    if releases:
        lines += wrap(releases, style, "  releases: ", "    ")
    return lines


def _container_line(container: Container, members: Sequence[ArtifactReport]) -> str:
    """`x-1.0-...whl: 2 of 7 shared objects fail (requires torch==2.4.0)`."""
    shared = [m for m in members if m.kind is ArtifactKind.SHARED_OBJECT]
    total = _count(len(shared), "shared object")
    number = {verdict: sum(m.verdict is verdict for m in shared) for verdict in ArtifactVerdict}
    if number[ArtifactVerdict.FAILS]:
        words = f"{number[ArtifactVerdict.FAILS]} of {total} fail{'s' if number[ArtifactVerdict.FAILS] == 1 else ''}"
        if number[ArtifactVerdict.UNDECIDED]:
            words += f", {number[ArtifactVerdict.UNDECIDED]} cannot be decided"
    elif number[ArtifactVerdict.UNDECIDED]:
        words = f"{number[ArtifactVerdict.UNDECIDED]} of {total} cannot be decided"
    elif number[ArtifactVerdict.LOADS]:
        words = f"{number[ArtifactVerdict.LOADS]} of {total} import torch, and load"
    else:
        words = f"none of {total} imports torch"
    asked = f" ({'; '.join(container.requires_torch)})" if container.requires_torch else ""
    return printable(f"{container.path}: {words}{asked}")


def summary_line(report: Report, style: Style | None = None) -> str:
    """One line for the end of a run: the gate's answer and the counts."""
    style = style or Style()
    counts: dict[str, int] = {}
    for artifact in report.artifacts:
        counts[_WORDS[artifact.verdict][0].lower()] = counts.get(_WORDS[artifact.verdict][0].lower(), 0) + 1
    files = len(report.artifacts)
    parts = [f"{count} {word}" for word, count in counts.items()]
    shown = [f for a in report.artifacts for f in a.findings if not f.suppressed]
    for severity in Severity:
        number = sum(f.severity is severity for f in shown)
        if number:
            parts.append(_count(number, severity.value))
    suppressed = sum(f.suppressed for a in report.artifacts for f in a.findings)
    if suppressed:
        parts.append(f"{suppressed} suppressed")
    if report.stale:
        parts.append(_count(len(report.stale), "stale entry", "stale entries"))
    if report.errors:
        parts.append(f"{_count(len(report.errors), 'input')} could not be read")
    word, code = {
        Verdict.PASS: ("pass", "32;1"),
        Verdict.FAIL: ("fail", "31;1"),
        Verdict.INCOMPLETE: ("incomplete", "33;1"),
    }[report.verdict]
    head = [] if files == 0 and parts else [_count(files, "file")]
    return ": ".join([style.paint(word, code), *head, *([", ".join(parts)] if parts else [])])


# --- one artifact -----------------------------------------------------------------------------------------------


def _is_accepted(artifact: ArtifactReport) -> bool:
    """Whether a baseline or ignores accept everything that is wrong with it."""
    errors = [f for f in artifact.findings if f.severity is Severity.ERROR]
    return bool(errors) and all(f.suppressed for f in errors)


def _is_bad(artifact: ArtifactReport) -> bool:
    if _is_accepted(artifact):
        return False
    return artifact.verdict in (
        ArtifactVerdict.FAILS,
        ArtifactVerdict.UNDECIDED,
        ArtifactVerdict.UNREADABLE,
    ) or any(f.severity is Severity.ERROR and not f.suppressed for f in artifact.findings)


def _one_line(artifact: ArtifactReport, style: Style) -> str:
    word, code = _WORDS[artifact.verdict] if artifact.kind is ArtifactKind.SHARED_OBJECT else ("source", "36")
    shown = [f for f in artifact.findings if not f.suppressed]
    extra = [
        _count(sum(f.severity is s for f in shown), s.value)
        for s in (Severity.ERROR, Severity.WARNING)
        if any(f.severity is s for f in shown)
    ]
    if artifact.loader.outcome is LoaderOutcome.FAILS:
        here = "loader" if artifact.verdict is ArtifactVerdict.FAILS else "not on this machine"
        extra.append(f"{here}: {_shorten_error(artifact.loader.error or '')}")
    accepted = sum(f.suppressed for f in artifact.findings)
    if accepted:
        extra.append(f"{_count(accepted, 'finding')} accepted")
    windows = _matrix_line(artifact).partition(";")[0]
    if windows:
        extra.insert(0, windows)
    tail = style.dim("  (" + "; ".join(extra) + ")") if extra else ""
    return f"{style.paint(f'{word:<9}', code)} {printable(artifact.display)}{tail}"


def _block(artifact: ArtifactReport, target: Target | None, style: Style) -> list[str]:
    word, code = _WORDS[artifact.verdict] if artifact.kind is ArtifactKind.SHARED_OBJECT else ("source", "36")
    lines = wrap(_headline(artifact, target), style, style.paint(word, code) + " ", "  ")
    if artifact.kind is ArtifactKind.SHARED_OBJECT:
        lines += _loader_lines(artifact, style)
    lines += _cause_lines(artifact, style)
    lines += _finding_lines(artifact, style)
    lines += _fact_lines(artifact, style)
    if style.verbose:
        lines += _needed_lines(artifact, style) + _import_lines(artifact, style) + _release_lines(artifact, style)
    return lines


def _headline(artifact: ArtifactReport, target: Target | None) -> str:
    name = printable(artifact.display)
    against = f" on {target_words(target)}" if target is not None else ""
    missing = _with_status(artifact, Status.MISSING, Status.UNREACHABLE)
    if artifact.kind is not ArtifactKind.SHARED_OBJECT:
        return name
    match artifact.verdict:
        case ArtifactVerdict.LOADS:
            return f"{name}: every torch and Python import binds{against}"
        case ArtifactVerdict.FAILS:
            if missing:
                return f"{name}: {_count(len(missing), 'import')} of {len(artifact.imports)} cannot be bound{against}"
            return f"{name}: does not load{against}"
        case ArtifactVerdict.UNDECIDED:
            number = len(_with_status(artifact, Status.UNDECIDED))
            return f"{name}: cannot be decided{against}: {_count(number, 'import')} undecided"
        case ArtifactVerdict.NOT_TORCH:
            return f"{name}: imports nothing of torch"
        case _:
            return f"{name}: could not be read"


def target_words(target: Target) -> str:
    """`torch 2.13.0 (cpu, installed)`."""
    kind = {TargetKind.INSTALLED: "installed", TargetKind.RELEASE: "released build", TargetKind.PATH: "by path"}[
        target.kind
    ]
    return f"torch {target.torch} ({target.variant}, {kind})"


def _loader_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    loader = artifact.loader
    if loader.outcome is LoaderOutcome.FAILS:
        # The message begins with the path that the headline has; the symbol behind it is what one searches for, whole.
        error = loader.error or ""
        own = error.partition(": ")
        if own[0].endswith(artifact.member or artifact.path):
            error = own[2]
        return wrap(printable(error), style, "  " + style.strong("loader says: "), "    ", chop=len(error) > _LONG)
    if loader.outcome is None and loader.undecided and artifact.verdict is not ArtifactVerdict.NOT_TORCH:
        return wrap(printable(loader.undecided), style, "  loader: ", "    ") if style.verbose else []
    return []


def _cause_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    lines: list[str] = []
    names = {b.name: b for b in artifact.imports}
    groups = artifact.causes if style.verbose else artifact.causes[:_CAUSES]
    for number, group in enumerate(groups):
        title = style.strong("why") if number == 0 else "also"
        lines += wrap(f"{group.summary} [{group.cause}, {group.confidence} confidence]", style, f"  {title}: ", "    ")
        evidence = group.evidence if style.verbose else group.evidence[: _EVIDENCE if number == 0 else 1]
        for sentence in evidence:
            lines += wrap(printable(sentence), style, "    - ", "      ")
        limit = len(group.symbols) if style.verbose else (_SYMBOLS_FIRST if number == 0 else _SYMBOLS_OTHER)
        if group.symbols:
            lines.append(f"    explains {_count(len(group.symbols), 'import')}:")
        for symbol in group.symbols[:limit]:
            lines += _symbol(names.get(symbol), symbol, style)
        if len(group.symbols) > limit:
            lines.append(style.dim(f"      ... and {len(group.symbols) - limit} more"))
        if group.fix:
            lines += _fix(group, style)
    if len(artifact.causes) > len(groups):
        lines.append(style.dim(f"  {_count(len(artifact.causes) - len(groups), 'further cause')}: -v shows all"))
    return lines


def _fix(group: CauseGroup, style: Style) -> list[str]:
    first, *rest = group.fix.split("\n")
    lines = wrap(printable(first), style, "  " + style.paint("fix: ", "32;1"), "    ")
    lines += [f"      {printable(line)}" for line in rest]
    return lines


def _symbol(bound: BoundImport | None, mangled: str, style: Style) -> list[str]:
    text = bound.demangled if bound is not None and bound.demangled else mangled
    return wrap(printable(text), style, "      ", "        ", chop=not style.verbose)


# Findings that say of each import what the causes say already, once, above.
_TOLD_BY_CAUSES = frozenset({"missing-import", "unreachable-import", "missing-library"})


def _finding_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    shown = [f for f in artifact.findings if not f.suppressed]
    explained = {s for group in artifact.causes for s in group.symbols}
    if not style.verbose:
        shown = [
            f
            for f in shown
            if f.severity is not Severity.NOTE
            and not (f.rule in _TOLD_BY_CAUSES and artifact.causes and explained.issuperset(_symbols_of(f)))
        ]
    order = list(Severity)
    shown.sort(key=lambda f: order.index(f.severity))
    by_rule: dict[str, list[Finding]] = {}
    for finding in shown:
        by_rule.setdefault(finding.rule, []).append(finding)
    lines: list[str] = []
    rules = list(by_rule)
    for rule in rules if style.verbose else rules[:_FINDINGS]:
        lines += _rule_lines(by_rule[rule], style)
    if not style.verbose and len(rules) > _FINDINGS:
        lines.append(style.dim(f"  findings of {len(rules) - _FINDINGS} more rules: -v shows all"))
    hidden = sum(f.severity is Severity.NOTE and not f.suppressed for f in artifact.findings)
    if hidden and not style.verbose and len(lines) == 0 and not artifact.causes:
        lines.append(style.dim(f"  {_count(hidden, 'note')}: -v shows {'it' if hidden == 1 else 'them'}"))
    return lines


def _symbols_of(finding: Finding) -> tuple[str, ...]:
    return finding.symbols or ((finding.symbol,) if finding.symbol else ())


def _rule_lines(findings: Sequence[Finding], style: Style) -> list[str]:
    first = findings[0]
    label = f"  {style.paint(first.severity.value, _SEVERITY_COLOR[first.severity])}[{first.rule}]: "
    lines: list[str] = []
    for finding in findings if style.verbose else findings[:1]:
        lines += wrap(printable(finding.message), style, label, "    ")
        for location in finding.locations if style.verbose else finding.locations[:2]:
            where = location.function or ""
            if location.file is not None:
                where = f"{location.file}:{location.line}" + (f" in {where}" if where else "")
            elif location.offset is not None:
                where = f"{where} (file offset {location.offset:#x})" if where else f"file offset {location.offset:#x}"
            if where:
                lines += wrap(printable(where), style, "    at ", "      ", chop=not style.verbose)
        if finding.fix and finding is findings[-1 if style.verbose else 0]:
            lines += wrap(printable(finding.fix.split("\n")[0]), style, "    " + style.paint("fix: ", "32"), "      ")
            lines += [f"        {printable(line)}" for line in finding.fix.split("\n")[1:]]
    if not style.verbose and len(findings) > 1:
        lines.append(style.dim(f"    ... and {len(findings) - 1} more of this rule"))
    return lines


def _fact_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    lines: list[str] = []
    matrix = _matrix_line(artifact)
    if matrix:
        lines += wrap(matrix, style, "  releases: ", "    ")
    for what_if in artifact.what_if:
        lines += wrap(
            f"with {_count(len(what_if.symbols), 'call')} of {what_if.rule} rewritten: {windows_words(what_if.windows)}"
            f" ({what_if.assumes})",
            style,
            "  what if: ",
            "    ",
        )
    if artifact.imports and artifact.verdict is not ArtifactVerdict.NOT_TORCH:
        lines += wrap(_import_counts(artifact), style, "  imports: ", "    ")
    built = _provenance_words(artifact)
    if built:
        lines += wrap(built, style, "  built: ", "    ")
    notes = artifact.notes if style.verbose else artifact.notes[:2]
    for note in notes:
        lines += wrap(printable(note), style, "  note: ", "    ")
    if len(artifact.notes) > len(notes):
        lines.append(style.dim(f"  {_count(len(artifact.notes) - len(notes), 'more note')}: -v"))
    return lines


def _import_counts(artifact: ArtifactReport) -> str:
    owners = {Owner.TORCH: "torch", Owner.PYTHON: "Python"}
    counts: dict[str, int] = {"torch": 0, "Python": 0, "other": 0}
    for bound in artifact.imports:
        counts[owners.get(bound.owner, "other")] += 1
    parts = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    states = [
        f"{len(found)} {status.value}"
        for status in (Status.MISSING, Status.UNREACHABLE, Status.UNDECIDED, Status.WEAK)
        if (found := _with_status(artifact, status))
    ]
    return f"{len(artifact.imports)} ({parts})" + (f"; {', '.join(states)}" if states else "")


def _provenance_words(artifact: ArtifactReport) -> str:
    p = artifact.provenance
    parts = []
    if p.built_for:
        parts.append(f"for torch {p.built_for}" + (f" ({p.built_for_basis})" if p.built_for_basis else ""))
    elif p.torch_window:
        parts.append(f"for torch {windows_words(p.torch_window)}")
    if p.cxx11_abi is not None:
        parts.append("new std::string" if p.cxx11_abi else "old std::string (pre-cxx11)")
    if p.abi == "stable":
        parts.append("stable ABI")
    if p.python_abi not in (None, "any"):
        parts.append(f"{p.python_abi}")
    if p.cuda:
        parts.append(f"CUDA {p.cuda}")
    if p.gpu_archs:
        parts.append(" ".join(p.gpu_archs))
    parts += [printable(c) for c in p.compilers[:2]]
    return ", ".join(parts)


def windows_words(windows: Windows) -> str:
    """`2.1.0 - 2.2.2, 2.12.0 - 2.15.0`; `no release` for none."""
    return windows.text(last=", ") or "no release"


def _matrix_line(artifact: ArtifactReport) -> str:
    """The releases as ranges: where it loads, then every other run of releases with its reason."""
    if artifact.releases is None:
        return ""
    answers: dict[str, str | None] = {}
    for release in artifact.releases:
        if release.loads:
            answers[release.torch] = None
        else:
            answers.setdefault(release.torch, release.reason or "fails")
    runs: list[tuple[str | None, str, str]] = []
    for torch, reason in answers.items():
        if runs and runs[-1][0] == reason:
            runs[-1] = (reason, runs[-1][1], torch)
        else:
            runs.append((reason, torch, torch))
    loads = windows_words(Windows((first, last) for reason, first, last in runs if reason is None))
    others = [f"{Windows([(first, last)]).text()} {reason}" for reason, first, last in runs if reason is not None]
    return f"loads on {loads}" + (f"; not on {', '.join(others)}" if others else "")


def _needed_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    if not artifact.needed:
        return []
    lines = ["  needed libraries:"]
    for library in artifact.needed:
        found = printable(library.found) if library.found is not None else style.paint("not found", "31")
        lines.append(f"    {printable(library.soname)} -> {found}")
    return lines


def _import_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    lines: list[str] = []
    for status in Status:
        found = _with_status(artifact, status)
        if not found:
            continue
        lines.append(f"  {status.value} imports ({len(found)}):")
        for bound in sorted(found, key=lambda b: (b.owner.value, b.demangled or b.name)):
            provider = f"  <- {printable(bound.provider)}" if bound.provider else ""
            window = f"  [{windows_words(bound.windows)}]" if bound.windows is not None else ""
            lines.append(f"    {printable(bound.demangled or bound.name)}{style.dim(provider + window)}")
            if bound.demangled is not None:
                lines.append(style.dim(f"      {printable(bound.name)} ({bound.demangled_by})"))
    return lines


def _release_lines(artifact: ArtifactReport, style: Style) -> list[str]:
    if not artifact.releases:
        return []
    lines = ["  releases:"]
    for release in artifact.releases:
        word = style.paint("loads", "32") if release.loads else style.paint("fails", "31")
        tail = "" if release.loads else f"  {len(release.missing)} missing: {release.reason}"
        if release.drift:
            tail += f"  drift: {', '.join(printable(d) for d in release.drift)}"
        lines.append(f"    {word}  {release.build:<28}{tail}")
    return lines


def _run_notes(report: Report, style: Style) -> list[str]:
    lines: list[str] = []
    notes = [n for n in (report.target.note if report.target else None, *report.notes) if n]
    for note in notes:
        lines += wrap(printable(note), style, "note: ", "  ")
    for entry in report.stale:
        lines += wrap(printable(f"{entry.entry} ({entry.source})"), style, style.paint("stale: ", "33;1"), "  ")
    return lines


# --- small things -----------------------------------------------------------------------------------------------


def _with_status(artifact: ArtifactReport, *statuses: Status) -> list[BoundImport]:
    return [b for b in artifact.imports if b.status in statuses]


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def _shorten_error(error: str) -> str:
    """The loader's message without the path of the file that the line names already."""
    return printable(error.split(": ", 1)[-1] if error.startswith("/") else error)


def wrap(text: str, style: Style, first: str, rest: str, *, chop: bool = False) -> list[str]:
    """Lines of `text` behind `first`, continued behind `rest`. Continuation never breaks a word that fits on a line.

    With `chop`, a text longer than two lines ends in "...": mangled names run to thousands of characters.
    """
    bare = _visible_length(first)
    if style.width is None:
        limit = 400
        return [first + (text if not chop or len(text) <= limit else text[: limit - 3] + "...")]
    wrapper = textwrap.TextWrapper(
        width=max(style.width, 40),
        initial_indent=" " * bare,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=True,
        max_lines=2 if chop else None,
        placeholder=" ...",
    )
    lines = wrapper.wrap(text) or [" " * bare]
    return [first + lines[0][bare:], *lines[1:]]


def _visible_length(text: str) -> int:
    length, inside = 0, False
    for character in text:
        if character == "\x1b":
            inside = True
        elif inside:
            inside = character != "m"
        else:
            length += 1
    return length
