"""Search prefixes for other names of an entity in Microsoft's mangling.

A name begins with the innermost identifier: `?empty@at@@...`; in an instance of a function template the arguments
follow it: `??$empty@M@at@@...`. A second mention of an identifier is a digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from abiscan.mangling.canonical import spellings
from abiscan.mangling.cxxname import CxxName
from abiscan.mangling.name_parts import Parts
from abiscan.mangling.parser.microsoft_codes import COMPILER_FUNCTIONS, OPERATORS
from abiscan.mangling.parser.name_nodes import Conversion, LiteralOperator, Local, Nested, Structor, Template
from abiscan.mangling.parser.name_nodes import Special as SpecialNode
from abiscan.mangling.parser.render import Ident, Node

_CODES: Final = {text: code for code, text in (OPERATORS | COMPILER_FUNCTIONS).items()}
_ANONYMOUS: Final = "(anonymous namespace)"
_DELETING: Final = {"vector-deleting": "_E", "scalar-deleting": "_G"}
_TYPE_DESCRIPTOR: Final = "?_R0"


def microsoft_prefixes(name: CxxName) -> tuple[str, ...]:
    """See `compare.search_prefixes`."""
    found: set[str] = set()
    if not isinstance(name.searched, Local):
        parts = Parts(name.searched)
        templates = _templates(name.searched)
        for spelled in spellings(tuple(reversed(parts.names))):
            found.update(_of(name, parts, spelled, templates))
    mangled = name.mangled.removeprefix("__imp_")
    if not mangled.startswith(tuple(found)):
        found.add(mangled)
    return tuple(sorted(found))


def _of(name: CxxName, parts: Parts, spelled: tuple[str, ...], templates: tuple[bool, ...]) -> Iterator[str]:
    root = name.root
    scopes = tuple(reversed(spelled))
    if isinstance(root, SpecialNode) and root.code != "?thunk":
        if root.code == _TYPE_DESCRIPTOR:
            for key in "UV":
                yield f"?{root.code}?A{key}{_scopes(scopes, templates, [])}"
        else:
            yield f"?{root.code}{_scopes(scopes, templates, [])}"
        return
    code = _code(parts.last)
    known: list[str] = []
    innermost = _identifier(scopes[0], known) if code is None else f"?{code}"
    yield f"?{innermost}{_scopes(scopes[1:], templates[1:], known)}"
    # The arguments of an instance stand before its scope.
    yield f"??${innermost}"


def _code(last: Node) -> str | None:
    """Mangle an innermost name that is not an identifier."""
    if isinstance(last, Structor):
        return _DELETING.get(last.variant, "1") if last.destructor else "0"
    if isinstance(last, Conversion):
        return "B"
    if isinstance(last, LiteralOperator):
        return f"__K{last.suffix}@"
    return _CODES.get(last.text) if isinstance(last, Ident) else None


def _scopes(scopes: tuple[str, ...], templates: tuple[bool, ...], known: list[str]) -> str:
    """Mangle the scopes of a name, innermost first, up to the first that has template arguments or no name."""
    text = ""
    for scope, is_template in zip(scopes, templates, strict=False):
        if scope == _ANONYMOUS:
            return f"{text}?A"
        if is_template:
            return f"{text}?${scope}@"
        text += _identifier(scope, known)
    return f"{text}@"


def _identifier(name: str, known: list[str]) -> str:
    if name in known:
        return str(known.index(name))
    if len(known) < 10:
        known.append(name)
    return f"{name}@"


def _templates(node: Node) -> tuple[bool, ...]:
    """Return whether each part of a qualified name has template arguments, innermost first."""
    found = []
    while True:
        is_template = isinstance(node, Template)
        if isinstance(node, Template):
            node = node.name
        found.append(is_template)
        if not isinstance(node, Nested):
            return tuple(found)
        node = node.scope
