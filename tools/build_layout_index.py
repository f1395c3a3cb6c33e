"""Make abiscan/data/layouts.idx, the class layouts of each torch release, and layouts-aarch64.idx, the differences on
that architecture.

    python tools/build_layout_index.py WHEEL...            add the releases of these wheels (x86_64, aarch64)
    python tools/build_layout_index.py --check             pack the cache again, and compare

`tools/header_calls.py` adds reads and calls of inline functions to the same cache.

Only the headers in a wheel are read, so a zip file with `torch/include` and a name such as `2.8.0-x86_64.zip` works
too. Results stay in the cache. A release uses the layouts of its minor release if that is in the cache: patch releases
move no field; for an exception, give its wheel. Needs Clang 16 or later, and CPython's headers (`--include`).
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from abiscan.errors import AbiscanError
from abiscan.model import versions
from abiscan.releases.assertions import Assertion
from abiscan.releases.index import open_index
from abiscan.releases.layout import Layout
from abiscan.releases.layout_table import MACHINE, SHIPPED, LayoutTable, Trace, pack
from abiscan.releases.open_layouts import SHIPPED_BESIDE
from abiscan.releases.read_layouts import OLDEST_CLANG, clang_command, read_assertions, read_headers

BESIDE = "aarch64"


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def read_wheel(wheel: Path, cache: Path, include: list[Path]) -> None:
    """Add the layouts of one release to the cache."""
    named = re.search(r"(?:^|torch-)(\d+\.\d+\.\d+)", wheel.name)
    clang = clang_command()
    if named is None or clang is None:
        raise AbiscanError(
            f"{wheel}: "
            + ("its name tells no release" if named is None else f"there is no Clang {OLDEST_CLANG} or later here")
        )
    version = named[1]
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel) as archive:
        archive.extractall(scratch, (name for name in archive.namelist() if name.startswith("torch/include/")))
        headers = Path(scratch, "torch/include")
        if wheel.stem.endswith(BESIDE):
            layouts, left_out = read_headers(headers, version, clang=clang, extra=include, target=f"{BESIDE}-linux-gnu")
            version += f"-{BESIDE}"
        else:
            layouts, left_out = read_headers(headers, version, clang=clang, extra=include)
            (cache / f"{version}.assertions.json").write_bytes(msgspec.json.encode(read_assertions(headers)))
        (cache / f"{version}.json").write_bytes(msgspec.json.encode(layouts))
        say(f"{version}: {len(layouts)} records" + (f"; left out: {', '.join(left_out)}" if left_out else ""))


def cached_layouts(cache: Path, suffix: str) -> dict[str, dict[str, Layout]]:
    """Layouts in the cache by release, for releases with this suffix."""
    return {
        file.stem.removesuffix(suffix): msgspec.json.decode(file.read_bytes(), type=dict[str, Layout])
        for file in sorted(cache.glob(f"[0-9]*{suffix}.json"))
        if re.fullmatch(r"\d+(\.\d+)*", file.stem.removesuffix(suffix))
    }


def sources(layouts: Mapping[str, object], machine: str) -> dict[str, str]:
    """Release of an architecture -> the release that provides its layouts."""
    read_from = {}
    for release in dict.fromkeys(build.torch for build in open_index().builds(machine)):
        same = [other for other in layouts if versions.minor(other) == versions.minor(release)]
        if same:
            read_from[release] = release if release in layouts else max(same, key=lambda v: versions.order(v) or ())
    return read_from


def packed_beside(cache: Path, base: bytes) -> bytes:
    """The index of differences on aarch64."""
    layouts = cached_layouts(cache, f"-{BESIDE}")
    return pack(layouts, sources(layouts, BESIDE), {}, {}, LayoutTable("", base))


def packed(cache: Path) -> bytes:
    """The index of the whole cache."""
    layouts = cached_layouts(cache, "")
    assertions = {
        file.name.removesuffix(".assertions.json"): msgspec.json.decode(file.read_bytes(), type=list[Assertion])
        for file in sorted(cache.glob("*.assertions.json"))
    }
    index = open_index()
    read_from = sources(layouts, MACHINE)
    known: dict[str, Trace] = {}
    files = sorted(cache.glob("*.traces.json"))
    for file in files:
        known = in_common(known, msgspec.json.decode(file.read_bytes(), type=dict[str, Trace]))
    if not files and Path(SHIPPED).exists():
        known = dict(LayoutTable(SHIPPED).traces)
    exported = index.lookup(known, MACHINE)
    traces = {name: trace for name, trace in known.items() if name in exported}
    return pack(layouts, read_from, traces, {r: assertions.get(r) or assertions[read_from[r]] for r in read_from})


def in_common(one: Mapping[str, Trace], other: Mapping[str, Trace]) -> dict[str, Trace]:
    """The common traces of two releases: the intersection if both have one."""
    found = {**one, **other}
    for name in one.keys() & other.keys():
        fields = {
            record: tuple(field for field in names if field in other[name].fields.get(record, ()))
            for record, names in one[name].fields.items()
        }
        kept = {record: names for record, names in fields.items() if names}
        result = one[name].result if one[name].result == other[name].result else ""
        found[name] = Trace(kept, one[name].only_inline and other[name].only_inline, result)
    return {name: trace for name, trace in found.items() if trace.fields or trace.result}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "abiscan" / "layouts"
    parser.add_argument("wheels", nargs="*", type=Path)
    parser.add_argument("--cache", type=Path, default=default)
    parser.add_argument("--include", type=Path, action="append", help="further headers: CUDA's, say; repeatable")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    include = [Path(sysconfig.get_paths()["include"]), *(options.include or ())]
    for wheel in options.wheels:
        read_wheel(wheel, options.cache, include)
    data = packed(options.cache)
    differing = 0
    for file, made in ((SHIPPED, data), (SHIPPED_BESIDE[BESIDE], packed_beside(options.cache, data))):
        if options.check:
            same = Path(file).read_bytes() == made
            differing += not same
            say(f"{file}: {'the same' if same else 'differs from the cache'}")
        else:
            Path(file).write_bytes(made)
            say(f"{file}: {len(made)} bytes")
    return 1 if differing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AbiscanError as error:
        sys.exit(f"error: {error}")
