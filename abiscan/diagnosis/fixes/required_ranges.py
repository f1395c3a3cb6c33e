"""Ranges of releases as programs and people write them: `>=2.4, <3`, `at least 12.1`, `3.8 - 3.11`, `>=[1, 1, 4]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from abiscan.model.dependency_specifiers import InvalidDependency, read_specifiers
from abiscan.model.versions import order

if TYPE_CHECKING:
    from abiscan.model.dependency_specifiers import SpecifierSet

_TUPLE = re.compile(r"[(\[](\d{1,4}(?:, ?\d{1,4}){1,6})[)\]]")
_NUMBER: Final = r"\d{1,4}(?:\.(?:\d{1,8}|[xX*])){0,4}(?:\.?(?:post|rc|dev|a|b)\d{1,8})?"
_COMPARISON = re.compile(rf"([<>]=?|[=!~]=) ?v?({_NUMBER})", re.ASCII | re.IGNORECASE)
_NUMBERS = re.compile(rf"(?<![\w.])v?({_NUMBER})", re.ASCII | re.IGNORECASE)
# Words beside a number, and the comparison that they are.
_WORDS: Final = (
    (r"\b(?:older|lower|less|earlier) than\b(?! or equal)|\bbelow \d", "<"),
    (r"\b(?:or|and) (?:older|lower|earlier|below)\b|\bup to\b|\bat most\b|\bor equal\b.{0,40}(?:older|less)", "<="),
    (
        r"\bor equal\b|\bat least\b|\bminim|\+\Z|\b(?:or|and|&) (?:a )?(?:later|newer|higher|above|greater|up|more)",
        ">=",
    ),
    (r"\b(?:newer|later|greater|higher|more) than\b|\b(?:above|over) \d", ">"),
)
_LONGEST: Final = 3  # numbers of a release; a tuple of OpenMMLab has three more


def read_range(text: str) -> str:
    """A version specifier for the range; empty if the text has no release."""
    text = _TUPLE.sub(lambda found: ".".join(re.findall(r"\d+", found[1])[:_LONGEST]), text)
    compared = _COMPARISON.findall(text)
    if compared:
        return ",".join(_compared(sign, number) for sign, number in compared)
    numbers = [found.rstrip(".xX*") for found in _NUMBERS.findall(text)]
    if not numbers:
        return ""
    if len(numbers) > 1:
        ordered = sorted(numbers, key=lambda number: order(number) or ())
        return f">={ordered[0]},{_until(ordered[-1])}"
    words = " ".join(text.lower().split())
    sign = next((sign for pattern, sign in _WORDS if re.search(pattern, words)), "==")
    return _compared(sign, numbers[0] if sign != "==" or numbers[0].count(".") > 1 else f"{numbers[0]}.*")


def outside(wanted: str, here: str) -> str | None:
    """`older` or `newer` if a release is before or behind the range; empty if it is within; None if that is unknown.

    Args:
        wanted: a version specifier.
    """
    specifiers, at = _specifiers(wanted), order(here)
    if specifiers is None or at is None:
        return None
    public = here.partition("+")[0].lstrip("vV")
    try:
        if specifiers.contains(public, prereleases=True):
            return ""
    except ValueError:
        return None
    bounds = [(each.operator, order(each.version.removesuffix(".*"))) for each in specifiers if each.operator != "!="]
    known = [(operator, bound) for operator, bound in bounds if bound is not None]
    if not known:
        return None
    operator, lowest = min(known, key=lambda each: each[1])
    # A release is before `>` of itself.
    is_before = at < lowest or (operator == ">" and order(public) == lowest)
    return "older" if is_before else "newer"


def is_range(wanted: str) -> bool:
    """Whether a text is a version specifier with a comparison."""
    return bool(wanted) and _specifiers(wanted) is not None


def within(wanted: str, releases: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the releases that are in the range."""
    return tuple(release for release in releases if outside(wanted, release) == "")


def bound_of(wanted: str) -> str:
    """The release that the range names first: its lower bound, else the upper one; empty for none."""
    specifiers = _specifiers(wanted)
    if specifiers is None:
        return ""
    named = sorted(specifiers, key=lambda each: (each.operator not in (">=", "==", "~=", ">"), each.version))
    return next((each.version.removesuffix(".*") for each in named if each.operator != "!="), "")


def _specifiers(wanted: str) -> SpecifierSet | None:
    try:
        return read_specifiers(wanted)
    except InvalidDependency:
        return None


def _compared(sign: str, number: str) -> str:
    number = re.sub(r"(?:\.[xX*])+\Z", ".*", number)
    if number.endswith(".*") and sign not in ("==", "!="):
        number = number.removesuffix(".*")
    return f"{sign}{number}"


def _until(number: str) -> str:
    """The upper end of a range: `3.11` includes 3.11.9."""
    major, _, rest = number.partition(".")
    if "." in rest or not (rest or major).isdigit():
        return f"<={number}"
    return f"<{major}.{int(rest) + 1}" if rest else f"<{int(major) + 1}"
