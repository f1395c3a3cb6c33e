"""Parsing of requirements, version specifiers and markers with `packaging` (dependency specifiers specification,
version specifiers specification). All such text of files, command line and configuration is parsed here.

`packaging` follows nested parentheses by recursion and converts numbers of any length, and its time grows with the
number of comparisons. Every text is checked against the limits of `abiscan.model.limits` before it is given to it.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from abiscan.model.limits import MAX_COMPARISONS, MAX_DIGITS, MAX_FIELD, MAX_PARENTHESES, MAX_REQUIREMENTS

if TYPE_CHECKING:
    from packaging.markers import Marker
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

__all__ = [
    "InvalidDependency",
    "SpecifierSet",
    "admits",
    "concerns_torch",
    "find_excess",
    "find_excess_of_requirements",
    "holds",
    "is_specifier",
    "read_requirement",
    "read_specifiers",
    "torch_specifier",
]

_T = TypeVar("_T")
# Separators between the comparisons of a version specifier and of a marker.
_BETWEEN_COMPARISONS = r",|\b(?:and|or)\b"
_TORCH = r"\s*(?:py)?torch\b(?![-_.]\w)"
# Releases, and their comparisons, as most wheels have them. `packaging`, which reads all others, imports logging,
# subprocess and 20 modules of its own: 130 of 1,900 million instructions of a wheel.
_LONGEST = 120
_RELEASE = r"\d{1,6}(?:\.\d{1,6}){0,5}"
_COMPARISON = rf"\s*(==|!=|>=|<=|>|<)\s*({_RELEASE}(\.\*)?)\s*"
_WITH_LABEL = rf"({_RELEASE})(?:\+[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*)?"
_Numbers = tuple[int, ...]
_COMPARE: Mapping[str, Callable[[_Numbers, _Numbers], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


class InvalidDependency(ValueError):  # noqa: N818 - as `InvalidRequirement` of packaging
    """A text is not a valid requirement, specifier or marker, or exceeds a limit; the message says which."""


def find_excess(text: str) -> str:
    """The limit that a requirement, version, tag or marker exceeds, for an error message; empty if none."""
    if len(text) > MAX_FIELD:
        return f"{len(text)} characters (limit: {MAX_FIELD})"
    if re.search(rf"\d{{{MAX_DIGITS + 1}}}", text):
        return f"a number of more than {MAX_DIGITS} digits"
    depth = 0
    for parenthesis in re.findall(r"[()]", text):
        depth += 1 if parenthesis == "(" else -1
        if depth > MAX_PARENTHESES:
            return f"more than {MAX_PARENTHESES} parentheses inside of each other"
    return "" if _comparisons(text) <= MAX_COMPARISONS else f"more than {MAX_COMPARISONS} comparisons"


def find_excess_of_requirements(lines: Sequence[str]) -> str:
    """The limit that the requirements of a package exceed together; empty if none."""
    if len(lines) > MAX_REQUIREMENTS:
        return f"{len(lines)} requirements (limit: {MAX_REQUIREMENTS})"
    for line in lines:
        excess = find_excess(line)
        if excess:
            return f"{excess} in the requirement that begins with {line[:40]!r}"
    if sum(_comparisons(line) for line in lines if concerns_torch(line)) > MAX_COMPARISONS:
        return f"more than {MAX_COMPARISONS} comparisons in the requirements on torch"
    return ""


def _comparisons(text: str) -> int:
    return 1 + len(re.findall(_BETWEEN_COMPARISONS, text))


def concerns_torch(line: str) -> bool:
    """Whether a requirement of a wheel or conda package (`pytorch`) names torch."""
    return re.match(_TORCH, line, re.IGNORECASE) is not None


@functools.lru_cache(maxsize=1024)
def read_requirement(text: str) -> Requirement:
    """Parse a requirement such as `torch>=2.4; python_version < "3.12"`.

    Raises:
        InvalidDependency: the text is not a requirement, or exceeds a limit.
    """
    from packaging.requirements import Requirement

    return _read(Requirement, text)


@functools.lru_cache(maxsize=1024)
def read_specifiers(text: str) -> SpecifierSet:
    """Parse a version specifier such as `>=2.4,<2.9`.

    Raises:
        InvalidDependency: the text is not a specifier, or exceeds a limit.
    """
    from packaging.specifiers import SpecifierSet

    return _read(SpecifierSet, text)


@functools.lru_cache(maxsize=1024)
def _read_marker(text: str) -> Marker:
    from packaging.markers import Marker

    return _read(Marker, text)


def _read(make: Callable[[str], _T], text: str) -> _T:
    excess = find_excess(text)
    if excess:
        raise InvalidDependency(f"it has {excess}")
    try:
        return make(text)
    except ValueError as error:  # InvalidRequirement, InvalidSpecifier and InvalidMarker are some
        raise InvalidDependency(str(error).partition("\n")[0]) from error


@functools.lru_cache(maxsize=1024)
def _comparisons_of(specifiers: str) -> tuple[tuple[str, str], ...] | None:
    """(operator, release) of each comparison; None if `packaging` must read it."""
    parts = [re.fullmatch(_COMPARISON, part) for part in specifiers.split(",")] if specifiers else []
    found = [(part[1], part[2]) for part in parts if part is not None and not (part[3] and part[1] != "==")]
    return tuple(found) if len({each for each, _release in found}) == len(parts) else None


def torch_specifier(requirement: str) -> str | None:
    """The specifier of a requirement on torch that has nothing else, as `packaging` writes it; None for others."""
    short = requirement if len(requirement) <= _LONGEST else ""
    found = re.fullmatch(rf"{_TORCH}\s*(\(?)([^()]*)(\)?)\s*", short, re.IGNORECASE)
    comparisons = None if found is None or len(found[1]) != len(found[3]) else _comparisons_of(found[2].strip())
    return None if comparisons is None else ",".join(sorted(map("".join, comparisons)))


@functools.lru_cache(maxsize=1024)
def _numbers(version: str) -> _Numbers | None:
    """The numbers of a release without final zeros, which comparisons ignore, as they do its label; None for others."""
    found = re.fullmatch(_WITH_LABEL, version)
    numbers = [] if found is None else list(map(int, found[1].split(".")))
    while numbers and not numbers[-1]:
        del numbers[-1]
    return None if found is None else tuple(numbers)


def _bounds(comparison: str, release: str) -> Iterator[tuple[Callable[[_Numbers, _Numbers], bool], _Numbers]]:
    """The bounds of a comparison: two of `==2.7.*`, at least 2.7 and less than 2.8."""
    if release.endswith(".*"):
        *first, last = map(int, release[:-2].split("."))
        yield operator.ge, _numbers(release[:-2]) or ()
        yield operator.lt, (*first, last + 1)
    else:
        yield _COMPARE[comparison], _numbers(release) or ()


def admits(specifiers: str, versions: Iterable[str]) -> bool:
    """Whether a version specifier admits at least one of the versions, pre-releases included. Text that is not a
    version is admitted only by `===`.

    Raises:
        InvalidDependency: as `read_specifiers`.
    """
    versions, comparisons = tuple(versions), _comparisons_of(specifiers)
    releases = [numbers for version in versions if (numbers := _numbers(version)) is not None]
    if comparisons is not None and len(releases) == len(versions):
        bounds = [bound for each, release in comparisons for bound in _bounds(each, release)]
        return any(all(compare(numbers, bound) for compare, bound in bounds) for numbers in releases)
    parsed = read_specifiers(specifiers)
    return any(not find_excess(version) and parsed.contains(version, prereleases=True) for version in versions)


def is_specifier(text: str) -> bool:
    """Whether the text is a valid version specifier."""
    if _comparisons_of(text) is not None:
        return True
    try:
        read_specifiers(text)
    except InvalidDependency:
        return False
    return True


def holds(marker: str, environment: Mapping[str, str]) -> bool:
    """Whether a requirement with this marker (empty: none) applies in an environment. An invalid marker, or one that
    uses an unknown variable, applies."""
    if not marker:
        return True
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName

    try:
        return _read_marker(marker).evaluate(dict(environment))
    except (InvalidDependency, UndefinedComparison, UndefinedEnvironmentName):
        return True
