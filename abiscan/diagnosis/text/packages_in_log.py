"""Finds the packages that a log is about: what pip built, shared objects, frames of a traceback, imports.

The patterns are rows of `catalogue/packages_in_text.toml`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import package_of_file, package_of_name
from abiscan.diagnosis.text.releases_in_sentences import is_proposed, present_values
from abiscan.diagnosis.text.source_builds import built_packages, named_packages
from abiscan.diagnosis.text.text_facts import (
    MOST_PLACES,
    captured,
    first_match,
    is_shown,
    matches,
    matches_and_values,
    pattern_of,
    values,
)
from abiscan.releases.companions import COMPANIONS

_MOST_RELEASES: Final = 500
_FRAMES: Final = ("module_of_frame", "frame_of_program")
_COMPANIONS: Final = ("torch", "torchvision", "torchaudio")


def find_projects(text: str) -> tuple[str, ...]:
    found = values("built_package", text) or [f"torch-{name}" for name in values("package_of_pyg", text)]
    if not found:
        stems = set(values("extension_module", text))
        found = [package.name for stem in stems if (package := package_of_file(stem)) is not None]
    return _normalised(found)


def find_project(text: str, projects: tuple[str, ...]) -> str:
    """The only one of the packages, else the only one that the text uses, else one that it names."""
    names = _with_longest_name(projects or _normalised(_used_packages(text)) or _normalised(_released_packages(text)))
    if not names:
        # The rows are in their order: vLLM's log names FlashInfer, too.
        names = tuple(dict.fromkeys(name for name, _ in matches_and_values("shown_package", text)))[:1]
    if not names and not is_shown("own_extension", text):
        names = built_packages(text) or named_packages(text)
    return names[0] if len(names) == 1 else ""


def _with_longest_name(names: tuple[str, ...]) -> tuple[str, ...]:
    """Without the shorter of two distributions with one module: mmcv beside mmcv-full."""
    return tuple(name for name in names if not any(other.startswith(f"{name}-") for other in names))


def _released_packages(text: str) -> tuple[str, ...]:
    """The packages that a text names with a release: `lmdeploy 0.9.2`; none of torch's."""
    packages = map(package_of_name, set(values("released_package", text)))
    return tuple({found.name for found in packages if found is not None and found.name not in _COMPANIONS})


def find_release(project: str, text: str) -> str:
    """The release that a text gives of a package by the name of its distribution or module: `flashinfer-python==0.2.2`,
    `flashinfer v0.2.2`."""
    package = package_of_name(project) if project else None
    if package is None:
        return ""
    longest_first = sorted((package.name, *package.modules), key=len, reverse=True)
    names = "|".join(re.escape(name).replace("\\-", "[-_ ]") for name in longest_first)
    behind = pattern_of("release_behind_name")
    found: list[tuple[int, int, str]] = []
    places = re.finditer(rf"(?<![\w.-])(?:py)?(?:{names})", text, re.ASCII | re.IGNORECASE)
    for name in itertools.islice(places, MOST_PLACES):
        release = behind.match(text, name.end())
        if release is not None and not is_proposed(text, name.start(), release.end()):
            found.append((name.start(), release.end(), captured(release)))
    return next(iter(present_values(text, found)), "")


def find_releases(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The first releases that a text gives beside names of packages, in lower case: those that are there, and those
    that it asks about."""
    found: dict[str, list[tuple[int, int, str]]] = {}
    asked: dict[str, str] = {}
    for match in itertools.islice(matches("release_of", text), _MOST_RELEASES):
        name, release = next(filter(None, match.groups())).lower().replace("_", "-"), captured(match)
        if is_proposed(text, match.start(), match.end()):
            asked.setdefault(name, release)
        else:
            found.setdefault(name, []).append((match.start(), match.end(), release))
    there = {name: releases[0] for name, each in found.items() if (releases := present_values(text, each))}
    alone = first_match("release_asked_alone", text) if len(there) == 1 and not asked else None
    if alone is not None:
        asked[next(iter(there))] = captured(alone)
    return there, asked


def _normalised(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({re.sub(r"[-_. ]+", "-", name).lower() for name in names}))


def _used_packages(text: str) -> tuple[str, ...]:
    """The package of the last frame of a traceback, else those that the text imports or installs; none of torch's."""
    of_frames, others = (
        [found.name for each in names if (found := package_of_name(each)) is not None and found.name not in _COMPANIONS]
        for names in (values("module_of_frame", text), values("used_module", text))
    )
    return tuple(of_frames[-1:]) or tuple(dict.fromkeys(others))


def find_failing_companion(text: str) -> str:
    """The package released with torch of the last frame of a traceback, else that a text without one is about."""
    frame, of_program = (max(matches(fact, text), key=re.Match.end, default=None) for fact in _FRAMES)
    if of_program is not None and (frame is None or of_program.end() > frame.end()):
        return ""
    name = captured(frame) if frame is not None else next(iter(values("failing_companion", text)), "")
    return name if name in COMPANIONS else ""


def find_made_for(text: str) -> tuple[str, str] | None:
    """The only extension with a torch in its label; None if there are several with different ones."""
    found = {}
    for match in matches("made_for", text):
        version = match[2]
        if "." not in version:
            # `pt20`, `torch200`, `torch2100`: major, minor, and with three digits or more a zero for the patch release.
            version = f"{version[0]}.{version[1:-1] if len(version) > 2 else version[1:]}"
        found[match[1].replace("_", "-").lower()] = version
    return next(iter(found.items())) if len(set(found.values())) == 1 else None


def find_cuda_packages(text: str) -> dict[str, str]:
    """NVIDIA's packages and their versions: `nvidia-nccl-cu12` -> `2.27.3`."""
    return {match[1]: match[2] for match in matches("package_of_nvidia", text)}


def find_only_sdist(text: str) -> str:
    found = first_match("only_sdist", text)
    return "" if found is None else found[1]
