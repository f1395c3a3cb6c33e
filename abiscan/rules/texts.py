"""The values of the template fields in a rule's message and fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abiscan.model.facts import FileFormat
from abiscan.model.imports import CheckedImport, Status
from abiscan.model.versions import ReleaseRanges, is_release
from abiscan.rules.element_types import element_type, exported_type, type_code, written_type
from abiscan.rules.rule import Rewrite, Rule
from abiscan.rules.rule_subject import RuleSubject

if TYPE_CHECKING:
    from abiscan.mangling import CxxName


def ranges_text(ranges: ReleaseRanges | None, span: tuple[str, str] | None) -> str:
    """Release ranges, to follow "exported by"."""
    if ranges is None:
        return "unknown torch releases"
    if not ranges:
        return f"no torch release from {span[0]} to {span[1]}" if span is not None else "no known torch release"
    if span is not None and ranges == (span,):
        return f"every torch release from {span[0]} to {span[1]}"
    return f"torch {ranges.text()}"


def covers(ranges: ReleaseRanges, torch: str) -> bool:
    """Whether the ranges contain a public version; False for a pre-release such as `2.6.0a0`."""
    return is_release(torch) and bool(ranges.contains(torch))


def target_text(subject: RuleSubject) -> str:
    """The target torch, for messages."""
    return "the target torch" if subject.target is None else f"torch {subject.target.label}"


def status_text(imported: CheckedImport, subject: RuleSubject) -> str:
    """Whether an import was resolved, as a clause."""
    if imported.status is Status.RESOLVED:
        return f"resolved by {imported.provider}" if imported.provider else "resolved"
    if imported.status is Status.WEAK:
        return "weak, so it may stay unresolved"
    if imported.status is Status.UNREACHABLE:
        return _out_of_scope(imported, subject)[0]
    if imported.status is Status.UNDECIDED:
        known = subject.target is not None
        return f"not checked: {'a needed library was not found' if known else 'no exports of its torch are known'}"
    return f"{target_text(subject)} does not export it"


def _out_of_scope(imported: CheckedImport, subject: RuleSubject) -> tuple[str, str]:
    """Why the library that exports an unreachable import does not resolve it, and the fix."""
    provider, library = imported.provider or "a library", imported.symbol.library
    if library is not None:
        why = f"exported by {provider}, but the file imports it from {library.rpartition('/')[2]}"
        return why, f"Rebuild the extension against {target_text(subject)}"
    if provider in [needed.rpartition("/")[2] for needed in subject.facts.needed]:
        why = f"exported by another copy of {provider} than the one that is loaded"
        return why, f"Remove the copy of {provider} that the loader finds first"
    why = f"exported by {provider}, which is not a needed library of the file"
    return why, f"Link the extension with {provider}"


def readable(name: CxxName | None, imported: CheckedImport) -> str:
    """A short name of an import: the qualified name, or the symbol."""
    return "::".join((*name.scope, name.base)) if name is not None else imported.demangled or imported.name


def rewrite_texts(
    rule: Rule, fields: dict[str, str], code: str | None = None, subject: RuleSubject | None = None
) -> str:
    """The replacements, each with the releases that export it: "`data_ptr<float>()` (exported by ...)"."""
    looked_up = [
        (rewrite, None if subject is None else releases_of_rewrite(rewrite, fields, code, subject))
        for rewrite in rule.rewrites
    ]
    target = None if subject is None or subject.target is None else subject.target.version
    # Do not suggest a rewrite that the target does not export, unless it exports none.
    fitting = [each for each in looked_up if target is None or each[1] is None or covers(each[1], target)]
    shown = []
    for rewrite, ranges in fitting or looked_up:
        span = None if subject is None else subject.span
        exported = "" if ranges is None else f" (exported by {ranges_text(ranges, span)})"
        shown.append(f"`{rewrite.write.format_map(fields)}`{exported}")
    return " or ".join(shown)


def releases_of_rewrite(
    rewrite: Rewrite, fields: dict[str, str], code: str | None, subject: RuleSubject
) -> ReleaseRanges | None:
    """The releases that export the symbol of the rewritten call; None if it imports several."""
    symbols = rewrite_symbols(rewrite, fields, code, subject.facts.format)
    if symbols is None or len(symbols) != 1:
        return None
    return subject.exported_in(symbols[0])


def rewrite_symbols(
    rewrite: Rewrite, fields: dict[str, str], code: str | None, file_format: FileFormat
) -> tuple[str, ...] | None:
    """The mangled names that the rewritten call imports; None if the type has no simple mangling."""
    symbols = rewrite.windows_symbols if file_format is FileFormat.PE else rewrite.symbols
    if code is None and any("{type_code}" in symbol for symbol in symbols):
        return None
    filled = {**fields, "type_code": code or ""}
    return tuple(symbol.format_map(filled) for symbol in symbols)


def rewrite_fields(element: str | None, file_format: FileFormat) -> tuple[dict[str, str], str | None]:
    """The field `type` of a rewrite, and the mangling of the type."""
    if element is None:
        return {"type": "T"}, None
    exported = exported_type(element, file_format)
    return {"type": written_type(exported, file_format)}, type_code(exported, file_format)


def symbol_fields(rule: Rule, imported: CheckedImport, name: CxxName | None, subject: RuleSubject) -> dict[str, str]:
    """Every field of `validate.SYMBOL_FIELDS`."""
    element = element_type(name)
    file_format = subject.facts.format
    code = None if element is None else type_code(element, file_format)
    target = target_text(subject)
    fields = {
        "symbol": imported.name,
        "name": imported.demangled or imported.name,
        "qualified": readable(name, imported),
        "base": name.base if name is not None else imported.name,
        "type": written_type(element, file_format) if element is not None else "T",
        "type_code": code or "",
        "status": status_text(imported, subject),
        "scope_fix": _out_of_scope(imported, subject)[1],
        "target": target,
        "provider": imported.provider or "no library in scope",
        "module": subject.module,
        "count": "1",
    }
    ranges = subject.exported_in(imported.name)
    written, rewritten_code = rewrite_fields(element, file_format)
    fields["exported_in"] = fields["exports"] = ranges_text(ranges, subject.span)
    if ranges or ranges is None or imported.status is not Status.MISSING:
        fields["exports"] += f"; {fields['status']}"
    fields["rewrites"] = rewrite_texts(rule, fields | written, rewritten_code, subject)
    return fields
