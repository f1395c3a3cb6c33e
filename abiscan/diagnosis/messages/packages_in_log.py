"""Finds the packages that a log is about: what pip built, shared objects, frames of a traceback, imports."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import package_of_file, package_of_name
from abiscan.diagnosis.messages.proposed_release import is_proposed
from abiscan.diagnosis.messages.source_builds import built_packages, named_packages
from abiscan.diagnosis.messages.values_in_text import matches, values

# pip's lines about a build, and the folder in which it builds (pip/_internal/wheel_builder.py, req/req_install.py).
_BUILT = re.compile(
    r"(?:Failed building wheel for|Building wheel for|Failed to build|Could not build wheels for) {1,4}"
    r"([A-Za-z][\w.-]{0,63})"
    r"|[/\\]pip-(?:install|req-build)-\w{1,16}[/\\]([A-Za-z][\w.-]{0,63}?)_[0-9a-f]{32}\b",
    re.ASCII,
)
# In prose, these packages alone have no other meaning.
_NAMED = re.compile(
    # `torchsparse` is another package.
    r"(?<![\w.-])(?:[Pp]y)?[Tt]orch(?:[-_ ]?(?![Ss]parse)|[-_ ])([Ss]catter|[Ss]parse|[Cc]luster|[Ss]pline[-_ ][Cc]onv)"
    r"(?=[-_]?v?\d\.\d|(?![\w-]|\.\w))",
    re.ASCII,
)

_FLASHINFER = re.compile(
    r"(?<![\w-])(?:[Ff]lash[Ii]nfer|FLASHINFER)(?![a-z])|\b(?:pytorch_conversion_utils|tensor_to_vec)\b", re.ASCII
)
# Modules that a text imports or that are in a traceback, and packages that it installs.
_FRAME_OF = re.compile(r"(?:site|dist)-packages[/\\]{1,4}(\w{2,64})[/\\]", re.ASCII)
_USED = re.compile(
    r"(?:^|\n|>>> )[ \t]{0,16}(?:from|import) (\w{2,64})|"
    r"(?:pip3?|mim|conda) install (?:--?[\w-]{1,32}(?:=\S{1,128})? ){0,6}['\"]?(\w[\w-]{1,64})",
    re.ASCII,
)
_RELEASED = re.compile(r"(?<![\w./\\-])([A-Za-z][\w-]{2,63}?)(?:==| {1,32}v?| version )\d{1,3}\.\d", re.ASCII)
# `vllm==0.8.5`, `vLLM 0.8.5`, "upgrade vLLM to 0.8.5", also in Chinese.
_RELEASE_OF = re.compile(
    r"(?<![\w.-])(?!(?i:would|will|does|did|do|the|to|in|on|is|and|version)\b)([A-Za-z][\w-]{1,63}?)"
    r"(?:[ =:@(-]{1,4}|(?: ?\u7684)? ?\u7248\u672c ?|"
    r" ?(?:to|\u5347\u7ea7\u5230|\u5347\u5230|\u66f4\u65b0\u5230|\u5347\u7ea7\u81f3|\u5230) ?)"
    r"(?:version ?)?v?(\d{1,3}(?:\.\d{1,5}){1,3}(?:\.?(?:post|rc)\d{1,8})?)(?![\w.]\w)"
    # "0.8.4, upgraded to 0.8.5, still fails"
    r"(?:,? ?(?:\u5347\u7ea7\u5230|\u5347\u5230|\u66f4\u65b0\u5230|->|\u2192|upgraded to) ?v?"
    r"(\d{1,3}(?:\.\d{1,5}){1,3})(?=[^\n]{0,8}(?:\u540e|\u4ecd|\u8fd8|still|but)))?",
    re.ASCII,
)
_MOST_RELEASES: Final = 500
# "I have vLLM 0.8.4, would 0.8.5 fix it?": of the only package that the text names with a release.
_ASKED_ALONE = re.compile(
    r"\b(?:would|will|does|did)(?: upgrading to| moving to| the)? v?(\d{1,3}(?:\.\d{1,5}){1,3})"
    r" (?:fix|help|solve|resolve)"
    r"|(?:\u5347\u7ea7\u5230|\u5347\u5230|\u6362\u6210|\u66f4\u65b0\u5230) ?v?(\d{1,3}(?:\.\d{1,5}){1,3})"
    r" ?(?:\u5417|\u6709\u7528|\u80fd|\u53ef\u4ee5|\u5c31\u597d|\u4f1a)"
)
_COMPANIONS: Final = ("torch", "torchvision", "torchaudio")
# "I have only torch_scatter-2.1.2.tar.gz"
_ONLY_SDIST = re.compile(
    r"(?:\bonly\b|\bjust\b|\u53ea\u6709|\u4ec5\u6709|\u53ea\u4e0b\u8f7d)[^\n.;!?]{0,40}?"
    r"(?<![\w./-])([A-Za-z]\w{1,63}-\d[\w.]{0,24}\.tar\.gz)(?!\w)",
    re.ASCII,
)
_SHARED_OBJECT = re.compile(r"(?<![\w./\\-])(\w{1,128})(?:\.[\w-]{1,64}){0,2}\.so(?![\w.])", re.ASCII)
# Labels for the torch of a wheel: `+cu122torch2.3cxx11abiFALSE`, `+pt20cu118`, `+torch200cu118`.
_MADE_FOR = re.compile(
    r"(?<![A-Za-z0-9])([A-Za-z][\w.]{0,63}?)[-= ]{1,4}v?\d[\w.]{0,31}(?:\+|-(?=cu\d))"
    r"(?:cu\d{2,3}|cpu|rocm[\d.]{1,6})?[._-]?(?:torch|pt)(\d\.\d{1,2}|\d{2,4})(?!\d)"
)


def find_projects(text: str) -> tuple[str, ...]:
    found = values(_BUILT, text) or [f"torch-{name}" for name in values(_NAMED, text)]
    if not found:
        stems = set(values(_SHARED_OBJECT, text))
        found = [package.name for stem in stems if (package := package_of_file(stem)) is not None]
    return _normalised(found)


def find_project(text: str, projects: tuple[str, ...]) -> str:
    """The only one of the packages, else the only one that the text uses, else one that it names."""
    names = _with_longest_name(projects or _normalised(_used_packages(text)) or _normalised(_released_packages(text)))
    if not names and _FLASHINFER.search(text) is not None:
        return "flashinfer-python"
    names = names or built_packages(text) or named_packages(text)
    return names[0] if len(names) == 1 else ""


def _with_longest_name(names: tuple[str, ...]) -> tuple[str, ...]:
    """Without the shorter of two distributions with one module: mmcv beside mmcv-full."""
    return tuple(name for name in names if not any(other.startswith(f"{name}-") for other in names))


def _released_packages(text: str) -> tuple[str, ...]:
    """The packages that a text names with a release: `lmdeploy 0.9.2`; none of torch's."""
    packages = map(package_of_name, set(values(_RELEASED, text)))
    return tuple({found.name for found in packages if found is not None and found.name not in _COMPANIONS})


def find_release(project: str, text: str) -> str:
    """The release that a text gives of a package by the name of its distribution or module: `flashinfer-python==0.2.2`,
    `flashinfer v0.2.2`."""
    package = package_of_name(project) if project else None
    if package is None:
        return ""
    names = "|".join(re.escape(name).replace("\\-", "[-_ ]") for name in (package.name, *package.modules))
    releases = re.compile(
        rf"(?<![\w.-])(?:py)?(?:{names})(?:[ =:@-]{{0,4}}|\nVersion: )(?:version ?)?v?(\d{{1,3}}(?:\.\d{{1,5}}){{1,3}}"
        r"(?:\.?(?:post|rc|a|b|dev)\d{1,8})?)(?![\w.]\w)",
        re.ASCII | re.IGNORECASE,
    )
    found = (match for match in matches(releases, text) if not is_proposed(text, match.start(), match.end(1)))
    return next((match[1] for match in found), "")


def find_releases(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The first releases that a text gives beside names of packages, in lower case: those that are there, and those
    that it asks about."""
    there: dict[str, str] = {}
    asked: dict[str, str] = {}
    for match in itertools.islice(_RELEASE_OF.finditer(text), _MOST_RELEASES):
        found = asked if is_proposed(text, match.start(), match.end()) else there
        found.setdefault(match[1].lower().replace("_", "-"), match[3] or match[2])
    alone = _ASKED_ALONE.search(text) if len(there) == 1 and not asked else None
    if alone is not None:
        asked[next(iter(there))] = alone[1] or alone[2]
    return there, asked


def _normalised(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({re.sub(r"[-_. ]+", "-", name).lower() for name in names}))


def _used_packages(text: str) -> tuple[str, ...]:
    """The package of the last frame of a traceback, else those that the text imports or installs; none of torch's."""
    of_frames, others = (
        [found.name for each in names if (found := package_of_name(each)) is not None and found.name not in _COMPANIONS]
        for names in (values(_FRAME_OF, text), values(_USED, text))
    )
    return tuple(of_frames[-1:]) or tuple(dict.fromkeys(others))


def find_made_for(text: str) -> tuple[str, str] | None:
    """The only extension with a torch in its label; None if there are several with different ones."""
    found = {}
    for match in matches(_MADE_FOR, text):
        version = match[2]
        if "." not in version:
            # `pt20`, `torch200`, `torch2100`: major, minor, and with three digits or more a zero for the patch release.
            version = f"{version[0]}.{version[1:-1] if len(version) > 2 else version[1:]}"
        found[match[1].replace("_", "-").lower()] = version
    return next(iter(found.items())) if len(set(found.values())) == 1 else None


# NVIDIA's packages of CUDA libraries, in `pip list`, `pip freeze` and the report of collect_env.
_OF_NVIDIA = re.compile(
    r"(?<![\w.-])(nvidia-[a-z]{3,24}(?:-[a-z]{2,16}){0,2}-cu1\d)(?:==| {1,60}|: )(\d{1,3}(?:\.\d{1,6}){1,4})(?![\w.])"
)


def find_cuda_packages(text: str) -> dict[str, str]:
    """NVIDIA's packages and their versions: `nvidia-nccl-cu12` -> `2.27.3`."""
    return {match[1]: match[2] for match in matches(_OF_NVIDIA, text)}


def find_only_sdist(text: str) -> str:
    found = _ONLY_SDIST.search(text)
    return "" if found is None else found[1]
