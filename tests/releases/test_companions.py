"""The torch of a torchvision or torchaudio release. Oracle: `Requires-Dist: torch` of its own wheel."""

from __future__ import annotations

import pytest

from abiscan.releases import companions

# Package, version, and the torch that the wheel of this version requires.
REQUIRED = [
    ("torchvision", "0.15.2", "2.0.1"),
    ("torchvision", "0.17.2", "2.2.2"),
    ("torchvision", "0.19.0", "2.4.0"),
    ("torchvision", "0.20.1+cu121", "2.5.1"),
    ("torchvision", "0.21.0", "2.6.0"),
    ("torchvision", "0.22.1", "2.7.1"),
    ("torchvision", "0.24.1", "2.9.1"),
    ("torchvision", "0.28.0", "2.13.0"),
    ("torchaudio", "2.1.2", "2.1.2"),
    ("torchaudio", "2.9.1", "2.9.1"),
]


@pytest.mark.parametrize(("package", "version", "torch"), REQUIRED)
def test_a_release_is_for_one_torch(package: str, version: str, torch: str) -> None:
    minor = ".".join(torch.split(".")[:2])
    assert companions.built_for(package, version) == minor
    assert companions.compared(package, version, torch) == 0
    assert companions.compared(package, version, "1.99.0" if torch.startswith("1") else "2.99.0") == -1
    assert companions.compared(package, version, "1.13.1") == 1
    assert companions.release_for(package, torch) == ".".join(version.split(".")[:2])


# The table of torchvision's README, for releases before Requires-Dist was exact.
@pytest.mark.parametrize(
    ("version", "torch"), [("0.5.0", "1.4"), ("0.9.1", "1.8"), ("0.10.0", "1.9"), ("0.14.1", "1.13"), ("0.18.0", "2.3")]
)
def test_older_releases(version: str, torch: str) -> None:
    assert companions.built_for("torchvision", version) == torch


def test_a_release_for_later_ones_too() -> None:
    """torchvision-0.29.2-py3-none requires torch >=2.14.0."""
    assert companions.built_for("torchvision", "0.29.2") == "2.14 and later"
    assert companions.compared("torchvision", "0.29.2", "2.15.0") == 0
    assert companions.compared("torchvision", "0.29.2", "2.13.0") == 1
    assert companions.release_for("torchvision", "2.15.0") is None


@pytest.mark.parametrize(("package", "version"), [("torchaudio", "2.11.0"), ("torchvision", "x"), ("numpy", "2.0")])
def test_unknown_names_have_no_answer(package: str, version: str) -> None:
    assert companions.built_for(package, version) is None
    assert companions.compared(package, version, "2.4.0") is None
