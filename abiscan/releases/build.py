"""One released binary of torch, as the index records it, and what a name was in each of them."""

from __future__ import annotations

import enum
from functools import cached_property

from msgspec import Struct

from abiscan.model import versions
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.vendors import library_stem

LOCAL_SINCE = "1.5.0"
"""From this release on `import torch` loads torch's libraries with RTLD_LOCAL. Up to 1.4 it opened them with
RTLD_GLOBAL, and torch.utils.cpp_extension linked none of them to what it built (pytorch/pytorch issue 38122, pull
request 31162)."""


class Build(Struct, frozen=True, dict=True):
    """One released binary of torch. A version is not a key: variants of one version export different names.

    Attributes:
        key: unique in an index: `2.6.0+cu124-x86_64`.
        torch: public version, without a label (`2.6.0`).
        variant: what the label says (`cpu`, `cu124`, `rocm6.2`); where the wheel has none, what version.py tells.
        machine: `x86_64` or `aarch64`.
        cuda, hip: versions from torch/version.py.
        git_revision: of pytorch, from torch/version.py.
        cxx11_abi: whether its std::string is the new one, from its exports (`_GLIBCXX_USE_CXX11_ABI`); None where
            no export tells.
        wheel: file name it was read from; sha256: of that file, or None where a directory was read.
        python: the wheel's Python tag (`cp311`), or None.
        libraries: sonames (file names where there is none) of every library that it ships, torch's and others'.
        brings: sonames that its own libraries need and it does not ship: CUDA's, which its requirements install beside
            it, and the system's.
        own_names: whether torch's own names alone are recorded of it, and no vtables (of the releases before 1.13).
        user: True where it comes from the user's own index, not from the shipped one.
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
        """`brings`, and what it bundles under another name: 1.13 has `libcudart-e409450e.so.11.0` beside the
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
        """Whether every name that it exports is in the scope of every file that is loaded after `import torch`."""
        return loaded_globally(self.torch)

    def ships(self, soname: str) -> bool:
        """Whether the build bundles this library."""
        return soname in self.libraries


# Wheels of 2.6.0 for these have the new std::string, as those of 2.7.0 and later have; those of the package index, for
# CUDA 12.4, have the old one (release notes of PyTorch 2.6: what is built as manylinux 2.28).
_NEW_STRING = frozenset(("2.6.0+cu126", "2.6.0+rocm6.2.4", "2.6.0+xpu"))


def has_the_new_string(torch: str) -> bool:
    """Whether a wheel of this version and label is known to have the new std::string where its release has the old."""
    return torch in _NEW_STRING


def loaded_globally(torch: str) -> bool:
    """Whether `import torch` of a version brings its libraries into the global scope; False for what is no version."""
    at, since = versions.order(torch), versions.order(LOCAL_SINCE)
    return at is not None and since is not None and at < since


class ExportKind(enum.StrEnum):
    """What an exported name stands for, as far as the index keeps symbol types apart."""

    FUNCTION = "function"
    OBJECT = "object"
    TLS = "tls"
    OTHER = "other"


class ReleaseExport(Struct, frozen=True):
    """What one build exports under one name.

    Attributes:
        libraries: sonames of all libraries of the build that export it, the one that defines it for the others first.
        size: in bytes, of a data object (vtable, typeinfo, variable); None for a function.
        weak: True where no library defines it as STB_GLOBAL: an inline function or a template instantiation. That an
            extension would emit it itself does not follow: explicit instantiations (`data_ptr<float>`) are weak too.
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
    """A name over every known build of one architecture.

    Attributes:
        name: mangled.
        builds: all builds of the architecture, oldest version first.
        exports: parallel to `builds`; None where the build does not export the name.
    """

    name: str
    builds: tuple[Build, ...]
    exports: tuple[ReleaseExport | None, ...]

    @cached_property
    def mask(self) -> int:
        """Bit i is set where `builds[i]` exports the name."""
        return sum(1 << i for i, export in enumerate(self.exports) if export is not None)

    @property
    def exporting_builds(self) -> tuple[Build, ...]:
        """The builds that export the name."""
        return tuple(build for build, export in zip(self.builds, self.exports, strict=True) if export is not None)

    def export(self, build: Build) -> ReleaseExport | None:
        """What `build` exports under the name."""
        for candidate, export in zip(self.builds, self.exports, strict=True):
            if candidate.key == build.key:
                return export
        return None

    @cached_property
    def exported_in(self) -> ReleaseRanges:
        """The versions that export the name.

        A version counts where any of its builds exports the name, so a CPU build beside a CUDA build of the same
        version tears no hole; `exports` has the single builds.
        """
        return ranges_of(self.builds, [export is not None for export in self.exports])


def ranges_of(builds: tuple[Build, ...], present: list[bool]) -> ReleaseRanges:
    """Runs of versions with a build that is `present`; `builds` are in version order."""
    versions: dict[str, bool] = {}
    for build, is_present in zip(builds, present, strict=True):
        versions[build.torch] = versions.get(build.torch, False) or is_present
    return ReleaseRanges.of_known(versions, versions.__getitem__)
