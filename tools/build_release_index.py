"""Make abiscan/data/releases.idx and earlier_releases.idx: the exports of every stable torch release, before 1.13.0 in
the second; with `--system windows` or `macos` releases-windows.idx or releases-macos.idx.

    python tools/build_release_index.py             fetch the releases that the files lack, and add them
    python tools/build_release_index.py --system windows
    python tools/build_release_index.py --only 2.15.0
    python tools/build_release_index.py --rebuild   make both anew from all releases (some 50 GB if the cache is empty)
    python tools/build_release_index.py --check     compare both with every build in the cache
    python tools/build_release_index.py --check --refetch --only 2.15.0    ... with a wheel fetched for it

A wheel is downloaded with pip, read, and deleted. The result stays in the cache (some 1 MB per build), so that an
interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).parents[1]))

from abiscan.errors import AbiscanError, UsageError
from abiscan.model.platforms import OperatingSystem
from abiscan.releases.add import PLATFORMS, PYTHONS, download
from abiscan.releases.index import EARLIER, EARLIER_OTHER_SYSTEMS, OTHER_SYSTEMS, SHIPPED
from abiscan.releases.read_build import (
    RawBuild,
    RawLibrary,
    assemble,
    read_build,
)
from abiscan.releases.table import ReleaseExport, ReleaseTable, VtableWord
from abiscan.releases.writer import BuildExports, own_names, write_index

OLDEST = Version("1.0.0")
# First release in the file that every run reads.
FIRST = Version("1.13.0")
# The platforms of each system, in the order of its file.
MACHINES = {
    OperatingSystem.LINUX: ("x86_64", "aarch64"),
    OperatingSystem.WINDOWS: ("win_amd64",),
    OperatingSystem.MACOS: ("macosx_arm64", "macosx_x86_64"),
}
# Platforms for which the wheels of one release were built in several ways: some with OpenMP, others without it, which
# export other names. A file is built and loaded with the torch of its own Python, so the index has the names of all.
SEVERAL_WAYS = ("macosx_x86_64",)
ORDER = tuple(machine for machines in MACHINES.values() for machine in machines)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# --- the cache ----------------------------------------------------------------------------------------------------


def cache_file(cache: Path, version: str, machine: str) -> Path:
    return cache / f"{version}-{machine}.json.gz"


def save(file: Path, version: str, raw: RawBuild) -> None:
    value = {
        "version": version,
        "machine": raw.machine,
        "wheel": raw.source,
        "sha256": raw.sha256,
        "version_py": raw.version_text,
        "others": list(raw.others),
        "libraries": {
            path: {
                "soname": library.soname,
                "needed": library.needed,
                "symbols": [[n, kind.upper(), bound.upper(), size, v] for n, kind, bound, size, v in library.symbols],
                "vtables": library.vtables,
            }
            for path, library in raw.libraries.items()
        },
    }
    unfinished = file.with_suffix(".tmp")
    with gzip.open(unfinished, "wt", encoding="utf-8", compresslevel=5) as stream:
        json.dump(value, stream)
    unfinished.replace(file)


def load(file: Path) -> RawBuild:
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        value: dict[str, Any] = json.load(stream)
    return RawBuild(
        source=value["wheel"],
        sha256=value["sha256"],
        machine=value["machine"],
        version_text=value["version_py"],
        others=tuple(value["others"]),
        libraries={
            path: RawLibrary(
                soname=library["soname"],
                needed=tuple(library["needed"]),
                symbols=tuple(
                    (n, kind.lower(), bound.lower(), size, v) for n, kind, bound, size, v in library["symbols"]
                ),
                vtables={name: tuple(words) for name, words in library["vtables"].items()},
            )
            for path, library in value["libraries"].items()
        },
    )


def in_cache(cache: Path, machines: tuple[str, ...]) -> list[Path]:
    return sorted(file for machine in machines for file in cache.glob(f"*-{machine}.json.gz"))


# --- the package index ----------------------------------------------------------------------------------------------


def released(machine: str) -> list[str]:
    """Stable versions that pip finds for an architecture, oldest first."""
    command = [sys.executable, "-m", "pip", "index", "versions", "torch", "--only-binary=:all:"]
    versions: set[Version] = set()
    command += [f"--platform={each}" for each in PLATFORMS[machine]]
    # No Python has wheels of all releases.
    for python in (PYTHONS[0], PYTHONS[-1]):
        done = subprocess.run([*command, f"--python-version={python}"], capture_output=True, text=True, check=False)
        found = re.search(r"Available versions: (.*)", done.stdout)
        if found is None:
            raise AbiscanError(f"pip lists no versions of torch: {done.stderr.strip()[-200:]}")
        versions |= {Version(text.strip()) for text in found[1].split(",")}
    # Local labels (2.13.0+cpu) are variants from another index that pip may be configured to use.
    return [str(v) for v in sorted(versions) if v >= OLDEST and not v.is_prerelease and v.local is None]


def fetch(version: str, machine: str, cache: Path) -> bool:
    """Add one build to the cache. Return False if the release has no wheel for this architecture."""
    raws: list[RawBuild] = []
    for pythons in (
        [(python,) for python in (*PYTHONS[:-1], "38", PYTHONS[-1])] if machine in SEVERAL_WAYS else [PYTHONS]
    ):
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="abiscan-torch-") as directory:
            try:
                wheel = download(version, machine, Path(directory), quiet=not sys.stderr.isatty(), pythons=pythons)
            except UsageError as error:
                if machine not in SEVERAL_WAYS:
                    say(f"  {error}")
                continue
            fetched = time.monotonic()
            raw = read_build(wheel)
            size = wheel.stat().st_size / 1e6
        raws.append(raw)
        exports = sum(len(library.symbols) for library in raw.libraries.values())
        say(
            f"  {raw.source}: {size:.0f} MB in {fetched - start:.0f} s, "
            f"{exports} exports read in {time.monotonic() - fetched:.0f} s"
        )
    if raws:
        save(cache_file(cache, version, machine), version, with_exports_of(raws))
    return bool(raws)


def with_exports_of(raws: list[RawBuild]) -> RawBuild:
    """The first build, with the symbols that the others export too."""
    libraries = dict(raws[0].libraries)
    for raw in raws[1:]:
        for path, library in raw.libraries.items():
            if path in libraries:
                known = {symbol[0] for symbol in libraries[path].symbols}
                more = tuple(symbol for symbol in library.symbols if symbol[0] not in known)
                libraries[path] = replace(libraries[path], symbols=(*libraries[path].symbols, *more))
    return replace(raws[0], libraries=libraries)


# --- the file -------------------------------------------------------------------------------------------------------


def in_order(builds: list[BuildExports]) -> list[BuildExports]:
    return sorted(
        builds,
        key=lambda item: (ORDER.index(item.build.machine), Version(item.build.torch), item.build.variant),
    )


def made_of(raw: RawBuild) -> BuildExports:
    """A build in the form of its file."""
    item = assemble(raw)
    return own_names(item) if is_earlier(item) else item


def is_earlier(item: BuildExports) -> bool:
    return Version(item.build.torch) < FIRST


def read_files(files: list[Path]) -> list[BuildExports]:
    """The builds in the existing files."""
    return [item for file in files if file.exists() for item in read_back(ReleaseTable(file))]


def read_back(table: ReleaseTable) -> list[BuildExports]:
    """The builds of an index file, so that another with more of them can be written."""
    exports: list[dict[str, ReleaseExport]] = [{} for _ in table.builds]
    vtables: list[dict[str, tuple[VtableWord, ...]]] = [{} for _ in table.builds]
    records: dict[int, tuple[ReleaseExport | None, ...]] = {}
    for name, number in table.names():
        if number not in records:
            records[number] = table.record(number)
        for at, export in enumerate(records[number]):
            if export is not None:
                exports[at][name] = export
    for name, tables in table.vtables():
        for at, words in enumerate(tables):
            if words is not None:
                vtables[at][name] = words
    return [
        BuildExports(build, exports[at], vtables[at], table.statistics["omitted"].get(build.key, {}))
        for at, build in enumerate(table.builds)
    ]


def check(files: list[Path], cached_files: list[Path]) -> int:
    """Compare the files with cached builds, name by name. Return the number of differences."""
    for file in files:
        table = ReleaseTable(file)
        say(f"{file.name}: {table.verify()} names, {len(table.builds)} builds, {file.stat().st_size} bytes, undamaged")
    kept = {item.build.key: item for item in read_files(files)}
    wrong = 0
    for cached in cached_files:
        fresh = made_of(load(cached))
        old = kept.get(fresh.build.key)
        if old is None:
            say(f"  {fresh.build.key}: in the cache, in neither file")
        elif old != fresh:
            names = [n for n in {*old.exports, *fresh.exports} if old.exports.get(n) != fresh.exports.get(n)]
            tables = [n for n in {*old.vtables, *fresh.vtables} if old.vtables.get(n) != fresh.vtables.get(n)]
            say(f"  {fresh.build.key}: {len(names)} exports and {len(tables)} vtables differ {sorted(names)[:3]}")
        wrong += old != fresh
    say(f"{len(cached_files)} builds compared, {wrong} differ")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "abiscan" / "releases"
    parser.add_argument("--system", type=OperatingSystem, default=OperatingSystem.LINUX, help="linux, windows, macos")
    parser.add_argument("--cache", type=Path, default=default, help="where what was read of each wheel is kept")
    parser.add_argument("--only", action="append", metavar="VERSION", help="this release alone; repeatable")
    parser.add_argument("--rebuild", action="store_true", help="make the file anew, from every release")
    parser.add_argument("--check", action="store_true", help="write nothing; compare the file with the cache")
    parser.add_argument("--refetch", action="store_true", help="fetch even what the cache has")
    parser.add_argument("--fetch-only", action="store_true", help="fill the cache, leave the file alone")
    parser.add_argument("--output", type=Path, help="the file of 1.13.0 and later")
    parser.add_argument("--output-earlier", type=Path, help="the file of those before")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    machines = MACHINES[options.system]
    options.output = options.output or Path(OTHER_SYSTEMS.get(options.system, SHIPPED))
    options.output_earlier = options.output_earlier or Path(EARLIER_OTHER_SYSTEMS.get(options.system, EARLIER))
    files = [options.output, options.output_earlier]
    if options.check and not options.only:
        return 1 if check(files, in_cache(options.cache, machines)) else 0

    builds: list[BuildExports] = []
    if not options.rebuild:
        builds = read_files(files)
    known = {(item.build.torch, item.build.machine) for item in builds}
    wanted = [(version, machine) for machine in machines for version in options.only or released(machine)]
    if options.only:
        builds = [item for item in builds if item.build.torch not in options.only]
    else:
        wanted = [each for each in wanted if each not in known]
    for number, (version, machine) in enumerate(wanted, 1):
        say(f"{number}/{len(wanted)} torch {version} {machine}")
        cached = cache_file(options.cache, version, machine)
        if (options.refetch or not cached.exists()) and not fetch(version, machine, options.cache):
            continue
        if not options.fetch_only and not options.check:
            builds.append(made_of(load(cached)))
    if options.check:
        cached_files = [cache_file(options.cache, *each) for each in wanted]
        return 1 if check(files, [file for file in cached_files if file.exists()]) else 0
    if not options.fetch_only:
        earlier = in_order([item for item in builds if is_earlier(item)])
        later = in_order([item for item in builds if not is_earlier(item)])
        write_index(options.output, later)
        write_index(options.output_earlier, earlier)
        for file, written in zip(files, (later, earlier), strict=True):
            say(f"{file}: {len(written)} builds, {file.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AbiscanError as error:
        sys.exit(f"error: {error}")
