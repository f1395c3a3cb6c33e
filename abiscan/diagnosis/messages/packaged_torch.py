"""Detects in a text a torch that is no release on the package index: from source, of conda-forge, of a distribution, of
NVIDIA, or a nightly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from abiscan.diagnosis.messages.source_builds import find_source_build

_DISTRIBUTIONS: Final = r"\b(?:[Aa]rch ?[Ll]inux|Arch|[Gg]entoo|NixOS|nixpkgs|Guix|Fedora|Debian|Homebrew)\b"
_REPOSITORY: Final = (
    r"(?![^\n]{0,24}\b(?:pip|conda|uv|wheels?)\b)[^\n.,;]{0,24}(?:\bemerge\b|\brepos?\b|\brepositor|\bpackag"
    r"|\u4ed3\u5e93|\u6e90\u7684|\u6e90\u91cc|\u5305)"
)
# With the new std::string.
_PACKAGERS: Final = ("conda-forge", "distribution")
# Origin -> words of which a text must have one, and the pattern.
_ORIGINS: Final[Mapping[str, tuple[tuple[str, ...], re.Pattern[str]]]] = {
    "conda-forge": (
        ("conda-forge",),
        re.compile(
            r"(?<![\w-])(?<!-c )(?:[Pp]y)?[Tt]orch(?![\w/]|[-_](?![cg]pu))(?![^\n]{0,80}-c pytorch)"
            r"[^\n]{0,80}\bconda-forge\b"
            r"|\bconda-forge\b(?![^\n]{0,80}-c pytorch)[^\n.;,&]{0,12}"
            r"(?<![\w-])(?:[Pp]y)?[Tt]orch(?![\w/]|[-_](?![cg]pu))",
            re.ASCII,
        ),
    ),
    # Packages of Arch, Debian and Fedora, Gentoo, Nix, Homebrew and Spack; modules of EasyBuild.
    "distribution": (
        (
            *("python-pytorch", "python3-", "sci-", "Packages.", "brew", "py-torch", "-foss-", "Arch", "arch", "entoo"),
            *("NixOS", "nixpkgs", "Guix", "Fedora", "Debian"),
        ),
        re.compile(
            r"\bpython-pytorch(?:-opt)?(?:-(?:cuda|rocm))?\b|\bpython3-(?:py)?torch\b"
            r"|\bsci-(?:ml|libs)/(?:py|caffe2|torch)|\bpython3\d{0,2}Packages\.(?:py)?torch|\bbrew install (?:py)?torch"
            r"|\bpy-torch\b|\bPyTorch/\d[\w.]{1,16}-foss-\d{4}"
            rf"|orch[^\n]{{0,60}}?{_DISTRIBUTIONS}{_REPOSITORY}|{_DISTRIBUTIONS}(?=[^\n]{{0,60}}orch){_REPOSITORY}",
            re.ASCII,
        ),
    ),
    "nightly": (
        (".dev20", "ightl"),
        re.compile(
            r"(?<![\w.])[12]\.\d{1,2}\.\d\.dev20\d{6}\b|\b(?:[Pp]y)?[Tt]orch[ -][Nn]ightl(?:y|ies)\b"
            r"|\b[Nn]ightl(?:y|ies) (?:build of )?(?:[Pp]y)?[Tt]orch\b|\bdownload\.pytorch\.org/whl/nightly\b",
            re.ASCII,
        ),
    ),
    "NVIDIA": (
        ("Jet", "nv2", "nvcr.io"),
        re.compile(r"\bJetson\b|\bJetPack\b|\bnv2\d\.\d{2}\b|\bnvcr\.io/nvidia/(?:pytorch|l4t)", re.ASCII),
    ),
}


def find_other_build(text: str) -> tuple[str, str] | None:
    """Who built the torch of a text, if it is no release on the package index (`source`, `conda-forge`, `distribution`,
    `nightly` or `NVIDIA`), and the words that say so; linear in its length."""
    said = find_source_build(text)
    if said is not None:
        return "source", said
    found = ((origin, _search(origin, text)) for origin in _ORIGINS)
    return next(((origin, match[0]) for origin, match in found if match is not None), None)


def packager_of(text: str) -> str:
    """Who packaged the torch of a text: `conda-forge` or `distribution`; empty for another torch."""
    return next((origin for origin in _PACKAGERS if _search(origin, text) is not None), "")


def _search(origin: str, text: str) -> re.Match[str] | None:
    words, pattern = _ORIGINS[origin]
    return pattern.search(text) if any(word in text for word in words) else None
