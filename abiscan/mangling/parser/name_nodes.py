"""Nodes for names and symbols."""

from __future__ import annotations

from abiscan.mangling.parser.codes import STD_ABBREVIATIONS
from abiscan.mangling.parser.render import Ident, Node, Renderer
from abiscan.mangling.parser.template_nodes import ForwardParam

# Inline namespaces that only version an implementation: the entity is the same without them (libstdc++'s dual ABI and
# symbol generations, libc++'s ABI namespaces, Android's).
INLINE_NAMESPACES = frozenset({"__cxx11", "_V2", "__1", "__2", "__ndk1"})

_NEUTRAL_STD = {
    f"std::{name}{arguments}": text for text, name, arguments in STD_ABBREVIATIONS.values() if arguments
} | {"std::basic_string_view<char, std::char_traits<char>>": "std::string_view"}


class StdAbbreviation(Node):
    """Sa, Sb, Ss, Si, So, Sd. As the class of a constructor it is written in full (`expanded`)."""

    __slots__ = ("arguments", "expanded", "letter", "name", "text")

    def __init__(self, letter: str, expanded: bool = False) -> None:
        self.letter = letter
        self.text, self.name, self.arguments = STD_ABBREVIATIONS[letter]
        self.expanded = expanded

    def render(self, r: Renderer) -> str:
        if self.expanded and not r.neutral:
            return f"std::{self.name}{self.arguments}"
        return self.text


class Nested(Node):
    """`scope::name`."""

    __slots__ = ("name", "scope")

    def __init__(self, scope: Node, name: Node) -> None:
        self.scope = scope
        self.name = name

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

    def children(self) -> tuple[Node, ...]:
        return (self.scope, self.name)


class Friend(Nested):
    """`F`: a constrained friend that is defined in a class, and so belongs only to that class."""

    __slots__ = ()

    def render(self, r: Renderer) -> str:
        return f"{r.text(self.scope)}::friend {r.text(self.name)}"


class Module(Ident):
    """`W`: a module, or a partition of one."""

    __slots__ = ()


class ModuleEntity(Node):
    """A name that is attached to a module."""

    __slots__ = ("module", "name")

    def __init__(self, module: Module, name: Node) -> None:
        self.module = module
        self.name = name

    def render(self, r: Renderer) -> str:
        return f"{r.text(self.name)}@{self.module.text}"

    def children(self) -> tuple[Node, ...]:
        return (self.name,)


class Tagged(Node):
    """`B`: a name with an abi tag."""

    __slots__ = ("name", "tag")

    def __init__(self, name: Node, tag: str) -> None:
        self.name = name
        self.tag = tag

    def render(self, r: Renderer) -> str:
        return r.text(self.name) if r.neutral else f"{r.text(self.name)}[abi:{self.tag}]"

    def children(self) -> tuple[Node, ...]:
        return (self.name,)


class Template(Node):
    """A template name with its arguments."""

    __slots__ = ("args", "name")

    def __init__(self, name: Node, args: tuple[Node, ...]) -> None:
        self.name = name
        self.args = args

    def render(self, r: Renderer) -> str:
        text = f"{r.text(self.name)}<{r.joined(self.args)}>"
        if r.neutral and text[:9] == "std::basi":
            return _NEUTRAL_STD.get(text, text)
        renamed = r.renamed
        return text if renamed is None else renamed.get(text, text)

    def children(self) -> tuple[Node, ...]:
        return (self.name, *self.args)


class Structor(Node):
    """A constructor or destructor of the class `of`. Its variant (`C1`, `D0`, `CI2`...) is not in its text."""

    __slots__ = ("destructor", "of", "variant")

    def __init__(self, of: Node, destructor: bool, variant: str) -> None:
        self.of = of
        self.destructor = destructor
        self.variant = variant

    def render(self, r: Renderer) -> str:
        return base_name(self)


class Conversion(Node):
    """`cv`: the name of a conversion operator."""

    __slots__ = ("type",)

    def __init__(self, type_: Node) -> None:
        self.type = type_

    def render(self, r: Renderer) -> str:
        return f"operator {r.text(self.type)}"

    def children(self) -> tuple[Node, ...]:
        return (self.type,)


class LiteralOperator(Ident):
    """`li`: operator""."""

    __slots__ = ("suffix",)

    def __init__(self, suffix: str) -> None:
        super().__init__(f'operator"" {suffix}')
        self.suffix = suffix


class Local(Node):
    """An entity inside a function."""

    __slots__ = ("entity", "function")

    def __init__(self, function: Node, entity: Node) -> None:
        self.function = function
        self.entity = entity

    def render(self, r: Renderer) -> str:
        return f"{r.text(self.function)}::{r.text(self.entity)}"

    def children(self) -> tuple[Node, ...]:
        return (self.function, self.entity)


class ClosureType(Node):
    """`Ul`: the type of a lambda. Its number distinguishes lambdas of one signature in one function."""

    __slots__ = ("number", "signature")

    def __init__(self, signature: Node, number: str) -> None:
        self.signature = signature
        self.number = number

    def render(self, r: Renderer) -> str:
        return f"'lambda{self.number}'{r.text(self.signature)}"

    def children(self) -> tuple[Node, ...]:
        return (self.signature,)


# --- symbols ------------------------------------------------------------------------------------------------------


class Encoding(Node):
    """<encoding>: a function or an object.

    Attributes:
        ret: the return type, if mangled, or None.
        params: None for an object.
        attributes: an `enable_if` attribute of Clang, or None.
        requires: a requires-clause after the parameters, or None.
    """

    __slots__ = ("attributes", "name", "params", "qualifiers", "requires", "ret")

    def __init__(
        self,
        name: Node,
        ret: Node | None,
        params: tuple[Node, ...] | None,
        qualifiers: str,
        *,
        requires: Node | None = None,
        attributes: Node | None = None,
    ) -> None:
        self.name = name
        self.ret = ret
        self.params = params
        self.qualifiers = qualifiers
        self.requires = requires
        self.attributes = attributes

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

    def children(self) -> tuple[Node, ...]:
        ret = () if self.ret is None else (self.ret,)
        return (self.name, *ret, *(self.params or ()))


class Special(Node):
    """<special-name>: a symbol that a compiler generates for a class, function or object: a vtable, a thunk, a guard.

    Attributes:
        code: its two-letter code.
        of: the entity for which it was generated.
        part: for a construction vtable, the base class under construction of `of`; otherwise None.
    """

    __slots__ = ("code", "of", "part", "phrase")

    def __init__(self, code: str, phrase: str, of: Node, part: Node | None = None) -> None:
        self.code = code
        self.phrase = phrase
        self.of = of
        self.part = part

    def render(self, r: Renderer) -> str:
        if self.part is None:
            return self.phrase + r.text(self.of)
        return f"{self.phrase}{r.text(self.part)}-in-{r.text(self.of)}"

    def children(self) -> tuple[Node, ...]:
        return (self.of,) if self.part is None else (self.of, self.part)


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
