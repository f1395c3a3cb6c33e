"""One missing symbol and the facts about it, each looked up on first access."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from msgspec.structs import replace

from abiscan.diagnosis.knowledge import Environment, Knowledge
from abiscan.diagnosis.reference import Reference, ReferringFile
from abiscan.diagnosis.related_exports import RelatedExport, find_related, with_prefixes
from abiscan.diagnosis.release_position import Position, position_of
from abiscan.diagnosis.text.gpu_vendors import NO_GPU, NOT_NVIDIA
from abiscan.diagnosis.text.log_facts import LogFacts
from abiscan.mangling import CxxName, DifferenceKind, NameKind, classify, parse
from abiscan.model.facts import VersionNeed
from abiscan.model.imports import Owner
from abiscan.model.platforms import OperatingSystem, system_of
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership import torch_names
from abiscan.ownership.names import owner_of
from abiscan.ownership.vendor_row import Vendor
from abiscan.ownership.vendors import is_header_only, vendor_of
from abiscan.releases.build import SymbolHistory, ranges_of
from abiscan.releases.omission import Omission, has_torch_scope, omission
from abiscan.releases.pythons import installable

# Builds of other processors and systems with names of the same mangling.
_OTHER_MACHINES = {"x86_64": "x86_64", "aarch64": "Arm (aarch64)", "macosx_arm64": "macOS"}
_P = ParamSpec("_P")
_T = TypeVar("_T")


class MissingName:
    """A missing symbol and the facts for or against causes, each looked up on first access.

    Attributes:
        reference: the unresolved reference.
        file: the file with the reference.
        name: as in an ELF file: without the leading underscore of Mach-O, without a version.
        macho: whether it is a symbol of macOS.
    """

    def __init__(self, reference: Reference, knowledge: Knowledge, file: ReferringFile | None = None) -> None:
        self.reference = reference
        self.knowledge = knowledge
        self.file = file or ReferringFile()
        self.name_kind = classify(reference.name)
        is_macho = self.name_kind is NameKind.MACHO
        self.name = reference.name[1:] if is_macho else reference.name
        self.macho = reference.macos or is_macho

    def with_knowledge(self, **changes: Any) -> MissingName:
        """The same with other members of the knowledge."""
        return MissingName(self.reference, replace(self.knowledge, **changes), self.file)

    # --- the name ---------------------------------------------------------------------------------------------------

    @functools.cached_property
    def cxx(self) -> CxxName | None:
        """The parsed name, if it is C++."""
        return parse(self.name)

    @property
    def parsed(self) -> CxxName:
        """The same of a name that is C++."""
        assert self.cxx is not None
        return self.cxx

    @functools.cached_property
    def shown(self) -> str:
        """The readable name, truncated."""
        text = self.reference.spelled_as or (self.cxx.display if self.cxx is not None else self.name)
        return text if len(text) <= 200 else text[:200] + "..."

    @property
    def vendor(self) -> Vendor | None:
        """The library with C names like this one; a framework only for a symbol that may be of macOS."""
        vendor = vendor_of(self.name)
        of_macos = self.system is OperatingSystem.MACOS or self.reference.bare
        return None if vendor is not None and vendor.framework and not of_macos else vendor

    @property
    def namespace(self) -> str | None:
        """Outermost namespace of a C++ name; for a plugin's in one of torch with the next one: `c10::musa`."""
        if self.cxx is None:
            return None
        inner = "::".join(self.cxx.scope[:2])
        return inner if torch_names.is_device_plugin(inner) else self.cxx.namespace

    @property
    def system(self) -> OperatingSystem:
        """The system of the file that needs it."""
        platform = self.log.platform
        if self.macho or platform.startswith("macosx"):
            return OperatingSystem.MACOS
        of_windows = self.reference.msvc or platform.startswith("win")
        return OperatingSystem.WINDOWS if of_windows else system_of(self.knowledge.machine)

    # --- the target -------------------------------------------------------------------------------------------------

    @property
    def target(self) -> TorchBuild | None:
        """The torch that lacks the symbol."""
        return self.knowledge.target

    @property
    def target_version(self) -> str:
        """The version of the target; empty if unknown."""
        return "" if self.target is None else self.target.version

    @property
    def target_variant(self) -> str:
        """The variant of the target; empty if unknown."""
        return "" if self.target is None else self.target.variant

    @property
    def variant_is_assumed(self) -> bool:
        """Whether the target of a text has the variant of the package index, and nothing shows the installed one."""
        is_known = (
            self.knowledge.labelled
            or self.knowledge.exact
            or self.log.cpu_build
            or self.log.gpu in (NO_GPU, *NOT_NVIDIA)
        )
        return self.file.facts is None and not is_known

    @property
    def target_cuda(self) -> str:
        """The CUDA release of the target (`9.0`, also of a build with 9.0.176); empty if it has none or is unknown."""
        cuda = None if self.target is None else self.target.cuda
        return ".".join((cuda or "").split(".")[:2])

    @property
    def target_cuda_major(self) -> str:
        """Its major release (`12`)."""
        return self.target_cuda.partition(".")[0]

    @property
    def environment(self) -> Environment:
        """The machine and the interpreter; without facts if they are unknown."""
        return self.knowledge.environment or Environment()

    @property
    def log(self) -> LogFacts:
        """What a text states about the environment."""
        return self.knowledge.log

    @property
    def built_packages(self) -> tuple[str, ...]:
        """The packages of a text that says that torch was built from source: what one of them lacks, all lack."""
        return self.log.built_packages if self.knowledge.target_from_source else ()

    @property
    def target_label(self) -> str:
        """The target in a sentence: `torch 2.6.0 (cu124)`."""
        return self.knowledge.target_label

    @functools.cached_property
    def target_library(self) -> str | None:
        """The library of the target that exports the symbol; None if there is none or it is unknown."""
        exports = self.knowledge.exports
        if exports is None:
            return None
        return next((found for name in self._linux_names if (found := exports.library_of(name)) is not None), None)

    @functools.cached_property
    def _linux_names(self) -> tuple[str, ...]:
        """Its names in the index: unchanged in macOS builds, with Linux integer types in Linux builds."""
        if not self.macho:
            return (self.name,)
        from abiscan.mangling.macos_integers import linux_names

        return (self.name, *linux_names(self.name))

    # --- the history ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def history(self) -> SymbolHistory | None:
        """The symbol over all known builds."""
        releases = self.knowledge.releases
        if releases is None:
            return None
        found = (releases.history(name, self.knowledge.machine) for name in self._linux_names)
        return next((history for history in found if history is not None), None)

    @functools.cached_property
    def exported_in(self) -> ReleaseRanges | None:
        """Releases that export it; empty for none; None if the index does not record such symbols, or has no build of
        the architecture."""
        releases = self.knowledge.releases
        if releases is None or not self.known_versions or releases.known_omitted(self.name) is not None:
            return None
        if self.reference.spelled_as and self.history is None and not self.related:
            from abiscan.diagnosis.text.demangled_text import before_parameters

            if "<" in before_parameters(self.reference.spelled_as):
                return None  # members of class templates are not found by their demangled names
        if self.reference.spelled_as and self.history is not None:
            # Unknown parameters: every form of the function counts.
            forms = [self.history, *(releases.history(form.name, self.knowledge.machine) for form in self.related)]
            present = [
                any(f is not None and f.exports[at] is not None for f in forms)
                for at in range(len(self.history.builds))
            ]
            return ranges_of(self.history.builds, present)
        if self.history is None and self.linux_counterpart is not None:
            # With either string ABI of libstdc++: libc++ has one.
            releases_with = {
                release
                for form in self.related
                if form.same_function
                for release in self.known_versions
                if form.exported_in.contains(release)
            }
            return ReleaseRanges.of_known(self.known_versions, releases_with.__contains__)
        return ReleaseRanges() if self.history is None else self.history.exported_in

    @functools.cached_property
    def linux_counterpart(self) -> RelatedExport | None:
        """The Linux symbol of a macOS symbol that no build for macOS exports. libc++ types are in the namespace
        std::__1."""
        if not self.macho or "St3__1" not in self.name or self.history is not None:
            return None
        if system_of(self.knowledge.machine) is OperatingSystem.MACOS and self.is_of_template_parameters:
            return None  # its other mangling may be that of a build for macOS
        return next((form for form in self.related if form.same_function), None)

    @property
    def is_of_linux_alone(self) -> bool:
        """Whether it is a macOS symbol that builds for Linux export, and none for macOS."""
        of_linux = system_of(self.knowledge.machine) is OperatingSystem.LINUX
        return self.macho and of_linux and self.history is not None

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

    @property
    def newest_libraries(self) -> tuple[str, ...]:
        """The libraries that export it in the newest build that does."""
        exports = () if self.history is None else reversed(self.history.exports)
        return next((export.libraries for export in exports if export is not None), ())

    @property
    def known_versions(self) -> tuple[str, ...]:
        """Versions of the known builds, oldest first."""
        return self.knowledge.known_versions

    @property
    def in_oldest_known(self) -> bool:
        """Whether the oldest known release exports it."""
        return bool(self.exported_in and self.exported_in.first == self.known_versions[0])

    @property
    def in_newest_known(self) -> bool:
        """Whether the newest known release exports it."""
        return bool(self.exported_in and self.exported_in.last == self.known_versions[-1])

    @functools.cached_property
    def position(self) -> Position:
        """The position of the target's version relative to `exported_in`."""
        version = None if self.target is None else self.target.version
        return position_of(version, self.exported_in, self.known_versions)

    @functools.cached_property
    def other_system(self) -> tuple[str, ReleaseRanges] | None:
        """The system with builds that export it, and their releases, if no build for that of the file does."""
        releases = self.knowledge.releases
        if releases is None or self.exported_in is None or self.exported_in or self.cxx is None:
            return None
        for machine, shown in _OTHER_MACHINES.items():
            found = None if machine == self.knowledge.machine else releases.history(self.name, machine)
            if found is not None:
                return shown, found.exported_in
        return None

    @property
    def exported_text(self) -> str:
        """A sentence on the releases that export it."""
        if self.exported_in is None:
            return f"Whether releases of torch export {self.shown} is not recorded."
        if not self.exported_in:
            if self.other_system is not None:
                system, exporting = self.other_system
                return f"Only builds of torch for {system} export {self.shown}: those of torch {exporting.text()}."
            first, last = self.known_versions[0], self.known_versions[-1]
            return f"No known torch build ({first}-{last}) exports {self.reference.spelled_as or self.name}."
        if self.history is None and self.linux_counterpart is not None:
            linux = f"those for Linux have the same function in torch {self.exported_in.text()}"
            return f"No known torch build for macOS exports it; {linux}."
        if self.is_of_linux_alone:
            return f"No known torch build for macOS exports it; those for Linux do in torch {self.exported_in.text()}."
        ranges = (f"{spans.text()} in {names[0]}" if names else spans.text() for spans, names in self.exporters)
        return f"{self.shown} is exported by torch {' and '.join(ranges)}."

    @functools.cached_property
    def exporters(self) -> tuple[tuple[ReleaseRanges, tuple[str, ...]], ...]:
        """Each range of `exported_in` with the libraries that export the symbol in its newest release. Ranges with the
        same first library are merged."""
        if not self.exported_in:
            return ()
        if self.history is None or not self.libraries:
            return ((self.exported_in, ()),)
        found = []
        for span in self.exported_in:
            one = ReleaseRanges((span,))
            of_span = [build for build in self.history.exporting_builds if one.contains(build.torch)]
            newest = self.history.export(of_span[-1]) if of_span else None
            found.append((one, () if newest is None else newest.libraries))
        if len({names[:1] for _one, names in found}) == 1:
            return ((self.exported_in, self.libraries),)
        return tuple(found)

    # --- related exports --------------------------------------------------------------------------------------------

    @property
    def is_of_template_parameters(self) -> bool:
        """Whether the name declares a template parameter, as Clang 18+ does."""
        return self.cxx is not None and self.cxx.declares_parameters

    @functools.cached_property
    def is_of_other_compiler(self) -> bool:
        """Whether the name declares a template parameter, as Clang 18+ does, and releases export the same function
        without it: the signatures are equal."""
        return (
            self.cxx is not None
            and self.cxx.declares_parameters
            and not self.exported_in
            and any(form.same_function and DifferenceKind.TEMPLATE_MANGLING in form.kinds for form in self.related)
        )

    @functools.cached_property
    def related(self) -> tuple[RelatedExport, ...]:
        """Other names of the same entity (including its CUDA or ROCm spelling), most similar first."""
        return self.find_related()

    def find_related(
        self, is_wanted: Callable[[str, SymbolHistory | None], bool] | None = None
    ) -> tuple[RelatedExport, ...]:
        """Those of `related` with a name and a history that are wanted; the others are not parsed."""
        if self.cxx is None:
            return ()
        return find_related(self.name, self.cxx, self.knowledge, is_wanted, self._with_prefixes)

    @functools.cached_property
    def _with_prefixes(self) -> Mapping[str, SymbolHistory | None]:
        """Exported names with the prefixes of its entity."""
        return {} if self.cxx is None else with_prefixes(self.cxx, self.knowledge)

    # --- the file ---------------------------------------------------------------------------------------------------

    @functools.cached_property
    def loading_python(self) -> PythonVersion | None:
        """The CPython that loads the file: from the file name, else of the environment; None if unknown."""
        if self.file.python is not None:
            return PythonVersion(*self.file.python)
        here = self.environment.python
        return None if here is None else PythonVersion(here.major, here.minor)

    @functools.cached_property
    def installable_versions(self) -> tuple[str, ...]:
        """Known releases with wheels for the CPython that loads the file; all if it is unknown."""
        known = self.known_versions
        return known if self.loading_python is None else installable(known, self.loading_python)

    @functools.cached_property
    def is_torch_name(self) -> bool:
        """Whether some torch exports the symbol, or it has the form of torch symbols."""
        if is_header_only(self.namespace) and not has_torch_scope(self.name):
            return False  # libraries of torch export their copies, too
        if self.history is not None:
            return True
        if self.target_library is not None:
            if omission(self.name) is Omission.STANDARD_LIBRARY:
                return False
            # Wheels that contain NVIDIA's static libraries export their names; other builds load the libraries.
            return self.owner is not Owner.CUDA or not self.file.is_torch_itself
        # The beginning of a C++ name that cannot be parsed is not sufficient.
        readable = self.cxx is not None or self.reference.owner is not None or not self.name.startswith("_Z")
        return readable and self.owner is Owner.TORCH

    @functools.cached_property
    def owner(self) -> Owner:
        """The owner: from the resolution, else from the name, the reference and the torch that exports it."""
        if self.reference.owner is not None:
            return self.reference.owner
        reference = None
        if self.reference.library is not None or self.reference.version is not None:
            reference = VersionNeed(self.reference.library or "", self.reference.version or "", False)
        provider = self.reference.provider or self.target_library or next(iter(self.libraries), None)
        return owner_of(self.name, reference, provider, backends=torch_names.PLUGIN_BACKENDS)


def kept_for_file(make: Callable[Concatenate[MissingName, _P], _T]) -> Callable[Concatenate[MissingName, _P], _T]:
    """Keep a fix for the other symbols of the file: it depends on the file, the target, and these facts of a symbol;
    for an unknown torch also on its name."""

    @functools.wraps(make)
    def keep(missing: MissingName, /, *args: _P.args, **more: _P.kwargs) -> _T:
        if missing.target is None:
            return make(missing, *args, **more)
        facts = (missing.is_torch_name, missing.namespace, missing.macho, missing.exported_in)
        key = (make, args, *more.items(), *facts)
        knowledge, fix = missing.file.fixes.get(key, (None, None))
        if knowledge is not missing.knowledge:
            fix = make(missing, *args, **more)
            missing.file.fixes[key] = missing.knowledge, fix
        return cast("_T", fix)

    return keep
