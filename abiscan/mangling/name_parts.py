"""The components of a parsed name."""

from __future__ import annotations

from abiscan.mangling.parser.name_nodes import (
    INLINE_NAMESPACES,
    ClosureType,
    Encoding,
    Local,
    ModuleEntity,
    Nested,
    StdAbbreviation,
    Tagged,
    Template,
)
from abiscan.mangling.parser.render import Ident, Node, Renderer, RenderStyle


class Parts:
    """The components of a name, innermost first.

    Attributes:
        names: identifiers, innermost first.
        last: the innermost name, without arguments and tags.
        tags: abi tags of the innermost name.
        first_template: index in `names` of the outermost one with template arguments; -1 if none has any.
    """

    __slots__ = ("first_template", "last", "names", "tags")

    def __init__(self, entity: Node) -> None:
        self.names: list[str] = []
        self.last: Node = entity
        self.tags: tuple[str, ...] = ()
        self.first_template = -1
        self._walk(entity)

    def _walk(self, node: Node) -> None:
        names = self.names
        while True:
            scope: Node | None = None
            if isinstance(node, Local):
                self._walk(node.entity)
                node = node.function.name if isinstance(node.function, Encoding) else node.function
                continue
            templated = False
            if type(node) is Template:
                templated = True
                node = node.name
            if isinstance(node, Nested):
                scope = node.scope
                node = node.name
            if type(node) is Ident:
                text = node.text
            else:
                if type(node) is Template:
                    templated = True
                    node = node.name
                tags = []
                while isinstance(node, (Tagged, ModuleEntity)):
                    if isinstance(node, Tagged):
                        tags.append(node.tag)
                    node = node.name
                if tags and not names:
                    self.tags = tuple(reversed(tags))
                text = _identifier(node)
            if not names:
                self.last = node
            if templated:
                self.first_template = len(names)
            if text and (text not in INLINE_NAMESPACES or scope is None):
                names.append(text)
            if isinstance(node, StdAbbreviation):
                if node.arguments:
                    self.first_template = len(names) - 1
                names.append("std")
            if scope is None:
                return
            node = scope


def _identifier(node: Node) -> str:
    if isinstance(node, Ident):
        return node.text
    if isinstance(node, StdAbbreviation):
        return node.name
    if isinstance(node, ClosureType):
        return f"'lambda{node.number}'"
    return Renderer(RenderStyle.NEUTRAL).text(node)


def own_arguments(node: Node) -> tuple[Node, ...] | None:
    """The template arguments of the innermost name; None if it has none."""
    for _ in range(64):
        if isinstance(node, Template):
            return node.args
        if isinstance(node, (Nested, Tagged, ModuleEntity)):
            node = node.name
        elif isinstance(node, Local):
            node = node.entity
        else:
            break
    return None
