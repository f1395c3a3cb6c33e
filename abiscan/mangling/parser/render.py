"""The parts of a mangled name, and how they become text.

The parser makes a graph of `Node`s: a <substitution> refers back to a part that was there before, so that a name of a
few hundred bytes can stand for more text than fits in memory. `Renderer` writes every part once for each pack element
that it is used with, and charges all text that is made for one name to a budget.

Texts follow LLVM's demangler, which writes template parameters as the arguments they stand for; it is the oracle of
the tests.
"""

from __future__ import annotations

import enum
from typing import ClassVar

from abiscan.mangling.canonical import RENAMED
from abiscan.mangling.parser.codes import PRIMARY
from abiscan.mangling.parser.cursor import NameTooComplex

# Characters of text, intermediate ones included, that one name may cost; the most among the exports of torch 2.13.0 and
# libstdc++, and the symbols of a dozen extension wheels, is 33 thousand.
TEXT_BUDGET = 1_000_000
# Levels of parts in parts; the most among those is 17. Three Python frames each at most, well below the interpreter's
# own limit of 1000.
DEPTH_LIMIT = 160


class RenderStyle(enum.IntEnum):
    """What a text is for; `canonical.py` gives the reasons.

    DISPLAY: as LLVM's demangler writes it.
    NEUTRAL: inline namespaces, abi tags and the two spellings of std::string are gone.
    CANONICAL: NEUTRAL, and names that PyTorch moved are written as the newest release has them.
    """

    DISPLAY = 0
    NEUTRAL = 1
    CANONICAL = 2


class Node:
    """A part of a name. Parts are shared where the name refers back, so none changes after the parser has finished.

    Attributes:
        leaf: its text is at hand; nothing to keep.
        declarator: it is, or may be, a type that is written around the name it declares: a function, an array, or a
            pointer to one.
        precedence: how tightly it binds as an operand; one of the levels in `codes.py`.
    """

    __slots__ = ()
    leaf: ClassVar[bool] = False
    declarator: bool = False
    precedence: int = PRIMARY

    def render(self, r: Renderer) -> str:
        """The whole text; ask `Renderer.text`, which keeps it."""
        raise NotImplementedError

    def left(self, r: Renderer) -> str:
        """What stands before the declared name; ask `Renderer.left`."""
        return r.text(self)

    def right(self, r: Renderer) -> str:
        """What stands after the declared name; ask `Renderer.right`."""
        return ""

    def spread(self, r: Renderer) -> list[str]:
        """The texts of the list entries that this part is: several for a pack."""
        return [r.text(self)]

    def children(self) -> tuple[Node, ...]:
        """The parts it is made of, for walks that look for something."""
        return ()


class Ident(Node):
    """A source name, an operator's name, a builtin type, a literal: text that stands as it is."""

    __slots__ = ("text",)
    leaf = True

    def __init__(self, text: str) -> None:
        self.text = text

    def render(self, r: Renderer) -> str:
        return self.text


class Phrase(Node):
    """Fixed text with parts in it: `decltype(x)`, `a + b`. A tuple among the pieces has commas between its parts."""

    __slots__ = ("pieces", "precedence")

    def __init__(self, *pieces: str | Node | tuple[Node, ...], precedence: int = PRIMARY) -> None:
        self.pieces = pieces
        self.precedence = precedence

    def render(self, r: Renderer) -> str:
        text = ""
        for piece in self.pieces:
            if isinstance(piece, str):
                text += piece
            else:
                text += r.joined(piece) if isinstance(piece, tuple) else r.text(piece)
        return text

    def children(self) -> tuple[Node, ...]:
        found: list[Node] = []
        for piece in self.pieces:
            if isinstance(piece, tuple):
                found.extend(piece)
            elif isinstance(piece, Node):
                found.append(piece)
        return tuple(found)


class Renderer:
    """Writes parts of one name in one style; keeps what it has written.

    Attributes:
        neutral: whether the style is any but DISPLAY.
        renamed: qualified name -> its canonical spelling; None unless the style is CANONICAL.
        budget: characters that may still be written.
        pack_size, pack_index: of the pack expansion that is being written, and which element; -1 outside of one.

    All methods that write raise NameTooComplex where the name stands for more text, or more levels, than any compiler's
    name does.
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
        """The whole text of a part."""
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
        """What stands before the name that a type declares: the whole text, but for declarators."""
        if not node.declarator:
            return self.text(node)
        self._enter()
        text = node.left(self)
        return self._leave(text)

    def right(self, node: Node) -> str:
        """What stands after the name that a type declares: nothing, but for declarators."""
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
        """Texts with commas between; a part without text (an empty pack) leaves no comma."""
        if len(nodes) == 1:
            return self.text(nodes[0])
        texts = []
        for node in nodes:
            text = self.text(node)
            if text:
                texts.append(text)
        return ", ".join(texts)

    def texts(self, nodes: tuple[Node, ...]) -> tuple[str, ...]:
        """The texts apart; a pack counts as its elements."""
        found: list[str] = []
        for node in nodes:
            found.extend(text for text in node.spread(self) if text)
        return tuple(found)

    def expand(self, pattern: Node) -> list[str]:
        """The texts of a pack expansion, one an element; `["x..."]` where its pack is not known."""
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
        """The element of a pack that the expansion in progress is at; None past its end."""
        if self.pack_size < 0:
            self.pack_size = len(elements)
            self.pack_index = 0
        index = self.pack_index
        return elements[index] if 0 <= index < len(elements) else None


def may_be_large(mangled: str) -> bool:
    """Whether a name may stand for much more text than it has, or nest deeply, judged by its letters alone.

    Text grows by references, at best threefold for three of them (less than two thousand times for 20), or by an
    expansion of a pack within another. A level of nesting takes a character at least.
    """
    count = mangled.count
    if len(mangled) >= DEPTH_LIMIT - 20 or count("S") + count("T") >= 20:
        return True
    return count("Dp") + count("sp") + count("fl") + count("fr") + count("fL") + count("fR") + count("sZ") > 1


def check_size(root: Node, mangled: str) -> str | None:
    """Make sure that no text of a name can exceed its bounds later, by writing it once within a part of them.

    Returns the text; None for a name that needs no check.

    Raises:
        NameTooComplex: it can.
    """
    return Renderer(RenderStyle.DISPLAY, TEXT_BUDGET // 4, 10).text(root) if may_be_large(mangled) else None
