"""The parts that only expressions are made of; `nodes.py` has the rest, and says how parts are written.

Imported with `expressions.py`, by names that have an expression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from abiscan.mangling.parser.codes import (
    ASSIGN,
    CAST,
    CONDITIONAL,
    OR_IF,
    POSTFIX,
    UNARY,
)
from abiscan.mangling.parser.nodes import Closure, Expansion, Node

if TYPE_CHECKING:
    from abiscan.mangling.parser.render import Renderer


class Binary(Node):
    """An infix operator."""

    __slots__ = ("lhs", "op", "prec", "rhs")

    def __init__(self, lhs: Node, op: str, rhs: Node, prec: int) -> None:
        self.lhs = lhs
        self.op = op
        self.rhs = rhs
        self.prec = prec

    def render(self, r: Renderer) -> str:
        prec = self.prec
        assigns = prec == ASSIGN
        lhs = self.lhs.operand(r, OR_IF if assigns else prec, not assigns)
        rhs = self.rhs.operand(r, prec, assigns)
        text = f"{lhs}{'' if self.op == ',' else ' '}{self.op} {rhs}"
        # Within template arguments a bare > would end them.
        return f"({text})" if self.op in (">", ">>") else text

    def children(self) -> tuple[Node, ...]:
        return (self.lhs, self.rhs)


class Prefix(Node):
    """A prefix operator."""

    __slots__ = ("of", "op")
    prec = UNARY

    def __init__(self, op: str, of: Node) -> None:
        self.op = op
        self.of = of

    def render(self, r: Renderer) -> str:
        return self.op + self.of.operand(r, UNARY)

    def children(self) -> tuple[Node, ...]:
        return (self.of,)


class Postfix(Node):
    """A postfix operator."""

    __slots__ = ("of", "op")
    prec = POSTFIX

    def __init__(self, of: Node, op: str) -> None:
        self.of = of
        self.op = op

    def render(self, r: Renderer) -> str:
        return self.of.operand(r, POSTFIX, True) + self.op

    def children(self) -> tuple[Node, ...]:
        return (self.of,)


class Member(Node):
    """Member access, also through a pointer to a member."""

    __slots__ = ("lhs", "op", "prec", "rhs")

    def __init__(self, lhs: Node, op: str, rhs: Node, prec: int) -> None:
        self.lhs = lhs
        self.op = op
        self.rhs = rhs
        self.prec = prec

    def render(self, r: Renderer) -> str:
        return self.lhs.operand(r, self.prec, True) + self.op + self.rhs.operand(r, self.prec)

    def children(self) -> tuple[Node, ...]:
        return (self.lhs, self.rhs)


class Subscript(Node):
    """`a[b]`."""

    __slots__ = ("index", "of")
    prec = POSTFIX

    def __init__(self, of: Node, index: Node) -> None:
        self.of = of
        self.index = index

    def render(self, r: Renderer) -> str:
        return f"{self.of.operand(r, POSTFIX)}[{self.index.operand(r)}]"

    def children(self) -> tuple[Node, ...]:
        return (self.of, self.index)


class Condition(Node):
    """`a ? b : c`."""

    __slots__ = ("condition", "else_", "then")
    prec = CONDITIONAL

    def __init__(self, condition: Node, then: Node, else_: Node) -> None:
        self.condition = condition
        self.then = then
        self.else_ = else_

    def render(self, r: Renderer) -> str:
        condition = self.condition.operand(r, CONDITIONAL)
        return f"{condition} ? {self.then.operand(r)} : {self.else_.operand(r, ASSIGN, True)}"

    def children(self) -> tuple[Node, ...]:
        return (self.condition, self.then, self.else_)


class Call(Node):
    """A call; `before` and `after` stand around the arguments (`f(x)`, `T{x}`)."""

    __slots__ = ("after", "args", "before", "callee")
    prec = POSTFIX

    def __init__(self, callee: Node | None, args: tuple[Node, ...], before: str = "(", after: str = ")") -> None:
        self.callee = callee
        self.args = args
        self.before = before
        self.after = after

    def render(self, r: Renderer) -> str:
        callee = "" if self.callee is None else r.text(self.callee)
        return f"{callee}{self.before}{r.joined(self.args)}{self.after}"

    def children(self) -> tuple[Node, ...]:
        return self.args if self.callee is None else (self.callee, *self.args)


class CStyleCast(Node):
    """`cv` in an expression: `(T)(x)`."""

    __slots__ = ("args", "type")
    prec = CAST

    def __init__(self, type_: Node, args: tuple[Node, ...]) -> None:
        self.type = type_
        self.args = args

    def render(self, r: Renderer) -> str:
        if r.neutral and len(self.args) == 1 and isinstance(self.args[0], Call) and self.args[0].callee is None:
            # GCC writes T{x} as a cast of {x}.
            return r.text(self.type) + r.text(self.args[0])
        return f"({r.text(self.type)})({r.joined(self.args)})"

    def children(self) -> tuple[Node, ...]:
        return (self.type, *self.args)


class NamedCast(Node):
    """`static_cast<T>(x)` and its kin."""

    __slots__ = ("kind", "of", "type")
    prec = POSTFIX

    def __init__(self, kind: str, type_: Node, of: Node) -> None:
        self.kind = kind
        self.type = type_
        self.of = of

    def render(self, r: Renderer) -> str:
        return f"{self.kind}<{r.text(self.type)}>({self.of.operand(r)})"

    def children(self) -> tuple[Node, ...]:
        return (self.type, self.of)


class New(Node):
    """A new-expression."""

    __slots__ = ("args", "keyword", "placement", "type")
    prec = UNARY

    def __init__(self, keyword: str, placement: tuple[Node, ...], type_: Node, args: tuple[Node, ...] | None) -> None:
        self.keyword = keyword
        self.placement = placement
        self.type = type_
        self.args = args

    def render(self, r: Renderer) -> str:
        placement = f"({r.joined(self.placement)})" if self.placement else ""
        args = "" if self.args is None else f"({r.joined(self.args)})"
        return f"{self.keyword}{placement} {r.text(self.type)}{args}"

    def children(self) -> tuple[Node, ...]:
        return (*self.placement, self.type, *(self.args or ()))


class Fold(Node):
    """A fold expression over a pack."""

    __slots__ = ("init", "left_fold", "op", "pack")

    def __init__(self, left_fold: bool, op: str, pack: Node, init: Node | None) -> None:
        self.left_fold = left_fold
        self.op = op
        self.pack = Expansion(pack)
        self.init = init

    def render(self, r: Renderer) -> str:
        pack = f"({r.text(self.pack)})"
        init = None if self.init is None else self.init.operand(r, CAST, True)
        first, last = (init, pack) if self.left_fold else (pack, init)
        text = f"{first} {self.op} ..." if first is not None else "..."
        return f"({text} {self.op} {last})" if last is not None else f"({text})"

    def children(self) -> tuple[Node, ...]:
        return (self.pack,) if self.init is None else (self.pack, self.init)


class Unresolved(Node):
    """A name in a template that is looked up at instantiation: `T::x`, `std::is_const_v<T>`.

    Attributes:
        scope: a type, or namespaces and classes by name.
        named: whether it is the latter. Only DISPLAY shows these: Clang writes `sr3std` where GCC writes nothing and
            nvcc's front end a name that it made up (`sr4__T0`, pytorch issue 174898).
    """

    __slots__ = ("name", "named", "scope")

    def __init__(self, scope: Node | None, name: Node, named: bool = False) -> None:
        self.scope = scope
        self.name = name
        self.named = named

    def render(self, r: Renderer) -> str:
        name = r.text(self.name)
        if self.scope is None or (self.named and r.neutral):
            return name
        return f"{r.text(self.scope)}::{name}"

    def children(self) -> tuple[Node, ...]:
        return (self.name,) if self.scope is None else (self.scope, self.name)


class Pair(Node):
    """Two parts with fixed text between."""

    __slots__ = ("between", "first", "second")

    def __init__(self, first: Node, between: str, second: Node) -> None:
        self.first = first
        self.between = between
        self.second = second

    def render(self, r: Renderer) -> str:
        return f"{r.text(self.first)}{self.between}{r.text(self.second)}"

    def children(self) -> tuple[Node, ...]:
        return (self.first, self.second)


class Designated(Pair):
    """A designated initialiser: `.x = 1`."""

    __slots__ = ()


class LambdaLiteral(Node):
    """A lambda as a template argument."""

    __slots__ = ("closure",)

    def __init__(self, closure: Closure) -> None:
        self.closure = closure

    def render(self, r: Renderer) -> str:
        return f"[]{self.closure.signature(r)}{{...}}"

    def children(self) -> tuple[Node, ...]:
        return (self.closure,)
