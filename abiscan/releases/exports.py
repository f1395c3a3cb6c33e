"""Exports of the target torch, looked up by name in its libraries on disk or in the release index."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from abiscan.binary import Binary, open_binary
from abiscan.ownership.torch_names import accelerator_of, in_scope
from abiscan.releases import Build, ReleaseIndex
from abiscan.releases.omission import omission, recorded


class TargetExports(Protocol):
    """The exports of one torch build, looked up by name."""

    @property
    def sonames(self) -> frozenset[str]:
        """Its libraries (`libc10.so`, ...)."""
        ...

    def library_of(self, name: str) -> str | None:
        """The soname of the library that exports a mangled name; None if none does."""
        ...

    def look_up(self, names: Iterable[str]) -> None:
        """Look up names that will be asked for, together: faster than each alone."""
        ...

    def library_in(self, name: str, reached: Collection[str]) -> str | None:
        """The soname of a library among `reached` that exports the name; None if none does."""
        ...

    def in_scope(self, needed: Iterable[str]) -> frozenset[str]:
        """Its libraries in the scope of a file that needs these sonames, after `import torch`."""
        ...

    def knows(self, name: str) -> bool:
        """Whether None from `library_of` means that no library exports the name; False if such names are not
        recorded."""
        ...

    def with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Exported names that start with `prefix`, sorted, at most `limit`."""
        ...

    def path_of(self, soname: str) -> str | None:
        """The path of a library of the build, on disk or in its wheel; None if the build does not ship it."""
        ...

    @property
    def provided_libraries(self) -> frozenset[str]:
        """Sonames that its libraries need and it does not ship: CUDA's, which its requirements install, and the
        system's."""
        ...

    @property
    def is_indexed(self) -> bool:
        """Whether the release index of the run has every name that `with_prefix` finds."""
        ...

    @property
    def stands_for_cuda(self) -> bool:
        """Whether it stands for the CUDA builds of its release, which the index lacks: the exports of their CUDA
        libraries are unknown."""
        ...


class ReleasedExports:
    """Exports of a released build, from the index."""

    is_indexed = False  # the index of an archive is not the one of the run

    def __init__(self, index: ReleaseIndex, build: Build) -> None:
        self._index = index
        self.build = build
        self.sonames = frozenset(build.libraries)
        self.provided_libraries = build.provided_libraries
        self.stands_for_cuda = index.stands_for_cuda(build)

    def library_of(self, name: str) -> str | None:
        """The library that defines the name; None if none exports it or the index does not record it."""
        export = self._index.exports(self.build, name)
        return None if export is None else export.library

    def look_up(self, names: Iterable[str]) -> None:
        """See `TargetExports.look_up`."""
        self._index.lookup(names, self.build.machine, of_others=True)

    def library_in(self, name: str, reached: Collection[str]) -> str | None:
        """The first library among `reached` that exports the name."""
        export = self._index.exports(self.build, name)
        return None if export is None else next((each for each in export.libraries if each in reached), None)

    def in_scope(self, needed: Iterable[str]) -> frozenset[str]:
        """All libraries if the build loads them globally; otherwise those that the needed ones load."""
        return self.sonames if self.build.is_global else in_scope(needed, self.sonames)

    def knows(self, name: str) -> bool:
        """Whether the index records this kind of name for the build."""
        return omission(name) is None if self.build.own_names else recorded(name)

    def path_of(self, soname: str) -> str | None:
        """The path of the library in its wheel."""
        return f"torch/lib/{soname}" if soname in self.sonames else None

    def with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Names of the build that start with `prefix`."""
        found = self._index.prefix(prefix, self.build.machine, limit)
        return tuple(name for name, history in found.items() if history.export(self.build) is not None)


class VariantExports(ReleasedExports):
    """Exports of a variant of a release (`cu118`, `cpu`) of which the index has another variant: all variants export
    the same names, except from the libraries of an accelerator."""

    def __init__(self, index: ReleaseIndex, build: Build, accelerator: str | None) -> None:
        super().__init__(index, build)
        self._accelerator = accelerator
        self.sonames = frozenset(soname for soname in build.libraries if self._has(soname))

    def _has(self, soname: str) -> bool:
        return accelerator_of(soname) in (None, self._accelerator)

    def library_of(self, name: str) -> str | None:
        """The library that defines the name; None also if only one of another accelerator does."""
        export = self._index.exports(self.build, name)
        return None if export is None else next((each for each in export.libraries if self._has(each)), None)

    def with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Names of the release that start with `prefix`, except those of another accelerator."""
        return tuple(name for name in super().with_prefix(prefix, limit) if self.library_of(name) is not None)


class InstalledExports:
    """Exports of torch's libraries on disk, through their hash tables; nothing is enumerated.

    Args:
        libraries: paths in the order of symbol lookup (`InstalledTorch.libraries`).
        opener: how to open one; a run that has them open already passes its own.
        released: names with a prefix in the release index, if this torch was built from the commit of a release:
            looking each of them up here takes microseconds, while searching the 15 MB of names of libtorch_cpu takes
            milliseconds. None if the index may not have all of its names.
    """

    def __init__(
        self,
        libraries: Sequence[str],
        opener: Callable[[str], Binary] = open_binary,
        released: Callable[[str, int], Sequence[str]] | None = None,
    ) -> None:
        self._released = released
        self.is_indexed = released is not None
        self._paths = tuple(libraries)
        self._names = frozenset(os.path.basename(path) for path in libraries)
        self._open = opener
        self._files: list[tuple[str, Binary]] | None = None
        self._known: dict[str, str | None] = {}
        self.stands_for_cuda = False

    def _libraries(self) -> list[tuple[str, Binary]]:
        if self._files is None:
            # A damaged one is an error of the run: its exports are unknown and must not be reported as missing.
            self._files = [(os.path.basename(path), self._open(path)) for path in self._paths]
        return self._files

    @functools.cached_property
    def _names_by_soname(self) -> dict[str, str]:
        """Soname -> file name, where they differ: Debian's `torch/lib/libc10.so` is a link to `libc10.so.1.13`."""
        return {each.soname: name for name, each in self._libraries() if each.soname and each.soname != name}

    @functools.cached_property
    def sonames(self) -> frozenset[str]:
        """The names by which a file can need its libraries."""
        return self._names.union(self._names_by_soname)

    @functools.cached_property
    def provided_libraries(self) -> frozenset[str]:
        """Sonames that its libraries need and it does not ship."""
        return frozenset(need for _soname, each in self._libraries() for need in each.needed) - self.sonames

    def library_of(self, name: str) -> str | None:
        """The file name (soname) of the library that exports the name; None if none does.

        Raises:
            UnreadableFile: a library of the torch is damaged.
        """
        if name not in self._known:
            self._known[name] = next((soname for soname, each in self._libraries() if each.exports_name(name)), None)
        return self._known[name]

    def look_up(self, names: Iterable[str]) -> None:
        """Nothing: a name is found through hash tables."""

    def library_in(self, name: str, reached: Collection[str]) -> str | None:
        """The first library among `reached` that exports the name."""
        return next((soname for soname, elf in self._libraries() if soname in reached and elf.exports_name(name)), None)

    def in_scope(self, needed: Iterable[str]) -> frozenset[str]:
        """The libraries that the needed ones load."""
        return in_scope((self._names_by_soname.get(name, name) for name in needed), self._names)

    def knows(self, name: str) -> bool:
        """Always true: the libraries themselves are searched."""
        return True

    def path_of(self, soname: str) -> str | None:
        """The file of that name."""
        name = self._names_by_soname.get(soname, soname)
        return next((path for path in self._paths if os.path.basename(path) == name), None)

    def with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Exported names that start with `prefix`, sorted, at most `limit`."""
        found: set[str] = set()
        if self._released is not None:
            return tuple(sorted(n for n in self._released(prefix, limit) if self.library_of(n) is not None))
        for _soname, library in self._libraries():
            found.update(library.names_with_prefix(prefix, limit - len(found)))
            if len(found) >= limit:
                break
        return tuple(sorted(found))
