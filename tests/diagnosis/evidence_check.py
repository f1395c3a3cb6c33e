"""Checks that every sentence, summary and command in a report is true for its file (`evidence.py`)."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement

from abiscan.diagnosis.catalogue.load_packages import packages_by_name, wheels_by_id
from abiscan.model.cause import Cause, CauseGroup
from abiscan.model.imports import Owner
from abiscan.model.report import ArtifactReport
from abiscan.ownership.vendors import cuda_distributions
from tests.diagnosis.evidence import FIELDS, GROUP_SENTENCES, SENTENCES, SUMMARIES, Sentence
from tests.diagnosis.oracles import Case, Sight, read_elf

_PIP = re.compile(r"pip install ((?:\"[^\"]*\"|[^\s;|]+)(?: (?:\"[^\"]*\"|[^\s;|#&]+))*)")
# What every build of an extension takes from its environment.
_BUILD_TOOLS = ("setuptools", "setuptools<70", "wheel", "ninja")


def wrong_fix(case: Case, fix: str) -> Iterator[str]:
    """Names in the commands of a fix that do not exist."""
    if placeholder := re.search(r"\b(?:PACKAGE|VERSION)\b", fix):
        yield f"{placeholder[0]} is left in a command"
    for found in _PIP.finditer(fix):
        arguments = re.findall(r'"[^"]*"|\S+', found[1])
        skip = False
        for at, argument in enumerate(arguments):
            if skip or argument.startswith("--no-cache") or argument in ("--no-build-isolation", "--no-deps"):
                skip = False
            elif argument == "--no-binary":
                skip = True
                known = packages_by_name().get(arguments[at + 1])
                if known is None or not known.sdist:
                    yield f"{arguments[at + 1]} is not known to publish its source"
            elif argument in ("-f", "-i", "--index-url", "--extra-index-url"):
                skip = True
                yield from _wrong_address(arguments[at + 1])
            elif argument.startswith("https://"):
                yield from _wrong_address(argument)
            elif argument.strip('"').startswith("git+https://"):
                if argument.strip('"').removeprefix("git+") not in {p.repository for p in packages_by_name().values()}:
                    yield f"{argument} is no known repository"
            elif argument in ("--force-reinstall", "--upgrade", "-U", "--no-index", "."):
                continue
            elif argument.strip('"') not in _BUILD_TOOLS:
                yield from _wrong_requirement(case, argument.strip('"'))


def _wrong_address(address: str) -> Iterator[str]:
    if address.split("/")[2] not in "".join(wheels.install for wheels in wheels_by_id().values()):
        yield f"{address} is no known place of wheels"


def _wrong_requirement(case: Case, text: str) -> Iterator[str]:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        yield f"{text} is no requirement"
        return
    if requirement.name == "torch":
        picked = [version for version in case.known if requirement.specifier.contains(version)]
        if not picked:
            yield f"{text}: no known release"
        elif picked[-1] != case.torch and (lacking := _lacking_names(case, picked[-1])):
            yield f"{text}: pip picks {picked[-1]}, which has no {lacking[0]}"
    elif requirement.name not in packages_by_name() and text not in cuda_distributions() and text != "mkl":
        yield f"{text} is no distribution that is known to exist"


def _lacking_names(case: Case, release: str) -> list[str]:
    """Names of torch that some release exports, that the file needs, and that this release does not export."""
    return [
        bound.name
        for bound in case.report.imports
        if bound.owner is Owner.TORCH
        and not bound.symbol.may_stay_unbound
        and case.sight.index.known_omitted(bound.name) is None
        and (exported := case.exported_in(bound.name))
        and release not in exported
    ]


class Untrue(Struct, frozen=True):
    """A sentence without a row, or with a false condition."""

    file: str
    torch: str
    what: str
    said: str

    def __str__(self) -> str:
        return f"{self.file} on {self.torch}: {self.what}: {self.said}"


def check(report: ArtifactReport, folder: Path, sight: Sight, met: set[str]) -> Iterator[Untrue]:
    """Every sentence, summary and fix of one file that is not true; adds the checked rows to `met`.

    Args:
        folder: base of the report's path.
    """
    path = folder / report.path
    file = read_elf(path.read_bytes() if report.member is None else _member(path, report.member))

    def beside() -> frozenset[str]:
        return frozenset() if report.member is None else _needed_in(path)

    for bound in report.imports:
        case = Case(report, file, sight, bound=bound, beside=beside)
        for cause in report.import_causes.get(bound.name, ()):
            for wrong, said in _of_cause(case, cause, met):
                yield Untrue(report.display, case.label, f"{cause.cause} of {case.name}: {wrong}", said)
    for group in report.causes:
        case = Case(report, file, sight, group=group, beside=beside)
        for wrong, said in _of_group(case, group, met):
            yield Untrue(report.display, case.label, f"{group.cause}: {wrong}", said)


def _of_cause(case: Case, cause: Cause, met: set[str]) -> Iterator[tuple[str, str]]:
    for sentence in cause.evidence:
        if (wrong := _wrong(case, sentence, SENTENCES, met)) is not None:
            yield wrong, sentence
    for wrong in wrong_fix(case, cause.fix):
        yield wrong, cause.fix


def _of_group(case: Case, group: CauseGroup, met: set[str]) -> Iterator[tuple[str, str]]:
    held = SUMMARIES.get(group.cause)
    if held is None or not held(case, group):
        yield f"its summary, with {group.confidence} confidence", group.summary
    imports = [bound for bound in case.report.imports if bound.name in group.symbols]
    # Sentences about an import were checked for the import.
    known = {
        sentence
        for bound in imports
        for cause in case.report.import_causes.get(bound.name, ())[:1]
        for sentence in cause.evidence
    }
    for sentence in group.evidence:
        if sentence not in known and (wrong := _wrong(case, sentence, (*GROUP_SENTENCES, *SENTENCES), met)) is not None:
            yield wrong, sentence
    for wrong in wrong_fix(case, group.fix):
        yield wrong, group.fix


def _wrong(case: Case, sentence: str, rows: tuple[Sentence, ...], met: set[str]) -> str | None:
    """Why a sentence must not be printed; None if it is true."""
    row, found = next(((row, found) for row in rows if (found := row.pattern.fullmatch(sentence))), (None, None))
    if row is None or found is None:
        return "no row for the sentence"
    met.add(row.says)
    fields = found.groupdict()
    for name, value in fields.items():
        if name in FIELDS and not FIELDS[name](case, value):
            return f"{name} is not {value!r}"
    return None if row.holds(case, fields) else "its condition does not hold"


def _member(path: Path, member: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(member)


@cache
def _needed_in(path: Path) -> frozenset[str]:
    """Needed libraries of the shared objects in a wheel that are no members."""
    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if ".so" in name and archive.open(name).read(4) == b"\x7fELF"]
        needed = {need for name in members for need in read_elf(archive.read(name)).needed}
    return frozenset(needed - {name.rpartition("/")[2] for name in members})
