"""The compared part of a report: one file, or one wheel or package with its members."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from abiscan.errors import UsageError
from abiscan.model.fingerprint import module_key
from abiscan.model.report import ArtifactKind, ArtifactReport, Container, InputError, Report


class ComparedScope(Struct, frozen=True):
    """One side of a comparison.

    Attributes:
        path: as written by the user.
        container: the wheel or package of the files, if any.
        files: shared objects by their place in the package, which a rebuild does not change; sorted.
        unread: read errors.
    """

    path: str
    container: Container | None
    files: Mapping[str, ArtifactReport]
    unread: tuple[InputError, ...] = ()

    @property
    def unread_places(self) -> frozenset[str]:
        """Places of files that could not be read, as in `files`."""
        return frozenset(module_key("", error.path.rpartition("!")[2]) for error in self.unread)

    @property
    def unread_sentences(self) -> tuple[str, ...]:
        """Read errors as sentences."""
        return tuple(f"{error.path}: {error.message}" for error in self.unread)


def scope_of(target: str, report: Report) -> ComparedScope:
    """The only wheel, package or file of a run over `target`.

    Raises:
        UsageError: it contains no shared object, or several wheels.
    """
    shared = [a for a in report.artifacts if a.kind is ArtifactKind.SHARED_OBJECT]
    containers = report.containers
    if len(containers) > 1:
        names = ", ".join(container.path for container in containers[:3])
        raise UsageError(f"{target}: holds {len(containers)} wheels or packages ({names}, ...): name one of them")
    if not shared and not report.errors and not containers:
        raise UsageError(f"{target}: contains no shared object")
    return ComparedScope(target, containers[0] if containers else None, files_by_place(shared), report.errors)


def files_by_place(files: list[ArtifactReport]) -> dict[str, ArtifactReport]:
    """Files by module key. Files with the same key (`x.cpython-310-...so`, `x.cpython-311-...so`) by file name."""
    found: dict[str, list[ArtifactReport]] = {}
    for file in files:
        found.setdefault(module_key(file.path, file.member), []).append(file)
    named = {}
    for key, same in found.items():
        for file in same:
            named[key if len(same) == 1 else file.package_path] = file
    return dict(sorted(named.items()))
