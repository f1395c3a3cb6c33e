"""Messages of dynamic loaders: glibc, musl, FreeBSD's, Android's; and of Python that called them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from abiscan.diagnosis.messages import name_tokens
from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.message_paths import file_in_parentheses, is_file, path_before
from abiscan.diagnosis.messages.message_text import Hit
from abiscan.diagnosis.messages.name_tokens import NameToken, ends_clause, is_plain_word, read_name
from abiscan.model.finding import Location

_LOOKUP_ERROR = re.compile(r"(?:(?<=\s)error: )?symbol lookup error: {0,4}$")
_RELOCATION = "relocation truncated to fit"
# What stands for a name where there is none: `undefined symbol: %s` in a program's source.
_PLACEHOLDERS = frozenset(("", "_", "X", "NAME", "SYMBOL", "symbol", "symbols"))


def undefined_symbol(hit: Hit) -> Iterator[Mention]:
    """glibc: `FILE: undefined symbol: NAME, version LIBRARY`, under LD_DEBUG with ` (fatal)`; `ldd -r`: `undefined
    symbol: NAME\\t(FILE)`; lld: demangled, then `>>> referenced by`."""
    rest = hit.rest.removeprefix("s").removeprefix("S")
    if _RELOCATION in hit.before:
        return  # of what is linked in two places that lie too far apart: nothing is missing
    undecorated = name_tokens.msvc_name(rest) if "lld-link" in hit.before else None
    if undecorated is not None:
        yield Mention(Complaint.SYMBOL, undecorated, hit.at, by_linker=True, msvc=True)
        return
    token = _name(rest, after_colon=rest.lstrip(" `*\"'")[:1] in (":", "\uff1a"))
    behind = hit.following(3)
    if token is None and not rest.strip(" :\uff1a'\"`>|*"):
        rest, _, behind = behind.lstrip("\n> \t|#").partition("\n")
        token = _name(rest, after_colon=True)
    if token is None:
        return
    if rest.rstrip().endswith(token.name):
        token = name_tokens.mended(token, behind)
    # LD_DEBUG prints what a program dies of as well: `PID:\tFILE: error: symbol lookup error: `.
    before = _LOOKUP_ERROR.sub("", hit.before)
    linker = "lld" in before or before.rstrip().endswith("error:")
    location = _referenced_by(hit.following(2)) if linker else None
    needed_by = None if linker else path_before(before) or file_in_parentheses(rest)
    yield Mention(
        Complaint.SYMBOL,
        token.name,
        hit.at,
        library=token.library,
        version=token.version,
        needed_by=needed_by,
        location=location,
        by_linker=linker,
        cut_off=token.is_cut_off(rest),
        before_torch=needed_by is not None and _before_torch(hit, needed_by),
    )


# What a prompt of Python or IPython, or a command line, was told.
_TOLD = re.compile(r"(?:>>> |In \[\d{1,4}\]: |-c ['\"])([^\n]{1,256})")
_IMPORTS = re.compile(r"\s{0,4}(?:import|from) ([A-Za-z_]\w{0,127})")


def _before_torch(hit: Hit, needed_by: str) -> bool:
    """Whether a prompt above shows the module itself imported, and nothing of torch before it."""
    told = _TOLD.findall(hit.preceding(24))
    imported = _IMPORTS.match(told[-1]) if told else None
    module = needed_by.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    return imported is not None and imported[1] == module and not any("torch" in line for line in told)


def _name(text: str, *, after_colon: bool) -> NameToken | None:
    """The name behind a message's words, unless it is a word of the sentence."""
    token = read_name(text)
    if token is None or token.name in _PLACEHOLDERS:
        return None
    if token.quoted or not is_plain_word(token.name):
        return token
    return token if after_colon and ends_clause(text, token.end) else None


def _referenced_by(text: str) -> Location | None:
    at = text.find(">>> referenced by ")
    if at < 0:
        return None
    file, _, line = text[at + 18 :].split("\n", 1)[0].split(" ", 1)[0].partition(":")
    return Location(file=file, line=int(line) if line.isdigit() else None)


def chinese_symbol(hit: Hit) -> Iterator[Mention]:
    """Chinese translations of `undefined symbol` and `symbol not found`, the name behind them."""
    token = _name(hit.rest, after_colon=True)
    if token is not None:
        yield Mention(
            Complaint.SYMBOL,
            token.name,
            hit.at,
            library=token.library,
            version=token.version,
            needed_by=path_before(hit.before),
        )


def link_time_reference(hit: Hit) -> Iterator[Mention]:
    """glibc: `FILE: symbol NAME, version VERSION not defined in file LIBRARY with link time reference`"""
    at = hit.before.rfind("symbol ")
    token = read_name(hit.before[at + 7 :]) if at >= 0 else None
    if token is None or token.version is None:
        return
    library = hit.rest.strip().split(" ", 1)[0].rstrip(",")
    yield Mention(
        Complaint.SYMBOL,
        token.name,
        hit.at,
        library=library or None,
        version=token.version,
        needed_by=path_before(hit.before[:at]),
    )


def relocation(hit: Hit) -> Iterator[Mention]:
    """`cannot apply R_X86_64_JUMP_SLOT ...`: the C++ name of the line, or what is called a symbol."""
    names = name_tokens.mangled_names(hit.line, 1)
    if names:
        yield Mention(Complaint.SYMBOL, names[0][1], hit.at, needed_by=path_before(hit.before))
        return
    at = hit.rest.find("symbol")
    token = _name(hit.rest[at + 6 :], after_colon=True) if at >= 0 else None
    if token is not None:
        yield Mention(Complaint.SYMBOL, token.name, hit.at, needed_by=path_before(hit.before))


def locate_symbol(hit: Hit) -> Iterator[Mention]:
    """Android: `cannot locate symbol "NAME" referenced by "FILE"...`; cuDNN: `Invalid handle. Cannot load symbol
    NAME`"""
    token = read_name(hit.rest)
    if token is not None and (token.quoted or not is_plain_word(token.name)):
        at = hit.rest.find("referenced by")
        file = name_tokens.first_quoted(hit.rest[at:]) if at >= 0 else None
        yield Mention(Complaint.SYMBOL, token.name, hit.at, needed_by=file)


# --- libraries ------------------------------------------------------------------------------------------------------

_LOADING = "error while loading shared libraries"
_DENIED = "Permission denied"
# glibc names a library that it did not find as it was asked for, one that it found with its folders: whatever language
# it speaks, only the former stands alone behind Python's exception.
_CUT_BEHIND = re.compile(r"lib[\w+.-]{1,200}\.so(?:\.[\w.]{1,40})?")
_ALONE = re.compile(r"(lib[\w+.-]{1,200}\.so(?:\.[\w.]{1,40})?): [^:\n]{3,200}: \S")


def cannot_open(hit: Hit) -> Iterator[Mention]:
    """`libX.so.1: cannot open shared object file: No such file or directory`"""
    before = hit.before.replace(" (deleted)", "")
    name = path_before(before) or _last_word(before)
    if not name:
        return
    if hit.rest.removeprefix("ared object file").startswith(f": {_DENIED}") and "/" in name:
        return
    # `PROGRAM: error while loading shared libraries: libX` names the program before.
    program, loading, _ = hit.before.partition(_LOADING)
    program = program.rstrip(" ").rpartition(" ")[2]
    needed_by = (program.strip("`'\":") if program.endswith(":") else "a program") if loading else None
    if "torch_extensions/" in name:
        return  # `cpp-extension-not-built` of the catalogue
    name = name.rsplit("/", 1)[-1]
    yield Mention(Complaint.LIBRARY, name, hit.at, needed_by=needed_by or None, by_torch=_torch_imported(hit))


_OF_TORCH = re.compile(r"[/\\]torch[/\\]__init__\.py[\"', ]")


def _torch_imported(hit: Hit) -> bool:
    """Whether the last frame of the traceback above is torch's own, or the last that a prompt was told is to import
    it."""
    frames = [line for line in hit.preceding(6).split("\n") if line.lstrip(" >|").startswith("File ")]
    if frames:
        return _OF_TORCH.search(frames[-1]) is not None
    told = _TOLD.findall(hit.preceding(3))
    return bool(told) and told[-1].strip(" '\"") == "import torch"


def _last_word(before: str) -> str | None:
    line = before.rstrip(" :\uff1a'\"`)")
    word = line.rpartition(" ")[2].lstrip("'\"`([\u201c\u2018\uff1a")
    return word.rpartition(":")[2] or None


def library_alone(hit: Hit) -> Iterator[Mention]:
    """`ImportError: libc10.so: Kann die Shared-Object-Datei nicht öffnen: Datei oder Verzeichnis nicht gefunden`"""
    said = hit.word.removeprefix("Error: ") + hit.rest[:512]
    cut = _CUT_BEHIND.fullmatch(said.rstrip(" '\"`."))
    if cut is not None:
        yield Mention(Complaint.LIBRARY, cut[0], hit.at, by_torch=_torch_imported(hit))
        return
    found = _ALONE.match(said)
    if found is not None and "symbol" not in found[0] and "static TLS" not in found[0]:
        yield Mention(Complaint.LIBRARY, found[1], hit.at, by_torch=_torch_imported(hit))


ANDROID_APP: Final = "/data/app/"


def android_library(hit: Hit) -> Iterator[Mention]:
    """Android: `dlopen failed: library "libx.so" not found: needed by FILE`, `couldn't find "libx.so"`"""
    lead = "lib" if hit.word.endswith('"lib') else ""
    name, closed, behind = hit.rest.partition('"')
    name = f"{lead}{name}".rsplit("/", 1)[-1]
    if closed and is_file(name) and (lead or behind.startswith(" not found")):
        needed_by = behind.partition(" needed by ")[2].partition(" in namespace")[0].strip()
        yield Mention(Complaint.LIBRARY, name, hit.at, needed_by=needed_by or ANDROID_APP)


# --- symbol versions ------------------------------------------------------------------------------------------------

_SYMBOL_VERSION = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]{2,127}")


def version_not_found(hit: Hit) -> Iterator[Mention]:
    """`FILE: version `GLIBCXX_3.4.32' not found (required by FILE)`"""
    at = hit.rest.find("not found")
    if not 0 <= at <= 160:
        return
    named = _SYMBOL_VERSION.search(hit.rest, 0, at)
    if named is None or ("_" not in named[0] and ".so" not in named[0]):
        return
    required = hit.rest.find("required by ")
    needed_by = hit.rest[required + 12 :].split(")", 1)[0].strip() if required >= 0 else None
    yield Mention(
        Complaint.SYMBOL_VERSION,
        named[0],
        hit.at,
        library=path_before(hit.before),
        version=named[0],
        needed_by=needed_by or None,
    )
