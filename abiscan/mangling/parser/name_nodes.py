"""Nodes for names and symbols."""

from __future__ import annotations

from abiscan.mangling.parser.codes import STD_ABBREVIATIONS
from abiscan.mangling.parser.render import Ident, Node, Renderer
from abiscan.mangling.parser.type_nodes import ForwardParam

# Inline namespaces that only version an implementation: the entity is the same without them (libstdc++'s dual ABI and
# symbol generations, libc++'s ABI namespaces, Android's).
INLINE_NAMESPACES = frozenset({"__cxx11", "_V2", "__1", "__2", "__ndk1"})

_NEUTRAL_STD = {
    f"std::{name}{arguments}": text for text, name, arguments in STD_ABBREVIATIONS.values() if arguments
} | {"std::basic_string_view<char, std::char_traits<char>>": "std::string_view"}


class StdAbbreviation(Node):
    """Sa, Sb, Ss, Si, So, Sd. As the class of a constructor it is written in full (`expanded`)."""

    letter: str
    text: str
    name: str
    arguments: str
    expanded: bool = False

    def render(self, r: Renderer) -> str:
        if self.expanded and not r.neutral:
            return f"std::{self.name}{self.arguments}"
        return self.text


class Nested(Node):
    """`scope::name`."""

    scope: Node
    name: Node

    def render(self, r: Renderer) -> str:
        if not r.neutral:
            return f"{r.text(self.scope)}::{r.text(self.name)}"
        scope = r.text(self.scope)
        name = r.text(self.name)
        if name in INLINE_NAMESPACES:
            return scope
        text = f"{scope}::{name}"
        renamed = r.renamed
        return text if renamed is None else renamed.get(text, text)


class Friend(Nested):
    """`F`: a constrained friend that is defined in a class, and so belongs only to that class."""

    def render(self, r: Renderer) -> str:
        return f"{r.text(self.scope)}::friend {r.text(self.name)}"


class Module(Ident):
    """`W`: a module, or a partition of one."""


class ModuleEntity(Node):
    """A name that is attached to a module."""

    module: Module
    name: Node

    def render(self, r: Renderer) -> str:
        return f"{r.text(self.name)}@{self.module.text}"


class Tagged(Node):
    """`B`: a name with an abi tag."""

    name: Node
    tag: str

    def render(self, r: Renderer) -> str:
        return r.text(self.name) if r.neutral else f"{r.text(self.name)}[abi:{self.tag}]"


class Template(Node):
    """A template name with its arguments."""

    name: Node
    args: tuple[Node, ...]

    def render(self, r: Renderer) -> str:
        text = f"{r.text(self.name)}<{r.joined(self.args)}>"
        if r.neutral and text[:9] == "std::basi":
            return _NEUTRAL_STD.get(text, text)
        renamed = r.renamed
        return text if renamed is None else renamed.get(text, text)


class Structor(Node):
    """A constructor or destructor of the class `of`. Its variant (`C1`, `D0`, `CI2`...) is not in its text."""

    of: Node
    destructor: bool
    variant: str

    def render(self, r: Renderer) -> str:
        return base_name(self)


class Conversion(Node):
    """`cv`: the name of a conversion operator."""

    type: Node

    def render(self, r: Renderer) -> str:
        return f"operator {r.text(self.type)}"


class LiteralOperator(Ident):
    """`li`: operator""."""

    suffix: str


class Local(Node):
    """An entity inside a function."""

    function: Node
    entity: Node

    def render(self, r: Renderer) -> str:
        return f"{r.text(self.function)}::{r.text(self.entity)}"


class ClosureType(Node):
    """`Ul`: the type of a lambda. Its number distinguishes lambdas of one signature in one function."""

    signature: Node
    number: str

    def render(self, r: Renderer) -> str:
        return f"'lambda{self.number}'{r.text(self.signature)}"


# --- symbols ------------------------------------------------------------------------------------------------------


class Encoding(Node):
    """<encoding>: a function or an object.

    Attributes:
        ret: the return type, if mangled, or None.
        params: None for an object.
        attributes: an `enable_if` attribute of Clang, or None.
        requires: a requires-clause after the parameters, or None.
    """

    name: Node
    ret: Node | None
    params: tuple[Node, ...] | None
    qualifiers: str
    requires: Node | None = None
    attributes: Node | None = None

    def render(self, r: Renderer) -> str:
        name = r.text(self.name)
        if self.params is None:
            return name
        before = after = ""
        ret = self.ret
        if ret is not None:
            before = r.left(ret)
            # A declarator around the name needs no space before it: `int (*f())[3]`.
            if not ret.declarator or not before.endswith(("*", "&")):
                before += " "
            after = r.right(ret)
        return f"{before}{name}({r.joined(self.params)}){after}{self.end(r)}"

    def end(self, r: Renderer) -> str:
        """The text after the parameters: qualifiers, attributes and, for display, the requires-clause."""
        text = self.qualifiers
        if self.attributes is not None:
            text += r.text(self.attributes)
        if self.requires is not None and not r.neutral:
            text += f" requires {r.text(self.requires)}"
        return text


class Special(Node):
    """<special-name>: a symbol that a compiler generates for a class, function or object: a vtable, a thunk, a guard.

    Attributes:
        code: its two-letter code.
        of: the entity for which it was generated.
        part: for a construction vtable, the base class under construction of `of`; otherwise None.
    """

    code: str
    phrase: str
    of: Node
    part: Node | None = None

    def render(self, r: Renderer) -> str:
        if self.part is None:
            return self.phrase + r.text(self.of)
        return f"{self.phrase}{r.text(self.part)}-in-{r.text(self.of)}"


def base_name(node: Node) -> str:
    """The last identifier of a name, without scope, arguments and tags; `~` and the class name for a destructor."""
    text = ""
    for _ in range(256):
        if isinstance(node, Ident):
            return text + node.text
        if isinstance(node, StdAbbreviation):
            return text + node.name
        if isinstance(node, (Nested, Template, Tagged, ModuleEntity)):
            node = node.name
        elif isinstance(node, Local):
            node = node.entity
        elif isinstance(node, ForwardParam) and node.target is not None:
            node = node.target
        elif isinstance(node, Structor):
            text += "~" if node.destructor else ""
            node = node.of
        else:
            break
    return text
