"""Finds declarations of names from tokens, as far as possible without a compiler.

Scopes are those of blocks, parameter lists and template headers, searched outward and upward from the use. The result
is unknown if it would need overload resolution, `auto` from a call, or missing headers."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence

from msgspec import Struct

from abiscan.source.code import Code
from abiscan.source.lexer import NAME, NUMBER, SCOPE, STRING, Token
from abiscan.source.nearest_place import find_nearest
from abiscan.source.postfix_expressions import postfix_start

# Maximum number of tokens between a declared name and the start of its declaration.
_MAX_TYPE = 64
# Maximum length of a chain of aliases and initializers.
_MAX_STEPS = 8
_CV = frozenset(
    {"const", "volatile", "constexpr", "static", "extern", "inline", "register", "mutable", "typename", "struct"}
)
_RESTRICT = frozenset({"__restrict__", "__restrict", "restrict", "RESTRICT"})
_NO_TYPE = frozenset(
    {
        *("return", "else", "case", "goto", "new", "delete", "throw", "operator", "sizeof", "co_return"),
        *("using", "namespace"),
    }
)
_BUILTIN = frozenset(
    {"void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "wchar_t", "size_t"}
)
# Tokens that may precede a declaration.
_BEFORE_TYPE = frozenset({*b";{}(),=:[]?", STRING, NUMBER})
# Tokens before a declaration statement, and the casts that do not remove const.
_BEFORE_STATEMENT = frozenset({";", "{", "}", ")", "(", ":"})
_CASTS = frozenset({"static_cast", "reinterpret_cast"})
# First tokens of a type, or of a further declarator.
_IN_TYPE = frozenset({NAME, SCOPE, *b"*&<"})
_ANGLE_OPEN, _ANGLE_CLOSE, _OPEN_BRACKET = map(ord, "<>[")
_SEMICOLON = ord(";")


class DeclaredIn(enum.Enum):
    """The origin of a type's name. PARAMETER: template parameter, different in each instantiation. NAMED: a named type.
    UNKNOWN: another header or the compiler decides."""

    PARAMETER = enum.auto()
    NAMED = enum.auto()
    UNKNOWN = enum.auto()


class Pointee(Struct, frozen=True):
    """The target type of a pointer expression.

    Attributes:
        name: of the type, without const and namespaces (`Half`, `int64_t`, `scalar_t`); empty if unknown.
    """

    name: str
    origin: DeclaredIn


_UNKNOWN = Pointee("", DeclaredIn.UNKNOWN)


class DeclaredType(Struct, frozen=True):
    """A declared type: parts of its name, first template argument, and pointer depth (including arrays)."""

    name: tuple[str, ...]
    argument: tuple[Token, ...]
    depth: int


def pointee(code: Code, first: int, last: int, steps: int = _MAX_STEPS) -> Pointee:
    """The target type of the expression in `code.tokens[first:last]`: a sum of a pointer and offsets, `&array[i]`, a
    cast, a member of an accessor."""
    found = code.tokens
    if steps == 0 or first >= last:
        return _UNKNOWN
    code.spend(15)
    if found[first].text == "(" and code.partner[first] == last - 1:
        return pointee(code, first + 1, last - 1, steps - 1)
    cast = _cast(code, first, last)
    if cast is not None:
        return _named(code, cast, first, steps) if cast.depth else _UNKNOWN
    answers = [_operand(code, start, stop, steps) for start, stop in _terms(code, first, last)]
    known = [answer for answer in answers if answer is not None]
    return known[0] if known else _UNKNOWN


def _cast(code: Code, first: int, last: int) -> DeclaredType | None:
    """The type of a cast (`reinterpret_cast<T*>(...)`, `(T*)...`) at the start of an expression."""
    found = code.tokens
    if found[first].text in ("reinterpret_cast", "static_cast", "const_cast"):
        end = angle_end(found, first + 1, last)
        return None if end is None else type_of(found[first + 2 : end - 1])
    if found[first].text == "(" and code.partner[first] > first:
        close = code.partner[first]
        if first + 1 < close <= first + 2 * _MAX_TYPE and found.word(close - 1) in ("*", *_RESTRICT):
            return type_of(found[first + 1 : close])
    return None


def _terms(code: Code, first: int, last: int) -> Iterator[tuple[int, int]]:
    """The operands of `+` and `-` outside of brackets; for a conditional expression, those after `?`."""
    found = code.tokens
    at = start = first
    while at < last:
        code.spend(1)
        kind = found.kinds[at]
        if kind in b"([{" and code.partner[at] > at:
            at = code.partner[at] + 1
            continue
        if kind in b"+-?:" and at > start:
            yield start, at
            start = at + 1
        at += 1
    if start < last:
        yield start, last


def _operand(code: Code, first: int, last: int, steps: int) -> Pointee | None:
    """The target type of one operand; None if it is no pointer."""
    found = code.tokens
    if found[first].text == "(" and code.partner[first] == last - 1:
        return pointee(code, first + 1, last - 1, steps - 1)
    address = found[first].text == "&"
    first += address
    if first >= last or found[first].kind != "name" or found[first].text in _CV:
        return None
    if not address and _has_product(code, first, last):
        return None  # an offset
    declared = declared_type(code, first, found[first].text)
    if declared is None:
        return _UNKNOWN
    kind, at = declared
    rest = first + 1
    if kind.name == ("auto",):
        if found[at + 1 : at + 2] and found[at + 1].text != "=":
            return _UNKNOWN
        begin = at + 2
        end = statement_end(code, begin)
        member = _accessor(code, begin, end)
        return member if member is not None else pointee(code, begin, end, steps - 1)
    if rest < last and found[rest].text in (".", "->"):
        member = _accessor(code, first, last)
        if member is not None:
            return member
        # A member of a class whose first argument is the element type: TensorInfo<int64_t, int>::data.
        if kind.argument:
            argument = type_of(kind.argument)
            return _UNKNOWN if argument is None else _named(code, argument, first, steps)
        return _UNKNOWN
    depth = kind.depth + address
    while rest < last and found[rest].text == "[" and code.partner[rest] > rest:
        depth -= 1
        rest = code.partner[rest] + 1
    if depth < 1:
        if kind.argument and kind.depth == 0:
            argument = type_of(kind.argument)
            return _UNKNOWN if argument is None else _named(code, argument, first, steps)
        return None if not kind.depth and not address else _UNKNOWN
    return _named(code, kind, first, steps) if depth == 1 else Pointee("pointer", DeclaredIn.NAMED)


def _has_product(code: Code, first: int, last: int) -> bool:
    at = first
    while at < last:
        code.spend(1)
        kind = code.tokens.kinds[at]
        if kind in b"([" and code.partner[at] > at:
            at = code.partner[at]
        elif kind == ord("*"):
            return True
        at += 1
    return False


def _accessor(code: Code, first: int, last: int) -> Pointee | None:
    """The type in `x.data_ptr<T>()` or a similar accessor at the end of an expression."""
    found = code.tokens
    code.spend(max(last - first, 0))
    for at in range(first, last - 1):
        if found.kinds[at] == NAME and found.word(at) in ("data_ptr", "const_data_ptr", "mutable_data_ptr", "data"):
            end = angle_end(found, at + 1, last)
            if end is not None:
                argument = type_of(found[at + 2 : end - 1])
                return None if argument is None else _named(code, argument, at, _MAX_STEPS // 2)
    return None


def _named(code: Code, kind: DeclaredType, at: int, steps: int) -> Pointee:
    """Resolve the aliases of a type's name at the token `at`."""
    if not kind.name:
        return _UNKNOWN
    name = kind.name[-1]
    if len(kind.name) > 1 or name in _BUILTIN or (name.endswith("_t") and name[0] in "iu" and name[-3:-2].isdigit()):
        return Pointee(name, DeclaredIn.NAMED)
    nearest: tuple[int, DeclaredIn | DeclaredType] | None = find_nearest(code, at, name, _introduces)
    if nearest is None:
        return Pointee(name, DeclaredIn.UNKNOWN)
    index, introduced = nearest
    if isinstance(introduced, DeclaredIn):
        return Pointee(name, introduced)
    return _named(code, introduced, index, steps - 1) if steps > 1 and introduced.name else _UNKNOWN


def _introduces(code: Code, index: int) -> DeclaredIn | DeclaredType | None:
    """Whether the name at `index` is declared as a type there; for an alias, its target."""
    if index < 1:
        return None
    found = code.tokens
    before = found.word(index - 1)
    if before in ("typename", "class") or (before == "." and found.word(index - 2) in ("typename", "class")):
        return DeclaredIn.PARAMETER
    alias = alias_at(code, index)
    if alias is not None:
        return alias
    return DeclaredIn.NAMED if before in ("struct", "enum", "union") else None


def alias_at(code: Code, index: int) -> DeclaredType | None:
    """The target of `using NAME = type;` or `typedef type NAME;` with the name at `index`."""
    written = alias_tokens(code, index)
    return None if written is None else type_of(written) or DeclaredType((), (), 0)


def alias_tokens(code: Code, index: int) -> Sequence[Token] | None:
    """The same as tokens; None if no alias is declared there."""
    found = code.tokens
    if index < 1 or not found[index + 1 : index + 2]:
        return None
    if found[index - 1].text == "using" and found[index + 1].text == "=":
        end = statement_end(code, index + 2)
        while found[end : end + 1] and found[end].text == ",":  # of template arguments
            end = statement_end(code, end + 1)
        return found[index + 2 : end]
    if found[index + 1].text == ";":
        start = index
        while start > max(0, index - _MAX_TYPE) and found[start - 1].text not in (";", "{", "}"):
            start -= 1
        if found[start].text == "typedef":
            return found[start + 1 : index]
    return None


def origin_of(code: Code, offset: int, name: str) -> DeclaredIn:
    """The origin of a type's name, seen from a character offset."""
    at = code.tokens.index_at(offset)
    if at is None or not name.isidentifier():
        return DeclaredIn.UNKNOWN
    return _named(code, DeclaredType((name,), (), 0), at, _MAX_STEPS).origin


def alias_target(code: Code, name: str) -> str | None:
    """The last name of the target of `using name = type` or a typedef anywhere in a file; None if there is none."""
    for index in code.places_of(name):
        code.spend(10)
        alias = alias_at(code, index) if index else None
        if alias is not None and alias.name:
            return alias.name[-1]
    return None


def declared_type(code: Code, at: int, name: str) -> tuple[DeclaredType, int] | None:
    """The type in the nearest declaration of a name before `at`, and the index of the name there."""
    nearest = find_nearest(code, at, name, _declares)
    return None if nearest is None else (nearest[1], nearest[0])


def _declares(code: Code, index: int) -> DeclaredType | None:
    """The type before the name at `index`, if this is a declaration."""
    found = code.tokens
    kinds = found.kinds
    after = kinds[index + 1] if index + 1 < len(kinds) else _SEMICOLON
    if after not in b",)=;[{:(" or (index and kinds[index - 1] == SCOPE):
        return None
    start = index
    level = 0
    while start > max(0, index - _MAX_TYPE):
        before = kinds[start - 1]
        if before == _ANGLE_CLOSE:
            level += 1
        elif before == _ANGLE_OPEN:
            if level == 0:
                break
            level -= 1
        elif level == 0 and before in _BEFORE_TYPE:
            break
        elif level and before in b";{}":
            return None
        start -= 1
    code.spend(index - start)
    if start < index and kinds[start] not in _IN_TYPE:
        return None
    if found.word(start) == "template":
        start = angle_end(found, start + 1, index) or start
    kind = type_of(found[start:index])
    if kind is None:
        kind = _type_of_list(code, start, index)
    if kind is None:
        return None
    return DeclaredType(kind.name, kind.argument, kind.depth + 1) if after == _OPEN_BRACKET else kind


def _type_of_list(code: Code, start: int, index: int) -> DeclaredType | None:
    """The type of a further declarator, such as `b` in `T a = f(x), *b`.

    Args:
        start: index after the comma before it.
        index: of the name.
    """
    found, partner = code.tokens, code.partner
    if start < 1 or found[start - 1].text != "," or any(token.text not in ("*", "&") for token in found[start:index]):
        return None
    begin = start - 1
    for _step in range(4 * _MAX_TYPE):
        text = found[begin - 1].text if begin else ";"
        if text in (";", "{") or (text == "}" and found[begin].text != ","):
            break
        if text == ":" and found[begin - 2].text in ("public", "protected", "private"):
            break
        if text in ("(", "["):
            return None  # parameters, arguments, or bindings
        if text in (")", "]", "}"):
            begin = partner[begin - 1]
            if begin < 0:
                return None
        else:
            begin -= 1
    else:
        return None
    for at in range(begin + 1, min(start, begin + _MAX_TYPE)):
        if found[at].kind == "name" and found[at + 1].text in (",", "=", "(", "{", "["):
            kind = type_of(found[begin:at])
            if kind is not None:
                return DeclaredType(kind.name, kind.argument, sum(token.text == "*" for token in found[start:index]))
    return None


def type_of(written: Sequence[Token]) -> DeclaredType | None:
    """Parse tokens as a type; None if they are not one."""
    at = 0
    words: list[str] = []
    while at < len(written) and (written[at].kind == "name" or written[at].text == "::"):
        text = written[at].text
        if text in _NO_TYPE:
            return None
        if text == "::":
            if words and at + 1 < len(written):
                words[-1:] = [f"{words[-1]}::{written[at + 1].text}"]
                at += 1
        elif text not in _CV:
            words.append(text)
        at += 1
    if not words:
        return None
    argument: tuple[Token, ...] = ()
    if at < len(written) and written[at].text == "<":
        end = angle_end(written, at, len(written))
        if end is None:
            return None
        argument = tuple(next(iter(split_arguments(written[at + 1 : end - 1])), ()))
        at = end
    depth = 0
    for token in written[at:]:
        if token.text == "*":
            depth += 1
        elif token.text != "&" and token.text not in _CV and token.text not in _RESTRICT:
            return None
    if len(words) > 1 and depth == 0 and words[-1] in _RESTRICT:
        words.pop()
    # `unsigned long long`. In a sequence of other names, the last is the type, the others are macros and attributes.
    return DeclaredType(tuple(words[-1].split("::")), argument, depth)


def split_arguments(written: Sequence[Token]) -> list[Sequence[Token]]:
    """Split arguments or parameters at commas outside of brackets."""
    parts: list[Sequence[Token]] = []
    level = angle = start = 0
    for at, token in enumerate(written):
        if token.kind == "mark":
            level += (token.text in "([{") - (token.text in ")]}")
            angle = max(0, angle + (token.text == "<") - (token.text == ">"))
            if token.text == "," and level == 0 and angle == 0:
                parts.append(written[start:at])
                start = at + 1
    if written[start:]:
        parts.append(written[start:])
    return parts


def angle_end(found: Sequence[Token], at: int, last: int, most: int = 2 * _MAX_TYPE) -> int | None:
    """The index after the template arguments that start at `at`, of at most this many tokens."""
    if at >= last or found[at].text != "<":
        return None
    level = 0
    for end in range(at, min(last, at + most)):
        text = found[end].text
        level += (text == "<") - (text == ">")
        if level == 0:
            return end + 1
        if text in (";", "{", "}"):
            return None
    return None


def statement_end(code: Code, at: int) -> int:
    """The index of the `;` or `,` that ends the statement at `at`."""
    kinds, partner = code.tokens.kinds, code.partner
    while at < len(kinds) and kinds[at] not in b";,)}":
        code.spend(1)
        at = partner[at] + 1 if kinds[at] in b"([{" and partner[at] > at else at + 1
    return at


def needs_writable(code: Code, offset: int) -> bool:
    """Whether `x.name()`, with the name at a character offset, is converted to a pointer or reference to a type that is
    not const: it initializes a declared variable, or is the operand of static_cast or reinterpret_cast."""
    found = code.tokens
    at = code.tokens.index_at(offset)
    start = None if at is None else postfix_start(found, code.partner, at - 1)
    if at is None or start is None or start < 2 or at + 1 >= len(found) or code.partner[at + 1] < 0:
        return False
    end = code.partner[at + 1] + 1
    if end >= len(found):
        return False
    code.spend(_MAX_TYPE)
    after = found.word(end)
    if found.word(start - 1) == "=" and after in (";", ","):
        last, ends = start - 2, _BEFORE_STATEMENT
    elif found.word(start - 1) == "(" and found.word(start - 2) == ">" and after == ")":
        last, ends = start - 2, _CASTS
    else:
        return False
    first = next((each for each in range(last, max(0, last - _MAX_TYPE), -1) if found.word(each - 1) in ends), last)
    kind = [found.word(each) for each in range(first, last)]
    if kind[-1:] == ["const"]:
        kind.pop()  # of the pointer itself
    return kind[-1:] in (["*"], ["&"]) and len(kind) > 1 and {"const", "auto"}.isdisjoint(kind)
