"""The input of a diagnosis: an unresolved reference and the file with it."""

from __future__ import annotations

import functools
from typing import Final

from msgspec import Struct

from abiscan.model.facts import SharedObject
from abiscan.model.imports import Owner, Status
from abiscan.model.module_name import cpython_of
from abiscan.ownership import torch_names

A_PROGRAM: Final = "a program"
"""The path of a file that a message shows to be a program without its name."""
ANDROID_APP: Final = "/data/app/"
"""The path of a file of an app: Android does not name the file that needs a library."""


class Reference(Struct, frozen=True):
    """A symbol or library that was not found.

    Attributes:
        name: as given; a Mach-O name with its leading underscore.
        library: library of a versioned reference (`libnvJitLink.so.12`); of a CPython symbol of Windows its DLL.
        version: requested version.
        owner: from the resolution of a file; None for a name from a text.
        status: from the resolution of a file; None for a name from a text.
        provider: the library that exports it, outside of the file's scope.
        spelled_as: the spelling in the text if `name` was made up for the search (a demangled name that no build
            exports): its parameters are unknown; else empty.
        macos: whether it is a symbol of macOS, whatever its spelling.
        msvc: whether a Microsoft tool printed it.
        link_time: reported by a linker, not a loader: the order of loading does not matter.
        before_torch: a text shows that the file was imported without torch before it.
        demangled: the text has its readable form, which does not show the mangling.
        bare: a name without a message: nothing shows that a loader or linker looked for it.
        by_compiler: in the message of a compiler that stopped a build.
        by_python: Python reported it, which loads libraries only: the file is no program, whatever its name.
        unfound: libraries that `ldd` did not find when the symbol was missing.
    """

    name: str
    library: str | None = None
    version: str | None = None
    owner: Owner | None = None
    status: Status | None = None
    provider: str | None = None
    spelled_as: str = ""
    macos: bool = False
    msvc: bool = False
    link_time: bool = False
    before_torch: bool = False
    demangled: bool = False
    bare: bool = False
    by_compiler: bool = False
    by_python: bool = False
    unfound: tuple[str, ...] = ()


class ReferringFile(Struct, frozen=True, dict=True):
    """The file with the reference, as far as known.

    Attributes:
        path: possibly without directories; empty if unknown.
        facts: of the file, if it was read.
        distribution, distribution_version: of its package, from its metadata; None if unknown.
        importer: a file of the package that imported it, if the message names no file of it.
    """

    path: str = ""
    facts: SharedObject | None = None
    distribution: str | None = None
    distribution_version: str | None = None
    importer: str = ""

    @functools.cached_property
    def fixes(self) -> dict[tuple[object, ...], tuple[object, object]]:
        """Fixes made for its symbols, with the knowledge that they were made from."""
        return {}

    @functools.cached_property
    def _last_part(self) -> str:
        return self.path.replace("\\", "/").rpartition("/")[2]

    @property
    def file_name(self) -> str:
        """The name without directories; empty if unknown."""
        return self._last_part

    @property
    def base_name(self) -> str:
        """The name without directories, in lower case; empty if unknown."""
        return self._last_part.lower()

    @property
    def is_program(self) -> bool:
        """Whether its name is neither that of a shared object nor of an interpreter."""
        stem = self.base_name.removesuffix(".exe")
        return bool(stem) and "." not in stem and not stem.startswith(("python", "pypy"))

    @property
    def module(self) -> str:
        """Its module name in Python (`_C` for `/x/_C.cpython-310-x86_64-linux-gnu.so`)."""
        return self._last_part.split(".")[0]

    @property
    def python(self) -> tuple[int, int] | None:
        """The CPython in the file name."""
        return cpython_of(self.base_name)

    @functools.cached_property
    def is_torch_itself(self) -> bool:
        """Whether it is a library of torch."""
        return torch_names.is_torch_library(self.path) or torch_names.is_torch_module(self.path)

    @property
    def needed(self) -> tuple[str, ...]:
        """Its needed libraries; empty if it was not read."""
        return () if self.facts is None else self.facts.needed
