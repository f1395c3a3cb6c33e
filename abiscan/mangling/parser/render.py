"""A parsed name to text, in one of several styles.

A name is a graph, not a tree: a substitution refers back to a part that was there before, so that a name of a few
hundred bytes can stand for more text than fits in memory. Every part is rendered once for each pack element it is used
with, and all text made for one name is charged to a budget.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from abiscan.mangling.parse_errors import NameTooComplex

if TYPE_CHECKING:
    from abiscan.mangling.parser.nodes import Node

# Characters of text, intermediate ones included, that one name may cost; the most among the exports of torch 2.13.0 and
# libstdc++, and the symbols of a dozen extension wheels, is 33 thousand.
TEXT_BUDGET = 1_000_000
# Levels of parts in parts; the most among those is 17. Two Python frames each, well below the interpreter's own limit
# of 1000.
DEPTH_LIMIT = 160


class Style(enum.IntEnum):
    """What a text is for; `canonical.py` gives the reasons.

    DISPLAY: as LLVM's demangler writes it.
    NEUTRAL: inline namespaces, abi tags and the two spellings of std::string are gone.
    CANONICAL: NEUTRAL, and names that PyTorch moved are written as the newest release has them.
    """

    DISPLAY = 0
    NEUTRAL = 1
    CANONICAL = 2


class Renderer:
    """Renders parts of one name in one style; keeps what it has rendered.

    Attributes:
        neutral: whether the style is any but DISPLAY.
        renamed: qualified name -> its canonical spelling; None unless the style is CANONICAL.
        pack_size, pack_index: the pack expansion that is being written, and which element; -1 outside of one.
    """

    __slots__ = ("_depth", "_memo", "budget", "neutral", "pack_index", "pack_size", "renamed")

    def __init__(self, style: Style, budget: int = TEXT_BUDGET, depth: int = 0) -> None:
        self.neutral = style is not Style.DISPLAY
        self.renamed: dict[str, str] | None = None
        if style is Style.CANONICAL:
            from abiscan.mangling.canonical import RENAMED

            self.renamed = RENAMED
        self.budget = budget
        self.pack_size = -1
        self.pack_index = -1
        self._memo: dict[Node, str] = {}
        self._depth = depth

    def text(self, node: Node) -> str:
        """The whole text of a part.

        Raises:
            NameTooComplex: the name stands for more text, or more levels, than any compiler's name does.
        """
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
                raise NameTooComplex("stands for too much text")
        return text

    def charge(self, text: str) -> str:
        """`text`, after its length was charged: for texts that are made without passing through `text`."""
        self.budget -= len(text) + 4
        if self.budget < 0:
            raise NameTooComplex("stands for too much text")
        return text

    def descend(self) -> None:
        """Enter one level of `left` and `right`; `ascend` leaves it."""
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise NameTooComplex("nested too deeply")

    def ascend(self) -> None:
        self._depth -= 1

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
    if len(mangled) >= DEPTH_LIMIT - 20 or mangled.count("S") + mangled.count("T") >= 20:
        return True
    count = mangled.count
    return count("Dp") + count("sp") + count("fl") + count("fr") + count("fL") + count("fR") + count("sZ") > 1


def check_size(root: Node, mangled: str) -> str | None:
    """Make sure that no text of a name can exceed its bounds later, by writing it once within a part of them.

    Returns the text; None for a name that needs no check.

    Raises:
        NameTooComplex: as `Renderer.text`.
    """
    return Renderer(Style.DISPLAY, TEXT_BUDGET // 4, 10).text(root) if may_be_large(mangled) else None
