"""<expression>, in template arguments and dependent types; see `productions.py`.

A separate module because few names need it: it is imported on use.
"""

from __future__ import annotations

from typing import Final

from abiscan.mangling.parser.codes import (
    ASSIGN,
    BINARY,
    CALL,
    CAST,
    CONDITION,
    CONDITIONAL,
    DELETE,
    EXPRESSION_KEYWORDS,
    MEMBER,
    NAMED_CAST,
    NEW,
    OF_TYPE,
    OPERATORS,
    OR_IF,
    POSTFIX,
    POSTFIX_OR_PREFIX,
    PREFIX,
    SUBSCRIPT,
    UNARY,
)
from abiscan.mangling.parser.cursor import DIGITS
from abiscan.mangling.parser.name_nodes import Nested, Template
from abiscan.mangling.parser.productions import Productions
from abiscan.mangling.parser.render import Ident, Node, phrase
from abiscan.mangling.parser.type_nodes import Either, Expansion


def expression(p: Productions) -> Node:
    """<expression>

    Raises:
        NameSyntaxError: there is none.
    """
    text = p.text
    global_scope = p.take("gs")
    at = p.at
    char = text[at]
    if not global_scope:
        if char == "L":
            return p.expr_primary()
        if char == "T":
            return p.template_param()
        if char == "f":
            following = text[at + 1]
            if following == "p" or (following == "L" and text[at + 2] in DIGITS):
                return _function_param(p)
            if following in "lrLR":
                return _fold(p)
    if char == "s" and text[at + 1] == "r":
        return _unresolved(p, global_scope)
    if char in "123456789":
        return _unresolved(p, global_scope)
    code = text[at : at + 2]
    keyword = EXPRESSION_KEYWORDS.get(code)
    if keyword is not None and not global_scope:
        p.at = at + 2
        word, operands, precedence = keyword
        if operands == NAMED_CAST:
            return phrase(word, "<", p.type(), ">(", p.expression(), ")", precedence=precedence)
        return phrase(word, " (", p.type() if operands == OF_TYPE else p.expression(), ")", precedence=precedence)
    operator = OPERATORS.get(code)
    if operator is not None:
        p.at = at + 2
        node = _operator(p, operator, global_scope)
        if node is not None:
            return node
        raise p.fail("an expression")
    if global_scope:
        raise p.fail("a name of the global scope")
    other = _OTHERS.get(code)
    if other is None:
        if char == "u":
            p.at = at + 1
            return _vendor(p)
        if char in "oad" and code in ("on", "dn"):
            return _unresolved(p, False)
        raise p.fail("an expression")
    p.at = at + 2
    return other(p)


def _operand(node: Node, limit: int) -> tuple[str | Node, ...]:
    """An operand, in parentheses if it binds no tighter than `limit`."""
    return (node,) if node.precedence < limit else ("(", node, ")")


def _operator(p: Productions, operator: tuple[str, int, int], global_scope: bool) -> Node | None:
    op, operands, precedence = operator
    if operands == NEW:
        return _new(p, ("::" if global_scope else "") + op.strip())
    if operands == DELETE:
        return phrase("::" if global_scope else "", op.strip(), " ", p.expression(), precedence=UNARY)
    if global_scope:
        return None
    if operands == PREFIX:
        return _prefix(p, op.strip() + (" " if op[0] == " " else ""), precedence)
    if operands == POSTFIX_OR_PREFIX and p.take("_"):
        return _prefix(p, op, precedence)
    first = p.expression()
    if operands == POSTFIX_OR_PREFIX:
        return phrase(*_operand(first, POSTFIX + 1), op, precedence=POSTFIX)
    if operands == CALL:
        return phrase(first, "(", p.until_end(p.expression), ")", precedence=POSTFIX)
    second = p.expression()
    if operands == BINARY:
        assigns = precedence == ASSIGN
        pieces = (
            *_operand(first, OR_IF if assigns else precedence + 1),
            f"{'' if op == ',' else ' '}{op} ",
            *_operand(second, precedence + assigns),
        )
        # Within template arguments a bare > would end them.
        return phrase(*(("(", *pieces, ")") if op in (">", ">>") else pieces), precedence=precedence)
    if operands == MEMBER:
        return phrase(*_operand(first, precedence + 1), op, *_operand(second, precedence), precedence=precedence)
    if operands == SUBSCRIPT:
        return phrase(*_operand(first, POSTFIX), "[", second, "]", precedence=POSTFIX)
    if operands == CONDITION:
        third = _operand(p.expression(), ASSIGN + 1)
        return phrase(*_operand(first, CONDITIONAL), " ? ", second, " : ", *third, precedence=CONDITIONAL)
    return None


def _prefix(p: Productions, op: str, precedence: int) -> Node:
    return phrase(op, *_operand(p.expression(), precedence), precedence=precedence)


def _new(p: Productions, keyword: str) -> Node:
    """[gs] (nw | na) <expression>* _ <type> (E | <initializer>)"""
    placement = p.until_end(p.expression, "_")
    pieces: list[str | Node | tuple[Node, ...]] = [keyword]
    if placement:
        pieces += ["(", placement, ")"]
    pieces += [" ", p.type()]
    if p.take("pi"):
        arguments = p.until_end(p.expression)
        pieces += ["(", arguments, ")"] if arguments else []
    elif p.text.startswith("il", p.at):
        pieces += ["(", p.expression(), ")"]
    else:
        p.need("E")
    return phrase(*pieces, precedence=UNARY)


def _function_param(p: Productions) -> Node:
    """<function-param>"""
    text = p.text
    p.at += 1
    if text[p.at] == "L":
        p.at += 1
        p.number()
    p.need("p")
    if p.take("T"):
        return Ident("this")
    while text[p.at] in "rVK":
        p.at += 1
    number = p.number()
    p.need("_")
    return Ident("fp" + number)


def _fold(p: Productions) -> Node:
    """<fold-expression>: fl, fr over a pack; fL, fR with an initial value"""
    kind = p.text[p.at + 1]
    code = p.text[p.at + 2 : p.at + 4]
    operator = OPERATORS.get(code)
    if operator is None or operator[1] not in (BINARY, MEMBER):
        raise p.fail("a binary operator")
    p.at += 4
    pack = p.expression()
    initial: tuple[str | Node, ...] = ()
    if kind in "LR":
        value = p.expression()
        if kind == "L":
            pack, value = value, pack
        initial = _operand(value, CAST + 1)
    over = ("(", Expansion(pack), ")")
    op = f" {operator[0]} "
    if kind in "lL":
        return phrase("(", *initial, op if initial else "", "...", op, *over, ")")
    return phrase("(", *over, op, "...", op if initial else "", *initial, ")")


def _simple_id(p: Productions) -> Node:
    """<simple-id> ::= <source-name> [<template-args>]"""
    name = p.source_name()
    return Template(name, p.template_args()) if p.text[p.at] == "I" else name


def _base_unresolved_name(p: Productions) -> Node:
    """<base-unresolved-name>"""
    if p.text[p.at] in DIGITS:
        return _simple_id(p)
    if p.take("dn"):
        return phrase("~", _simple_id(p) if p.text[p.at] in DIGITS else p.type())
    p.take("on")
    name = p.operator_name(None)
    return Template(name, p.template_args()) if p.text[p.at] == "I" else name


def _unresolved(p: Productions, global_scope: bool) -> Node:
    """<unresolved-name>: a name that is looked up at instantiation, `T::x`, `std::is_const_v<T>`"""
    text = p.text
    if not p.take("sr"):
        name = _base_unresolved_name(p)
        return phrase("::", name) if global_scope else name
    scope: Node
    if text[p.at] in DIGITS:
        scope = _simple_id(p)
        if global_scope:
            scope = phrase("::", scope)
        while text[p.at] != "E":
            scope = Nested(scope, _simple_id(p))
        p.at += 1
        # Named namespaces and classes are displayed but never compared: Clang writes `sr3std` where GCC writes nothing
        # and nvcc's front end an invented name (`sr4__T0`, pytorch issue 174898).
        name = _base_unresolved_name(p)
        return Either(phrase(scope, "::", name), name)
    if p.clang and p.take("N"):
        scope = p.type()
        if text[p.at] == "I":
            scope = Template(scope, p.template_args())
        while text[p.at] != "E":
            scope = Nested(scope, _simple_id(p))
        p.at += 1
    else:
        # <unresolved-type>. GCC writes any type here, including those of namespace std.
        scope = p.type()
    return phrase(scope, "::", _base_unresolved_name(p))


def _braced(p: Productions) -> Node:
    """<braced-expression>"""
    if p.take("di"):
        return _designated(p, ".", p.source_name())
    if p.take("dx"):
        return _designated(p, "[", p.expression(), "]")
    if p.take("dX"):
        return _designated(p, "[", p.expression(), " ... ", p.expression(), "]")
    return p.expression()


def _designated(p: Productions, *designator: str | Node) -> Node:
    # Designators can follow each other: .a[1].b = x
    follows = p.text.startswith(("di", "dx", "dX"), p.at)
    p.deeper()
    value = _braced(p)
    p.shallower()
    return phrase(*designator, "" if follows else " = ", value)


def _braces(p: Productions) -> tuple[str | tuple[Node, ...], ...]:
    """<braced-expression>* E"""
    return ("{", p.until_end(lambda: _braced(p)), "}")


def _init_list(p: Productions) -> Node:
    return phrase(*_braces(p))


def _typed_init_list(p: Productions) -> Node:
    return phrase(p.type(), *_braces(p))


def _c_style_cast(p: Productions) -> Node:
    """cv <type> (<expression> | _ <expression>* E)"""
    type_ = p.type_without_args()
    several = p.take("_")
    is_braced = p.text.startswith("il", p.at)
    args = p.until_end(p.expression) if several else (p.expression(),)
    cast = phrase("(", type_, ")(", args, ")", precedence=CAST)
    # GCC writes T{x} as a cast of {x}.
    return Either(cast, phrase(type_, args[0])) if is_braced and len(args) == 1 else cast


def _call_in_parentheses(p: Productions) -> Node:
    return phrase("(", p.expression(), ")(", p.until_end(p.expression), ")", precedence=POSTFIX)


def _sizeof_pack(p: Productions) -> Node:
    if p.text[p.at] == "T":
        return phrase("sizeof...(", Expansion(p.template_param()), ")")
    return phrase("sizeof... (", _function_param(p), ")")


def _sizeof_args(p: Productions) -> Node:
    return phrase("sizeof... (", p.until_end(p.template_arg), ")")


def _pack_expansion(p: Productions) -> Node:
    return Expansion(p.expression())


def _throw(p: Productions) -> Node:
    return phrase("throw ", p.expression())


def _rethrow(p: Productions) -> Node:
    return Ident("throw")


def _subobject(p: Productions) -> Node:
    """so <referent type> <expr> [<offset number>] <union-selector>* [p] E"""
    type_ = p.type()
    of = p.expression()
    offset = p.number(negative=True) or "0"
    while p.take("_"):
        p.number()
    p.take("p")
    p.need("E")
    return phrase(of, ".<", type_, f" at offset {offset.replace('n', '-')}>")


def _member_pointer_conversion(p: Productions) -> Node:
    """mc <parameter type> <expr> [<offset number>] E"""
    cast = phrase("(", p.type(), ")(", p.expression(), ")", precedence=CAST)
    p.number(negative=True)
    p.need("E")
    return cast


def _requires(p: Productions) -> Node:
    """rq <requirement>+ E"""
    return _requirements(p, "requires {")


def _requires_with_params(p: Productions) -> Node:
    """rQ <bare-function-type> _ <requirement>+ E"""
    return _requirements(p, "requires (", p.until_end(p.type, "_"), ") {")


def _requirements(p: Productions, *before: str | tuple[Node, ...]) -> Node:
    pieces: list[str | Node | tuple[Node, ...]] = [*before]
    while not p.take("E"):
        pieces.append(" ")
        if p.take("X"):
            requirement = p.expression()
            is_compound = p.text[p.at] in "NR"
            pieces += ["{", requirement, "}"] if is_compound else [requirement]
            if p.take("N"):
                pieces.append(" noexcept")
            if p.take("R"):
                pieces += [" -> ", p.name(None)]
        elif p.take("T"):
            pieces += ["typename ", p.type()]
        elif p.take("Q"):
            pieces += ["requires ", p.expression()]
        else:
            raise p.fail("a requirement")
        pieces.append(";")
    return phrase(*pieces, " }")


def _vendor(p: Productions) -> Node:
    """u <source-name> <template-arg>* E"""
    return phrase(p.source_name(), "(", p.until_end(p.template_arg), ")", precedence=POSTFIX)


_OTHERS: Final = {
    "il": _init_list,
    "tl": _typed_init_list,
    "cv": _c_style_cast,
    "cp": _call_in_parentheses,
    "sZ": _sizeof_pack,
    "sP": _sizeof_args,
    "sp": _pack_expansion,
    "tw": _throw,
    "tr": _rethrow,
    "so": _subobject,
    "mc": _member_pointer_conversion,
    "rq": _requires,
    "rQ": _requires_with_params,
}
