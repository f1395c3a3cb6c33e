"""Migration plan to torch's stable ABI: unstable names in files and sources, their places and counterparts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from abiscan import __version__
from abiscan.analysis.context import AnalysisContext
from abiscan.errors import AbiscanError
from abiscan.inputs import Artifact, expand
from abiscan.inputs.artifact import Options as TargetOptions
from abiscan.mangling import parse
from abiscan.model.facts import CallSite, SymbolBinding
from abiscan.model.finding import Location
from abiscan.model.imports import Owner
from abiscan.model.migration_plan import CounterpartKind, MigrationPlan, PlanFile, Replacement
from abiscan.model.report import ArtifactKind, InputError
from abiscan.model.versions import order
from abiscan.ownership.names import owner_of
from abiscan.ownership.torch_names import NAMESPACES, SHIM_PREFIXES
from abiscan.releases.stable_counterparts import TENSOR, Counterpart, counterpart_of, source_counterpart, source_words

# Number of places of one counterpart that are kept.
_SITES = 20
# Prefixes of stable names in sources.
_STABLE_WORDS = (
    "torch::stable::",
    "torch::headeronly::",
    "STABLE_TORCH_LIBRARY",
    "STD_TORCH_CHECK",
    "STD_CUDA_",
    "THO_",
    "TORCH_BOX",
    "TORCH_ERROR_CODE_CHECK",
)
_MACROS = ("AT_", "C10_", "TORCH_", "CAFFE_")
_INLINED = Counterpart(
    (), CounterpartKind.INLINED, "no replacement needed: called only by inline functions of torch's headers"
)
_NOTHING = Counterpart(
    (), CounterpartKind.UNKNOWN, "not in the table of counterparts: look for it in torch/csrc/stable"
)


class _Use(Struct, frozen=True):
    """A name in a file, with its row of the counterparts table and the places that use it."""

    name: str
    row: Counterpart
    file: str
    sites: tuple[Location, ...]


def plan_migration(target: str, context: AnalysisContext) -> MigrationPlan:
    """The plan for the shared objects and sources of an input.

    Raises:
        UsageError: the input does not exist.
    """
    options = context.options
    site_packages = options.environment.site_packages if options.environment is not None else ()
    files: list[PlanFile] = []
    uses: list[_Use] = []
    shims: dict[str, str] = {}
    errors: list[str] = []
    named = TargetOptions(display_names=options.display_names)
    for item in expand([target], cwd=options.settings.cwd, environment_paths=site_packages, options=named):
        if isinstance(item, InputError):
            errors.append(f"{item.path}: {item.message}")
        elif isinstance(item, Artifact):
            try:
                found, own = _artifact_uses(item, context)
            except AbiscanError as error:
                errors.append(str(error))
                continue
            shims |= own
            uses += found
            if found or own:
                files.append(_file(item.display, found, len(own)))
    replacements = _replacements(uses)
    needed = [r.since for r in replacements if r.since] + [since for since in shims.values() if since]
    return MigrationPlan(
        __version__,
        options.display_names.get(target, target),
        tuple(sorted(files, key=lambda file: file.path)),
        replacements,
        shims,
        {use.name: text for use in uses if (text := context.readable(use.name)) != use.name},
        max(needed, key=lambda version: order(version) or (), default=None),
        tuple(sorted(errors)),
    )


def _artifact_uses(artifact: Artifact, context: AnalysisContext) -> tuple[list[_Use], dict[str, str]]:
    """Names of torch that one file uses: unstable ones, and C shims with the first release of each."""
    if artifact.kind is ArtifactKind.SHARED_OBJECT:
        return _binary_uses(artifact, context)
    if artifact.kind is ArtifactKind.SOURCE:
        return _source_uses(artifact, context)
    return [], {}


def _binary_uses(artifact: Artifact, context: AnalysisContext) -> tuple[list[_Use], dict[str, str]]:
    binary = artifact.open()
    names = [i.name for i in binary.imports if i.binding is not SymbolBinding.WEAK and owner_of(i.name) is Owner.TORCH]
    stable = {name for name in names if name.startswith(SHIM_PREFIXES)}
    histories = context.index.lookup(stable, binary.machine)
    shims = {name: histories[name].exported_in.first if name in histories else "" for name in sorted(stable)}
    rows = {name: _row(name) for name in names if name not in stable}
    wanted = [name for name, row in rows.items() if row.kind is not CounterpartKind.INLINED]
    found = binary.call_sites(wanted, lines=artifact.disk_path is not None) if wanted else {}
    sites = context.locations_of(found)
    uses = []
    for name, row in sorted(rows.items()):
        if row.inlined and _is_used_by_headers_alone(found.get(name, ())):
            uses.append(_Use(name, _INLINED, artifact.display, ()))
        else:
            uses.append(_Use(name, row, artifact.display, sites.get(name, ())))
    return uses, shims


def _is_used_by_headers_alone(sites: Sequence[CallSite]) -> bool:
    """Whether only inline functions of torch's headers use a name."""
    return bool(sites) and all(site.function is not None and owner_of(site.function) is Owner.TORCH for site in sites)


def _row(name: str) -> Counterpart:
    """The row of a mangled name, or of a C name."""
    parsed = parse(name) if name.startswith("_Z") else None
    found = counterpart_of(name if parsed is None else parsed.qualified)
    return _NOTHING if found is None else found


def _source_uses(artifact: Artifact, context: AnalysisContext) -> tuple[list[_Use], dict[str, str]]:
    from abiscan.analysis.source_file import files_around
    from abiscan.source.code import Code
    from abiscan.source.used_names import lines_of_names

    code = Code(artifact.display, artifact.read().decode("utf-8", "replace"))
    others = files_around(artifact, context.options.settings.files)
    uses: list[_Use] = []
    stable: dict[str, str] = {}
    shims = []
    for word, lines in lines_of_names(code, others, _meant).items():
        if word.startswith(SHIM_PREFIXES):
            shims.append(word)
        elif word.startswith(_STABLE_WORDS):
            stable[word] = ""
        else:
            row = source_counterpart(word) or _NOTHING
            uses.append(
                _Use(word, row, artifact.display, tuple(Location(file=artifact.display, line=n) for n in lines))
            )
    # The project may have a function with the name of a shim.
    stable |= {name: history.exported_in.first for name, history in sorted(context.index.lookup(shims).items())}
    return uses, stable


def _meant(name: str) -> str | None:
    """The entry of the table for a name in a source, the longest match (`torch::nn` for `torch::nn::functional::pad`);
    the name itself if it belongs to torch and is stable or not in the table."""
    if name.startswith((*_STABLE_WORDS, *SHIM_PREFIXES)):
        return name
    if name.startswith(f"{TENSOR}::"):
        return name
    words, word = source_words(), name
    while word and word not in words:
        word = word.rpartition("::")[0]
    if word:
        return word
    if "::" not in name:
        # The prefixes of torch's macros; names of its former C library are known one by one.
        return name if name.startswith(_MACROS) or (name.startswith("TH") and source_counterpart(name)) else None
    return name if name.partition("::")[0] in NAMESPACES else None


def _file(path: str, uses: Sequence[_Use], stable: int) -> PlanFile:
    kinds = Counter(use.row.kind for use in uses)
    left = [use for use in uses if use.row.kind is not CounterpartKind.INLINED]
    places = sum(len(use.sites) for use in left)
    none, unknown = kinds[CounterpartKind.NONE], kinds[CounterpartKind.UNKNOWN]
    return PlanFile(path, stable, len(left), kinds[CounterpartKind.INLINED], none, unknown, places)


# Names to replace come first, then those without a counterpart, then those that disappear by themselves.
_RANKS = {CounterpartKind.NONE: 1, CounterpartKind.UNKNOWN: 2, CounterpartKind.INLINED: 3}


def _replacements(uses: Iterable[_Use]) -> tuple[Replacement, ...]:
    by_row: dict[Counterpart, list[_Use]] = {}
    for use in uses:
        by_row.setdefault(use.row, []).append(use)
    found = [_replacement(row, group) for row, group in by_row.items()]
    return tuple(sorted(found, key=lambda r: (_RANKS.get(r.kind, 0), -len(r.names), r.use)))


def _replacement(row: Counterpart, uses: Sequence[_Use]) -> Replacement:
    sites = tuple(dict.fromkeys(site for use in uses for site in use.sites))
    return Replacement(
        kind=row.kind,
        use=row.use,
        header=f"torch/{row.header}" if row.header else "",
        since=row.since,
        names=tuple(sorted({use.name for use in uses})),
        files=tuple(sorted({use.file for use in uses})),
        sites=sites[:_SITES],
        total=len(sites),
    )
