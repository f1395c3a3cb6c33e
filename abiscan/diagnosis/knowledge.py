"""Known facts about the target, the releases and the machine, provided by the caller. Every part is optional. If one is
unknown, causes come from names alone and state which fact would decide."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from abiscan.diagnosis.text.log_facts import LogFacts
from abiscan.model import versions
from abiscan.model.platforms import OperatingSystem, system_of
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges

if TYPE_CHECKING:
    from abiscan.releases.build import Build
    from abiscan.releases.exports import TargetExports
    from abiscan.releases.index import ReleaseIndex


class Environment(Struct, frozen=True):
    """The machine and the interpreter that load the file.

    Attributes:
        python: the interpreter's version.
        symbol_versions: soname of a system library -> versions it defines (`GLIBCXX_3.4.30`, ...), for libraries that
            were read (`libstdc++.so.6`, `libc.so.6`, `libgcc_s.so.1`).
        libraries: soname -> path, of shared libraries on this machine or in this environment.
        packages: distribution name -> version, of installed CUDA and ROCm packages (`nvidia-nvjitlink-cu12`), torch,
            and packages released with it (`torchvision`).
        torches: directories of every torch on the environment's path.
        platform: of the error, as in wheel tags (`win_amd64`, `macosx`, `linux_aarch64`); empty if unknown.
    """

    python: PythonVersion | None = None
    symbol_versions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    torches: tuple[str, ...] = ()
    platform: str = ""


class Knowledge(Struct, frozen=True, dict=True):
    """Everything that a diagnosis may use.

    Attributes:
        target: the torch that imports are resolved against; possibly only its version (`exports` None).
        exports: exports of that torch; None if it was not read and is not in the index.
        exact: `exports` were read from the installed torch, not from the index for a version: another build of that
            version may export other symbols.
        target_is_assumed: nothing names the target: it is the newest known release.
        labelled: whether a text or the caller names the target's variant too (`2.5.1+cu121`).
        releases: the history of every exported symbol.
        environment: the machine and the interpreter; None for a text.
        lacks_cuda_on: the releases of which the known build has another CUDA than the file, and its symbols.
        loads_on: the releases that export all torch symbols of the file, if known. Advice to install another torch must
            name these; releases for a single symbol would lead to the next missing one.
        no_variant_loads: no known build of the target's version loads the file, so another variant of it is no fix.
        pythons: the CPythons that the file is for, if they override the environment's. `pythons_because`: source of
            that.
        strangers: libraries that are loaded in place of those of the target (`LoaderPrediction.strangers`).
        machine: architecture of the builds, as in `SharedObject.machine`.
        cxx11_abi: whether a torch without known version (`target` None) has the C++11 std::string, according to a text.
        from_source: whether torch was built from source, according to a text or the caller.
        log: what a text states about the environment; of a file, nothing.
    """

    target: TorchBuild | None = None
    exports: TargetExports | None = None
    exact: bool = False
    target_is_assumed: bool = False
    labelled: bool = False
    releases: ReleaseIndex | None = None
    environment: Environment | None = None
    machine: str = "x86_64"
    loads_on: ReleaseRanges | None = None
    lacks_cuda_on: ReleaseRanges = ReleaseRanges()
    no_variant_loads: bool = False
    pythons: tuple[PythonVersion, ...] = ()
    pythons_because: str = ""
    strangers: tuple[str, ...] = ()
    cxx11_abi: bool | None = None
    from_source: bool = False
    log: LogFacts = LogFacts()

    def for_platform(self, machine: str) -> Knowledge:
        """The same for a symbol of another platform, with the builds of the same release of torch there."""
        from msgspec.structs import replace

        from abiscan.errors import UnknownBuild
        from abiscan.releases.exports import ReleasedExports

        if machine == self.machine or self.releases is None:
            return self
        exports, target = None, self.target
        if self.target_from_source:
            target = None if target is None else replace(target, machine=machine)
        elif target is not None:
            try:
                build = self.releases.resolve(target.version, machine)
            except UnknownBuild:
                # Builds for macOS have no CUDA.
                if system_of(machine) is OperatingSystem.MACOS and target.cuda is not None:
                    target = replace(target, machine=machine, variant="", cuda=None, hip=None)
            else:
                exports = ReleasedExports(self.releases, build)
                if not (self.labelled and target.cuda is not None and exports.stands_for_cuda):
                    target = replace(target, variant=build.variant, cuda=build.cuda, hip=build.hip)
                target = replace(target, machine=machine)
        return replace(self, machine=machine, exports=exports, exact=False, target=target)

    @functools.cached_property
    def target_label(self) -> str:
        """The target in a sentence: `torch 2.6.0 (cu124)`."""
        if self.target is None:
            return "torch" if self.from_source else "the installed torch"
        known = versions.order(self.target.version) is not None
        name = f"torch {self.target.version}" if known else "the installed torch"
        return f"{name} ({self.target.variant})" if self.target.variant else name

    @property
    def target_cxx11_abi(self) -> bool | None:
        """Whether the target has the C++11 std::string; None if unknown."""
        return self.cxx11_abi if self.target is None else self.target.cxx11_abi

    @functools.cached_property
    def target_from_source(self) -> bool:
        """Whether the target is a source build, according to its version and commit or a text."""
        from abiscan.diagnosis.other_builds import built_from_source

        built = self.target is not None and built_from_source(self.target, self.release_revision)
        return built or self.from_source

    @functools.cached_property
    def release_revision(self) -> str | None:
        """Commit of the released builds of the target's version; None if unknown."""
        released = () if self.target is None else self.released_builds(self.target.version)
        return next((build.git_revision for build in released if build.git_revision), None)

    def released_builds(self, version: str) -> Iterator[Build]:
        """The known builds of a release of torch, without those of the user's own index."""
        return (build for build in self._builds if build.torch == version and not build.user)

    @functools.cached_property
    def known_versions(self) -> tuple[str, ...]:
        """Versions of the known builds, oldest first."""
        return tuple(dict.fromkeys(build.torch for build in self._builds))

    def is_no_release(self, torch: str) -> bool:
        """Whether no known build is of this torch, which is between the first and the last of them."""
        here = versions.order(torch)
        orders = [versions.order(each) or () for each in self.known_versions]
        if here is None or not orders or not orders[0] <= here <= orders[-1]:
            return False
        return not any(each[: len(here)] == here for each in orders)

    @property
    def _builds(self) -> Sequence[Build]:
        return () if self.releases is None else self.releases.builds(self.machine)

    @property
    def target_is_before_index(self) -> bool:
        """Whether the target is older than every known build, so that the index has no information about it."""
        return self._compare_with_index(0) < 0

    @property
    def target_is_after_index(self) -> bool:
        """Whether the target is newer than every known build."""
        return self._compare_with_index(-1) > 0

    def _compare_with_index(self, end: int) -> int:
        """The order of the target and the first (0) or last (-1) known version; 0 where either is unknown."""
        at = None if self.target is None else versions.order(self.target.version)
        bound = versions.order(self.known_versions[end]) if self.known_versions else None
        return 0 if at is None or bound is None else (at > bound) - (at < bound)
