"""Symbols of relocations and their definitions. Oracles: readelf and nm for the symbols, LD_DEBUG=bindings for the
definitions, the loader's error for where it stops."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.loader.linkmap import LinkMap
from abiscan.loader.process import Process
from abiscan.loader.relocate import find_lookups
from abiscan.loader.relocation_checks import unknown_relocation
from abiscan.model.loading import LoaderStop, StopKind
from tests.loader import kit
from tests.loader.debugging import bindings, examined, message, plain_process
from tests.programs import output_of

pytestmark = kit.needs_glibc

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CASES = FIXTURES / "loader"
# Order of the tables, versions, weak symbols, both hash tables, files without REL or PLT.
ASKING = (
    *(CASES / name / "target.so" for name in ("order-data-first", "order-calls", "order-calls-now", "order-lld")),
    *(CASES / name / "target.so" for name in ("version-present", "weak-undefined", "weak-then-strong", "unreferenced")),
    *(FIXTURES / name for name in ("good-extension.so", "stable-abi.so", "weak-import.so", "unreferenced-import.so")),
)
# Several definitions of one name.
BOUND = (
    *("weak-interposes-strong", "versioned-interposed", "versioned-to-hidden"),
    *("versioned-other-version-first", "unversioned-to-default-second", "unversioned-to-hidden-first"),
    *("unversioned-to-hidden-third-and-default", "unversioned-to-versioned", "loaded-by-soname-wins"),
    *("breadth-first-binding", "dependency-uses-root", "dependency-uses-sibling", "protected-function", "unique"),
)
STOPPED = (
    *("order-calls", "order-data-first", "broken-sibling", "broken-siblings", "weak-then-strong", "missing-needed"),
    *("version-missing", "version-missing-in-dependency", "symbol-gone-version-kept", "glibc-symbol-gone"),
    *("wrong-machine-only", "target-wrong-class", "tls-initial-exec-huge", "relocation-type-unknown", "format-padding"),
    *("pie", "dependency-is-directory", "relr-without-version-libc"),
)
# A relocation with a symbol, as `readelf -rW` prints it: offset, info, type, value, name and version, addend.
_RELOCATION = re.compile(r"^[0-9a-f]{16}\s+[0-9a-f]{16}\s+(R_\S+)\s+[0-9a-f]{16}\s+(\S+)", re.MULTILINE)
_UNDEFINED = re.compile(r"^\s+([Uwv]) (\S+)", re.MULTILINE)


@functools.cache
def process() -> Process:
    return plain_process()


def _output(*command: str | Path) -> str:
    return output_of(command)


def _real_libraries() -> list[Path]:
    """The C++ runtime, and torch libraries that were not linked on this machine."""
    found = [path for path in map(Path, kit.torch().libraries) if path.name in ("libc10.so", "libshm.so")]
    runtime = kit.loader(with_torch=False).find("libstdc++.so.6")
    assert found
    return found if runtime is None else [*found, Path(runtime[0])]


def _assert_asks_as_readelf_says(path: Path) -> int:
    undefined = {name: kind for kind, name in _UNDEFINED.findall(_output("nm", "-D", path))}
    plain = {name.partition("@")[0] for name in undefined}
    theirs = dict.fromkeys(name for _type, name in _RELOCATION.findall(_output("readelf", "-rW", path)))
    lookups = find_lookups(LinkMap(open_elf(str(path)), str(path)))
    ours: dict[str, None] = {}
    for lookup in lookups:
        name = lookup.reference.name.decode()
        version = lookup.reference.version
        ours[name if version is None else f"{name}@{version.name}"] = None
        if name in plain:
            kind = undefined[name if version is None else f"{name}@{version.name}"]
            assert lookup.weak == (kind in "wv"), name
    # Symbols that the file itself defines are looked up too, if that can fail.
    assert [name for name in ours if name in undefined] == [name for name in theirs if name in undefined]
    return len(ours)


@pytest.mark.parametrize("path", ASKING, ids=lambda path: path.parent.name + "/" + path.name)
def test_what_is_looked_up_is_what_readelf_shows_in_its_order(path: Path) -> None:
    _assert_asks_as_readelf_says(path)


@pytest.mark.torch
def test_what_real_libraries_look_up_is_what_readelf_shows() -> None:
    assert all(_assert_asks_as_readelf_says(path) > 20 for path in _real_libraries())


@pytest.mark.parametrize("name", BOUND)
def test_every_object_binds_to_what_the_loader_binds_it_to(name: str) -> None:
    path = CASES / name / "target.so"
    real = bindings(path)
    examination = examined(path, process())
    compared = 0
    for item in examination.closure.maps:
        if not examination.is_new(item):
            continue
        for lookup, found in zip(examination.lookups(item), examination.bindings(item), strict=True):
            provider = real.get((item.name, lookup.reference.name.decode()))
            if provider is not None:
                compared += 1
                assert found is not None
                assert found[0].name == provider, (item.name, lookup.reference.name)
    assert compared


@pytest.mark.parametrize("name", STOPPED)
def test_the_fields_of_a_stop_agree_with_the_loader_error(name: str) -> None:
    path = CASES / name / "target.so"
    said = message(path)
    stop = examined(path, process()).predict().stop
    if not said:
        pytest.skip("this machine's loader loads it")
    assert stop is not None
    assert stop.message == said
    undefined = re.fullmatch(r"(.*): undefined symbol: ([^,]*)(?:, version (.*))?", said)
    unversioned = re.fullmatch(r"(.*): version `(.*)' not found \(required by (.*)\)", said)
    assert (stop.kind is StopKind.UNDEFINED_SYMBOL) == (undefined is not None)
    assert (stop.kind is StopKind.VERSION_NOT_FOUND) == (unversioned is not None)
    if undefined is not None:
        assert undefined.groups() == (stop.object, stop.symbol, stop.version)
    if unversioned is not None:
        assert unversioned.groups() == (stop.object, stop.version, stop.required_by)


def test_an_unknown_relocation_type_is_found_where_readelf_does_not_know_it() -> None:
    for name, known in (("relocation-type-unknown", False), ("plain", True), ("tls-descriptor", True)):
        path = CASES / name / "target.so"
        stop = unknown_relocation(open_elf(path), str(path))
        assert (stop is None) == known
        assert ("unrecognized" in _output("readelf", "-rW", path)) != known


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        (LoaderStop(StopKind.ISA_LEVEL, "/x.so"), "/x.so: CPU ISA level is lower than required"),
        (
            LoaderStop(StopKind.VERSION_NOT_FOUND, "/l.so", version="V"),
            "/l.so: version `V' not found (required by the executable)",
        ),
        (LoaderStop(StopKind.ASSERTION, "/x.so", detail="f.c: 1: g"), "Inconsistency detected by ld.so: f.c: 1: g"),
        (
            LoaderStop(StopKind.LIBRARY_NOT_FOUND, "", errno=2),
            "cannot open shared object file: No such file or directory",
        ),
    ],
)
def test_stops_without_a_fixture(stop: LoaderStop, words: str) -> None:
    """The messages are from sysdeps/x86/dl-prop.h, elf/dl-version.c, elf/dl-minimal.c and elf/dl-load.c of glibc."""
    assert stop.message == words
