"""Rules x one file -> findings. Every rule is tried on every file; a rule is data, so this is all the code there is."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from abiscan.model.finding import Finding, Severity
from abiscan.model.imports import CheckedImport, DemangledBy, Owner, Status
from abiscan.model.limits import KEPT_NAMES
from abiscan.model.loading import NeededLibrary
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.names import owner_of_library
from abiscan.ownership.torch_names import is_torch_library
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import ExportState, ImportPattern, LibraryPattern, Per, Rule
from abiscan.rules.rule_subject import RuleSubject
from abiscan.rules.select import Imports
from abiscan.rules.texts import (
    covers,
    known_ranges,
    pasteable,
    ranges_text,
    readable,
    shortened,
    symbol_fields,
    target_text,
)


def run(rules: Iterable[Rule], subject: RuleSubject) -> tuple[Finding, ...]:
    """What the rules say of one file, gravest first, then by rule and symbol. Computed rules have their own modules."""
    imports = Imports(subject.imports)
    findings = [finding for rule in rules if not rule.computed for finding in _run_one(rule, imports, subject)]
    return tuple(sorted(findings, key=_order))


def hits_of(rule: Rule, subject: RuleSubject) -> tuple[CheckedImport, ...]:
    """The imports that a rule means, whatever it would make of them."""
    return tuple(bound for bound, _pattern in _hits(rule, Imports(subject.imports), subject))


def _order(finding: Finding) -> tuple[int, str, str]:
    return (finding.severity.rank, finding.rule, finding.symbol or "")


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
    if rule.per is Per.FILE:
        yield _file_finding(rule, hits, subject)
        return
    for bound, pattern in hits:
        yield _symbol_finding(rule, pattern, bound, subject)


def _any_matches(patterns: tuple[ImportPattern, ...], imports: Imports, subject: RuleSubject) -> bool:
    return any(_matches(pattern, bound, subject) for pattern in patterns for bound in imports.candidates(pattern))


def _hits(rule: Rule, imports: Imports, subject: RuleSubject) -> list[tuple[CheckedImport, ImportPattern]]:
    """Each import once, with the first pattern that means it, in the file's order."""
    hits: dict[int, tuple[CheckedImport, ImportPattern]] = {}
    for pattern in rule.imports:
        for bound in imports.candidates(pattern):
            if bound.symbol.index not in hits and _matches(pattern, bound, subject):
                hits[bound.symbol.index] = (bound, pattern)
    return [hits[index] for index in sorted(hits)]


# --- imports ----------------------------------------------------------------------------------------------------


def _matches(pattern: ImportPattern, bound: CheckedImport, subject: RuleSubject) -> bool:
    """Whether every field that is set holds; the cheap ones are asked first."""
    name = bound.symbol.name
    return (
        (not pattern.owner or bound.owner in pattern.owner)
        and (not pattern.status or bound.status in pattern.status)
        and (not pattern.demangled_by or bound.demangled_by in pattern.demangled_by)
        and (not pattern.name or name in pattern.name or name.startswith(pattern.name_starts or ("\0",)))
        and (not pattern.name_starts or name in pattern.name or name.startswith(pattern.name_starts))
        and (not pattern.file_ends or subject.facts.path.endswith(pattern.file_ends))
        and (pattern.cxx is None or pattern.cxx == _is_cxx(name))
        and (
            pattern.gnu_rejects is None
            or (subject.gnu_available and pattern.gnu_rejects == (bound.demangled_by is DemangledBy.LLVM))
        )
        and (pattern.outside_limited_api is None or pattern.outside_limited_api == _outside_limited_api(name))
        and (not pattern.reads_name or _name_matches(pattern, name, subject))
        and (not pattern.provider_starts or _provided_by(pattern.provider_starts, bound, subject))
        and (not pattern.export_state or _export_state(bound, subject) in pattern.export_state)
    )


@functools.lru_cache(maxsize=KEPT_NAMES)
def _is_cxx(name: str) -> bool:
    if not name.startswith("_Z"):
        return False
    from abiscan.mangling import NameKind, classify

    return classify(name) is NameKind.CXX


def _outside_limited_api(name: str) -> bool:
    from abiscan.rules.limited_api import is_limited

    return not is_limited(name)


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


def _provided_by(starts: tuple[str, ...], bound: CheckedImport, subject: RuleSubject) -> bool:
    if bound.provider is not None:
        return bound.provider.startswith(starts)
    return any(library.startswith(starts) for library in subject.libraries(bound.symbol.name) or ())


def _export_state(bound: CheckedImport, subject: RuleSubject) -> ExportState | None:
    windows = known_ranges(bound, subject)
    if windows is None or subject.span is None:
        return None
    if not windows:
        return ExportState.NEVER
    return ExportState.OPEN if windows[-1][1] == subject.span[1] else ExportState.CLOSED


def _severity(rule: Rule, pattern: ImportPattern, bound: CheckedImport, subject: RuleSubject) -> Severity:
    """How grave a hit is. Where the target's own release exports the name and this build of it doesn't (a CPU build, a
    source build), the file is no worse for the API that the rule is about: its base severity stands, and that the
    import is missing is said by the rules about missing imports."""
    if (
        bound.status.is_unresolved
        and rule.severity_when
        and subject.target is not None
        and covers(known_ranges(bound, subject) or ReleaseRanges(), subject.target.version)
    ):
        return pattern.severity or rule.severity
    return rule.severity_for(bound.status, pattern)


def _symbol_finding(rule: Rule, pattern: ImportPattern, bound: CheckedImport, subject: RuleSubject) -> Finding:
    name = subject.parse(bound.symbol.name)
    fields = symbol_fields(rule, bound, name, subject)
    found = make_finding(
        rule,
        fields,
        (subject.module, bound.symbol.name),
        pattern=pattern,
        severity=_severity(rule, pattern, bound, subject),
        fix_fields=pasteable(fields),
        symbol=bound.symbol.name,
    )
    if pattern.also is None or not _target_exports(pattern.also.symbol.format_map(fields), subject):
        return found
    return replace(found, fix=found.fix + pattern.also.fix)


def _target_exports(symbol: str, subject: RuleSubject) -> bool:
    """Whether the target's release exports a name in some build."""
    return subject.target is not None and covers(subject.windows(symbol) or ReleaseRanges(), subject.target.version)


def _file_finding(rule: Rule, hits: list[tuple[CheckedImport, ImportPattern]], subject: RuleSubject) -> Finding:
    severities = [_severity(rule, pattern, bound, subject) for bound, pattern in hits]
    gravest = min(range(len(hits)), key=lambda at: severities[at].rank)
    names = sorted({readable(subject.parse(bound.symbol.name), bound) for bound, _pattern in hits})
    fields = {
        "target": target_text(subject),
        "module": subject.module,
        "count": _counted(len(hits), "import"),
        "names": shortened(names),
        "windows": "",
    }
    if any("{windows}" in template for template in rule.texts_for(hits[gravest][1])):
        fields["windows"] = ranges_text(known_ranges(hits[gravest][0], subject), subject.span)
    symbols = tuple(sorted(bound.symbol.name for bound, _pattern in hits))
    return make_finding(
        rule,
        fields,
        (subject.module,),
        pattern=hits[gravest][1],
        severity=severities[gravest],
        symbol=symbols[0] if len(symbols) == 1 else None,
        symbols=symbols,
    )


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


# --- needed libraries ----------------------------------------------------------------------------------------------


def _libraries(rule: Rule, subject: RuleSubject) -> Iterator[Finding]:
    hits: list[tuple[NeededLibrary, LibraryPattern]] = []
    for library in subject.needed:
        if subject.target is None and is_torch_library(library.soname):
            continue  # which torch would have it, nobody knows
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
        names = [readable(subject.parse(bound.symbol.name), bound) for bound in symbols]
        fields = {
            "library": library.soname,
            "target": target_text(subject),
            "module": subject.module,
            "count": _counted(len(symbols), "import") if symbols else "no import",
            "names": f" ({shortened(list(dict.fromkeys(names)))})" if names else "",
        }
        unbound = tuple(sorted(bound.symbol.name for bound in symbols))
        yield make_finding(rule, fields, (subject.module, library.soname), pattern=pattern, symbols=unbound)


def _imports_under(sonames: list[str], subject: RuleSubject) -> dict[str, list[CheckedImport]]:
    """Which unbound imports each missing library would have to serve: those that ask a version of it, those that the
    releases export from it, and, where one library alone is missing, all."""
    under: dict[str, list[CheckedImport]] = {soname: [] for soname in sonames}
    unbound = (Status.UNDECIDED, Status.MISSING)
    for bound in subject.imports:
        if bound.status not in unbound:
            continue
        version = bound.symbol.version
        if version is not None:
            if version.library in under:
                under[version.library].append(bound)
            continue
        known = subject.libraries(bound.symbol.name) if bound.owner is Owner.TORCH else None
        if known:
            for library in known:
                if library in under:
                    under[library].append(bound)
                    break
            continue
        if len(sonames) == 1 and bound.status is Status.UNDECIDED:
            under[sonames[0]].append(bound)
    return under
