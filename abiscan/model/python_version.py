"""CPython versions, which decide the C names that an interpreter exports."""

from __future__ import annotations

from msgspec import Struct


class PythonVersion(Struct, frozen=True, order=True):
    """A minor version with its build. Ordered by version; a free-threaded build comes after the default one.

    Attributes:
        free_threaded: built with `--disable-gil` (3.13 and later): `python3.13t`, ABI tag `cp313t`.
    """

    major: int
    minor: int
    free_threaded: bool = False

    def __str__(self) -> str:
        """As in the file name of the interpreter: `3.13`, `3.13t`."""
        return f"{self.major}.{self.minor}{'t' if self.free_threaded else ''}"


def python_of_dll(name: str) -> PythonVersion | None:
    """The version of `python311.dll` or `python313t.dll`; None for another name (`python3.dll` serves them all)."""
    digits, dot, suffix = name.lower().removeprefix("python").partition(".")
    numbers = digits.removesuffix("t")
    if not dot or suffix != "dll" or not name.lower().startswith("python") or not 2 <= len(numbers) <= 4:
        return None
    if not (numbers.isascii() and numbers.isdecimal()):
        return None
    return PythonVersion(int(numbers[0]), int(numbers[1:]), digits != numbers)
