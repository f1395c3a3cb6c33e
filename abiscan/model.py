"""The frozen values that one stage hands to the next. This module imports nothing of abiscan but `value`.

Read it beside `scan.py`: bytes become a `SharedObject`, its imports become `BoundImport`s, those become
`Finding`s and `Cause`s, and all of it is a `Report`. The JSON report is a separate, versioned copy of these
types (`report/json_v1.py`), so that a field can be renamed here without breaking a user's dashboard.
"""

from __future__ import annotations

import enum

from abiscan.value import value

# --- facts about one file (made by `elf`) ------------------------------------------------------------------------


class SymbolBinding(enum.StrEnum):
    """ELF symbol binding (gABI, "Symbol Table"; STB_GNU_UNIQUE is a GNU extension)."""

    LOCAL = "local"
    GLOBAL = "global"
    WEAK = "weak"
    UNIQUE = "unique"
    OTHER = "other"


class SymbolType(enum.StrEnum):
    """ELF symbol type (gABI, "Symbol Table"; STT_GNU_IFUNC is a GNU extension)."""

    NOTYPE = "notype"
    OBJECT = "object"
    FUNC = "func"
    SECTION = "section"
    FILE = "file"
    COMMON = "common"
    TLS = "tls"
    IFUNC = "ifunc"
    OTHER = "other"


class Visibility(enum.StrEnum):
    """ELF symbol visibility (gABI, `st_other`)."""

    DEFAULT = "default"
    INTERNAL = "internal"
    HIDDEN = "hidden"
    PROTECTED = "protected"


@value
class VersionNeed:
    """One version that a file asks of one library (an Elf_Vernaux; Linux Standard Base, "Symbol Versioning")."""

    library: str
    name: str
    weak: bool


@value
class Import:
    """An undefined entry of the dynamic symbol table.

    Attributes:
        name: the mangled name, decoded as UTF-8 with `surrogateescape`.
        version: the version asked for, where the reference is versioned.
        relocated: whether some relocation refers to it; the loader never looks up one that none refers to.
        index: its place in the dynamic symbol table.
    """

    name: str
    binding: SymbolBinding
    type: SymbolType
    visibility: Visibility
    version: VersionNeed | None
    relocated: bool
    index: int


@value
class Export:
    """A defined entry of the dynamic symbol table that other objects can bind to.

    Attributes:
        value: `st_value`, an address relative to the load base (or an offset in the TLS block).
        size: `st_size`, in bytes; 0 where the compiler did not say.
        version: the version it is defined with, if any.
        hidden_version: True for `name@VERSION`, which only a reference to that version finds.
    """

    name: str
    binding: SymbolBinding
    type: SymbolType
    visibility: Visibility
    value: int
    size: int
    version: str | None
    hidden_version: bool


@value
class SharedObject:
    """What one ELF shared object says of itself.

    Attributes:
        path: as the user would write it.
        size: in bytes.
        machine: `x86_64`, `aarch64`, `i386`, ... or `EM_<number>`.
        bits, little_endian: the ELF class and data encoding.
        soname, needed, rpath, runpath: from the dynamic section, undivided and unexpanded.
        build_id: lower-case hexadecimal, from NT_GNU_BUILD_ID.
        imports: every undefined entry of .dynsym but the null entry, in table order.
        version_needs, version_definitions: from .gnu.version_r and .gnu.version_d.
        compilers: the distinct strings of .comment ("GCC: (GNU) 13.2.1", "clang version 19..."), where it was kept.
        has_sections: whether a usable section header table is there.
    """

    path: str
    size: int
    machine: str
    bits: int
    little_endian: bool
    soname: str | None
    needed: tuple[str, ...]
    rpath: str | None
    runpath: str | None
    build_id: str | None
    imports: tuple[Import, ...]
    version_needs: tuple[VersionNeed, ...]
    version_definitions: tuple[str, ...]
    compilers: tuple[str, ...]
    has_sections: bool


# --- names (made by `names`) ------------------------------------------------------------------------------------


class DemangledBy(enum.StrEnum):
    """Whose demangler spoke: GNU (libstdc++'s __cxa_demangle), LLVM's, or none (no demangler accepts it, or it is
    no mangled name at all)."""

    GNU = "gnu"
    LLVM = "llvm"
    NONE = "none"


class Owner(enum.StrEnum):
    """Whose name an import is, as far as the name, its version or its provider tells."""

    TORCH = "torch"
    PYTHON = "python"
    CUDA = "cuda"
    HIP = "hip"
    CXX = "c++"
    LIBC = "libc"
    OPENMP = "openmp"
    SELF = "self"
    OTHER = "other"


# --- binding (made by `loader`) ---------------------------------------------------------------------------------


class Status(enum.StrEnum):
    """What became of an import (CONTRACT; docs/architecture.md defines each)."""

    RESOLVED = "resolved"
    MISSING = "missing"
    WEAK = "weak"
    UNREACHABLE = "unreachable"
    UNDECIDED = "undecided"


class Confidence(enum.StrEnum):
    """How sure a cause or finding is. HIGH: facts leave no other reading. MEDIUM: facts fit, others could. LOW: a guess
    worth saying."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class CauseId(enum.StrEnum):
    """Why an import is missing or an error is raised (CONTRACT)."""

    CXX11_ABI_MISMATCH = "cxx11-abi-mismatch"
    BUILT_FOR_NEWER_TORCH = "built-for-newer-torch"
    BUILT_FOR_OLDER_TORCH = "built-for-older-torch"
    SIGNATURE_CHANGED = "signature-changed"
    TEMPLATE_MANGLING = "template-mangling"
    SYMBOL_HIDDEN = "symbol-hidden"
    CUDA_BUILD_REQUIRED = "cuda-build-required"
    ROCM_NAMING = "rocm-naming"
    DISTRIBUTION_VARIANT = "distribution-variant"
    LIBTORCH_PYTHON_NOT_LINKED = "libtorch-python-not-linked"
    IMPORT_TORCH_FIRST = "import-torch-first"
    STABLE_SHIM_TOO_NEW = "stable-shim-too-new"
    PYTHON_ABI_MISMATCH = "python-abi-mismatch"
    LIBSTDCXX_TOO_OLD = "libstdcxx-too-old"
    GLIBC_TOO_OLD = "glibc-too-old"
    CUDA_LIBRARY_MISMATCH = "cuda-library-mismatch"
    LIBRARY_NOT_LINKED = "library-not-linked"
    LIBRARY_MISSING = "library-missing"
    EXTENSION_SOURCE_NOT_BUILT = "extension-source-not-built"
    INLINED_CALL = "inlined-call"
    GENERATED_KERNEL = "generated-kernel"
    OP_NOT_REGISTERED = "op-not-registered"
    HALF_INTRINSIC = "half-intrinsic"


@value
class Cause:
    """One answer to "why": ranked among others, with what it rests on and what to do.

    Attributes:
        evidence: sentences, each a fact that was looked up (what, where, found or not).
        fix: a command, flag, version or line to change, as something to paste where that can be.
    """

    cause: CauseId
    confidence: Confidence
    evidence: tuple[str, ...]
    fix: str


@value
class CauseGroup:
    """One cause of a file, with every import that it explains."""

    cause: CauseId
    confidence: Confidence
    summary: str
    evidence: tuple[str, ...]
    fix: str
    symbols: tuple[str, ...]


# Pairs (first, last) of public torch versions, both included, oldest first.
Windows = tuple[tuple[str, str], ...]


@value
class BoundImport:
    """An import with its name read and its provider looked up.

    Attributes:
        demangled: text of the demangler that accepted the name; None where none did or where it is a plain C name.
        provider: soname (or file name) of the library whose export satisfies it; for an UNREACHABLE one, the library
            that exports it outside of the file's scope; None otherwise.
        windows: pairs (first, last) of public torch versions that export it; None where it was not looked up.
        causes: best first; only for imports that are missing, unreachable or undecided.
    """

    symbol: Import
    demangled: str | None
    demangled_by: DemangledBy
    owner: Owner
    status: Status
    provider: str | None
    windows: Windows | None = None
    causes: tuple[Cause, ...] = ()

    @property
    def name(self) -> str:
        """The mangled name."""
        return self.symbol.name


@value
class NeededLibrary:
    """A DT_NEEDED entry and what the search made of it.

    Attributes:
        found: path of the file that serves it (for one that the process has loaded already, the loaded file);
            None where the search found none.
    """

    soname: str
    found: str | None


class LoaderOutcome(enum.StrEnum):
    LOADS = "loads"
    FAILS = "fails"


@value
class LoaderPrediction:
    """What `dlopen(file, RTLD_NOW | RTLD_LOCAL)` after `import torch` would do on this machine.

    Attributes:
        outcome: None where it cannot be predicted (not installed here, other architecture, or `undecided` says why).
        error: the loader's own first message, where it fails.
        undecided: why no prediction is made, in a sentence.
    """

    outcome: LoaderOutcome | None
    error: str | None = None
    undecided: str | None = None


# --- findings (made by `rules`, `source`, `diagnosis`) ----------------------------------------------------------


class Severity(enum.StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@value
class Location:
    """Where a finding stands: a function of the binary (demangled), a source line, or a file offset in bytes."""

    function: str | None = None
    file: str | None = None
    line: int | None = None
    offset: int | None = None


@value
class Finding:
    """A hit of one rule.

    Attributes:
        rule: the rule's id.
        symbol: the mangled name it is about, if it is about one.
        symbols: all mangled names, where one finding speaks for several (a missing library).
        fingerprint: survives rebuilds, moved offsets and another checkout path.
        suppressed: accepted by a baseline or an ignore; it stays in the report.
        suppression: why, where `suppressed`.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    symbol: str | None
    message: str
    fix: str
    fingerprint: str
    symbols: tuple[str, ...] = ()
    locations: tuple[Location, ...] = ()
    suppressed: bool = False
    suppression: str | None = None


@value
class RuleInfo:
    """What a report needs to know of a rule to describe it (SARIF, HTML, docs)."""

    id: str
    summary: str
    why: str
    example: str
    use_instead: str
    references: tuple[str, ...]
    since: str
    severity: Severity
    confidence: Confidence


# --- releases ---------------------------------------------------------------------------------------------------


@value
class ReleaseVerdict:
    """How a file fares on one released build.

    Attributes:
        build: unique key (version, variant, architecture).
        missing: mangled names that the build does not export.
        drift: data objects whose size differs from the build the file was made for.
        reason: in a word why it fails ("old string ABI", "CPU only"); empty where it loads.
    """

    build: str
    torch: str
    variant: str
    cxx11_abi: bool
    loads: bool
    missing: tuple[str, ...]
    drift: tuple[str, ...]
    reason: str


@value
class KnownBuild:
    """A torch build as `abiscan releases` lists it.

    Attributes:
        wheel: the file that it was read from, with its sha256 where that was a file.
        user: from the user's own index, not from the shipped one.
    """

    key: str
    torch: str
    variant: str
    machine: str
    cuda: str | None
    hip: str | None
    cxx11_abi: bool | None
    git_revision: str | None
    wheel: str
    sha256: str | None
    user: bool


@value
class WhatIf:
    """The window that a file would have if the calls a rule advises against were rewritten."""

    rule: str
    symbols: tuple[str, ...]
    windows: Windows
    assumes: str


@value
class Provenance:
    """What a file tells about how it was made; every field that cannot be told is None or empty.

    Attributes:
        compilers: strings of .comment.
        cxx11_abi: which std::string its torch imports use.
        torch_window: the releases that export all its torch imports, intersected.
        built_for: the release it was made for, and `built_for_basis` what that rests on.
        python_abi: `cp311`, `abi3`, or None.
        cuda: CUDA runtime version it was built with or links to.
        gpu_archs: `sm_90`, `compute_90` (PTX), `gfx942`.
        abi: `stable` (only C shims), `unstable` (at::, c10::, torch::), or `none`.
    """

    compilers: tuple[str, ...] = ()
    cxx11_abi: bool | None = None
    torch_window: Windows | None = None
    built_for: str | None = None
    built_for_basis: str | None = None
    python_abi: str | None = None
    cuda: str | None = None
    gpu_archs: tuple[str, ...] = ()
    abi: str | None = None
    glibc_needed: str | None = None
    libstdcxx_needed: str | None = None


# --- the report (made by `scan`) --------------------------------------------------------------------------------


class ArtifactKind(enum.StrEnum):
    SHARED_OBJECT = "shared-object"
    SOURCE = "source"
    GENERATED_KERNEL = "generated-kernel"


class ArtifactVerdict(enum.StrEnum):
    LOADS = "loads"
    FAILS = "fails"
    UNDECIDED = "undecided"
    UNREADABLE = "unreadable"
    NOT_TORCH = "not-torch"


class TargetKind(enum.StrEnum):
    INSTALLED = "installed"
    RELEASE = "release"
    PATH = "path"


@value
class Target:
    """The torch that imports are resolved against.

    Attributes:
        torch: public version without a label (`2.6.0`).
        variant: what the label says (`cpu`, `cu124`, `rocm6.2`).
        cxx11_abi: whether its std::string is the new one (from its exports).
        note: what a user should know about the choice ("no torch is installed: the newest known build is used").
        python: the interpreter whose names serve `Py*` imports, if one was found.
    """

    kind: TargetKind
    torch: str
    variant: str
    cuda: str | None
    hip: str | None
    cxx11_abi: bool | None
    path: str | None
    note: str | None
    machine: str | None = None
    git_revision: str | None = None
    python: str | None = None


@value
class ArtifactReport:
    """All that is known of one artifact against the target.

    Attributes:
        path: of the file or of its container, relative to where the user stood where it is below.
        member: its name inside the container, if it is in one.
        notes: sentences for a person (names of libraries that are not here, why verdict and loader differ).
        causes: merged over the file's imports, most important first.
        undemangled: names GNU could not demangle but LLVM could; `malformed`: names that neither could.
    """

    path: str
    member: str | None
    kind: ArtifactKind
    size: int
    machine: str | None
    verdict: ArtifactVerdict
    sha256: str | None = None
    build_id: str | None = None
    loader: LoaderPrediction = LoaderPrediction(None)
    needed: tuple[NeededLibrary, ...] = ()
    imports: tuple[BoundImport, ...] = ()
    releases: tuple[ReleaseVerdict, ...] | None = None
    what_if: tuple[WhatIf, ...] = ()
    provenance: Provenance = Provenance()
    findings: tuple[Finding, ...] = ()
    causes: tuple[CauseGroup, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def display(self) -> str:
        """`path`, or `path!member` for a member of a container."""
        return self.path if self.member is None else f"{self.path}!{self.member}"


@value
class Container:
    """A wheel, package or archive of the run: what it declares, and its members' verdicts rolled up.

    Attributes:
        kind: `wheel`, `sdist`, `conda`, `archive` or `installed`.
        name, version: of the distribution, as its metadata has them.
        tags: compatibility tags of a wheel's file name, expanded; metadata_tags: of its WHEEL file, as they stand.
        requires_dist: requirements as they stand; requires_torch: those of them on torch.
        verdict: of all members: fails if one fails, else undecided if one is, else loads if one does.
        artifacts: `ArtifactReport.display` of its members, sorted.
    """

    path: str
    kind: str
    name: str | None
    version: str | None
    tags: tuple[str, ...]
    metadata_tags: tuple[str, ...]
    requires_dist: tuple[str, ...]
    requires_torch: tuple[str, ...]
    verdict: ArtifactVerdict
    artifacts: tuple[str, ...]


@value
class InputError:
    """A target, or a member of one, that could not be read: a line in the report, never silence."""

    path: str
    message: str


class Verdict(enum.StrEnum):
    """The gate's answer for a run; `cli` maps it to the exit status 0, 1, 3."""

    PASS = "pass"
    FAIL = "fail"
    INCOMPLETE = "incomplete"


@value
class StaleEntry:
    """A baseline or ignore entry that matches nothing any more."""

    source: str
    entry: str
    fails: bool


@value
class Report:
    """One run.

    Attributes:
        rules: every rule that the run could have fired, for formats that list them.
        containers: the wheels, packages and archives that artifacts are members of, by path.
        notes: sentences about the run as a whole (several torches on the path, no GNU demangler here).
        fail_on: the lowest severity that fails the run, by the gate's policy; None for none.
    """

    version: str
    target: Target | None
    artifacts: tuple[ArtifactReport, ...]
    errors: tuple[InputError, ...]
    rules: tuple[RuleInfo, ...]
    notes: tuple[str, ...] = ()
    verdict: Verdict = Verdict.INCOMPLETE
    stale: tuple[StaleEntry, ...] = ()
    fail_on: Severity | None = Severity.ERROR
    containers: tuple[Container, ...] = ()

    def failing(self, finding: Finding) -> bool:
        """Whether this finding fails the run."""
        order = tuple(Severity)
        return (
            not finding.suppressed
            and self.fail_on is not None
            and order.index(finding.severity) <= order.index(self.fail_on)
        )


# --- explain ----------------------------------------------------------------------------------------------------


class SubjectKind(enum.StrEnum):
    SYMBOL = "symbol"
    LIBRARY = "library"
    VERSION = "version"
    PYTHON_NAME = "python-name"
    DYNAMO = "dynamo"
    COMPILE_ERROR = "compile-error"


@value
class Subject:
    """One thing that an error message or a log is about, answered."""

    text: str
    kind: SubjectKind
    mangled: str | None
    demangled: str | None
    demangled_by: DemangledBy
    owner: Owner | None
    windows: Windows | None
    causes: tuple[Cause, ...]
    history: tuple[str, ...] = ()
    needed_by: str | None = None
    location: Location | None = None
    notes: tuple[str, ...] = ()
