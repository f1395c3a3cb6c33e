"""Detects whether an expression is a torch tensor, from declarations, aliases and initializers in a file and its
includes.

The name `Tensor` is that of torch, unless the files have an alias or using-declaration (`using Tensor =
executorch::aten::Tensor`), a class with this name, or headers of ExecuTorch. If a compiler would be needed (template
parameter, overload resolution, macro argument), the type is unknown."""

from __future__ import annotations

import enum
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from abiscan.source.code import Code
from abiscan.source.declarations import (
    DeclaredIn,
    DeclaredType,
    alias_at,
    angle_end,
    declared_type,
    origin_of,
    statement_end,
    type_of,
)
from abiscan.source.lexer import Token, TokenList, Tokens
from abiscan.source.postfix_expressions import MAX_EXPRESSION, postfix_start
from abiscan.source.source_set import SourceSet, with_included

# Steps per place, besides those for its surroundings.
_PLACE_STEPS = 30
# Maximum nesting of initializers, aliases and operands.
_MAX_STEPS = 8
# Maximum number of tokens of the object of a member. Chains of registrations with a function in each call are longer.
_MAX_RECEIVER = 500
_TENSORS = frozenset({"Tensor", "TensorBase", "Variable"})
_SCOPES = frozenset({(), ("at",), ("torch",), ("torch", "autograd"), ("autograd",)})
_ROOTS = frozenset({"at", "c10", "torch"})
_LISTS = frozenset({"vector", "ArrayRef", "array", "initializer_list", "SmallVector", "List", "span"})
_POINTERS = frozenset({"optional", "unique_ptr", "shared_ptr", "MaybeOwned", "intrusive_ptr"})
# Class of torch and member -> class of the result; with `*` if it is a pointer (ATen/core/TensorBase.h,
# c10/core/TensorImpl.h, c10/core/Storage.h; torch 1.0 to 2.15).
_RESULTS = {
    ("Tensor", "storage"): "c10::Storage",
    ("Tensor", "options"): "c10::TensorOptions",
    ("Tensor", "unsafeGetTensorImpl"): "c10::TensorImpl*",
    ("Tensor", "getIntrusivePtr"): "c10::TensorImpl*",
    ("TensorImpl", "storage"): "c10::Storage",
    ("TensorImpl", "unsafe_storage"): "c10::Storage",
    ("Storage", "unsafeGetStorageImpl"): "c10::StorageImpl*",
}
_UNKNOWN_MEMBERS = frozenset({"map", "unordered_map", "pair", "tuple", "variant"})
# Functions of at:: and torch:: that return a tensor in every overload (ATen/ops, torch 1.13 to 2.15).
FUNCTIONS = frozenset(
    """empty empty_like empty_strided zeros zeros_like ones ones_like full full_like rand rand_like randn
    randn_like randint randperm arange linspace logspace eye tensor from_blob scalar_tensor cat stack hstack
    vstack matmul mm bmm addmm baddbmm add sub mul div pow sqrt rsqrt exp log abs neg relu sigmoid tanh softmax
    log_softmax sum mean prod cumsum clamp argmax argmin nonzero index_select gather scatter scatter_add
    bincount linear conv2d layer_norm batch_norm embedding einsum tensordot transpose reshape squeeze unsqueeze
    flatten clone masked_select""".split()  # noqa: SIM905 - a list of 100 names takes 100 lines
)
# The same for members of at::Tensor (ATen/core/TensorBody.h).
MEMBERS = frozenset(
    """contiguous clone detach to cpu cuda view view_as reshape reshape_as expand expand_as transpose t permute
    squeeze unsqueeze flatten select narrow slice index index_select gather masked_select toType type_as alias
    sum mean prod cumsum abs neg sqrt rsqrt exp log add sub mul div pow clamp matmul mm bmm sigmoid tanh relu
    softmax nonzero argmax argmin round floor ceil to_dense coalesce indices values grad variable_data
    tensor_data zero_ fill_ copy_ add_ sub_ mul_ div_ set_ resize_ requires_grad_ detach_ repeat scatter
    scatter_add_ scatter_ masked_fill masked_fill_ as_strided movedim ravel diagonal index_put_ clamp_ eq ne lt
    le gt ge t_ transpose_ unflatten roll flip new_empty new_zeros new_ones new_full relu_ bitwise_and
    logical_and logical_not""".split()  # noqa: SIM905 - a list of 100 names takes 100 lines
)


class Kind(enum.Enum):
    """The kind of an expression. TENSORS: a list of tensors. POINTER: `*` and `->` give a tensor. OTHER: a known other
    type."""

    TENSOR = enum.auto()
    TENSORS = enum.auto()
    POINTER = enum.auto()
    OTHER = enum.auto()
    UNKNOWN = enum.auto()


class ObjectType(Struct, frozen=True):
    """The type of an expression.

    Attributes:
        reason: why it is UNKNOWN, as a clause.
        name: qualified class name, for OTHER and some UNKNOWN; empty if unknown.
        pointer: whether it is a pointer to an object of this class.
    """

    kind: Kind
    reason: str = ""
    name: tuple[str, ...] = ()
    pointer: bool = False


_TENSOR = ObjectType(Kind.TENSOR)
_OTHER = ObjectType(Kind.OTHER)
_UNKNOWN = ObjectType(Kind.UNKNOWN, "its type is unknown")


class ObjectTypes:
    """Types of expressions in one file.

    Args:
        others: finds included files.
    """

    def __init__(self, code: Code, others: SourceSet) -> None:
        self._code = code
        self._others = others
        self._aliases: dict[str, DeclaredType | bool | None] = {}

    @cached_property
    def _unit(self) -> list[Code]:
        return list(with_included(self._code, self._others))

    def receiver(self, offset: int) -> ObjectType:
        """The object of the member that is named at a character offset."""
        code = self._code
        index = code.tokens.index_at(offset)
        if index is not None:
            return self._before_member(code.tokens, code.partner, index, None)
        if code.is_in_directive(offset):
            return ObjectType(Kind.UNKNOWN, "it is in a macro, whose arguments are unknown")
        # In a branch of `#if` that other views skip: its own tokens, with the names of the enclosing scope.
        index = code.every_token.index_at(offset)
        if index is None:
            return _UNKNOWN
        scope = bisect_left(code.tokens.starts, offset)
        return self._before_member(code.every_listed, code.every_partner, index, scope)

    def class_of(self, offset: int) -> str | None:
        """The torch class of the member that is named at a character offset; None if unknown."""
        known = self.receiver(offset)
        if known.kind is Kind.TENSOR:
            return "at::Tensor"
        return "::".join(known.name) if known.name and known.name[0] in _ROOTS else None

    def _before_member(
        self, found: Tokens | TokenList, partner: array[int], index: int, scope: int | None
    ) -> ObjectType:
        dot = index - 2 if found.word(index - 1) == "template" else index - 1
        if dot < 1:
            return _UNKNOWN
        start = postfix_start(found, partner, dot)
        # In a chain of calls, each call is visited for every later one.
        self._code.spend(4 * MAX_EXPRESSION if start is None else min(dot - start, _MAX_RECEIVER) + _PLACE_STEPS)
        if start is None or dot - start > _MAX_RECEIVER:
            return _UNKNOWN
        made = _Expression(found, partner, scope)
        answer = self._expression(made, start, dot, _MAX_STEPS)
        if found[dot].text == "->":
            answer = _pointed(answer)
        elif answer.pointer:
            answer = replace(answer, name=(), pointer=False)  # a member of the pointer itself
        if answer.kind in (Kind.TENSORS, Kind.POINTER):
            return _OTHER  # a member of the list or pointer itself
        return answer

    # --- expressions ------------------------------------------------------------------------------------------------

    def _expression(self, made: _Expression, first: int, last: int, steps: int) -> ObjectType:
        self._code.spend(_PLACE_STEPS)
        found, partner = made.found, made.partner
        if steps == 0 or first >= last:
            return _UNKNOWN
        text = found[first].text
        if text in ("*", "&"):
            inner = self._expression(made, first + 1, last, steps - 1)
            if text == "*":
                return _pointed(inner)
            if inner.name and not inner.pointer:
                return replace(inner, pointer=True)
            return ObjectType(Kind.POINTER) if inner.kind is Kind.TENSOR else _not_known(inner)
        self._code.spend(last - first)
        parts = _condition(found, partner, first, last)
        if parts is not None:
            answers = [self._expression(made, *part, steps - 1) for part in parts]
            return answers[0] if answers[0].kind is answers[1].kind else _UNKNOWN
        if text == "(" and partner[first] > first:
            answer = self._expression(made, first + 1, partner[first], steps - 1)
            at = partner[first] + 1
        else:
            answer, at = self._primary(made, first, last, steps)
        while at < last:
            answer, at = self._suffix(made, answer, at, last)
        return answer

    def _primary(self, made: _Expression, first: int, last: int, steps: int) -> tuple[ObjectType, int]:
        """Parse a name or a call of a function by name. Return its type and the next index."""
        found = made.found
        at = first
        names: list[str] = []
        while at < last and (found[at].text == "::" or found[at].kind == "name"):
            if found[at].kind == "name":
                names.append(found[at].text)
            at += 1
        if not names:
            return _UNKNOWN, last
        behind = angle_end(found, at, last) if at < last and found[at].text == "<" else at
        if behind is None:
            return _UNKNOWN, last
        *scope, name = names
        called = behind < last and found[behind].text == "(" and made.partner[behind] > 0
        if not called:
            if scope:
                return ObjectType(
                    Kind.UNKNOWN, f"the declaration of `{'::'.join(names)}` was not found in this file"
                ), behind
            return self._name(name, made.index(first, self._code), steps), behind
        end = made.partner[behind] + 1
        if tuple(scope) in (("at",), ("torch",)) and name in FUNCTIONS:
            return _TENSOR, end
        if scope == ["std"] and name in ("move", "forward"):
            return self._expression(made, behind + 1, end - 1, steps - 1), end
        if name in _TENSORS:
            return self._type(DeclaredType(tuple(names), (), 0), made.index(first, self._code), steps), end
        if scope:
            return ObjectType(Kind.UNKNOWN, f"the result type of `{'::'.join(names)}` is unknown"), end
        return self._name(name, made.index(first, self._code), steps), end

    def _suffix(self, made: _Expression, answer: ObjectType, at: int, last: int) -> tuple[ObjectType, int]:
        """Apply one `[...]`, `.member` or `.member(...)` to an expression. Return the type and the next index."""
        found, partner = made.found, made.partner
        text = found[at].text
        if text == "[" and partner[at] > at:
            listed = answer.kind in (Kind.TENSOR, Kind.TENSORS, Kind.POINTER)
            return (_TENSOR if listed else _not_known(answer)), partner[at] + 1
        if text not in (".", "->"):
            return _UNKNOWN, last
        if text == "->":
            answer = _pointed(answer)
        at += 1
        if at < last and found[at].text == "template":
            at += 1
        if at >= last or found[at].kind != "name":
            return _UNKNOWN, last
        name = found[at].text
        behind = angle_end(found, at + 1, last) or at + 1
        called = behind < last and found[behind].text == "(" and partner[behind] > 0
        end = partner[behind] + 1 if called else behind
        reason = ObjectType(Kind.UNKNOWN, f"the type of its member `{name}` is unknown")
        if not called:
            return reason, end
        result = _result(answer, name)
        if result is not None:
            return result, end
        if answer.kind is Kind.TENSOR:
            return (_TENSOR if name in MEMBERS else reason), end
        if answer.kind is Kind.TENSORS:
            return (_TENSOR if name in ("at", "front", "back", "get") else reason), end
        if answer.kind is Kind.POINTER:
            return (_TENSOR if name in ("value", "value_or") else reason), end
        return (reason if answer.kind is Kind.OTHER else answer), end

    # --- names ------------------------------------------------------------------------------------------------------

    def _name(self, name: str, at: int, steps: int) -> ObjectType:
        """The type of a name, seen from the token at `at` of the file."""
        declared = declared_type(self._code, at, name) if name != "this" else None
        if declared is None:
            return ObjectType(Kind.UNKNOWN, f"the declaration of `{name}` was not found in this file")
        kind, index = declared
        if kind.name != ("auto",):
            return self._type(kind, index, steps)
        found = self._code.tokens
        after = found[index + 1].text if index + 1 < len(found) else ""
        made = _Expression(found, self._code.partner, None)
        if after == "=":
            answer = self._expression(made, index + 2, statement_end(self._code, index + 2), steps - 1)
        elif after == ":":
            whole = self._expression(made, index + 2, statement_end(self._code, index + 2), steps - 1)
            # A tensor has no iterators.
            answer = _TENSOR if whole.kind is Kind.TENSORS else _not_known(whole)
        else:
            answer = _UNKNOWN
        if answer.kind is not Kind.UNKNOWN:
            return answer
        return ObjectType(Kind.UNKNOWN, f"the type of the initializer of `{name}` is unknown")

    def _type(self, kind: DeclaredType, at: int, steps: int) -> ObjectType:
        """The type of an object declared with `kind`, seen from the token at `at` of the file."""
        if steps == 0 or not kind.name:
            return _UNKNOWN
        answer = self._named(kind, at, steps)
        if kind.depth and answer.name:
            pointer = kind.depth == 1 and not answer.pointer
            return replace(answer, name=answer.name if pointer else (), pointer=pointer)
        if kind.depth == 0 or answer.kind in (Kind.OTHER, Kind.UNKNOWN):
            return answer
        return ObjectType(Kind.POINTER) if kind.depth == 1 and answer.kind is Kind.TENSOR else _UNKNOWN

    def _named(self, kind: DeclaredType, at: int, steps: int) -> ObjectType:
        *scope, name = kind.name
        shown = "::".join(kind.name)
        if name in _TENSORS:
            return self._tensor(kind.name, at, steps)
        if name == "TensorList" and tuple(scope) in _SCOPES:
            return ObjectType(Kind.TENSORS)
        if name in ("OptionalTensorRef", "TensorArg") and tuple(scope) in _SCOPES:
            return ObjectType(Kind.POINTER)
        if name in _LISTS or name in _POINTERS:
            argument = type_of(kind.argument)
            inner = self._type(argument, at, steps - 1) if argument is not None else _UNKNOWN
            if inner.kind is Kind.TENSOR:
                return ObjectType(Kind.TENSORS if name in _LISTS else Kind.POINTER)
            if inner.kind is not Kind.OTHER:
                return _UNKNOWN
            pointer = name in _POINTERS and bool(inner.name) and not inner.pointer
            return replace(inner, name=inner.name if pointer else (), pointer=pointer)
        named = () if kind.argument else kind.name
        unknown = ObjectType(Kind.UNKNOWN, f"it is a `{shown}`, whose definition was not found", named)
        if name in _UNKNOWN_MEMBERS:
            return unknown
        alias = self._alias(name)
        if isinstance(alias, DeclaredType):
            return self._type(alias, at, steps - 1)
        if alias is True:
            return _OTHER
        # A class that is defined elsewhere may be an alias of torch's.
        foreign = name in ("decltype", "auto") or (
            ("Tensor" in name or "Variable" in name) and _ROOTS.isdisjoint(scope[:1])
        )
        starts = self._code.tokens.starts
        offset = starts[min(at, len(starts) - 1)] if starts else 0
        if foreign or (not scope and origin_of(self._code, offset, name) is DeclaredIn.PARAMETER):
            return unknown
        return ObjectType(Kind.OTHER, name=named)

    def _tensor(self, name: tuple[str, ...], at: int, steps: int) -> ObjectType:
        """The meaning of `Tensor` with the scopes before it."""
        *scope, last = name
        if scope:
            return _TENSOR if tuple(scope) in _SCOPES else _OTHER
        alias = self._alias(last)
        if isinstance(alias, DeclaredType):
            # `using Tensor = Tensor` in a namespace refers to an outer one.
            return self._type(alias, at, steps - 1) if alias.name != name else _TENSOR
        if alias is True or any(path.startswith("executorch/") for path in self._code.includes):
            return _OTHER
        return _TENSOR

    def _alias(self, name: str) -> DeclaredType | bool | None:
        """The target of a name declared by `using` or a typedef in the file or its includes; True for a class or
        enumeration of their own, None if it is not declared. A class that derives from a tensor counts as one."""
        if name not in self._aliases:
            looked = (_introduced(each, name) for each in self._unit)
            self._aliases[name] = next((each for each in looked if each is not None), None)
        return self._aliases[name]


class _Expression(Struct):
    """The tokens around an expression.

    Attributes:
        scope: index among the file's tokens for name lookup, if `found` are others.
    """

    found: Tokens | TokenList
    partner: array[int]
    scope: int | None

    def index(self, at: int, code: Code) -> int:
        """The index for name lookup of the token at `at`."""
        return at if self.scope is None else min(self.scope, len(code.tokens))


def _result(answer: ObjectType, member: str) -> ObjectType | None:
    """The class that a member of a class of torch returns; None if unknown."""
    if answer.pointer:
        return answer if member == "get" else None
    known = answer.kind is Kind.TENSOR or (answer.name and answer.name[0] in _ROOTS)
    result = _RESULTS.get(("Tensor" if answer.kind is Kind.TENSOR else answer.name[-1], member)) if known else None
    if result is None:
        return None
    return ObjectType(Kind.OTHER, name=tuple(result.rstrip("*").split("::")), pointer=result.endswith("*"))


def _pointed(answer: ObjectType) -> ObjectType:
    """The type after `*` or `->`."""
    if answer.kind is Kind.POINTER:
        return _TENSOR
    if answer.name:
        return replace(answer, name=answer.name if answer.pointer else (), pointer=False)
    return answer if answer.kind in (Kind.OTHER, Kind.UNKNOWN) else _UNKNOWN


def _not_known(answer: ObjectType) -> ObjectType:
    return answer if answer.kind is Kind.UNKNOWN else _UNKNOWN


def _condition(
    found: Sequence[Token], partner: Sequence[int], first: int, last: int
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The second and third operand of `a ? b : c` outside of brackets."""
    at, question = first, -1
    while at < last:
        text = found[at].text
        if text in ("(", "[", "{") and partner[at] > at:
            at = partner[at]
        elif text == "?" and question < 0:
            question = at
        elif text == ":" and question > 0:
            return (question + 1, at), (at + 1, last)
        at += 1
    return None


def _introduced(code: Code, name: str) -> DeclaredType | bool | None:
    """`ObjectTypes._alias` for one file."""
    for at in code.places_of(name):
        found = code.tokens
        code.spend(10)
        if at == 0 or at + 1 >= len(found):
            continue
        before, after = found.word(at - 1), found.word(at + 1)
        if before == "::" and after == ";":
            start = at
            while start >= 2 and found[start - 1].text == "::" and found[start - 2].kind == "name":
                start -= 2
            start -= found[start - 1].text == "::"
            if start > 0 and found[start - 1].text == "using":
                return type_of(found[start : at + 1])
            continue
        if before in ("class", "struct", "union", "enum") and after in ("{", ":", "final"):
            if at > 1 and found[at - 2].text in ("<", ",", "using"):
                continue
            end = next((index for index in range(at, min(at + 64, len(found))) if found[index].text == "{"), at)
            bases = [each.text for each in found[at + 1 : end]]
            return DeclaredType(("at", "Tensor"), (), 0) if not _TENSORS.isdisjoint(bases) else True
        alias = alias_at(code, at)
        if alias is not None and alias.name:
            return alias
    return None
