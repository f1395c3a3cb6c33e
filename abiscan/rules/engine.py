"""Matches rules with one file. Rules are data; all of them are tried on every file."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from abiscan.model.finding import Finding, Severity
from abiscan.model.imports import CheckedImport, DemangledBy, Owner, Status
from abiscan.model.limits import KEPT_NAMES
from abiscan.model.loading import NeededLibrary
from abiscan.model.versions import ReleaseRanges
from abiscan.model.words import counted, shortened
from abiscan.ownership.names import owner_of_library
from abiscan.ownership.torch_names import is_torch_library
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import ExportState, ImportPattern, LibraryPattern, Rule
from abiscan.rules.rule_subject import RuleSubject
from abiscan.rules.select import Imports
from abiscan.rules.texts import (
    covers,
    ranges_text,
    readable,
    symbol_fields,
    target_text,
)


def run(rules: Iterable[Rule], subject: RuleSubject) -> tuple[Finding, ...]:
    """Findings of the rules in one file, highest severity first, then by rule and symbol. Computed rules are in modules
    of their own."""
    imports = Imports(subject.imports)
    findings = [finding for rule in rules if not rule.computed for finding in _run_one(rule, imports, subject)]
    return tuple(sorted(findings, key=lambda each: (each.severity.rank, each.rule, each.symbol or "")))


def hits_of(rule: Rule, subject: RuleSubject) -> tuple[CheckedImport, ...]:
    """The imports that a rule matches, whatever their severity."""
    return tuple(imported for imported, _pattern in _hits(rule, Imports(subject.imports), subject))


def _run_one(rule: Rule, imports: Imports, subject: RuleSubject) -> Iterator[Finding]:
    if rule.libraries:
        yield from _libraries(rule, subject)
        return
    if _any_matches(rule.unless, imports, subject):
        return
    if rule.requires and not _any_matches(rule.requires, imports, subject):
        return
    hits = _hits(rule, imports, subject)
    if not hits:
        return
    if rule.per == "file":
        yield _file_finding(rule, hits, subject)
        return
    for imported, pattern in hits:
        yield _symbol_finding(rule, pattern, imported, subject)


def _any_matches(patterns: tuple[ImportPattern, ...], imports: Imports, subject: RuleSubject) -> bool:
    return any(_matches(pattern, imported, subject) for pattern in patterns for imported in imports.candidates(pattern))


def _hits(rule: Rule, imports: Imports, subject: RuleSubject) -> list[tuple[CheckedImport, ImportPattern]]:
    """Each import once, with the first pattern that matches it, in the order of the file."""
    hits: dict[int, tuple[CheckedImport, ImportPattern]] = {}
    for pattern in rule.imports:
        for imported in imports.candidates(pattern):
            if imported.symbol.index not in hits and _matches(pattern, imported, subject):
                hits[imported.symbol.index] = (imported, pattern)
    return [hits[index] for index in sorted(hits)]


# --- imports ----------------------------------------------------------------------------------------------------


def _matches(pattern: ImportPattern, imported: CheckedImport, subject: RuleSubject) -> bool:
    """Whether every field that is set matches. Cheap fields are checked first."""
    name = imported.name
    return (
        (not pattern.owner or imported.owner in pattern.owner)
        and (not pattern.status or imported.status in pattern.status)
        and (not pattern.demangled_by or imported.demangled_by in pattern.demangled_by)
        and (not pattern.name or name in pattern.name or name.startswith(pattern.name_starts or ("\0",)))
        and (not pattern.name_starts or name in pattern.name or name.startswith(pattern.name_starts))
        and (not pattern.file_ends or subject.facts.path.endswith(pattern.file_ends))
        and (pattern.cxx is None or pattern.cxx == _is_cxx(name))
        and (
            pattern.gnu_rejects is None
            or (
                subject.gnu_available
                and not name.startswith("?")
                and pattern.gnu_rejects == (imported.demangled_by is DemangledBy.LLVM)
            )
        )
        and (pattern.outside_limited_api is None or pattern.outside_limited_api == _outside_limited_api(name))
        and (not pattern.reads_name or _name_matches(pattern, name, subject))
        and (not pattern.provider_starts or _provided_by(pattern.provider_starts, imported, subject))
        and (not pattern.export_state or _export_state(imported, subject) in pattern.export_state)
    )


@functools.lru_cache(maxsize=KEPT_NAMES)
def _is_cxx(name: str) -> bool:
    if not name.startswith(("_Z", "?")):
        return False
    from abiscan.mangling import NameKind, classify

    return classify(name) in (NameKind.CXX, NameKind.MSVC)


def _outside_limited_api(name: str) -> bool:
    from abiscan.environment.python_names import stable_abi

    return name not in stable_abi()


def _name_matches(pattern: ImportPattern, mangled: str, subject: RuleSubject) -> bool:
    name = subject.parse(mangled)
    return (
        name is not None
        and (not pattern.base or name.base in pattern.base)
        and (not pattern.scope or name.scope == pattern.scope)
        and (not pattern.scope_argument or (name.scope_args or ("",))[0] in pattern.scope_argument)
        and (not pattern.scope_starts or name.scope[: len(pattern.scope_starts)] == pattern.scope_starts)
        and (pattern.declares_parameter is None or name.declares_parameters == pattern.declares_parameter)
    )


def _provided_by(starts: tuple[str, ...], imported: CheckedImport, subject: RuleSubject) -> bool:
    if imported.provider is not None:
        return imported.provider.startswith(starts)
    return any(library.startswith(starts) for library in subject.libraries(imported.name) or ())


def _export_state(imported: CheckedImport, subject: RuleSubject) -> ExportState | None:
    ranges = subject.exported_in(imported.name)
    if ranges is None or subject.span is None:
        return None
    if not ranges:
        return "never"
    return "open" if ranges.last == subject.span[1] else "closed"


def _severity(rule: Rule, pattern: ImportPattern, imported: CheckedImport, subject: RuleSubject) -> Severity:
    """The severity of a hit. If the release of the target exports the symbol but this build does not (a CPU or source
    build), the rule's base severity applies: rules about missing imports report the missing symbol."""
    if (
        imported.status.is_unresolved
        and rule.severity_when
        and subject.target is not None
        and covers(subject.exported_in(imported.name) or ReleaseRanges(), subject.target.version)
    ):
        return pattern.severity or rule.severity
    severity = rule.severity_for(imported.status, pattern)
    if severity is Severity.WARNING and rule.severity_when and not imported.status.is_unresolved and subject.declared:
        ranges = subject.exported_in(imported.name)
        # No release that breaks it is allowed by the requirements.
        if ranges is not None and all(covers(ranges, release) for release in subject.declared):
            return Severity.NOTE
    return severity


def _symbol_finding(rule: Rule, pattern: ImportPattern, imported: CheckedImport, subject: RuleSubject) -> Finding:
    name = subject.parse(imported.name)
    fields = symbol_fields(rule, imported, name, subject)
    found = make_finding(rule, fields, (subject.module, imported.name), pattern)
    fix = found.fix
    if pattern.also is not None and subject.target is not None:
        exported_in = subject.exported_in(pattern.also.symbol.format_map(fields)) or ReleaseRanges()
        if covers(exported_in, subject.target.version):
            from abiscan.mangling.compiler_flags import AS_GCC

            fix += pattern.also.fix.format(as_gcc=AS_GCC)
    severity = _severity(rule, pattern, imported, subject)
    return replace(found, severity=severity, symbol=imported.name, fix=fix)


def _file_finding(rule: Rule, hits: list[tuple[CheckedImport, ImportPattern]], subject: RuleSubject) -> Finding:
    severities = [_severity(rule, pattern, imported, subject) for imported, pattern in hits]
    gravest = min(range(len(hits)), key=lambda at: severities[at].rank)
    templates = rule.texts_for(hits[gravest][1])
    fields = {
        "target": target_text(subject),
        "module": subject.module,
        "count": counted(len(hits), "import"),
        "names": "",
        "exported_in": "",
    }
    if any("{names}" in template for template in templates):
        bound = subject.bound_functions() if rule.bound_functions else ()
        names = [f"`{each}`" for each in bound] or sorted(
            {readable(subject.parse(imported.name), imported) for imported, _pattern in hits}
        )
        fields["names"] = f"{'' if bound or not rule.bound_functions else 'imports '}{shortened(names)}"
    if any("{exported_in}" in template for template in templates):
        fields["exported_in"] = ranges_text(subject.exported_in(hits[gravest][0].name), subject.span)
    symbols = tuple(sorted(imported.name for imported, _pattern in hits))
    found = make_finding(rule, fields, (subject.module,), hits[gravest][1])
    only = symbols[0] if len(symbols) == 1 else None
    return replace(found, severity=severities[gravest], symbol=only, symbols=symbols)


# --- needed libraries ----------------------------------------------------------------------------------------------


def _libraries(rule: Rule, subject: RuleSubject) -> Iterator[Finding]:
    hits: list[tuple[NeededLibrary, LibraryPattern]] = []
    for library in subject.needed:
        if subject.target is None and is_torch_library(library.soname):
            continue  # no torch is known to provide it
        for pattern in rule.libraries:
            if (
                (pattern.found is None or pattern.found == (library.found is not None))
                and (pattern.owner is None or owner_of_library(library.soname) is pattern.owner)
                and (not pattern.soname_starts or library.soname.startswith(pattern.soname_starts))
            ):
                hits.append((library, pattern))
                break
    under = _imports_under([library.soname for library, _pattern in hits], subject) if hits else {}
    for library, pattern in hits:
        symbols = under[library.soname]
        shown = shortened(list(dict.fromkeys(readable(subject.parse(each.name), each) for each in symbols)))
        fields = {
            "library": library.soname,
            "target": target_text(subject),
            "module": subject.module,
            "imports": f"; it may export {counted(len(symbols), 'import')} of the file ({shown})" if symbols else "",
        }
        unresolved = tuple(sorted(imported.name for imported in symbols))
        yield replace(make_finding(rule, fields, (subject.module, library.soname), pattern), symbols=unresolved)


def _imports_under(sonames: list[str], subject: RuleSubject) -> dict[str, list[CheckedImport]]:
    """Missing library -> unresolved imports that it may export: those with a symbol version of it, those that releases
    export from it, and all of them if only one library is missing."""
    under: dict[str, list[CheckedImport]] = {soname: [] for soname in sonames}
    unresolved = (Status.UNDECIDED, Status.MISSING)
    for imported in subject.imports:
        if imported.status not in unresolved:
            continue
        version = imported.symbol.version
        if version is not None:
            if version.library in under:
                under[version.library].append(imported)
            continue
        known = subject.libraries(imported.name) if imported.owner is Owner.TORCH else None
        if known:
            for library in known:
                if library in under:
                    under[library].append(imported)
                    break
            continue
        if len(sonames) == 1 and imported.status is Status.UNDECIDED:
            under[sonames[0]].append(imported)
    return under
