"""Reads names of symbols and libraries, and the file that needs them, from text that may be broken, quoted or
translated. `found_subjects.py` has the names of the values."""

from __future__ import annotations

import re
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import package_of_file
from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.reference import A_PROGRAM, ANDROID_APP
from abiscan.diagnosis.text import name_tokens
from abiscan.diagnosis.text.message_paths import file_in_parentheses, is_file, path_before
from abiscan.diagnosis.text.message_text import Hit
from abiscan.diagnosis.text.name_tokens import NameToken, ends_clause, is_plain_word, read_name
from abiscan.diagnosis.text.text_facts import pattern_of
from abiscan.ownership.cuda_exports import names_alike
from abiscan.ownership.torch_names import is_torch_library

# Placeholders for a name, as in `undefined symbol: %s` in a program's source.
_PLACEHOLDERS: Final = frozenset(
    ("", "_", "I", "X", "NAME", "SYMBOL", "symbol", "symbols", "c10", "torch", "libtorch", "pytorch")
)
# `torchtext undefined symbol OSError`, `undefined symbol aarch64 python3.8`: an exception, letters of a library, a
# machine or a release; a module.
_NO_SYMBOL = re.compile(
    r"_C|[\w.-]{1,200}\.(?:so|pyd)|[A-Z]\w{1,32}(?:Error|Exception|Warning)|[A-Z]{2,4}"
    r"|(?i:aarch64|arm64|x86_64|amd64|sm_\d{2,3}\w?|(?:python|py|cuda|cu|torch|pytorch|gcc|rocm|ubuntu|rtx|win)\d[\d.]{0,8})"
    r"|[A-Za-z]{2,32}\d{1,3}(?:\.\d{1,3}){1,3}"
)
_NAMED_FIRST = re.compile(r"(?<![^\s'\"`:])(_ZN?[\w.]{4,4096})['\"`]?:? (?:is |was |as )?(?:an )?$")
# `spconv1.2.1 with cuda 11.1`: a release of a package, in the line behind a message without its symbol.
_RELEASE = re.compile(r"[A-Za-z]{1,64}[ =-]{0,3}\d{1,4}(?:\.\d{1,8}){1,3}(?![\w.])")
_LOOKUP_ERROR = re.compile(r"(?:(?<=\s)error: )?symbol lookup error: {0,4}$")
# glibc: `PROGRAM: symbol lookup error: FILE: `; the file is the program itself, which has no suffix of a library.
_OF_PROGRAM = re.compile(
    r"(?:(?<!\S)(?P<name>[\w.+-]{1,64}): symbol lookup error: {0,4}(?P=name)"
    r"|symbol lookup error: {0,4}(?P<path>\.{0,2}/[^\s:'\"]{1,4096})): {0,4}$"
)
_OF_PYTHON = re.compile(r"(?:Import|OS)Error: [^:\n]{0,4096}: {0,4}$")
_REFERENCED_BY = re.compile(r">>> referenced by ([^\n :]{1,4096})(?::(\d{1,7})(?= |\n|$))?")


def undefined_symbol(hit: Hit, _values: Values) -> Values | None:
    r"""glibc: `FILE: undefined symbol: NAME, version LIBRARY`, with LD_DEBUG followed by ` (fatal)`; `ldd -r`:
    `undefined symbol: NAME\t(FILE)`; lld: demangled, then `>>> referenced by`."""
    rest = hit.rest.removeprefix("s").removeprefix("S")
    if "relocation truncated to fit" in hit.before:
        return None  # a relocation overflow between distant objects: nothing is missing
    undecorated = name_tokens.msvc_name(rest)
    if undecorated is not None:
        return {"text": undecorated, "by_linker": "yes", "msvc": "yes"}
    token = _name(rest, after_colon=rest.lstrip(" `*\"'")[:1] in (":", "\uff1a"))
    behind = hit.following(3)
    if token is None and not rest.strip(" :\uff1a'\"`>|*"):
        rest, _, behind = behind.lstrip("\n> \t|#").partition("\n")
        token = None if _RELEASE.match(rest) is not None else _name(rest, after_colon=True)
    # People write the name first, too: `_ZN2at5ErrorC1Ev undefined symbol mmdet3d-0.17.1`.
    first = _NAMED_FIRST.search(hit.before)
    if first is not None and (token is None or not token.name.startswith("_Z")):
        return {"text": first[1]}
    if token is None:
        return None
    if rest.rstrip().endswith(token.name):
        token = name_tokens.mended(token, behind)
    found = {**_of_token(token), "cut_off": "yes" if token.is_cut_off(rest) else ""}
    # LD_DEBUG also prints the final error: `PID:\tFILE: error: symbol lookup error: `.
    before = _LOOKUP_ERROR.sub("", hit.before)
    if "lld" in before or before.rstrip().endswith("error:"):
        source = _REFERENCED_BY.search(hit.following(2))
        place = {} if source is None else {"source_file": source[1], "source_line": source[2] or ""}
        return {**found, **place, "by_linker": "yes"}
    # A terminal may break the line behind the colon.
    broken = hit.preceding(1).rstrip() if not before.strip(" `'\"") else ""
    wrapped = path_before(broken) if broken.endswith(":") else None
    program = _OF_PROGRAM.search(hit.before)
    needed_by = (
        path_before(before)
        or wrapped
        or file_in_parentheses(rest)
        or (program and (program["name"] or program["path"]))
        or ""
    )
    return {
        **found,
        "needed_by": needed_by,
        "by_python": "yes" if _OF_PYTHON.search(before) else "",
        "before_torch": "yes" if _is_before_torch(hit, needed_by) else "",
    }


def symbol_behind(hit: Hit, _values: Values) -> Values | None:
    """The name after the words `symbol not found`, and the file before them."""
    token = _name(hit.rest, after_colon=True)
    if token is None:
        return None
    cut_off = "yes" if token.is_cut_off(hit.rest) else ""
    return {**_of_token(token), "needed_by": path_before(hit.before) or "", "cut_off": cut_off}


def link_time_reference(hit: Hit, _values: Values) -> Values | None:
    """glibc: `FILE: symbol NAME, version VERSION not defined in file LIBRARY with link time reference`"""
    before, symbol, behind = hit.before.rpartition("symbol ")
    token = read_name(behind) if symbol else None
    if token is None or token.version is None:
        return None
    named = hit.rest.strip().split(" ", 1)[0].rstrip(",") if hit.word.endswith("file") else token.library
    return {**_of_token(token), "library": named or token.version, "needed_by": path_before(before) or ""}


def relocation(hit: Hit, _values: Values) -> Values | None:
    """`cannot apply R_X86_64_JUMP_SLOT ...`: the C++ name in the line, or the name after the word `symbol`."""
    needed_by = path_before(hit.before) or ""
    names = name_tokens.mangled_names(hit.line, 1)
    if names:
        return {"text": names[0][1], "needed_by": needed_by}
    _, symbol, behind = hit.rest.partition("symbol")
    token = _name(behind, after_colon=True) if symbol else None
    return None if token is None else {"text": token.name, "needed_by": needed_by}


def located_symbol(hit: Hit, _values: Values) -> Values | None:
    """Android: `cannot locate symbol "NAME" referenced by "FILE"...`; cuDNN: `Invalid handle. Cannot load symbol
    NAME`"""
    token = read_name(hit.rest)
    if token is None or (is_plain_word(token.name) and not token.quoted):
        return None
    _, referenced, file = hit.rest.partition("referenced by")
    needed_by = (name_tokens.first_quoted(file) if referenced else None) or ""
    return {"text": token.name, "needed_by": needed_by or (ANDROID_APP if "UnsatisfiedLinkError" in hit.line else "")}


def dyld_symbol(hit: Hit, _values: Values) -> Values | None:
    """dyld: `Symbol not found: __ZN...`, then `Referenced from: <uuid> FILE`; `dlopen(FILE, 0x0002): symbol not found
    in flat namespace '__ZN...'`"""
    rest = hit.rest.lstrip(" (")
    token = read_name(rest)
    if token is None or (hit.rest.lstrip()[:1] == "(" and not token.name.startswith("_")):
        return None  # in parentheses, as in prose; every symbol of macOS begins so
    _, _, behind = (hit.rest + hit.following(4)).partition("Referenced from:")
    line = behind.split("\n", 1)[0].split("Expected in", 1)[0].strip()
    needed_by = line.partition(">")[2].strip() if line.startswith("<") else line
    cut_off = "yes" if token.is_cut_off(rest) else ""
    return {"text": token.name, "needed_by": needed_by or _opened_by_dyld(hit), "cut_off": cut_off}


def undefined_reference(hit: Hit, _values: Values) -> Values | None:
    """GNU ld, gold, mold: `a.cpp:(.text+0x1): undefined reference to `NAME'`, `more undefined references to `NAME'
    follow`, `undefined reference to symbol 'NAME@@VERSION'`, in any language. In some languages the name comes
    first."""
    rest = hit.rest.strip()
    symbol = _SYMBOL.match(rest)
    token = read_name(rest[symbol.end() :] if symbol is not None else rest)
    # Chinese, Japanese: the name precedes the words.
    before = name_tokens.last_quoted(hit.before) if token is None else None
    if before is not None:
        token = read_name(f"'{before}'") or token
    # Linkers quote the name; an unquoted word is prose.
    if token is None or (not token.quoted and (is_plain_word(token.name) or token.name in _PLACEHOLDERS)):
        return None
    found = {**_of_token(token), **_object_or_source(hit.before)}
    # Only shared libraries refer to a version. Of a C symbol, an installed one shows who linked it; torch's own files,
    # which users rarely link, need what another copy or release lacks.
    of_library = _OF_SHARED_LIBRARY.search(hit.before[-2_048:])
    is_c = token.name.isidentifier() and token.name[:2] != "_Z"
    if of_library is not None and (
        token.version or is_torch_library(of_library[1]) or (is_c and _INSTALLED.search(of_library[1]))
    ):
        found["needed_by"] = of_library[1]
    # `undefined reference to symbol` is of a definition that the linker found in a library outside of its command line.
    return {**found, "version": ""} if symbol is not None else found


def referenced_name(hit: Hit, _values: Values) -> Values | None:
    """ld64: `  "NAME", referenced from:`"""
    name = hit.before.strip().removeprefix('"')
    return {"text": name} if name and '"' not in name else None


def unresolved_external(hit: Hit, _values: Values) -> Values | None:
    """link.exe: `a.obj : error LNK2019: unresolved external symbol "..." (?f@@YAXXZ) referenced in function main`"""
    at = max(hit.rest.find("(?"), hit.rest.find("(__imp_"))
    undecorated = name_tokens.msvc_name(hit.rest) if at < 0 else None
    token = read_name(hit.rest[at + 1 :] if at >= 0 else hit.rest)
    if undecorated is not None:
        return {"text": undecorated, "msvc": "yes"}
    if token is None or token.name.startswith("__imp___tls_"):  # `inline-thread-local`
        return None
    # A pointer in the import table to a function; the C name follows the prefix.
    return {"text": token.name if "?" in token.name else token.name.removeprefix("__imp_")}


# --- libraries ------------------------------------------------------------------------------------------------------

_LOADING: Final = "error while loading shared libraries"
# glibc prints a missing library as it was requested, and a damaged one with its folders. In any language, only the
# former is a bare name after Python's exception.
_CUT_BEHIND = re.compile(r"lib[\w+.-]{1,200}\.so(?:\.[\w.]{1,40})?")
_ALONE = re.compile(r"(lib[\w+.-]{1,200}\.so(?:\.[\w.]{1,40})?): [^:\n]{3,200}: \S")


# In prose the file may follow: `cannot open shared object file: libX.so.1`.
_NAMED_BEHIND = re.compile(
    r"(?:ared object file)?[:\uff1a\s]{1,3}([\w+/-][\w.+/-]{0,255}?\.so(?:\.\d{1,8}){0,4})(?![\w.])", re.ASCII
)

_OF_EXCEPTION = re.compile(r"(?:Error|Exception|Warning|\berror)$")
# Words of a language without spaces, before the name of a file.
_IN_SENTENCE = re.compile(r"^[^\x00-\x7f]+(?=lib|/)")


# torch.utils.cpp_extension compiles them when DeepSpeed first uses them.
_OF_DEEPSPEED: Final = frozenset(("cpu_adam.so", "fused_adam.so"))


def unopened_library(hit: Hit, _values: Values) -> Values | None:
    """`libX.so.1: cannot open shared object file: No such file or directory`"""
    before = hit.before.replace(" (deleted)", "")
    # The R package torch prints `FILE - MESSAGE`.
    name = path_before(before.rpartition(" - ")[2]) or path_before(before) or _last_word(before)
    name = _IN_SENTENCE.sub("", name or "")
    if name and "." not in name and (not name.isascii() or _OF_EXCEPTION.search(name)):
        behind = _NAMED_BEHIND.match(hit.rest)
        name = "" if behind is None else behind[1]
    if not name or "torch_extensions/" in name or name in _OF_DEEPSPEED:  # `cpp-extension-not-built`
        return None
    if hit.rest.removeprefix("ared object file").startswith(": Permission denied") and "/" in name:
        return None
    # `PROGRAM: error while loading shared libraries: libX`: the program comes first.
    program, loading, _ = hit.before.partition(_LOADING)
    program = program.rstrip(" ").replace(" :", ":").rpartition(" ")[2]
    needed_by = (program.strip("`'\":") if program.endswith(":") else A_PROGRAM) if loading else ""
    return {"text": name.rsplit("/", 1)[-1], "needed_by": needed_by, **_importer(hit)}


def library_alone(hit: Hit, _values: Values) -> Values | None:
    """`ImportError: libc10.so: Kann die Shared-Object-Datei nicht \u00f6ffnen: Datei nicht gefunden`"""
    line = hit.word.removeprefix("Error: ") + hit.rest[:512]
    cut = _CUT_BEHIND.fullmatch(line.rstrip(" '\"`."))
    found = _ALONE.match(line) if cut is None else None
    if found is not None and "symbol" not in found[0] and "static TLS" not in found[0]:
        return {"text": found[1], **_importer(hit)}
    return None if cut is None else {"text": cut[0], **_importer(hit)}


def android_library(hit: Hit, _values: Values) -> Values | None:
    """Android: `dlopen failed: library "libx.so" not found: needed by FILE`, `couldn't find "libx.so"`"""
    lead = "lib" if hit.word.endswith('"lib') else ""
    name, closed, behind = hit.rest.partition('"')
    name = f"{lead}{name}".rsplit("/", 1)[-1]
    if not closed or not is_file(name) or not (lead or behind.startswith(" not found")):
        return None
    needed_by = behind.partition(" needed by ")[2].partition(" in namespace")[0].strip()
    return {"text": name, "needed_by": needed_by or ANDROID_APP}


# --- symbol versions ------------------------------------------------------------------------------------------------

_SYMBOL_VERSION = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]{2,127}")


def symbol_version(hit: Hit, _values: Values) -> Values | None:
    """`FILE: version `GLIBCXX_3.4.32' not found (required by FILE)`"""
    at = hit.rest.find("not found")
    # A shell takes the quotes away; the word of the row then begins the name.
    unquoted = hit.word.partition("version ")[2].strip("`'\u201c\u2018")
    named = _SYMBOL_VERSION.search(f"{unquoted}{hit.rest[: max(at, 0)]}") if 0 <= at <= 160 else None
    if named is None or ("_" not in named[0] and ".so" not in named[0]):
        return None
    needed_by = hit.rest.partition("required by ")[2].split(")", 1)[0].strip()
    return {"text": named[0], "library": path_before(hit.before) or "", "needed_by": needed_by}


# --- parts of names -------------------------------------------------------------------------------------------------


def _name(text: str, *, after_colon: bool) -> NameToken | None:
    """The name after the words of a message, unless it is a word of the sentence."""
    token = read_name(text)
    if token is None or token.name in _PLACEHOLDERS:
        return None
    # `flash-attn: undefined symbol flash_attn_2_cuda`: the module that lacks one.
    if not after_colon and (_NO_SYMBOL.fullmatch(token.name) or package_of_file(token.name) is not None):
        return None
    if token.quoted or token.version is not None or not is_plain_word(token.name):
        return token
    if token.name.islower() and names_alike(token.name):
        return token  # a function of NVIDIA in lower case
    return token if after_colon and ends_clause(text, token.end) else None


def _of_token(token: NameToken) -> dict[str, str]:
    return {"text": token.name, "library": token.library or "", "version": token.version or ""}


def _opened_by_dyld(hit: Hit) -> str:
    for text in (hit.before + hit.rest, hit.preceding(2)):
        at = text.find("dlopen(")
        if at >= 0:
            return text[at + 7 : at + 4_103].split("\n", 1)[0].split(",", 1)[0].split(")", 1)[0]
    return ""


_SOURCES: Final = ("cpp", "cc", "cxx", "c", "cu", "cuh", "hip", "h", "hpp", "mm", "o", "a")
_LINE = re.compile(r":(\d{1,7})")
_OF_SHARED_LIBRARY = re.compile(r"(?<![^\s:()])([^\s:()]{1,1024}\.so[.\d]{0,32}): {0,2}$")
# Folders of the system, of packages and of environments: their libraries are linked before the build of an extension.
_INSTALLED = re.compile(r"^(?!.*/(?:lib)?torch/)(?:/(?:usr|opt|lib\d{0,2})/|.*(?:[-/](?:packages|envs)|conda3?)/)")
_SYMBOL = re.compile(r"(?:symbol|\u7b26\u53f7)\s")


def _object_or_source(before: str) -> Values:
    """The first source or object in the line: `a.cpp:(.text+0x1)`, `a.cpp:12`, `libx.a(a.cpp.o):a.cpp:(.text+0x1)`."""
    for word in re.split(r"[\s()]", before[-2_048:]):
        path, _, behind = word.partition(":")
        if path.rpartition(".")[2] in _SOURCES and "." in path:
            line = _LINE.match(f":{behind}") if behind else _LINE.match(before, before.find(word) + len(word))
            return {"source_file": path, **({} if line is None else {"source_line": line[1]})}
    return {}


# Input at a prompt of Python or IPython, or on a command line.
_TYPED = re.compile(r"(?:>>> |In \[\d{1,4}\]: |-c ['\"])([^\n]{1,256})")
_FRAMES = re.compile(r"File ['\"]([^'\"\n]{1,1024})['\"], line (\d{1,6})")
_FIRST_LINES: Final = 2
_IMPORTS = re.compile(r"\s{0,4}(?:import|from) ([A-Za-z_]\w{0,127})")
_OF_CTYPES = re.compile(r"[/\\]ctypes[/\\]__init__\.py[\"', :]")
_OF_TORCH = re.compile(r"[/\\]torch[/\\]__init__\.py[\"', :]")
# A path of a package; `Failed to load library libonnxruntime_providers_cuda.so with error: ` names the library.
_OF_PACKAGE = re.compile(
    r"((?:site|dist)-packages[/\\]{1,2}[A-Za-z_][\w-]{0,127})[/\\]|load library (lib[\w.-]{1,128}\.so) with error: "
)
_BESIDE = re.compile(
    r"File \"(/[^\"\n]{1,1000}/)[^\"/\n]{1,255}\", line \d{1,6}[^\n]{0,256}\n[ \t]{0,16}from \. import (\w{1,128})\b"
)
# torch_geometric/typing.py names the package that it tried to import, and runs without it.
_TRIED = re.compile(r"issue occurred while importing ['\"]?([A-Za-z][\w-]{1,64})['\"]?\. Disabling its usage")
_NO_IMPORTERS: Final = ("torch", "pip", "setuptools", "_pytest")


def _is_before_torch(hit: Hit, needed_by: str) -> bool:
    """Whether a prompt above imported the module itself, or a package that does so in its first lines, and no torch
    before it."""
    above = hit.preceding(24) if needed_by else ""
    typed = _TYPED.findall(above)
    frames = _FRAMES.findall(above)
    if len(frames) > 1 and frames[0][0] in ("<stdin>", "<string>") and "import torch" not in above:
        # A module that imports the extension in its first statement has not imported torch.
        return all(int(line) <= _FIRST_LINES and not _OF_TORCH.search(f"{file},") for file, line in frames)
    imported = _IMPORTS.match(typed[-1]) if typed else None
    module = needed_by.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    return imported is not None and imported[1] == module and not any("torch" in line for line in typed)


def _importer(hit: Hit) -> Values:
    """`by_torch` as of `_by_torch`, else the `importer`: the package that the text names last before."""
    own = _by_torch(hit)
    if own:
        return own
    if (tried := _TRIED.search(hit.before)) is not None:
        return {"importer": f"site-packages/{tried[1].replace('-', '_')}/__init__.py"}
    above = f"{hit.preceding(8)}\n{hit.before}"
    paths = list(_OF_PACKAGE.finditer(above))
    of_program = bool(paths) and pattern_of("frame_of_program").search(above, paths[-1].end()) is not None
    last = (paths[-1][1] or paths[-1][2]).replace("\\", "/") if paths and not of_program else ""
    if not last:
        # `from . import iou3d_nms_cuda` in the last frame: a module beside that file.
        beside = _BESIDE.findall(f"{hit.preceding(4)}\n{hit.before}")
        return {"importer": f"{beside[-1][0]}{beside[-1][1]}.*.so"} if beside else {}
    if last.rpartition("/")[2] in _NO_IMPORTERS:
        return {}
    return {"importer": last if last.endswith(".so") else f"{last}/__init__.py"}


def _by_torch(hit: Hit) -> Values:
    """`by_torch` if the last frame of the traceback above belongs to torch, or the last input at a prompt imports
    it."""
    frames = [line for line in hit.preceding(8).split("\n") if line.lstrip(" >|").startswith("File ")]
    # ctypes opens a library for the frame above its own.
    frames = [line for line in frames if not _OF_CTYPES.search(line)] or frames
    typed = [] if frames else _TYPED.findall(hit.preceding(3))
    own = _OF_TORCH.search(frames[-1]) is not None if frames else bool(typed) and typed[-1].strip(" '\"") == _IMPORT
    if not frames and not typed:
        own = _IMPORTS_TORCH.search(f"{hit.preceding(2)}{hit.line}{hit.following(1)}") is not None
    return {"by_torch": "yes"} if own else {}


_IMPORT: Final = "import torch"
# The statement of torch/__init__.py that loads its libraries, without its frame, a program of torch/bin, or a person's
# words.
_IMPORTS_TORCH = re.compile(
    r"from torch\._C import|\btorch_shm_manager: |\b(?:[Ww]hen|[Aa]fter) (?:I|i|we) import(?:ed)? torch\b(?![\w.])"
)


def _last_word(before: str) -> str | None:
    line = before.rstrip(" :\uff1a'\"`)")
    word = line.rpartition(" ")[2].lstrip("'\"`([\u201c\u2018\uff1a")
    return word.rpartition(":")[2] or None
