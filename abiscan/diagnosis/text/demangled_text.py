"""Reads demangled names: their scopes, and a form that is equal for the output of two demanglers."""

from __future__ import annotations

import re
from typing import Final

# Long spellings of std::string in libstdc++ and libc++.
_STRING = re.compile(
    r"std::(?:__cxx11::|__1::)?basic_string<char,\s*std::(?:__1::)?char_traits<char>,\s*std::(?:__1::)?allocator<char>\s*>"
)
# Types of sources that demanglers print as builtin ones (Linux on 64 bits).
_OF_WIDTH: Final = {
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
}
DEMANGLED_LEADS: Final = (
    *("vtable for ", "typeinfo for ", "typeinfo name for ", "VTT for ", "guard variable for "),
    *("non-virtual thunk to ", "virtual thunk to "),
)
"""Words before the name of a special symbol in its demangled form (demangle.c of libiberty)."""
_FIXED_WIDTH = re.compile(r"\b(?:std::)?(u?int(?:8|32|64)_t|int16_t)\b")
IDENTIFIER = re.compile(r"~?[A-Za-z_]\w*")


def qualified_name(text: str) -> tuple[str, ...] | None:
    """The scopes and base of a demangled name, without return type, arguments and parameters; None if it is no name."""
    for lead in DEMANGLED_LEADS:
        text = text.removeprefix(lead)
    head = before_parameters(text)
    parts: list[str] = []
    part = ""
    depth = 0
    at = 0
    while at < len(head):
        char = head[at]
        if char in "<([{":
            depth += 1
        elif char in ">)]}":
            depth -= 1
        elif depth == 0:
            if head.startswith("::", at):
                parts.append(part)
                part = ""
                at += 2
                continue
            if char == " ":
                if part.startswith("operator"):
                    part += char
                else:
                    # A return type, `const` and similar words precede.
                    parts, part = [], ""
            else:
                part += char
        at += 1
    parts.append(part.split("[abi:")[0].strip("*&"))
    names = tuple(
        p for p in (re.sub(r"\[abi:.*", "", p).strip("*& ") for p in parts) if p and not p.startswith("__cxx11")
    )
    if not names or not all(IDENTIFIER.fullmatch(p) for p in names):
        return None
    return names


def before_parameters(text: str) -> str:
    """The part before the parameter list; `(anonymous namespace)` is not one."""
    depth = 0
    for at, char in enumerate(text):
        if char == "(" and depth == 0 and not text.startswith("(anonymous", at) and not text[:at].endswith("operator"):
            return text[:at]
        if char == "<" and not text[:at].endswith("operator"):
            depth += 1
        elif char == ">" and depth:
            depth -= 1
    return text


def comparable(text: str) -> str:
    """A normal form of a demangled text, equal for the output of two demanglers."""
    text = _STRING.sub("std::string", text)
    text = _FIXED_WIDTH.sub(lambda found: _OF_WIDTH[found[1]], text)
    text = re.sub(r"\[abi:\w+\]|__cxx11::|\(anonymous namespace\)|\s+", "", text)
    text = re.sub(r"(?<=,)\((?:int\)(\d{1,9})|(\d{1,9})\))(?=[,>])", r"\1\2", text)
    return text.replace("unsignedlong", "ulong")
