"""Kinds of inputs: functions that make one and read it with abiscan. Every exception that is not meant for users is a
finding."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz.explain_kind import explain_kind
from tests.fuzz.foreign_kind import macho_kind, pe_kind
from tests.fuzz.metadata_kind import metadata_kind
from tests.fuzz.mutate import EDGES, mutate_bytes, mutate_elf, mutate_text
from tests.fuzz.sources_kind import sources_kind
from tests.fuzz.tar_kind import tar_kind

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
MICROSOFT_NAMES = Path(__file__).resolve().parents[1] / "mangling" / "compiled" / "microsoft.txt"
DIAGNOSIS = Path(__file__).resolve().parents[1] / "diagnosis" / "data"


class Kind(NamedTuple):
    """A kind of inputs.

    Attributes:
        make: a generator of random numbers -> an input.
        run: reads one.
    """

    make: Callable[[Random], bytes]
    run: Callable[[bytes], None]


def _small(pattern: str, most: int = 40_000) -> list[bytes]:
    return [p.read_bytes() for p in sorted(FIXTURES.glob(pattern)) if p.is_file() and p.stat().st_size <= most]


def _seeds(directory: str | None) -> list[bytes]:
    """The shared objects that mutations start from: the fixtures, and those of a given directory."""
    found = [data for data in _small("*.so") if data[4:6] == b"\2\1"]
    for path in sorted(Path(directory).rglob("*")) if directory is not None else ():
        if path.is_file() and path.stat().st_size <= 4 << 20:
            data = path.read_bytes()
            if data[:6] == b"\x7fELF\2\1":
                found.append(data)
    return found


# --- ELF files, archives -----------------------------------------------------------------------------------------


class _Scan:
    """Scans a file like the command, against a release, and renders the report; one context is reused."""

    def __init__(self, directory: str) -> None:
        from abiscan.analysis.context import AnalysisContext
        from abiscan.analysis.scan_options import ScanOptions
        from abiscan.loader import LoaderSettings

        self._directory = directory
        options = ScanOptions(torch="2.9.0", environment=None, settings=LoaderSettings(cwd=directory), matrix=True)
        self._context = AnalysisContext(options)
        self._number = 0

    def __call__(self, data: bytes, name: str) -> None:
        from abiscan import report as formats
        from abiscan.analysis.batches import Batch
        from abiscan.analysis.merge import finish_containers, merge
        from abiscan.analysis.scan_batch import scan_batch
        from abiscan.gate.apply import apply
        from abiscan.gate.policy import Policy

        self._number += 1
        path = os.path.join(self._directory, f"{self._number}-{name}")
        with open(path, "wb") as file:
            file.write(data)
        try:
            found = scan_batch(Batch((path,)), self._context)
            report = apply(
                merge(finish_containers(found, self._context.known_versions), self._context.rule_infos), Policy()
            )
            json.loads(formats.render("json", report))
            others = [each for each in formats.FORMATS if each != "json"]
            formats.render(others[self._number % len(others)], report).encode("utf-8", "backslashreplace")
        finally:
            os.unlink(path)


def _elf(seeds: list[bytes], scan: _Scan) -> Kind:
    def make(rng: Random) -> bytes:
        seed = rng.choice(seeds)
        return mutate_elf(seed, rng) if rng.random() < 0.9 else mutate_bytes(seed, rng)

    return Kind(make, lambda data: scan(data, "fuzz.so"))


def _members(seed: bytes, rng: Random) -> dict[str, bytes]:
    metadata = (
        "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: torch>=2.4,<2.6\nRequires-Python: >=3.9\n\n"
    )
    wheel = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_17_x86_64\n"
    words = ("\n", ":", "torch", "==", ">=", ";", "extra", "[", "]", "*", "!", "1e9", "\0", "Tag: ", "Requires-Dist: ")
    if rng.random() < 0.5:
        metadata = mutate_text(metadata, rng, words)
    if rng.random() < 0.3:
        wheel = mutate_text(wheel, rng, words)
    encoded = (text.encode("utf-8", "surrogateescape") for text in (metadata, wheel))
    return {
        rng.choice(("demo/_C.so", "demo/../_C.so", "/demo/_C.so", "demo/_C.so\0.txt", "demo/\x9b.so")): seed,
        **dict(zip(("demo-1.0.dist-info/METADATA", "demo-1.0.dist-info/WHEEL"), encoded, strict=True)),
        "demo/kernel.py": b"import triton\n@triton.jit\ndef f(): pass\n",
    }


def _zip(members: dict[str, bytes], rng: Random) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = rng.choice((0o100644, 0o100755, 0o120777, 0o040755, 0o010644)) << 16
            archive.writestr(info, content, archive.compression)
    return buffer.getvalue()


def _tar(members: dict[str, bytes], rng: Random) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name.replace("\0", ""))
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
            if rng.random() < 0.2:
                link = tarfile.TarInfo(f"{info.name}.link")
                link.type, link.linkname = rng.choice((tarfile.SYMTYPE, tarfile.LNKTYPE)), rng.choice((name, "..", "x"))
                link.linkname = link.linkname.replace("\0", "")
                archive.addfile(link)
    data = buffer.getvalue()
    if rng.random() < 0.3:
        data = mutate_bytes(data, rng)
    return rng.choice((bytes, gzip.compress, lzma.compress))(data)


def _archives(seeds: list[bytes], scan: _Scan) -> Kind:
    small = [seed for seed in seeds if len(seed) < 8000]

    def make(rng: Random) -> bytes:
        members = _members(rng.choice(small), rng)
        data = rng.choice((_zip, _zip, _tar))(members, rng)
        if rng.random() < 0.15:
            data = _zip({"inner.whl": data, "a.conda": data}, rng)
        return mutate_bytes(data, rng) if rng.random() < 0.7 else data

    return Kind(make, lambda data: scan(data, "demo-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"))


# --- texts -------------------------------------------------------------------------------------------------------

_NAME_TOKENS = (
    *("_Z", "N", "E", "S_", "S0_", "S1_", "St", "Sa", "Ss", "T_", "T0_", "I", "J", "L", "X", "P", "R", "K", "O", "D0"),
    *("D1", "C1", "C2", "v", "i", "l", "f", "d", "b", "Tn", "TL", "sr", "St3", "Dp", "Dn", "DT", "cv", "1a"),
    *("3foo", "99"),
)


_MICROSOFT_WORDS = (
    "? ?? @ @@ $ ?$ $$ $0 $1 $$Q $$V $$B $$C $$A6 P6 P8 Q6 AX XZ @Z QEA QEB AEA AEB PEA UEBA YA SA 0 1 9 3 4 A B X H M"
    " _J _N V U W4 ?0 ?1 ?B ?R ?_7 ?_R0 ?A0x1@ ?1? Y02 A@ E foo@ at@"
)
_MICROSOFT_TOKENS = tuple(_MICROSOFT_WORDS.split(" "))


def _cases() -> list[str]:
    rows = [json.loads(line) for line in (DIAGNOSIS / "reported_cases.jsonl").read_text("utf-8").splitlines()]
    return [row["symbol"] for row in rows if row.get("symbol")]


def _names() -> Kind:
    from abiscan.mangling import Demangler, classify, parse
    from abiscan.mangling.compare import differences, search_prefixes
    from abiscan.mangling.parser.cursor import NameSyntaxError

    seeds = [name for name in _cases() if name.startswith("_Z")] or ["_ZN2at5emptyEv"]
    microsoft = MICROSOFT_NAMES.read_text("utf-8").splitlines()

    def make(rng: Random) -> bytes:
        mark, names, tokens = ("_Z", seeds, _NAME_TOKENS) if rng.random() < 0.6 else ("?", microsoft, _MICROSOFT_TOKENS)
        text = mutate_text(rng.choice(names), rng, tokens)
        if rng.random() < 0.1:
            text = mark + "".join(rng.choice(tokens) for _ in range(rng.choice((4, 40, 4000))))
        return text.encode("utf-8", "surrogateescape" if "\udc80" in text else "replace")

    def run(data: bytes) -> None:
        name = data.decode("utf-8", "surrogateescape")
        classify(name)
        Demangler().demangle(name)
        try:
            parsed = parse(name)
        except NameSyntaxError:
            return
        names = microsoft if name.startswith("?") else seeds
        other = parse(names[len(data) % len(names)])
        if parsed is not None:
            search_prefixes(parsed)
            if other is not None:
                differences(parsed, other)

    return Kind(make, run)


_ENTRY = {
    "fingerprint": "0" * 32,
    "rule": "const-data-ptr",
    "severity": "error",
    "symbol": "_ZN2at5emptyEv",
    "artifact": "a.so",
    "container": None,
    "message": "text",
    "count": 2,
}
_BASELINE = {"abiscan_baseline": 1, "target": "2.9.0+cpu", "entries": [_ENTRY, _ENTRY]}


def _baselines() -> Kind:
    from abiscan.gate.baseline import read_baseline

    words = ("{", "}", "[", "]", '"', ":", ",", "null", "1e999", "-1", '"entries"', '"rule"', "\\ud800", "true")
    seed = json.dumps(_BASELINE, indent=1)

    def make(rng: Random) -> bytes:
        return _changed(seed, rng, words)

    return Kind(make, lambda data: void(read_baseline(data.decode("utf-8", "replace"), "baseline.json")))


def _changed(seed: str, rng: Random, words: tuple[str, ...]) -> bytes:
    """A text of a strict grammar: sometimes only one value changes."""
    if rng.random() < 0.5:
        old = rng.choice(("note", "error", "0", "1", "2", "null", "2.9.0", "warning", "text", "a.so", "2030", ">=2.4"))
        new = rng.choice(
            (str(1 << 70), "-1", "0.5", "x" * 5000, "\\u0000", "\x9b", "9" * 5000, "[" * 3000, "[]", "*" * 300)
        )
        return seed.replace(old, new, rng.choice((1, -1))).encode("utf-8", "replace")
    return mutate_text(seed, rng, words).encode("utf-8", "replace")


def _configs() -> Kind:
    from abiscan.gate.config import load_config

    seed = (
        'fail-on = "warning"\nbaseline = "b.json"\nrequire-torch = ">=2.4,<2.9"\n[severity]\nconst-data-ptr = "note"\n'
        '[[ignore]]\nrule = "const-data-ptr"\npath = "a/*.so"\nreason = "known"\nexpires = 2030-01-01\n'
    )
    words = ("[", "]", "[[", "{", "}", "=", '"', "'''", "\n", ".", "1e9", "nan", "0x", "2030-01-01", "a.", "[a.b]", "*")

    def make(rng: Random) -> bytes:
        return _changed(seed, rng, words)

    run = lambda data: void(load_config(data.decode("utf-8", "replace"), "abiscan.toml", {"const-data-ptr"}))  # noqa: E731
    return Kind(make, run)


# --- tables of our own, device code, debug information ------------------------------------------------------------


def _indexes(directory: str) -> Kind:
    from abiscan.releases.index import SHIPPED, ReleaseIndex
    from abiscan.releases.table import ReleaseTable

    whole = Path(SHIPPED).read_bytes()
    path = os.path.join(directory, "fuzz.idx")
    names = [name.encode() for name in _cases()[:20]]

    def make(rng: Random) -> bytes:
        out = bytearray(whole)
        # The header and the directory of blocks are at the start; compressed data has checksums.
        for _ in range(rng.choice((1, 2, 8))):
            out[rng.randrange(4096 if rng.random() < 0.7 else len(out))] = rng.randrange(256)
        return bytes(out[: rng.randrange(len(out))] if rng.random() < 0.1 else out)

    def run(data: bytes) -> None:
        with open(path, "wb") as file:
            file.write(data)
        table = ReleaseTable(path, user=True)
        found = table.find(names)
        for number in found.values():
            table.record(number)
        table.with_prefix(b"_ZN2at", 5)
        ReleaseIndex([table]).builds("x86_64")

    return Kind(make, run)


def _caches() -> Kind:
    from abiscan.loader.ld_so_cache import LibraryCache

    names = [b"libc.so.6", b"libm.so.6", b"libdep.so"]
    paths = [b"/lib/" + name for name in names]
    strings = b"".join(text + b"\0" for pair in zip(names, paths, strict=True) for text in pair)
    head = b"glibc-ld.so.cache1.1" + struct.pack("<II", len(names), len(strings)) + bytes(20)
    at, rows = 48 + 24 * len(names), b""
    for name, path in zip(names, paths, strict=True):
        rows += struct.pack("<iIIIQ", 0x0303, at, at + len(name) + 1, 0, 0)
        at += len(name) + len(path) + 2
    seed = head + rows + strings

    def run(data: bytes) -> None:
        cache = LibraryCache(data, 0x0303, ("x86-64-v3",), legacy=True)
        for name in names:
            cache.lookup(name.decode())

    return Kind(lambda rng: mutate_bytes(seed, rng), run)


def _with_section(name: bytes, content: bytes) -> bytes:
    """A small ELF file with one section of this name."""
    base = (FIXTURES / "empty-library.so").read_bytes()
    names = b"\0" + name + b"\0.shstrtab\0"
    at = len(base)
    body = base + content + names
    table = len(body) + -len(body) % 8
    rows = bytes(64)
    rows += struct.pack("<IIQQQQIIQQ", 1, 1, 0, 0, at, len(content), 0, 0, 1, 0)
    rows += struct.pack("<IIQQQQIIQQ", 2 + len(name), 3, 0, 0, at + len(content), len(names), 0, 0, 1, 0)
    out = bytearray(body + bytes(-len(body) % 8) + rows)
    struct.pack_into("<Q", out, 40, table)
    struct.pack_into("<HHH", out, 58, 64, 3, 2)
    return bytes(out)


def _device_code() -> Kind:
    from abiscan.elf import read_elf

    def entry(kind: int, size: int, sm: int) -> bytes:
        return struct.pack("<HHIQ", kind, 0x101, 64, size) + bytes(12) + struct.pack("<I", sm) + bytes(32) + bytes(size)

    def container(rng: Random) -> bytes:
        payload = b"".join(
            entry(rng.choice((1, 2)), rng.choice((0, 16, 64)), rng.choice((70, 90, 120))) for _ in range(3)
        )
        return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(payload)) + payload

    def bundle(rng: Random) -> bytes:
        triples = [
            b"hipv4-amdgcn-amd-amdhsa--gfx942",
            b"host-x86_64-unknown-linux--",
            b"hipv4-amdgcn-amd-amdhsa--gfx90a",
        ]
        rows = b"".join(struct.pack("<QQQ", 4096, rng.choice(EDGES), len(t)) + t for t in triples)
        return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(triples)) + rows

    def make(rng: Random) -> bytes:
        cuda = rng.random() < 0.6
        content = b"".join((container if cuda else bundle)(rng) for _ in range(rng.choice((1, 3, 40))))
        content = mutate_bytes(content, rng)
        data = _with_section(b".nv_fatbin" if cuda else b".hip_fatbin", content)
        return mutate_bytes(data, rng) if rng.random() < 0.2 else data

    return Kind(make, lambda data: void(read_elf(data, "fuzz.so").device_images()))


def _debug_lines() -> Kind:
    from abiscan.elf import read_elf
    from abiscan.elf.source_lines import source_lines

    # A line program of DWARF 4 (section 6.2) that sets an address and a few lines; with its unit.
    program = b"\0\x09\x02" + struct.pack("<Q", 0x1000) + b"\x03\x0a\x01\x21\x2f\x02\x10\0\x01\x01"
    tables = b"\1\1\1\1\0\0\0\1\0\0\1" + b"\0" + b"a.cpp\0\0\0\0\0"
    header = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + tables
    line = struct.pack("<IHI", 6 + len(header) + len(program), 4, len(header)) + header + program
    abbrev = b"\x01\x11\0\x10\x17\x11\x01\x12\x07\0\0\0"
    unit = struct.pack("<HIB", 4, 0, 8) + b"\x01" + struct.pack("<IQQ", 0, 0x1000, 0x100)
    info = struct.pack("<I", len(unit)) + unit

    def make(rng: Random) -> bytes:
        parts = [(b".debug_info", info), (b".debug_abbrev", abbrev), (b".debug_line", line)]
        which = rng.randrange(3)
        parts = [(name, mutate_bytes(data, rng) if at == which else data) for at, (name, data) in enumerate(parts)]
        return _with_sections(parts)

    return Kind(make, lambda data: void(source_lines(read_elf(data, "fuzz.so"), [0x1000, 0x1001, 0x1010])))


def _debug_types() -> Kind:
    from abiscan.elf import read_elf
    from abiscan.elf.sections import section

    whole = read_elf((FIXTURES / "drift" / "sized-torch-2.8.so").read_bytes(), "sized.so")
    names = (b".debug_info", b".debug_abbrev", b".debug_str")
    places = [section(whole.image, name) for name in names]
    data = [bytes(whole.buffer[at : at + size]) for at, size in (place or (0, 0) for place in places)]
    # The first 4,000 bytes of entries use every abbreviation.
    small = struct.pack("<I", 4000) + data[0][4:4004]
    wanted = {"c10::MessageLogger", "c10::SourceLocation", "c10::MessageLogger::Inner"}

    def make(rng: Random) -> bytes:
        parts = [small if rng.random() < 0.7 else data[0], *data[1:]]
        at = rng.choice((0, 0, 1))
        parts[at] = mutate_bytes(parts[at], rng)
        return _with_sections(list(zip(names, parts, strict=True)))

    def read(data: bytes) -> None:
        elf = read_elf(data, "fuzz.so")
        void((elf.record_sizes(wanted), elf.record_holders(wanted, ("std::",))))

    return Kind(make, read)


def _with_sections(parts: list[tuple[bytes, bytes]]) -> bytes:
    base = (FIXTURES / "empty-library.so").read_bytes()
    names, body, rows = b"\0", base, bytes(64)
    for name, content in parts:
        rows += struct.pack("<IIQQQQIIQQ", len(names), 1, 0, 0, len(body), len(content), 0, 0, 1, 0)
        names, body = names + name + b"\0", body + content
    rows += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, len(body), len(names), 0, 0, 1, 0)
    body += names
    out = bytearray(body + bytes(-len(body) % 8) + rows)
    struct.pack_into("<Q", out, 40, len(out) - len(rows))
    struct.pack_into("<HHH", out, 58, 64, len(parts) + 2, len(parts) + 1)
    return bytes(out)


def void(_value: object) -> None:
    """Ignore the result."""


KINDS = (
    *("elf", "archives", "names", "explain", "metadata", "tars", "baselines", "configs", "index", "caches", "sources"),
    *("fatbin", "dwarf", "types", "pe", "macho"),
)


def kind_of(name: str, seeds: str | None) -> Kind:
    """A kind by its name, ready to run in this process."""
    directory = tempfile.mkdtemp(prefix="abiscan-fuzz-")
    match name:
        case "elf":
            return _elf(_seeds(seeds), _Scan(directory))
        case "archives":
            return _archives(_seeds(None), _Scan(directory))
        case "names":
            return _names()
        case "explain":
            return Kind(*explain_kind())
        case "metadata":
            return Kind(*metadata_kind(directory))
        case "tars":
            return Kind(*tar_kind([seed for seed in _seeds(None) if len(seed) < 8000], directory))
        case "baselines":
            return _baselines()
        case "configs":
            return _configs()
        case "index":
            return _indexes(directory)
        case "caches":
            return _caches()
        case "sources":
            return Kind(*sources_kind())
        case "fatbin":
            return _device_code()
        case "dwarf":
            return _debug_lines()
        case "types":
            return _debug_types()
        case "pe":
            return Kind(*pe_kind())
        case "macho":
            return Kind(*macho_kind())
    raise ValueError(f"no kind is called {name!r}; there are {', '.join(KINDS)}")
