"""Make abiscan/data/torch_declarations.xz, the declarations in the headers of each torch release, and
abiscan/data/torch_headers.txt.gz, the headers of the newest.

    python tools/build_header_declarations.py WHEEL...     add the releases of these wheels
    python tools/build_header_declarations.py              make both files from the cache

Only the headers in a wheel are read, so a zip file with `torch/include` and a name such as `2.8.0-cuda.zip` works too.
Give the CUDA and the CPU wheel of a release (from the package index: Linux x86_64 and macOS): a release has a name if
one of them declares it. A patch release without a CPU wheel uses that of its minor release. Results stay in the cache.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from header_declarations import Declared, declarations
from packaging.version import Version

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from write_data import write_compressed  # noqa: E402 - of this work tree, installed or not

from abiscan.ownership.torch_declarations import FILE, HEADERS, MACROS, TEMPLATE, WRITABLE  # noqa: E402

_FOLDERS = frozenset({"ATen", "c10", "torch", "THC", "TH", "THCUNN", "THNN", "caffe2"})
_ROOTS = frozenset({"at", "c10", "torch"})
# Repetitions for each operator; no source names these.
_GENERATED = re.compile(r"ATen/ops/.*_(ops|meta|[a-z]+_dispatch)\.h")
# Generated and internal scopes of torch; other projects do not use names in them.
_INTERNAL = frozenset(
    "_ops meta redispatch legacy generated dynamo lazy functorch fuser tensorexpr TypeDefault CPUType CUDAType".split()  # noqa: SIM905
)
# C functions that the first releases declare.
_C_NAMES = "TH"


class Contents(NamedTuple):
    """What the headers of one wheel declare.

    Attributes:
        names: scope -> name -> whether every declaration is deprecated.
        aliases: what a scope `a::b` stands for.
        templates, plain: class -> members that are templates, and those that are not.
        writable, constant: class -> functions that return a pointer or reference to something else than const, and
            those that return one to const alone.
    """

    names: dict[str, dict[str, bool]]
    macros: list[str]
    bases: dict[str, list[str]]
    uses: dict[str, list[str]]
    aliases: dict[str, list[str]]
    opened: list[str]
    headers: list[str]
    templates: dict[str, list[str]] = {}  # noqa: RUF012 - msgspec copies it
    plain: dict[str, list[str]] = {}  # noqa: RUF012
    writable: dict[str, list[str]] = {}  # noqa: RUF012
    constant: dict[str, list[str]] = {}  # noqa: RUF012


def read_wheel(wheel: Path, read: dict[tuple[int, int], list[Declared]]) -> Contents:
    """Read the declarations of a wheel.

    Args:
        read: cache of files by CRC-32 and size: most are the same in consecutive releases.
    """
    files: dict[str, list[Declared]] = {}
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            path = member.filename.partition("/include/")[2].removeprefix("torch/csrc/api/include/")
            if path.partition("/")[0] not in _FOLDERS or not path.endswith((".h", ".cuh", ".hpp", ".inl")):
                continue
            key = (member.CRC, member.file_size)
            if key not in read and not _GENERATED.match(path):
                read[key] = declarations(archive.read(member).decode("utf-8", "replace"))
            files[path] = read.get(key, [])
    return _contents(files)


def _contents(files: Mapping[str, list[Declared]]) -> Contents:
    names: dict[str, dict[str, bool]] = defaultdict(dict)
    found: dict[str, dict[str, set[str]]] = {kind: defaultdict(set) for kind in "mbuaotpcw"}
    for each in (each for declared in files.values() for each in declared):
        if each.kind not in ("n", "a"):
            found[each.kind][each.scope].add(each.name)
        else:
            scope = names[each.scope]
            scope[each.name] = scope.get(each.name, True) and each.deprecated
            if each.target:
                found["a"][_joined(each.scope, each.name)].add(each.target)
        parts = each.scope.split("::") if each.scope else []
        for length, part in enumerate(parts):
            names["::".join(parts[:length])][part] = False
    lists = {kind: {scope: sorted(values) for scope, values in each.items()} for kind, each in found.items()}
    return Contents(
        dict(names),
        lists["m"].get("", []),
        lists["b"],
        lists["u"],
        lists["a"],
        sorted(found["o"]),
        sorted(path for path in files if not path.startswith("ATen/ops/")),
        lists["t"],
        _only(found["p"], found["t"]),
        lists["w"],
        _only(found["c"], found["w"]),
    )


def _only(some: Mapping[str, set[str]], others: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """Scope -> the names of `some` that `others` lacks."""
    return {scope: sorted(names - others.get(scope, set())) for scope, names in some.items()}


def _joined(*parts: str) -> str:
    return "::".join(part for part in parts if part)


class Visible:
    """The visible names in each scope of a release: with those of used namespaces, base classes and aliases."""

    def __init__(self, contents: Iterable[Contents]) -> None:
        every = list(contents)
        self._own: dict[str, dict[str, bool]] = defaultdict(dict)
        # By suffix of the form: (class -> members that have it, class -> members that lack it).
        self._forms: dict[str, tuple[dict[str, set[str]], dict[str, set[str]]]] = {
            suffix: (defaultdict(set), defaultdict(set)) for suffix in (TEMPLATE, WRITABLE)
        }
        self._links: dict[str, set[str]] = defaultdict(set)
        self.opened: set[str] = set()
        self.macros: set[str] = set()
        self.headers: set[str] = set()
        for each in every:
            for scope, names in each.names.items():
                for name, deprecated in names.items():
                    self._own[scope][name] = self._own[scope].get(name, True) and deprecated
            known = {TEMPLATE: (each.templates, each.plain), WRITABLE: (each.writable, each.constant)}
            for suffix, pair in known.items():
                for lists, sets in zip(pair, self._forms[suffix], strict=True):
                    for scope, members in lists.items():
                        sets[scope].update(members)
            self.opened.update(each.opened)
            self.macros.update(each.macros)
            self.headers.update(each.headers)
        for each in every:
            for scope, targets in (*each.uses.items(), *each.aliases.items()):
                for target in targets:
                    found = self._resolved(scope, target)
                    if found is not None and scope:
                        self._links[scope].add(found)
            for scope, bases in each.bases.items():
                for base in bases:
                    found = self._resolved(scope, base.replace("<>", ""))
                    if found is not None:
                        self._links[scope].add(found)
                    else:
                        self.opened.add(scope)  # a class that is not completely known
        self._add_nested()

    def _resolved(self, scope: str, target: str) -> str | None:
        """The scope that a name in a scope refers to."""
        parts = scope.split("::") if scope and not target.startswith("::") else []
        target = target.lstrip(":")
        for length in range(len(parts), -1, -1):
            found = _joined("::".join(parts[:length]), target)
            if found in self._own and found != scope:
                return found
        return None

    def _add_nested(self) -> None:
        """Add scopes within used ones: `at::guts` if `at` uses `c10`, which has `c10::guts`."""
        scopes = sorted(self._own)
        for scope in list(self._links):
            for target in self._reached(scope):
                for inner in scopes:
                    if inner.startswith(f"{target}::"):
                        self._links[f"{scope}{inner[len(target) :]}"].add(inner)

    def _reached(self, scope: str) -> list[str]:
        """The scopes that a scope uses, directly or not."""
        found, pending = {scope}, [scope]
        for current in pending:
            new = self._links.get(current, set()) - found
            found |= new
            pending += sorted(new)
        return pending[1:]

    def scopes(self) -> set[str]:
        """Every scope."""
        return {*self._own, *self._links}

    def names(self, scope: str) -> dict[str, bool]:
        """Name -> whether every declaration is deprecated."""
        found: dict[str, bool] = {}
        for current in (scope, *self._reached(scope)):
            for name, deprecated in self._own.get(current, {}).items():
                found[name] = found.get(name, True) and deprecated
            if current in self.opened:
                self.opened.add(scope)
        return found

    def forms(self, scope: str, suffix: str) -> tuple[set[str], set[str]]:
        """The members that have a form, and those that lack it in every class that declares them."""
        having, lacking = self._forms[suffix]
        has: set[str] = set()
        lacks: set[str] = set()
        unknown: set[str] = set()
        for current in (scope, *self._reached(scope)):
            without = lacking.get(current, set())
            has |= having.get(current, set())
            lacks |= without
            unknown |= self._own.get(current, {}).keys() - without
        return has, lacks - unknown


def table_of(releases: Mapping[str, list[Contents]]) -> tuple[str, list[str]]:
    """The text of the table, and the headers of the newest release.

    Args:
        releases: oldest first.
    """
    whole = (1 << len(releases)) - 1
    declared: dict[tuple[str, str], int] = defaultdict(int)
    deprecated: dict[tuple[str, str], int] = defaultdict(int)
    having: dict[tuple[str, str, str], int] = defaultdict(int)
    lacking: dict[tuple[str, str, str], int] = defaultdict(int)
    opened: dict[str, int] = defaultdict(int)
    headers: set[str] = set()
    for number, contents in enumerate(releases.values()):
        visible = Visible(contents)
        bit = 1 << number
        for scope in visible.scopes():
            parts = scope.split("::")
            if scope and (parts[0] not in _ROOTS or not _INTERNAL.isdisjoint(parts)):
                continue
            for name, is_deprecated in visible.names(scope).items():
                if name not in _INTERNAL and (scope or name.startswith(_C_NAMES)):
                    declared[scope, name] |= bit
                    deprecated[scope, name] |= bit if is_deprecated else 0
            for suffix in (TEMPLATE, WRITABLE):
                for masks, members in zip((having, lacking), visible.forms(scope, suffix), strict=True):
                    for name in members:
                        masks[scope, name, suffix] |= bit
            if scope in visible.opened:
                opened[scope] |= bit
        for name in visible.macros:
            declared[MACROS, name] |= bit
        for name in visible.headers:
            declared[HEADERS, name] |= bit
        headers = visible.headers
    lines: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    # Releases whose headers do not show the form count as having it.
    changed = {
        (scope, name + suffix): declared[scope, name] & ~lacking[scope, name, suffix]
        for (scope, name, suffix), mask in having.items()
        if mask & -mask < lacking[scope, name, suffix]  # the first that has it is before the last that lacks it
    }
    for (scope, name), mask in (*declared.items(), *changed.items()):
        present = mask | opened.get(scope, 0)
        marked = deprecated.get((scope, name), 0)
        if present != whole or marked >> (len(releases) - 1):
            lines[scope][_ranges(present) + (f";{_ranges(marked)}" if marked else "")].append(name)
    body: list[str] = []
    same: dict[str, str] = {}
    for scope, by_mask in sorted(lines.items()):
        written = [f"{ranges}\t{' '.join(sorted(names))}" for ranges, names in sorted(by_mask.items())]
        # `torch::native` has the same names as `at::native`.
        first = same.setdefault("\n".join(written), scope)
        body += [f"{scope}\t{line}" for line in written] if first == scope else [f"{scope}\t=\t{first}"]
    return "\n".join([" ".join(releases), *body]) + "\n", sorted(headers)


def _ranges(mask: int) -> str:
    parts = []
    at = 0
    while mask >> at:
        if mask >> at & 1:
            first = at
            while mask >> at + 1 & 1:
                at += 1
            parts.append(f"{first}-{at}" if at > first else f"{at}")
        at += 1
    return ",".join(parts)


def _cached(cache: Path) -> dict[str, list[Contents]]:
    """Release -> declarations of its wheels, oldest first."""
    found: dict[str, dict[str, Contents]] = defaultdict(dict)
    for file in cache.glob("*.msgpack"):
        version, _, kind = file.stem.partition("-")
        found[version][kind] = msgspec.msgpack.decode(file.read_bytes(), type=Contents)
    for version, kinds in found.items():
        first = f"{version.rpartition('.')[0]}.0"
        if "cpu" not in kinds and "cpu" in found.get(first, {}):
            kinds["cpu"] = found[first]["cpu"]
    return {version: list(found[version].values()) for version in sorted(found, key=Version)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "abiscan" / "declarations"
    parser.add_argument("wheels", nargs="*", type=Path)
    parser.add_argument("--cache", type=Path, default=default)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    read: dict[tuple[int, int], list[Declared]] = {}
    for wheel in options.wheels:
        named = re.search(r"(?:^|torch-)(\d+\.\d+\.\d+)", wheel.name)
        if named is None:
            sys.exit(f"error: {wheel}: its name has no release")
        kind = "cpu" if re.search(r"macosx|cpu", wheel.name) else "cuda"
        contents = read_wheel(wheel, read)
        (options.cache / f"{named[1]}-{kind}.msgpack").write_bytes(msgspec.msgpack.encode(contents))
        print(f"{named[1]} {kind}: {sum(map(len, contents.names.values()))} names", flush=True)
    releases = _cached(options.cache)
    text, headers = table_of(releases)
    for file, written in ((FILE, text), ("torch_headers.txt.gz", "\n".join([list(releases)[-1], *headers]) + "\n")):
        print(f"{file}: {write_compressed(file, written)} bytes")


if __name__ == "__main__":
    main()
