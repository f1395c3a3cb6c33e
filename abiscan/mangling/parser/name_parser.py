"""<name>; see `productions.py`."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from abiscan.mangling.parser.codes import OPERATORS
from abiscan.mangling.parser.cursor import DIGITS, NESTING_LIMIT, NameTooComplex
from abiscan.mangling.parser.name_nodes import (
    Conversion,
    Friend,
    LiteralOperator,
    Local,
    Module,
    ModuleEntity,
    Nested,
    StdAbbreviation,
    Structor,
    Template,
)
from abiscan.mangling.parser.productions import FunctionSignature, Productions
from abiscan.mangling.parser.render import Ident, Node, phrase

_SOURCE_NAME_START: Final = frozenset("123456789")
_STD: Final = Ident("std")


class NameParser(Productions):
    """Names, up to the parameters."""

    __slots__ = ()

    def name(self, signature: FunctionSignature | None) -> Node:
        """<name> ::= <nested-name> | <unscoped-name> | <unscoped-template-name> <template-args> | <local-name>"""
        text = self.text
        char = text[self.at]
        if char == "N":
            return self._nested_name(signature)
        if char == "Z":
            return self._local_name(signature)
        name: Node
        if char == "S" and text[self.at + 1] != "t":
            name = self.substitution()
            if isinstance(name, Module):
                name = self.unqualified_name(signature, None, name)
            elif text[self.at] != "I":
                raise self.fail("template arguments")
            else:
                return Template(name, self._name_args(signature))
        else:
            # <unscoped-name> ::= [St] [<module-name>] <unqualified-name>
            scope = _STD if self.take("St") else None
            self.take("L")
            module = self.module_prefix()
            name = self.unqualified_name(signature, scope, module)
        if text[self.at] == "I":
            self._subs.append(name)
            name = Template(name, self._name_args(signature))
        return name

    def _name_args(self, signature: FunctionSignature | None) -> tuple[Node, ...]:
        if signature is None:
            return self.template_args()
        signature.has_args = True
        return self.template_args(referred_to=True)

    def _local_name(self, signature: FunctionSignature | None) -> Node:
        """<local-name> ::= Z <encoding> E (<entity name> | s | d [<number>] _ <entity name>) [<discriminator>]"""
        self.deeper()
        self.at += 1
        function = self.encoding()
        self.need("E")
        entity: Node
        if self.take("s"):
            self._discriminator()
            entity = Ident("string literal")
        else:
            default_argument = self.take("d")
            if default_argument:
                self.number(negative=True)
                self.need("_")
            params = self._params
            self._params = []
            entity = self.name(signature)
            # Its own signature refers to the arguments at the end of the entity's name.
            if signature is None or not self._params:
                self._params = params
            if not default_argument:
                self._discriminator()
        self._depth -= 1
        return Local(function, entity)

    def _discriminator(self) -> None:
        """<discriminator> ::= _ <digit> | __ <number> _ ; GCC also writes `_<number>` at the end of some names."""
        text = self.text
        at = self.at
        if text[at] != "_":
            return
        if text[at + 1] in DIGITS:
            self.at = at + 2
        elif text[at + 1] == "_":
            end = at + 2
            while text[end] in DIGITS:
                end += 1
            if end > at + 2 and text[end] == "_":
                self.at = end + 1

    def _nested_name(self, signature: FunctionSignature | None) -> Node:
        """<nested-name> ::= N [<CV-qualifiers>] [<ref-qualifier>] <prefix> <unqualified-name> [<template-args>] E"""
        self._depth += 1
        if self._depth > NESTING_LIMIT:
            raise NameTooComplex("nested too deeply")
        text = self.text
        subs = self._subs
        self.at += 1
        char = text[self.at]
        if char == "H":
            self.at += 1
            if signature is not None:
                signature.explicit_object = True
        elif char in "rVKRO":
            qualifiers = self.cv_qualifiers()
            if self.take("R"):
                qualifiers += " &"
            elif self.take("O"):
                qualifiers += " &&"
            if signature is not None:
                signature.qualifiers = qualifiers
        sofar: Node | None = None
        while True:
            at = self.at
            char = text[at]
            if char == "E":
                self.at = at + 1
                break
            if signature is not None:
                signature.has_args = False
            if char in _SOURCE_NAME_START:
                # <source-name>, by far the most frequent; an abi tag may follow.
                name: Node = self.source_name()
                if text[self.at] == "B":
                    name = self.abi_tags(name)
                sofar = name if sofar is None else Nested(sofar, name)
            elif char == "S":
                if text[at + 1] == "t":
                    if sofar is not None:
                        raise self.fail("no prefix before std")
                    self.at = at + 2
                    sofar = _STD
                    continue
                found = self.substitution()
                if isinstance(found, Module):
                    sofar = self.unqualified_name(signature, sofar, found)
                elif sofar is not None:
                    raise self.fail("no prefix before a substitution")
                else:
                    sofar = found
                    continue
            elif char == "I":
                if sofar is None or isinstance(sofar, Template):
                    raise self.fail("a template's name")
                sofar = Template(sofar, self._name_args(signature))
            elif char == "T":
                if sofar is not None:
                    raise self.fail("no prefix before a template parameter")
                sofar = self.template_param()
            elif char == "D" and text[at + 1] in "tT":
                if sofar is not None:
                    raise self.fail("no prefix before decltype")
                sofar = self.decltype()
            else:
                sofar = self.unqualified_name(signature, sofar, self.module_prefix())
            subs.append(sofar)
            # <data-member-prefix>, which older compilers wrote between a member and the closure in its initializer.
            if text[self.at] == "M":
                self.at += 1
        if sofar is None or not subs:
            raise self.fail("a name")
        # The whole name is not a prefix; as a type it is added by `type`.
        subs.pop()
        self._depth -= 1
        return sofar

    def unqualified_name(self, signature: FunctionSignature | None, scope: Node | None, module: Module | None) -> Node:
        """<unqualified-name>, within `scope`"""
        text = self.text
        friend = scope is not None and self.take("F")
        self.take("L")
        char = text[self.at]
        name: Node
        if char in _SOURCE_NAME_START:
            name = self.source_name()
        elif char == "U":
            if signature is not None:
                self._params = []
            name = self.unnamed_type()
        elif char == "D" and text[self.at + 1] == "C":
            # A structured binding.
            self.at += 2
            name = phrase("[", self.until_end(self.source_name), "]")
        elif char in {"C", "D"}:
            if scope is None or module is not None:
                raise self.fail("a class before its constructor")
            if isinstance(scope, StdAbbreviation):
                scope = replace(scope, expanded=True)
            name = self._structor(scope, signature)
        else:
            name = self.operator_name(signature)
        if module is not None:
            name = ModuleEntity(module, name)
        if text[self.at] == "B":
            name = self.abi_tags(name)
        if scope is None:
            return name
        return Friend(scope, name) if friend else Nested(scope, name)

    def _structor(self, scope: Node, signature: FunctionSignature | None) -> Node:
        """<ctor-dtor-name>; C4, C5, D4, D5 are specific to GCC."""
        text = self.text
        start = at = self.at
        destructor = text[at] == "D"
        inheriting = text[at : at + 2] == "CI"
        at += 1 + inheriting
        if text[at] not in ("01245" if destructor else "12345"):
            raise self.fail("a constructor's or destructor's variant")
        self.at = at + 1
        if signature is not None:
            signature.no_return_type = True
        if inheriting and self.clang:
            self.name(None)
        elif inheriting:
            self.type()
        return Structor(scope, destructor, text[start : at + 1])

    def unnamed_type(self) -> Node:
        """<unnamed-type-name>: Ut, Ul, Ub"""
        self.deeper()
        name: Node
        if self.take("Ut"):
            number = self.number()
            self.need("_")
            name = Ident(f"'unnamed{number}'")
        elif self.take("Ul"):
            name = self.closure()
        elif self.take("Ub"):
            self.number()
            self.need("_")
            name = Ident("'block-literal'")
        else:
            raise self.fail("an unnamed type")
        self._depth -= 1
        return name

    def operator_name(self, signature: FunctionSignature | None) -> Node:
        """<operator-name>"""
        text = self.text
        at = self.at
        code = text[at : at + 2]
        operator = OPERATORS.get(code)
        if operator is not None:
            if code in {"ds", "dt", "qu"}:
                raise self.fail("an operator that can be overloaded")
            self.at = at + 2
            return Ident("operator" + operator[0])
        if code == "cv":
            self.at = at + 2
            forward_allowed = self._forward_allowed
            self._forward_allowed = forward_allowed or signature is not None
            type_ = self.type_without_args()
            self._forward_allowed = forward_allowed
            if signature is not None:
                signature.no_return_type = True
            return Conversion(type_)
        if code == "li":
            self.at = at + 2
            suffix = self.source_name().text
            return LiteralOperator(f'operator"" {suffix}', suffix)
        if code[0] == "v" and code[1] in DIGITS:
            # A vendor operator; the digit is its number of operands.
            self.at = at + 2
            return Conversion(self.source_name())
        raise self.fail("an operator's name")
