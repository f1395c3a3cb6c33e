"""Mapping a file and everything it needs: `_dl_map_object` and `_dl_map_object_deps` (elf/dl-deps.c of glibc)."""

from __future__ import annotations

from msgspec import Struct, field

from abiscan.elf import ElfFile
from abiscan.elf.dynamic import DT_AUXILIARY, DT_NEEDED
from abiscan.loader.failure import LoadFailure, Undecidable
from abiscan.loader.linker import RuntimeLinker
from abiscan.loader.linkmap import LinkMap, Namespace
from abiscan.loader.opened_files import Opened
from abiscan.loader.search import Search, resolve_origin
from abiscan.loader.verify import verify_object
from abiscan.model.loading import LoaderStop, StopKind


class Closure(Struct):
    """The search list of an opened object: itself and what it needs, breadth first.

    Attributes:
        maps: the whole list, including objects that were loaded before.
        failure: the first problem that stops the loader while mapping; None if there is none.
        undecided: why the loader's action is unknown, if that comes first.
        missing: (object, DT_NEEDED name) of each library that was not found, in order.
        direct: direct dependencies of the root; `served` maps its DT_NEEDED entries to these.
    """

    root: LinkMap
    maps: list[LinkMap] = field(default_factory=list)
    failure: LoadFailure | None = None
    undecided: str | None = None
    missing: list[tuple[LinkMap, str]] = field(default_factory=list)
    direct: tuple[LinkMap, ...] = ()
    served: dict[str, LinkMap] = field(default_factory=dict)

    def put_before(self, filtee: LinkMap, item: LinkMap) -> None:
        """Move a DT_FILTER or DT_AUXILIARY library before the object that names it, unless it is already before it."""
        place = self.maps.index(item)
        if filtee in self.maps:
            if self.maps.index(filtee) < place:
                return
            self.maps.remove(filtee)
        self.maps.insert(place, filtee)

    def stop(self, reason: LoadFailure | Undecidable) -> None:
        """Record the reason if it is the first."""
        if self.failure is None and self.undecided is None:
            if isinstance(reason, LoadFailure):
                self.failure = reason
            else:
                self.undecided = str(reason)


class Mapper:
    """Maps objects into a namespace.

    Args:
        siblings: soname or file name to path of the files installed beside the checked file; they replace
            libraries that the search does not find.
    """

    def __init__(
        self,
        linker: RuntimeLinker,
        search: Search,
        namespace: Namespace,
        cwd: str,
        *,
        siblings: dict[str, str] | None,
        stack_is_executable: bool,
    ) -> None:
        self._linker = linker
        self._search = search
        self._namespace = namespace
        self._cwd = cwd
        self._siblings = siblings or {}
        self._stack_is_executable = stack_is_executable

    def map(self, name: str, loader: LinkMap | None, owner: LinkMap | None) -> LinkMap:
        """Find or map the object for a request for `name`.

        Args:
            loader: the object that requests it.
            owner: the new object's l_loader.

        Raises:
            LoadFailure, Undecidable: the load fails here, or may fail.
        """
        known = self._namespace.find(name)
        if known is not None:
            return known
        return self._map_file(name, self._search.find(name, loader), owner)

    def _map_file(self, name: str, opened: Opened, owner: LinkMap | None) -> LinkMap:
        known = self._namespace.find_file(opened.file_id)
        if known is not None:
            self._namespace.add_name(known, name)
            return known
        if opened.elf is None:
            if opened.complaint is not None:
                raise LoadFailure(LoaderStop(StopKind.INVALID_FILE, name, detail=opened.complaint))
            raise Undecidable(f"{opened.path} is damaged ({opened.damage}); whether the loader notices is chance")
        verify_object(opened.elf, name, self._linker, stack_is_executable=self._stack_is_executable)
        origin = resolve_origin(opened.path, self._cwd)
        item = LinkMap(opened.elf, opened.path, owner, opened.file_id, origin, exports=opened.definitions)
        return self._namespace.add(item, name)

    def adopt(self, elf: ElfFile, path: str) -> LinkMap:
        """Map a file even if the loader would refuse it, to resolve its imports."""
        return self._namespace.add(LinkMap(elf, path, origin=resolve_origin(path, self._cwd)))

    def close_over(self, root: LinkMap, *, preloads: tuple[LinkMap, ...] = (), tolerant: bool = False) -> Closure:
        """Map the dependencies of `root`.

        Args:
            preloads: objects right after the executable (LD_PRELOAD).
            tolerant: continue after a failure, with siblings in place of missing libraries; otherwise stop there.
        """
        closure = Closure(root, [root, *preloads])
        self._search.forget_errno()
        done: set[LinkMap] = set()
        known = set(closure.maps)
        at = 0
        while at < len(closure.maps):
            item = closure.maps[at]
            if item in done:
                at += 1
                continue
            done.add(item)
            needed = item.needed
            if needed is None:
                needed = self._map_needed(item, closure, tolerant=tolerant)
                if needed is None:
                    return closure
                # The caller stores the root's own list last: the order of relocation depends on that.
                if item is not root:
                    item.needed = needed
            if item is root:
                closure.direct = needed
            if len(known) < len(closure.maps):
                known.update(closure.maps)  # includes objects that a filter put before this one; they are next
            for dependency in needed:
                if dependency not in known:
                    known.add(dependency)
                    closure.maps.append(dependency)
        return closure

    def _map_needed(self, item: LinkMap, closure: Closure, *, tolerant: bool) -> tuple[LinkMap, ...] | None:
        """Map the dependencies of an object, in the order of its dynamic section; None if the loader stops at one."""
        if item.elf is None:
            return ()
        found = []
        requests = [(DT_NEEDED, name) for name in item.elf.needed]
        for position, tag, text in reversed(item.elf.dynamic.filters):
            requests.insert(position, (tag, text.decode("utf-8", "surrogateescape")))
        if item.elf.dynamic.lost_names:
            closure.stop(Undecidable(f"{item.label} needs a library with a name outside of its string table"))
        for tag, raw in requests:
            name = self._search.expand(raw, item)
            if not name and raw:
                continue
            try:
                dependency = self.map(name, item, item)
            except (LoadFailure, Undecidable) as reason:
                if tag == DT_AUXILIARY:
                    continue
                closure.stop(reason)
                if not tolerant:
                    return None
                substitute = self._substitute(name, item)
                if substitute is None:
                    closure.missing.append((item, name))
                    continue
                dependency = substitute
            found.append(dependency)
            if tag != DT_NEEDED:
                closure.put_before(dependency, item)
            elif item is closure.root:
                closure.served[raw] = dependency
        return tuple(found)

    def _substitute(self, name: str, item: LinkMap) -> LinkMap | None:
        path = self._siblings.get(name.rpartition("/")[2])
        if path is None:
            return None
        try:
            return self.map(path, item, item)
        except (LoadFailure, Undecidable):
            return None
