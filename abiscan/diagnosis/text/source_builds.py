"""Detects in a text a torch that is no release on the package index: from source, of conda-forge, of a distribution, of
NVIDIA, or a nightly; first whether the text says that torch was built from source, whatever its version is.

Words such as `from source` belong to the package that the sentence names nearest to them: the one directly after, else
the last one before. They count if that package is torch itself or coordinated with it (`torch and torch-scatter`), and
if no negation, question or wish stands with them. The words are rows of `catalogue/source_builds.toml`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from abiscan.diagnosis.catalogue.load_packages import package_of_file, package_of_name, packages_by_name
from abiscan.diagnosis.text.text_facts import first_match, is_shown, matches, matches_in_order, pattern_of, shown

# Words for other packages than torch that are none of the catalogue.
_OTHER: Final = frozenset(
    (
        *("extension", "extensions", "package", "packages", "scatter", "sparse", "cluster", "python", "scipy", "numpy"),
        *("gcc", "opencv", "rocm", "hip", "nccl", "wheels", "\u6269\u5c55"),
    )
)
_END: Final = re.compile(r"[\n;!?\u3002\uff1b\uff01\uff1f]|\.(?=\s|$)")
_REACH: Final = 96  # characters between the words and the package
_AROUND: Final = 512  # characters that decide about them
# Between the words and the package directly after them.
_ADJACENT: Final = re.compile(
    r"[\"'`]?(?:\u5b89\u88c5|\u51fa\u6765|\u5b8c\u6210|\u5b8c|\u597d|\u6210)? ?[\u4e86\u7684\u8fc7]? ?"
    r"(?:(?:of|the|my|our|a|version|CUDA|GPU|CPU|\u6700\u65b0\u7248?|\u5b98\u65b9|\u7248\u672c?|:|\uff1a) ?){0,3}"
    r"(?:v?[12]\.\d[\w.+]{0,24} ?)?(?:\u7684 ?)?",
    re.ASCII,
)
_CLAUSE: Final = re.compile(r"[^\n.,;!?\u3002\uff0c\uff1b\uff01\uff1f\u3001]{0,16}\Z")
_CLAUSES: Final = re.compile("[,;\uff0c\uff1b]")
_OF_GEOMETRIC: Final = ("torch-scatter", "torch-sparse", "torch-cluster")
# Before and behind a name in the output of pip, conda and collect_env.
_LIST: Final = re.compile(r"(?:\A|\n)[ \t]{0,8}(?:\[\w{1,8}\][ \t]{0,8})?\Z", re.ASCII)
_IN_LIST: Final = re.compile(r"==v?\d[\w.+]{0,40}[ \t\r]{0,8}(?:\n|\Z)|(?:\t| {2,})v?\d", re.ASCII)
_MOST: Final = 1_000


def find_source_build(text: str) -> str | None:
    """The words of a text that say that torch (not an extension) was built from source; linear in its length."""
    found, _ = _find(text)
    return None if found is None else text[found[0] : found[1]]


def find_source_release(text: str) -> str | None:
    """The release directly after these words, else the number that the torches of a text share: `2.1.0`."""
    found, _ = _find(text)
    if found is None:
        return None
    after = pattern_of("release_behind").match(text, found[1]) or first_match("shared_release", text)
    return None if after is None else after[1]


@lru_cache(maxsize=4)
def built_packages(text: str) -> tuple[str, ...]:
    """The packages of the catalogue in a text that pip can build for a torch, in order, without torch itself."""
    known = map(packages_by_name().__getitem__, named_packages(text))
    return tuple(each.name for each in known if each.sdist or each.repository or each.guide)


def named_packages(text: str) -> tuple[str, ...]:
    """The packages of the catalogue in a text, in order, without torch itself."""
    stems = (match[1] for match in itertools.islice(matches("extension_module", text), _MOST))
    found = {package.name: None for stem in stems if (package := package_of_file(stem)) is not None}
    for name in itertools.islice(matches("package_name", text), _MOST):
        named = _package_named(name[0], name["torch"] is not None)
        if named and named not in found and not _is_in_list(text, *name.span()):
            found[named] = None
    if not found and is_shown("geometric", text):
        return _OF_GEOMETRIC
    return tuple(found or _named_by_parts(text))


def _is_in_list(text: str, start: int, end: int) -> bool:
    """Whether a name is alone with a release in its line."""
    return _IN_LIST.match(text, end) is not None and _LIST.search(text[max(0, start - 24) : start]) is not None


@lru_cache(maxsize=4_096)
def _package_named(name: str, is_torch: bool) -> str:
    """The package with a name as people write it; empty for none, and for torch."""
    word = re.sub(r"[ _]", "-", name.lower())
    if not is_torch:
        word = re.sub(r"^(?:py)?torch(?:-?(?=scatter|cluster|spline|geom)|-(?=sparse))", "torch-", word)
    package = None if is_torch or _is_product(name) else package_of_name(word)
    if package is None and "_" in name:
        package = package_of_file(name)  # `flash_attn_2_cuda.cpython-312: undefined symbol`
    return "" if package is None or package.name == "torch" else package.name


def _named_by_parts(text: str) -> tuple[str, ...]:
    parts = list(itertools.islice(matches("part_of_geometric", text), _MOST))
    names = tuple(dict.fromkeys(f"torch-{each['part']}" for each in parts))
    return names if len(names) > 1 or any(each["prebuilt"] for each in parts) else ()


def denies_source_build(text: str) -> bool:
    """Whether a text says that torch was not built from source; linear in its length."""
    found, is_denied = _find(text)
    return found is None and is_denied


class _Statement(NamedTuple):
    """Words and torch: their bounds, and whether a negation stands with them."""

    start: int
    end: int
    is_denied: bool


@lru_cache(maxsize=16)  # the messages of a text ask in turn
def _find(text: str) -> tuple[tuple[int, int] | None, bool]:
    """Bounds of the words and of torch, and whether a statement before them has a negation."""
    is_denied = False
    for each in _statements(text):
        if not each.is_denied:
            return (each.start, each.end), is_denied
        is_denied = True
    return None, is_denied


def _statements(text: str) -> Iterator[_Statement]:
    """Every statement that torch was, or was not, built from source; no question, no plan and no former build."""
    for kind, words in itertools.islice(matches_in_order("source_build", text), _MOST):
        begin = max(0, words.start() - _AROUND)
        found = _statement(text[begin : words.end() + _AROUND], kind, words.start() - begin, words.end() - begin)
        if found is not None:
            yield _Statement(begin + found.start, begin + found.end, found.is_denied)


# Logs are repetitive.
@lru_cache(maxsize=1_024)
def _statement(text: str, kind: str, words_start: int, words_end: int) -> _Statement | None:
    """The statement that words of a kind make in the text around them."""
    if pattern_of("left_build").search(text, max(0, words_start - _REACH), words_start):
        return None
    if kind in ("torch", "mine"):
        return _Statement(words_start, words_end, False)
    torch = _torch_of(text, kind, words_start, words_end)
    if torch is None:
        return None
    start, end = min(words_start, torch[0]), max(words_end, torch[1])
    before = _CLAUSE.search(text, max(0, start - 16), start)
    between = text[min(words_end, torch[1]) : max(words_start, torch[0])]
    between = _CLAUSES.split(between)[-1] or between
    clause = "" if before is None else before[0]
    negated = pattern_of("negated").search(clause)
    if negated is not None and start < words_start and pattern_of("made").search(clause, negated.end()) is None:
        negated = None
    if negated is not None and pattern_of("negated_of_other").search(clause, negated.end()) is not None:
        negated = None
    asked = (
        pattern_of("asked_in_chinese").match(text, end)
        or pattern_of("asked_whether").search(text, max(0, start - 40), start)
        or (
            pattern_of("asked_behind").match(text, end)
            and pattern_of("asked_before").search(text, max(0, start - 24), start)
        )
    )
    within = pattern_of("negated_within").search(between)
    planned = is_shown("still_to_build", clause) or any(is_shown("offered", each) for each in (clause, between))
    if asked or planned or (within and within[0] in ("pip", "conda")):
        return None
    return _Statement(start, end, bool(negated or within))


def _torch_of(text: str, kind: str, words_start: int, words_end: int) -> tuple[int, int] | None:
    """Bounds of the word torch that the words of a kind belong to."""
    if kind != "checkout" and pattern_of("of_file").match(text, words_end) is not None:
        return None
    after = next(_packages(text, words_end, words_end + _REACH), None)
    start = max(0, words_start - _REACH)
    if after is not None and _ADJACENT.fullmatch(text, words_end, after.start()):
        # `compile torchvision from source torch==1.12.1`: the installed torch beside what is built.
        listed = text.startswith("==", after.end()) and any(_packages(text, start, words_start))
        if after["torch"] is None or not listed:
            return after.span() if after["torch"] is not None else None
    if kind != "checkout":  # steps of a build follow each other
        start = max((start, *(each.end() for each in _END.finditer(text, start, words_start))))
    if kind == "oneself" and pattern_of("made").search(text, start, words_start) is None:
        return None
    if kind == "checkout" and pattern_of("cloned").search(text, start, words_start) is None:
        return None
    end = words_start
    for package in reversed([*_packages(text, start, words_start)]):
        if end < words_start and pattern_of("and_package").fullmatch(text, package.end(), end) is None:
            return None
        if package["torch"] is not None:
            return package.span()
        end = package.start()
    return None


def _packages(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The packages that are named in a part of a text."""
    for name in pattern_of("package_name").finditer(text, start, min(end, len(text))):
        word = name[0].lower()
        if (
            name["torch"] is not None
            or word.startswith(("torch", "pytorch"))
            or word in _OTHER
            or (package_of_name(word) and not _is_product(name[0]))
        ):
            yield name


def _is_product(word: str) -> bool:
    """Whether a word is too short to be a package in other letters than the package's own: Kimi K2 is a model."""
    return len(word) < 3 and not word.islower()


CONTAINER: Final = "container"
"""The packager of the torch in NVIDIA's containers."""
_PACKAGERS: Final = ("conda-forge", "distribution", CONTAINER)


def find_other_build(text: str) -> tuple[str, str] | None:
    """Who built the torch of a text, if it is no release on the package index (`source`, `conda-forge`, `distribution`,
    `container`, `nightly` or `NVIDIA`), and the words that say so; linear in its length."""
    said = find_source_build(text)
    return ("source", said) if said is not None else next(shown("torch_origin", text), None)


def packager_of(text: str) -> str:
    """Who packaged the torch of a text: `conda-forge`, `distribution` or `container`; empty for another torch."""
    return next((origin for origin, _ in shown("torch_origin", text) if origin in _PACKAGERS), "")
