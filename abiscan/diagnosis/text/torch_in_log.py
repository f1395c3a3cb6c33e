"""Finds the version, variant and string ABI of torch in a log, and the versions of the packages released with it.

The patterns are rows of `catalogue/torch_in_text.toml`. If lines of the most reliable kind in a text contradict each
other, none is used."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import packages_by_name, wheels_of
from abiscan.diagnosis.text.releases_in_sentences import is_proposed, present_values
from abiscan.diagnosis.text.source_builds import CONTAINER, packager_of
from abiscan.diagnosis.text.text_facts import (
    MOST_PLACES,
    captured,
    first_match,
    is_shown,
    matches,
    only_value,
    pattern_of,
    patterns_of,
    values,
    values_by_row,
)
from abiscan.model.versions import is_version, minor

# A CUDA release, as is any above 2; or one of the package torch of R or OCaml: torch went from 0.4 to 1.0.
_OF_OTHER = re.compile(r"1\d\.\d|0\.(?:[5-9]|\d\d)")
_CUDA_RELEASE = re.compile(r"\d{1,2}\.\d|[89]\d|\d{3}")
# "CUDA 12.1/torch 2.4.0" is no path.
_BESIDE_RELEASE = re.compile(r"(?<![\w./])(?:[A-Za-z]{2,12}[ =:-]?)?\(?\d{1,2}\.\d{1,2}(?:\.\d{1,3})?\)?/\Z", re.ASCII)
_OF_DRIVER: Final = "Driver Version"
# Of torch.__config__.show(), and the characters behind it that have the compiler flags of torch.
_BUILT_WITH: Final = "PyTorch built with:"
_FLAGS: Final = 8_192
# Characters before and behind the name of torch that decide about a version beside it.
_AROUND: Final = 128
_BEHIND: Final = 640
# The rank of a version in a sentence among the rows of `torch_beside`.
_SAID: Final = 2


def find_torch_version(text: str) -> str | None:
    if only := next(filter(None, map(only_value, values_by_row("torch", text))), ""):
        return only
    stated: list[tuple[int, int, tuple[int, str]]] = []
    at = text.find("orch")
    for _ in range(MOST_PLACES):
        if at < 0:
            break
        if _is_torch_itself(text, at):
            begin = max(0, at - _AROUND)
            for start, end, form in _stated_at(text[begin : at + _BEHIND], at - begin):
                stated.append((begin + start, begin + end, form))
        at = text.find("orch", at + 4)
    said: dict[int, dict[str, None]] = {}
    of_build = [match.span() for match in matches("built_for", text)]
    stated = [each for each in stated if not any(start <= each[0] < end for start, end in of_build)]
    for rank, version in present_values(text, stated):
        said.setdefault(rank, {})[version] = None
    compiled_for = find_compiled_for(text)
    if said:
        versions = said[min(said)]
        # The torch of the build is not the one that loads the file, if the text names another.
        loading = [each for each in versions if not f"{each}.".startswith(f"{compiled_for}.")]
        return _one_of(loading or list(versions))
    named = (values(fact, text) for fact in ("libtorch_archive", "torch_labelled", "torch_of_page", "torch_of_address"))
    labelled = next(filter(None, ([*filter(is_version, each)] for each in named)), [""])
    return _one_of(labelled) or None


# Logs are repetitive.
@lru_cache(maxsize=1_024)
def _stated_at(text: str, at: int) -> tuple[tuple[int, int, tuple[int, str]], ...]:
    """The version that a part of a text gives of the torch of which `orch` at an offset is the end, with its bounds and
    the reliability of its form (0 is the best); nothing for a proposed one."""
    start = _start_of_name(text, at)
    moved = pattern_of("torch_moved_to").match(text, at)
    if moved is not None and is_shown("torch_moved", text[max(0, at - 32) : at - 1]):
        if is_proposed(text, start, moved.end()):
            return ()
        return ((moved.start(moved.lastindex or 0), moved.end(), (_SAID, captured(moved))),)
    for rank, pattern in enumerate(patterns_of("torch_beside")):
        found = pattern.match(text, at)
        if found is not None and is_proposed(text, start, found.end(found.lastindex or 0)):
            return ()
        if found is not None and is_version(captured(found)) and not _OF_OTHER.match(captured(found)):
            return ((start, found.end(found.lastindex or 0), (rank, captured(found))),)
    before = pattern_of("torch_version_before").search(text[max(0, at - 96) : at - 1])
    return () if before is None else ((start, at + 4, (_SAID, captured(before))),)


def find_compiled_for(text: str) -> str:
    """The only torch that an extension was built with, according to the text; empty if unknown."""
    return only_value(values("compiled_for", text))


def _is_torch_itself(text: str, at: int) -> bool:
    """Whether `orch` is the end of the word torch or PyTorch, and no command that removes it precedes."""
    start = _start_of_name(text, at)
    if at < 1 or text[at - 1] not in "tT":
        return False
    before = text[max(0, start - 24) : start]
    if before.endswith(("envs/", "envs\\")):
        return True
    if before and (before[-1].isascii() and (before[-1].isalnum() or before[-1] in "_-./+")):
        return _BESIDE_RELEASE.search(before) is not None
    return not is_shown("not_there", before)


def _start_of_name(text: str, at: int) -> int:
    """The offset of torch, PyTorch or libtorch, of which `orch` at an offset is the end."""
    start = at - 1
    if text[max(0, start - 2) : start].lower() == "py":
        start -= 2
    return start - 3 if text[max(0, start - 3) : start] == "lib" else start


def _one_of(versions: list[str]) -> str | None:
    """The version that all agree on. Shorter forms agree with one that has a label or a third number."""
    longest = max(versions, key=len)
    return longest if all(longest.startswith(version) for version in versions) else None


def find_label(text: str) -> str:
    """`+cpu`, `+cu111`, `+rocm5.2`: the variant of torch according to the text; empty if unknown."""
    cuda, rocm = first_match("cuda_of_build", text), first_match("rocm_of_build", text)
    without = ("None", "N/A", "No")
    if cuda is not None and cuda[1] in without and (rocm is None or rocm[1] in without):
        return "+cpu"
    if rocm is not None and rocm[1][0].isdigit():
        return f"+rocm{'.'.join(rocm[1].split('.')[:2])}"
    if is_shown("torch_for_cpu", text):
        return "+cpu"
    if of_rocm := only_value(values("rocm_of_torch", text)):
        return f"+rocm{of_rocm}"
    said = [release for found in values_by_row("cuda_of_torch", text) for release in found]
    said += [cuda[1]] if cuda is not None else []
    if not said and packager_of(text):
        said = values("cuda_said", text)
    found = only_value(release.replace(".", "") for release in said if _CUDA_RELEASE.fullmatch(release))
    return found and f"+cu{found}"


def find_label_beside(torch: str, text: str) -> str:
    """`+cu118` for a CUDA release that the text names in one phrase with a release of torch that has builds for it;
    empty if there is none, or the text names a toolkit."""
    found = only_value(values("cuda_beside_torch", text)).replace(".", "")
    if not found or values("toolkit", text):
        return ""
    rows = (each.variants for each in wheels_of(packages_by_name()["torch"]))
    known = (variants.get(torch) or variants.get(minor(torch)) or () for variants in rows)
    return f"+cu{found}" if any(f"cu{found}" in each for each in known) else ""


def find_variant(text: str) -> str:
    """The variant of the only CUDA release that a text names; empty if it names several, or none."""
    said = [
        captured(match).replace(".", "")
        for match in matches("cuda_said", text)
        if _OF_DRIVER not in text[max(0, match.start() - 64) : match.start()].rpartition("\n")[2]
        and not is_proposed(text, match.start(), match.end())
    ]
    said = said or [release.replace(".", "") for release in values("toolkit", text)]
    found = only_value(said or values("cuda_of_package", text))
    return found and f"cu{found}"


def find_cxx11_abi(text: str) -> bool | None:
    found = {value.lower() in ("true", "1", "yes") for found in values_by_row("cxx11_abi", text) for value in found}
    if not found:
        at = text.find(_BUILT_WITH)
        flag = pattern_of("cxx11_abi_flag").search(text, at, at + _FLAGS) if at >= 0 else None
        found = set() if flag is None else {flag[1] == "1"}
    if not found:
        found = {match["abi"] is not None for match in matches("libtorch_archive", text)}
    if not found and packager_of(text) not in ("", CONTAINER):
        return True
    return found.pop() if len(found) == 1 else None


def find_companions(text: str) -> dict[str, str]:
    """Versions from `pip list` and similar output; a package with contradictory lines is omitted."""
    said: dict[str, dict[str, None]] = {}
    for match in matches("companion", text):
        before = text[max(0, match.start() - 24) : match.start()]
        if is_version(match[2]) and not is_shown("not_there", before):
            said.setdefault(match[1].lower(), {})[match[2]] = None
    one = {package: _one_of(list(versions)) for package, versions in said.items()}
    return {package: version for package, version in one.items() if version is not None}
