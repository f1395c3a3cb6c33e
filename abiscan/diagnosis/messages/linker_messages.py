"""Messages of link editors: GNU ld, gold, mold and lld, ld64, link.exe."""

from __future__ import annotations

import re
from collections.abc import Iterator

from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_paths import is_file
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.diagnosis.messages.name_tokens import first_quoted, is_plain_word, last_quoted, msvc_name, read_name
from abiscan.model.finding import Location

# ld64 lists all symbols of a link behind one headline.
_LIST_CHARACTERS = 262_144
_LIST_LINES = 10_000
_SOURCES = ("cpp", "cc", "cxx", "c", "cu", "cuh", "hip", "h", "hpp", "mm", "o", "a")
_LINE = re.compile(r":(\d{1,7})")
_SYMBOL = re.compile(r"(?:symbol|\u7b26\u53f7)\s")


def undefined_reference(hit: Hit) -> Iterator[Mention]:
    """GNU ld, gold, mold: `a.cpp:(.text+0x1): undefined reference to `NAME'`, `more undefined references to `NAME'
    follow`, `undefined reference to symbol 'NAME@@VERSION'`; in the linker's language, in some of which the name
    stands before."""
    rest = hit.rest.strip()
    symbol = _SYMBOL.match(rest)
    token = read_name(rest[symbol.end() :] if symbol is not None else rest)
    # Chinese, Japanese: the name stands before the words.
    before = last_quoted(hit.before) if token is None else None
    if before is not None:
        token = read_name(f"'{before}'") or token
    # Linkers quote the name; a word behind theirs is prose.
    if token is None or (not token.quoted and is_plain_word(token.name)):
        return
    yield Mention(
        Complaint.SYMBOL,
        token.name,
        hit.at,
        library=token.library,
        version=token.version,
        location=_source(hit.before),
        by_linker=True,
    )


def _source(before: str) -> Location | None:
    """`a.cpp:(.text+0x1)`, `a.cpp:12`, `libx.a(a.cpp.o):a.cpp:(.text+0x1)`: the first source or object of the line."""
    for word in re.split(r"[\s()]", before[-2_048:]):
        path, _, behind = word.partition(":")
        if path.rpartition(".")[2] in _SOURCES and "." in path:
            line = _LINE.match(f":{behind}") if behind else _LINE.match(before, before.find(word) + len(word))
            return Location(file=path, line=int(line[1]) if line is not None else None)
    return None


def undefined_symbols(hit: Hit) -> Iterator[Mention]:
    """ld64: `Undefined symbols for architecture arm64:`, then `  "NAME", referenced from:`"""
    text = hit.following(_LIST_LINES, _LIST_CHARACTERS)
    at = 0
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped.startswith('"') and '", referenced from:' in stripped:
            yield Mention(
                Complaint.SYMBOL, stripped[1:].partition('", referenced')[0], hit.at + at, by_linker=True, macos=True
            )
        at += len(line) + 1


def referenced_from(hit: Hit) -> Iterator[Mention]:
    """ld64, where the headline of the list was not pasted: `  "NAME", referenced from:`"""
    name = hit.before.strip().removeprefix('"')
    if name and '"' not in name:
        yield Mention(Complaint.SYMBOL, name, hit.at, by_linker=True, macos=True)


def unresolved_external(hit: Hit) -> Iterator[Mention]:
    """link.exe: `a.obj : error LNK2019: unresolved external symbol "..." (?f@@YAXXZ) referenced in function main`"""
    at = max(hit.rest.find("(?"), hit.rest.find("(__imp_"))
    token = read_name(hit.rest[at + 1 :] if at >= 0 else hit.rest)
    name = token.name if token is not None else None
    undecorated = msvc_name(hit.rest) if at < 0 else None
    name = undecorated or name
    if name is not None:
        # A pointer in the import table, of a function whose C name stands behind.
        name = name if "?" in name else name.removeprefix("__imp_")
        yield Mention(Complaint.SYMBOL, name, hit.at, by_linker=True, msvc=undecorated is not None)


def needed_by(hit: Hit) -> Iterator[Mention]:
    """ld: `warning: libcudart.so.11.0, needed by libtorch_cuda.so, not found (try using -rpath or -rpath-link)`"""
    name = hit.before.rpartition(" ")[2]
    file, comma, behind = hit.rest.strip().partition(",")
    if comma and behind.lstrip().startswith("not found") and is_file(name):
        yield Mention(Complaint.LIBRARY, name.rsplit("/", 1)[-1], hit.at, needed_by=file, by_linker=True)


def referenced_file(hit: Hit) -> Iterator[Mention]:
    """CMake: `The imported target "torch" references the file "/x/libtorch.so" but this file does not exist.`"""
    around = hit.rest + hit.following(4)
    name = first_quoted(around[:2_048])
    if name is not None and is_file(name) and "does not exist" in around[:4_096]:
        yield Mention(Complaint.LIBRARY, name.rsplit("/", 1)[-1], hit.at, by_linker=True)


def no_rule(hit: Hit) -> Iterator[Mention]:
    """ninja: `error: '/x/libamdhip64.so', needed by 'y.so', missing and no known rule to make it`"""
    name = first_quoted(hit.before.rpartition("error: ")[2])
    if name is not None and is_file(name):
        yield Mention(Complaint.LIBRARY, name.rsplit("/", 1)[-1], hit.at, by_linker=True)


_IMPORT_LIBRARY = re.compile(r"cannot open (?:input )?file '(?:[^'\n]{0,1024}\\)?([\w.+-]{1,200})\.lib'")


def cannot_open_import_library(hit: Hit) -> Iterator[Mention]:
    """link.exe: `LNK1181: cannot open input file 'torch_python.lib'`, `LNK1104: cannot open file 'python310.lib'`"""
    found = _IMPORT_LIBRARY.search(hit.word + hit.rest[:1_280])
    if found is not None:
        yield Mention(Complaint.LIBRARY, f"{found[1]}.lib", hit.at, by_linker=True)


_LINKED_BEFORE = re.compile(r"-l([\w+.-]{1,100})$")


def cannot_find_library_before(hit: Hit) -> Iterator[Mention]:
    """ld in German: `-lcudart kann nicht gefunden werden`"""
    found = _LINKED_BEFORE.search(hit.before[-128:])
    if found is not None:
        yield Mention(Complaint.LIBRARY, f"lib{found[1]}.so", hit.at, by_linker=True)


def cannot_find_library(hit: Hit) -> Iterator[Mention]:
    """ld: `cannot find -lc10`; ld64: `library not found for -lc10`, `library 'c10' not found`; lld: `unable to find
    library -lc10`; mold: `library not found: c10`"""
    name = re.split(r"[\s:'\"`)]", hit.rest[:512], maxsplit=1)[0].rstrip(".,")
    if hit.word.endswith("'") and "' not found" not in hit.rest[:512]:
        return
    # `CUDA::nvToolsExt` is a target of CMake.
    if name and not hit.rest.startswith(f"{name}::"):
        of_macos = hit.word.startswith(("library not found", "ld: library"))
        yield Mention(Complaint.LIBRARY, f"lib{name}.{'dylib' if of_macos else 'so'}", hit.at, by_linker=True)
