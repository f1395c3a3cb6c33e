"""Extension module file names and the interpreters that import them."""

from __future__ import annotations

import re

from msgspec import Struct

# Between a module's name and its suffix (importlib.machinery.EXTENSION_SUFFIXES): PEP 3149
# (`.cpython-311-x86_64-linux-gnu`), PEP 384 (`.abi3`), PEP 803 (`.abi3t`), and those of other implementations and of
# Windows (`.cp311-win_amd64`).
_TAG = (
    r"\.(?:(?:cpython-|cp)(?P<cpython>\d+[a-z]*)|(?P<abi3>abi3)"
    r"|(?P<other>abi3t|pypy\d+-pp\d+|pypy\d+|graalpy[\w.]*))"
    r"(?:-[\w-]+)?(?=\.(?:so|pyd|dylib)\b)"
)
_STARTS = (".cp", ".abi3", ".pypy", ".graalpy")
_CPYTHON = r"(\d)(\d{1,3})(?!\d)"


class ModuleName(Struct, frozen=True):
    """Parts of the file name of an extension module.

    Attributes:
        name: name of the module.
        cpython: `311` of `.cpython-311-x86_64-linux-gnu.so` or `.cp311-win_amd64.pyd`, with a suffix `t`, `d` or `m`.
        abi3: `.abi3.so`.
        other: the tag of another implementation (`pypy310-pp73`).
    """

    name: str
    cpython: str | None
    abi3: bool
    other: str | None

    @property
    def plain(self) -> bool:
        """Whether it is `x.so` or `x.pyd`, which every interpreter imports."""
        return self.cpython is None and not self.abi3 and self.other is None


def module_name(file_name: str) -> ModuleName | None:
    """Parse a file name without directories; None if no interpreter imports such a name (`libx.so.1`)."""
    if not file_name.endswith((".so", ".pyd")):
        return None
    tag = _tag(file_name)
    name = file_name[: tag.start()] if tag is not None else file_name.rpartition(".")[0]
    if not name.isidentifier():
        return None
    if tag is None:
        return ModuleName(name, None, False, None)
    return ModuleName(name, tag["cpython"], tag["abi3"] is not None, tag["other"])


def cpython_tag(file_name: str) -> str | None:
    """The CPython tag of a file for one CPython, such as `311` or `313t` (free-threaded); None for other files."""
    tag = _tag(file_name)
    return None if tag is None else tag["cpython"]


def cpython_of(file_name: str) -> tuple[int, int] | None:
    """(major, minor) of the CPython for which a file is tagged."""
    tag = cpython_tag(file_name)
    found = None if tag is None else re.match(_CPYTHON, tag)
    return None if found is None else (int(found[1]), int(found[2]))


def without_tag(file_name: str) -> str:
    """The file name without its tag: `_C.so` for `_C.cpython-311-x86_64-linux-gnu.so`."""
    return file_name if _tag(file_name) is None else re.sub(_TAG, "", file_name)


def operator_namespace(module: str) -> str:
    """The namespace of operators that replace the functions of a module: `lltm__C` for `lltm._C`. The last part alone
    is common to many packages, and the first to several modules of one."""
    return re.sub(r"\W", "_", module)


def _tag(file_name: str) -> re.Match[str] | None:
    return re.search(_TAG, file_name) if any(start in file_name for start in _STARTS) else None
