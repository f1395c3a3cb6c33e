"""<expr-primary>: literals in template arguments, except the most common (`itanium.py`); see `productions.py`.

A separate module because few names need it: it is imported on use.
"""

from __future__ import annotations

import sys
from typing import Final

from abiscan.mangling.parser.name_nodes import ClosureType
from abiscan.mangling.parser.productions import Productions
from abiscan.mangling.parser.render import Ident, Node, phrase

_HEX: Final = frozenset("0123456789abcdef")
# <float> literals: type letter to the name of the type.
_FLOATS: Final = {"f": "float", "d": "double", "e": "long double", "g": "__float128"}


def other_literal(p: Productions) -> Node:
    """<expr-primary> after its L, except integers, bool and encodings."""
    text = p.text
    at = p.at
    char = text[at]
    if char in _FLOATS:
        end = at + 1
        while text[end] in _HEX:
            end += 1
        if end == at + 1 or text[end] != "E":
            raise p.fail("a floating-point value")
        p.at = end + 1
        return Ident(_float_text(char, text[at + 1 : end]))
    if char == "A":
        type_ = p.type()
        p.need("E")
        return phrase('"<', type_, '>"')
    if char == "D" and text[at + 1] == "n":
        p.at = at + 2
        p.take("0")
        p.need("E")
        return Ident("nullptr")
    if char == "U":
        closure = p.unnamed_type()
        p.need("E")
        if not isinstance(closure, ClosureType):
            raise p.fail("a lambda")
        return phrase("[]", closure.signature, "{...}")
    # A value of a type without literals of its own: an enumerator.
    return phrase("(", p.type(), ")", p.literal_value())


# Type letter -> number of hexadecimal digits of a value, suffix of the literal in C++.
_IEEE_FORMATS: Final = {"f": (8, "f"), "d": (16, "")}
# x87's long double: 15 bits of exponent, then 64 of the significand, the first of which is the integer part.
_X87_DIGITS: Final = 20


def _float_text(letter: str, digits: str) -> str:
    """A floating-point value as C's `%a` prints it; the raw bits if the type's layout depends on the machine."""
    sign = "-" if digits[0] > "7" else ""
    if letter == "e" and len(digits) == _X87_DIGITS:
        return f"{sign}{_x87_text(digits)}L"
    length, suffix = _IEEE_FORMATS.get(letter, (0, ""))
    if len(digits) != length:
        return f"({_FLOATS[letter]})0x{digits}"
    stored = memoryview(int(digits, 16).to_bytes(length // 2, sys.byteorder))
    value = (stored.cast("f") if letter == "f" else stored.cast("d"))[0]
    whole, exponent, power = value.hex().lstrip("-").partition("p")
    if exponent:
        whole = whole.rstrip("0").rstrip(".")
    return f"{sign}{whole}{exponent}{power}{suffix}"


def _x87_text(digits: str) -> str:
    exponent = int(digits[:4], 16) & 0x7FFF
    if exponent == 0x7FFF:
        return "inf" if digits[4:] == "8" + "0" * 15 else "nan"
    if exponent == 0 and not digits[4:].strip("0"):
        return "0x0p+0"
    # glibc prints the first four bits before the point.
    fraction = digits[5:].rstrip("0")
    return f"0x{digits[4]}{'.' if fraction else ''}{fraction}p{max(exponent, 1) - 0x3FFF - 3:+d}"
