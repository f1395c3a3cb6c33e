"""The library search: `_dl_map_object` and `open_path` in elf/dl-load.c of glibc, in the order of ld.so(8)."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping

from msgspec import Struct

from abiscan.elf.dynamic import DF_1_NODEFLIB
from abiscan.filesystem import HERE, FileSystem
from abiscan.loader.failure import LoadFailure
from abiscan.loader.hardware import Hardware, read_hardware
from abiscan.loader.ld_so_cache import LibraryCache
from abiscan.loader.linker import RuntimeLinker
from abiscan.loader.linkmap import LinkMap
from abiscan.loader.opened_files import AbsentLibrary, Files, Opened, Refused
from abiscan.model.loading import LoaderStop, StopKind


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


class Search:
    """The library search of one process, with the settings fixed at its start."""

    def __init__(self, linker: RuntimeLinker, settings: LoaderSettings, files: Files) -> None:
        self._linker = linker
        self._settings = settings
        self.files = files
        self._main: LinkMap | None = None
        self._hardware: Hardware | None = None
        self._cache: LibraryCache | None = None
        self._capabilities: dict[str, tuple[str, ...]] = {}
        self._environment_dirs: tuple[str, ...] = ()
        self._errno = 0
        self._other_class = False

    def over(self, files: Files) -> Search:
        """The same search in another view of the file system."""
        copy = Search(self._linker, self._settings, files)
        copy._main, copy._environment_dirs = self._main, self._environment_dirs
        copy._hardware, copy._cache = self._hardware, self._cache
        return copy

    @property
    def hardware(self) -> Hardware:
        if self._hardware is None:
            self._hardware = read_hardware(self._linker.machine, self._settings.files)
        return self._hardware

    @property
    def cache(self) -> LibraryCache:
        if self._cache is None:
            flags = self._linker.cache_id
            self._cache = (
                LibraryCache(b"", 0, (), legacy=False)
                if flags is None
                else LibraryCache.read(
                    "/etc/ld.so.cache",
                    flags,
                    self.hardware.levels,
                    legacy=not self._linker.at_least(2, 37),
                    files=self._settings.files,
                )
            )
        return self._cache

    def start(self, main: LinkMap) -> None:
        """Set the executable: its RPATH is searched for every object, and LD_LIBRARY_PATH uses its $ORIGIN."""
        self._main = main
        text = self._settings.library_path
        if text:
            self._environment_dirs = self._directories(text.replace(";", ":").split(":"), main)

    def forget_errno(self) -> None:
        """Set errno to 0, as the loader does before it maps a closure. A failed search reports the errno of the last
        attempt to open a file."""
        self._errno = 0

    # --- lists of directories -----------------------------------------------------------------------------------

    def expand(self, text: str, item: LinkMap) -> str:
        """Replace the dynamic string tokens in a path of `item`."""
        if "$" not in text:
            return text
        return expand_tokens(text, origin=item.origin, lib=self._linker.lib, platform=self.hardware.platform)

    def _directories(self, parts: list[str], item: LinkMap) -> tuple[str, ...]:
        """Distinct directories, each ending in a slash, or empty for the working directory (fillin_rpath)."""
        found: dict[str, None] = {}
        for part in parts:
            if part:
                path = self.expand(part, item)
                if not path:
                    continue
                found[path.rstrip("/") + "/"] = None
            else:
                found[""] = None
        return tuple(found)

    def _rpath(self, item: LinkMap) -> tuple[str, ...]:
        if item.rpath_dirs is None:
            elf = item.elf
            text = None if elf is None or elf.runpath is not None else elf.rpath
            item.rpath_dirs = self._directories(text.split(":"), item) if text else ()
        return item.rpath_dirs

    def _runpath(self, item: LinkMap) -> tuple[str, ...]:
        if item.runpath_dirs is None:
            text = None if item.elf is None else item.elf.runpath
            item.runpath_dirs = self._directories(text.split(":"), item) if text else ()
        return item.runpath_dirs

    def _subdirectories(self, directory: str) -> tuple[str, ...]:
        """Existing hardware subdirectories of a directory, then the directory itself (an empty string)."""
        known = self._capabilities.get(directory)
        if known is None:
            files = self.files
            wanted: list[str] = []
            if files.is_directory(directory + "glibc-hwcaps"):
                wanted += [f"glibc-hwcaps/{level}" for level in self.hardware.levels]
            if not self._linker.at_least(2, 37):
                tops = {name.partition("/")[0] for name in self.hardware.legacy}
                if any(files.is_directory(directory + top) for top in tops):
                    wanted += self.hardware.legacy
            known = (*(f"{sub}/" for sub in wanted if files.is_directory(f"{directory}{sub}")), "")
            self._capabilities[directory] = known
        return known

    # --- the search ---------------------------------------------------------------------------------------------

    def find(self, name: str, loader: LinkMap | None) -> Opened:
        """Find the file for a request for `name` by `loader`.

        Raises:
            LoadFailure: no file is found, or the first one is refused.
            Undecidable: see `Files.probe`.
        """
        self._other_class = False
        found = self._find_path(name, loader) if "/" in name else self._find_name(name, loader)
        if found is None:
            if self._other_class:
                # The message names the class of the file that was found.
                found_class = f"ELFCLASS{32 if self._linker.bits == 64 else 64}"
                raise LoadFailure(LoaderStop(StopKind.WRONG_CLASS, name, detail=found_class))
            raise LoadFailure(LoaderStop(StopKind.LIBRARY_NOT_FOUND, name, errno=self._errno))
        return found

    def _find_path(self, name: str, loader: LinkMap | None) -> Opened | None:
        path = name if loader is None else self.expand(name, loader)
        return self._open(path) if path else None

    def _open(self, path: str) -> Opened | None:
        result = self.files.probe(path)
        if isinstance(result, Refused):
            raise LoadFailure(result.stop)
        if isinstance(result, AbsentLibrary):
            self._errno = result.errno
            self._other_class |= result.other_class
            return None
        self._errno = 0
        return result

    def _find_name(self, name: str, loader: LinkMap | None) -> Opened | None:
        main = self._main
        if loader is None or loader.elf is None or loader.elf.runpath is None:
            item, did_main = loader, False
            while item is not None:
                found = self._open_in(self._rpath(item), name)
                if found is not None:
                    return found
                did_main |= item is main
                item = item.loader
            if not did_main and main is not None:
                found = self._open_in(self._rpath(main), name)
                if found is not None:
                    return found
        found = self._open_in(self._environment_dirs, name)
        if found is None and loader is not None:
            found = self._open_in(self._runpath(loader), name)
        if found is not None:
            return found
        requester = loader or main
        no_default = (
            requester is not None and requester.elf is not None and bool(requester.elf.dynamic.flags_1 & DF_1_NODEFLIB)
        )
        cached = self.cache.lookup(name)
        if cached is not None and not (no_default and cached.startswith(self._linker.system_dirs)):
            found = self._open(cached)
            if found is not None:
                return found
        return None if no_default else self._open_in(self._linker.system_dirs, name)

    def _open_in(self, directories: tuple[str, ...], name: str) -> Opened | None:
        tolerated = {0, errno.ENOENT, errno.EACCES}
        if self._linker.at_least(2, 39):
            tolerated.add(errno.ENOTDIR)
        for directory in directories:
            if not self.files.is_directory(directory) and directory.startswith("/"):
                self._errno = errno.ENOENT
                continue
            for sub in self._subdirectories(directory):
                found = self._open(directory + sub + name)
                if found is not None:
                    return found
            # A file exists but cannot be used: the rest of this list is not tried.
            if self._errno not in tolerated:
                return None
        return None


def resolve_origin(path: str, cwd: str) -> str:
    """Value of $ORIGIN in an object with this l_name (elf/dl-object.c)."""
    full = path if path.startswith("/") else f"{cwd.rstrip('/')}/{path}"
    return os.path.dirname(full.rstrip("/")) if "/" in full.lstrip("/") else "/"


def searched_folders(path: str) -> tuple[str, str]:
    """Folders that a search may have in its list if it finds this file: its own, and the one with `glibc-hwcaps`."""
    folder = os.path.dirname(path)
    return folder, folder.partition("/glibc-hwcaps/")[0]


# The longest name counts, so $ORIGINAL is not a token; braces must close.
_TOKEN = r"\$(?:\{(ORIGIN|PLATFORM|LIB)\}|(ORIGIN|PLATFORM|LIB)(?![A-Za-z0-9_]))"


def expand_tokens(text: str, *, origin: str | None, lib: str, platform: str | None) -> str:
    """Replace the tokens of one path; empty if a token has no value: the loader then drops the path.

    Args:
        origin: directory of the object that contains the text.
        lib: `lib64`, or `lib/x86_64-linux-gnu` on a multiarch system.
        platform: AT_PLATFORM, or the loader's value for the CPU.
    """
    if "$" not in text:
        return text
    name, slash, rest = text.partition("/")
    if name == "$ORIGIN" and "$" not in rest:  # nearly all
        return "" if origin is None else origin + slash + rest
    values = {"ORIGIN": origin, "LIB": lib, "PLATFORM": platform}
    if any(values[match[1] or match[2]] is None for match in re.finditer(_TOKEN, text)):
        return ""
    return re.sub(_TOKEN, lambda match: values[match[1] or match[2]] or "", text)
