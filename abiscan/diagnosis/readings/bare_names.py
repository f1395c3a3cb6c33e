"""Reads names from a text without a message: one per line or in a sentence. Ignores prose and source code."""

from __future__ import annotations

import re

import msgspec

from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.causes import system_libraries
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.readings import near_names, pasted_names
from abiscan.diagnosis.readings.find_messages import find_messages
from abiscan.diagnosis.readings.found_subjects import FoundSubject, LibrarySubject, SymbolSubject, VersionSubject
from abiscan.diagnosis.readings.match_messages import FoundMessage
from abiscan.diagnosis.readings.mentioned_names import sentences_about
from abiscan.diagnosis.text.demangled_text import qualified_name
from abiscan.diagnosis.text.name_tokens import QUOTES, is_plain_word, mangled_names, read_name
from abiscan.diagnosis.text.text_facts import is_shown
from abiscan.mangling import NameKind, classify
from abiscan.ownership import torch_names
from abiscan.ownership.names import is_python_name
from abiscan.ownership.torch_names import SHIM_PREFIXES
from abiscan.ownership.vendors import vendor_of

# Maximum lines of a text with one symbol per line; a longer text is a log, in which single names mean nothing.
_LINES = 200
_CHARACTERS = 262_144
# Characters of a text that a person typed, with parts of a log.
_TYPED = 65_536
_LINE = 8_192
_NAMES = 50
# With the tag of a CPython it is a compiled module, which no file links.
_LIBRARY_NAME = re.compile(
    r"(?:\S{0,1024}[/\\])?(?![\w+.-]{1,200}?\.(?:cpython-\d|cp\d|abi3\.))"
    r"([\w+.-]{1,200}\.(?:so(?:\.[\w.]{1,40})?|dylib|dll|pyd))",
    re.IGNORECASE,
)
_HEADER = re.compile(r"<?([\w./-]{1,200}\.(?:h|hpp|cuh))>?")
_LINKED = re.compile(r"-l([A-Za-z][\w+.-]{1,100})")
# A line of nm output: `                 U _ZN3c10...`
_UNDEFINED = re.compile(r"\s{1,40}[Uw]\s{1,8}(\S{1,8000})\s{0,40}")
_QUOTED_NAME = re.compile(r"[`'\"\u2018\u201c]([A-Za-z_]\w{3,255})[`'\"\u2019\u201d]")
# A word that is in no language: with upper-case letters or underscores inside. It is a symbol if an error is near.
# cudaMallocAsync is the name of an allocator, which programs print.
_PROGRAM_WORD = re.compile(
    r"(?<![\w./:-])(?!cudaMallocAsync\b)(?=\w{0,255}[a-z_][A-Z_]\w)[A-Za-z_]\w{5,255}(?![\w./(:-])", re.ASCII
)
# A compiler error is about names in the source.
_OF_COMPILER = re.compile(r"(?::\d{1,7}|\(\d{1,7}(?:,\d{1,5})?\)) ?: (?:fatal )?error\b")
_SHARED_OBJECT = re.compile(r"[\w./+-]{1,256}\.(?:so|pyd|dylib)(?![\w.])", re.ASCII)
# In Chinese and Japanese, words precede and follow a name without a space.
_OTHER_SCRIPT = re.compile(r"^[^\x00-\x7f]{1,400}(?=[A-Za-z_?])|(?<=[A-Za-z0-9_)>])[^\x00-\x7f]{1,400}$")
# In prose: "numpy does not find GLIBCXX_3.4.30".
_SYMBOL_VERSION = re.compile(r"(?<!\w)(?:GLIBCXX|CXXABI|GLIBC)_\d(?:\.\d{1,3}){1,2}(?![\w.]\w)", re.ASCII)
# Characters of source code that no demangled name contains.
_CODE = frozenset(';="#\\')
_TYPES = frozenset(("int", "long", "float", "double", "bool", "char", "short", "unsigned", "void", "signed"))


def is_typed(text: str) -> bool:
    """Whether a person may have typed a text: sentences, not a log or a name. Chinese has no spaces."""
    return (" " in text.strip() or not text.isascii()) and len(text) <= _TYPED and text.count("\n") <= _LINES


def bare_names(text: str, knowledge: Knowledge, *, sure: bool) -> tuple[FoundSubject | FoundMessage, ...]:
    """The names in a (cleaned) text of names; else its C++ names and known C names.

    Args:
        sure: the user declared it a symbol by naming the file that needs it, so any C name counts.
    """
    lines = text.split("\n", _LINES + 1)
    if len(lines) > _LINES or len(text) > _CHARACTERS:
        return ()
    found = [each for at, line in enumerate(lines) if (each := _whole(line, at, knowledge, sure)) is not None]
    is_unnamed = is_shown("unnamed_symbol", " ".join(lines))
    if is_unnamed:
        # A library whose symbols are looked up was found: its line is a part of that sentence.
        found = [each for each in found if not isinstance(each, LibrarySubject) or each.by_linker]
    if found:
        return tuple(found)
    names = _without_counterparts([name for _at, name in mangled_names(text, _NAMES)])
    wanted = list(dict.fromkeys(match[0] for match in _SYMBOL_VERSION.finditer(text)))[:_NAMES]
    if _OF_COMPILER.search(text) is not None and not wanted:
        return tuple(SymbolSubject(text=name, position=at) for at, name in enumerate(dict.fromkeys(names)))
    if wanted and not names:
        return tuple(VersionSubject(text=name, position=at) for at, name in enumerate(wanted))
    if not names:
        quoted = list(dict.fromkeys(match[1] for match in _QUOTED_NAME.finditer(text)))[:_NAMES]
        # `Backend "sox_io"` begins like a function of SoX: only words about a symbol show that it is one.
        about_symbol = is_shown("missing_symbol", text)
        names = [
            name
            for name in quoted
            if (is_known(name, knowledge) if about_symbol else pasted_names.is_known(name, knowledge))
        ]
    if not names and is_shown("missing_symbol", text):
        words = list(dict.fromkeys(match[0] for match in _PROGRAM_WORD.finditer(text)))[:_NAMES]
        names = [word for word in words if is_known(word, knowledge)]
        if not names and is_unnamed:
            names = [word for word in words if pasted_names.with_scope(word, knowledge)]
    if not names and is_unnamed:
        file = _SHARED_OBJECT.search(text)
        about, name = ("", file[0]) if file is not None else (", of the package", knowledge.log.project)
        message = _as_message(f"undefined symbol without its name{about}: {name}", 0) if name else None
        return () if message is None else (message,)
    return tuple(SymbolSubject(text=name, position=at) for at, name in enumerate(dict.fromkeys(names)))


def _without_counterparts(names: list[str]) -> list[str]:
    """The names without those that another one is in the mangling of Clang (`...Tn...`), which may be cut off: a text
    compares the symbol that is missing with the one that libtorch exports."""
    alike = tuple(name.partition("TnN")[0] for name in names if "TnN" in name)
    return [name for name in names if "TnN" in name or not name.startswith(alike)]


def is_known(name: str, knowledge: Knowledge) -> bool:
    """Whether a C name is exported by torch, Python or a known library."""
    # All names of CPython have an underscore; a word without one, such as PyTorch, is prose.
    of_python = is_python_name(name) and "_" in name
    vendor = vendor_of(name)
    # `libraries=["hiprtc", "hipblas"]`: names of libraries, not of their functions.
    return pasted_names.is_known(name, knowledge) or of_python or (vendor is not None and name != vendor.library)


def _whole(line: str, at: int, knowledge: Knowledge, sure: bool) -> FoundSubject | FoundMessage | None:
    if not line.strip() or len(line) > _LINE:
        return None
    listed = _UNDEFINED.fullmatch(line)
    text = (listed[1] if listed is not None else line).strip().strip("".join(QUOTES)).strip(" *>|")
    text = _OTHER_SCRIPT.sub("", text)
    if system_libraries.is_symbol_version(text):
        return VersionSubject(text=text, position=at)
    if not text.startswith(torch_names.BEGINNINGS) and (sentence := next(sentences_about(text), None)) is not None:
        return _as_message(sentence, at)
    of_source = text.isupper() or not (sure or pasted_names.is_known(text, knowledge))
    if torch_names.is_former_source_name(text) and of_source:
        return _as_message(f"'{text}' was not declared in this scope", at)
    header = _HEADER.fullmatch(text)
    if header is not None:
        old = torch_names.is_former_source_name(header[1].partition("/")[0])
        if old or torch_names.is_header(header[1]):
            return _as_message(f"fatal error: {header[1]}: No such file or directory", at)
    linked = _LINKED.fullmatch(text)
    if linked is not None:
        return LibrarySubject(text=f"lib{linked[1]}.so", position=at, by_linker=True)
    library = _LIBRARY_NAME.fullmatch(text)
    if library is not None:
        return LibrarySubject(text=library[1], position=at)
    token = read_name(text)
    if token is None or text[token.end :].strip(" .\u2026,:\u3002\uff0c)>'\"`"):
        return None
    of_import_table = token.name.removeprefix("__imp_")
    if of_import_table != token.name and "?" not in token.name and is_known(of_import_table, knowledge):
        return SymbolSubject(text=of_import_table, position=at, by_linker=True)
    if not _is_name(token.name, knowledge, sure):
        return None
    cut = token.is_cut_off(text) or line.rstrip().endswith("\u2026")
    return SymbolSubject(text=token.name, position=at, library=token.library, version=token.version, cut_off=cut)


def _as_message(sentence: str, at: int) -> FoundSubject | FoundMessage | None:
    """The name in a sentence of a program as its subject."""
    found = find_messages(sentence)
    return msgspec.structs.replace(found[0], position=at) if found else None


def _is_name(name: str, knowledge: Knowledge, sure: bool) -> bool:
    """Whether a line with one word or phrase is a name."""
    if classify(name.removeprefix("__imp_")) is not NameKind.C or pasted_names.restore_prefix(name) is not None:
        return True
    if re.fullmatch(r"[A-Za-z_$.][A-Za-z0-9_$.]*", name):
        # One word: prose, a path, or a C name.
        if sure:
            return True
        if is_plain_word(name) or "." in name or "_" not in name.strip("_") or name.isupper():
            return is_known(name, knowledge)
        if name.replace("_", "-").lower() in packages_by_name():
            return False
        # A package name may look like a C shim (`torch_geometric`).
        shim = name.startswith(SHIM_PREFIXES)
        return not shim or is_known(name, knowledge) or bool(near_names.near(name, knowledge))
    if _CODE.intersection(name.replace("operator=", "operator")) or qualified_name(name) is None:
        return False
    if "::" in name.split("(", 1)[0]:
        return True
    # A call looks the same: only types show that it is a declaration.
    parameters = name.partition("(")[2].rpartition(")")[0]
    return bool(parameters) and all(
        "::" in each or _TYPES.intersection(re.split(r"[\s*&]+", each)) for each in parameters.split(",")
    )
