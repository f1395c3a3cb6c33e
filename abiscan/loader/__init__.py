"""The search scope and the binding, as the dynamic loader (ld.so) does them, from files alone.

`Loader` holds the modelled process of one Python environment and serves any number of files. The model is glibc's loader,
function by function (the modules name theirs); docs/loader.md says what it cannot know.
"""

from __future__ import annotations

from collections.abc import Mapping

from abiscan.elf import ElfFile
from abiscan.loader.binding import FileBinding, bind_imports
from abiscan.loader.examination import Examination, examine
from abiscan.loader.exports import TorchExports
from abiscan.loader.process import Environment, Process, TorchFolder, build_process
from abiscan.loader.settings import LoaderSettings
from abiscan.model import LoaderPrediction

__all__ = ["FileBinding", "Loader", "LoaderSettings", "TorchExports"]


class Loader:
    """The loader of one environment.

    Args:
        settings: what its process inherits.
        environment: whose interpreter opens the files; None where none is known.
        torch: what that interpreter has imported; None for none.
    """

    def __init__(
        self, settings: LoaderSettings, environment: Environment | None, torch: TorchFolder | None = None
    ) -> None:
        self._builder = None if environment is None else build_process(settings, environment, torch)
        self._torch_libraries = () if torch is None else torch.libraries
        self._processes: dict[bool, Process] = {}
        self._last: tuple[tuple[int, str, frozenset[str]], Examination | None] | None = None

    def _process(self, *, modules: bool) -> Process | None:
        if self._builder is None:
            return None
        if modules not in self._processes:
            self._processes[modules] = self._builder.build(modules=modules)
        return self._processes[modules]

    def _examine(
        self, elf: ElfFile, path: str, siblings: Mapping[str, ElfFile] | None, withheld: frozenset[str] = frozenset()
    ) -> Examination | None:
        """Open a file, once for its prediction and its binding; None where there is no interpreter to open it in."""
        key = (id(elf), path, withheld)
        if self._last is None or self._last[0] != key:
            self._last = key, self._open(elf, path, siblings, withheld)
        return self._last[1]

    def _open(
        self, elf: ElfFile, path: str, siblings: Mapping[str, ElfFile] | None, withheld: frozenset[str]
    ) -> Examination | None:
        quick = self._process(modules=False)
        if quick is None:
            return None
        beside = dict(siblings or {})
        first = examine(quick, elf, path, beside, withheld)
        closure = first.closure
        # Everything the file needs is loaded in any case: what else the process has makes no difference.
        if not closure.missing and all(m is closure.root or not first.is_new(m) for m in closure.maps):
            return first
        full = self._process(modules=True)
        assert full is not None
        return examine(full, elf, path, beside, withheld)

    def predict(self, elf: ElfFile, path: str, siblings: Mapping[str, ElfFile] | None = None) -> LoaderPrediction:
        """What `dlopen(path, RTLD_NOW | RTLD_LOCAL)` does.

        Args:
            path: absolute, as it would be handed to dlopen. For a member of a wheel, where pip would put it
                (`<site-packages>/<member>`): the answer is then for the wheel as if it were installed there.
            siblings: absolute path to contents of the other shared objects of that wheel.
        """
        if self._builder is not None and elf.machine != self._builder.linker.machine:
            return LoaderPrediction(
                None, undecided=f"the file is for {elf.machine}, the interpreter for {self._builder.linker.machine}"
            )
        examination = self._examine(elf, path, siblings)
        if examination is None:
            return LoaderPrediction(None, undecided="no interpreter was found to open the file in")
        return examination.predict()

    def bind(
        self,
        elf: ElfFile,
        path: str,
        siblings: Mapping[str, ElfFile] | None = None,
        exports: TorchExports | None = None,
    ) -> FileBinding:
        """Status and provider of every import.

        Args:
            path, siblings: as for `predict`. Siblings of a file on disk are those of its package.
            exports: the target torch, where it is not the one this loader was made with (make it with None then).
        """
        withheld = frozenset() if exports is None else exports.sonames
        same_machine = self._builder is not None and elf.machine == self._builder.linker.machine
        return bind_imports(
            elf,
            self._examine(elf, path, siblings, withheld) if same_machine else None,
            siblings=dict(siblings or {}),
            torch_libraries=self._torch_libraries,
            exports=exports,
        )
