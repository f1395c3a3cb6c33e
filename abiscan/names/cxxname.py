"""A mangled name in its parts, and in the forms that names are compared by."""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from abiscan.names.classify import NameKind, classify
from abiscan.names.errors import NameSyntaxError
from abiscan.names.itanium import read
from abiscan.names.nodes import (
    Closure,
    Conversion,
    Encoding,
    Ident,
    LiteralOperator,
    Local,
    ModuleEntity,
    Nested,
    Node,
    StdAbbreviation,
    Structor,
    Tagged,
    Template,
)
from abiscan.names.nodes import Special as SpecialNode
from abiscan.names.render import Renderer, Style

if TYPE_CHECKING:
    from abiscan.names.nodes import Args


class SpecialKind(enum.StrEnum):
    """What a symbol is. FUNCTION and DATA stand in a source; the compiler makes the others (<special-name>)."""

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


@dataclass(frozen=True, slots=True)
class _Forms:
    """Texts of a name in one style."""

    name: str
    args: tuple[str, ...] | None
    params: tuple[str, ...] | None
    ret: str | None


@dataclass(frozen=True, slots=True, eq=False)
class CxxName:
    """A C++ name in its parts. Two are equal where their mangled names are.

    Attributes:
        mangled: the name as it stands in the symbol table.
        kind: what the symbol is. For all but functions and data, `scope` and `base` are those of the class, object or function
            that it was made for.
        scope: the enclosing namespaces, classes and functions, outermost first, without template arguments and without inline
            namespaces; `(anonymous namespace)` and `'lambda'` stand for what has no name.
        base: the name itself: `const_data_ptr`, `operator==`, `operator bool`, `Error`, `~Error`.
        is_constructor, is_destructor: whose base is the class's name, or that with ~.
        variant: C1, C2, C3, D0, D1, D2, ... of a constructor or destructor, else an empty string.
        is_template: whether the name itself (not a scope of it) has template arguments.
        abi_tags: of the name itself, in the order they are mangled in.
        qualifiers: of a member function: "const", "volatile", "&", "&&", in that order.
        is_local: it lives in a function.
        suffix: clone suffix or symbol version behind the name: `.cold`, `.isra.0`, `@@V1`.
        declares_parameters: template arguments carry the declarations of their parameters (`Tn...`, Clang 18 and later).
    """

    mangled: str
    kind: SpecialKind = field(compare=False)
    scope: tuple[str, ...] = field(compare=False)
    base: str
    is_constructor: bool
    is_destructor: bool
    variant: str
    is_template: bool
    abi_tags: tuple[str, ...]
    qualifiers: tuple[str, ...]
    is_local: bool
    suffix: str
    declares_parameters: bool
    _root: Node = field(repr=False)
    _entity: Node = field(repr=False)
    _encoding: Encoding | None = field(repr=False)
    _args: Args | None = field(repr=False)
    _kept: dict[object, object] = field(repr=False, default_factory=dict)
