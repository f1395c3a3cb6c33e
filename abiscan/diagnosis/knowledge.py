"""What a diagnosis may know of the target, the releases and the machine: whoever starts one says what is known.

Every part is optional. Where one is absent, causes come from names alone, and say which fact would decide.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from abiscan.model import versions
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges

if TYPE_CHECKING:
    from abiscan.releases.exports import TargetExports
    from abiscan.releases.index import ReleaseIndex


class Environment(Struct, frozen=True):
    """The machine and the interpreter that the file is to be loaded in.

    Attributes:
        python: the interpreter's version.
        symbol_versions: soname of a system library -> every version it defines (`GLIBCXX_3.4.30`, ...), for those
            that were read (`libstdc++.so.6`, `libc.so.6`, `libgcc_s.so.1`).
        libraries: soname -> path, of shared libraries that are on this machine or in this environment.
        packages: distribution name -> version, of the CUDA and ROCm packages that are installed
            (`nvidia-nvjitlink-cu12`), and of torch and those that are released with it (`torchvision`).
        torches: directories of every torch on the environment's path.
        platform: where the error came up, as wheel tags name it (`win_amd64`, `macosx`, `linux_aarch64`), where a text
            tells; empty where it does not.
    """

    python: PythonVersion | None = None
    symbol_versions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    torches: tuple[str, ...] = ()
    platform: str = ""


class Knowledge(Struct, frozen=True, dict=True):
    """Everything a diagnosis may rest on.

    Attributes:
        target: the torch that imports are resolved against; its version alone may be known (`exports` None).
        exports: what that torch exports; None where it was not read and is not in the index.
        exact: `exports` were read from the torch that is installed, not taken from the index for a version that a user
            named: another build of that version may export other names.
        releases: the history of every exported name.
        environment: the machine and the interpreter; None where only a text is at hand.
        loads_on: the releases that export everything the file wants of torch, where they are known: what an advice to
            install another torch must name. A single name's releases would lead to the next missing name.
        pythons: the CPythons that the file is for, where another than the environment's decides; `pythons_because`: who
            says so.
        machine: architecture whose builds count, as `SharedObject.machine` spells it.
        made_for: an extension that a text names, and the torch (major.minor) for which its version's label says that it
            is made.
        cxx11_abi: whether the std::string of a torch without a known version (`target` None) is the new one, where a
            text says so.
    """

    target: TorchBuild | None = None
    exports: TargetExports | None = None
    exact: bool = False
    releases: ReleaseIndex | None = None
    environment: Environment | None = None
    machine: str = "x86_64"
    loads_on: ReleaseRanges | None = None
    pythons: tuple[PythonVersion, ...] = ()
    pythons_because: str = ""
    cxx11_abi: bool | None = None
    made_for: tuple[str, str] | None = None

    def of_platform(self, machine: str) -> Knowledge:
        """The same for a name of another platform: the builds of that, the same release of torch there."""
        from msgspec.structs import replace

        from abiscan.errors import UnknownBuild
        from abiscan.releases.exports import ReleasedExports

        if machine == self.machine or self.releases is None:
            return self
        exports, target = None, self.target
        if target is not None:
            try:
                build = self.releases.resolve(target.version, machine)
            except UnknownBuild:
                pass
            else:
                exports = ReleasedExports(self.releases, build)
                target = replace(target, machine=machine, variant=build.variant, cuda=build.cuda, hip=build.hip)
        return replace(self, machine=machine, exports=exports, exact=False, target=target)

    @functools.cached_property
    def target_label(self) -> str:
        """The target in a sentence: `torch 2.6.0 (cu124)`."""
        if self.target is None:
            return "the installed torch"
        known = versions.order(self.target.version) is not None
        name = f"torch {self.target.version}" if known else "the installed torch"
        return f"{name} ({self.target.variant})" if self.target.variant else name

    @property
    def target_cxx11_abi(self) -> bool | None:
        """Whether the target's std::string is the new one; None where that is not known."""
        return self.cxx11_abi if self.target is None else self.target.cxx11_abi

    @functools.cached_property
    def known_versions(self) -> tuple[str, ...]:
        """Versions of the known builds, oldest first."""
        builds = () if self.releases is None else self.releases.builds(self.machine)
        return tuple(dict.fromkeys(build.torch for build in builds))

    @property
    def target_is_before_index(self) -> bool:
        """Whether the target is older than every known build, so that the index says nothing of it."""
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
