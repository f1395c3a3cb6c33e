"""A released build of torch, and how a file fares on it (made by `releases`)."""

from __future__ import annotations

from msgspec import Struct


class ReleaseVerdict(Struct, frozen=True):
    """How a file fares on one released build.

    Attributes:
        build: unique key (version, variant, architecture).
        missing: mangled names that the build does not export.
        drift: data objects whose size differs from the build the file was made for.
        reason: in a word why it fails ("old string ABI", "CPU only"); empty where it loads.
    """

    build: str
    torch: str
    variant: str
    cxx11_abi: bool
    loads: bool
    missing: tuple[str, ...]
    drift: tuple[str, ...]
    reason: str


class KnownBuild(Struct, frozen=True):
    """A torch build as `abiscan releases` lists it.

    Attributes:
        wheel: the file that it was read from, with its sha256 where that was a file.
        user: from the user's own index, not from the shipped one.
    """

    key: str
    torch: str
    variant: str
    machine: str
    cuda: str | None
    hip: str | None
    cxx11_abi: bool | None
    git_revision: str | None
    wheel: str
    sha256: str | None
    user: bool
