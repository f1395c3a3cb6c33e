"""All release index files together: the shipped one and the user's own."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from abiscan.data import data_file
from abiscan.errors import UnknownBuild
from abiscan.filesystem import HERE
from abiscan.model.limits import KEPT_NAMES
from abiscan.model.platforms import OperatingSystem, platform_of, system_of
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.model.versions import is_release, is_version, order
from abiscan.releases.build import Build, ReleaseExport, SymbolHistory
from abiscan.releases.omission import Omission, omission, recorded
from abiscan.releases.table import ReleaseTable, VtableWord

if TYPE_CHECKING:
    from pathlib import Path

# Strings instead of Paths: importing pathlib takes longer than opening the index.
SHIPPED = data_file("releases.idx")
EARLIER = data_file("earlier_releases.idx")
"""The releases before those of `SHIPPED`: none has a wheel for a CPython that is still maintained. They are read only
where a result depends on them, and files are checked on them only if the user names one."""
OTHER_SYSTEMS = {
    OperatingSystem.WINDOWS: data_file("releases-windows.idx"),
    OperatingSystem.MACOS: data_file("releases-macos.idx"),
}
"""The builds for the other systems. Each file is opened when the first file of its system is read."""
EARLIER_OTHER_SYSTEMS = {
    OperatingSystem.WINDOWS: data_file("earlier_releases-windows.idx"),
    OperatingSystem.MACOS: data_file("earlier_releases-macos.idx"),
}
"""The releases before those of `OTHER_SYSTEMS`."""
SUFFIX = ".idx"
# Most prefixes of a search have qualifiers (`_ZNVK3c10...`) with which no name begins: so many bytes show that.
_BEGINNING = 7


class ReleaseIndex:
    """Torch builds and their exports.

    Attributes:
        tables: the shipped files of Linux, then the user's own, which take precedence for builds with the same key.
    """

    def __init__(
        self,
        tables: Sequence[ReleaseTable],
        other_systems: Mapping[OperatingSystem, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Combine files.

        Args:
            other_systems: the shipped files of each other system.
        """
        self.tables = tuple(tables)
        self._other_systems = other_systems
        self._tables: dict[OperatingSystem, tuple[ReleaseTable, ...]] = {OperatingSystem.LINUX: self.tables}
        self._histories: dict[tuple[str, tuple[int, ...]], SymbolHistory] = {}
        self._order: dict[str, tuple[tuple[Build, int, int], ...]] = {}
        self._builds: dict[str, tuple[Build, ...]] = {}
        self._prefixes: dict[tuple[str, str, int], dict[str, SymbolHistory]] = {}
        self._beginnings: dict[tuple[bytes, str], bool] = {}
        self._places: dict[str, dict[str, int]] = {}
        self._names: dict[str, dict[str, SymbolHistory | None]] = {}

    def tables_of(self, machine: str) -> tuple[ReleaseTable, ...]:
        """Return the files that may have builds for a platform: those of its system, and the user's own.

        Raises:
            UnreadableFile: the shipped file of that system is damaged.
        """
        system = system_of(machine)
        found = self._tables.get(system)
        if found is None:
            own = tuple(table for table in self.tables if any(build.user for build in table.builds))
            shipped = tuple(map(_shipped, self._other_systems.get(system, ())))
            found = self._tables[system] = (*shipped, *own)
        return found

    def for_every_system(self) -> ReleaseIndex:
        """Return an index whose `builds()` has the builds of all systems."""
        shipped = (_shipped(file) for files in self._other_systems.values() for file in files)
        return ReleaseIndex((*self.tables, *shipped), self._other_systems)

    # --- builds -------------------------------------------------------------------------------------------------

    def builds(self, machine: str | None = None) -> tuple[Build, ...]:
        """Every build for a platform, oldest version first, then by variant; without one, those of Linux and the
        user's own."""
        if machine is not None:
            builds = self._builds.get(machine)
            if builds is None:
                builds = self._builds[machine] = tuple(build for build, _table, _position in self._ordered(machine))
            return builds
        machines = dict.fromkeys(build.machine for table in self.tables for build in table.builds)
        return tuple(build for each in machines for build in self.builds(each))

    def newest(self, machine: str = "x86_64") -> Build:
        """The build of the highest stable version.

        Raises:
            UnknownBuild: there is none for this architecture.
        """
        known = self._known_builds(machine)
        stable = [build for build in known if is_release(build.torch)]
        return (stable or list(known))[-1]

    def build_of(self, target: TorchBuild, machine: str) -> Build | None:
        """The build that is the target; None if it is not in the index (source build, nightly)."""
        same = [build for build in self.builds(machine) if build.torch == target.version]
        if target.kind is not TorchKind.RELEASE and target.git_revision is not None:
            same = [build for build in same if build.git_revision == target.git_revision]
        exact = [build for build in same if build.variant == target.variant]
        return next(iter(exact or same), None)

    def newest_of(self, release: str | None, machine: str) -> Build | None:
        """The newest build of a release given as `2.13` or `2.13.0`."""
        if release is None:
            return None
        builds = [build for build in self.builds(machine) if f"{build.torch}.".startswith(f"{release}.")]
        return builds[-1] if builds else None

    def resolve(self, spec: str, machine: str = "x86_64", *, anywhere: bool = False) -> Build:
        """Find the build that a user specified.

        Args:
            spec: a version as in PEP 440 (`2.6`, `2.6.0`, `2.6.0+cu124`), or a key (`2.6.0+cu124-x86_64`). A version
                without a label selects the shipped build of that version before the user's own.
            anywhere: whether a version with a label may be a build that the user added for another architecture.

        Raises:
            UnknownBuild: there is no such build; the message lists the known ones.
        """
        for build in (*self.builds(machine), *self.builds()):
            if build.key == spec:
                return build
        known = self._known_builds(machine)
        if not is_version(spec):
            raise UnknownBuild(f"{spec!r} is neither a torch version nor a known build; known: {_span(known)}")
        label = spec.partition("+")[2].lower().replace("-", ".").replace("_", ".")
        same = [build for build in known if order(build.torch) == order(spec)]
        exact = [build for build in same if not label or build.variant.lower() == label]
        if exact:
            return min(exact, key=lambda build: build.user)
        if anywhere and label:
            others = self.for_every_system().builds()
            # A shipped CPU build of another system has the label too, and is not the build that the user means.
            elsewhere = (b for b in others if b.user and order(b.torch) == order(spec) and b.variant.lower() == label)
            if (added := next(elsewhere, None)) is not None:
                return added
        if same:
            variants = ", ".join(f"{build.torch}+{build.variant}" for build in same)
            raise UnknownBuild(
                f"torch {spec} for {machine} is not in the index; of this version it has {variants} "
                f"(`abiscan releases add` takes a wheel or a directory)"
            )
        raise UnknownBuild(
            f"torch {spec} for {machine} is not in the index; known: {_span(known)}; "
            f"`abiscan releases add {spec}` adds it, if it was released"
        )

    def stands_for_cuda(self, build: Build) -> bool:
        """Whether a CPU build stands for the CUDA builds of its release: their wheels for its platform are on torch's
        own index, and this index has none of them."""
        if build.cuda or not platform_of(build.machine).torch_has_unlisted_cuda:
            return False
        return not any(other.cuda and other.torch == build.torch for other in self.builds(build.machine))

    # --- names --------------------------------------------------------------------------------------------------

    def lookup(
        self, names: Iterable[str], machine: str = "x86_64", *, of_others: bool = False
    ) -> dict[str, SymbolHistory]:
        """Histories of the names that some build of the architecture exports.

        A name without a history was never exported, unless `known_omitted` has a reason.

        Args:
            of_others: include names of other projects by `known_omitted` (the C++ standard library, MKL, ...) that are
                exported all the same. Resolution needs them; ranges of torch releases do not: builds up to 2.6 export
                `operator delete`, for example.
        """
        chosen = recorded if of_others else _is_torchs_own
        wanted = [name for name in names if chosen(name)]
        # The files of a run look up many of the same names.
        kept = self._names.setdefault(machine, {})
        absent = [name for name in wanted if name not in kept]
        if absent:
            if len(kept) > KEPT_NAMES:
                kept.clear()
                absent = wanted
            self._find(absent, machine, kept)
        return {name: history for name in wanted if (history := kept[name]) is not None}

    def _find(self, names: Iterable[str], machine: str, found: dict[str, SymbolHistory | None]) -> None:
        raws = {name.encode("utf-8", "surrogateescape"): name for name in names}
        numbers = [table.find(raws) for table in self.tables_of(machine)]
        for raw, name in raws.items():
            found[name] = self._history(tuple(each.get(raw, -1) for each in numbers), machine)

    def history(self, name: str, machine: str = "x86_64") -> SymbolHistory | None:
        """The history of one name; None if no build of the architecture exports it."""
        return self.lookup((name,), machine).get(name)

    def prefix(self, prefix: str, machine: str = "x86_64", limit: int = 1000) -> Mapping[str, SymbolHistory]:
        """Histories of the names that start with `prefix`, sorted, at most `limit`; used to find an entity with other
        parameters."""
        # A diagnosis searches the same prefix for the target and for the releases.
        known = self._prefixes.get((prefix, machine, limit))
        if known is None:
            known = self._prefixes[prefix, machine, limit] = self._with_prefix(prefix, machine, limit)
        return known

    def _with_prefix(self, prefix: str, machine: str, limit: int) -> dict[str, SymbolHistory]:
        raw = prefix.encode("utf-8", "surrogateescape")
        numbers: dict[bytes, list[int]] = {}
        tables = self.tables_of(machine)
        begins = self._beginnings.get((raw[:_BEGINNING], machine))
        if begins is None:
            begins = any(table.with_prefix(raw[:_BEGINNING], 1) for table in tables)
            self._beginnings[raw[:_BEGINNING], machine] = begins
        if not begins:
            return {}
        for at, table in enumerate(tables):
            for name, number in table.with_prefix(raw, limit):
                if not _is_torchs_own(name.decode("utf-8", "surrogateescape")):
                    continue
                numbers.setdefault(name, [-1] * len(tables))[at] = number
        found: dict[str, SymbolHistory] = {}
        for name in sorted(numbers):
            history = self._history(tuple(numbers[name]), machine)
            if history is not None:
                found[name.decode("utf-8", "surrogateescape")] = history
            if len(found) >= limit:
                break
        return found

    def exports(self, build: Build, name: str) -> ReleaseExport | None:
        """The export of `name` by `build`, whether or not the name is torch's own."""
        kept = self._names.setdefault(build.machine, {})
        if name not in kept:
            if not recorded(name):
                return None
            self.lookup((name,), build.machine, of_others=True)
        history = kept[name]
        place = self._position_of(build)
        return None if history is None or place is None else history.exports[place]

    def known_omitted(self, name: str) -> Omission | None:
        """Why a name is not torch's own, so that its absence from the histories means nothing; None if its absence
        means that no build exports it."""
        return omission(name)

    # --- vtables ------------------------------------------------------------------------------------------------

    def vtable(self, name: str, build: Build) -> tuple[VtableWord, ...] | None:
        """The words of a vtable of a build, in order; None if the build has no such vtable.

        Args:
            name: of the vtable (`_ZTVN5torch8autograd4NodeE`) or of the class (`N5torch8autograd4NodeE`).
        """
        symbol = name if name.startswith("_ZTV") else f"_ZTV{name}"
        for candidate, table, position in self._ordered(build.machine):
            if candidate.key == build.key:
                tables = self.tables_of(build.machine)[table].vtable(symbol)
                return None if tables is None else tables[position]
        return None

    # --- parts --------------------------------------------------------------------------------------------------

    def _known_builds(self, machine: str) -> tuple[Build, ...]:
        """The builds for a platform; `UnknownBuild` without one."""
        if not (known := self.builds(machine)):
            machines = ", ".join(sorted({build.machine for table in self.tables for build in table.builds})) or "none"
            raise UnknownBuild(f"no torch build for {machine} is known; known architectures: {machines}")
        return known

    def _position_of(self, build: Build) -> int | None:
        """Index of a build among those of its architecture."""
        places = self._places.get(build.machine)
        if places is None:
            places = self._places[build.machine] = {e.key: at for at, e in enumerate(self.builds(build.machine))}
        return places.get(build.key)

    def _ordered(self, machine: str) -> tuple[tuple[Build, int, int], ...]:
        """(build, table, position in the table) of an architecture in version order."""
        ordered = self._order.get(machine)
        if ordered is None:
            rows = {
                build.key: (build, at, position)
                for at, table in enumerate(self.tables_of(machine))
                for position, build in enumerate(table.builds)
                if build.machine == machine
            }
            ordered = tuple(rows.values())
            # One file is in order already.
            if len(self.tables_of(machine)) > 1:
                ordered = tuple(sorted(ordered, key=lambda row: (order(row[0].torch) or (), row[0].variant)))
            self._order[machine] = ordered
        return ordered

    def _history(self, numbers: tuple[int, ...], machine: str) -> SymbolHistory | None:
        """Names share a few thousand histories, so each is built once."""
        key = (machine, numbers)
        found = self._histories.get(key)
        if found is None:
            records = [
                table.record(number) if number >= 0 else None
                for table, number in zip(self.tables_of(machine), numbers, strict=True)
            ]
            of_builds = tuple(
                [
                    None if (record := records[table]) is None else record[position]
                    for _build, table, position in self._ordered(machine)
                ]
            )
            found = self._histories[key] = SymbolHistory(self.builds(machine), of_builds)
        return found if found.mask else None


def _is_torchs_own(name: str) -> bool:
    return omission(name) is None


def is_earlier(spec: str, index: ReleaseIndex) -> bool:
    """Whether a torch version is older than every build of an index that was opened without the earlier ones."""
    at, first = order(spec), order(index.tables[0].builds[0].torch)
    return is_version(spec) and at is not None and first is not None and at < first


def open_index(*user: str | Path, earlier: bool = False) -> ReleaseIndex:
    """Open the shipped index together with the user's own.

    Args:
        user: index files, or directories of them (`*.idx`); a missing directory counts as empty.
        earlier: whether to include the releases before 1.13.

    Raises:
        UnreadableFile: a file is damaged, or has a later format.
    """
    files: list[str] = []
    for given in user:
        path = os.fspath(given)
        files += [path] if os.path.isfile(path) else HERE.matching(path, f"*{SUFFIX}")
    shipped = [_shipped(SHIPPED), *([_shipped(EARLIER)] if earlier else ())]
    other_systems = {system: _files_of(system, earlier=earlier) for system in OTHER_SYSTEMS}
    return ReleaseIndex([*shipped, *(ReleaseTable(file, user=True) for file in files)], other_systems)


def with_earlier(index: ReleaseIndex) -> ReleaseIndex:
    """Add the releases before 1.13 to an index from `open_index`; both share what they have read.

    Raises:
        UnreadableFile: as `open_index`.
    """
    shipped, *users = index.tables
    other_systems = {system: _files_of(system, earlier=True) for system in OTHER_SYSTEMS}
    return ReleaseIndex([shipped, _shipped(EARLIER), *users], other_systems)


@functools.cache
def _shipped(path: str) -> ReleaseTable:
    """A file of the package, which does not change: its header is decoded once in a process."""
    return ReleaseTable(path)


def _files_of(system: OperatingSystem, *, earlier: bool) -> tuple[str, ...]:
    return (OTHER_SYSTEMS[system], *([EARLIER_OTHER_SYSTEMS[system]] if earlier else ()))


def _span(builds: tuple[Build, ...]) -> str:
    releases = list(dict.fromkeys(build.torch for build in builds))
    return f"{len(releases)} releases from {releases[0]} to {releases[-1]} (see `abiscan releases list`)"
