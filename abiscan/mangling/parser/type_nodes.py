"""Nodes for compound types, for template arguments, and for references to them: <template-param>s, packs and their
expansions. C++ writes some types around the declared name: `int (*f)(long)`."""

from __future__ import annotations

from abiscan.mangling.parser.render import Node, Renderer


class StandIn(Node):
    """A node that is rendered as another one."""

    def stands_for(self, r: Renderer) -> Node | None:
        """The other node; None if nothing is rendered."""
        raise NotImplementedError

    def render(self, r: Renderer) -> str:
        node = self.stands_for(r)
        return "" if node is None else r.text(node)

    def left(self, r: Renderer) -> str:
        node = self.stands_for(r)
        return "" if node is None else r.left(node)

    def right(self, r: Renderer) -> str:
        node = self.stands_for(r)
        return "" if node is None else r.right(node)


class ForwardParam(StandIn):
    """A template parameter in the type of a conversion operator: its argument, `target`, comes later in the name and is
    set once it has been read.

    In a crafted name the argument may refer to the parameter; the renderer's nesting limit ends that.
    """

    index: int
    target: Node | None = None

    def __post_init__(self) -> None:
        self.declarator = True

    def stands_for(self, r: Renderer) -> Node | None:
        return self.target


class Either(StandIn):
    """A node that is displayed as mangled and compared in another form.

    One example is a template parameter in a constraint: its level does not always match the enclosing templates, so it
    is displayed as `T` or `TL0_` and compared by its argument.
    """

    shown: Node
    neutral: Node

    def __post_init__(self) -> None:
        self.declarator = self.neutral.declarator
        self.precedence = self.shown.precedence

    def stands_for(self, r: Renderer) -> Node:
        return self.neutral if r.neutral else self.shown


class Pack(StandIn):
    """A template parameter that is a pack: within an expansion, its current element."""

    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        self.declarator = any(node.declarator for node in self.nodes)

    def stands_for(self, r: Renderer) -> Node | None:
        return r.element(self.nodes)


class DeclaredArg(StandIn):
    """An argument preceded by the <template-param-decl> of its parameter (`Tn`, `Ty`, ...: Clang 18 and later).

    Only the argument is rendered: the declaration distinguishes templates that are otherwise equal, and compilers
    disagree on when to write it and on how to spell its content.
    """

    arg: Node

    def __post_init__(self) -> None:
        self.declarator = self.arg.declarator

    def stands_for(self, r: Renderer) -> Node:
        return self.arg

    def spread(self, r: Renderer) -> list[str]:
        return self.arg.spread(r)


class ArgPack(Node):
    """`J`: a whole argument pack."""

    nodes: tuple[Node, ...]

    def render(self, r: Renderer) -> str:
        return r.joined(self.nodes)

    def spread(self, r: Renderer) -> list[str]:
        return [text for node in self.nodes for text in node.spread(r)]


class Expansion(Node):
    """`Dp`, `sp`: the pattern, once for each element."""

    pattern: Node

    def render(self, r: Renderer) -> str:
        return ", ".join([text for text in r.expand(self.pattern) if text])

    def spread(self, r: Renderer) -> list[str]:
        return r.expand(self.pattern)


# Maximum number of references to references, or parameters for parameters, to follow; only crafted names have more.
_FOLLOWED = 64


class Declarator(Node, kw_only=True):
    """A type that is always written around the declared name."""

    declarator: bool = True

    def render(self, r: Renderer) -> str:
        return self.left(r) + self.right(r)


class Qualified(Node):
    """A type with const, volatile, restrict, or a vendor's qualifier."""

    type: Node
    qualifiers: str

    def __post_init__(self) -> None:
        self.declarator = self.type.declarator

    def render(self, r: Renderer) -> str:
        if self.declarator:
            return self.left(r) + self.right(r)
        return r.text(self.type) + self.qualifiers

    def left(self, r: Renderer) -> str:
        return r.left(self.type) + self.qualifiers

    def right(self, r: Renderer) -> str:
        return r.right(self.type)


def _function_or_array(node: Node, r: Renderer) -> Node | None:
    """The function or array type under a declarator, through parameters, packs and qualifiers; None if there is
    none."""
    for _ in range(_FOLLOWED):
        if isinstance(node, (Function, Array)):
            return node
        if isinstance(node, Qualified):
            node = node.type
        elif isinstance(node, StandIn):
            target = node.stands_for(r)
            if target is None:
                return None
            node = target
        else:
            return None
    return None


def _left_of(to: Node, mark: str, r: Renderer) -> str:
    """The text before the declared name in a pointer or reference (`mark`) to a type."""
    text = r.left(to)
    found = _function_or_array(to, r) if to.declarator else None
    if found is None:
        return text + mark
    return f"{text} ({mark}" if isinstance(found, Array) else f"{text}({mark}"


def _right_of(to: Node, r: Renderer) -> str:
    if not to.declarator:
        return ""
    text = r.right(to)
    return text if _function_or_array(to, r) is None else ")" + text


class Pointer(Node):
    """A pointer type."""

    to: Node

    def __post_init__(self) -> None:
        self.declarator = self.to.declarator

    def render(self, r: Renderer) -> str:
        if self.declarator:
            return self.left(r) + self.right(r)
        return r.text(self.to) + "*"

    def left(self, r: Renderer) -> str:
        return _left_of(self.to, "*", r)

    def right(self, r: Renderer) -> str:
        return _right_of(self.to, r)


class ReferenceType(Pointer):
    """An lvalue or rvalue reference (`mark`). Through a parameter, a reference to a reference collapses ([dcl.ref])."""

    mark: str

    def _collapsed(self, r: Renderer) -> tuple[Node, str]:
        to, mark = self.to, self.mark
        for _ in range(_FOLLOWED):
            if isinstance(to, ReferenceType):
                mark = "&" if mark == "&" or to.mark == "&" else "&&"
                to = to.to
            elif isinstance(to, (ForwardParam, Pack)):
                target = to.stands_for(r)
                if target is None:
                    break
                to = target
            else:
                break
        return to, mark

    def render(self, r: Renderer) -> str:
        if self.declarator:
            return self.left(r) + self.right(r)
        to, mark = self._collapsed(r)
        return r.text(to) + mark

    def left(self, r: Renderer) -> str:
        to, mark = self._collapsed(r)
        return _left_of(to, mark, r)

    def right(self, r: Renderer) -> str:
        return _right_of(self._collapsed(r)[0], r)


class MemberPointer(Pointer):
    """A pointer to a member of class `of`."""

    of: Node

    def render(self, r: Renderer) -> str:
        return self.left(r) + self.right(r)

    def left(self, r: Renderer) -> str:
        mark = f"{r.text(self.of)}::*"
        is_around = self.declarator and _function_or_array(self.to, r) is not None
        return _left_of(self.to, mark if is_around else " " + mark, r)


class Function(Declarator):
    """<function-type>.

    Attributes:
        exception: the exception specification, or None.
    """

    ret: Node
    params: tuple[Node, ...]
    qualifiers: str
    exception: Node | None

    def left(self, r: Renderer) -> str:
        return r.left(self.ret) + " "

    def right(self, r: Renderer) -> str:
        exception = "" if self.exception is None else " " + r.text(self.exception)
        return f"({r.joined(self.params)}){r.right(self.ret)}{self.qualifiers}{exception}"


class Array(Declarator):
    """<array-type>; `bound` is None if it has none."""

    of: Node
    bound: Node | None

    def left(self, r: Renderer) -> str:
        return r.left(self.of)

    def right(self, r: Renderer) -> str:
        bound = "" if self.bound is None else r.text(self.bound)
        return f" [{bound}]{r.right(self.of).lstrip()}"
