"""`abiscan explain` as text: cause, fix and evidence of each subject, then its name and other causes."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.model.cause import Cause, Confidence
from abiscan.model.imports import DemangledBy
from abiscan.model.subject import Subject, SubjectKind
from abiscan.model.words import counted
from abiscan.report.style import Style, fix_lines, new_fix_lines, wrap
from abiscan.report.wording import ranges_words

# Sentences of evidence, other causes, and lines of the fix of the first of these, without -v.
_EVIDENCE, _OTHERS, _OTHER_FIX = 2, 2, 2


def render(subjects: Sequence[Subject], style: Style | None = None) -> str:
    """The answers as text; empty if there are none."""
    style = style or Style()
    blocks = ["\n".join(_block(subject, style)) for subject in subjects]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _word(subject: Subject) -> str:
    # torch.compile reports Python functions, and operators of torch as NAMESPACE::NAME.
    if subject.kind is SubjectKind.DYNAMO and "::" in subject.text:
        return "operator"
    return subject.kind.value


def _block(subject: Subject, style: Style) -> list[str]:
    """The main cause with fix and evidence, then the subject, then other causes."""
    printed: set[str] = set()
    lines = _leading_cause(subject, style, printed) + _about(subject, style)
    others = subject.causes[1:] if style.verbose else subject.causes[1 : 1 + _OTHERS]
    for position, cause in enumerate(others):
        if not printed.issuperset((*cause.evidence, cause.fix)):
            lines += _other_cause(cause, style, printed)
            if position == 0 and not style.verbose and subject.causes[0].confidence is not Confidence.HIGH:
                lines += _first_steps(cause.fix, subject.causes[0].fix, style)
    facts = {fact for cause in subject.causes[: 1 + len(others)] for fact in cause.evidence} - printed
    hidden = {"more fact": len(facts), "less likely cause": len(subject.causes) - 1 - len(others)}
    if any(number > 0 for number in hidden.values()):
        words = ", ".join(counted(number, what) for what, number in hidden.items() if number > 0)
        lines.append(style.dim(f"  {words} (-v)"))
    for note in subject.notes:
        lines += wrap(note, style, "  note: ", "    ")
    return lines


def _sentence(cause: Cause, printed: set[str]) -> str:
    """The first evidence of a cause that was not printed yet, with the id of the cause."""
    text = next((fact for fact in cause.evidence if fact not in printed), None)
    if text is None:
        return f"{cause.cause.value} ({cause.confidence.value} confidence)"
    printed.add(text)
    return f"{text} {_label(cause)}"


def _label(cause: Cause) -> str:
    return f"[{cause.cause.value}, {cause.confidence.value} confidence]"


def _leading_cause(subject: Subject, style: Style, printed: set[str]) -> list[str]:
    if not subject.causes:
        return [style.strong("cause: ") + ("not a known name" if subject.near else "unknown")]
    cause = subject.causes[0]
    text = f"{subject.title} {_label(cause)}" if subject.title else _sentence(cause, printed)
    lines = wrap(text, style, style.strong("cause: " if _is_certain(subject) else "possible cause: "), "  ")
    lines += new_fix_lines(cause.fix, style, printed)
    return lines + _because(cause, style, printed)


def _is_named(subject: Subject) -> bool:
    """Whether the first sentence names a Python object, or a word of a person, with no other name and no release; or
    the text in place of a Python object is no name."""
    first = subject.causes[0].evidence[0] if subject.causes and not subject.title else ""
    is_python = subject.kind in (SubjectKind.PYTHON_NAME, SubjectKind.DYNAMO)
    is_word = subject.kind is SubjectKind.SYMBOL and subject.mangled is None and subject.message is not None
    if is_python and (" " in subject.text or not subject.text.isascii()):
        return True
    return (is_python or (is_word and subject.demangled is None)) and subject.text in first


def _is_certain(subject: Subject) -> bool:
    """Whether an error states the cause, and not with low confidence; for a symbol, whether the target is known not to
    export it."""
    if subject.kind is SubjectKind.SYMBOL:
        return subject.causes[0].confidence is Confidence.HIGH
    return subject.message is not None and subject.causes[0].confidence is not Confidence.LOW


def _other_cause(cause: Cause, style: Style, printed: set[str]) -> list[str]:
    lines = wrap(_sentence(cause, printed), style, "  possible cause: ", "    ")
    if style.verbose:
        lines += new_fix_lines(cause.fix, style, printed) + _because(cause, style, printed)
    return lines


def _first_steps(fix: str, leading: str, style: Style) -> list[str]:
    """The first lines of a fix, if the fix of the leading cause does not have them."""
    lines = fix.splitlines()
    end = _OTHER_FIX
    while end < len(lines) and lines[end - 1].endswith((":", "\\", "&&")):
        end += 1  # a step is not cut
    lines = lines[:end]
    return [] if set(lines) <= set(leading.splitlines()) else fix_lines("\n".join(lines), style, indent="    ")


def _because(cause: Cause, style: Style, printed: set[str]) -> list[str]:
    facts = [fact for fact in cause.evidence if fact not in printed]
    shown = facts if style.verbose else facts[:_EVIDENCE]
    printed.update(shown)
    return [line for fact in shown for line in wrap(fact, style, "  because: ", "    ")]


def _about(subject: Subject, style: Style) -> list[str]:
    """The subject: its name, the file that needs it, and the releases that export it."""
    name = subject.demangled or subject.mangled or subject.text
    lines = [] if _is_named(subject) else wrap(name, style, style.paint(f"  {_word(subject)}: ", "cyan"), "    ")
    if subject.mangled is not None and subject.mangled != name:
        llvm = " (demangled by LLVM, not by GNU)" if subject.demangled_by is DemangledBy.LLVM else ""
        lines += wrap(subject.mangled + llvm, style, "  mangled: ", "    ")
    for similar in subject.near:
        lines += wrap(similar, style, "  similar name: ", "    ")
    if subject.needed_by:
        lines += wrap(subject.needed_by, style, "  needed by: ", "    ")
    if subject.location is not None and subject.location.file is not None:
        line = f":{subject.location.line}" if subject.location.line is not None else ""
        lines += wrap(f"{subject.location.file}{line}", style, "  at: ", "    ")
    if subject.exported_in is not None:
        where = f"torch {ranges_words(subject.exported_in)}" if subject.exported_in else "no known torch release"
        lines += wrap(where, style, "  exported by: ", "    ")
    for entry in subject.history if style.verbose else ():
        lines += wrap(entry, style, "  history: ", "    ")
    return lines
