"""Packages of the torch project that are released with torch: each release is built for one torch release.

The table of torchvision is from its README (https://github.com/pytorch/vision#installation) and the requirements of its
wheels (`torch ==2.4.0`); torchaudio has had torch's version number since 2.0. Torchvision 0.29 is the first whose wheel
also supports later releases (`torch >=2.14.0`). The table has no torchaudio from 2.10 on, whose wheels require no
release.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from abiscan.model import versions

# Release of the package -> torch release, as major and minor number.
_TORCH_OF: Final = MappingProxyType(
    {
        "torchvision": {
            **{(0, minor + 1): (1, minor) for minor in range(4, 14)},
            **{(0, minor + 15): (2, minor) for minor in range(14)},
        },
        "torchaudio": {
            **{(0, minor): (1, minor) for minor in range(4, 14)},
            **{(2, minor): (2, minor) for minor in range(10)},
        },
    }
)
# From this release of the package on, the given torch release and later ones.
_AND_LATER: Final = MappingProxyType({"torchvision": ((0, 29), (2, 14))})
_OF_NAMESPACE: Final = MappingProxyType(
    {"torchvision": "torchvision", "image": "torchvision", "torchaudio": "torchaudio", "torchtext": "torchtext"}
)
TRITON_OF: Final = MappingProxyType(
    {
        "2.0": "2.0.0",
        "2.1": "2.1.0",
        "2.2": "2.2.0",
        "2.3": "2.3.1",
        "2.4": "3.0.0",
        "2.5": "3.1.0",
        "2.6": "3.2.0",
        "2.7": "3.3.1",
        "2.8": "3.4.0",
        "2.9": "3.5.1",
        "2.10": "3.6.0",
        "2.11": "3.6.0",
        "2.12": "3.7.0",
        "2.14": "3.8.0",
    }
)
"""Torch release -> the newest Triton that its wheels for Linux require (`METADATA`, read 2026-11-27)."""
COMPANIONS: Final = frozenset(_TORCH_OF)
"""Normalized names of the packages."""


def registers(namespace: str) -> str | None:
    """The package whose library registers the operators of a namespace; None if unknown."""
    return _OF_NAMESPACE.get(namespace)


def built_for(package: str, version: str) -> str | None:
    """The torch release for which a companion was built: `2.4`, `2.14 and later`; None if unknown."""
    found = _torches_for(package, version)
    if found is None:
        return None
    (major, minor), later = found
    return f"{major}.{minor}{' and later' if later else ''}"


def is_known(package: str, version: str) -> bool:
    """Whether a companion is not later than the newest release of the table."""
    found, here = _torches_for(package, version), _minor(version)
    newest = _AND_LATER.get(package)
    return found is not None and (newest is None or here is None or here <= newest[0])


def compared(package: str, version: str, torch: str) -> int | None:
    """-1 if a companion was built for an older torch, 1 for a newer one, 0 for this one; None if unknown."""
    found, at = _torches_for(package, version), _minor(torch)
    if found is None or at is None:
        return None
    first, later = found
    if at < first:
        return 1
    return -1 if at > first and not later else 0


def release_for(package: str, torch: str) -> str | None:
    """The release of a companion, such as `0.19`, built for a torch release; None if unknown."""
    at = _minor(torch)
    found = next((mine for mine, its in _TORCH_OF.get(package, {}).items() if its == at), None)
    return None if found is None else f"{found[0]}.{found[1]}"


def _torches_for(package: str, version: str) -> tuple[tuple[int, int], bool] | None:
    """The first torch release for a package release, and whether later ones are supported too."""
    at = _minor(version)
    if at is None or package not in _TORCH_OF:
        return None
    since = _AND_LATER.get(package)
    if since is not None and at >= since[0]:
        return since[1], True
    found = _TORCH_OF[package].get(at)
    return None if found is None else (found, False)


def _minor(version: str) -> tuple[int, int] | None:
    order = versions.order(version)
    return None if order is None else (order[0], order[1])
