"""Rules as values. The fields are the keys of a rule's TOML file, with their types.

`tools/read_rule_file.py` reads the files with these types. `load.py` reads `abiscan/data/rules.json`, the same rules as
one file."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from abiscan.model.finding import RuleInfo, Severity
from abiscan.model.imports import DemangledBy, Owner, Status

Per = Literal["symbol", "library", "file"]
"""What one finding covers: a symbol, a needed library with the imports under it, or the whole file."""
ExportState = Literal["open", "closed", "never"]
"""In which releases a symbol is exported. closed: in some, but not in the newest. open: in the newest. never: in none.
Unknown states match none of these."""
Language = Literal["c++", "cuda", "hip"]
"""The language of a source file, by its extension."""
NameForm = Literal["name", "header", "later", "deprecated", "constant"]
"""Names in sources. name, header: earlier releases declare it, the target's headers do not. later: only later releases
declare it. deprecated: every declaration of it is deprecated. constant: it returns a pointer or reference to const,
unlike in earlier releases."""


class Pattern(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Fields of all patterns: severity and texts that override those of the rule.

    Attributes:
        message, fix: templates, both or neither.
    """

    severity: Severity | None = None
    message: str | None = None
    fix: str | None = None


class ConditionalFix(Struct, frozen=True, forbid_unknown_fields=True):
    """Another fix, for releases that export a symbol.

    Attributes:
        fix: appended to the fix; `{as_gcc}` is the only field.
        symbol: template of the mangled name.
    """

    fix: str
    symbol: str


class ImportPattern(Pattern, frozen=True):
    """A set of imports. All fields that are set must match. If a field has several values, one must match.

    Attributes:
        scope: all namespaces and classes around the name, outermost first: ["at", "native"].
        scope_starts: the same; further scopes may follow.
        scope_argument: the first template argument of the innermost scope, as printed by the demangler.
        base: the unqualified name without template arguments.
        name, name_starts: C names or their prefixes. Never applied to mangled C++ names.
        declares_parameter: whether a template argument contains the declaration of its parameter (`Tn...`).
        cxx: True for mangled C++ names, False for others.
        gnu_rejects: GNU's demangler is available and rejects the name.
        provider_starts: prefix of the provider's file name. Without a provider, the library that exports the symbol in
            releases.
        file_ends: suffix of the file's own name.
        outside_limited_api: a CPython name that is not part of the stable ABI.
        export_state: see `ExportState`.
        also: see `ConditionalFix`.
    """

    owner: tuple[Owner, ...] = ()
    status: tuple[Status, ...] = ()
    scope: tuple[str, ...] = ()
    scope_starts: tuple[str, ...] = ()
    scope_argument: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    name: tuple[str, ...] = ()
    name_starts: tuple[str, ...] = ()
    declares_parameter: bool | None = None
    cxx: bool | None = None
    demangled_by: tuple[DemangledBy, ...] = ()
    gnu_rejects: bool | None = None
    provider_starts: tuple[str, ...] = ()
    file_ends: tuple[str, ...] = ()
    outside_limited_api: bool | None = None
    export_state: tuple[ExportState, ...] = ()
    also: ConditionalFix | None = None

    @property
    def reads_name(self) -> bool:
        """Whether matching needs the parsed name."""
        return bool(self.scope or self.scope_starts or self.base or self.declares_parameter is not None)


class LibraryPattern(Pattern, frozen=True):
    """A set of needed libraries.

    Attributes:
        found: whether the library was found.
        owner: detected from its name.
        soname_starts: prefix of its soname.
    """

    found: bool | None = None
    owner: Owner | None = None
    soname_starts: tuple[str, ...] = ()


class SourcePattern(Pattern, frozen=True):
    """A set of places in C++, CUDA or HIP sources; tokens outside of comments and strings.

    Attributes:
        member: name of a member after `.` or `->`.
        called: whether `(` follows, after template arguments if there are any.
        templated: whether `<` follows.
        followed_by: one of these follows the call.
        identifier, identifier_starts: names anywhere, including macros; not after another scope or an object.
        qualified: `a::b`; also after a leading `::`, but not after another scope.
        include_starts: prefix of the path of an `#include`.
        inside: prefixes of macros or functions; the place is in their first argument.
        file_has: identifiers; the file must contain one of them.
        file_lacks: identifiers; the file must contain none of them.
        languages: of the file; empty for all.
        headers: state of a torch name in the headers of the target release; the only field of its pattern.
    """

    member: tuple[str, ...] = ()
    called: bool | None = None
    templated: bool | None = None
    followed_by: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()
    identifier_starts: tuple[str, ...] = ()
    qualified: tuple[str, ...] = ()
    include_starts: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    file_has: tuple[str, ...] = ()
    file_lacks: tuple[str, ...] = ()
    languages: tuple[Language, ...] = ()
    headers: NameForm | None = None


class Rewrite(Struct, frozen=True, forbid_unknown_fields=True):
    """A replacement of a flagged call, and the symbols that it imports.

    Attributes:
        write: template, as in source.
        symbols: templates of the mangled names that the rewritten call imports, with the headers of any release.
        windows_symbols: the same in Microsoft mangling.
    """

    write: str
    symbols: tuple[str, ...]
    windows_symbols: tuple[str, ...]


class Fact(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that the texts of the rule rely on, for x86_64 builds. A test compares it with the release index.

    Attributes:
        exported_in: first and last release of each range that exports the symbol; empty if none does.
    """

    symbol: str
    exported_in: tuple[tuple[str, str], ...]


# TOML repeats the table name for each entry: `[[import]]` is one pattern, `imports` is the list.
_KEYS = {"imports": "import", "libraries": "library", "sources": "source", "rewrites": "rewrite", "facts": "fact"}


class Rule(RuleInfo, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, rename=_KEYS):
    """One rule: its description in reports, and its patterns.

    Attributes:
        message, fix: templates for patterns without texts of their own (`texts.py` lists the fields).
        per: what one finding covers.
        locate: whether to find the call sites in the binary.
        severity_when: severities by status of the import.
        imports, libraries, sources: patterns; one match is sufficient.
        requires: the file must also have an import that matches one of these.
        unless: the file must have no import that matches one of these.
        bound_functions: `names` in its texts are the functions that pybind11 binds, if the code shows them.
        computed: its findings are computed by code (`abiscan/rules/computed`).
        skip_guarded: whether to skip source places under a condition on torch releases whose value is unknown.
    """

    message: str
    fix: str
    per: Per = "symbol"
    locate: bool = False
    bound_functions: bool = False
    severity_when: Mapping[Status, Severity] = {}
    imports: tuple[ImportPattern, ...] = ()
    requires: tuple[ImportPattern, ...] = ()
    unless: tuple[ImportPattern, ...] = ()
    libraries: tuple[LibraryPattern, ...] = ()
    sources: tuple[SourcePattern, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    facts: tuple[Fact, ...] = ()
    computed: bool = False
    skip_guarded: bool = False

    def severity_for(self, status: Status, pattern: Pattern) -> Severity:
        """The severity of a match of a pattern with an import of this status."""
        return pattern.severity or self.severity_when.get(status, self.severity)

    def severities(self) -> str:
        """Every severity of its findings, in words: `note, error where the import is missing`."""
        text = self.severity.value
        missing = self.severity_when.get(Status.MISSING)
        if missing is not None and missing is not self.severity:
            text += f", {missing.value} where the import is missing"
        patterns = [*(each.severity for each in self.libraries), *(each.severity for each in self.sources)]
        for severity in dict.fromkeys(each for each in patterns if each is not None and each is not self.severity):
            text += f", {severity.value} for some"
        return text

    def texts_for(self, pattern: Pattern | None) -> tuple[str, str]:
        """The templates of a hit: message and fix."""
        if pattern is None or pattern.message is None or pattern.fix is None:
            return self.message, self.fix
        return pattern.message, pattern.fix
