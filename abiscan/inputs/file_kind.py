"""Kind of a file: shared object, archive, source, or none of these. By content; the name only breaks ties. And names of
records of installed packages."""

from __future__ import annotations

import re

from abiscan.binary import peek
from abiscan.model.facts import BinaryKind
from abiscan.model.report import ArtifactKind

_SHARED_OBJECT_NAME = r"\.so(\.\d+)*$"
_OF_OTHER_SYSTEMS = (".pyd", ".dll", ".dylib")
_SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx", ".c++", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".hip", ".inl")
_ARCHIVE_SUFFIXES = (
    ".whl", ".conda", ".zip", ".egg", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst",
    ".pt2",
)  # fmt: skip
_TEXTS = (
    *(".py", ".pyi", ".pyc", ".pyx", ".pxd", ".pxi", ".ipynb", ".typed", ".txt", ".md", ".rst", ".json", ".jsonl"),
    *(".yaml", ".yml", ".toml", ".cfg", ".ini", ".xml", ".html", ".css", ".js", ".mjs", ".map", ".ts", ".csv", ".tsv"),
    *(".proto", ".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".def", ".c", ".cc", ".cpp", ".cxx", ".cu"),
    *(".hip", ".cmake", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".ico", ".woff", ".woff2", ".ttf", ".mo", ".po"),
    *(".f90", ".pem", ".sh", ".dist-info/RECORD", ".dist-info/LICENSE", ".dist-info/entry_points.txt"),
)
# Texts at the top of the Python files that torch.compile generates (torch/_inductor/codegen).
_GENERATED_MARKS = (b"torch._inductor", b"triton_heuristics", b"async_compile.triton", b"triton_meta")


def named_like_shared_object(name: str) -> bool:
    """Whether a name is `x.so`, `x.so.1`, `x.so.1.2`, `x.pyd`, `x.dll` or `x.dylib`."""
    if name.endswith(".so") or (".so." in name and re.search(_SHARED_OBJECT_NAME, name) is not None):
        return True
    return name[-6:].lower().endswith(_OF_OTHER_SYSTEMS)


def named_like_text(name: str) -> bool:
    """Whether a name has a suffix of files that no loader opens."""
    return name.lower().endswith(_TEXTS) or name.endswith(_TEXTS)


def named_like_archive(name: str) -> bool:
    """Whether a name has an archive suffix, for files that are not inputs themselves: many other files are zip files
    inside (.pt, .npz, .jar); .pt2 is a package of AOTInductor."""
    return name.lower().endswith(_ARCHIVE_SUFFIXES)


def named_like_zip(name: str) -> bool:
    """Whether a name has a suffix of archives whose members several processes can unpack in parallel."""
    return name.lower().endswith((".whl", ".zip"))


def archive_form(head: bytes) -> str | None:
    """`zip`, `tar`, or the stream codec of a possibly packed tar; None for other files. `head` has PEEK_SIZE bytes."""
    from abiscan.inputs.inflate import stream_codec
    from abiscan.inputs.zips import looks_like_zip

    if looks_like_zip(head):
        return "zip"
    if head[257:262] == b"ustar":  # POSIX.1-2017, pax, "ustar Interchange Format"
        return "tar"
    return stream_codec(head)


def shared_object_inside(head: bytes, name: str) -> bool:
    """Whether a file in a directory or archive is a shared object for a host. Executables, object files and device code
    have the same formats and are ignored unless they are named like shared objects."""
    kind = peek(head)
    return kind is BinaryKind.SHARED_OBJECT or (kind is not None and named_like_shared_object(name))


def source_suffix(name: str) -> bool:
    """Whether a name may be a source that rules check (then call `source_kind`)."""
    return name.lower().endswith((*_SOURCE_SUFFIXES, ".py"))


def source_kind(name: str, head: bytes) -> ArtifactKind | None:
    """C++/CUDA/HIP by suffix; Python only if torch.compile generated it, which the first kilobytes show."""
    lower = name.lower()
    if lower.endswith(_SOURCE_SUFFIXES):
        return ArtifactKind.SOURCE
    if lower.endswith(".py") and any(mark in head for mark in _GENERATED_MARKS):
        return ArtifactKind.GENERATED_KERNEL
    return None


def is_unsafe_name(name: str) -> bool:
    """Whether a name is absolute, or leads out of the archive."""
    return name.startswith(("/", "\\")) or name[1:3] in (":/", ":\\") or ".." in name.replace("\\", "/").split("/")


def is_binary(head: bytes) -> bool:
    """Whether it is a binary of any kind."""
    return peek(head) is not None


def name_of_record(entry: str) -> str:
    """`demo` of `demo-1.0.dist-info` and of `demo-1.0.egg-info`, which Debian's packages have; empty for other entries
    of a site directory, among them `demo.egg-info` of a source tree.

    https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """
    if entry.endswith(".egg-info"):
        name, separator, _version = entry.removesuffix(".egg-info").partition("-")
        return name if separator else ""
    return entry.removesuffix(".dist-info").rpartition("-")[0] if entry.endswith(".dist-info") else ""


def metadata_file(dist_info: str) -> str:
    """The file with the core metadata in a record of an installed package."""
    return "PKG-INFO" if dist_info.endswith(".egg-info") else "METADATA"
