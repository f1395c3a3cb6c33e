"""One missing name, and what is looked up about it: each fact once, when a module of causes first asks for it."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator

from msgspec import Struct

from abiscan.diagnosis.knowledge import Environment, Knowledge
from abiscan.mangling import (
    CxxName,
    Difference,
    DifferenceKind,
    NameKind,
    classify,
    differences,
    parse,
    search_prefixes,
)
from abiscan.mangling.canonical import to_cuda
from abiscan.model import versions
from abiscan.model.facts import SharedObject, VersionNeed
from abiscan.model.imports import Owner, Status
from abiscan.model.module_name import cpython_of
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership import torch_names
from abiscan.ownership.names import owner_of
from abiscan.releases.build import SymbolHistory, ranges_of
from abiscan.releases.pythons import installable

# Overloads and instances that are looked at; at::_ops has a few hundred for no entity, constructors of containers more.
_RELATED_LIMIT = 400
# Differences of spelling alone: the same function for whoever wrote the call.
_SPELLING = frozenset(
    {
        DifferenceKind.STRING_ABI,
        DifferenceKind.ABI_TAG,
        DifferenceKind.TEMPLATE_MANGLING,
        DifferenceKind.NAMESPACE_ALIAS,
        DifferenceKind.CONSTRUCTOR_VARIANT,
    }
)


class Position(enum.Enum):
    """Where the target's version lies relative to the builds that export a name."""

    INSIDE = enum.auto()
    """Builds of the target's version export it."""
    BEFORE = enum.auto()
    """Every build that exports it is newer than the target."""
    AFTER = enum.auto()
    """Every build that exports it is older than the target."""
    GAP = enum.auto()
    """Older and newer builds export it, those of the target's version don't."""
    NEVER = enum.auto()
    """No known build exports it."""
    UNKNOWN = enum.auto()
    """No target, no index, or the index doesn't record such names."""


class RelatedExport(Struct, frozen=True):
    """Another exported name of the same function, class or object.

    Attributes:
        differences: from the missing name to this one.
        in_target: whether the target exports it; None where that is not known.
        library: that exports it, in the target or else in the newest build that has it.
        windows: of this name; empty where only the target was asked.
    """

    name: str
    parsed: CxxName
    differences: tuple[Difference, ...]
    in_target: bool | None
    library: str | None
    windows: ReleaseRanges

    @property
    def kinds(self) -> frozenset[DifferenceKind]:
        """What sort of differences there are."""
        return frozenset(difference.kind for difference in self.differences)

    @property
    def same_function(self) -> bool:
        """The same call in a source means this name under another compiler, std::string or release."""
        return self.kinds <= _SPELLING

    @property
    def where(self) -> str:
        """Which releases export it, for a sentence."""
        return self.windows.text() if self.windows else "this torch"


class MissingName:
    """A missing name with the facts that speak for one cause or another; each is looked up when first asked for.

    Attributes:
        name: as an ELF file spells it: without the underscore that Mach-O puts first, without a version.
        spelled: as it was given.
        library: the library that a versioned reference names (`libnvJitLink.so.12`), if it is one.
        version: the version that it asks for, if any.
        file_name: of the file that needs it, as far as it is known; perhaps with directories.
        file: that file's own facts, where it was read.
        status: what the binding made of it; None for a name from a text.
        provider: the library that exports it outside of the file's scope, as the binding found it.
        spelled_as: how a text wrote it where `name` was only made for the search (a demangled name that no build
            exports); its parameters are then unknown.
        macho: whether it is a name of macOS.
        distribution, distribution_version: that ships the file, by its own metadata; None where that was not read.
        unfound: libraries that `ldd` said it did not find when it missed the name.
        link_time: whether a linker complains, not a loader: what is loaded in which order then doesn't matter.
        before_torch: whether a text shows the file imported, and torch not before it.
    """

    def __init__(
        self,
        name: str,
        knowledge: Knowledge,
        *,
        library: str | None = None,
        version: str | None = None,
        file_name: str | None = None,
        file: SharedObject | None = None,
        owner: Owner | None = None,
        status: Status | None = None,
        provider: str | None = None,
        spelled_as: str | None = None,
        macos: bool = False,
        msvc: bool = False,
        link_time: bool = False,
        before_torch: bool = False,
        unfound: tuple[str, ...] = (),
        distribution: str | None = None,
        distribution_version: str | None = None,
    ) -> None:
        self.spelled = name
        self.name_kind = classify(name)
        self.name = name[1:] if self.name_kind is NameKind.MACHO else name
        self.macho = macos or self.name_kind is NameKind.MACHO
        self.msvc = msvc
        self.spelled_as = spelled_as
        self.link_time = link_time
        self.before_torch = before_torch
        self.unfound = unfound
        self.distribution = distribution
        self.distribution_version = distribution_version
        self.knowledge = knowledge
        self.library = library
        self.version = version
        self.file_name = file_name if file_name is not None else (file.path if file is not None else None)
        self.file = file
        self.bound_owner = owner
        self.status = status
        self.provider = provider

    # --- the name ---------------------------------------------------------------------------------------------------

    @functools.cached_property
    def cxx(self) -> CxxName | None:
        """The parts of the name, if it is C++."""
        return parse(self.name)

    @functools.cached_property
    def shown(self) -> str:
        """The name as a person reads it, bounded."""
        text = self.spelled_as or (self.cxx.display if self.cxx is not None else self.name)
        return text if len(text) <= 200 else text[:200] + "..."

    @property
    def namespace(self) -> str | None:
        """Outermost namespace of a C++ name."""
        return None if self.cxx is None else self.cxx.namespace

    # --- the target -------------------------------------------------------------------------------------------------

    @property
    def target(self) -> TorchBuild | None:
        """The torch that the name is missing from."""
        return self.knowledge.target

    @property
    def environment(self) -> Environment | None:
        """The machine, where it is known."""
        return self.knowledge.environment

    @functools.cached_property
    def target_label(self) -> str:
        """The target in a sentence: `torch 2.6.0 (cu124)`."""
        if self.target is None:
            return "the installed torch"
        variant = f" ({self.target.variant})" if self.target.variant else ""
        if versions.order(self.target.version) is None:
            return f"the installed torch{variant}"
        return f"torch {self.target.version}{variant}"

    @functools.cached_property
    def target_library(self) -> str | None:
        """The library of the target that exports the name; None where none does or nobody knows."""
        return None if self.knowledge.exports is None else self.knowledge.exports.library_of(self.name)

    @property
    def cxx11_abi(self) -> bool | None:
        """Whether the target's std::string is the new one; None where that is not known."""
        return self.knowledge.cxx11_abi if self.target is None else self.target.cxx11_abi

    @property
    def exports_known(self) -> bool:
        """Whether the target's exports can be asked."""
        return self.knowledge.exports is not None

    # --- the history ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def history(self) -> SymbolHistory | None:
        """The name over all known builds."""
        releases = self.knowledge.releases
        return None if releases is None else releases.history(self.name, self.knowledge.machine)

    @functools.cached_property
    def windows(self) -> ReleaseRanges | None:
        """Releases that export it; empty where none does; None where the index records no such names, or no build of
        the architecture."""
        releases = self.knowledge.releases
        if releases is None or not self.known_versions or releases.known_omitted(self.name) is not None:
            return None
        if self.spelled_as is not None and self.history is not None:
            # Parameters are unknown: every form of the function counts.
            forms = [self.history, *(releases.history(form.name, self.knowledge.machine) for form in self.related)]
            present = [
                any(f is not None and f.exports[at] is not None for f in forms)
                for at in range(len(self.history.builds))
            ]
            return ranges_of(self.history.builds, present)
        if self.history is None and self.of_linux is not None:
            # Whichever of libstdc++'s two strings a build has: libc++ has one.
            releases_with = {
                release
                for form in self.related
                if form.same_function
                for release in self.known_versions
                if form.windows.contains(release)
            }
            return ReleaseRanges.of_known(self.known_versions, releases_with.__contains__)
        return ReleaseRanges() if self.history is None else self.history.windows

    @functools.cached_property
    def of_linux(self) -> RelatedExport | None:
        """The Linux name of a macOS name: libc++'s types stand in the namespace std::__1, and the index has no builds
        of macOS."""
        if not self.macho or "St3__1" not in self.name:
            return None
        return next((form for form in self.related if form.same_function), None)

    @functools.cached_property
    def libraries(self) -> tuple[str, ...]:
        """Every library that exports it in some build, that of the newest build first."""
        if self.history is None:
            return ()
        found: dict[str, None] = {}
        for export in reversed(self.history.exports):
            if export is not None:
                found.update(dict.fromkeys(export.libraries))
        return tuple(found)

    @functools.cached_property
    def known_versions(self) -> tuple[str, ...]:
        """Versions of the known builds, oldest first."""
        releases = self.knowledge.releases
        if releases is None:
            return ()
        return tuple(dict.fromkeys(build.torch for build in releases.builds(self.knowledge.machine)))

    @functools.cached_property
    def before_index(self) -> bool:
        """Whether the target is older than every known build, so that windows say nothing of it."""
        return self._beyond(0)

    @functools.cached_property
    def after_index(self) -> bool:
        """Whether the target is newer than every known build."""
        return self._beyond(-1)

    def _beyond(self, end: int) -> bool:
        if self.target is None or not self.known_versions:
            return False
        at, bound = versions.order(self.target.version), versions.order(self.known_versions[end])
        return at is not None and bound is not None and (at < bound if end == 0 else at > bound)

    @functools.cached_property
    def position(self) -> Position:
        """Where the target's version lies relative to the windows."""
        if self.windows is None or self.target is None or versions.order(self.target.version) is None:
            return Position.UNKNOWN
        if not self.windows:
            return Position.NEVER
        if self.windows.contains(self.target.version):
            return Position.INSIDE
        if self.windows.all_after(self.target.version):
            return Position.BEFORE
        if self.windows.all_before(self.target.version):
            # Exported by the newest known build: a torch that came later most likely has it still.
            return (
                Position.UNKNOWN
                if self.after_index and self.windows[-1][1] == self.known_versions[-1]
                else Position.AFTER
            )
        return Position.GAP

    @property
    def exported_text(self) -> str:
        """A sentence on which releases export it."""
        if self.windows is None:
            return f"Whether releases of torch export {self.shown} is not recorded."
        if not self.windows:
            first, last = self.known_versions[0], self.known_versions[-1]
            return f"None of the known builds ({first} - {last}) exports {self.spelled_as or self.name}."
        if self.history is None and self.of_linux is not None:
            return (
                f"The index has no macOS builds; those of Linux have the same function in torch {self.windows.text()}."
            )
        return f"{self.shown} is exported by torch {self._windows_with_libraries()}."

    def _windows_with_libraries(self) -> str:
        """`1.1.0 - 1.11.0 in libc10.so and 2.9.0 - 2.15.0 in libtorch_nvshmem.so`; a library that all have once."""
        return " and ".join(f"{spans.text()} in {names[0]}" if names else spans.text() for spans, names in self.places)

    @functools.cached_property
    def places(self) -> tuple[tuple[ReleaseRanges, tuple[str, ...]], ...]:
        """The windows with the libraries that export the name in the newest release of each; windows with the same
        first library are one."""
        if not self.windows:
            return ()
        if self.history is None or not self.libraries:
            return ((self.windows, ()),)
        found = []
        for span in self.windows:
            one = ReleaseRanges((span,))
            of_span = [build for build in self.history.exported_in if one.contains(build.torch)]
            newest = self.history.export(of_span[-1]) if of_span else None
            found.append((one, () if newest is None else newest.libraries))
        if len({names[:1] for _one, names in found}) == 1:
            return ((self.windows, self.libraries),)
        return tuple(found)

    # --- related exports --------------------------------------------------------------------------------------------

    @functools.cached_property
    def related(self) -> tuple[RelatedExport, ...]:
        """Other names of the same entity (in its CUDA or ROCm spelling too), the most alike first."""
        if self.cxx is None:
            return ()
        wanted = to_cuda(self.cxx.entity)
        found = []
        for name, history, in_target, library in self._alike():
            parsed = parse(name)
            if parsed is None or name == self.name or to_cuda(parsed.entity) != wanted:
                continue
            windows = ReleaseRanges() if history is None else history.windows
            found.append(RelatedExport(name, parsed, differences(self.cxx, parsed), in_target, library, windows))
        found.sort(key=lambda form: (not form.in_target, len(form.differences), form.name))
        return tuple(found)

    def _alike(self) -> Iterator[tuple[str, SymbolHistory | None, bool | None, str | None]]:
        """Names with the entity's prefixes: (name, history, whether the target exports it, library)."""
        assert self.cxx is not None
        releases, exports = self.knowledge.releases, self.knowledge.exports
        names: dict[str, SymbolHistory | None] = {}
        for prefix in search_prefixes(self.cxx):
            if exports is not None and self.knowledge.exact:
                names.update(dict.fromkeys(exports.with_prefix(prefix, _RELATED_LIMIT)))
            if releases is not None:
                for history in releases.prefix(prefix, self.knowledge.machine, _RELATED_LIMIT):
                    names[history.name] = history
        for name, known in names.items():
            if exports is not None:
                library = exports.library_of(name)
                in_target: bool | None = library is not None
            else:
                library = None
                in_target = None
                if known is not None and self.target is not None and not self.before_index and not self.after_index:
                    in_target = known.windows.contains(self.target.version)
            if library is None and known is not None:
                newest = next(export for export in reversed(known.exports) if export is not None)
                library = newest.library
            yield name, known, in_target, library

    # --- the file ---------------------------------------------------------------------------------------------------

    @functools.cached_property
    def base_name(self) -> str:
        """The file's name without directories, lower case; empty where it is not known."""
        return (self.file_name or "").replace("\\", "/").rsplit("/", 1)[-1].lower()

    @functools.cached_property
    def module(self) -> str:
        """The module that the file is, as Python imports it (`_C` of `/x/_C.cpython-310-x86_64-linux-gnu.so`)."""
        return (self.file_name or "").replace("\\", "/").rsplit("/", 1)[-1].split(".")[0]

    @functools.cached_property
    def python_of_file(self) -> tuple[int, int] | None:
        """The CPython that the file's name says it was made for."""
        return cpython_of(self.base_name)

    @functools.cached_property
    def loading_python(self) -> PythonVersion | None:
        """The CPython that loads the file: by the file's name, else the environment's; None where neither tells."""
        if self.python_of_file is not None:
            return PythonVersion(*self.python_of_file)
        here = None if self.environment is None else self.environment.python
        return None if here is None else PythonVersion(here.major, here.minor)

    @functools.cached_property
    def installable_versions(self) -> tuple[str, ...]:
        """Known releases with wheels for the CPython that loads the file; all where it is not known."""
        known = self.known_versions
        return known if self.loading_python is None else installable(known, self.loading_python)

    @functools.cached_property
    def is_torch_itself(self) -> bool:
        """Whether the file is one of torch's own libraries."""
        name = self.file_name or ""
        return torch_names.is_torch_library(name) or torch_names.is_torch_module(name)

    def needs(self, soname: str) -> bool | None:
        """Whether the file lists a library as needed; None where the file was not read."""
        return None if self.file is None else soname in self.file.needed

    @functools.cached_property
    def is_torch_name(self) -> bool:
        """Whether some torch exports the name, or it is spelt as torch's own are."""
        if self.history is not None or self.target_library is not None:
            return True
        # Of a C++ name that cannot be read, its beginning alone says too little.
        readable = self.cxx is not None or self.bound_owner is not None or not self.name.startswith("_Z")
        return readable and self.owner is Owner.TORCH

    @functools.cached_property
    def owner(self) -> Owner:
        """Whose name it is: as the binding found, else by the name, the reference and the torch that exports it."""
        if self.bound_owner is not None:
            return self.bound_owner
        reference = None
        if self.library is not None or self.version is not None:
            reference = VersionNeed(self.library or "", self.version or "", False)
        provider = self.provider or self.target_library or next(iter(self.libraries), None)
        return owner_of(self.name, reference, provider)
