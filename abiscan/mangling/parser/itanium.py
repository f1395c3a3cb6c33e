"""Mangled names, read from the Itanium C++ ABI, chapter "Mangling".

https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling; productions are named as there. Where the grammar is
ambiguous or compilers differ from it, the readings of LLVM's and GNU's demanglers decide, because these are what users
see.

Names come from files that nobody vouches for: every step takes at least one character, nesting is bounded, and whatever
else goes wrong is a `NameSyntaxError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from abiscan.mangling.parse_errors import NameSyntaxError, NameTooComplex
from abiscan.mangling.parser.codes import (
    BUILTIN_TYPES,
    D_BUILTIN_TYPES,
    LITERAL_SUFFIX,
    OPERATORS,
    STD_ABBREVIATIONS,
)
from abiscan.mangling.parser.cursor import DIGITS, NESTING_LIMIT, Cursor
from abiscan.mangling.parser.nodes import (
    ArgPack,
    Args,
    Array,
    Bindings,
    Closure,
    Comma,
    ConstraintParam,
    Conversion,
    DeclaredArg,
    Encoding,
    Expansion,
    ForwardParam,
    Friend,
    Function,
    Ident,
    IntegerLiteral,
    LiteralOperator,
    Local,
    MemberPointer,
    Module,
    ModuleEntity,
    Nested,
    Node,
    Pack,
    Pointer,
    Qualified,
    Reference,
    Special,
    StdAbbreviation,
    Structor,
    Tagged,
    Template,
    Vector,
    VendorQualified,
    Wrapped,
)

_SOURCE_NAME_START: Final = frozenset("123456789")
_ENCODING_END: Final = frozenset("E._@")
_PARAMETER_DECLARATIONS: Final = frozenset("yptnk")
_QUALIFIER_TEXT: Final = {"r": " restrict", "V": " volatile", "K": " const"}

_BUILTINS: Final[dict[str, Node]] = {letter: Ident(text) for letter, text in BUILTIN_TYPES.items()}
_D_BUILTINS: Final[dict[str, Node]] = {letter: Ident(text) for letter, text in D_BUILTIN_TYPES.items()}
_STD: Final = Ident("std")
_AUTO: Final = Ident("auto")

# Special names that one <type> or <name> follows, with the text before it.
_SPECIAL_OF_TYPE: Final = {"V": "vtable for ", "T": "VTT for ", "I": "typeinfo for ", "S": "typeinfo name for "}
_SPECIAL_OF_NAME: Final = {
    "W": "thread-local wrapper routine for ",
    "H": "thread-local initialization routine for ",
}


class _State:
    """What the name of an encoding tells about the signature that follows it."""

    __slots__ = ("explicit_object", "first_forward", "has_args", "no_return_type", "qualifiers", "reference")

    def __init__(self, first_forward: int) -> None:
        self.has_args = False
        self.no_return_type = False
        self.explicit_object = False
        self.qualifiers = ""
        self.reference = ""
        self.first_forward = first_forward


class Parser(Cursor):
    """One pass over one mangled name.

    Attributes:
        declared: whether some template argument carried the declaration of its parameter.
        clang: read as Clang writes where it and GCC differ in what later substitutions may refer to: in `srN...E` (GCC
            counts the prefixes, as of a <nested-name>) and in the base class of `CI1` (GCC counts it, as a <type>).
            Nothing in a name tells which compiler made it.
    """

    __slots__ = (
        "_args_allowed",
        "_forward",
        "_forward_allowed",
        "_incomplete",
        "_lambda_level",
        "_outer",
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
        self._subs: list[Node] = []
        # Arguments that T_, T0_, TL0__ ... stand for, by level; None where a level has only a lambda's `auto`.
        self._outer: list[Node] = []
        self._params: list[list[Node] | None] = []
        self._forward: list[ForwardParam] = []
        self._forward_allowed = False
        self._args_allowed = True
        self._incomplete = False
        self._lambda_level = -1
        self._synthetic = [0, 0, 0]

    # --- <encoding>, <special-name>

    def encoding(self) -> Node:
        """<encoding> ::= <function name> <bare-function-type> | <data name> | <special-name>"""
        text = self.text
        first = text[self.at]
        if first in {"G", "T"}:
            return self._special_name()
        self.deeper()
        params, outer = self._params, self._outer
        self._params, self._outer = [], []
        state = _State(len(self._forward))
        name = self.name(state)
        self._resolve_forward(state)
        at = self.at
        char = text[at]
        if char == "\0" or char in _ENCODING_END:
            encoding = Encoding(name, None, None, _function_qualifiers(state))
        else:
            encoding = self._function(name, state)
        self._params, self._outer = params, outer
        self._depth -= 1
        return encoding

    def _function(self, name: Node, state: _State) -> Encoding:
        text = self.text
        attributes: Node | None = None
        if text[self.at] == "U" and self.take("Ua9enable_ifI"):
            attributes = Comma(" [enable_if:", self._until_end(self.template_arg), "]")
        ret = None
        if state.has_args and not state.no_return_type:
            ret = self.type()
        params: list[Node] = []
        if text[self.at] == "v":
            self.at += 1
        else:
            while True:
                params.append(self.type())
                char = text[self.at]
                if char == "\0" or char in _ENCODING_END or char == "Q":
                    break
            if state.explicit_object:
                params[0] = Wrapped("this ", params[0], "")
        requires = self._constraint() if text[self.at] == "Q" else None
        return Encoding(name, ret, tuple(params), _function_qualifiers(state), requires=requires, attributes=attributes)

    def _special_name(self) -> Node:
        """<special-name>"""
        self.deeper()
        text = self.text
        at = self.at
        code = text[at : at + 2]
        self.at = at + 2
        special: Node
        if code[0] == "T":
            letter = code[1]
            if letter in _SPECIAL_OF_TYPE:
                special = Special(code, _SPECIAL_OF_TYPE[letter], self.type())
            elif letter in _SPECIAL_OF_NAME:
                special = Special(code, _SPECIAL_OF_NAME[letter], self.name(None))
            elif letter == "A":
                special = Special(code, "template parameter object for ", self.template_arg())
            elif letter in {"h", "v"}:
                self.at -= 1
                self._call_offset()
                phrase = "non-virtual thunk to " if letter == "h" else "virtual thunk to "
                special = Special(code, phrase, self.encoding())
            elif letter == "c":
                self._call_offset()
                self._call_offset()
                special = Special(code, "covariant return thunk to ", self.encoding())
            elif letter == "C":
                derived = self.type()
                self.number()
                self.need("_")
                special = Special(code, "construction vtable for ", derived, self.type())
            else:
                raise self.fail("a special name")
        elif code == "GV":
            special = Special(code, "guard variable for ", self.name(None))
        elif code == "GR":
            of = self.name(None)
            # <object name> [<seq-id>] _ ; GCC before 5 left the underscore out.
            if text[self.at] != "\0":
                self.seq_id()
            special = Special(code, "reference temporary for ", of)
        elif code == "GI":
            special = Special(code, "initializer for module ", self._module_name())
        elif code == "GT":
            kind = text[self.at]
            if kind not in "tn":
                raise self.fail("t or n")
            self.at += 1
            phrase = "transaction clone for " if kind == "t" else "non-transaction clone for "
            special = Special(code, phrase, self.encoding())
        else:
            raise self.fail("a special name")
        self._depth -= 1
        return special

    def _call_offset(self) -> None:
        """<call-offset> ::= h <nv-offset> _ | v <v-offset> _"""
        if self.take("h"):
            offsets = 1
        elif self.take("v"):
            offsets = 2
        else:
            raise self.fail("a call offset")
        for _ in range(offsets):
            if not self.number(negative=True):
                raise self.fail("a number")
            self.need("_")

    def _resolve_forward(self, state: _State) -> None:
        forward = self._forward
        for param in forward[state.first_forward :]:
            level = self._params[0] if self._params else None
            if level is None or param.index >= len(level):
                raise self.fail("an argument for the conversion operator's parameter")
            param.target = level[param.index]
        del forward[state.first_forward :]

    # --- <name>

    def name(self, state: _State | None) -> Node:
        """<name>; `state` is that of the encoding whose name it is, None for a name within a type."""
        text = self.text
        char = text[self.at]
        if char == "N":
            return self._nested_name(state)
        if char == "Z":
            return self._local_name(state)
        name: Node
        if char == "S" and text[self.at + 1] != "t":
            name = self.substitution()
            if isinstance(name, Module):
                name = self._unqualified(state, None, name)
            elif text[self.at] != "I":
                raise self.fail("template arguments")
            else:
                return Template(name, self._name_args(state))
        else:
            name = self._unscoped_name(state)
        if text[self.at] == "I":
            self._subs.append(name)
            name = Template(name, self._name_args(state))
        return name

    def _name_args(self, state: _State | None) -> Args:
        if state is None:
            return self.template_args()
        state.has_args = True
        return self.template_args(tag=True)

    def _unscoped_name(self, state: _State | None) -> Node:
        """<unscoped-name> ::= [St] [<module-name>] <unqualified-name>"""
        scope: Node | None = None
        if self.take("St"):
            scope = _STD
        self.take("L")
        module = self._module_prefix()
        return self._unqualified(state, scope, module)

    def _local_name(self, state: _State | None) -> Node:
        """<local-name> ::= Z <encoding> E (<entity name> | s | d [<number>] _ <entity name>) [<discriminator>]"""
        self.deeper()
        self.at += 1
        function = self.encoding()
        self.need("E")
        entity: Node
        text = self.text
        if text[self.at] == "s":
            self.at += 1
            self._discriminator()
            entity = Ident("string literal")
        else:
            default_argument = text[self.at] == "d"
            if default_argument:
                self.at += 1
                self.number(negative=True)
                self.need("_")
            params, outer = self._params, self._outer
            self._params, self._outer = [], []
            entity = self.name(state)
            # The arguments that the entity's name ends with are what its own signature refers to.
            if state is None or not self._params:
                self._params, self._outer = params, outer
            if not default_argument:
                self._discriminator()
        self._depth -= 1
        return Local(function, entity)

    def _discriminator(self) -> None:
        """<discriminator> ::= _ <digit> | __ <number> _ ; GCC writes `_<number>` at the end of some names too."""
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

    def _nested_name(self, state: _State | None) -> Node:
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
            if state is not None:
                state.explicit_object = True
        elif char in "rVKRO":
            qualifiers = self._cv_qualifiers()
            reference = ""
            if self.take("R"):
                reference = " &"
            elif self.take("O"):
                reference = " &&"
            if state is not None:
                state.qualifiers = qualifiers
                state.reference = reference
        sofar: Node | None = None
        while True:
            at = self.at
            char = text[at]
            if char == "E":
                self.at = at + 1
                break
            if state is not None:
                state.has_args = False
            if char in _SOURCE_NAME_START:
                # <source-name>, by far the most frequent; an abi tag may follow.
                name: Node = self.source_name()
                if text[self.at] == "B":
                    name = self._abi_tags(name)
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
                    sofar = self._unqualified(state, sofar, found)
                elif sofar is not None:
                    raise self.fail("no prefix before a substitution")
                else:
                    sofar = found
                    continue
            elif char == "I":
                if sofar is None or isinstance(sofar, Template):
                    raise self.fail("a template's name")
                sofar = Template(sofar, self._name_args(state))
            elif char == "T":
                if sofar is not None:
                    raise self.fail("no prefix before a template parameter")
                sofar = self.template_param()
            elif char == "D" and text[at + 1] in "tT":
                if sofar is not None:
                    raise self.fail("no prefix before decltype")
                sofar = self.decltype()
            else:
                sofar = self._unqualified(state, sofar, self._module_prefix())
            subs.append(sofar)
            # <data-member-prefix>, which older compilers wrote between a member and the closure in its initializer.
            if text[self.at] == "M":
                self.at += 1
        if sofar is None or not subs:
            raise self.fail("a name")
        subs.pop()
        self._depth -= 1
        return sofar

    def _unqualified(self, state: _State | None, scope: Node | None, module: Module | None) -> Node:
        """<unqualified-name>, within `scope`."""
        text = self.text
        friend = scope is not None and self.take("F")
        self.take("L")
        char = text[self.at]
        name: Node
        if char in _SOURCE_NAME_START:
            name = self.source_name()
        elif char == "U":
            name = self.unnamed_type(state)
        elif char == "D" and text[self.at + 1] == "C":
            self.at += 2
            name = Bindings(self._until_end(self.source_name))
        elif char in {"C", "D"}:
            if scope is None or module is not None:
                raise self.fail("a class before its constructor")
            if isinstance(scope, StdAbbreviation):
                scope = StdAbbreviation(scope.letter, expanded=True)
            name = self._structor(scope, state)
        else:
            name = self.operator_name(state)
        if module is not None:
            name = ModuleEntity(module, name)
        if text[self.at] == "B":
            name = self._abi_tags(name)
        if scope is None:
            return name
        return Friend(scope, name) if friend else Nested(scope, name)

    def source_name(self) -> Node:
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

    def _abi_tags(self, name: Node) -> Node:
        """<abi-tags> ::= (B <source-name>)*"""
        text = self.text
        while text[self.at] == "B":
            self.at += 1
            tag = self.source_name()
            assert isinstance(tag, Ident)
            name = Tagged(name, tag.text)
        return name

    def _module_prefix(self) -> Module | None:
        if self.text[self.at] != "W":
            return None
        return self._module_name()

    def _module_name(self) -> Module:
        """<module-name> ::= (W [P] <source-name>)+"""
        module: Module | None = None
        if self.text[self.at] == "S":
            found = self.substitution()
            if not isinstance(found, Module):
                raise self.fail("a module")
            module = found
        while self.text[self.at] == "W":
            self.at += 1
            partition = self.take("P")
            module = Module(module, self.source_name(), partition)
            self._subs.append(module)
        if module is None:
            raise self.fail("a module")
        return module

    def _structor(self, scope: Node, state: _State | None) -> Node:
        """<ctor-dtor-name>; C4, C5, D4, D5 are GCC's."""
        text = self.text
        at = self.at
        if text[at] == "C":
            inheriting = text[at + 1] == "I"
            at += 1 + inheriting
            if text[at] not in "12345":
                raise self.fail("a constructor's variant")
            variant = text[self.at : at + 1]
            self.at = at + 1
            if state is not None:
                state.no_return_type = True
            if inheriting and self.clang:
                self.name(None)
            elif inheriting:
                self.type()
            return Structor(scope, False, variant)
        if text[at + 1] not in "01245":
            raise self.fail("a destructor's variant")
        self.at = at + 2
        if state is not None:
            state.no_return_type = True
        return Structor(scope, True, text[at : at + 2])

    def unnamed_type(self, state: _State | None = None) -> Node:
        """<unnamed-type-name>: Ut, Ul, Ub"""
        self.deeper()
        if state is not None:
            self._params = []
        name: Node
        if self.take("Ut"):
            number = self.number()
            self.need("_")
            name = Ident(f"'unnamed{number}'")
        elif self.take("Ul"):
            name = self._closure()
        elif self.take("Ub"):
            self.number()
            self.need("_")
            name = Ident("'block-literal'")
        else:
            raise self.fail("an unnamed type")
        self._depth -= 1
        return name

    def _closure(self) -> Node:
        text = self.text
        levels = self._params
        lambda_level = self._lambda_level
        self._lambda_level = len(levels)
        own: list[Node] = []
        self._params = [*levels, own]
        declared = []
        while text[self.at] == "T" and text[self.at + 1] in _PARAMETER_DECLARATIONS:
            declared.append(self._param_declaration(own))
        if not declared:
            self._params.pop()
        requires = self._constraint() if text[self.at] == "Q" else None
        params: list[Node] = []
        if text[self.at] == "v":
            self.at += 1
        else:
            while True:
                params.append(self.type())
                if text[self.at] == "E" or text[self.at] == "Q":
                    break
        requires_after = self._constraint() if text[self.at] == "Q" else None
        self.need("E")
        number = self.number()
        self.need("_")
        self._params = levels
        self._lambda_level = lambda_level
        return Closure(tuple(declared), requires, tuple(params), requires_after, number)

    def operator_name(self, state: _State | None) -> Node:
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
            self._forward_allowed = forward_allowed or state is not None
            type_ = self.type_without_args()
            self._forward_allowed = forward_allowed
            if state is not None:
                state.no_return_type = True
            return Conversion(type_)
        if code == "li":
            self.at = at + 2
            return LiteralOperator(self.source_name())
        if code[0] == "v" and code[1] in DIGITS:
            self.at = at + 2
            return Conversion(self.source_name())
        raise self.fail("an operator's name")

    # --- <substitution>, <template-param>, <template-args>

    def substitution(self) -> Node:
        """<substitution>, but for St"""
        text = self.text
        at = self.at + 1
        char = text[at]
        if char == "_":
            self.at = at + 1
            if not self._subs:
                raise self.fail("something to refer to")
            return self._subs[0]
        if char in STD_ABBREVIATIONS:
            self.at = at + 1
            abbreviation: Node = StdAbbreviation(char)
            if text[self.at] == "B":
                abbreviation = self._abi_tags(abbreviation)
                self._subs.append(abbreviation)
            return abbreviation
        self.at = at
        index = self.seq_id()
        if index >= len(self._subs):
            raise self.fail("something to refer to")
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
        if self._incomplete:
            args = self._params[level] if level < len(self._params) else None
            arg = args[index] if args is not None and index < len(args) else None
            return ConstraintParam(self.text[start : self.at - 1], arg)
        if self._forward_allowed and level == 0:
            param = ForwardParam(index)
            self._forward.append(param)
            return param
        params = self._params
        if level < len(params):
            args = params[level]
            if args is not None and index < len(args):
                return args[index]
        if self._lambda_level == level and level <= len(params):
            if level == len(params):
                params.append(None)
            return _AUTO
        raise self.fail("a template parameter that has an argument")

    def template_args(self, tag: bool = False) -> Args:
        """<template-args> ::= I <template-arg>+ [Q <requires-clause>] E; `tag`: later T_ refer to these."""
        self._depth += 1
        if self._depth > NESTING_LIMIT:
            raise NameTooComplex("nested too deeply")
        text = self.text
        self.at += 1
        if tag:
            self._outer = []
            self._params = [self._outer]
        outer = self._outer
        # Within the brackets nothing is ambiguous any more, also in the type of a conversion.
        args_allowed = self._args_allowed
        self._args_allowed = True
        args: list[Node] = []
        requires = None
        while text[self.at] != "E":
            arg = self.template_arg()
            args.append(arg)
            if tag:
                if type(arg) is DeclaredArg:
                    arg = arg.arg
                outer.append(Pack(arg.nodes) if type(arg) is ArgPack else arg)
            if text[self.at] == "Q":
                requires = self._constraint()
                break
        self.need("E")
        self._args_allowed = args_allowed
        self._depth -= 1
        return Args(tuple(args), requires)

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
            arg = ArgPack(self._until_end(self.template_arg))
            self._depth -= 1
            return arg
        if char == "T" and text[self.at + 1] in _PARAMETER_DECLARATIONS:
            self.deeper()
            self.declared = True
            declaration = self._param_declaration(None)
            arg = DeclaredArg(declaration, self.template_arg())
            self._depth -= 1
            return arg
        return self.type()

    def _param_declaration(self, params: list[Node] | None) -> Node:
        """<template-param-decl>; the parameter gets an invented name, and joins `params`."""
        self.deeper()
        text = self.text
        kind = text[self.at + 1]
        self.at += 2
        declaration: Node
        if kind == "y":
            declaration = Wrapped("typename ", self._invent(0, params), "")
        elif kind == "k":
            concept = self.name(None)
            declaration = Wrapped("", concept, " " + self._invent(0, params).text)
        elif kind == "n":
            name = self._invent(1, params)
            type_ = self.type()
            declaration = Wrapped("", type_, " " + name.text)
        elif kind == "t":
            name = self._invent(2, params)
            levels = self._params
            own: list[Node] = []
            self._params = [*levels, own]
            declared = []
            while text[self.at] != "E":
                declared.append(self._param_declaration(own))
                if text[self.at] == "Q":
                    self._constraint()
                    break
            self.need("E")
            self._params = levels
            declaration = Comma("template<", tuple(declared), f"> typename {name.text}")
        elif kind == "p":
            inner = self._param_declaration(params)
            declaration = Wrapped("", inner, "...")
        else:
            raise self.fail("a template parameter's declaration")
        self._depth -= 1
        return declaration

    def _invent(self, kind: int, params: list[Node] | None) -> Ident:
        number = self._synthetic[kind]
        self._synthetic[kind] += 1
        name = Ident(("$T", "$N", "$TT")[kind] + (str(number - 1) if number else ""))
        if params is not None:
            params.append(name)
        return name

    def _constraint(self) -> Node:
        """Q <constraint-expression>"""
        self.need("Q")
        incomplete = self._incomplete
        self._incomplete = True
        expression = self.expression()
        self._incomplete = incomplete
        return expression

    def _until_end(self, production: Callable[[], Node]) -> tuple[Node, ...]:
        """`production`* E"""
        nodes: list[Node] = []
        text = self.text
        while text[self.at] != "E":
            nodes.append(production())
        self.at += 1
        return tuple(nodes)

    # --- <type>

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
                    result = self._unqualified(None, None, result)
                    self._subs.append(result)
                    if text[self.at] == "I":
                        result = Template(result, self.template_args())
                        self._subs.append(result)
                    self._depth -= 1
                    return result
                if text[self.at] != "I" or not self._args_allowed:
                    self._depth -= 1
                    return result
                result = Template(result, self.template_args())
        elif char == "N" or char in _SOURCE_NAME_START:
            result = self.name(None)
        elif char == "R":
            self.at = at + 1
            result = Reference(self.type(), "&")
        elif char == "P":
            self.at = at + 1
            result = Pointer(self.type())
        elif char in {"K", "V", "r"}:
            result = self._qualified_type()
        elif char == "T":
            if text[at + 1] in "sue":
                self.at = at + 2
                result = self.name(None)
            else:
                result = self.template_param()
                if text[self.at] == "I" and self._args_allowed:
                    self._subs.append(result)
                    result = Template(result, self.template_args())
        elif char == "O":
            self.at = at + 1
            result = Reference(self.type(), "&&")
        elif char == "D":
            found = self._d_type()
            if found.leaf:
                # <builtin-type>s are no substitution candidates.
                self._depth -= 1
                return found
            result = found
        elif char == "F":
            result = self._function_type()
        elif char == "A":
            result = self._array_type()
        elif char == "M":
            self.at = at + 1
            of = self.type()
            result = MemberPointer(of, self.type())
        elif char == "U":
            result = self._vendor_qualified()
        elif char == "u":
            self.at = at + 1
            result = self.source_name()
            if text[self.at] == "I":
                assert isinstance(result, Ident)
                result = Comma(result.text + "(", self.template_args().nodes, ")")
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

    def type_without_args(self) -> Node:
        """The <type> of a conversion: template arguments after it belong to the operator, not to its type."""
        args_allowed = self._args_allowed
        self._args_allowed = False
        type_ = self.type()
        self._args_allowed = args_allowed
        return type_

    def _cv_qualifiers(self) -> str:
        """<CV-qualifiers> ::= [r] [V] [K], as they are written in C++"""
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

    def _qualified_type(self) -> Node:
        text = self.text
        start = self.at
        qualifiers = self._cv_qualifiers()
        char = text[self.at]
        if char == "F" or (char == "D" and text[self.at + 1] in "oOwx"):
            self.at = start
            return self._function_type()
        return Qualified(self.type(), qualifiers)

    def _vendor_qualified(self) -> Node:
        """U <source-name> [<template-args>] <type>"""
        self.at += 1
        qualifier = self.source_name()
        assert isinstance(qualifier, Ident)
        args = self.template_args() if self.text[self.at] == "I" else None
        return VendorQualified(self.type(), qualifier.text, args)

    def _function_type(self) -> Node:
        """[<CV-qualifiers>] [<exception-spec>] [Dx] F [Y] <bare-function-type> [<ref-qualifier>] E"""
        text = self.text
        qualifiers = self._cv_qualifiers()
        exception: Node | None = None
        if self.take("Do"):
            exception = Ident("noexcept")
        elif self.take("DO"):
            exception = Wrapped("noexcept(", self.expression(), ")")
            self.need("E")
        elif self.take("Dw"):
            exception = Comma("throw(", self._until_end(self.type), ")")
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
            if char == "R" and text[self.at + 1] == "E":
                qualifiers += " &"
                self.at += 2
                break
            if char == "O" and text[self.at + 1] == "E":
                qualifiers += " &&"
                self.at += 2
                break
            params.append(self.type())
        return Function(ret, tuple(params), qualifiers, exception)

    def _array_type(self) -> Node:
        """A [<number> | <expression>] _ <type>"""
        self.at += 1
        text = self.text
        bound: Node | None = None
        if text[self.at] in DIGITS:
            bound = Ident(self.number())
        elif text[self.at] != "_":
            bound = self.expression()
        self.need("_")
        return Array(self.type(), bound)

    def _d_type(self) -> Node:
        """The types that begin with D. A leaf that is returned is a builtin type."""
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
        if letter == "v":
            return self._vector_type()
        if letter == "F":
            self.at = at + 2
            bits = self.number()
            suffix = text[self.at]
            if not bits or suffix not in "_bx":
                raise self.fail("a floating-point type")
            self.at += 1
            return Ident("std::bfloat16_t" if suffix == "b" else f"_Float{bits}{'x' if suffix == 'x' else ''}")
        if letter in {"B", "U"}:
            self.at = at + 2
            bits_: Node = Ident(self.number()) if text[self.at] in DIGITS else self.expression()
            self.need("_")
            return Wrapped("_BitInt(" if letter == "B" else "unsigned _BitInt(", bits_, ")")
        if letter in {"k", "K"}:
            self.at = at + 2
            return Wrapped("", self.name(None), " auto" if letter == "k" else " decltype(auto)")
        raise self.fail("a type")

    def decltype(self) -> Node:
        """<decltype> ::= Dt <expression> E | DT <expression> E"""
        self.at += 2
        inner = self.expression()
        self.need("E")
        return Wrapped("decltype(", inner, ")")

    def _vector_type(self) -> Node:
        """Dv (<number> | [<expression>]) _ (<type> | p)"""
        self.at += 2
        text = self.text
        size: Node | None = None
        if text[self.at] in DIGITS:
            size = Ident(self.number())
        elif text[self.at] != "_":
            size = self.expression()
        self.need("_")
        if text[self.at] == "p":
            self.at += 1
            return Vector(Ident("pixel"), size)
        return Vector(self.type(), size)

    # --- <expression>

    def expr_primary(self) -> Node:
        """<expr-primary>"""
        text = self.text
        self.at += 1
        at = self.at
        char = text[at]
        if char == "b" and text[at + 2] == "E" and text[at + 1] in "01":
            self.at = at + 3
            return Ident("true" if text[at + 1] == "1" else "false")
        if char in LITERAL_SUFFIX:
            self.at = at + 1
            value = self.number(negative=True)
            if not value or value == "n":
                raise self.fail("a number")
            self.need("E")
            return IntegerLiteral(char, value)
        if char in {"_", "Z"}:
            # GCC before 4.? left the underscore out.
            self.need("_Z" if char == "_" else "Z")
            self.deeper()
            encoding = self.encoding()
            self._depth -= 1
            self.need("E")
            return encoding
        from abiscan.mangling.parser.expressions import other_literal

        return other_literal(self)

    def expression(self) -> Node:
        """<expression>"""
        from abiscan.mangling.parser.expressions import expression

        self.deeper()
        node = expression(self)
        self._depth -= 1
        return node


def _function_qualifiers(state: _State) -> str:
    return state.qualifiers + state.reference


class Reading:
    """What the parser makes of a mangled name.

    Attributes:
        root: the entity.
        suffix: what follows the encoding: a clone suffix (`.cold`, `.isra.0`) or a symbol version (`@@V1`).
        declared: whether template arguments carry the declarations of their parameters (Clang 18 and later).
    """

    __slots__ = ("declared", "root", "suffix")

    def __init__(self, root: Node, suffix: str, declared: bool) -> None:
        self.root: Final = root
        self.suffix: Final = suffix
        self.declared: Final = declared


def read(mangled: str) -> Reading:
    """Read `_Z <encoding> [<vendor-specific suffix>]`.

    Raises:
        NameSyntaxError: it is none, or too complex for any compiler to have made it.
    """
    if not mangled.startswith("_Z"):
        raise NameSyntaxError("does not begin with _Z")
    try:
        return _read(mangled, False)
    except NameTooComplex:
        raise
    except NameSyntaxError:
        if "srN" not in mangled and "CI" not in mangled:
            raise
        return _read(mangled, True)


def _read(mangled: str, clang: bool) -> Reading:
    parser = Parser(mangled, 2, clang)
    try:
        root = parser.encoding()
    except RecursionError:
        # The caller stood deep already.
        raise NameTooComplex("nested too deeply") from None
    suffix = mangled[parser.at :]
    if suffix and suffix[0] not in ".@":
        raise NameSyntaxError(f"at character {parser.at}: the end, or a suffix after . or @, expected")
    return Reading(root, suffix, parser.declared)
