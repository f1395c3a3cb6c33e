"""What a message about a library leaves out: which symbol of the file is missing, and on which release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.errors import AbiscanError
from abiscan.mangling import Demangler
from abiscan.model.cause import Cause, CauseId
from abiscan.model.release import ReleaseVerdict
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.model.subject import Subject
from abiscan.model.target import TargetSource
from abiscan.model.versions import ReleaseRanges
from abiscan.model.words import shortened

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
