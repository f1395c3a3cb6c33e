"""The Pythons that a file is for: from the suffix of its name, else from the tags of its wheel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from abiscan.environment.python_names import known_versions
from abiscan.model.module_name import module_name
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TargetSource


class DeclaredPython(Struct, frozen=True):
    """The CPythons that a file is made for.

    Attributes:
        oldest: the oldest of them.
        later: whether all later versions match too (the stable ABI).
    """

    oldest: PythonVersion
    later: bool
    source: TargetSource
    detected_from: str

    @property
    def text(self) -> str:
        """`3.11`, `3.13t`, `>=3.9`."""
        return f">={self.oldest}" if self.later else str(self.oldest)

    def admits(self, version: PythonVersion) -> bool:
        """Whether a CPython matches. Free-threaded builds do not support the stable ABI (PEP 703)."""
        if self.later:
            return version >= self.oldest and not version.free_threaded
        return version == self.oldest


_ANY_PYTHON = r"py\d+|cp[23]"
_CP = r"(?:cp)?(\d)(\d{1,3})(t?)$"


def pythons_of_file(
    place: str, interpreters: Iterable[tuple[str, str]], is_module: Callable[[], bool]
) -> tuple[DeclaredPython, ...]:
    """From the module suffix, which decides what an interpreter imports; else from the wheel's tags. setuptools gives
    the suffix also to libraries that a package opens with torch.ops.load_library, in any Python."""
    module = module_name(place.rpartition("/")[2])
    tags = pythons_of_tags(interpreters)
    if module is None or module.plain or not is_module():
        return tags
    if module.cpython is not None:
        version = _version(module.cpython.rstrip("dmu"))
        if version is not None:
            tag = "cp" if place.endswith(".pyd") else "cpython-"
            return (DeclaredPython(version, False, TargetSource.FILE_NAME, f"file name .{tag}{module.cpython}"),)
    if module.abi3 and not tags:
        return (DeclaredPython(PythonVersion(3, 2), True, TargetSource.FILE_NAME, "file name .abi3.so"),)
    return tags


def pythons_of_tags(interpreters: Iterable[tuple[str, str]]) -> tuple[DeclaredPython, ...]:
    """The CPythons of a wheel's (python tag, abi tag) pairs; empty if any Python matches."""
    return tuple(dict.fromkeys(tag for pair in interpreters if (tag := _of_tag(*pair)) is not None))


def _of_tag(python: str, abi: str) -> DeclaredPython | None:
    version = _version(python)
    if version is None or not python.startswith("cp"):
        return None
    detected_from = f"wheel tag {python}-{abi}"
    if abi == "abi3":
        return DeclaredPython(version, True, TargetSource.TAG, detected_from)
    if abi.startswith("cp"):
        exact = PythonVersion(version.major, version.minor, abi.endswith("t"))
        return DeclaredPython(exact, False, TargetSource.TAG, detected_from)
    return None


def _version(text: str) -> PythonVersion | None:
    found = re.match(_CP, text)
    return None if found is None else PythonVersion(int(found[1]), int(found[2]), bool(found[3]))


def is_known_python(python: str, abi: str) -> bool:
    """Whether the table of CPythons contains a match for a wheel's tags (PEP 425), or the tags match any."""
    if re.fullmatch(_ANY_PYTHON, python):
        return True
    tag = _of_tag(python, abi)
    if tag is None:
        return python.startswith("cp") and abi == "none" and _version(python) in known_versions()
    return any(tag.admits(version) for version in known_versions())
