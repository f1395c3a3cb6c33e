"""Templates to sentences: the fields that a rule's message and fix may name, each filled from facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from abiscan.model.imports import CheckedImport, Status
from abiscan.model.versions import ReleaseRanges, is_release
from abiscan.rules.element_types import element_type, type_code, written_type
from abiscan.rules.rule import Rewrite, Rule
from abiscan.rules.rule_subject import RuleSubject

if TYPE_CHECKING:
    from abiscan.mangling import CxxName

_PLAIN = r"[A-Za-z0-9_$.@]+"
# Names shown in one sentence before "and N more".
SHOWN = 4


def ranges_text(windows: ReleaseRanges | None, span: tuple[str, str] | None = None) -> str:
    """Which releases, as the end of a sentence that says "exported by"."""
    if windows is None:
        return "releases that were not looked up"
    if not windows:
        return f"no torch release from {span[0]} to {span[1]}" if span is not None else "no known torch release"
    if span is not None and windows == (span,):
        return f"every torch release from {span[0]} to {span[1]}"
    return f"torch {windows.text()}"


def covers(windows: ReleaseRanges, torch: str) -> bool:
    """Whether a public version of a release lies in one of the windows; one that is no release (`2.6.0a0`) in none."""
    return is_release(torch) and bool(windows.contains(torch))


def target_text(subject: RuleSubject) -> str:
    """The torch that imports were bound against."""
    target = subject.target
    if target is None:
        return "the target torch"
    return f"torch {target.version}+{target.variant}" if target.variant else f"torch {target.version}"


def status_text(bound: CheckedImport, target: str) -> str:
    """What became of an import, as a clause."""
    if bound.status is Status.RESOLVED:
        return f"it binds to {bound.provider}" if bound.provider else "it binds"
    if bound.status is Status.WEAK:
        return "it is weak and may stay unbound"
    if bound.status is Status.UNREACHABLE:
        return f"{bound.provider or 'a library that this file does not need'} exports it, out of this file's scope"
    if bound.status is Status.UNDECIDED:
        return "nobody can say whether it binds, because a needed library was not found"
    return f"{target} does not export it"


def shortened(names: list[str]) -> str:
    """The first few of some names, and how many more."""
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def qualified(name: CxxName) -> str:
    """`scope::base`."""
    return "::".join((*name.scope, name.base))


def readable(name: CxxName | None, bound: CheckedImport) -> str:
    """An import in few words: the qualified name, or what the file has."""
    return qualified(name) if name is not None else bound.demangled or bound.symbol.name


def rewrite_texts(
    rule: Rule, fields: dict[str, str], code: str | None = None, subject: RuleSubject | None = None
) -> str:
    """What to write instead, each with the releases that export it: "`data_ptr<float>()` (exported by ...)"."""
    looked_up = [
        (rewrite, None if subject is None else releases_of_rewrite(rewrite, fields, code, subject))
        for rewrite in rule.rewrites
    ]
    target = None if subject is None or subject.target is None else subject.target.version
    # What the target does not export is no way out on it, unless nothing is.
    fitting = [each for each in looked_up if target is None or each[1] is None or covers(each[1], target)]
    shown = []
    for rewrite, windows in fitting or looked_up:
        span = None if subject is None else subject.span
        exported = "" if windows is None else f" (exported by {ranges_text(windows, span)})"
        shown.append(f"`{rewrite.write.format_map(fields)}`{exported}")
    return " or ".join(shown)


def releases_of_rewrite(
    rewrite: Rewrite, fields: dict[str, str], code: str | None, subject: RuleSubject
) -> ReleaseRanges | None:
    """The releases that export what the rewritten call imports, for a rewrite that imports one name."""
    symbols = rewrite_symbols(rewrite, fields, code)
    if symbols is None or len(symbols) != 1:
        return None
    return subject.windows(symbols[0])


def rewrite_symbols(rewrite: Rewrite, fields: dict[str, str], code: str | None) -> tuple[str, ...] | None:
    """The mangled names that the rewritten call imports; None where the type has no simple mangling."""
    if code is None and any("{type_code}" in symbol for symbol in rewrite.symbols):
        return None
    filled = {**fields, "type_code": code or ""}
    return tuple(symbol.format_map(filled) for symbol in rewrite.symbols)


def symbol_fields(rule: Rule, bound: CheckedImport, name: CxxName | None, subject: RuleSubject) -> dict[str, str]:
    """Every field of `validate.SYMBOL_FIELDS`."""
    element = element_type(name)
    code = None if element is None else type_code(element)
    target = target_text(subject)
    fields = {
        "symbol": bound.symbol.name,
        "name": bound.demangled or bound.symbol.name,
        "qualified": readable(name, bound),
        "base": name.base if name is not None else bound.symbol.name,
        "type": written_type(element) if element is not None else "T",
        "type_code": code or "",
        "status": status_text(bound, target),
        "target": target,
        "provider": bound.provider or "no library in scope",
        "module": subject.module,
        "count": "1",
    }
    fields["windows"] = ranges_text(known_ranges(bound, subject), subject.span)
    fields["rewrites"] = rewrite_texts(rule, fields, code, subject)
    return fields


def pasteable(fields: dict[str, str]) -> dict[str, str]:
    """The fields for a fix, whose commands are pasted: a hostile file can name its symbols as it likes."""
    return fields if re.fullmatch(_PLAIN, fields["symbol"]) else {**fields, "symbol": "SYMBOL"}


def known_ranges(bound: CheckedImport, subject: RuleSubject) -> ReleaseRanges | None:
    """The releases that export an import."""
    return subject.windows(bound.symbol.name)
