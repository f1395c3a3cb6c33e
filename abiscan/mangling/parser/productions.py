"""Common part of all productions of the grammar: parser state, substitutions, parameters and source names.

`Productions` declares the productions that others refer to; `type_parser.py`, `name_parser.py` and `template_parser.py`
have those of one chapter each, and `itanium.py` combines them. Productions are named as in
https://itanium-cxx-abi.github.io/cxx-abi/abi.html, chapter "Mangling". Where the grammar is ambiguous or compilers
deviate from it, this follows LLVM's and GNU's demanglers, because users see their output.

Names come from untrusted files: every step consumes at least one character, nesting is bounded, and every other error
is a `NameSyntaxError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from abiscan.mangling.parser.codes import STD_ABBREVIATIONS
from abiscan.mangling.parser.cursor import DIGITS, Cursor
from abiscan.mangling.parser.name_nodes import ClosureType, Module, StdAbbreviation, Tagged
from abiscan.mangling.parser.render import Ident, Node
from abiscan.mangling.parser.type_nodes import Either, ForwardParam

_AUTO: Final = Ident("auto")


class FunctionSignature(Struct):
    """Properties of an encoding's name that determine the signature after it.

    Attributes:
        has_args: whether the name ends with template arguments, so that the return type is mangled.
        no_return_type: whether it is a constructor, destructor or conversion operator.
        explicit_object: whether the first parameter is an explicit object parameter (`H`).
        qualifiers: of a member function, in C++ syntax.
    """

    has_args: bool = False
    no_return_type: bool = False
    explicit_object: bool = False
    qualifiers: str = ""


class Productions(Cursor):
    """One pass over one mangled name.

    Attributes:
        declared: whether some template argument includes the declaration of its parameter.
        clang: whether to number substitutions like Clang where it differs from GCC: in `srN...E` (GCC counts the
            prefixes, as of a <nested-name>) and in the base class of `CI1` (GCC counts it, as a <type>). The name
            itself does not show its compiler.
    """

    __slots__ = (
        "_args_allowed",
        "_forward",
        "_forward_allowed",
        "_in_constraint",
        "_lambda_level",
        "_params",
        "_subs",
        "_synthetic",
        "clang",
        "declared",
    )

    def __init__(self, text: str, at: int = 0, clang: bool = False) -> None:
        super().__init__(text, at)
        self.declared = False
        self.clang = clang
        # Targets of S_, S0_, ...
        self._subs: list[Node] = []
        # Arguments for T_, T0_, TL0__ ..., by level; None for a level that has only a lambda's `auto`.
        self._params: list[list[Node] | None] = []
        self._forward: list[ForwardParam] = []
        self._forward_allowed = False
        self._args_allowed = True
        self._in_constraint = False
        self._lambda_level = -1
        # Number of types, values and templates with invented names.
        self._synthetic = [0, 0, 0]

    # --- productions of the other chapters, which the parser has as methods

    encoding: Callable[[], Node]
    # Of the encoding with this name; None for a name within a type.
    name: Callable[[FunctionSignature | None], Node]
    # (signature, scope, module)
    unqualified_name: Callable[[FunctionSignature | None, Node | None, Module | None], Node]
    unnamed_type: Callable[[], Node]
    closure: Callable[[], ClosureType]
    operator_name: Callable[[FunctionSignature | None], Node]
    type: Callable[[], Node]
    decltype: Callable[[], Node]
    constraint: Callable[[], Node]
    template_args: Callable[..., tuple[Node, ...]]
    template_arg: Callable[[], Node]
    expression: Callable[[], Node]
    expr_primary: Callable[[], Node]

    # --- <source-name>, <abi-tags>, <module-name>, <CV-qualifiers>

    def source_name(self) -> Ident:
        """<source-name> ::= <length> <identifier>"""
        text = self.text
        start = at = self.at
        while text[at] in DIGITS:
            at += 1
        if at == start or at - start > 6:
            raise self.fail("a length")
        length = int(text[start:at])
        end = at + length
        if length == 0 or end > len(text) - 3:
            raise self.fail(f"an identifier of {length} characters")
        self.at = end
        identifier = text[at:end]
        if length >= 10 and identifier[:8] == "_GLOBAL_" and identifier[8] in "._$" and identifier[9] == "N":
            return Ident("(anonymous namespace)")
        return Ident(identifier)

    def abi_tags(self, name: Node) -> Node:
        """<abi-tags> ::= (B <source-name>)*"""
        while self.text[self.at] == "B":
            self.at += 1
            name = Tagged(name, self.source_name().text)
        return name

    def module_prefix(self) -> Module | None:
        return self.module_name() if self.text[self.at] == "W" else None

    def module_name(self) -> Module:
        """<module-name> ::= (W [P] <source-name>)+"""
        module: Module | None = None
        if self.text[self.at] == "S":
            found = self.substitution()
            if not isinstance(found, Module):
                raise self.fail("a module")
            module = found
        while self.text[self.at] == "W":
            self.at += 1
            before = "" if module is None else module.text
            mark = ":" if self.take("P") else "." if before else ""
            module = Module(f"{before}{mark}{self.source_name().text}")
            self._subs.append(module)
        if module is None:
            raise self.fail("a module")
        return module

    def cv_qualifiers(self) -> str:
        """<CV-qualifiers> ::= [r] [V] [K], in C++ syntax"""
        text = self.text
        at = self.at
        restrict = volatile = const = ""
        if text[at] == "r":
            restrict = " restrict"
            at += 1
        if text[at] == "V":
            volatile = " volatile"
            at += 1
        if text[at] == "K":
            const = " const"
            at += 1
        self.at = at
        return const + volatile + restrict

    # --- <substitution>, <template-param>

    def substitution(self) -> Node:
        """<substitution>, except St"""
        text = self.text
        at = self.at + 1
        char = text[at]
        if char == "_":
            self.at = at + 1
            if not self._subs:
                raise self.fail("an earlier component")
            return self._subs[0]
        if char in STD_ABBREVIATIONS:
            self.at = at + 1
            abbreviation: Node = StdAbbreviation(char, *STD_ABBREVIATIONS[char])
            if text[self.at] == "B":
                abbreviation = self.abi_tags(abbreviation)
                self._subs.append(abbreviation)
            return abbreviation
        self.at = at
        index = self.seq_id()
        if index >= len(self._subs):
            raise self.fail("an earlier component")
        return self._subs[index]

    def template_param(self) -> Node:
        """<template-param> ::= T [L <level> _] [<index>] _"""
        start = self.at
        self.at = start + 1
        level = 0
        if self.text[self.at] == "L":
            self.at += 1
            level = self.index()
            if level == 0:
                raise self.fail("a level")
        index = self.index()
        params = self._params
        args = params[level] if level < len(params) else None
        arg = args[index] if args is not None and index < len(args) else None
        if self._in_constraint:
            shown = Ident(self.text[start : self.at - 1])
            return Either(shown, shown if arg is None else arg)
        if self._forward_allowed and level == 0:
            param = ForwardParam(index)
            self._forward.append(param)
            return param
        if arg is not None:
            return arg
        if self._lambda_level == level and level <= len(params):
            if level == len(params):
                params.append(None)
            return _AUTO
        raise self.fail("a template parameter that has an argument")

    # --- helpers of several productions

    def type_without_args(self) -> Node:
        """The <type> of a conversion: template arguments after it belong to the operator, not to its type."""
        args_allowed = self._args_allowed
        self._args_allowed = False
        type_ = self.type()
        self._args_allowed = args_allowed
        return type_

    def literal_value(self) -> str:
        """<value number> E of an <expr-primary>, in C++ syntax"""
        value = self.number(negative=True)
        if not value or value == "n":
            # GCC writes a null pointer of class type, and a value-initialised object, without a number.
            raise self.fail("a number")
        self.need("E")
        return "-" + value[1:] if value[0] == "n" else value

    def until_end(self, production: Callable[[], Node], end: str = "E") -> tuple[Node, ...]:
        """`production`* up to `end`, which is skipped."""
        nodes: list[Node] = []
        text = self.text
        while text[self.at] != end:
            nodes.append(production())
        self.at += 1
        return tuple(nodes)
