"""A text -> the things that went wrong in it: error messages of loaders, linkers, compilers, Python, torch.compile.

Logs may be hundreds of megabytes, so a text is searched for the few literal words that each message has; only lines
around a hit are looked at closely, cut to a bounded length. Time is linear in the text; the number of mentions is
bounded.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from abiscan.model.finding import Location
from abiscan.model.subject import SubjectKind

# Distinct things one answer tells; a broken link step can name thousands, which one cause explains.
MAX_MENTIONS = 200
# Hits that are read closely, most of them repetitions of the same few.
_MAX_HITS = 5_000
# Characters behind a message's first words that tell one complaint from another.
_SAID = 1_024
# Characters of a line; mangled names beyond 4,096 are no compiler's.
_MAX_LINE = 16_384
# Lines around a hit in which its context stands: compilers' notes, Dynamo's explanation, a traceback's last frame; and
# characters, whatever the lines are like.
_CONTEXT = 12
_CONTEXT_CHARACTERS = 8_192
# ld64 lists all symbols of a link behind one headline.
_LIST_CHARACTERS = 262_144

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\r(?=\n)")

# Opening and closing quotation marks of compilers' and loaders' languages.
# ASCII; 6- and 9-shaped single and double; angle quotes, double and single; corner brackets.
_OPEN: Final = "'`\"\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u300c\u300e"
_CLOSE: Final = "'`\"\u2018\u2019\u201b\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u300d\u300f"
_QUOTED = re.compile(rf"[{_OPEN}]\s?([^{_CLOSE}\n]+?)\s?[{_CLOSE}]")


class Complaint(enum.Enum):
    """What a message says is wrong."""

    SYMBOL = enum.auto()
    """A name is not defined."""
    LIBRARY = enum.auto()
    """A library was not found."""
    SYMBOL_VERSION = enum.auto()
    """A library does not define a symbol version."""
    CUDA_OF_EXTENSION = enum.auto()
    """Torch and an extension were built with different CUDA releases."""
    CUDA_OF_TOOLKIT = enum.auto()
    """The CUDA toolkit that is to build an extension is of another release than torch's."""
    PYTHON_NAME = enum.auto()
    """A Python name is not defined."""
    SKIPPED_CALL = enum.auto()
    """torch.compile does not trace a function."""
    MISSING_OPERATOR = enum.auto()
    """Torch has no operator of a name."""
    NO_OVERLOAD = enum.auto()
    """A function does not take these arguments."""


_KINDS: Final = {
    Complaint.SYMBOL: SubjectKind.SYMBOL,
    Complaint.LIBRARY: SubjectKind.LIBRARY,
    Complaint.SYMBOL_VERSION: SubjectKind.VERSION,
    Complaint.CUDA_OF_EXTENSION: SubjectKind.VERSION,
    Complaint.CUDA_OF_TOOLKIT: SubjectKind.VERSION,
    Complaint.PYTHON_NAME: SubjectKind.PYTHON_NAME,
    Complaint.SKIPPED_CALL: SubjectKind.DYNAMO,
    Complaint.MISSING_OPERATOR: SubjectKind.DYNAMO,
    Complaint.NO_OVERLOAD: SubjectKind.COMPILE_ERROR,
}


class Mention(Struct, frozen=True):
    """One thing that a text complains of.

    Attributes:
        complaint: what is wrong with it.
        text: the name, library, version or message it is about; what makes it distinct.
        position: offset in the text, for the order.
        library: for a symbol, the library that its reference names; for a version, the library that lacks it.
        version: for a symbol, the version asked for.
        needed_by: the file that needs it, where the message tells.
        location: where in a source or a script.
        by_linker: a linker says so, not a loader.
        macos: a loader or linker of macOS says so.
        cuda_releases: that the message names, torch's first.
        context: the lines around, where types of arguments, files and kernels stand.
    """

    complaint: Complaint
    text: str
    position: int
    library: str | None = None
    version: str | None = None
    needed_by: str | None = None
    location: Location | None = None
    by_linker: bool = False
    macos: bool = False
    cuda_releases: tuple[str, ...] = ()
    context: str = ""

    @property
    def kind(self) -> SubjectKind:
        """As the report has it."""
        return _KINDS[self.complaint]


class _Hit(Struct, frozen=True):
    """Where a word was found: the whole text, and the bounds of its line."""

    text: str
    at: int
    start: int
    end: int
    word: str

    @property
    def line(self) -> str:
        return self.text[self.start : self.end]

    @property
    def before(self) -> str:
        """The part of the line that stands before the word."""
        return self.text[self.start : self.at]

    @property
    def rest(self) -> str:
        """The part of the line that stands behind the word."""
        return self.text[self.at + len(self.word) : self.end]

    def following(self, lines: int = _CONTEXT, characters: int = _CONTEXT_CHARACTERS) -> str:
        """The lines behind this one."""
        bound = min(len(self.text), self.end + characters)
        end = self.end
        for _ in range(lines):
            found = self.text.find("\n", end + 1, bound)
            if found < 0:
                return self.text[self.end : bound]
            end = found
        return self.text[self.end : end]

    def preceding(self, lines: int = _CONTEXT) -> str:
        """The lines before this one."""
        bound = max(0, self.start - _CONTEXT_CHARACTERS)
        start = self.start
        for _ in range(lines):
            found = self.text.rfind("\n", bound, start - 1) if start > bound else -1
            if found < 0:
                return self.text[bound : self.start]
            start = found + 1
        return self.text[start : self.start]


_Reader = Callable[[_Hit], Iterator[Mention]]


def clean(text: str) -> str:
    """The text without terminal colours and links."""
    return _ANSI.sub("", text) if "\x1b" in text or "\r" in text else text


def mentions(text: str) -> tuple[Mention, ...]:
    """Every distinct thing that a (cleaned) text complains of, in its order, at most `MAX_MENTIONS`."""
    hits: list[tuple[int, int, str, _Reader]] = []
    for rank, (word, reader) in enumerate(_WORDS):
        at = text.find(word)
        seen: set[str] = set()
        while at >= 0 and len(seen) < _MAX_HITS:
            # The same words again are the same complaint, whatever rank, time or thread stands before them.
            said = text[at : at + _SAID]
            said = said.split("\n", 1)[0]
            if said not in seen or len(said) < len(word) + 2:
                seen.add(said)
                hits.append((at, rank, word, reader))
            at = text.find(word, at + len(word))
    hits.sort(key=lambda hit: hit[:2])
    found: dict[tuple[SubjectKind, str, str | None], Mention] = {}
    for at, _rank, word, reader in hits[:_MAX_HITS]:
        start = text.rfind("\n", max(0, at - _MAX_LINE), at) + 1 or max(0, at - _MAX_LINE)
        end = text.find("\n", at, at + _MAX_LINE)
        if end < 0:
            end = min(len(text), at + _MAX_LINE)
        for mention in reader(_Hit(text, at, start, end, word)):
            if not mention.text.strip():
                continue
            key = (mention.kind, mention.text, mention.version)
            known = found.get(key)
            if known is None or (known.needed_by is None and mention.needed_by is not None):
                found[key] = mention
        if len(found) >= MAX_MENTIONS:
            break
    return tuple(sorted(found.values(), key=lambda mention: mention.position))


# --- loaders --------------------------------------------------------------------------------------------------------

_PATH = re.compile(r"([^\s:'\"`()]+\.(?:so|dylib|pyd|dll|bundle)[\w.-]*|/[^\s:'\"`()]+)\s*$")
_VERSIONED = re.compile(r"\s*([^\s,]+?)(?:@+([\w.+-]+))?(?:,\s*version\s+([\w.+-]+))?(?:[\s),]|$)")


def _path_before(text: str) -> str | None:
    """The file that stands right before a colon: `ImportError: /x/_C.so: `."""
    found = _PATH.search(text.rstrip().rstrip(":").rstrip())
    return found[1] if found is not None else None


def _undefined_symbol(hit: _Hit) -> Iterator[Mention]:
    """glibc: `FILE: undefined symbol: NAME, version LIBRARY`; `ldd -r`: `undefined symbol: NAME\\t(FILE)`; lld:
    demangled."""
    rest = hit.rest
    if "lld" in hit.before or "error: undefined symbol" in hit.line:
        # lld (ELF and wasm): `ld.lld: error: undefined symbol: at::detail::f(int)`, then `>>> referenced by a.cpp:3
        # (x/a.cpp:3)`.
        name = rest.strip()
        if name:
            yield Mention(Complaint.SYMBOL, name, hit.at, location=_referenced_by(hit.following(2)))
        return
    # A demangled name has spaces in it; glibc writes mangled ones, ldd writes the file in parentheses behind a tab.
    stripped = rest.strip().strip(_OPEN + _CLOSE)
    if "::" in stripped.split("\t")[0] and not stripped.startswith("_Z"):
        yield Mention(Complaint.SYMBOL, stripped.split("\t")[0].strip(), hit.at, needed_by=_path_before(hit.before))
        return
    found = _VERSIONED.match(rest.strip(" \t" + _OPEN).replace("'", " ").replace("\u2019", " ").replace('"', " "))
    if found is None:
        return
    name, at_version, version = found.groups()
    needed_by = _path_before(hit.before)
    if needed_by is None:
        behind = re.search(r"\(([^()\s]+)\)\s*$", rest)
        needed_by = behind[1] if behind is not None else None
    wanted = version or at_version
    library = wanted if wanted is not None and ".so" in wanted else None
    yield Mention(Complaint.SYMBOL, name.rstrip(".;"), hit.at, library=library, version=wanted, needed_by=needed_by)


def _link_time_reference(hit: _Hit) -> Iterator[Mention]:
    """glibc: `FILE: symbol NAME, version VERSION not defined in file LIBRARY with link time reference`"""
    found = re.search(r"symbol ([^\s,]+),? version ([\w.+-]+) $", hit.before)
    library = re.match(r"\s*([^\s,]+)", hit.rest)
    if found is not None:
        before = hit.before[: found.start()]
        yield Mention(
            Complaint.SYMBOL,
            found[1],
            hit.at,
            library=library[1] if library is not None else None,
            version=found[2],
            needed_by=_path_before(before),
        )


def _musl(hit: _Hit) -> Iterator[Mention]:
    """`Error relocating FILE: NAME: symbol not found`"""
    found = re.match(r"\s*([^\s:]+):\s*(\S+): symbol not found", hit.rest)
    if found is not None:
        yield Mention(Complaint.SYMBOL, found[2], hit.at, needed_by=found[1])


def _flat_namespace(hit: _Hit) -> Iterator[Mention]:
    """dyld: `dlopen(FILE, 0x0002): symbol not found in flat namespace '__ZN...'`"""
    quoted = re.match(rf"\s*\(?[{_OPEN}]?([^\s{_CLOSE}()]+)", hit.rest)
    if quoted is not None:
        yield Mention(Complaint.SYMBOL, quoted[1], hit.at, needed_by=_dlopened(hit), macos=True)


def _symbol_not_found(hit: _Hit) -> Iterator[Mention]:
    """dyld: `Symbol not found: __ZN...`, then `Referenced from: <uuid> FILE` and `Expected in: FILE`"""
    found = re.match(r"\s*\(?([^\s()]+)", hit.rest)
    if found is None:
        return
    around = hit.rest + hit.following(4)
    referenced = re.search(r"Referenced from:\s*(?:<[^>]*>\s*)?([^\n]+?)(?:\s+Expected in|\n|$)", around)
    needed_by = referenced[1].strip() if referenced is not None else _dlopened(hit)
    yield Mention(Complaint.SYMBOL, found[1].strip(_OPEN + _CLOSE), hit.at, needed_by=needed_by, macos=True)


def _dlopened(hit: _Hit) -> str | None:
    found = re.search(r"dlopen\(([^,)\n]+)", hit.before + hit.rest) or re.search(
        r"dlopen\(([^,)\n]+)", hit.preceding(2)
    )
    return found[1] if found is not None else None


def _dlsym(hit: _Hit) -> Iterator[Mention]:
    """`dlsym(0x7f8, NAME): symbol not found`"""
    found = re.match(r"\s*(?:0x[0-9a-fA-F]+|RTLD_\w+|\w+)\s*,\s*\"?([^\s,)\"]+)\"?\s*\)\s*:", hit.rest)
    if found is not None and "not found" in hit.rest:
        yield Mention(Complaint.SYMBOL, found[1], hit.at, macos=True)


def _cannot_open(hit: _Hit) -> Iterator[Mention]:
    """`libX.so.1: cannot open shared object file: No such file or directory`"""
    found = re.search(r"([^\s:'\"`()]+)\s*:\s*$", hit.before)
    if found is None:
        return
    name = found[1]
    # `error while loading shared libraries: libX` names the program before, `FILE: cannot open` of the file itself
    # nobody.
    needed = re.search(r"([^\s:]+): error while loading shared libraries", hit.before)
    yield Mention(
        Complaint.LIBRARY, name.rsplit("/", 1)[-1], hit.at, needed_by=needed[1] if needed is not None else None
    )


def _not_loaded(hit: _Hit) -> Iterator[Mention]:
    """dyld: `Library not loaded: @rpath/libc10.dylib`; cuDNN: `Could not load library libcudnn_cnn_infer.so.8. Error:
    ...`"""
    found = re.match(rf"\s*[{_OPEN}]?([^\s{_CLOSE},]+)", hit.rest)
    if found is None:
        return
    referenced = re.search(r"Referenced from:\s*(?:<[^>]*>\s*)?([^\n]+)", hit.following(3))
    name = found[1].rstrip(".").rsplit("/", 1)[-1]
    if ".so" in name or ".dylib" in name or ".dll" in name:
        yield Mention(
            Complaint.LIBRARY, name, hit.at, needed_by=referenced[1].strip() if referenced is not None else None
        )


def _cannot_find_library(hit: _Hit) -> Iterator[Mention]:
    """ld: `cannot find -lc10`"""
    found = re.match(r"([\w.+-]+)", hit.rest)
    if found is not None:
        yield Mention(Complaint.LIBRARY, f"lib{found[1].rstrip('.')}.so", hit.at, by_linker=True)


def _version_not_found(hit: _Hit) -> Iterator[Mention]:
    """`FILE: version `GLIBCXX_3.4.32' not found (required by FILE)`"""
    found = re.match(rf"[{_OPEN}]?([\w.+-]+)[{_CLOSE}]?\s+not found", hit.rest)
    if found is None:
        return
    needed = re.search(r"required by ([^)\n]+)\)", hit.rest)
    yield Mention(
        Complaint.SYMBOL_VERSION,
        found[1],
        hit.at,
        library=_path_before(hit.before),
        version=found[1],
        needed_by=needed[1].strip() if needed is not None else None,
    )


# --- linkers --------------------------------------------------------------------------------------------------------

_SOURCE = re.compile(r"([^\s:()]+\.(?:cpp|cc|cxx|c|cu|cuh|hip|h|hpp|mm|o|a))(?:\(\.?[^)]*\))?(?::(\d+))?")


def _undefined_reference(hit: _Hit) -> Iterator[Mention]:
    """GNU ld, gold, mold: `a.cpp:(.text+0x1): undefined reference to `NAME'`, in the linker's language."""
    quoted = re.match(rf"\s*[{_OPEN}]\s?(.+?)\s?[{_CLOSE}]?\s*(?:$|collect2|[{_CLOSE}])", hit.rest.strip())
    name = quoted[1] if quoted is not None else hit.rest.strip()
    name = name.strip().strip(_OPEN + _CLOSE + ":").strip()
    if not name:
        # Chinese, Japanese: the name stands before the words.
        found = list(_QUOTED.finditer(hit.before))
        if not found:
            return
        name = found[-1][1]
    source = _SOURCE.search(hit.before)
    location = None
    if source is not None:
        location = Location(file=source[1], line=int(source[2]) if source[2] else None)
    yield Mention(Complaint.SYMBOL, name, hit.at, location=location, by_linker=True)


def _undefined_symbols(hit: _Hit) -> Iterator[Mention]:
    """ld64: `Undefined symbols for architecture arm64:`, then `  "NAME", referenced from:`"""
    for found in re.finditer(
        r'^\s+"([^"\n]+)", referenced from:', hit.following(10_000, _LIST_CHARACTERS), re.MULTILINE
    ):
        yield Mention(Complaint.SYMBOL, found[1], hit.at + found.start(), by_linker=True, macos=True)


def _unresolved_external(hit: _Hit) -> Iterator[Mention]:
    """link.exe: `a.obj : error LNK2019: unresolved external symbol "..." (?f@@YAXXZ) referenced in function main`"""
    decorated = re.search(r"\((\?[^()\s]+(?:\([^)]*\))?[^()\s]*)\)", hit.rest) or re.match(r"\s*(\S+)", hit.rest)
    if decorated is not None:
        yield Mention(Complaint.SYMBOL, decorated[1].strip('"'), hit.at, by_linker=True)


def _referenced_by(text: str) -> Location | None:
    found = re.search(r">>> referenced by ([^\s:()]+)(?::(\d+))?", text)
    return None if found is None else Location(file=found[1], line=int(found[2]) if found[2] else None)


# --- compilers ------------------------------------------------------------------------------------------------------

_COMPILER_LINE = re.compile(r"^\s*(?:\[[^\]]*\]\s*)?((?:[A-Za-z]:)?[^\s:()]+)[:(](\d+)\)?(?::(\d+))?:")


def _no_matching_function(hit: _Hit) -> Iterator[Mention]:
    """Clang: `FILE:188:20: error: no matching function for call to '__ldg'`; GCC quotes the whole call; nvcc: no
    instance of ..."""
    quoted = _QUOTED.search(hit.rest)
    if quoted is None:
        return
    called = quoted[1].split("(", 1)[0].strip()
    where = _COMPILER_LINE.match(hit.line)
    location = Location(file=where[1], line=int(where[2])) if where is not None else None
    # The types stand in the call itself, or in the notes behind it.
    context = quoted[1] + "\n" + hit.following()
    yield Mention(Complaint.NO_OVERLOAD, called, hit.at, location=location, context=context)


# --- Python and torch.compile ---------------------------------------------------------------------------------------

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)(?:, in (\S+))?')


def _name_error(hit: _Hit) -> Iterator[Mention]:
    """`NameError: name 's2' is not defined` (Triton's own: `NameError('XBLOCK is not defined')`)"""
    found = re.match(
        rf"(?:: name |\()?\s*[{_OPEN}]?(?:name )?[{_OPEN}]?([A-Za-z_]\w*)[{_CLOSE}]? is not defined", hit.rest
    )
    if found is None:
        return
    before = hit.preceding(40)
    frames = list(_FRAME.finditer(before))
    location = None
    if frames:
        last = frames[-1]
        location = Location(function=last[3], file=last[1], line=int(last[2]))
    yield Mention(
        Complaint.PYTHON_NAME, found[1], hit.at, location=location, context=before + hit.line + hit.following()
    )


def _marked_as_skipped(hit: _Hit) -> Iterator[Mention]:
    """`Attempted to call function marked as skipped`, then `Developer debug context: module: m, qualname: PyCapsule.f,
    ...`"""
    around = hit.rest + hit.following(30)
    name = (
        re.search(r"module:\s*([\w.]+),\s*qualname:\s*([\w.<>]+)", around)
        or re.search(r"builtin [`'\"]?([\w.<>]+)", around)
        or re.search(r"the function [`'\"]([\w.<>]+)", around)
        or re.search(r"[`'\"]([\w.]*PyCapsule[\w.]+)", around)
        or re.search(r"\b([\w.]+\.PyCapsule\.\w+)", around)
    )
    text = ".".join(part for part in name.groups() if part).rstrip(".") if name is not None else "a function"
    yield Mention(Complaint.SKIPPED_CALL, text, hit.at, location=_user_frame(hit), context=around)


def _unsupported_builtin(hit: _Hit) -> Iterator[Mention]:
    """Torch 2.3 - 2.6: `Graph break due to unsupported builtin m.PyCapsule.f. This function is either a Python builtin
    ...`"""
    found = re.match(r"\s*([\w.<>]+)", hit.rest)
    if found is not None:
        yield Mention(
            Complaint.SKIPPED_CALL,
            found[1].rstrip("."),
            hit.at,
            location=_user_frame(hit),
            context=hit.rest + hit.following(),
        )


def _user_frame(hit: _Hit) -> Location | None:
    """`from user code:` and its last frame."""
    around = hit.following(60)
    at = around.find("from user code")
    frames = list(_FRAME.finditer(around, at)) if at >= 0 else []
    if not frames:
        return None
    return Location(function=frames[-1][3], file=frames[-1][1], line=int(frames[-1][2]))


def _missing_operator(hit: _Hit) -> Iterator[Mention]:
    """`operator torchvision::nms does not exist`; `No such operator x::y`; `Could not find schema for x::y`"""
    if hit.word == "does not exist":
        found = re.search(r"operator\s+([\w.]+::\w[\w.]*)\s*$", hit.before)
    else:
        found = re.match(r"\s*(?:operator\s+)?([\w.]+::\w[\w.]*)", hit.rest)
    if found is not None:
        yield Mention(Complaint.MISSING_OPERATOR, found[1], hit.at)


def _op_namespace(hit: _Hit) -> Iterator[Mention]:
    """`AttributeError: '_OpNamespace' '_C' object has no attribute 'rms_norm'`"""
    found = re.match(r"'?\s+'([\w.]+)' object has no attribute '(\w+)'", hit.rest)
    if found is not None:
        yield Mention(Complaint.MISSING_OPERATOR, f"{found[1]}::{found[2]}", hit.at)


def _cuda_of_extension(hit: _Hit) -> Iterator[Mention]:
    """`Detected that PyTorch and torch_scatter were compiled with different CUDA versions. PyTorch has CUDA version
    11.8 and ...`"""
    yield _cuda_releases(hit, Complaint.CUDA_OF_EXTENSION)


def _cuda_of_toolkit(hit: _Hit) -> Iterator[Mention]:
    """`The detected CUDA version (12.1) mismatches the version that was used to compile PyTorch (11.8).`"""
    yield _cuda_releases(hit, Complaint.CUDA_OF_TOOLKIT)


def _cuda_releases(hit: _Hit, complaint: Complaint) -> Mention:
    around = hit.line + hit.following(2)
    found = re.findall(r"CUDA [Vv]ersion[ =]*(\d+\.\d+)|\((\d+\.\d+)\)", around)
    releases = tuple(a or b for a, b in found) or ("version",)
    package = re.search(r"PyTorch and (\w+) were compiled", around)
    return Mention(
        complaint,
        f"CUDA {' / '.join(releases)}",
        hit.at,
        needed_by=package[1] if package is not None else None,
        cuda_releases=releases,
    )


_WORDS: Final[tuple[tuple[str, _Reader], ...]] = (
    ("undefined symbol:", _undefined_symbol),
    ("undefined symbol ", _undefined_symbol),
    ("not defined in file", _link_time_reference),
    ("Error relocating", _musl),
    ("symbol not found in flat namespace", _flat_namespace),
    ("Symbol not found:", _symbol_not_found),
    ("dlsym(", _dlsym),
    ("cannot open shared object file", _cannot_open),
    ("Library not loaded:", _not_loaded),
    ("Could not load library", _not_loaded),
    ("Unable to load library", _not_loaded),
    ("cannot find -l", _cannot_find_library),
    ("version `", _version_not_found),
    ("version '", _version_not_found),
    ("undefined reference to", _undefined_reference),
    ("nicht definierter Verweis auf", _undefined_reference),
    ("référence indéfinie vers", _undefined_reference),
    ("referencia a", _undefined_reference),
    ("riferimento non definito a", _undefined_reference),
    ("referência não definida para", _undefined_reference),
    ("неопределённая ссылка на", _undefined_reference),
    ("未定义的引用", _undefined_reference),
    ("に対する定義されていない参照", _undefined_reference),
    ("への未定義参照", _undefined_reference),
    ("Undefined symbols for architecture", _undefined_symbols),
    ("unresolved external symbol", _unresolved_external),
    ("no matching function for call to", _no_matching_function),
    ("NameError", _name_error),
    ("marked as skipped", _marked_as_skipped),
    ("Graph break due to unsupported builtin", _unsupported_builtin),
    ("does not exist", _missing_operator),
    ("No such operator", _missing_operator),
    ("Could not find schema for", _missing_operator),
    ("_OpNamespace", _op_namespace),
    ("compiled with different CUDA", _cuda_of_extension),
    ("mismatches the version that was used to compile", _cuda_of_toolkit),
)
