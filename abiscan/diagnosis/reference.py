"""What a diagnosis starts from: a reference that was not resolved, and the file that has it."""

from __future__ import annotations

import functools
import re

from msgspec import Struct

from abiscan.model.facts import SharedObject
from abiscan.model.imports import Owner, Status
from abiscan.model.module_name import cpython_of
from abiscan.ownership import torch_names


class Reference(Struct, frozen=True):
    """A symbol, or a library, that was not found.

    Attributes:
        name: as it was given: a Mach-O name with the underscore that it begins with.
        library: the library that a versioned reference names (`libnvJitLink.so.12`).
        version: the version that it asks for.
        owner: as the resolution of a file found it; None for a name from a text.
        status: the result of that resolution; None for a name from a text.
        provider: the library that exports it outside of the file's scope.
        spelled_as: the spelling in the text where `name` was made for the search alone (a demangled name that no build
            exports); its parameters are then unknown.
        macos: whether it is a name of macOS, whatever its spelling.
        msvc: whether a tool of Microsoft printed it.
        link_time: whether a linker reports it, not a loader: the order of loading then does not matter.
        before_torch: whether a text shows the file imported, and torch not before it.
        unfound: libraries that `ldd` did not find when it missed the name.
    """

    name: str
    library: str | None = None
    version: str | None = None
    owner: Owner | None = None
    status: Status | None = None
    provider: str | None = None
    spelled_as: str | None = None
    macos: bool = False
    msvc: bool = False
    link_time: bool = False
    before_torch: bool = False
    unfound: tuple[str, ...] = ()


class ReferringFile(Struct, frozen=True, dict=True):
    """The file that has the reference, as far as it is known.

    Attributes:
        path: perhaps without directories; empty where no file is known.
        facts: its own, where it was read.
        distribution, distribution_version: that ships it, by its own metadata; None where that was not read.
    """

    path: str = ""
    facts: SharedObject | None = None
    distribution: str | None = None
    distribution_version: str | None = None

    @functools.cached_property
    def _last_part(self) -> str:
        return re.split(r"[/\\]", self.path)[-1]

    @property
    def file_name(self) -> str:
        """The name without directories; empty where it is not known."""
        return self._last_part

    @property
    def base_name(self) -> str:
        """The name without directories, in lower case; empty where it is not known."""
        return self._last_part.lower()

    @property
    def module(self) -> str:
        """The module that the file is, as Python imports it (`_C` of `/x/_C.cpython-310-x86_64-linux-gnu.so`)."""
        return self._last_part.split(".")[0]

    @property
    def python(self) -> tuple[int, int] | None:
        """The CPython that the file's name declares."""
        return cpython_of(self.base_name)

    @functools.cached_property
    def is_torch_itself(self) -> bool:
        """Whether it is one of torch's own libraries."""
        return torch_names.is_torch_library(self.path) or torch_names.is_torch_module(self.path)

    @property
    def needed(self) -> tuple[str, ...]:
        """The libraries that it lists as needed; empty where it was not read."""
        return () if self.facts is None else self.facts.needed
