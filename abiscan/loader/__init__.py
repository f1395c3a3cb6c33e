"""Library search and symbol resolution as the dynamic loader (ld.so) does them, from files alone.

`Loader` models the process of one Python environment and serves any number of files. The model follows glibc's
loader function by function (each module names its own); docs/explanation/loader.md lists what the model cannot know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from msgspec import Struct

from abiscan.binary import Binary
from abiscan.elf import ElfFile
from abiscan.environment.installed_torch import InstalledTorch
from abiscan.environment.python import PythonEnvironment
from abiscan.loader.examination import Examination, examine, examine_unreadable
from abiscan.loader.failure import LoadFailure, Undecidable
from abiscan.loader.process import Process, build_process
from abiscan.loader.resolution import Resolution
from abiscan.loader.resolve_in_process import resolve_in_process
from abiscan.loader.search import LoaderSettings
from abiscan.loader.tls import static_references
from abiscan.model.imports import Owner
from abiscan.model.loading import LoaderPrediction, LoaderStop
from abiscan.ownership.names import owner_of_library

__all__ = ["Loader", "LoaderSettings", "Resolution"]


_NOT_OF_MODULES = frozenset((Owner.TORCH, Owner.CUDA))


class Loader:
    """The loader of one environment.

    Args:
        settings: settings that the process inherits.
        environment: the environment whose interpreter opens the files; None if unknown.
        torch: the torch that the interpreter has imported; None for none.
    """

    def __init__(
        self, settings: LoaderSettings, environment: PythonEnvironment | None, torch: InstalledTorch | None = None
    ) -> None:
        self._builder = None if environment is None else build_process(settings, environment, torch)
        self._torch_libraries = () if torch is None else torch.libraries
        self._processes: dict[bool, Process] = {}
        self._last: _Opened | None = None
        self._beside: set[ElfFile] = set()
        self._has_released = False

    def _process(self, *, modules: bool) -> Process:
        assert self._builder is not None
        if modules not in self._processes:
            self._processes[modules] = self._builder.build(modules=modules)
        return self._processes[modules]

    def serves(self, binary: Binary | None) -> TypeGuard[ElfFile]:
        """Whether the file has the architecture and format of this loader's interpreter."""
        return (
            self._builder is not None and isinstance(binary, ElfFile) and binary.machine == self._builder.linker.machine
        )

    def _examine(self, elf: ElfFile, path: str, siblings: Mapping[str, ElfFile]) -> Examination:
        """Open a file, once for both `resolve` and `predict`."""
        last = self._last
        if last is not None and last.is_of(elf, path, siblings):
            return last.examination
        self.forget()
        self._forget_other_packages(siblings)
        examination = self._open(elf, path, dict(siblings))
        self._last = _Opened(elf, path, frozenset(siblings), examination)
        return examination

    def _open(self, elf: ElfFile, path: str, siblings: dict[str, ElfFile]) -> Examination:
        first = examine(self._process(modules=False), elf, path, siblings)
        closure = first.closure
        # Everything that the file needs is loaded already, so the other modules of the process make no difference.
        alone = all(m is closure.root or not first.is_new(m) for m in closure.maps)
        if not closure.missing and alone and not static_references(elf):
            return first
        # No module of the standard library or of numpy provides a library of torch or CUDA: the attempt fails with it.
        if closure.missing and all(owner_of_library(name) in _NOT_OF_MODULES for _item, name in closure.missing):
            return first
        first.close()
        return examine(self._process(modules=True), elf, path, siblings)

    def forget(self) -> None:
        """Release the last file: one that was unpacked to memory is large."""
        if self._last is not None:
            self._last.examination.close()
        self._last = None

    def _forget_other_packages(self, siblings: Mapping[str, ElfFile]) -> None:
        """Release what is kept of the libraries of another package: a process keeps it for the files of one."""
        if siblings and self._beside.isdisjoint(siblings.values()):
            for process in self._processes.values():
                for elf in self._beside:
                    process.lookups.pop(elf, None)
                    process.passed.pop(elf, None)
            self._beside.clear()
        self._beside.update(siblings.values())

    def predict(
        self, binary: Binary | None, path: str, siblings: Mapping[str, Binary] | None = None
    ) -> LoaderPrediction:
        """Predict the result of `dlopen(path, RTLD_NOW | RTLD_LOCAL)`.

        Args:
            binary: the file; None for a file on disk that could not be read as a shared object: the loader's error for
                it is still predicted.
            path: absolute, as passed to dlopen. For a member of a wheel, its path after installation by pip
                (`<site-packages>/<member>`): the prediction is for the installed wheel.
            siblings: absolute path to contents of the other shared objects of that wheel.
        """
        if self._builder is None:
            return LoaderPrediction(None, undecided="no interpreter with glibc's loader was found to open the file in")
        if not self.serves(binary):
            process = self._process(modules=False)
            prediction = examine_unreadable(process, path)
            if binary is None:
                return prediction
            return LoaderPrediction(
                None,
                undecided=f"the file is for {binary.machine}, the interpreter for {process.linker.machine}"
                + (f"; its loader would say: {prediction.error}" if prediction.error is not None else ""),
            )
        prediction = self._examine(binary, path, _elf_files(siblings)).predict()
        if not self._has_released:
            # Later stages read little of the libraries of the process, of which lookups have read pages everywhere. The
            # next file of a run would read them again: 0.3 ms.
            for item in self._process(modules=False).namespace.maps:
                if item.elf is not None:
                    item.elf.image.release(0, item.elf.size)
            self._has_released = True
        return prediction

    def doubt(self, binary: Binary) -> str | None:
        """The reason, as a sentence, why the last `predict` was undecided, if the contents of this file are the
        reason."""
        last = self._last
        return last.examination.doubt if last is not None and last.elf is binary else None

    @property
    def torch_failure(self) -> str | None:
        """The loader's reason, as a sentence, why `import torch` of this torch fails; None if the loader does not stop
        it."""
        process = None if self._builder is None else self._process(modules=False)
        return None if process is None or process.torch_stop is None else process.torch_failure

    @property
    def torch_stop(self) -> LoaderStop | None:
        """The stop of `torch_failure`."""
        return None if self._builder is None else self._process(modules=False).torch_stop

    @property
    def strangers(self) -> tuple[str, ...]:
        """The libraries that are loaded in place of those of torch (`LoaderPrediction.strangers`)."""
        return () if self._builder is None else self._process(modules=False).strangers

    def find(self, soname: str) -> tuple[str, ElfFile] | None:
        """The library with a soname in this process: a loaded one, or else the result of the library search."""
        if self._builder is None:
            return None
        process = self._process(modules=False)
        for item in process.namespace.maps:
            if item.elf is not None and soname in (item.elf.soname, item.name.rpartition("/")[2]):
                return item.name, item.elf
        try:
            found = process.search.find(soname, process.main)
        except (LoadFailure, Undecidable):
            return None
        return None if found.elf is None else (found.path, found.elf)

    def resolve(self, binary: Binary, path: str, siblings: Mapping[str, Binary] | None = None) -> Resolution:
        """Resolve every import against the torch of this loader.

        Args:
            binary: a file that it `serves`.
            path, siblings: as for `predict`. For a file on disk, the siblings are those of its package.
        """
        assert self.serves(binary), f"{path}: not for this interpreter"
        beside = _elf_files(siblings)
        return resolve_in_process(
            binary, self._examine(binary, path, beside), siblings=beside, torch_libraries=self._torch_libraries
        )


def _elf_files(siblings: Mapping[str, Binary] | None) -> dict[str, ElfFile]:
    return {path: each for path, each in (siblings or {}).items() if isinstance(each, ElfFile)}


class _Opened(Struct, frozen=True):
    """The last file: `resolve` and `predict` of a file follow each other."""

    elf: ElfFile
    path: str
    siblings: frozenset[str]
    examination: Examination

    def is_of(self, elf: ElfFile, path: str, siblings: Mapping[str, ElfFile]) -> bool:
        # An examination with siblings also answers a question without them: symbols that only siblings export are
        # marked.
        return self.elf is elf and self.path == path and (not siblings or self.siblings == frozenset(siblings))
