"""<expression> of the Itanium C++ ABI: what stands in template arguments and types that depend on a template.

Apart from `itanium.py`, because few names need it: it is imported when one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from abiscan.mangling.parser.codes import (
    BINARY,
    CALL,
    CONDITION,
    DELETE,
    EXPRESSION_KEYWORDS,
    MEMBER,
    NAMED_CAST,
    NEW,
    OF_TYPE,
    OPERATORS,
    POSTFIX_OR_PREFIX,
    PREFIX,
    SUBSCRIPT,
)
from abiscan.mangling.parser.cursor import DIGITS
from abiscan.mangling.parser.expression_nodes import (
    Binary,
    Call,
    Condition,
    CStyleCast,
    Designated,
    Fold,
    LambdaLiteral,
    Member,
    NamedCast,
    New,
    Pair,
    Postfix,
    Prefix,
    Subscript,
    Unresolved,
)
from abiscan.mangling.parser.nodes import (
    Closure,
    Comma,
    Expansion,
    Ident,
    Nested,
    Node,
    Template,
    TypedLiteral,
    Wrapped,
)

if TYPE_CHECKING:
    from abiscan.mangling.parser.itanium import Parser

_HEX: Final = frozenset("0123456789abcdef")
# <float> literals: characters of the mangled value and what the type is written as.
_FLOATS: Final = {"f": "float", "d": "double", "e": "long double", "g": "__float128"}


def expression(p: Parser) -> Node:
    """<expression>

    Raises:
        NameSyntaxError: none stands here.
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
        word, operands = keyword
        if operands == NAMED_CAST:
            type_ = p.type()
            return NamedCast(word, type_, p.expression())
        if operands == OF_TYPE:
            return Wrapped(f"{word} (" if word != "noexcept" else "noexcept (", p.type(), ")")
        return Wrapped(f"{word} (", p.expression(), ")")
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


def _operator(p: Parser, operator: tuple[str, int, int], global_scope: bool) -> Node | None:
    op, operands, prec = operator
    text = p.text
    if operands in (NEW, DELETE):
        scope = "::" if global_scope else ""
        keyword = scope + op.strip()
        if operands == DELETE:
            return Prefix(keyword + " ", p.expression())
        placement = _until(p, "_")
        type_ = p.type()
        if p.take("pi"):
            return New(keyword, placement, type_, _until(p, "E"))
        if text[p.at] == "i" and text[p.at + 1] == "l":
            return New(keyword, placement, type_, (p.expression(),))
        p.need("E")
        return New(keyword, placement, type_, None)
    if global_scope:
        return None
    if operands == BINARY:
        lhs = p.expression()
        return Binary(lhs, op, p.expression(), prec)
    if operands == PREFIX:
        return Prefix(op.strip() + (" " if op[0] == " " else ""), p.expression())
    if operands == POSTFIX_OR_PREFIX:
        if p.take("_"):
            return Prefix(op, p.expression())
        return Postfix(p.expression(), op)
    if operands == SUBSCRIPT:
        of = p.expression()
        return Subscript(of, p.expression())
    if operands == MEMBER:
        lhs = p.expression()
        return Member(lhs, op, p.expression(), prec)
    if operands == CALL:
        callee = p.expression()
        return Call(callee, _until(p, "E"))
    if operands == CONDITION:
        condition = p.expression()
        then = p.expression()
        return Condition(condition, then, p.expression())
    return None


def _until(p: Parser, end: str) -> tuple[Node, ...]:
    nodes: list[Node] = []
    text = p.text
    while text[p.at] != end:
        nodes.append(p.expression())
    p.at += 1
    return tuple(nodes)


def _function_param(p: Parser) -> Node:
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


def _fold(p: Parser) -> Node:
    """<fold-expression>: fl, fr over a pack; fL, fR with an initial value"""
    kind = p.text[p.at + 1]
    code = p.text[p.at + 2 : p.at + 4]
    operator = OPERATORS.get(code)
    if operator is None or operator[1] not in (BINARY, MEMBER):
        raise p.fail("a binary operator")
    p.at += 4
    pack = p.expression()
    init: Node | None = None
    if kind in "LR":
        init = p.expression()
        if kind == "L":
            pack, init = init, pack
    return Fold(kind in "lL", operator[0], pack, init)


def _simple_id(p: Parser) -> Node:
    """<simple-id> ::= <source-name> [<template-args>]"""
    name = p.source_name()
    return Template(name, p.template_args()) if p.text[p.at] == "I" else name


def _base_unresolved_name(p: Parser) -> Node:
    """<base-unresolved-name>"""
    if p.text[p.at] in DIGITS:
        return _simple_id(p)
    if p.take("dn"):
        name = _simple_id(p) if p.text[p.at] in DIGITS else p.type()
        return Wrapped("~", name, "")
    p.take("on")
    name = p.operator_name(None)
    return Template(name, p.template_args()) if p.text[p.at] == "I" else name


def _unresolved(p: Parser, global_scope: bool) -> Node:
    """<unresolved-name>"""
    text = p.text
    scope: Node | None = Ident("") if global_scope else None
    if not p.take("sr"):
        return Unresolved(scope, _base_unresolved_name(p))
    if p.clang and text[p.at] == "N":
        p.at += 1
        level = p.type()
        if text[p.at] == "I":
            level = Template(level, p.template_args())
        while text[p.at] != "E":
            level = Nested(level, _simple_id(p))
        p.at += 1
        return Unresolved(level, _base_unresolved_name(p))
    if text[p.at] in DIGITS:
        while True:
            level = _simple_id(p)
            scope = level if scope is None else Nested(scope, level)
            if text[p.at] == "E":
                p.at += 1
                break
        return Unresolved(scope, _base_unresolved_name(p), named=True)
    # <unresolved-type>. GCC writes any type here, also one of namespace std.
    level = p.type()
    return Unresolved(level, _base_unresolved_name(p))


def _braced(p: Parser) -> Node:
    """<braced-expression>"""
    text = p.text
    if text[p.at] == "d":
        kind = text[p.at + 1]
        if kind == "i":
            p.at += 2
            field = p.source_name()
            return _designated(Wrapped(".", field, ""), p)
        if kind == "x":
            p.at += 2
            index = p.expression()
            return _designated(Wrapped("[", index, "]"), p)
        if kind == "X":
            p.at += 2
            first = p.expression()
            last = p.expression()
            return _designated(Wrapped("[", Pair(first, " ... ", last), "]"), p)
    return p.expression()


def _designated(designator: Node, p: Parser) -> Node:
    p.deeper()
    value = _braced(p)
    p.shallower()
    # Designators follow one another: .a[1].b = x
    return Designated(designator, "" if isinstance(value, Designated) else " = ", value)


def _braced_list(p: Parser) -> tuple[Node, ...]:
    nodes: list[Node] = []
    while p.text[p.at] != "E":
        nodes.append(_braced(p))
    p.at += 1
    return tuple(nodes)


def _init_list(p: Parser) -> Node:
    return Call(None, _braced_list(p), "{", "}")


def _typed_init_list(p: Parser) -> Node:
    type_ = p.type()
    return Call(type_, _braced_list(p), "{", "}")


def _c_style_cast(p: Parser) -> Node:
    type_ = p.type_without_args()
    if p.take("_"):
        return CStyleCast(type_, _until(p, "E"))
    return CStyleCast(type_, (p.expression(),))


def _call_in_parentheses(p: Parser) -> Node:
    callee = p.expression()
    return Call(Wrapped("(", callee, ")"), _until(p, "E"))


def _sizeof_pack(p: Parser) -> Node:
    pack = p.template_param() if p.text[p.at] == "T" else _function_param(p)
    return Wrapped("sizeof...(", Expansion(pack), ")")


def _sizeof_args(p: Parser) -> Node:
    nodes: list[Node] = []
    while p.text[p.at] != "E":
        nodes.append(p.template_arg())
    p.at += 1
    return Comma("sizeof... (", tuple(nodes), ")")


def _pack_expansion(p: Parser) -> Node:
    return Expansion(p.expression())


def _throw(p: Parser) -> Node:
    return Wrapped("throw ", p.expression(), "")


def _rethrow(p: Parser) -> Node:
    return Ident("throw")


def _subobject(p: Parser) -> Node:
    """so <referent type> <expr> [<offset number>] <union-selector>* [p] E"""
    type_ = p.type()
    of = p.expression()
    offset = p.number(negative=True)
    while p.take("_"):
        p.number()
    p.take("p")
    p.need("E")
    if not offset:
        offset = "0"
    elif offset[0] == "n":
        offset = "-" + offset[1:]
    return Pair(of, f".<at offset {offset} of type ", Wrapped("", type_, ">"))


def _member_pointer_conversion(p: Parser) -> Node:
    """mc <parameter type> <expr> [<offset number>] E"""
    type_ = p.type()
    of = p.expression()
    p.number(negative=True)
    p.need("E")
    return CStyleCast(type_, (of,))


def _requires(p: Parser) -> Node:
    """rq <requirement>+ E"""
    return _requirements(p, ())


def _requires_with_params(p: Parser) -> Node:
    """rQ <bare-function-type> _ <requirement>+ E"""
    params: list[Node] = []
    if not p.take("v_"):
        while p.text[p.at] != "_":
            params.append(p.type())
        p.at += 1
    return _requirements(p, tuple(params))


def _requirements(p: Parser, params: tuple[Node, ...]) -> Node:
    text = p.text
    found: list[Node] = []
    while text[p.at] != "E":
        if p.take("X"):
            requirement = p.expression()
            if text[p.at] in "NR":
                # A compound requirement.
                requirement = Wrapped("{", requirement, "}")
            if p.take("N"):
                requirement = Wrapped("", requirement, " noexcept")
            if p.take("R"):
                requirement = Pair(requirement, " -> ", p.name(None))
        elif p.take("T"):
            requirement = Wrapped("typename ", p.type(), "")
        elif p.take("Q"):
            requirement = Wrapped("requires ", p.expression(), "")
        else:
            raise p.fail("a requirement")
        found.append(Wrapped(" ", requirement, ";"))
    p.at += 1
    before = Comma("requires (", params, ") {") if params else Ident("requires {")
    node: Node = before
    for requirement in found:
        node = Pair(node, "", requirement)
    return Wrapped("", node, " }")


def _vendor(p: Parser) -> Node:
    """u <source-name> <template-arg>* E"""
    name = p.source_name()
    nodes: list[Node] = []
    while p.text[p.at] != "E":
        nodes.append(p.template_arg())
    p.at += 1
    return Call(name, tuple(nodes))


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


def other_literal(p: Parser) -> Node:
    """<expr-primary> after its L, but for integers, bool and encodings."""
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
        return Wrapped('"<', type_, '>"')
    if char == "D" and text[at + 1] == "n":
        p.at = at + 2
        p.take("0")
        p.need("E")
        return Ident("nullptr")
    if char == "U":
        closure = p.unnamed_type()
        p.need("E")
        if not isinstance(closure, Closure):
            raise p.fail("a lambda")
        return LambdaLiteral(closure)
    type_ = p.type()
    value = p.number(negative=True)
    if not value or value == "n":
        # GCC writes a null pointer of class type, and a value-initialised object, without a number.
        raise p.fail("a value")
    p.need("E")
    return TypedLiteral(type_, value)


# Type letter: hexadecimal digits, bits of the exponent, suffix of the literal in C++.
_IEEE_FORMATS: Final = {"f": (8, 8, "f"), "d": (16, 11, "")}
# x87's long double: 15 bits of exponent, then 64 of the significand, the first of which is the integer part.
_X87_DIGITS: Final = 20


def _float_text(letter: str, digits: str) -> str:
    """A floating-point value as C's `%a` writes it; the raw bits where the type's layout depends on the machine."""
    if letter == "e" and len(digits) == _X87_DIGITS:
        return _x87_text(digits)
    layout = _IEEE_FORMATS.get(letter)
    if layout is None or len(digits) != layout[0]:
        return f"({_FLOATS[letter]})0x{digits}"
    size, exponent_bits, suffix = layout
    mantissa_bits = size * 4 - 1 - exponent_bits
    bits = int(digits, 16)
    sign = "-" if bits >> (size * 4 - 1) else ""
    exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    if exponent == (1 << exponent_bits) - 1:
        return sign + ("nan" if mantissa else "inf") + suffix
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == 0 and mantissa == 0:
        return f"{sign}0x0p+0{suffix}"
    value = mantissa / (1 << mantissa_bits) + (1 if exponent else 0)
    whole, _, rest = value.hex().partition("p")
    power = int(rest) + (exponent - bias if exponent else 1 - bias)
    whole = whole.rstrip("0").rstrip(".") if "." in whole else whole
    return f"{sign}{whole}p{power:+d}{suffix}"


def _x87_text(digits: str) -> str:
    head = int(digits[:4], 16)
    sign = "-" if head >> 15 else ""
    exponent = head & 0x7FFF
    fraction = digits[5:].rstrip("0")
    if exponent == 0x7FFF:
        return sign + ("inf" if digits[4:] == "8" + "0" * 15 else "nan") + "L"
    if exponent == 0 and not digits[4:].strip("0"):
        return f"{sign}0x0p+0L"
    # glibc writes the first four bits before the point.
    return f"{sign}0x{digits[4]}{'.' if fraction else ''}{fraction}p{max(exponent, 1) - 0x3FFF - 3:+d}L"
