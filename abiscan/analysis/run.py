"""The pipeline: targets and options -> Report. Read this first.

    expand targets -> open each -> bind its imports -> look up their history -> rules -> causes -> Report

Each step is a function of an earlier stage's values; what a step could not read or decide is in the report.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan import __version__
from abiscan.analysis.apply_rules import Bound, drift_of_releases, findings_of
from abiscan.analysis.context import Aim, ScanOptions, World
from abiscan.analysis.provenance import provenance
from abiscan.elf import ElfFile
from abiscan.errors import UnknownBuild, UnreadableFile
from abiscan.loader import LoaderSettings
from abiscan.model.binding import (
    BoundImport,
    LoaderOutcome,
    LoaderPrediction,
    NeededLibrary,
    Owner,
    Status,
)
from abiscan.model.facts import SharedObject
from abiscan.model.fingerprint import module_key
from abiscan.model.report import (
    ArtifactKind,
    ArtifactReport,
    ArtifactVerdict,
    InputError,
    Report,
)
from abiscan.model.subject import Subject
from abiscan.model.versions import Windows
from abiscan.ownership.names import owner_of
from abiscan.ownership.torch import is_torch_library
from abiscan.releases.matrix import Matrix, TorchNeeds, judge
from abiscan.setting.choice import named_release
from abiscan.targets import Artifact, Note, expand
from abiscan.wheel.metadata import ContainerFacts, ContainerKind

if TYPE_CHECKING:
    from abiscan.source import SourceFile

__all__ = ["LoaderSettings", "ScanOptions", "explain", "scan"]

_FALLBACK_MACHINE = "x86_64"
# Members of archives from this size on, in bytes, are freed at once and not when the collector comes by.
_LARGE = 8 << 20
# Names of these are served by the machine, not by torch or the interpreter: they decide `loader`, not `verdict`.
_OF_THE_MACHINE = frozenset({Owner.LIBC, Owner.CXX, Owner.CUDA, Owner.HIP, Owner.OPENMP})


def scan(targets: Sequence[str], options: ScanOptions, share: int = 0, shares: int = 1) -> Report:
    """Look at everything that `targets` name.

    Args:
        share, shares: look at every `shares`-th artifact only, from number `share` on (`parallel.py`); what is no
            artifact is reported by share 0.

    Raises:
        UsageError: a target that does not exist, an unknown torch.
    """
    world = World(options)
    if options.torch is not None:
        # Fail before the work, not after it: an unknown --torch is a usage error whatever the files are.
        world.chosen(_FALLBACK_MACHINE)
    artifacts: list[ArtifactReport] = []
    errors: list[InputError] = list(world.source_errors) if share == 0 else []
    notes: list[str] = []
    members: dict[str, tuple[ContainerFacts, list[str]]] = {}
    site_packages = options.environment.site_packages if options.environment is not None else ()
    number = 0
    for item in expand(targets, cwd=options.settings.cwd, environment_paths=site_packages):
        if isinstance(item, Artifact):
            number += 1
            if share == 0 and (item.member is not None or item.group.facts.kind is ContainerKind.INSTALLED):
                members.setdefault(item.group.key, (item.group.facts, []))[1].append(item.display)
            if (number - 1) % shares != share:
                continue
            # One file is done before anybody could read its name.
            if options.progress is not None and number > 1:
                options.progress(f"[{number}] {item.display}")
            try:
                artifacts += look_at(item, world)
            except UnreadableFile as error:
                errors.append(InputError(error.path, error.reason))
            world.loader.forget()
            if item.disk_path is None and item.size > _LARGE:
                # What it was unpacked into is held by cycles of the loader's model. What survives stays to the end, and
                # need not be looked through again for the next one.
                gc.collect()
                gc.freeze()
        elif share == 0 and isinstance(item, Note):
            notes.append(f"{item.path}: {item.message}")
        elif share == 0 and isinstance(item, InputError):
            errors.append(item)
    if share == 0:
        artifacts += [_report_of_source(file) for file in world.sources]
    if options.progress is not None:
        options.progress("")
    report = Report(
        version=__version__,
        target=world.chosen(_FALLBACK_MACHINE).target,
        artifacts=tuple(sorted(artifacts, key=lambda a: (a.path, a.member or ""))),
        errors=tuple(sorted(errors, key=lambda e: (e.path, e.message))),
        rules=world.rule_infos,
        notes=tuple(dict.fromkeys([*notes, *world.notes()])),
    )
    return _with_containers(report, members, world, whole=shares == 1) if members else report


def _with_containers(
    report: Report, members: Mapping[str, tuple[ContainerFacts, Sequence[str]]], world: World, *, whole: bool
) -> Report:
    """The wheels and packages of the run; judged at once where all their members are in the report."""
    from abiscan.rules.computed.wheel_promises import container_of, with_containers

    found = [container_of(facts, displays) for facts, displays in members.values()]
    report = replace(report, containers=tuple(container for container in found if container is not None))
    return with_containers(report, world.known_versions) if whole else report


def look_at(artifact: Artifact, world: World) -> Iterator[ArtifactReport]:
    """The report of one artifact; none for a source without a finding.

    Raises:
        UnreadableFile: it is no shared object after all.
    """
    if artifact.kind is ArtifactKind.SHARED_OBJECT:
        yield look_at_shared_object(artifact, world)
    else:
        yield from look_at_source(artifact)


# --- shared objects ---------------------------------------------------------------------------------------------


def look_at_shared_object(artifact: Artifact, world: World) -> ArtifactReport:
    """Everything about one shared object."""
    elf = artifact.open()
    facts = elf.facts()
    # The first file decides whose newest build stands in where no torch is installed and none is named.
    world.chosen(elf.machine)
    aim = world.aim(elf.machine)
    place = _place(artifact, world)
    siblings = _siblings(artifact, elf, world)
    # The loader knows the installed target itself; any other is told to it.
    exports = None if aim is None or aim.installed else aim.exports
    binding = world.loader.bind(elf, place, siblings, exports)
    imports = _demangled(binding.imports, world)
    prediction = _prediction(elf, place, {} if artifact.disk_path is not None else siblings, aim, world)
    torch_needs = _torch_needs(facts, imports)
    concerns_torch = bool(torch_needs.names or torch_needs.libraries)
    matrix = judge(torch_needs, world.index, reasons=world.options.matrix) if concerns_torch else None
    imports = _with_windows(imports, matrix)
    needed = _with_shipped(binding.needed, aim)
    made = provenance(elf, facts, imports, matrix, name=os.path.basename(artifact.member or artifact.path))
    bound = Bound(
        elf=elf,
        facts=facts,
        imports=imports,
        needed=needed,
        module=module_key(artifact.path, artifact.member),
        aim=aim,
        needs=torch_needs,
        matrix=matrix,
        built_for=made.built_for,
        lines=artifact.disk_path is not None,
    )
    findings, what_if = findings_of(bound, world)
    report = ArtifactReport(
        path=artifact.path,
        member=artifact.member,
        kind=artifact.kind,
        size=artifact.size,
        machine=facts.machine,
        verdict=_verdict(imports, needed, aim, concerns_torch),
        sha256=_sha256(elf) if world.options.hashes else None,
        build_id=facts.build_id,
        loader=prediction,
        needed=needed,
        imports=imports,
        releases=drift_of_releases(bound, world) if matrix is not None and world.options.matrix else None,
        what_if=what_if,
        provenance=made,
        findings=findings,
    )
    absent = tuple(dict.fromkeys((*binding.missing_torch_libraries, *binding.missing_libraries)))
    nowhere = matrix is not None and aim is not None and not _loads_on(matrix, aim.target.torch)
    broken = _broken_sibling(prediction, place, facts.machine, world)
    if broken is not None and report.verdict in (ArtifactVerdict.LOADS, ArtifactVerdict.NOT_TORCH):
        report = replace(report, verdict=ArtifactVerdict.FAILS)
    loads_on = matrix.windows if matrix is not None and not matrix.unknown else None
    report = _with_causes(report, facts, world, absent, artifact.group.facts.name, loads_on=loads_on, nowhere=nowhere)
    return replace(report, notes=tuple(_notes(report, aim, matrix, binding.missing_libraries)))


def _place(artifact: Artifact, world: World) -> str:
    """The absolute path at which a loader would open it: where it is, or where installing its wheel would put it."""
    if artifact.disk_path is not None:
        return artifact.disk_path
    return _installed_at(artifact, world.options)


def _installed_at(artifact: Artifact, options: ScanOptions) -> str:
    site = options.environment.site_packages if options.environment is not None else ()
    root = site[0] if site else options.settings.cwd
    return os.path.normpath(os.path.join(root, artifact.place))


def _siblings(artifact: Artifact, elf: ElfFile, world: World) -> Mapping[str, ElfFile]:
    """Path to contents of what the file needs, directly or through others, and its own package ships."""
    found: dict[str, ElfFile] = {}
    waiting = list(elf.needed)
    seen: set[str] = set()
    while waiting:
        soname = waiting.pop()
        if soname in seen:
            continue
        seen.add(soname)
        for path, sibling in _named(artifact, soname, world):
            if path not in found:
                found[path] = sibling
                waiting += sibling.needed
    return found


def _named(artifact: Artifact, soname: str, world: World) -> Iterator[tuple[str, ElfFile]]:
    name = soname.rpartition("/")[2]
    for sibling in artifact.group.named(name):
        if sibling.place == artifact.place:
            continue
        try:
            opened = sibling.open_tables()
        except UnreadableFile:
            continue  # it is an artifact of its own, and reported as such
        yield sibling.disk_path or _installed_at(sibling, world.options), opened
    if artifact.disk_path is not None and len(artifact.group) == 1:
        yield from _beside(artifact.disk_path, name)


def _beside(path: str, name: str) -> Iterator[tuple[str, ElfFile]]:
    """A library in the places where packages keep theirs: beside the module, in `lib`, in `<package>.libs`."""
    from abiscan.elf import open_elf

    directory = os.path.dirname(path)
    parent = os.path.dirname(directory)
    package = os.path.basename(directory)
    for place in (directory, os.path.join(directory, "lib"), parent, os.path.join(parent, f"{package}.libs")):
        candidate = os.path.join(place, name)
        if os.path.isfile(candidate) and candidate != path:
            try:
                yield candidate, open_elf(candidate)
            except (UnreadableFile, FileNotFoundError):
                continue
            return


def _demangled(imports: Sequence[BoundImport], world: World) -> tuple[BoundImport, ...]:
    demangle = world.demangler.demangle
    named = []
    for bound in imports:
        answer = demangle(bound.name)
        # Made anew by hand: `replace` takes three times as long, and a file has hundreds of imports.
        named.append(BoundImport(bound.symbol, answer.text, answer.by, bound.owner, bound.status, bound.provider))
    return tuple(named)


def _prediction(
    elf: ElfFile, place: str, siblings: Mapping[str, ElfFile], aim: Aim | None, world: World
) -> LoaderPrediction:
    """What the loader does here; of a wheel's member, as if the wheel were installed in the environment."""
    if aim is None or not aim.installed:
        return LoaderPrediction(None, undecided="the target torch is not installed in an environment here")
    return world.loader.predict(elf, place, siblings)


def _torch_needs(facts: SharedObject, imports: Sequence[BoundImport]) -> TorchNeeds:
    """What only torch can provide: its names, but for those that another library in scope exports."""
    names = [
        bound.name
        for bound in imports
        if bound.owner is Owner.TORCH
        and bound.status is not Status.WEAK
        and (bound.provider is None or is_torch_library(bound.provider))
    ]
    return TorchNeeds(
        names=tuple(dict.fromkeys(names)),
        libraries=tuple(soname for soname in facts.needed if is_torch_library(soname)),
        machine=facts.machine,
    )


def _with_windows(imports: Sequence[BoundImport], matrix: Matrix | None) -> tuple[BoundImport, ...]:
    if matrix is None:
        return tuple(imports)
    unknown = set(matrix.unknown)
    result = []
    for bound in imports:
        history = matrix.histories.get(bound.name)
        if history is not None:
            result.append(replace(bound, windows=history.windows))
        elif bound.owner is Owner.TORCH and bound.name not in unknown and bound.status is not Status.WEAK:
            result.append(replace(bound, windows=Windows()))
        else:
            result.append(bound)
    return tuple(result)


def _with_shipped(needed: Sequence[NeededLibrary], aim: Aim | None) -> tuple[NeededLibrary, ...]:
    """A target that is not installed here has its libraries all the same: where it is, or where its wheel has them."""
    if aim is None or aim.installed:
        return tuple(needed)
    return tuple(replace(n, found=aim.exports.path_of(n.soname)) if n.found is None else n for n in needed)


def _verdict(
    imports: Sequence[BoundImport], needed: Sequence[NeededLibrary], aim: Aim | None, concerns_torch: bool
) -> ArtifactVerdict:
    """For the target torch: every torch and Python import binds, and so does what the file itself should define."""
    decisive = [b for b in imports if b.owner not in _OF_THE_MACHINE]
    if any(b.status in (Status.MISSING, Status.UNREACHABLE) for b in decisive):
        return ArtifactVerdict.FAILS
    if aim is not None and any(is_torch_library(n.soname) and _lacks(aim, n.soname) for n in needed):
        return ArtifactVerdict.FAILS
    if not concerns_torch:
        return ArtifactVerdict.NOT_TORCH
    if aim is None or any(b.status is Status.UNDECIDED and b.owner in (Owner.TORCH, Owner.PYTHON) for b in decisive):
        return ArtifactVerdict.UNDECIDED
    return ArtifactVerdict.LOADS


_UNDEFINED = re.compile(r"^(?P<file>.*): undefined symbol: (?P<name>[^,]+)")


def _broken_sibling(prediction: LoaderPrediction, place: str, machine: str, world: World) -> str | None:
    """A library that the file needs, where the loader stops at a torch or Python name that it cannot bind: the file
    binds, and does not load on this torch all the same."""
    match = _UNDEFINED.match(prediction.error or "")
    if match is None or match["file"] == place:
        return None
    name = match["name"]
    if owner_of(name) in (Owner.TORCH, Owner.PYTHON):
        return match["file"]
    return match["file"] if world.index.history(name, machine) is not None else None


def _lacks(aim: Aim, soname: str) -> bool:
    return soname.rpartition("/")[2] not in aim.exports.sonames


# --- causes and notes ------------------------------------------------------------------------------------------


def _with_causes(
    report: ArtifactReport,
    facts: SharedObject,
    world: World,
    absent: Sequence[str],
    distribution: str | None,
    *,
    loads_on: Windows | None,
    nowhere: bool,
) -> ArtifactReport:
    """Causes of what is missing; a file that binds pays nothing for them."""
    unbound = (Status.MISSING, Status.UNREACHABLE, Status.UNDECIDED)
    if not absent and not any(b.status in unbound for b in report.imports):
        return report
    from abiscan.diagnosis import diagnose

    diagnosis = diagnose(
        facts,
        report.imports,
        replace(world.knowledge(facts.machine), loads_on=loads_on),
        libraries=absent,
        here=report.loader.outcome is LoaderOutcome.FAILS and report.verdict is not ArtifactVerdict.NOT_TORCH,
        distribution=distribution,
        nowhere=nowhere,
    )
    return replace(report, imports=diagnosis.imports, causes=diagnosis.groups)


def _loads_on(matrix: Matrix, torch: str) -> bool:
    """Whether some known build of a version loads the file; True where none is known."""
    builds = [verdict for verdict in matrix.verdicts if verdict.torch == torch]
    return not builds or any(verdict.loads for verdict in builds)


def _notes(report: ArtifactReport, aim: Aim | None, matrix: Matrix | None, missing: Sequence[str]) -> Iterator[str]:
    if aim is None and report.verdict is ArtifactVerdict.UNDECIDED:
        yield f"no torch build for {report.machine} is known: nothing can be said about its torch imports"
    elif aim is not None and aim.note is not None:
        yield aim.note
    if matrix is not None and matrix.unknown:
        yield (
            f"{len(matrix.unknown)} imports are of a kind that the release index does not record; releases are judged "
            "without them"
        )
    absent = [soname for soname in missing if not is_torch_library(soname)]
    undecided = sum(b.status is Status.UNDECIDED for b in report.imports)
    if absent:
        tail = f": {undecided} imports that they may provide are undecided" if undecided else ""
        yield f"not on this machine: {', '.join(absent)}{tail}"
    if report.verdict is ArtifactVerdict.LOADS and report.loader.outcome is LoaderOutcome.FAILS:
        yield f"torch binds, but this machine's loader stops: {report.loader.error}"
    decisive = any(b.status in (Status.MISSING, Status.UNREACHABLE) for b in report.imports)
    if report.verdict is ArtifactVerdict.FAILS and report.loader.outcome is LoaderOutcome.FAILS and not decisive:
        match = _UNDEFINED.match(report.loader.error or "")
        if match is not None:
            name = os.path.basename(match["file"])
            yield f"every import of the file itself binds; {name}, which it needs, does not load: scan it for why"
    if report.verdict is ArtifactVerdict.FAILS and report.loader.outcome is LoaderOutcome.LOADS:
        yield "the loader would load it here all the same: what is missing for the target is provided by this machine"


def look_at_source(artifact: Artifact) -> Iterator[ArtifactReport]:
    """The report of a source file that a rule has something to say about."""
    from abiscan.source import look_at_source as check

    findings = check(artifact.display, artifact.read(), module_key(artifact.path, artifact.member))
    if findings:
        yield ArtifactReport(
            path=artifact.path,
            member=artifact.member,
            kind=artifact.kind,
            size=artifact.size,
            machine=None,
            verdict=ArtifactVerdict.NOT_TORCH,
            findings=findings,
        )


def _report_of_source(file: SourceFile) -> ArtifactReport:
    return ArtifactReport(
        path=file.path,
        member=None,
        kind=file.kind,
        size=file.size,
        machine=None,
        verdict=ArtifactVerdict.NOT_TORCH,
        findings=tuple(hit.finding for hit in file.hits),
    )


# --- explain ----------------------------------------------------------------------------------------------------


def explain(text: str, options: ScanOptions, *, needed_by: str | None) -> tuple[Subject, ...]:
    """Answer everything that an error message or a log asks, with what is known of the target and this environment.

    Raises:
        UsageError: an unknown `--torch`.
    """
    from abiscan.diagnosis import explain as answer

    world = World(options)
    try:
        world.chosen(_FALLBACK_MACHINE)
    except UnknownBuild:
        # A torch that the index does not have is worth an answer all the same: what came before and after it is known.
        target = named_release(options.torch or "")
        if target is None:
            raise
        known = replace(World(replace(options, torch=None)).knowledge(_FALLBACK_MACHINE), exports=None, exact=False)
        return answer(text, replace(known, target=target), needed_by, file_facts=_facts_of)
    return answer(text, world.knowledge(_FALLBACK_MACHINE), needed_by, file_facts=_facts_of)


def _facts_of(path: str) -> SharedObject | None:
    """The facts of a file that a message names, if it is there and is one."""
    from abiscan.elf import open_elf

    try:
        return open_elf(path).facts()
    except (UnreadableFile, OSError, ValueError):
        return None


def _sha256(elf: ElfFile) -> str:
    from hashlib import sha256

    return sha256(elf.image.buffer).hexdigest()
