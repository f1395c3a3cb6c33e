"""Write the notes on a file: what was not found, and why the verdict and the loader differ."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from abiscan.analysis.file_record import FileRecord
from abiscan.model.imports import CheckedImport, Owner, Status
from abiscan.model.loading import LoaderOutcome, LoaderStop
from abiscan.model.platforms import OperatingSystem, system_of
from abiscan.model.release import ReleaseState
from abiscan.model.report import ArtifactVerdict
from abiscan.model.versions import is_version
from abiscan.model.words import counted, shortened
from abiscan.ownership.gpu_libraries import is_driver
from abiscan.ownership.standard_libraries import ADDED
from abiscan.ownership.torch_names import is_torch_library
from abiscan.ownership.vendors import other_version_provided, vendor_of


def write_notes(record: FileRecord) -> None:
    """Write the notes, one sentence each."""
    record.failure_reasons = reasons = tuple(_failure_reasons(record))
    record.notes = (
        *record.gpu_check.notes,
        *_notes(record, reasons),
        *_unchecked(record),
        *([] if record.called.unread is None else [record.called.unread]),
    )


def _unchecked(record: FileRecord) -> Iterator[str]:
    """What is not checked of a file for another system than Linux, though its symbols resolve."""
    system = system_of(record.facts.machine)
    if not system.unchecked or not record.concerns_torch or record.verdict is not ArtifactVerdict.LOADS:
        return
    yield f"not checked for {system.shown}: {system.unchecked}"


def _choice(record: FileRecord, open_imports: Sequence[CheckedImport]) -> str:
    """Note on the choice of the target torch; empty if there is none."""
    torch, note = record.torch, record.target.of_file.note
    undecided = [b.name for b in open_imports if b.owner is Owner.TORCH]
    if note or not undecided or torch is None or torch.build is None:
        return note
    if torch.exports.stands_for_cuda:
        return (
            f"CUDA symbols not checked ({len(undecided)}): the release index has no build of torch "
            f"{torch.target.version} with CUDA for this system (`abiscan releases add PATH` adds an installed one)"
        )
    if not all(map(torch.exports.knows, undecided)):
        return f"the release index has only torch's own symbols of torch {torch.target.version}"
    return f"the release index has no build of torch {torch.target.version} with the std::string of this file"


def _notes(record: FileRecord, failure_reasons: tuple[str, ...]) -> Iterator[str]:
    problem = record.problem
    undecided = [b for b in record.imports if b.status is Status.UNDECIDED]
    if isinstance(problem, LoaderStop):
        yield f"glibc refuses this file, with any torch: {problem.message}"
    elif problem is not None:
        yield f"unknown whether the loader accepts this file: {problem}"
    yield from _on_torch(record, undecided)
    yield from _on_undecided(record, undecided)
    yield from failure_reasons
    if record.verdict is ArtifactVerdict.FAILS and record.loader.outcome is LoaderOutcome.LOADS:
        yield "the loader would load it here: this machine provides what the target lacks"


def _on_torch(record: FileRecord, undecided: Sequence[CheckedImport]) -> Iterator[str]:
    """The libraries that the target ships in another version, its choice, and what its index lacks."""
    torch, matrix, unfit = record.torch, record.matrix, record.unfit_libraries
    if unfit and torch is not None:
        others = {soname: other_version_provided(soname, torch.exports.provided_libraries) for soname in unfit}
        needs = ", ".join(others)
        ships = ", ".join(dict.fromkeys(filter(None, others.values())))
        ships = ships or ("another CUDA" if torch.target.cuda else "no CUDA libraries")
        yield f"needs {needs}; torch {torch.target.version}+{torch.target.variant} ships {ships}"
    choice = _choice(record, undecided)
    if choice:
        yield choice
    elif torch is None and record.concerns_torch and record.verdict is ArtifactVerdict.UNDECIDED:
        spec = record.context.options.torch
        named = spec is not None and is_version(spec)
        machine = record.facts.machine
        lacking = f"torch {spec} for {machine} is not in the release index"
        yield f"{lacking if named else f'no torch build for {machine} is known'}: its torch imports were not checked"
    elif torch is not None and torch.note is not None:
        yield torch.note
    if matrix is not None and matrix.unknown:
        yield (
            f"{len(matrix.unknown)} imports are not recorded in the release index; releases are checked without them"
        )


def _frameworks(names: Sequence[str], needed: Sequence[str]) -> Iterator[str]:
    """The frameworks of macOS that export undecided imports and that the file does not link."""
    files = {library.rpartition("/")[2] for library in needed}
    for vendor in dict.fromkeys(map(vendor_of, names)):
        if vendor is not None and vendor.framework and files.isdisjoint((vendor.library, *vendor.files)):
            of_it = shortened([name for name in names if vendor_of(name) is vendor])
            yield f"not linked: {vendor.product}, which exports {of_it}; link it with -framework {vendor.library}"


def _on_undecided(record: FileRecord, undecided: Sequence[CheckedImport]) -> Iterator[str]:
    """Where undecided imports may come from, and the libraries that were not found."""
    torch, package, unfit = record.torch, record.package_scope, record.unfit_libraries
    absent = [soname for soname in record.absent.missing if not is_torch_library(soname) and soname not in unfit]
    if absent:
        imports = f"{len(undecided)} import{'s' * (len(undecided) > 1)} may come from " if undecided else ""
        here = torch is not None and torch.installed
        where = "missing on this machine" if here else "which neither the package nor torch provides"
        yield f"not checked: {imports}{', '.join(absent)}, {where}"
    of_python = [b.name for b in undecided if b.owner is Owner.PYTHON]
    if of_python and record.target.possible:
        yield _unknown_python(record, of_python)
    elif of_python and (reason := _unchecked_python(record)):
        yield f"not checked: {counted(len(of_python), 'symbol')} of Python: {reason}"
    late = set(package.late_bound)
    if late:
        called = [each.demangled or each.name for each in record.imports if each.name in late]
        yield f"loads lazily: {len(late)} symbol{'s' * (len(late) > 1)} unresolved until called: {shortened(called)}"
    own = [b.name for b in undecided if b.owner in (Owner.OTHER, Owner.SELF) and b.name not in late]
    if system_of(record.facts.machine) is OperatingSystem.MACOS:
        yield from _frameworks(own, record.facts.needed)
    if own and not absent and not package.absent and not record.concerns_torch:
        yield f"not exported by its package, maybe by the program that loads it: {shortened(own)}"
    if package.absent and not absent and own:
        names = ", ".join(package.absent)
        yield (
            f"not checked: {len(own)} import{'s' * (len(own) > 1)} may come from {names}, which other files of the "
            f"package need and which {'was' if len(package.absent) == 1 else 'were'} not found"
        )
    if record.loader.outcome is LoaderOutcome.FAILS and absent and all(map(is_driver, absent)):
        yield f"the loader would stop here only because the GPU driver is missing: {record.loader.error}"


def _unchecked_python(record: FileRecord) -> str | None:
    if record.target.declared.has_unknown_python:
        return "the exports of the Python that its tag names are not known"
    return record.loader.undecided


def _unknown_python(record: FileRecord, names: list[str]) -> str:
    """Which of the possible CPythons export the names that some of them lack."""
    from abiscan.diagnosis.causes.python_abi import ranges
    from abiscan.environment.python_names import exporting_all

    possible = record.target.possible
    system = system_of(record.facts.machine)
    exporting = [each for each in exporting_all(names, system) if each in possible]
    who = f"only {ranges(exporting, system, possible)} exports" if exporting else "none exports"
    known = f"of CPython {ranges(possible, system, possible)}, which have wheels of this torch, {who}"
    return f"the interpreter is unknown (`--python PATH` names it): {known} {shortened(names)}"


def _failure_reasons(record: FileRecord) -> Iterator[str]:
    """Reasons of a failure although all imports of the file resolve."""
    if any(b.status.is_unresolved for b in record.imports):
        return
    outcome = record.target_outcome
    if record.broken_library is not None:
        name = os.path.basename(record.broken_library)
        yield f"all its imports resolve, but it needs {name}, which does not load: run abiscan on that file"
    newer = [] if outcome is None else [name for name in outcome.missing if name in ADDED]
    if outcome is not None and newer:
        wanted = ", ".join(f"{name} ({ADDED[name]})" for name in newer)
        where = f"{outcome.torch}+{outcome.variant}"
        yield f"exported neither by torch {where} nor by libstdc++ on the oldest system of its wheel's tags: {wanted}"
    if outcome is not None and outcome.state is ReleaseState.FAILS and not outcome.missing and outcome.reason:
        fails = outcome.reason if outcome.reason.startswith("needs ") else f"does not load: {outcome.reason}"
        yield f"all its imports resolve on torch {outcome.torch}+{outcome.variant}, but it {fails}"
