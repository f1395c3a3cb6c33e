"""Reads what the index records from a torch wheel or directory. None of its code is run.

There are two steps, so that the result of the first can be stored: `read_build` copies the contents of the libraries
(`RawBuild`), and `assemble` selects what the index records.
"""

from __future__ import annotations

import ast
import contextlib
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from abiscan.binary import open_binary
from abiscan.errors import AbiscanError, UnreadableFile
from abiscan.model.facts import SymbolBinding
from abiscan.model.platforms import file_key, other_platforms
from abiscan.ownership.torch_names import is_of_torch_folder, torch_stem
from abiscan.releases.build import Build, ExportKind, ReleaseExport
from abiscan.releases.omission import Omission, omission, recorded
from abiscan.releases.table import VtableWord
from abiscan.releases.writer import BuildExports

_SHARED = re.compile(r"\.(?:so(?:\.[\w.]+)?|dylib|dll)$")
# libtorch_cuda of 2.7 has 1.6 GiB; a member with a larger size than this is not a library.
_MAX_LIBRARY = 16 << 30
_CHUNK = 1 << 22
# If several libraries export a name, the one that the others depend on defines it.
_DEPENDENCY_ORDER = ("libc10", "libtorch_cpu", "libc10_cuda", "libtorch_cuda", "libtorch_python")
_OTHERS = frozenset(platform.key for platform in other_platforms())
_KINDS = {"func": ExportKind.FUNCTION, "ifunc": ExportKind.FUNCTION, "object": ExportKind.OBJECT, "tls": ExportKind.TLS}

# name, symbol type, binding, size in bytes, symbol version or ""
RawSymbol = tuple[str, str, str, int, str]
Progress = Callable[[str], None]


class RawLibrary(Struct, frozen=True):
    """Exports of one torch library; types and bindings as in `model.SymbolType`/`SymbolBinding`."""

    soname: str | None
    needed: tuple[str, ...]
    symbols: tuple[RawSymbol, ...]
    vtables: Mapping[str, tuple[VtableWord, ...]]


class RawBuild(Struct, frozen=True):
    """Contents of a wheel, archive or directory.

    Attributes:
        source: file name; sha256: of the file, None for a directory.
        version_text: content of torch/version.py, or of libtorch's build-version.
        libraries: torch's own, by path inside the source.
        others: file names and sonames of all other shipped libraries.
    """

    source: str
    sha256: str | None
    machine: str
    version_text: str
    libraries: Mapping[str, RawLibrary]
    others: tuple[str, ...]


def read_build(path: Path, progress: Progress = lambda line: None) -> RawBuild:
    """Read a torch wheel, a libtorch archive, or a directory with torch or libtorch.

    Args:
        progress: called with the name of each library before it is read.

    Raises:
        AbiscanError: it is none of these, or one of its libraries cannot be read.
    """
    if path.is_dir():
        return _read(path.name, None, _directory(path), progress, str(path))
    if not path.is_file():
        raise AbiscanError(f"{path}: no such file or directory")
    if not zipfile.is_zipfile(path):
        raise UnreadableFile(str(path), "neither a wheel or libtorch archive (zip) nor a directory")
    with zipfile.ZipFile(path) as archive:
        try:
            return _read(path.name, _sha256(path), _archive(archive), progress, str(path))
        except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError) as error:
            raise UnreadableFile(str(path), f"corrupt archive: {error}; fetch it again") from error


class _Member(Struct, frozen=True):
    path: str
    size: int
    open: Callable[[], BinaryIO]
    on_disk: Path | None


def _read(name: str, sha256: str | None, members: list[_Member], progress: Progress, shown: str) -> RawBuild:
    version = next((m for m in members if re.search(r"(?:^|/)(?:torch/version\.py|build-version)$", m.path)), None)
    if version is None:
        version = next((m for m in members if m.path == "version.py"), None)
    libraries: dict[str, RawLibrary] = {}
    others: list[str] = []
    machines: set[str] = set()
    for member in members:
        base = member.path.rsplit("/", 1)[-1]
        if not _SHARED.search(base):
            continue
        if not is_of_torch_folder(base):
            # Other libraries are recorded only by name, as is torch/_C*.so, whose only export is an entry point.
            others.append(base)
            continue
        progress(base)
        with _on_disk(member, shown) as file:
            binary = open_binary(file, f"{shown}!{member.path}")
            exports = [export for export in binary.exports() if not export.hidden_version]
            machines.add(binary.machine)
            libraries[member.path] = RawLibrary(
                # An install name of macOS contains a directory (`@rpath/libc10.dylib`).
                soname=binary.soname and file_key(binary.soname),
                needed=tuple(map(file_key, binary.needed)) if binary.machine in _OTHERS else binary.needed,
                symbols=tuple((e.name, e.type.value, e.binding.value, e.size, e.version or "") for e in exports),
                vtables=binary.vtables([e for e in exports if e.name.startswith("_ZTV")]),
            )
    if not any(torch_stem(path) == "libc10" for path in libraries):
        raise UnreadableFile(shown, "no torch in it: libc10.so, c10.dll or libc10.dylib is missing")
    if version is None:
        raise UnreadableFile(shown, "no torch in it: neither torch/version.py nor build-version exists")
    if len(machines) != 1:
        raise UnreadableFile(shown, f"libraries of several architectures: {', '.join(sorted(machines))}")
    with version.open() as stream:
        text = stream.read(1 << 16).decode("utf-8", "replace")
    return RawBuild(name, sha256, machines.pop(), text, libraries, tuple(sorted(others)))


def _archive(archive: zipfile.ZipFile) -> list[_Member]:
    def member(info: zipfile.ZipInfo) -> _Member:
        return _Member(info.filename, info.file_size, lambda: archive.open(info), None)  # type: ignore[arg-type,return-value]

    return [member(info) for info in archive.infolist() if not info.is_dir()]


def _directory(root: Path) -> list[_Member]:
    """Members of a site-packages directory with torch in it, of torch itself, or of an unpacked libtorch."""
    base = root / "torch" if (root / "torch" / "version.py").is_file() else root
    files = [base / "version.py", base / "build-version", *sorted((base / "lib").glob("*"))]
    return [_file(f"torch/{file.relative_to(base).as_posix()}", file) for file in files if file.is_file()]


def _file(name: str, file: Path) -> _Member:
    return _Member(name, file.stat().st_size, lambda: file.open("rb"), file)


@contextlib.contextmanager
def _on_disk(member: _Member, shown: str) -> Iterator[Path]:
    """A file that can be mapped; a member of an archive is unpacked to a temporary file."""
    if member.on_disk is not None:
        yield member.on_disk
        return
    if member.size > _MAX_LIBRARY:
        raise UnreadableFile(shown, f"{member.path} declares {member.size} bytes, more than any library has")
    with tempfile.NamedTemporaryFile(prefix="abiscan-", suffix=".so") as target:
        left = member.size
        with member.open() as source:
            while left > 0 and (data := source.read(min(_CHUNK, left))):
                target.write(data)
                left -= len(data)
        target.flush()
        yield Path(target.name)


def _sha256(path: Path) -> str:
    import hashlib

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# --- what the index records ---------------------------------------------------------------------------------------


def assemble(raw: RawBuild) -> BuildExports:
    """Apply the omission rule and combine the libraries of a build."""
    by_name: dict[str, list[tuple[str, str, str, int]]] = {}
    omitted: dict[Omission, set[str]] = {}
    ordered = sorted(raw.libraries.items(), key=lambda item: _dependency_rank(_soname(*item)))
    for path, library in ordered:
        soname = _soname(path, library)
        for name, kind, binding, size, _version in library.symbols:
            reason = omission(name)
            if recorded(name):
                by_name.setdefault(name, []).append((soname, kind, binding, size))
            elif reason is not None:
                omitted.setdefault(reason, set()).add(name)
    shared: dict[ReleaseExport, ReleaseExport] = {}
    exports = {}
    for name, entries in by_name.items():
        export = _export(entries)
        exports[name] = shared.setdefault(export, export)
    vtables = {
        name: words
        for path, library in ordered
        for name, words in library.vtables.items()
        if name in exports and exports[name].library == _soname(path, library)
    }
    counts = {reason.value: len(names) for reason, names in omitted.items()}
    return BuildExports(_build(raw, exports), exports, vtables, counts)


def _export(entries: list[tuple[str, str, str, int]]) -> ReleaseExport:
    # Strong definitions first, then dependencies before dependents.
    strong = [entry for entry in entries if entry[2] == SymbolBinding.GLOBAL]
    ordered = strong + [entry for entry in entries if entry[2] != SymbolBinding.GLOBAL]
    kind = _KINDS.get(ordered[0][1], ExportKind.OTHER)
    return ReleaseExport(
        libraries=tuple(dict.fromkeys(entry[0] for entry in ordered)),
        kind=kind,
        size=ordered[0][3] if kind in (ExportKind.OBJECT, ExportKind.TLS) else None,
        weak=not strong,
    )


def _soname(path: str, library: RawLibrary) -> str:
    return library.soname or path.rsplit("/", 1)[-1]


def _dependency_rank(soname: str) -> tuple[int, str]:
    stem = torch_stem(soname)
    return (_DEPENDENCY_ORDER.index(stem) if stem in _DEPENDENCY_ORDER else len(_DEPENDENCY_ORDER), soname)


def _build(raw: RawBuild, exports: Mapping[str, ReleaseExport]) -> Build:
    version, cuda, hip, revision = _version_facts(raw)
    public, _, label = version.partition("+")
    # Up to 1.2 version.py has the third number of the toolkit version too: 10.0.130.
    toolkit = "".join(cuda.split(".")[:2]) if cuda else ""
    variant = label.replace("-", ".") or (f"cu{toolkit}" if toolkit else f"rocm{hip}" if hip else "cpu")
    tags = raw.source[:-4].split("-")[-3:] if raw.source.endswith(".whl") else []
    sonames = {_soname(path, library) for path, library in raw.libraries.items()} | set(raw.others)
    return Build(
        key=f"{public}+{variant}-{raw.machine}",
        torch=public,
        variant=variant,
        machine=raw.machine,
        cuda=cuda,
        hip=hip,
        git_revision=revision,
        cxx11_abi=_cxx11_abi(exports),
        wheel=raw.source,
        sha256=raw.sha256,
        python=tags[0] if len(tags) == 3 else None,
        libraries=tuple(sorted(sonames)),
        brings=tuple(sorted({need for library in raw.libraries.values() for need in library.needed} - sonames)),
    )


def _version_facts(raw: RawBuild) -> tuple[str, str | None, str | None, str | None]:
    """(version, cuda, hip, revision) from torch/version.py, which assigns literals, or from libtorch's
    build-version."""
    text = raw.version_text.strip()
    values: dict[str, object] = {}
    if re.fullmatch(r"[\w.+-]+", text):
        values["__version__"] = text
    else:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            for node in ast.parse(text).body:
                target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
                value = getattr(node, "value", None)
                if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                    values[target.id] = value.value
    version = values.get("__version__")
    if not isinstance(version, str) or not version:
        raise UnreadableFile(raw.source, "its version.py has no __version__")

    def field(name: str) -> str | None:
        value = values.get(name)
        return value if isinstance(value, str) and value else None

    return version, field("cuda"), field("hip"), field("git_version")


def _cxx11_abi(exports: Mapping[str, ReleaseExport]) -> bool | None:
    """The std::string ABI of libc10: the abi tag `__cxx11` in names of its strong functions, or `Ss`, the abbreviation
    of the std::string without it (Itanium C++ ABI 5.1.8)."""
    new = old = 0
    for name, export in exports.items():
        if not export.weak and export.library == "libc10.so" and name.startswith("_ZN"):
            new += "NSt7__cxx1112basic_string" in name
            old += bool(re.search(r"(?:RK|[EPRO])Ss", name))
    return None if new == old else new > old
