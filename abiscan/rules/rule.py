"""What a rule is, as values: the fields here are the keys of a rule's TOML file, and their types are what it may say.

`validate.py` reads the files by these types; `load.py` reads `abiscan/data/rules.json`, the same rules as one file.
"""

import enum
from collections.abc import Mapping

from msgspec import Struct

from abiscan.model.finding import RuleInfo, Severity
from abiscan.model.imports import DemangledBy, Owner, Status


class Per(enum.StrEnum):
    """What one finding covers: a symbol, a needed library with the imports under it, or the whole file."""

    SYMBOL = "symbol"
    LIBRARY = "library"
    FILE = "file"


class ExportState(enum.StrEnum):
    """How the releases go on exporting a name. CLOSED: some release did, the newest doesn't. OPEN: the newest does.
    NEVER: none ever did. Where nobody has looked, none matches."""

    OPEN = "open"
    CLOSED = "closed"
    NEVER = "never"


class Language(enum.StrEnum):
    """What a source file is written in, by its extension."""

    CPP = "c++"
    CUDA = "cuda"
    HIP = "hip"


class NameForm(enum.StrEnum):
    """What a source names. NAME, HEADER: earlier releases declare it, the target's headers do not. LATER: only later
    releases declare it. DEPRECATED: every declaration of the name is deprecated."""

    NAME = "name"
    HEADER = "header"
    LATER = "later"
    DEPRECATED = "deprecated"


class Pattern(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all patterns have: how grave a hit is and what it says, where a pattern says more than its rule.

    Attributes:
        message, fix: templates, both or neither.
    """

    severity: Severity | None = None
    message: str | None = None
    fix: str | None = None


class ConditionalFix(Struct, frozen=True, forbid_unknown_fields=True):
    """What helps too, but only on releases that export a name.

    Attributes:
        fix: put behind the fix, as it stands.
        symbol: the mangled name, a template.
    """

    fix: str
    symbol: str


class ImportPattern(Pattern, frozen=True):
    """A set of imports. All non-empty fields must match; of several values of a field, one must match.

    Attributes:
        scope: namespaces and classes around the name, outermost first, complete: ["at", "native"].
        scope_starts: the same, but further ones may follow.
        scope_argument: the first template argument of the innermost scope, as the demangler writes it.
        base: the unqualified name without template arguments.
        name, name_starts: whole C names, or how they begin. Never applied to mangled C++ names.
        declares_parameter: whether a template argument carries the declaration of its parameter (`Tn...`).
        cxx: True for what begins as a mangled C++ name, False for anything else.
        gnu_rejects: GNU's demangler refuses the name (and was there to be asked).
        provider_starts: how the provider's file name begins; where the import has none, the library that the
            releases export it from.
        file_ends: how the file's own name ends.
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
        """Whether the parsed name is needed to decide."""
        return bool(self.scope or self.scope_starts or self.base or self.declares_parameter is not None)


class LibraryPattern(Pattern, frozen=True):
    """A set of needed libraries.

    Attributes:
        found: whether the search found a file for it.
        owner: whose it is, by its name.
        soname_starts: how its soname begins.
    """

    found: bool | None = None
    owner: Owner | None = None
    soname_starts: tuple[str, ...] = ()


class SourcePattern(Pattern, frozen=True):
    """A set of places in C++, CUDA or HIP sources; tokens outside of comments and strings.

    Attributes:
        member: a member that is named after `.` or `->`.
        called: whether `(` follows (after the template arguments, if there are any).
        templated: whether `<` follows.
        followed_by: what follows behind the call, one of these.
        identifier, identifier_starts: names anywhere, macros included; not those behind another scope or an object.
        qualified: `a::b`; also where `::` stands before, never where another scope does.
        include_starts: how the path of an `#include` begins.
        inside: macros or functions in whose first argument the place stands, by how their names begin.
        file_has: identifiers of which the file must have one.
        file_lacks: identifiers of which the file must have none.
        languages: of the file; empty for all.
        headers: a name of torch, by what the headers of the target release declare; stands alone in a pattern.
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
    """What to write instead of a flagged call, and which names that imports.

    Attributes:
        write: as in source, a template.
        symbols: mangled names, templates: those that the rewritten call imports, whichever headers it is compiled with.
        windows_symbols: the same in Microsoft's mangling.
    """

    write: str
    symbols: tuple[str, ...]
    windows_symbols: tuple[str, ...]


class Fact(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement that the rule's texts rest on, for x86_64 builds; a test compares it with the release index.

    Attributes:
        exported_in: the first and last release of each range that exports the symbol; empty where none does.
    """

    symbol: str
    exported_in: tuple[tuple[str, str], ...]


# TOML repeats the name of a table for each entry: `[[import]]` reads as one pattern, where `imports` holds them all.
_KEYS = {"imports": "import", "libraries": "library", "sources": "source", "rewrites": "rewrite", "facts": "fact"}


class Rule(RuleInfo, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, rename=_KEYS):
    """One rule: what reports describe it by, and what it looks for.

    Attributes:
        message, fix: templates for a hit, for patterns without texts of their own (`texts.py` lists the fields).
        per: what one finding covers.
        locate: whether a reader wants to know where the binary calls what was found.
        severity_when: other severities for imports of some status.
        imports, libraries, sources: what it matches; one match is enough.
        requires: the file must have an import of one of these as well.
        unless: the file must have no import of any of these.
        bound_functions: `names` in its texts are the functions that pybind11 binds, where the code shows them.
        computed: its findings are computed by code (`abiscan/rules/computed`).
    """

    message: str
    fix: str
    per: Per = Per.SYMBOL
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

    def severity_for(self, status: Status, pattern: Pattern) -> Severity:
        """How grave a hit of a pattern on an import of this status is."""
        return pattern.severity or self.severity_when.get(status, self.severity)

    def texts_for(self, pattern: Pattern | None) -> tuple[str, str]:
        """The templates of a hit: what it says, and what to do about it."""
        if pattern is None or pattern.message is None or pattern.fix is None:
            return self.message, self.fix
        return pattern.message, pattern.fix
