"""Nodes of a parsed name, and their rendering as text.

The parser builds a graph of `Node`s: a <substitution> refers to an earlier part, so a name of a few hundred bytes can
expand to more text than fits in memory. `Renderer` renders every node once for each pack element with which it is used,
and charges all text of one name to a budget.

Texts follow LLVM's demangler, which replaces template parameters by their arguments; it is the oracle of the tests.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct

from abiscan.mangling.canonical import RENAMED
from abiscan.mangling.parser.codes import PRIMARY
from abiscan.mangling.parser.cursor import NameTooComplex

# Maximum number of characters, intermediate text included, for one name; the maximum among the exports of torch 2.13.0
# and libstdc++, and the symbols of a dozen extension wheels, is 33 thousand.
TEXT_BUDGET = 1_000_000
# Maximum nesting of nodes; the maximum among those is 17. At most three Python frames each, well below the
# interpreter's limit of 1000.
DEPTH_LIMIT = 160


class RenderStyle(enum.IntEnum):
    """Purpose of a text; `canonical.py` has the reasons.

    DISPLAY: as demangled by LLVM.
    NEUTRAL: without inline namespaces, abi tags and the two spellings of std::string.
    CANONICAL: NEUTRAL, with names that PyTorch moved replaced by those of the newest release.
    """

    DISPLAY = 0
    NEUTRAL = 1
    CANONICAL = 2


class Node(Struct, eq=False, kw_only=True):
    """A part of a name. Parts are shared by back references, so they do not change after parsing.

    Attributes:
        leaf: whether its text is constant and need not be cached.
        declarator: whether it may be a type that is written around the declared name: a function, an array, or a
            pointer to one.
        precedence: its precedence as an operand; one of the levels in `codes.py`.
    """

    leaf: ClassVar[bool] = False
    declarator: bool = False
    precedence: int = PRIMARY

    def render(self, r: Renderer) -> str:
        """The whole text; call `Renderer.text`, which caches it."""
        raise NotImplementedError

    def left(self, r: Renderer) -> str:
        """The text before the declared name; call `Renderer.left`."""
        return r.text(self)

    def right(self, r: Renderer) -> str:
        """The text after the declared name; call `Renderer.right`."""
        return ""

    def spread(self, r: Renderer) -> list[str]:
        """The texts of its list entries: several for a pack."""
        return [r.text(self)]

    def children(self) -> Iterator[Node]:
        """Its child nodes."""
        values = [getattr(self, name) for name in self.__struct_fields__]
        for value in values:
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                values += value


class Ident(Node):
    """A source name, an operator name, a builtin type or a literal: constant text."""

    leaf = True
    text: str

    def render(self, r: Renderer) -> str:
        return self.text


class Phrase(Node):
    """Fixed text with nodes in it, see `phrase`."""

    pieces: tuple[str | Node | tuple[Node, ...], ...]

    def render(self, r: Renderer) -> str:
        text = ""
        for piece in self.pieces:
            if isinstance(piece, str):
                text += piece
            else:
                text += r.joined(piece) if isinstance(piece, tuple) else r.text(piece)
        return text


def phrase(*pieces: str | Node | tuple[Node, ...], precedence: int = PRIMARY) -> Phrase:
    """Fixed text with nodes in it: `decltype(x)`, `a + b`. The nodes of a tuple are joined with commas."""
    return Phrase(pieces, precedence=precedence)


class Reading(Struct, frozen=True):
    """A parsed mangled name.

    Attributes:
        root: the entity.
        suffix: text after the encoding: a clone suffix (`.cold`, `.isra.0`) or a symbol version (`@@V1`).
        declared: whether template arguments include the declarations of their parameters (Clang 18 and later).
        member: from Microsoft's mangling, its specifiers in the class: `public`, `private static`, `protected virtual`;
            empty for a non-member.
    """

    root: Node
    suffix: str = ""
    declared: bool = False
    member: str = ""


class Renderer:
    """Renders the nodes of one name in one style, with a cache.

    Attributes:
        neutral: whether the style is other than DISPLAY.
        renamed: qualified name -> canonical spelling; None unless the style is CANONICAL.
        budget: number of characters left.
        pack_size, pack_index: size of the pack in the current expansion, and index of its element; -1 outside of one.

    All methods that render raise NameTooComplex if the name expands to more text, or nests deeper, than any compiler's.
    """

    __slots__ = ("_depth", "_memo", "budget", "neutral", "pack_index", "pack_size", "renamed")

    def __init__(self, style: RenderStyle, budget: int = TEXT_BUDGET, depth: int = 0) -> None:
        self.neutral = style is not RenderStyle.DISPLAY
        self.renamed = RENAMED if style is RenderStyle.CANONICAL else None
        self.budget = budget
        self.pack_size = -1
        self.pack_index = -1
        self._memo: dict[Node, str] = {}
        self._depth = depth

    def text(self, node: Node) -> str:
        """The whole text of a node."""
        if node.leaf:
            return node.render(self)
        memo = self._memo
        text = memo.get(node)
        if text is None:
            depth = self._depth
            if depth > DEPTH_LIMIT:
                raise NameTooComplex("nested too deeply")
            self._depth = depth + 1
            text = node.render(self)
            self._depth = depth
            memo[node] = text
            self.budget -= len(text) + 4
            if self.budget < 0:
                raise NameTooComplex("expands to too much text")
        return text

    def left(self, node: Node) -> str:
        """The text before the name that a type declares: the whole text, except for declarators."""
        if not node.declarator:
            return self.text(node)
        self._enter()
        text = node.left(self)
        return self._leave(text)

    def right(self, node: Node) -> str:
        """The text after the name that a type declares: empty, except for declarators."""
        if not node.declarator:
            return ""
        self._enter()
        text = node.right(self)
        return self._leave(text)

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise NameTooComplex("nested too deeply")

    def _leave(self, text: str) -> str:
        self._depth -= 1
        self.budget -= len(text) + 4
        if self.budget < 0:
            raise NameTooComplex("expands to too much text")
        return text

    def joined(self, nodes: tuple[Node, ...]) -> str:
        """Texts joined with commas; a node without text (an empty pack) gets no comma."""
        if len(nodes) == 1:
            return self.text(nodes[0])
        texts = []
        for node in nodes:
            text = self.text(node)
            if text:
                texts.append(text)
        return ", ".join(texts)

    def texts(self, nodes: tuple[Node, ...]) -> tuple[str, ...]:
        """The texts as a tuple, one for each element of a pack."""
        found: list[str] = []
        for node in nodes:
            found.extend(text for text in node.spread(self) if text)
        return tuple(found)

    def expand(self, pattern: Node) -> list[str]:
        """The texts of a pack expansion, one per element; `["x..."]` if its pack is unknown."""
        outer = self.pack_size, self.pack_index, self._memo
        self.pack_size = self.pack_index = -1
        self._memo = {}
        try:
            first = self.text(pattern)
            size = self.pack_size
            if size < 0:
                return [first + "..."]
            texts = [first] if size else []
            for index in range(1, size):
                self._memo = {}
                self.pack_index = index
                self.pack_size = size
                texts.append(self.text(pattern))
            return texts
        finally:
            self.pack_size, self.pack_index, self._memo = outer

    def element(self, elements: tuple[Node, ...]) -> Node | None:
        """The element of a pack at the current index of the expansion; None past its end."""
        if self.pack_size < 0:
            self.pack_size = len(elements)
            self.pack_index = 0
        index = self.pack_index
        return elements[index] if 0 <= index < len(elements) else None


def may_be_large(mangled: str) -> bool:
    """Whether a name may expand to much more text, or nest deeply, from its letters alone.

    Text grows by references, at most threefold for three of them (less than two thousand times for 20), or by a pack
    expansion within another. Each level of nesting takes at least one character.
    """
    count = mangled.count
    if len(mangled) >= DEPTH_LIMIT - 20 or count("S") + count("T") >= 20:
        return True
    return count("Dp") + count("sp") + count("fl") + count("fr") + count("fL") + count("fR") + count("sZ") > 1


def check_size(root: Node, mangled: str) -> str | None:
    """Ensure that no text of a name exceeds the limits later, by rendering it once with a part of them.

    Returns:
        The text; None for a name that needs no check.

    Raises:
        NameTooComplex: a text may exceed them.
    """
    return written_once(root) if may_be_large(mangled) else None


def written_once(root: Node) -> str:
    """The text of a name, written within a part of its bounds.

    Raises:
        NameTooComplex: they do not suffice.
    """
    return Renderer(RenderStyle.DISPLAY, TEXT_BUDGET // 4, 10).text(root)
