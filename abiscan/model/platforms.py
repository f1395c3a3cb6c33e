"""The systems whose files are read: one table, by the key that names the platform of a file.

A binary's `machine` is that key: the architecture alone for Linux (`x86_64`), the platform tag of a wheel without
versions for the others (`win_amd64`, `macosx_arm64`). The release index, the target environment and the report use the
same key, so that a file of one platform never meets a build of another.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Iterable

from msgspec import Struct


class LoadingWords(Struct, frozen=True):
    """Words for files whose symbols all resolve on a release of torch.

    Attributes:
        one, many: verb of one file and of several: `loads`, `load`.
        clause: without a subject before it: `loads`, `symbols resolve`.
    """

    one: str
    many: str
    clause: str


_LOADS = LoadingWords("loads", "load", "loads")
_RESOLVES = LoadingWords("resolves", "resolve", "symbols resolve")
_PASSES = LoadingWords("passes", "pass", "passes")


class OperatingSystem(enum.StrEnum):
    """A system whose loader opens a file."""

    LINUX = "linux"
    WINDOWS = "windows"
    MACOS = "macos"

    @property
    def shown(self) -> str:
        """As text: `Linux`, `Windows`, `macOS`."""
        return "macOS" if self is OperatingSystem.MACOS else self.value.capitalize()

    @property
    def loading_words(self) -> LoadingWords:
        """dyld also checks signatures and versions, which are not read here: only the symbols are known to resolve."""
        return _RESOLVES if self is OperatingSystem.MACOS else _LOADS

    @property
    def unchecked(self) -> str:
        """What decides whether a file works there and is not checked, for a file whose symbols resolve."""
        return _UNCHECKED.get(self, "")


_UNCHECKED = {
    OperatingSystem.WINDOWS: "changed class layouts",
    OperatingSystem.MACOS: "changed class layouts, code signatures, the minimum version of macOS",
}


class Platform(Struct, frozen=True):
    """A system with an architecture.

    Attributes:
        key: `x86_64`, `win_amd64`, `macosx_arm64`.
        system: whose loader opens its files.
        architecture: `x86_64`, `aarch64`, as the readers of its format name it.
        shown: as text: `x86-64 on Windows`.
        python_machine: `platform.machine()` of CPython there (environment marker `platform_machine`).
    """

    key: str
    system: OperatingSystem
    architecture: str
    shown: str
    python_machine: str

    @property
    def torch_has_unlisted_cuda(self) -> bool:
        """Whether torch is released with CUDA for it by its own index alone, so that the release index has CPU builds
        only."""
        return self.system is OperatingSystem.WINDOWS


_OTHERS = {
    each.key: each
    for each in (
        Platform("win_amd64", OperatingSystem.WINDOWS, "x86_64", "x86-64 on Windows", "AMD64"),
        Platform("win_arm64", OperatingSystem.WINDOWS, "arm64", "ARM64 on Windows", "ARM64"),
        Platform("win32", OperatingSystem.WINDOWS, "i386", "32-bit x86 on Windows", "x86"),
        Platform("macosx_arm64", OperatingSystem.MACOS, "arm64", "arm64 on macOS", "arm64"),
        Platform("macosx_x86_64", OperatingSystem.MACOS, "x86_64", "x86-64 on macOS", "x86_64"),
    )
}


def platform_of(machine: str) -> Platform:
    """The platform of a key; a key that is in no table is an architecture of Linux."""
    known = _OTHERS.get(machine)
    return known or Platform(machine, OperatingSystem.LINUX, machine, f"{machine} on Linux", machine)


def key_of(system: OperatingSystem, architecture: str) -> str:
    """The key of a platform; of one that is in no table the two words."""
    found = (each.key for each in _OTHERS.values() if each.system is system and each.architecture == architecture)
    return next(found, f"{system.value}_{architecture}")


def system_of(machine: str) -> OperatingSystem:
    """The system of a platform's key."""
    known = _OTHERS.get(machine)
    return OperatingSystem.LINUX if known is None else known.system


def loading_words(machines: Iterable[str | None]) -> LoadingWords:
    """The words for files of these platforms: of one system its own, of several `passes`."""
    words = {system_of(machine or "").loading_words for machine in machines}
    return words.pop() if len(words) == 1 else _PASSES if words else _LOADS


def other_platforms() -> tuple[Platform, ...]:
    """Every platform but those of Linux."""
    return tuple(_OTHERS.values())


def machines_naming(library: str) -> tuple[str, ...]:
    """The platforms with libraries of such a name (`c10.dll`, `libc10.dylib`) for which torch has builds, the usual one
    first; empty for a name of Linux."""
    name = library.lower()
    if name.endswith((".dll", ".pyd")):
        return ("win_amd64",)
    return ("macosx_arm64", "macosx_x86_64") if name.endswith(".dylib") else ()


def file_key(library: str) -> str:
    """The file name by which a library is found: without folders, of Windows in small letters, as case does not count
    there."""
    base = library.replace("\\", "/").rpartition("/")[2]
    return base.lower() if base[-4:].lower() in (".dll", ".pyd") else base


def own_key() -> str:
    """The key of the platform of this machine."""
    system = {"win32": OperatingSystem.WINDOWS, "darwin": OperatingSystem.MACOS}.get(sys.platform)
    if system is None:
        return os.uname().machine
    import platform

    machine = platform.machine()
    found = (each.key for each in _OTHERS.values() if each.system is system and each.python_machine == machine)
    return next(found, key_of(system, machine))
