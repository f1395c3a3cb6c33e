"""The parts of a mangled name, and its forms for comparison."""

from __future__ import annotations

import enum
import functools
from typing import Final

from msgspec import Struct

from abiscan.mangling.canonical import newest_name, to_cuda
from abiscan.mangling.name_kind import NameKind, classify
from abiscan.mangling.parser.cursor import NameSyntaxError
from abiscan.mangling.parser.itanium import read
from abiscan.mangling.parser.name_nodes import (
    INLINE_NAMESPACES,
    ClosureType,
    Encoding,
    Local,
    ModuleEntity,
    Nested,
    StdAbbreviation,
    Structor,
    Tagged,
    Template,
)
from abiscan.mangling.parser.name_nodes import Special as SpecialNode
from abiscan.mangling.parser.render import Ident, Node, Renderer, RenderStyle, check_size


class SpecialKind(enum.StrEnum):
    """Kind of a symbol. FUNCTION and DATA are in the source; the compiler generates the others (<special-name>)."""

    FUNCTION = "function"
    DATA = "data"
    VTABLE = "vtable"
    VTT = "vtt"
    CONSTRUCTION_VTABLE = "construction-vtable"
    TYPEINFO = "typeinfo"
    TYPEINFO_NAME = "typeinfo-name"
    GUARD = "guard"
    THUNK = "thunk"
    TLS_INIT = "tls-init"
    TLS_WRAPPER = "tls-wrapper"
    REFERENCE_TEMPORARY = "reference-temporary"
    TEMPLATE_PARAMETER_OBJECT = "template-parameter-object"
    TRANSACTION_CLONE = "transaction-clone"
    MODULE_INITIALIZER = "module-initializer"


_SPECIAL_KINDS: Final = {
    "TV": SpecialKind.VTABLE,
    "TT": SpecialKind.VTT,
    "TC": SpecialKind.CONSTRUCTION_VTABLE,
    "TI": SpecialKind.TYPEINFO,
    "TS": SpecialKind.TYPEINFO_NAME,
    "GV": SpecialKind.GUARD,
    "Th": SpecialKind.THUNK,
    "Tv": SpecialKind.THUNK,
    "Tc": SpecialKind.THUNK,
    "TH": SpecialKind.TLS_INIT,
    "TW": SpecialKind.TLS_WRAPPER,
    "GR": SpecialKind.REFERENCE_TEMPORARY,
    "TA": SpecialKind.TEMPLATE_PARAMETER_OBJECT,
    "GT": SpecialKind.TRANSACTION_CLONE,
    "GI": SpecialKind.MODULE_INITIALIZER,
}


class NameTexts(Struct, frozen=True):
    """The parts of a name in one style.

    Attributes:
        name: the qualified name with all template arguments.
        args: template arguments of the name itself, packs expanded; None if it has none.
        params: parameter types; None if it is not a function.
        ret: the return type, if it is mangled (instances of function templates); otherwise None.
        end: text after the parameters: qualifiers, and for display a requires-clause.
    """

    name: str
    args: tuple[str, ...] | None
    params: tuple[str, ...] | None
    ret: str | None
    end: str

    @property
    def signature(self) -> str:
        """Name, arguments, parameters and qualifiers, without the return type."""
        return self.name if self.params is None else f"{self.name}({', '.join(self.params)}){self.end}"


class CxxName(Struct, frozen=True, eq=False):
    """A parsed C++ name. Two are equal if their mangled names are.

    Attributes:
        mangled: the name in the symbol table.
        kind: kind of the symbol. Except for functions and data, `scope` and `base` are those of the class, object or
            function for which it was generated.
        scope: enclosing namespaces, classes and functions, outermost first, without template arguments and inline
            namespaces; `(anonymous namespace)` and `'lambda'` represent unnamed ones.
        base: the name itself: `const_data_ptr`, `operator==`, `operator bool`, `Error`, `~Error`.
        variant: C1, C2, C3, D0, D1, D2, ... of a constructor or destructor; otherwise empty.
        abi_tags: abi tags of the name itself, as mangled.
        qualifiers: of a member function: const, volatile, restrict, &, &&, in that order.
        suffix: clone suffix or symbol version after the name: `.cold`, `.isra.0`, `@@V1`.
        declares_parameters: whether template arguments include the declarations of their parameters (Clang 18 and
            later).
        root: the parsed name, for other modules of this package.
        searched: the part of it that `scope` and `base` describe.
        shown: `display` without the suffix, if it was already rendered; otherwise None.
        texts: rendered texts by style.
    """

    mangled: str
    kind: SpecialKind
    scope: tuple[str, ...]
    base: str
    variant: str
    abi_tags: tuple[str, ...]
    qualifiers: tuple[str, ...]
    suffix: str
    declares_parameters: bool
    root: Node
    searched: Node
    shown: str | None
    texts: dict[RenderStyle, NameTexts]

    def __eq__(self, other: object) -> bool:
        return self.mangled == other.mangled if isinstance(other, CxxName) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.mangled)

    def __repr__(self) -> str:
        return f"CxxName({self.mangled!r})"

    @property
    def qualified(self) -> str:
        """Scope and base: `at::TensorBase::const_data_ptr`."""
        return "::".join((*self.scope, self.base))

    @property
    def namespace(self) -> str | None:
        """The outermost scope (`at`, `c10`, `std`); None for the global scope."""
        return self.scope[0] if self.scope else None

    @property
    def is_function(self) -> bool:
        """Whether the symbol is a function of the source: neither data nor generated by the compiler."""
        return self.kind is SpecialKind.FUNCTION

    @property
    def has_cxx11_tag(self) -> bool:
        """Whether the name itself is tagged [abi:cxx11]; that alone proves nothing (`string_abi` has the ABI)."""
        return "cxx11" in self.abi_tags

    # --- texts as mangled

    @property
    def display(self) -> str:
        """The whole name as demangled by LLVM."""
        text = self.shown or Renderer(RenderStyle.DISPLAY).text(self.root)
        return f"{text} ({self.suffix})" if self.suffix else text

    @property
    def template_args(self) -> tuple[str, ...] | None:
        """Template arguments of the name itself, packs expanded; None if it has none."""
        return self.in_style(RenderStyle.DISPLAY).args

    @property
    def scope_args(self) -> tuple[str, ...] | None:
        """Template arguments of the innermost scope, a class: `at::Tensor, void` for
        `type_caster<at::Tensor>::load`."""
        node = self.searched.name if isinstance(self.searched, Template) else self.searched
        args = _own_args(node.scope) if isinstance(node, Nested) else None
        return None if args is None else Renderer(RenderStyle.DISPLAY).texts(args)

    @property
    def parameters(self) -> tuple[str, ...] | None:
        """Parameter types as demangled; None if it is not a function."""
        return self.in_style(RenderStyle.DISPLAY).params

    @property
    def signature(self) -> str:
        """Name, arguments, parameters and qualifiers as mangled, without the return type."""
        return self.in_style(RenderStyle.DISPLAY).signature

    # --- texts for comparison (canonical.py has the rules)

    @property
    def canonical(self) -> str:
        """Canonical form, the same for every name of the entity."""
        texts = self.in_style(RenderStyle.CANONICAL)
        text = self._phrase() + texts.signature
        if texts.ret is not None:
            text += f" -> {texts.ret}"
        if self.suffix[:1] == ".":
            text += f" [{self.suffix}]"
        return text

    @property
    def entity(self) -> str:
        """Kind and qualified name in the newest release, the same for every overload and instance."""
        return self._phrase() + newest_name((*self.scope, self.base))

    @property
    def gpu_neutral(self) -> str:
        """`canonical` with the names of ROCm builds replaced by those of CUDA builds."""
        return to_cuda(self.canonical)

    def in_style(self, style: RenderStyle) -> NameTexts:
        """Render the parts of the name in a style.

        Raises:
            NameTooComplex: the texts exceed the limits.
        """
        texts = self.texts.get(style)
        if texts is None:
            r = Renderer(style)
            args = _own_args(self.searched)
            encoding = self.root.of if isinstance(self.root, SpecialNode) else self.root
            params = ret = None
            end = ""
            if isinstance(encoding, Encoding) and encoding.params is not None:
                params = r.texts(encoding.params)
                ret = None if encoding.ret is None else r.text(encoding.ret)
                end = encoding.end(r)
            texts = NameTexts(r.text(self.searched), None if args is None else r.texts(args), params, ret, end)
            self.texts[style] = texts
        return texts

    def _phrase(self) -> str:
        root = self.root
        if not isinstance(root, SpecialNode):
            return ""
        if root.part is None:
            return root.phrase
        return f"{root.phrase}{Renderer(RenderStyle.CANONICAL).text(root.part)} in "


def _own_args(node: Node) -> tuple[Node, ...] | None:
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


@functools.lru_cache(maxsize=8192)
def parse(mangled: str) -> CxxName | None:
    """Parse a C++ name; None for other names, and for malformed or too complex ones."""
    if classify(mangled) is not NameKind.CXX:
        return None
    try:
        return _build(mangled)
    except NameSyntaxError:
        return None
    except RecursionError:
        # The parser's limits fit an interpreter's default stack, unless the caller has used it up.
        return None


def _build(mangled: str) -> CxxName:
    reading = read(mangled)
    node = root = reading.root
    text = check_size(root, mangled)
    kind = SpecialKind.DATA
    if isinstance(node, SpecialNode):
        kind = _SPECIAL_KINDS[node.code]
        node = node.of
    encoding = None
    if isinstance(node, Encoding):
        encoding = node
        node = encoding.name
        if encoding.params is not None and encoding is root:
            kind = SpecialKind.FUNCTION
    elif kind in (SpecialKind.THUNK, SpecialKind.TRANSACTION_CLONE):
        raise NameSyntaxError("a thunk of something other than a function")
    parts = Parts(node)
    names = parts.names
    return CxxName(
        mangled,
        kind,
        tuple(names[:0:-1]),
        names[0] if names else "",
        parts.last.variant if isinstance(parts.last, Structor) else "",
        parts.tags,
        () if encoding is None else tuple(encoding.qualifiers.split()),
        reading.suffix,
        reading.declared,
        root,
        node,
        text,
        {},
    )
