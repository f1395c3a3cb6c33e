"""The parts of a mangled name, and how each is written.

`render` gives a part's whole text. A type that is written around the name it declares (a pointer to a function, an
array) also has a `left` and a `right`; `declarator` tells. Parts are shared where the name refers back, so they are
never changed once the parser has handed them out (but for `ForwardParam`, whose target comes later in the name).

Texts follow LLVM's demangler, which writes template parameters as the arguments they stand for; it is the oracle of
the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from abiscan.mangling.parse_errors import NameSyntaxError
from abiscan.mangling.parser.codes import (
    LITERAL_SUFFIX,
    LOOSEST,
    PRIMARY,
    STD_ABBREVIATIONS,
)

if TYPE_CHECKING:
    from abiscan.mangling.parser.render import Renderer

# Inline namespaces that only version an implementation: the entity is the same without (libstdc++'s dual ABI and its
# symbol generations, libc++'s ABI namespaces, Android's).
INLINE_NAMESPACES = frozenset({"__cxx11", "_V2", "__1", "__2", "__ndk1"})


class Node:
    """A part of a name.

    Attributes:
        leaf: its text is at hand; nothing to keep.
        declarator: it has, or may have, a `right`.
        prec: how tightly it binds as an operand.
    """

    __slots__ = ()
    leaf: ClassVar[bool] = False
    prec: int = PRIMARY
    declarator: bool = False

    def render(self, r: Renderer) -> str:
        raise NotImplementedError

    def left(self, r: Renderer) -> str:
        """What stands before the declared name."""
        return r.text(self)

    def right(self, r: Renderer) -> str:
        """What stands after the declared name."""
        return ""

    def spread(self, r: Renderer) -> list[str]:
        """The texts of the list entries that this part is."""
        return [r.text(self)]

    def operand(self, r: Renderer, prec: int = LOOSEST, strictly_worse: bool = False) -> str:
        """The text as an operand of an operator of precedence `prec`."""
        text = r.text(self)
        return f"({text})" if self.prec >= prec + strictly_worse else text

    def children(self) -> tuple[Node, ...]:
        """The parts it is made of, for walks that look for something."""
        return ()


# --- names --------------------------------------------------------------------------------------------------------


class Ident(Node):
    """A source name, an operator's name, a builtin type: text that stands as it is."""

    __slots__ = ("text",)
    leaf = True

    def __init__(self, text: str) -> None:
        self.text = text

    def render(self, r: Renderer) -> str:
        return self.text


class StdAbbreviation(Node):
    """Sa, Sb, Ss, Si, So, Sd. As the class of a constructor it is written out (`expanded`)."""

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
    """`F`: a friend that is defined in a class and constrained, so that it belongs to that class alone."""

    __slots__ = ()

    def render(self, r: Renderer) -> str:
        return f"{r.text(self.scope)}::friend {r.text(self.name)}"


class Module(Node):
    """`W`: a module, or a partition of one."""

    __slots__ = ("name", "parent", "partition")

    def __init__(self, parent: Module | None, name: Node, partition: bool) -> None:
        self.parent = parent
        self.name = name
        self.partition = partition

    def render(self, r: Renderer) -> str:
        parent = "" if self.parent is None else r.text(self.parent)
        mark = ":" if self.partition else "." if parent else ""
        return f"{parent}{mark}{r.text(self.name)}"


class ModuleEntity(Node):
    """A name that is attached to a module."""

    __slots__ = ("module", "name")

    def __init__(self, module: Module, name: Node) -> None:
        self.module = module
        self.name = name

    def render(self, r: Renderer) -> str:
        return f"{r.text(self.name)}@{r.text(self.module)}"

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
    """A template's name with its arguments."""

    __slots__ = ("args", "name")

    def __init__(self, name: Node, args: Args) -> None:
        self.name = name
        self.args = args

    def render(self, r: Renderer) -> str:
        text = f"{r.text(self.name)}<{r.joined(self.args.nodes)}>"
        if r.neutral and text[:9] == "std::basi":
            return _NEUTRAL_STD.get(text, text)
        renamed = r.renamed
        return text if renamed is None else renamed.get(text, text)

    def children(self) -> tuple[Node, ...]:
        return (self.name, *self.args.nodes)


_NEUTRAL_STD = {
    f"std::{name}{arguments}": text for text, name, arguments in STD_ABBREVIATIONS.values() if arguments
} | {"std::basic_string_view<char, std::char_traits<char>>": "std::string_view"}


class Args:
    """Template arguments, with a requires-clause or without."""

    __slots__ = ("nodes", "requires")

    def __init__(self, nodes: tuple[Node, ...], requires: Node | None) -> None:
        self.nodes = nodes
        self.requires = requires


class Structor(Node):
    """A constructor or destructor. Which variant (`C1`, `D0`, `CI2`...) doesn't show in its text."""

    __slots__ = ("destructor", "of", "variant")

    def __init__(self, of: Node, destructor: bool, variant: str) -> None:
        self.of = of
        self.destructor = destructor
        self.variant = variant

    def render(self, r: Renderer) -> str:
        return f"~{base_name(self.of)}" if self.destructor else base_name(self.of)


class Conversion(Node):
    """`cv`: a conversion operator's name."""

    __slots__ = ("type",)

    def __init__(self, type_: Node) -> None:
        self.type = type_

    def render(self, r: Renderer) -> str:
        return f"operator {r.text(self.type)}"

    def children(self) -> tuple[Node, ...]:
        return (self.type,)


class LiteralOperator(Node):
    """`li`: operator""."""

    __slots__ = ("name",)

    def __init__(self, name: Node) -> None:
        self.name = name

    def render(self, r: Renderer) -> str:
        return f'operator"" {r.text(self.name)}'


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


class Closure(Node):
    """`Ul`: a lambda's type. Its number tells lambdas of one signature in one function apart."""

    __slots__ = ("number", "params", "requires", "requires_after", "template_params")

    def __init__(
        self,
        template_params: tuple[Node, ...],
        requires: Node | None,
        params: tuple[Node, ...],
        requires_after: Node | None,
        number: str,
    ) -> None:
        self.template_params = template_params
        self.requires = requires
        self.params = params
        self.requires_after = requires_after
        self.number = number

    def signature(self, r: Renderer) -> str:
        text = ""
        if self.template_params:
            text += f"<{r.joined(self.template_params)}>"
        if self.requires is not None:
            text += f" requires {r.text(self.requires)} "
        text += f"({r.joined(self.params)})"
        if self.requires_after is not None:
            text += f" requires {r.text(self.requires_after)} "
        return text

    def render(self, r: Renderer) -> str:
        return f"'lambda{self.number}'{self.signature(r)}"

    def children(self) -> tuple[Node, ...]:
        return self.params


class Bindings(Node):
    """`DC`: a structured binding."""

    __slots__ = ("names",)

    def __init__(self, names: tuple[Node, ...]) -> None:
        self.names = names

    def render(self, r: Renderer) -> str:
        return f"[{r.joined(self.names)}]"


# --- types --------------------------------------------------------------------------------------------------------


class Qualified(Node):
    """A type with const, volatile, restrict, or a vendor's qualifier."""

    __slots__ = ("declarator", "qualifiers", "type")

    def __init__(self, type_: Node, qualifiers: str) -> None:
        self.type = type_
        self.qualifiers = qualifiers
        self.declarator = type_.declarator

    def render(self, r: Renderer) -> str:
        if self.declarator:
            return self.left(r) + self.right(r)
        return r.text(self.type) + self.qualifiers

    def left(self, r: Renderer) -> str:
        return self.type.left(r) + self.qualifiers

    def right(self, r: Renderer) -> str:
        return self.type.right(r)

    def children(self) -> tuple[Node, ...]:
        return (self.type,)


class VendorQualified(Node):
    """`U`: a type with a vendor's extended qualifier."""

    __slots__ = ("args", "qualifier", "type")

    def __init__(self, type_: Node, qualifier: str, args: Args | None) -> None:
        self.type = type_
        self.qualifier = qualifier
        self.args = args

    def render(self, r: Renderer) -> str:
        args = "" if self.args is None else f"<{r.joined(self.args.nodes)}>"
        return f"{r.text(self.type)} {self.qualifier}{args}"

    def children(self) -> tuple[Node, ...]:
        return (self.type,)


def _shape(node: Node, r: Renderer) -> Node | None:
    """The function or array type that a declarator comes down to, through parameters, packs and qualifiers."""
    for _ in range(64):
        if isinstance(node, (Function, Array)):
            return node
        if isinstance(node, ForwardParam):
            if node.target is None:
                return None
            node = node.target
        elif isinstance(node, Pack):
            element = r.element(node.nodes)
            if element is None:
                return None
            node = element
        elif isinstance(node, Qualified):
            node = node.type
        elif isinstance(node, ConstraintParam) and r.neutral and node.arg is not None:
            node = node.arg
        else:
            return None
    return None


class Pointer(Node):
    """A pointer type."""

    __slots__ = ("declarator", "to")

    def __init__(self, to: Node) -> None:
        self.to = to
        self.declarator = to.declarator

    def render(self, r: Renderer) -> str:
        if self.declarator:
            return self.left(r) + self.right(r)
        return r.text(self.to) + "*"

    def left(self, r: Renderer) -> str:
        return _declarator_left(self.to, "*", r)

    def right(self, r: Renderer) -> str:
        return _declarator_right(self.to, r)

    def children(self) -> tuple[Node, ...]:
        return (self.to,)


def _declarator_left(to: Node, mark: str, r: Renderer) -> str:
    if not to.declarator:
        return r.text(to) + mark
    r.descend()
    text = r.charge(to.left(r))
    r.ascend()
    shape = _shape(to, r)
    if shape is None:
        return text + mark
    return f"{text} ({mark}" if isinstance(shape, Array) else f"{text}({mark}"


def _declarator_right(to: Node, r: Renderer) -> str:
    if not to.declarator:
        return ""
    r.descend()
    text = r.charge(to.right(r))
    r.ascend()
    return text if _shape(to, r) is None else ")" + text


class Reference(Node):
    """An lvalue or rvalue reference. A reference to a reference (through a parameter) collapses ([dcl.ref])."""

    __slots__ = ("declarator", "mark", "to")

    def __init__(self, to: Node, mark: str) -> None:
        self.to = to
        self.mark = mark
        self.declarator = to.declarator

    def _collapsed(self, r: Renderer) -> tuple[Node, str]:
        to, mark = self.to, self.mark
        for _ in range(64):
            if isinstance(to, Reference):
                mark = "&" if mark == "&" or to.mark == "&" else "&&"
                to = to.to
            elif isinstance(to, ForwardParam) and to.target is not None:
                to = to.target
            elif isinstance(to, Pack):
                element = r.element(to.nodes)
                if element is None:
                    break
                to = element
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
        return _declarator_left(to, mark, r)

    def right(self, r: Renderer) -> str:
        return _declarator_right(self._collapsed(r)[0], r)

    def children(self) -> tuple[Node, ...]:
        return (self.to,)


class MemberPointer(Node):
    """A pointer to a member."""

    __slots__ = ("declarator", "of", "to")

    def __init__(self, of: Node, to: Node) -> None:
        self.of = of
        self.to = to
        self.declarator = to.declarator

    def render(self, r: Renderer) -> str:
        return self.left(r) + self.right(r)

    def left(self, r: Renderer) -> str:
        mark = f"{r.text(self.of)}::*"
        if self.to.declarator and _shape(self.to, r) is not None:
            return _declarator_left(self.to, mark, r)
        return f"{self.to.left(r)} {mark}"

    def right(self, r: Renderer) -> str:
        return _declarator_right(self.to, r)

    def children(self) -> tuple[Node, ...]:
        return (self.of, self.to)


class Function(Node):
    """A function type."""

    __slots__ = ("exception", "params", "qualifiers", "ret")
    declarator = True

    def __init__(self, ret: Node, params: tuple[Node, ...], qualifiers: str, exception: Node | None) -> None:
        self.ret = ret
        self.params = params
        self.qualifiers = qualifiers
        self.exception = exception

    def render(self, r: Renderer) -> str:
        return self.left(r) + self.right(r)

    def left(self, r: Renderer) -> str:
        if not self.ret.declarator:
            return r.text(self.ret) + " "
        r.descend()
        text = r.charge(self.ret.left(r) + " ")
        r.ascend()
        return text

    def right(self, r: Renderer) -> str:
        exception = "" if self.exception is None else " " + r.text(self.exception)
        after = ""
        if self.ret.declarator:
            r.descend()
            after = self.ret.right(r)
            r.ascend()
        return r.charge(f"({r.joined(self.params)}){after}{self.qualifiers}{exception}")

    def children(self) -> tuple[Node, ...]:
        return (self.ret, *self.params)


class Array(Node):
    """An array type; `bound` is None where it has none."""

    __slots__ = ("bound", "of")
    declarator = True

    def __init__(self, of: Node, bound: Node | None) -> None:
        self.of = of
        self.bound = bound

    def render(self, r: Renderer) -> str:
        return self.left(r) + self.right(r)

    def left(self, r: Renderer) -> str:
        r.descend()
        text = r.charge(self.of.left(r))
        r.ascend()
        return text

    def right(self, r: Renderer) -> str:
        bound = "" if self.bound is None else r.text(self.bound)
        r.descend()
        text = r.charge(f" [{bound}]{self.of.right(r).lstrip()}")
        r.ascend()
        return text

    def children(self) -> tuple[Node, ...]:
        return (self.of,)


class Vector(Node):
    """`Dv`: a vector type."""

    __slots__ = ("of", "size")

    def __init__(self, of: Node, size: Node | None) -> None:
        self.of = of
        self.size = size

    def render(self, r: Renderer) -> str:
        size = "" if self.size is None else r.text(self.size)
        return f"{r.text(self.of)} vector[{size}]"

    def children(self) -> tuple[Node, ...]:
        return (self.of,)


class Wrapped(Node):
    """Fixed text around a part: `decltype(x)`, `typeinfo for x`, `_BitInt(x)`."""

    __slots__ = ("after", "before", "inner")

    def __init__(self, before: str, inner: Node, after: str) -> None:
        self.before = before
        self.inner = inner
        self.after = after

    def render(self, r: Renderer) -> str:
        return f"{self.before}{r.text(self.inner)}{self.after}"

    def children(self) -> tuple[Node, ...]:
        return (self.inner,)


class Comma(Node):
    """Parts with commas between, in fixed text: `throw(x, y)`."""

    __slots__ = ("after", "before", "nodes")

    def __init__(self, before: str, nodes: tuple[Node, ...], after: str) -> None:
        self.before = before
        self.nodes = nodes
        self.after = after

    def render(self, r: Renderer) -> str:
        return f"{self.before}{r.joined(self.nodes)}{self.after}"

    def children(self) -> tuple[Node, ...]:
        return self.nodes


# --- templates ----------------------------------------------------------------------------------------------------


class ForwardParam(Node):
    """A template parameter of a conversion operator's type: its argument stands further on in the name."""

    __slots__ = ("busy", "index", "target")
    declarator = True

    def __init__(self, index: int) -> None:
        self.index = index
        self.target: Node | None = None
        self.busy = False

    def _guarded(self) -> Node:
        # The argument may refer to the parameter that stands for it; only a forged name does.
        if self.target is None or self.busy:
            raise NameSyntaxError("a template parameter stands for itself")
        return self.target

    def render(self, r: Renderer) -> str:
        target = self._guarded()
        self.busy = True
        try:
            return r.text(target)
        finally:
            self.busy = False

    def left(self, r: Renderer) -> str:
        target = self._guarded()
        self.busy = True
        try:
            return target.left(r)
        finally:
            self.busy = False

    def right(self, r: Renderer) -> str:
        target = self._guarded()
        self.busy = True
        try:
            return target.right(r)
        finally:
            self.busy = False


class ConstraintParam(Node):
    """A template parameter in a constraint. Its level is not always what the enclosing templates make one expect, so
    that it is shown as it is mangled (`T`, `TL0_`); in other styles it is the argument, where there is one. Later
    substitutions in the signature may refer to it."""

    __slots__ = ("arg", "declarator", "mangled")

    def __init__(self, mangled: str, arg: Node | None) -> None:
        self.mangled = mangled
        self.arg = arg
        self.declarator = arg is not None and arg.declarator

    def render(self, r: Renderer) -> str:
        return r.text(self.arg) if r.neutral and self.arg is not None else self.mangled

    def left(self, r: Renderer) -> str:
        return self.arg.left(r) if r.neutral and self.arg is not None else self.mangled

    def right(self, r: Renderer) -> str:
        return self.arg.right(r) if r.neutral and self.arg is not None else ""

    def children(self) -> tuple[Node, ...]:
        return () if self.arg is None else (self.arg,)


class Pack(Node):
    """A template parameter that stands for a pack: within an expansion, the element that is at hand."""

    __slots__ = ("declarator", "nodes")

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes
        self.declarator = any(node.declarator for node in nodes)

    def render(self, r: Renderer) -> str:
        element = r.element(self.nodes)
        return "" if element is None else r.text(element)

    def left(self, r: Renderer) -> str:
        element = r.element(self.nodes)
        return "" if element is None else element.left(r)

    def right(self, r: Renderer) -> str:
        element = r.element(self.nodes)
        return "" if element is None else element.right(r)

    def children(self) -> tuple[Node, ...]:
        return self.nodes


class ArgPack(Node):
    """`J`: an argument pack, all of it."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes

    def render(self, r: Renderer) -> str:
        return r.joined(self.nodes)

    def spread(self, r: Renderer) -> list[str]:
        return [text for node in self.nodes for text in node.spread(r)]

    def children(self) -> tuple[Node, ...]:
        return self.nodes


class Expansion(Node):
    """`Dp`, `sp`: the pattern, once for each element."""

    __slots__ = ("pattern",)

    def __init__(self, pattern: Node) -> None:
        self.pattern = pattern

    def render(self, r: Renderer) -> str:
        return ", ".join([text for text in r.expand(self.pattern) if text])

    def spread(self, r: Renderer) -> list[str]:
        return r.expand(self.pattern)

    def children(self) -> tuple[Node, ...]:
        return (self.pattern,)


class DeclaredArg(Node):
    """An argument with the declaration of its parameter before it (`Tn`, `Ty`, ...: Clang 18 and later).

    Only the argument shows: the declaration tells apart templates that differ in nothing else, and compilers disagree
    on when to write it and on how to spell what is in it.
    """

    __slots__ = ("arg", "declaration", "declarator")

    def __init__(self, declaration: Node, arg: Node) -> None:
        self.declaration = declaration
        self.arg = arg
        self.declarator = arg.declarator

    def render(self, r: Renderer) -> str:
        return r.text(self.arg)

    def spread(self, r: Renderer) -> list[str]:
        return self.arg.spread(r)

    def children(self) -> tuple[Node, ...]:
        return (self.arg,)


# --- literals ---------------------------------------------------------------------------------------------------


class IntegerLiteral(Node):
    """An integer of a builtin type; `letter` is the type's."""

    __slots__ = ("letter", "value")

    def __init__(self, letter: str, value: str) -> None:
        self.letter = letter
        self.value = value

    def render(self, r: Renderer) -> str:
        value = _number(self.value)
        suffix = LITERAL_SUFFIX[self.letter]
        return f"({suffix}){value}" if len(suffix) > 3 else value + suffix


def _number(text: str) -> str:
    return "-" + text[1:] if text[:1] == "n" else text


class TypedLiteral(Node):
    """A value of a type that has no literals of its own: an enumerator."""

    __slots__ = ("type", "value")

    def __init__(self, type_: Node, value: str) -> None:
        self.type = type_
        self.value = value

    def render(self, r: Renderer) -> str:
        return f"({r.text(self.type)}){_number(self.value)}"

    def children(self) -> tuple[Node, ...]:
        return (self.type,)


# --- whole symbols ------------------------------------------------------------------------------------------------


class Encoding(Node):
    """A function: name, parameters (None for data, which has none), and the return type where it is mangled."""

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
            if ret.declarator:
                before = r.charge(ret.left(r))
                # What is written around the name needs no space before it: `int (*f())[3]`.
                if not before.endswith(("*", "&")):
                    before += " "
                after = r.charge(ret.right(r))
            else:
                before = r.text(ret) + " "
        attributes = "" if self.attributes is None else r.text(self.attributes)
        requires = "" if self.requires is None or r.neutral else f" requires {r.text(self.requires)}"
        return f"{before}{name}({r.joined(self.params)}){after}{self.qualifiers}{attributes}{requires}"

    def children(self) -> tuple[Node, ...]:
        ret = () if self.ret is None else (self.ret,)
        return (self.name, *ret, *(self.params or ()))


class Special(Node):
    """A symbol that a compiler makes for a class, a function or an object: a vtable, a thunk, a guard.

    `part` is the base that a construction vtable is of, while the class `of` is constructed.
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
    """The last identifier of a name, without scope, arguments and tags."""
    for _ in range(256):
        if isinstance(node, Ident):
            return node.text
        if isinstance(node, (Nested, Template, Tagged, ModuleEntity)):
            node = node.name
        elif isinstance(node, Local):
            node = node.entity
        elif isinstance(node, StdAbbreviation):
            return node.name
        elif isinstance(node, ForwardParam) and node.target is not None:
            node = node.target
        else:
            break
    if isinstance(node, Structor):
        inner = base_name(node.of)
        return f"~{inner}" if node.destructor else inner
    return ""
