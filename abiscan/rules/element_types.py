"""Element types of tensors (`data_ptr<int64_t>`): mangled, as printed by demanglers, and as written in sources."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from abiscan.model.facts import FileFormat

if TYPE_CHECKING:
    from abiscan.mangling import CxxName

# The builtin types that tensors have as elements.
_BUILTINS = frozenset(
    {
        *("void", "bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int"),
        *("long", "unsigned long", "long long", "unsigned long long", "float", "double"),
    }
)
# As written in sources for LP64, which all Linux wheels of torch use.
_WRITTEN = {
    "long": "int64_t",
    "unsigned long": "uint64_t",
    "short": "int16_t",
    "unsigned short": "uint16_t",
    "signed char": "int8_t",
    "unsigned char": "uint8_t",
    "unsigned int": "uint32_t",
}
# On Windows and macOS, where int64_t is `long long`.
_WRITTEN_ELSEWHERE = {
    **{each: text for each, text in _WRITTEN.items() if "long" not in each},
    "long long": "int64_t",
    "unsigned long long": "uint64_t",
}
# Types with the same meaning in every scope.
_FUNDAMENTAL = frozenset({*_WRITTEN.values(), "float", "double", "bool", "int", "int32_t", "Half", "BFloat16"})


def type_code(written: str, file_format: FileFormat = FileFormat.ELF) -> str | None:
    """The mangling of a builtin type or of a class in namespaces; None for anything else."""
    is_microsoft = file_format is FileFormat.PE
    if written in _BUILTINS:
        return _builtin_codes(is_microsoft)[written]
    parts = written.split("::")
    if not all(part.isidentifier() for part in parts) or parts[0] == "std":
        return None
    if is_microsoft:
        # The element types that are classes (c10::Half, c10::BFloat16) are declared as `struct`.
        return f"U{'@'.join(reversed(parts))}@@"
    body = "".join(f"{len(part)}{part}" for part in parts)
    return f"N{body}E" if len(parts) > 1 else body


@functools.cache
def _builtin_codes(is_microsoft: bool) -> Mapping[str, str]:
    """Builtin type -> its mangling."""
    from abiscan.mangling.parser import codes, microsoft_codes

    if not is_microsoft:
        return {text: code for code, text in codes.BUILTIN_TYPES.items()}
    wide = {text: f"_{code}" for code, text in microsoft_codes.WIDE_BUILTINS.items()}
    return wide | {text: code for code, text in microsoft_codes.BUILTINS.items()}


def element_type(name: CxxName | None) -> str | None:
    """The first template argument, without const, as printed by the demangler; None if there is none."""
    args = name.template_args if name is not None else None
    if not args:
        return None
    return args[0].removesuffix(" const")


_AS_INT64: Final = {
    FileFormat.ELF: {"long long": "long", "unsigned long long": "unsigned long"},
    FileFormat.MACHO: {"long": "long long", "unsigned long": "unsigned long long"},
}


def exported_type(element: str, file_format: FileFormat) -> str:
    """The element type of 64 bits that libtorch has instances for, in place of the other one: int64_t is `long` on
    Linux and `long long` on macOS."""
    return _AS_INT64.get(file_format, {}).get(element, element)


def written_type(text: str, file_format: FileFormat = FileFormat.ELF) -> str:
    """A type as written in sources."""
    return (_WRITTEN if file_format is FileFormat.ELF else _WRITTEN_ELSEWHERE).get(text, text)


def fundamental_type(written: str) -> str | None:
    """An element type without ambiguous spelling; None for a name that only a compiler can resolve."""
    text = written_type(written.removeprefix("const ").removesuffix(" const")).rpartition("::")[2]
    text = {"int32_t": "int", "long long": "int64_t", "half": "Half"}.get(text, text)
    return text if text in _FUNDAMENTAL else None
