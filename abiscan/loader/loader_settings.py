"""Settings that the loader takes from its process."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from abiscan.filesystem import HERE, FileSystem


class LoaderSettings(Struct, frozen=True):
    """The environment of the modelled process (ld.so(8)).

    Attributes:
        cwd: absolute working directory; relative search directories start there.
        library_path: value of LD_LIBRARY_PATH.
        preload: value of LD_PRELOAD.
        tunables: value of GLIBC_TUNABLES.
        files: the file system of the process, in which all of its paths are opened.
    """

    cwd: str
    library_path: str | None = None
    preload: str | None = None
    tunables: str | None = None
    files: FileSystem = HERE

    @classmethod
    def of(cls, environ: Mapping[str, str], cwd: str) -> LoaderSettings:
        """The settings of a process with these environment variables."""
        return cls(
            cwd=cwd,
            library_path=environ.get("LD_LIBRARY_PATH"),
            preload=environ.get("LD_PRELOAD"),
            tunables=environ.get("GLIBC_TUNABLES"),
        )

    def tunable(self, name: str) -> str | None:
        """The last value of a tunable such as `glibc.rtld.dynamic_sort` (glibc manual, "Tunables")."""
        value = None
        for pair in (self.tunables or "").split(":"):
            key, _, text = pair.partition("=")
            if key == name:
                value = text
        return value
