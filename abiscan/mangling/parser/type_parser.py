"""<type>; see `productions.py`."""

from __future__ import annotations

from typing import Final

from abiscan.mangling.parser.codes import BUILTIN_TYPES, D_BUILTIN_TYPES
from abiscan.mangling.parser.cursor import DIGITS, NESTING_LIMIT, NameTooComplex
from abiscan.mangling.parser.name_nodes import Module, Template
from abiscan.mangling.parser.productions import Productions
from abiscan.mangling.parser.render import Ident, Node, phrase
from abiscan.mangling.parser.type_nodes import (
    Array,
    Expansion,
    Function,
    MemberPointer,
    Pointer,
    Qualified,
    ReferenceType,
)

_NESTED_OR_SOURCE_NAME: Final = frozenset("N123456789")
_BUILTINS: Final[dict[str, Node]] = {letter: Ident(text) for letter, text in BUILTIN_TYPES.items()}
_D_BUILTINS: Final[dict[str, Node]] = {letter: Ident(text) for letter, text in D_BUILTIN_TYPES.items()}


class TypeParser(Productions):
    """Types. Later substitutions may refer to all but the builtin ones."""

    __slots__ = ()

    def type(self) -> Node:
        """<type>"""
        text = self.text
        at = self.at
        char = text[at]
        builtin = _BUILTINS.get(char)
        if builtin is not None:
            self.at = at + 1
            return builtin
        self._depth += 1
        if self._depth > NESTING_LIMIT:
            raise NameTooComplex("nested too deeply")
        result: Node
        if char == "S":
            if text[at + 1] == "t":
                result = self.name(None)
            else:
                result = self.substitution()
                if isinstance(result, Module):
                    result = self.unqualified_name(None, None, result)
                    if text[self.at] == "I":
                        self._subs.append(result)
                        result = Template(result, self.template_args())
                elif text[self.at] == "I" and self._args_allowed:
                    result = Template(result, self.template_args())
                else:
                    # It is a substitution already.
                    self._depth -= 1
                    return result
        elif char in _NESTED_OR_SOURCE_NAME:
            result = self.name(None)
        elif char == "R":
            self.at = at + 1
            result = ReferenceType(self.type(), "&")
        elif char == "P":
            self.at = at + 1
            result = Pointer(self.type())
        elif char in {"K", "V", "r"}:
            result = self._qualified_type()
        elif char == "T":
            if text[at + 1] in "sue":
                # <elaborated-type>: struct, union, enum
                self.at = at + 2
                result = self.name(None)
            else:
                result = self.template_param()
                if text[self.at] == "I" and self._args_allowed:
                    self._subs.append(result)
                    result = Template(result, self.template_args())
        elif char == "O":
            self.at = at + 1
            result = ReferenceType(self.type(), "&&")
        elif char == "D":
            result = self._d_type()
            if result.leaf:
                # <builtin-type>s are not substitution candidates.
                self._depth -= 1
                return result
        elif char == "F":
            result = self._function_type()
        elif char == "A":
            result = self._array_type()
        elif char == "M":
            self.at = at + 1
            of = self.type()
            result = MemberPointer(self.type(), of)
        elif char == "U":
            result = self._vendor_qualified()
        elif char == "u":
            self.at = at + 1
            result = self.source_name()
            if text[self.at] == "I":
                result = phrase(result, "(", self.template_args(), ")")
        elif char == "C":
            self.at = at + 1
            result = Qualified(self.type(), " complex")
        elif char == "G":
            self.at = at + 1
            result = Qualified(self.type(), " imaginary")
        else:
            result = self.name(None)
        self._subs.append(result)
        self._depth -= 1
        return result

    def _qualified_type(self) -> Node:
        text = self.text
        start = self.at
        qualifiers = self.cv_qualifiers()
        char = text[self.at]
        if char == "F" or (char == "D" and text[self.at + 1] in "oOwx"):
            self.at = start
            return self._function_type()
        return Qualified(self.type(), qualifiers)

    def _vendor_qualified(self) -> Node:
        """U <source-name> [<template-args>] <type>"""
        self.at += 1
        qualifier = self.source_name()
        args = ("<", self.template_args(), ">") if self.text[self.at] == "I" else ()
        return phrase(self.type(), " ", qualifier, *args)

    def _function_type(self) -> Node:
        """[<CV-qualifiers>] [<exception-spec>] [Dx] F [Y] <bare-function-type> [<ref-qualifier>] E"""
        text = self.text
        qualifiers = self.cv_qualifiers()
        exception: Node | None = None
        if self.take("Do"):
            exception = Ident("noexcept")
        elif self.take("DO"):
            exception = phrase("noexcept(", self.expression(), ")")
            self.need("E")
        elif self.take("Dw"):
            exception = phrase("throw(", self.until_end(self.type), ")")
        self.take("Dx")
        self.need("F")
        self.take("Y")
        ret = self.type()
        params: list[Node] = []
        while True:
            char = text[self.at]
            if char == "E":
                self.at += 1
                break
            if char == "v":
                self.at += 1
                continue
            if char in {"R", "O"} and text[self.at + 1] == "E":
                qualifiers += " &" if char == "R" else " &&"
                self.at += 2
                break
            params.append(self.type())
        return Function(ret, tuple(params), qualifiers, exception)

    def _array_type(self) -> Node:
        """A [<number> | <expression>] _ <type>"""
        self.at += 1
        bound = self._dimension()
        return Array(self.type(), bound)

    def _dimension(self) -> Node | None:
        """[<number> | <expression>] _"""
        char = self.text[self.at]
        bound: Node | None = None
        if char in DIGITS:
            bound = Ident(self.number())
        elif char != "_":
            bound = self.expression()
        self.need("_")
        return bound

    def _d_type(self) -> Node:
        """Types that begin with D. A leaf is a builtin type."""
        text = self.text
        at = self.at
        letter = text[at + 1]
        builtin = _D_BUILTINS.get(letter)
        if builtin is not None:
            self.at = at + 2
            return builtin
        if letter == "p":
            self.at = at + 2
            return Expansion(self.type())
        if letter in {"t", "T"}:
            return self.decltype()
        if letter in "oOwx":
            return self._function_type()
        self.at = at + 2
        if letter == "v":
            # <vector-type> ::= Dv [<number> | <expression>] _ (<type> | p)
            size = self._dimension()
            of = Ident("pixel") if self.take("p") else self.type()
            return phrase(of, " vector[", () if size is None else size, "]")
        if letter == "F":
            bits = self.number()
            suffix = text[self.at]
            if not bits or suffix not in "_bx":
                raise self.fail("a floating-point type")
            self.at += 1
            return Ident("std::bfloat16_t" if suffix == "b" else f"_Float{bits}{'x' if suffix == 'x' else ''}")
        if letter in {"B", "U"}:
            size = self._dimension()
            if size is None:
                raise self.fail("a number of bits")
            return phrase("_BitInt(" if letter == "B" else "unsigned _BitInt(", size, ")")
        if letter in {"k", "K"}:
            return phrase(self.name(None), " auto" if letter == "k" else " decltype(auto)")
        raise self.fail("a type")

    def decltype(self) -> Node:
        """<decltype> ::= Dt <expression> E | DT <expression> E"""
        self.at += 2
        inner = self.expression()
        self.need("E")
        return phrase("decltype(", inner, ")")
