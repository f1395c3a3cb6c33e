"""A released torch binary in the index, and the history of a symbol over all of them."""

from __future__ import annotations

import enum
from functools import cached_property

from msgspec import Struct

from abiscan.model import versions
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.vendors import library_stem

LOCAL_SINCE = "1.5.0"
"""Since this release `import torch` loads torch's libraries with RTLD_LOCAL. Up to 1.4 it used RTLD_GLOBAL, and
torch.utils.cpp_extension linked none of them to the extension (pytorch/pytorch issue 38122, pull request 31162)."""


class Build(Struct, frozen=True, dict=True):
    """One released torch binary. A version is not a key: variants of a version export different symbols.

    Attributes:
        key: unique in an index: `2.6.0+cu124-x86_64`.
        torch: public version, without a label (`2.6.0`).
        variant: local label (`cpu`, `cu124`, `rocm6.2`), or, if the wheel has none, the variant from version.py.
        machine: `x86_64` or `aarch64`.
        cuda, hip: versions from torch/version.py.
        git_revision: pytorch commit, from torch/version.py.
        cxx11_abi: whether its exports use the new std::string (`_GLIBCXX_USE_CXX11_ABI`); None if unknown.
        wheel: name of the file it was read from; sha256: of that file, or None for a directory.
        python: Python tag of the wheel (`cp311`), or None.
        libraries: sonames (or file names) of every library that it ships, torch's and others.
        brings: sonames that its libraries need and it does not ship: CUDA's, which its requirements install, and the
            system's.
        own_names: whether only torch's own symbols are recorded, and no vtables (releases before 1.13).
        user: whether it is from the user's own index.
    """

    key: str
    torch: str
    variant: str
    machine: str
    cuda: str | None
    hip: str | None
    git_revision: str | None
    cxx11_abi: bool | None
    wheel: str
    sha256: str | None
    python: str | None
    libraries: tuple[str, ...]
    brings: tuple[str, ...] = ()
    own_names: bool = False
    user: bool = False

    @cached_property
    def provided_libraries(self) -> frozenset[str]:
        """`brings`, and libraries bundled under another name: 1.13 has `libcudart-e409450e.so.11.0` beside the
        `libcudart.so.11.0` that its requirements install."""
        shipped = ((name, library_stem(name)) for name in self.libraries)
        plain = (
            f"lib{stem}.so{name.partition('.so')[2]}" if ".so" in name else name
            for name, stem in shipped
            if stem is not None
        )
        return frozenset((*self.brings, *plain))

    @property
    def is_global(self) -> bool:
        """Whether all of its exports are in the scope of every file loaded after `import torch`."""
        return loaded_globally(self.torch)

    def ships(self, soname: str) -> bool:
        """Whether the build bundles this library."""
        return soname in self.libraries


# Wheels of 2.6.0 for these have the new std::string, as 2.7.0 and later; those of the package index, for CUDA 12.4,
# have the old one (release notes of PyTorch 2.6: builds with manylinux 2.28).
_NEW_STRING = frozenset(("2.6.0+cu126", "2.6.0+rocm6.2.4", "2.6.0+xpu"))


def has_the_new_string(torch: str) -> bool:
    """Whether a wheel of this version and label has the new std::string although its release has the old. PyTorch and
    Intel name such wheels `2.5.1+cpu.cxx11.abi` and `2.5.1+cxx11.abi`."""
    return torch in _NEW_STRING or torch.endswith("cxx11.abi")


def loaded_globally(torch: str) -> bool:
    """Whether `import torch` of a version loads its libraries globally; False for an invalid version."""
    at, since = versions.order(torch), versions.order(LOCAL_SINCE)
    return at is not None and since is not None and at < since


class ExportKind(enum.StrEnum):
    """Kind of an exported symbol, as far as the index distinguishes symbol types."""

    FUNCTION = "function"
    OBJECT = "object"
    TLS = "tls"
    OTHER = "other"


class ReleaseExport(Struct, frozen=True):
    """The export of one symbol by one build.

    Attributes:
        libraries: sonames of all libraries of the build that export it, the defining one first.
        size: size in bytes of a data object (vtable, typeinfo, variable); None for a function.
        weak: whether no library defines it as STB_GLOBAL: an inline function or a template instance. An extension need
            not emit it itself: explicit instantiations (`data_ptr<float>`) are weak too.
    """

    libraries: tuple[str, ...]
    kind: ExportKind
    size: int | None
    weak: bool

    @property
    def library(self) -> str:
        """The first of `libraries`."""
        return self.libraries[0]


class SymbolHistory(Struct, frozen=True, dict=True):
    """Which builds of one architecture export a symbol. Thousands of symbols share a few hundred of them.

    Attributes:
        builds: all builds of the architecture, oldest version first.
        exports: parallel to `builds`; None if the build does not export the symbol.
    """

    builds: tuple[Build, ...]
    exports: tuple[ReleaseExport | None, ...]

    @cached_property
    def mask(self) -> int:
        """Bit i is set if `builds[i]` exports the symbol."""
        return sum(1 << i for i, export in enumerate(self.exports) if export is not None)

    @cached_property
    def libraries(self) -> tuple[str, ...]:
        """Sonames of the libraries that define the symbol in some build, that of the oldest build first."""
        return tuple(dict.fromkeys(export.library for export in self.exports if export is not None))

    @cached_property
    def exported_in(self) -> ReleaseRanges:
        """The versions that export the symbol.

        A version counts if any of its builds exports the symbol, so a CPU build without it beside a CUDA build with it
        makes no gap; `exports` has the single builds.
        """
        return ranges_of(self.builds, [export is not None for export in self.exports])

    @property
    def exporting_builds(self) -> tuple[Build, ...]:
        """The builds that export the symbol."""
        return tuple(build for build, export in zip(self.builds, self.exports, strict=True) if export is not None)

    def export(self, build: Build) -> ReleaseExport | None:
        """The export of the symbol by `build`; None if it does not export it."""
        for candidate, export in zip(self.builds, self.exports, strict=True):
            if candidate.key == build.key:
                return export
        return None


def ranges_of(builds: tuple[Build, ...], present: list[bool]) -> ReleaseRanges:
    """Ranges of versions with a build that is `present`; `builds` are in version order."""
    versions: dict[str, bool] = {}
    for build, is_present in zip(builds, present, strict=True):
        versions[build.torch] = versions.get(build.torch, False) or is_present
    return ReleaseRanges.of_known(versions, versions.__getitem__)
