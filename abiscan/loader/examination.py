"""One file in the modelled process: which objects it maps, and the outcome."""

from __future__ import annotations

import os
from collections.abc import Callable

from abiscan.elf import ElfFile
from abiscan.elf.notes import x86_isa_needed
from abiscan.elf.symbols import STT_GNU_IFUNC
from abiscan.loader.bound_symbols import ABSENT, UNKNOWN, Binder, Definition, binds_locally
from abiscan.loader.called_functions import check_resolver, check_resolvers, check_started
from abiscan.loader.closure import Closure
from abiscan.loader.failure import LoadFailure, Undecidable
from abiscan.loader.integrity import check_needed_revision, check_revisions
from abiscan.loader.linkmap import LinkMap, Namespace
from abiscan.loader.lookup import Binding, Scope, check_version_asserted, check_versions
from abiscan.loader.ordering import sort_by_dependency
from abiscan.loader.process import Process
from abiscan.loader.relocate import Lookup, bind, find_lookups, first_missing, lookups_for, type_class
from abiscan.loader.relocation_checks import check_names, check_read, check_relocated, unknown_relocation
from abiscan.loader.tls import check_blocks
from abiscan.model.loading import LoaderOutcome, LoaderPrediction, LoaderStop, StopKind
from abiscan.ownership.torch_names import is_torch_library


class Examination:
    """A file opened in a fork of a process.

    Attributes:
        closure: its dependencies, with siblings in place of libraries that the loader would not find.
        namespace: the process's objects and those mapped for the file.
        search_list: objects of the closure that are not in the global scope of the process.
        doubt: why the outcome is unknown, as a sentence, if the contents of the file or of a library that it maps are
            the reason.
    """

    def __init__(self, process: Process, namespace: Namespace, closure: Closure) -> None:
        self.process = process
        self.namespace = namespace
        self.closure = closure
        self._loaded = len(process.namespace)
        self._lookups: dict[LinkMap, list[Lookup]] = {}
        self._bound: dict[LinkMap, list[Binding | None]] = {}
        self.doubt: str | None = None
        in_process = frozenset(process.scope.maps)
        self.search_list = Scope(item for item in closure.maps if item not in in_process)

    def close(self) -> None:
        """Break the reference cycles of the objects mapped for this file (an object and its loader, a failure and its
        frames). Without that the file stays in memory until the garbage collector runs."""
        self.closure.failure = None
        for item in self.namespace.maps[self._loaded :]:
            item.loader = item.needed = None

    def is_new(self, item: LinkMap) -> bool:
        """Whether the object was mapped for this file."""
        return item.index >= self._loaded

    def lookups(self, item: LinkMap) -> list[Lookup]:
        """The lookups of an object's relocations."""
        if item not in self._lookups:
            # Libraries that many files of a run load are read once; the file itself is not kept.
            kept = None if item is self.closure.root or item.elf is None else self.process.lookups
            if kept is None or item.elf is None:
                self._lookups[item] = find_lookups(item)
            else:
                if item.elf not in kept:
                    kept[item.elf] = find_lookups(item)
                self._lookups[item] = kept[item.elf]
        return self._lookups[item]

    def bindings(self, item: LinkMap) -> list[Binding | None]:
        """The result of each of `lookups(item)`.

        Raises:
            LoadFailure: an assertion of the loader fails in the lookup.
        """
        found = self.bound(item)
        linker = self.process.linker
        if not linker.at_least(2, 41):
            for lookup, binding in zip(self.lookups(item), found, strict=True):
                if binding is not None and lookup.reference.version is not None:
                    check_version_asserted(lookup.reference, binding[0])
        return found

    def bound(self, item: LinkMap) -> list[Binding | None]:
        """The results of `lookups(item)` without the loader's assertions."""
        if item not in self._bound:
            self._bound[item] = bind(item, self.lookups(item), self.process.scope, self.search_list)
        return self._bound[item]

    def needed_by_root(self, name: str) -> LinkMap | None:
        """The object for a DT_NEEDED entry of the file; None if none was found."""
        found = self.closure.served.get(name)
        if found is None and not self.is_new(self.closure.root):
            # The file is part of the process (a library of torch), and so are its dependencies.
            found = next((m for m in self.namespace.maps if m.elf is not None and _is_called(m, name)), None)
        return found

    def predict(self) -> LoaderPrediction:
        """Predict the outcome with the loader's own message."""
        process = self.process
        if process.torch_stop is not None and not self._is_stopped_alone(process.torch_stop):
            return LoaderPrediction(LoaderOutcome.FAILS, process.torch_stop, None, True, process.strangers)
        if process.torch_failure is not None and process.torch_stop is None:
            return _unknown(process.torch_failure)
        closure = self.closure
        if closure.undecided is not None:
            return _unknown(closure.undecided)
        try:
            if closure.failure is not None:
                raise closure.failure
            self._relocate(closure)
        except LoadFailure as failure:
            return LoaderPrediction(LoaderOutcome.FAILS, failure.stop)
        except Undecidable as reason:
            return _unknown(str(reason))
        return LoaderPrediction(LoaderOutcome.LOADS)

    def _is_stopped_alone(self, stop: LoaderStop) -> bool:
        """Whether a library that is too old for torch stops a file without torch's libraries, too."""
        if stop.kind is not StopKind.VERSION_NOT_FOUND:
            return False
        names = {item.name for item in self.closure.maps}
        return stop.object in names and not any(is_torch_library(os.path.basename(name)) for name in names)

    def _relocate(self, closure: Closure) -> None:
        linker = self.process.linker
        new = [item for item in closure.maps if self.is_new(item)]
        for item in new:
            if item.elf is not None:
                check_needed_revision(item.elf, item.name)
            check_versions(item, self.namespace, closure.maps, knows_relr=linker.at_least(2, 36))
        if not new:
            return
        tunable = self.process.settings.tunable("glibc.rtld.dynamic_sort")
        original = not linker.at_least(2, 36) if tunable is None else tunable == "1"
        # A filter may precede the opened object; the sort needs that object first.
        if self.is_new(closure.root):
            new.remove(closure.root)
            new.insert(0, closure.root)
        order = sort_by_dependency(new, original=original)
        if linker.machine == "x86_64":
            self._check_isa(order)
        try:
            self._relocate_in(order)
        except Undecidable as reason:
            self.doubt = str(reason)
            raise

    def _relocate_in(self, order: list[LinkMap]) -> None:
        """Relocate objects from the last to the first, then call their initialisers."""
        static_tls = self.process.static_tls()
        for item in reversed(order):
            self._check(item, check_names)
            found = self.bindings(item)
            stop = first_missing(item, self.lookups(item), found)
            if item.elf is None:
                continue
            binder = _ProcessBinder(self, item)
            if stop is None:
                stop = unknown_relocation(item.elf, item.name)
                if stop is None:
                    for check in (check_revisions, check_relocated):
                        self._check(item, check)
                    for bound_check in (check_read, check_blocks, check_resolvers):
                        self._check(item, bound_check, binder)
                    self._check_other_resolvers(item, binder, found)
            static_tls.take_for(item.elf, binder)
            if stop is not None:
                raise LoadFailure(stop)
        for item in reversed(order):
            self._check(item, check_started, _ProcessBinder(self, item), item is self.closure.root)

    def _check_other_resolvers(self, item: LinkMap, binder: Binder, found: list[Binding | None]) -> None:
        """Check the indirect functions in other new files that the file's relocations refer to. Those of the process
        were called before."""
        assert item.elf is not None
        for binding in found:
            if binding is not None and binding[1].type == STT_GNU_IFUNC and self.is_new(binding[0]):
                check_resolver(item.elf, item.name, Definition(binding[0].elf, binding[1], binding[0]), binder)

    def _check(self, item: LinkMap, check: Callable[..., None], *arguments: object) -> None:
        """Check a library once for all files of a run that load it; the file itself is not kept."""
        if item.elf is None:
            return
        passed = set() if item is self.closure.root else self.process.passed.setdefault(item.elf, set())
        if check not in passed:
            check(item.elf, item.name, *arguments)
            passed.add(check)

    def _check_isa(self, order: list[LinkMap]) -> None:
        """dl_isa_level_check in sysdeps/x86/dl-prop.h: the x86-64 levels that a file is marked as needing."""
        for item in reversed(order):
            needed = x86_isa_needed(item.elf.image) if item.elf is not None else 0
            hardware = self.process.search.hardware
            if needed & ~hardware.isa_bits:
                if not hardware.is_known:
                    raise Undecidable(
                        f"{item.name} requires a CPU above the x86-64 baseline; the CPU of the machine is unknown"
                    )
                raise LoadFailure(LoaderStop(StopKind.ISA_LEVEL, item.name))


class _ProcessBinder:
    """Resolves the symbols of one file in the process in which it is opened."""

    def __init__(self, examination: Examination, item: LinkMap) -> None:
        self._examination = examination
        self._item = item
        self.executable = examination.process.main.elf

    def __call__(self, index: int, kind: int) -> Definition:
        """See `bound_symbols.Binder`."""
        item, examination = self._item, self._examination
        if item.elf is None:
            return UNKNOWN
        symbol = item.elf.symbols.raw(index)
        if binds_locally(symbol):
            return Definition(item.elf, symbol, item)
        lookups = lookups_for(item, [(symbol, type_class(item.elf.machine, kind))])
        [found] = bind(item, lookups, examination.process.scope, examination.search_list)
        if found is None:
            return ABSENT
        return Definition(found[0].elf, found[1], found[0])


def _is_called(item: LinkMap, name: str) -> bool:
    return name in (item.name.rpartition("/")[2], None if item.elf is None else item.elf.soname)


def _unknown(reason: str) -> LoaderPrediction:
    return LoaderPrediction(None, undecided=reason)


def examine(process: Process, elf: ElfFile, path: str, siblings: dict[str, ElfFile]) -> Examination:
    """Open `elf` as the file at `path`.

    Args:
        siblings: absolute path to contents of files of the same package.
    """
    package = {path: elf, **siblings}
    namespace = process.namespace.fork(package)
    files = process.search.files.overlay(package)
    mapper = process.mapper(namespace, files=files, siblings=_names(siblings))
    try:
        return Examination(process, namespace, mapper.close_over(mapper.map(path, process.caller, None), tolerant=True))
    except (LoadFailure, Undecidable) as reason:
        closure = mapper.close_over(mapper.adopt(elf, path), tolerant=True)
        closure.failure, closure.undecided = None, None
        closure.stop(reason)
        return Examination(process, namespace, closure)


def examine_unreadable(process: Process, path: str) -> LoaderPrediction:
    """Predict the loader's error for a file that `ElfFile` refuses."""
    try:
        process.mapper(process.namespace.fork()).map(path, process.caller, None)
    except LoadFailure as failure:
        return LoaderPrediction(LoaderOutcome.FAILS, failure.stop)
    except Undecidable as reason:
        return _unknown(str(reason))
    return _unknown(f"{path} could not be read")


def _names(siblings: dict[str, ElfFile]) -> dict[str, str]:
    """File name and soname of each file of the package -> its path."""
    found: dict[str, str] = {}
    for path, elf in siblings.items():
        found.setdefault(path.rpartition("/")[2], path)
        if elf.soname:
            found.setdefault(elf.soname, path)
    return found
