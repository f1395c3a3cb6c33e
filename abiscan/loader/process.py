"""The process in which a file is opened: an interpreter that has run `import torch`, modelled from files.

`environment.preloads` lists what `import torch` loads, and in which order. Built-in modules of an interpreter are not
there as files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from abiscan.elf import ElfFile, open_elf
from abiscan.elf.build_marks import wants_executable_stack
from abiscan.environment import preloads
from abiscan.environment.installed_torch import InstalledTorch
from abiscan.environment.preload_sequence import Preload
from abiscan.environment.python import PythonEnvironment
from abiscan.errors import UnreadableFile
from abiscan.loader.closure import Closure, Mapper
from abiscan.loader.failure import LoadFailure, Undecidable
from abiscan.loader.linker import RuntimeLinker, read_linker
from abiscan.loader.linkmap import LinkMap, Namespace
from abiscan.loader.lookup import Scope
from abiscan.loader.opened_files import Files, Opened
from abiscan.loader.relocate import Lookup
from abiscan.loader.search import LoaderSettings, Search, resolve_origin, searched_folders
from abiscan.loader.tls import StaticTls
from abiscan.model.loading import TORCH_FAILS, LoaderStop, StopKind

# In bytes, of a .pth file.
_MAX_PTH = 1 << 16


class Process(Struct):
    """A modelled process.

    Attributes:
        caller: the object that calls dlopen.
        torch_failure: why `import torch` fails in the model, as a sentence; None if it does not.
        torch_stop: the loader's stop in `import torch`, if it is certain.
        torch: the objects loaded by importing torch, without those of extension modules.
        strangers: paths of libraries of LD_LIBRARY_PATH or LD_PRELOAD without which torch could be imported.
        stack_is_executable: whether some object requires an executable stack.
        started: number of objects before main.
        lookups: lookups of the relocations of libraries that several files of a run may load.
        passed: checks that these libraries have passed.
        kept_scope: `scope`, once it was used.
    """

    linker: RuntimeLinker
    settings: LoaderSettings
    search: Search
    namespace: Namespace
    main: LinkMap
    caller: LinkMap
    torch_failure: str | None = None
    torch_stop: LoaderStop | None = None
    torch: list[LinkMap] = field(default_factory=list)
    strangers: tuple[str, ...] = ()
    stack_is_executable: bool = False
    started: int = 0
    lookups: dict[ElfFile, list[Lookup]] = field(default_factory=dict)
    passed: dict[ElfFile, set[Callable[..., None]]] = field(default_factory=dict)
    kept_scope: Scope | None = None

    @property
    def scope(self) -> Scope:
        """The global scope after all imports."""
        if self.kept_scope is None:
            self.kept_scope = Scope(self.namespace.scope)
        return self.kept_scope

    def static_tls(self) -> StaticTls:
        """The room for static TLS after all imports."""
        maps = self.namespace.maps
        return StaticTls(self.linker.machine, maps[: self.started], maps[self.started :])

    def mapper(
        self, namespace: Namespace, *, files: Files | None = None, siblings: dict[str, str] | None = None
    ) -> Mapper:
        """A mapper into a namespace that continues that of this process."""
        search = self.search if files is None else self.search.over(files)
        return Mapper(
            self.linker,
            search,
            namespace,
            self.settings.cwd,
            siblings=siblings,
            stack_is_executable=self.stack_is_executable,
        )


class ProcessBuilder:
    """Builds the process of one environment."""

    def __init__(
        self,
        settings: LoaderSettings,
        environment: PythonEnvironment,
        executable: ElfFile,
        linker: RuntimeLinker,
        torch: InstalledTorch | None,
        *,
        is_checked: bool = False,
    ) -> None:
        self._settings = settings
        # Other libraries than those that torch was installed with may make its import fail.
        self._is_checked = is_checked or bool(settings.library_path or settings.preload)
        self._environment = environment
        self._torch = torch
        self._executable = executable
        self.linker = linker
        self._disk = settings.files
        self.files = Files(self.linker, disk=settings.files, cwd=settings.cwd)

    def build(self, *, modules: bool) -> Process:
        """Build the process after `import torch`, or after start-up without torch.

        Args:
            modules: whether to load extension modules too. Without them, at half the cost, the process is right for a
                file whose dependencies are all loaded already.
        """
        namespace = Namespace()
        search = Search(self.linker, self._settings, self.files)
        main = LinkMap(self._executable, "", origin=os.path.dirname(self._executable.path), is_executable=True)
        process = Process(self.linker, self._settings, search, namespace, main, main)
        process.stack_is_executable = wants_executable_stack(self._executable.image)
        namespace.add(main)
        search.start(main)
        self._start(process)
        process.started = len(namespace)
        # torch's own libraries are found by path, so it does not matter that modules come first.
        if modules:
            self._import_modules(process, preloads.CTYPES)
            maps = (each for each in process.namespace if os.path.basename(each.name).startswith("_ctypes."))
            process.caller = next(maps, main)
        if self._torch is not None:
            if modules:
                self._import_modules(process, preloads.BEFORE_TORCH)
            first = len(process.namespace)
            try:
                self._import_torch(process, self._torch)
            except (LoadFailure, Undecidable) as reason:
                process.torch_failure = self._explain(self._torch, reason)
                if isinstance(reason, LoadFailure) and not preloads.has_rocm_init(self._torch):
                    process.torch_stop = reason.stop
                    process.strangers = self._strangers(process, self._torch, reason.stop)
                self._map_available_libraries(process, self._torch)
            process.torch = process.namespace.maps[first:]
            if modules:
                self._import_numpy(process)
                if preloads.imports_cuda_bindings(self._torch):
                    self._import_package(process, "cuda/bindings", preloads.CUDA_BINDINGS)
                    if self._find_package("cuda/pathfinder") is not None:
                        self._import_package(process, "cuda/bindings", preloads.CUDA_BINDINGS_WITH_PATHFINDER)
                self._import_modules(process, preloads.AFTER_TORCH)
                if self._find_package("tqdm") is not None:
                    self._import_modules(process, preloads.TQDM)
        return process

    # --- start-up -----------------------------------------------------------------------------------------------

    def _start(self, process: Process) -> None:
        """Load what is loaded before main: executable, preloads and their dependencies (elf/rtld.c)."""
        namespace = process.namespace
        namespace.add(LinkMap(None, "linux-vdso.so.1", soname="linux-vdso.so.1"))
        mapper = process.mapper(namespace)
        linker = self.files.probe(self.linker.path) if self.linker.path else None
        if isinstance(linker, Opened) and linker.elf is not None:
            soname = linker.elf.soname
            origin = resolve_origin(self.linker.path, self._settings.cwd)
            item = LinkMap(linker.elf, self.linker.path, origin=origin)
            namespace.add(item, *([soname] if soname else []))
        preloads = []
        for name in self._preload_names():
            try:
                preloads.append(mapper.map(name, process.main, process.main))
            except (LoadFailure, Undecidable):
                continue  # ld.so prints a warning and continues
        closure = mapper.close_over(process.main, preloads=tuple(dict.fromkeys(preloads)))
        process.main.needed = closure.direct
        namespace.scope = closure.maps[:]

    def _preload_names(self) -> list[str]:
        names = (self._settings.preload or "").replace(":", " ").split()
        listed = self._disk.read("/etc/ld.so.preload", 1 << 16) or b""
        for line in listed.decode("utf-8", "surrogateescape").splitlines():
            names += line.partition("#")[0].replace(":", " ").split()
        return names

    # --- imports ------------------------------------------------------------------------------------------------

    def _dlopen(self, process: Process, path: str, *, to_global: bool = False) -> Closure:
        """Open a library that is known to load. Raises LoadFailure or Undecidable if it cannot be mapped; what was
        mapped until then stays."""
        mapper = process.mapper(process.namespace)
        item = mapper.map(path, process.main, None)
        closure = mapper.close_over(item)
        if closure.failure is not None:
            raise closure.failure
        if closure.undecided is not None:
            raise Undecidable(closure.undecided)
        item.needed = item.needed or closure.direct
        if to_global:
            known = set(process.namespace.scope)
            process.namespace.scope += [m for m in closure.maps if m not in known]
        return closure

    def _import_torch(self, process: Process, torch: InstalledTorch) -> None:
        """Load `preloads.global_dependencies` globally, then torch._C; for a libtorch folder, its libraries."""
        if torch.extension is None:
            for path in torch.libraries:
                self._dlopen(process, path)
            return
        for name in preloads.imported_before_libraries(torch):
            if not self._is_importable(name):
                raise LoadFailure(LoaderStop(StopKind.MODULE_NOT_FOUND, "", detail=name))
        if self._disk.exists(preloads.global_dependencies(torch)):
            self._load_global_dependencies(process, torch)
        closure = self._dlopen(process, torch.extension)
        if self._is_checked:
            from abiscan.loader.mixed_torches import check_imported

            is_mixed = bool(self._replacements(process, torch))
            check_imported(process.namespace, process.started, self.linker, closure, bind_all=is_mixed)

    def _replacements(self, process: Process, torch: InstalledTorch) -> list[str]:
        """Loaded libraries that have the names of torch's own and are other files."""
        own, names = set(map(self._disk.real, torch.libraries)), torch.sonames
        found = (each.name for each in process.namespace if os.path.basename(each.name) in names)
        return [name for name in found if self._real(name) not in own]

    def _strangers(self, process: Process, torch: InstalledTorch, stop: LoaderStop) -> tuple[str, ...]:
        """The libraries that LD_LIBRARY_PATH or LD_PRELOAD puts in place of others; none if torch cannot be imported
        without them either."""
        found = self._replacements(process, torch)
        if stop.kind is StopKind.VERSION_NOT_FOUND:
            found.insert(0, stop.object)
        folders = {self._real(folder) for name in found for folder in searched_folders(name)}
        searched = [each for each in re.split("[:;]", self._settings.library_path or "") if each]
        kept = [each for each in searched if self._real(each) not in folders]
        if not found or (kept == searched and not self._settings.preload):
            return ()
        settings = replace(self._settings, library_path=":".join(kept) or None, preload=None)
        builder = ProcessBuilder(settings, self._environment, self._executable, self.linker, torch, is_checked=True)
        return tuple(found) if builder.build(modules=False).torch_failure is None else ()

    def _real(self, path: str) -> str:
        return self._disk.real(os.path.join(self._settings.cwd, path))

    def _map_available_libraries(self, process: Process, torch: InstalledTorch) -> None:
        """Map the libraries of a torch that cannot be imported, without their missing dependencies: imports from them
        resolve."""
        mapper = process.mapper(process.namespace)
        for path in torch.libraries if torch.extension is None else (*torch.libraries, torch.extension):
            with suppress(LoadFailure, Undecidable):
                mapper.close_over(mapper.map(path, process.main, None), tolerant=True)

    def _load_global_dependencies(self, process: Process, torch: InstalledTorch) -> None:
        """`_load_global_deps` of torch/__init__.py, in the version of this torch."""
        path = preloads.global_dependencies(torch)
        sequence = preloads.preloads_of(torch)
        before = process.namespace.fork()
        try:
            self._dlopen(process, path, to_global=True)
        except LoadFailure as failure:
            if not any(part in str(failure) for part in sequence.errors):
                raise
            process.namespace = before
            for each in sequence.instead:
                self._preload(process, each, torch)
            self._dlopen(process, path, to_global=True)
            return
        if sequence.runtime is not None and not self._is_mapped(process, sequence.runtime):
            return
        for each in sequence.after:
            before = process.namespace.fork()
            try:
                self._preload(process, each, torch)
            except (LoadFailure, Undecidable):
                process.namespace = before
                return

    def _explain(self, torch: InstalledTorch, reason: LoadFailure | Undecidable) -> str:
        if preloads.has_rocm_init(torch):
            return f"`import torch` loads ROCm in _rocm_init.py, which is not analysed: {reason}"
        return f"{TORCH_FAILS}{reason}"

    def _is_mapped(self, process: Process, part: str) -> bool:
        """Whether a text is in /proc/self/maps, whose paths have all symbolic links resolved."""
        return any(part in self._real(item.name) for item in process.namespace if item.file_id)

    def _preload(self, process: Process, preload: Preload, torch: InstalledTorch) -> None:
        """Open a preloaded library. Raises LoadFailure or Undecidable if that ends the import."""
        path = preloads.find_preload(preload, self._environment.site_packages, torch.cuda, self._disk)
        if path is not None:
            self._dlopen(process, path)
        elif preload.required:
            why = "it is not installed, and torch opens it by its path"
            raise LoadFailure(LoaderStop(StopKind.LIBRARY_NOT_FOUND, preload.patterns[0], detail=why))

    def _suffixes(self) -> tuple[str, ...]:
        """File name suffixes of this interpreter's extension modules, best first."""
        platform = f"{self.linker.machine}-linux-gnu"
        tags = self._environment.module_tags
        return f".{tags[0]}-{platform}.so", *(f".{tag}.so" for tag in tags), ".so"

    def _find_module(self, directory: str, name: str) -> str | None:
        found = (f"{directory}/{name}{suffix}" for suffix in self._suffixes())
        return next((path for path in found if self._disk.exists(path)), None)

    def _import_modules(self, process: Process, names: Iterable[str]) -> None:
        """Import modules of the standard library."""
        if self._environment.stdlib is not None:
            modules = preloads.imported_at_once(names, self._environment.version)
            self._import_from(process, f"{self._environment.stdlib}/lib-dynload", modules)

    def _import(self, process: Process, path: str) -> None:
        before = process.namespace.fork()
        try:
            self._dlopen(process, path)
        except (LoadFailure, Undecidable):
            process.namespace = before  # the import fails, and its importer catches the error

    def _import_numpy(self, process: Process) -> None:
        directory = self._find_package("numpy")
        old = directory is not None and self._find_module(directory, "core/_multiarray_umath") is not None
        self._import_package(process, "numpy", preloads.OLD_NUMPY if old else preloads.NUMPY)

    def _find_package(self, name: str) -> str | None:
        found = (f"{site}/{name}" for site in self._environment.site_packages)
        return next((directory for directory in found if self._disk.is_directory(directory)), None)

    def _is_importable(self, name: str) -> bool:
        return any(each.partition(".")[0] == name for path in self._import_path() for each in self._disk.names(path))

    def _import_path(self) -> Iterator[str]:
        """Every site-packages, and the directories that .pth files there add (`site`)."""
        for site in filter(self._disk.is_directory, self._environment.site_packages):
            yield site
            for name in self._disk.names(site):
                text = self._disk.read(os.path.join(site, name), _MAX_PTH) if name.endswith(".pth") else None
                for line in (text or b"").decode("utf-8", "surrogateescape").splitlines():
                    # A line that begins with `import` is code.
                    if not line.startswith(("#", "import ", "import\t")):
                        added = os.path.join(site, line.strip())
                        yield from (added,) * self._disk.is_directory(added)

    def _import_package(self, process: Process, package: str, modules: Iterable[str]) -> None:
        """Import those extension modules of a package that exist."""
        directory = self._find_package(package)
        if directory is not None:
            self._import_from(process, directory, modules)

    def _import_from(self, process: Process, directory: str, modules: Iterable[str]) -> None:
        for name in modules:
            path = self._find_module(directory, name)
            if path is not None:
                self._import(process, path)


def build_process(
    settings: LoaderSettings, environment: PythonEnvironment, torch: InstalledTorch | None
) -> ProcessBuilder | None:
    """The builder for an environment; None if it has no readable interpreter, or another loader than glibc's."""
    if environment.executable is None:
        return None
    try:
        executable = open_elf(settings.files.host(environment.executable), environment.executable)
    except (UnreadableFile, FileNotFoundError):
        return None
    linker = read_linker(executable, settings.files)
    return None if linker is None else ProcessBuilder(settings, environment, executable, linker, torch)
