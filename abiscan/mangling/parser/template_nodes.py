"""Nodes for template arguments, and for references to them: <template-param>s, packs and their expansions."""

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
