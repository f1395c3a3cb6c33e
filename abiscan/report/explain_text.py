"""`abiscan explain` for a person: each subject, its cause in a sentence, evidence in two lines, the fix to paste."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.model.cause import Cause
from abiscan.model.imports import DemangledBy
from abiscan.model.subject import Subject, SubjectKind
from abiscan.report.escape import printable
from abiscan.report.style import Style, wrap
from abiscan.report.wording import ranges_words

# Causes and evidence shown without -v.
_CAUSES, _EVIDENCE = 2, 2


def render(subjects: Sequence[Subject], style: Style | None = None) -> str:
    """The answers as text; empty where there are none."""
    style = style or Style()
    blocks = ["\n".join(_block(subject, style)) for subject in subjects]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _word(subject: Subject) -> str:
    # What torch.compile does not trace is a function of Python; an operator of torch is written NAMESPACE::NAME.
    if subject.kind is SubjectKind.DYNAMO and "::" in subject.text:
        return "operator"
    return subject.kind.value


def _block(subject: Subject, style: Style) -> list[str]:
    title = subject.demangled or subject.mangled or subject.text
    lines = wrap(title, style, style.paint(f"{_word(subject)} ", "36"), "  ")
    if subject.mangled is not None and subject.mangled != title:
        by = {
            DemangledBy.GNU: "",
            DemangledBy.LLVM: " (only LLVM's demangler reads this name; c++filt and libstdc++ here do not)",
            DemangledBy.NONE: "",
        }[subject.demangled_by]
        lines += wrap(subject.mangled + by, style, "  mangled: ", "    ")
    if subject.needed_by:
        lines += wrap(subject.needed_by, style, "  needed by: ", "    ")
    if subject.location is not None and subject.location.file is not None:
        line = f":{subject.location.line}" if subject.location.line is not None else ""
        lines += wrap(f"{subject.location.file}{line}", style, "  at: ", "    ")
    if subject.exported_in is not None:
        what = f"torch {ranges_words(subject.exported_in)}" if subject.exported_in else "no torch release abiscan knows"
        lines += wrap(what, style, "  exported by: ", "    ")
    for name in subject.near:
        lines += wrap(name, style, "  mistyped? nearly: ", "    ")
    for entry in subject.history:
        lines += wrap(entry, style, "  history: ", "    ")
    causes = subject.causes if style.verbose else subject.causes[:_CAUSES]
    for number, cause in enumerate(causes):
        lines += _cause(cause, number, style)
    if len(subject.causes) > len(causes):
        lines.append(style.dim(f"  {len(subject.causes) - len(causes)} less likely: -v"))
    if not subject.causes and not subject.near:
        lines.append("  not known: nothing says why it would be missing")
    for note in subject.notes:
        lines += wrap(note, style, "  note: ", "    ")
    return lines


def _cause(cause: Cause, number: int, style: Style) -> list[str]:
    title = style.strong("why: ") if number == 0 else "or:  "
    sentence = cause.evidence[0] if cause.evidence else cause.cause.value
    lines = wrap(f"{sentence} [{cause.cause.value}, {cause.confidence.value} confidence]", style, f"  {title}", "    ")
    for fact in cause.evidence[1:] if style.verbose else cause.evidence[1 : _EVIDENCE + (number == 0)]:
        lines += wrap(fact, style, "    - ", "      ")
    if cause.fix:
        first, *rest = cause.fix.split("\n")
        lines += wrap(first, style, "  " + style.paint("fix: ", "32;1"), "    ")
        lines += [f"      {printable(line)}" for line in rest]
    return lines
