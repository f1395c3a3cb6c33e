"""<template-args>, <template-param-decl> and constraints; see `productions.py`."""

from __future__ import annotations

from typing import Final

from abiscan.mangling.parser.cursor import NESTING_LIMIT, NameTooComplex
from abiscan.mangling.parser.name_nodes import ClosureType
from abiscan.mangling.parser.productions import Productions
from abiscan.mangling.parser.render import Ident, Node, phrase
from abiscan.mangling.parser.type_nodes import ArgPack, DeclaredArg, Pack

_PARAMETER_DECLARATIONS: Final = frozenset("yptnk")


class TemplateParser(Productions):
    """Template arguments, and declarations of template parameters."""

    __slots__ = ()

    def template_args(self, referred_to: bool = False) -> tuple[Node, ...]:
        """<template-args> ::= I <template-arg>+ [Q <requires-clause>] E"""
        self._depth += 1
        if self._depth > NESTING_LIMIT:
            raise NameTooComplex("nested too deeply")
        text = self.text
        self.at += 1
        level: list[Node] = []
        if referred_to:
            self._params = [level]
        # Nothing is ambiguous within the brackets, even in the type of a conversion.
        args_allowed = self._args_allowed
        self._args_allowed = True
        args: list[Node] = []
        while text[self.at] != "E":
            arg = self.template_arg()
            args.append(arg)
            if referred_to:
                if type(arg) is DeclaredArg:
                    arg = arg.arg
                level.append(Pack(arg.nodes) if type(arg) is ArgPack else arg)
            if text[self.at] == "Q":
                # The requires-clause of the parameters; it is never rendered.
                self.constraint()
                break
        self.need("E")
        self._args_allowed = args_allowed
        self._depth -= 1
        return tuple(args)

    def template_arg(self) -> Node:
        """<template-arg>"""
        text = self.text
        char = text[self.at]
        if char == "X":
            self.at += 1
            arg = self.expression()
            self.need("E")
            return arg
        if char == "L":
            return self.expr_primary()
        if char == "J":
            self.at += 1
            self.deeper()
            arg = ArgPack(self.until_end(self.template_arg))
            self._depth -= 1
            return arg
        if char == "T" and text[self.at + 1] in _PARAMETER_DECLARATIONS:
            self.deeper()
            self.declared = True
            self._param_declaration(None)
            arg = DeclaredArg(self.template_arg())
            self._depth -= 1
            return arg
        return self.type()

    def _param_declaration(self, level: list[Node] | None) -> Node:
        """<template-param-decl>; the parameter gets an invented name and is appended to `level`."""
        self.deeper()
        kind = self.text[self.at + 1]
        self.at += 2
        declaration: Node
        if kind == "y":
            declaration = phrase("typename ", self._invent(0, level))
        elif kind == "k":
            concept = self.name(None)
            declaration = phrase(concept, " ", self._invent(0, level))
        elif kind == "n":
            name = self._invent(1, level)
            declaration = phrase(self.type(), " ", name)
        elif kind == "t":
            name = self._invent(2, level)
            declaration = phrase("template<", self._inner_declarations(), "> typename ", name)
        elif kind == "p":
            declaration = phrase(self._param_declaration(level), "...")
        else:
            raise self.fail("a template parameter's declaration")
        self._depth -= 1
        return declaration

    def _inner_declarations(self) -> tuple[Node, ...]:
        """<template-param-decl>* [Q <constraint-expression>] E of a template template parameter"""
        outer = self._params
        own: list[Node] = []
        self._params = [*outer, own]
        declared = []
        while self.text[self.at] != "E":
            declared.append(self._param_declaration(own))
            if self.text[self.at] == "Q":
                self.constraint()
                break
        self.need("E")
        self._params = outer
        return tuple(declared)

    def _invent(self, kind: int, level: list[Node] | None) -> Ident:
        """An invented parameter name, numbered as by LLVM's demangler."""
        number = self._synthetic[kind]
        self._synthetic[kind] += 1
        name = Ident(("$T", "$N", "$TT")[kind] + (str(number - 1) if number else ""))
        if level is not None:
            level.append(name)
        return name

    def constraint(self) -> Node:
        """Q <constraint-expression>"""
        self.need("Q")
        in_constraint = self._in_constraint
        self._in_constraint = True
        expression = self.expression()
        self._in_constraint = in_constraint
        return expression

    def closure(self) -> ClosureType:
        """<closure-type-name> ::= Ul <lambda-sig> E [<number>] _ , after its Ul"""
        text = self.text
        outer, lambda_level = self._params, self._lambda_level
        self._lambda_level = len(outer)
        own: list[Node] = []
        self._params = [*outer, own]
        declared = []
        while text[self.at] == "T" and text[self.at + 1] in _PARAMETER_DECLARATIONS:
            declared.append(self._param_declaration(own))
        if not declared:
            self._params.pop()
        signature: list[str | tuple[Node, ...] | Node] = ["<", tuple(declared), ">"] if declared else []
        if text[self.at] == "Q":
            signature += [" requires ", self.constraint(), " "]
        params: list[Node] = []
        if text[self.at] == "v":
            self.at += 1
        else:
            while True:
                params.append(self.type())
                if text[self.at] in "EQ":
                    break
        signature += ["(", tuple(params), ")"]
        if text[self.at] == "Q":
            signature += [" requires ", self.constraint(), " "]
        self.need("E")
        number = self.number()
        self.need("_")
        self._params, self._lambda_level = outer, lambda_level
        return ClosureType(phrase(*signature), number)
