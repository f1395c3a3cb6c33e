"""Merges arguments of `pip install` into as few commands as possible."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

# Options with a value that add places to search, and those that name the only one.
_PLACES = ("-f", "--find-links", "--extra-index-url")
_INDEXES = ("--index-url", "-i")
_REPLACE = ("--force-reinstall", "--no-deps")


class PipInstall(Struct, frozen=True):
    """One `pip install`.

    Attributes:
        requirements, places: in order, without duplicates.
        index: the index that replaces the default one; empty for the default.
        flags: other options.
    """

    requirements: tuple[str, ...]
    places: tuple[tuple[str, str], ...] = ()
    index: str = ""
    flags: tuple[str, ...] = ()

    @classmethod
    def parse(cls, arguments: str) -> PipInstall:
        """The arguments as values.

        >>> PipInstall.parse('x "y==1.*" -f https://a --no-index')
        PipInstall(requirements=('x', 'y==1.*'), places=(('-f', 'https://a'),), index='', flags=('--no-index',))
        """
        requirements: list[str] = []
        flags: list[str] = []
        places: list[tuple[str, str]] = []
        index = ""
        words = iter(shlex.split(arguments))
        for word in words:
            if word in _PLACES:
                places.append((word, next(words)))
            elif word in _INDEXES:
                index = next(words)
            else:
                (flags if word.startswith("-") else requirements).append(word)
        return cls(tuple(requirements), tuple(places), index, tuple(flags))

    def replacing(self) -> PipInstall:
        """The same without torch, for an installed version that satisfies the requirement, too."""
        left = tuple(each for each in self.requirements if not each.startswith("torch=="))
        return replace(self, requirements=left, flags=(*_REPLACE, *self.flags))

    def merged(self, other: PipInstall) -> PipInstall:
        """Both; they have the same index and flags."""
        return replace(
            self,
            requirements=tuple(dict.fromkeys((*self.requirements, *other.requirements))),
            places=tuple(dict.fromkeys((*self.places, *other.places))),
        )

    @property
    def arguments(self) -> str:
        """For a shell."""
        options = [("--index-url", self.index)] if self.index else []
        words = [*self.flags, *self.requirements, *(word for each in (*options, *self.places) for word in each)]
        return " ".join(map(shlex.quote, words))


def one_line(pip: str, installs: Iterable[PipInstall]) -> str:
    """One line with a command for each index and set of flags, those that resolve requirements first.

    Args:
        pip: the install command without requirements.
    """
    found: dict[tuple[str, tuple[str, ...]], PipInstall] = {}
    for each in installs:
        key = (each.index, each.flags)
        found[key] = found[key].merged(each) if key in found else each
    ordered = sorted(found.values(), key=lambda each: "--no-deps" in each.flags)
    return " && ".join(f"{pip} {each.arguments}" for each in ordered)
