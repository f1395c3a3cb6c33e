"""What a message about a library leaves out: which symbol of the file is missing, and on which release. Also for the
imports of a Windows file as dumpbin, Dependencies, objdump or llvm-readobj list them, without the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.errors import AbiscanError
from abiscan.mangling import Demangler
from abiscan.model.cause import Cause, CauseId
from abiscan.model.imports import DemangledBy
from abiscan.model.platforms import file_key
from abiscan.model.release import ReleaseVerdict
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.model.subject import Subject, SubjectKind
from abiscan.model.target import TargetSource
from abiscan.model.versions import ReleaseRanges
from abiscan.model.words import shortened
from abiscan.ownership.torch_names import is_torch_library
from abiscan.releases import ReleaseIndex
from abiscan.releases.matrix import TorchNeeds, build_matrix

# Symbols that a note names, of one release.
_NAMED = 3


def with_file(subject: Subject, path: str, options: ScanOptions) -> Subject:
    """The answer to a message about a file that is here: its causes by the file itself, and its symbols by release."""
    try:
        report = scan([path], replace(options, matrix=True))
    except AbiscanError:
        return subject
    if len(report.artifacts) != 1 or report.artifacts[0].verdict is ArtifactVerdict.UNREADABLE:
        return subject
    file = report.artifacts[0]
    causes = tuple(Cause(each.cause, each.confidence, (each.summary, *each.evidence), each.fix) for each in file.causes)
    if not _is_known(file, options):
        # Which torch refused it is not known: the file may load on the newest, which is what it was checked against.
        causes = ()
    own = {each.cause for each in causes}
    if causes and path.endswith(".so") and CauseId.LIBRARY_MISSING not in own:
        # With any torch, the library needs others, such as FFmpeg.
        causes += tuple(each for each in subject.causes if each.cause is CauseId.LIBRARY_MISSING)
    return replace(
        subject, causes=causes or subject.causes, needed_by=path, notes=(*subject.notes, *_notes(file, options))
    )


def _is_known(file: ArtifactReport, options: ScanOptions) -> bool:
    """Whether the torch that the file was checked against is the one of the message."""
    torch = None if file.target is None else file.target.torch
    return options.torch is not None or (torch is not None and torch.source is TargetSource.ENVIRONMENT)


def _notes(file: ArtifactReport, options: ScanOptions) -> Iterator[str]:
    if not file.releases:
        yield "The file imports nothing of torch: a library that it needs is missing, or lacks a symbol."
        return
    yield from release_notes(file.releases)
    if any(each.loads for each in file.releases) and not _is_known(file, options):
        yield "Pass --torch VERSION for the torch of the message."
    absent = [each.soname for each in file.needed if each.found is None]
    if absent:
        system = "this system" if file.path.endswith(".so") else "Windows"
        yield f"Neither its package, nor torch, nor {system} has {', '.join(absent)}, which it needs."
    if any("CUDA symbols not checked" in note for note in file.notes):
        yield next(note for note in file.notes if "CUDA symbols not checked" in note)


def release_notes(verdicts: Sequence[ReleaseVerdict]) -> Iterator[str]:
    """Sentences about the releases on which the torch symbols of a file resolve, and what the next ones lack."""
    releases = _newest_of_each(verdicts)
    loads = any(each.loads for each in releases)
    spans = [(fits, list(group)) for fits, group in groupby(releases, key=lambda each: each.loads)]
    if loads:
        ends = [(span[0].torch, span[-1].torch) for fits, span in spans if fits]
        yield f"Its torch symbols all resolve on torch {ReleaseRanges(ends).text(last=', ')}."
    else:
        yield f"Its torch symbols do not all resolve on any known release ({releases[0].torch}-{releases[-1].torch})."
    readable = Demangler().demangle
    for at, (fits, span) in enumerate(spans):
        if fits:
            continue
        # The release next to those on which it loads has the fewest missing symbols: it shows what changed.
        nearest = span[-1] if at + 1 < len(spans) else span[0]
        names = [readable(name).text or name for name in nearest.missing]
        if names:
            yield f"torch {nearest.torch} does not export {len(names)} of its symbols: {shortened(names, _NAMED)}"
        else:
            yield f"It does not load on torch {nearest.torch} ({nearest.reason})"


def _newest_of_each(verdicts: Sequence[ReleaseVerdict]) -> list[ReleaseVerdict]:
    """One verdict a release, one that loads if there is one."""
    found: dict[str, ReleaseVerdict] = {}
    for each in verdicts:
        if each.torch not in found or each.loads:
            found[each.torch] = each
    return list(found.values())


# Headings of the listings: dumpbin /imports; Dependencies.exe -imports; objdump -p; llvm-readobj --coff-imports.
_HEADINGS = ("Section contains the following imports", "Import from module ", "DLL Name: ", "ImportAddressTableRVA")
_FILE = re.compile(r"(?:Dump of file|Import listing for file :|File:) ?(.{1,1024})")
_LIBRARY = re.compile(
    r"\s{0,40}(?:Import from module |DLL Name: |Name: )?([\w.+-]{1,255}\.(?i:dll|pyd))(?: :)?\s{0,40}$"
)
# A hint, an address with a hint, or a word, then the name; llvm-readobj has the hint behind it.
_IMPORT = re.compile(
    r"\s{1,40}(?:Function |Symbol: |(?:[0-9A-Fa-f]{1,16}\s{1,40}){1,3})"
    r"([?@\w][^\s()]{0,65535})(?: \(\d{1,5}\))?\s{0,40}$"
)
_MOST_IMPORTS = 100_000


def imports_in(text: str) -> list[tuple[str, str]]:
    """The (library, symbol) pairs of a listing; empty for another text."""
    return list(_imports_in(text)) if any(heading in text for heading in _HEADINGS) else []


def _imports_in(text: str) -> Iterator[tuple[str, str]]:
    library, count = None, 0
    for line in text.splitlines():
        if found := _LIBRARY.match(line):
            library = file_key(found[1])
        elif library is not None and (found := _IMPORT.match(line)):
            yield library, found[1]
            count += 1
            if count == _MOST_IMPORTS:
                return


def explain_imports(text: str, index: ReleaseIndex) -> Subject | None:
    """The releases that export the torch imports of a listing; None if the text lists none."""
    wanted = [(library, name) for library, name in imports_in(text) if is_torch_library(library)]
    if not wanted:
        return None
    homes: dict[str, tuple[str, ...]] = {}
    for library, name in wanted:
        homes[name] = tuple(dict.fromkeys((*homes.get(name, ()), library)))
    needs = TorchNeeds(
        names=tuple(homes),
        libraries=tuple(dict.fromkeys(library for library, _name in wanted)),
        machine="win_amd64",
        homes=homes,
        all_libraries=True,
    )
    verdicts = build_matrix(needs, index).verdicts
    notes = [f"It lists {len(homes)} symbols of torch, for Windows.", *release_notes(verdicts)]
    file = _FILE.search(text)
    shown = file[1].strip() if file is not None else "the listed file"
    return Subject(shown, SubjectKind.LIBRARY, None, None, DemangledBy.NONE, None, None, (), notes=tuple(notes))
