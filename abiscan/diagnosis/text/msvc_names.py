"""Reads the entity of a name in MSVC's decoration: `?f@scope@@YAXXZ` has its names innermost first
(https://learn.microsoft.com/cpp/build/reference/decorated-names)."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from abiscan.mangling.parser.microsoft_codes import BUILTINS, OPERATORS, WIDE_BUILTINS

_NAME = re.compile(r"(?:__imp_)?\?(\?[0-9A-Z_])?([A-Za-z_]\w*)?((?:@[A-Za-z_]\w*)*)@@")
# A template: `??$data_ptr@J@TensorBase@at@@QEBA...`, with its arguments after the base.
_TEMPLATE = re.compile(
    r"(?:__imp_)?\?\?\$([A-Za-z_]\w{0,255})@((?:_?[A-Z]|[UVW]\w{1,255}(?:@\w{1,255}){0,8}@@){1,8})@"
    r"((?:[A-Za-z_]\w{0,255}@){1,16})@"
)
_STRUCTORS: Final = {"?0": "", "?1": "~"}
# As undname prints them.
_TYPES: Final = {
    **BUILTINS,
    **{f"_{code}": name for code, name in WIDE_BUILTINS.items()},
    "_J": "__int64",
    "_K": "unsigned __int64",
}


class MsvcEntity(Struct, frozen=True):
    """A function, class or object.

    Attributes:
        names: its scopes and base.
        shown: the qualified name, with the argument of a template.
        is_in_linux_builds: whether its argument is the same type on Linux, where long is another one.
    """

    names: tuple[str, ...]
    shown: str
    is_in_linux_builds: bool = True


def read_msvc_name(given: str) -> MsvcEntity | None:
    """The entity; None if the name has another form."""
    template = _TEMPLATE.match(given)
    if template is not None:
        return _template(template)
    found = _NAME.match(given)
    if found is None:
        return None
    special, base, scopes = found.groups()
    scope = [part for part in scopes.split("@") if part]
    if special and scope:
        # ??0 and ??1 are constructor and destructor of the next class, which the pattern took for the base or a scope.
        names = [*reversed(scope), base or scope[0]]
        if special in _STRUCTORS:
            names.append(f"{_STRUCTORS[special]}{names[-1]}")
    else:
        names = [*reversed(scope), base or ""]
    if (operator := OPERATORS.get((special or "")[1:])) is not None:
        names.append(operator)
    names = [name for name in names if name]
    return MsvcEntity(tuple(names), "::".join(names)) if names else None


def _template(found: re.Match[str]) -> MsvcEntity:
    base, argument, scopes = found.groups()
    names = (*reversed([part for part in scopes.split("@") if part]), base)
    if argument[0] in "UVW":
        shown = "::".join(reversed(argument[1:].strip("@").split("@")))
    else:
        shown = _TYPES.get(argument, "...")
    return MsvcEntity(names, f"{'::'.join(names)}<{shown}>", argument not in ("J", "K"))
