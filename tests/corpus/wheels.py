"""The public wheels of the marked tests, from `wheels.toml`; `fetch.py` downloads them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Wheel:
    """One wheel by file name and digest (SHA-256, hexadecimal); `megabytes` is its download size."""

    file: str
    sha256: str
    megabytes: int

    @property
    def requirement(self) -> str:
        """The requirement for pip."""
        name, version = self.file.split("-")[:2]
        return f"{name}=={version}"

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platform tags of its name (PEP 425), last one first: names go from old to new."""
        return tuple(reversed(self.file.removesuffix(".whl").rpartition("-")[2].split(".")))


def _listed(name: str) -> tuple[Wheel, ...]:
    return tuple(Wheel(*row) for row in _LISTS[name])


_LISTS = tomllib.loads(Path(__file__).with_name("wheels.toml").read_text(encoding="utf-8"))
WHEELS = _listed("linux")
WINDOWS, MACOS = _listed("windows"), _listed("macos")
WINDOWS_TORCHES, WINDOWS_EXTENSIONS = _listed("windows_torches"), _listed("windows_extensions")
MACOS_EXTENSIONS = _listed("macos_extensions")
