"""Element types of tensors (`data_ptr<int64_t>`): mangled, as a demangler writes them, and as people do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abiscan.mangling import CxxName

# <builtin-type> of the Itanium C++ ABI, for the element types that tensors have.
_BUILTIN_CODES = {
    "void": "v",
    "bool": "b",
    "char": "c",
    "signed char": "a",
    "unsigned char": "h",
    "short": "s",
    "unsigned short": "t",
    "int": "i",
    "unsigned int": "j",
    "long": "l",
    "unsigned long": "m",
    "long long": "x",
    "unsigned long long": "y",
    "float": "f",
    "double": "d",
}
# How people write these types; the same on every platform of torch's Linux wheels (LP64).
_WRITTEN = {
    "long": "int64_t",
    "unsigned long": "uint64_t",
    "short": "int16_t",
    "unsigned short": "uint16_t",
    "signed char": "int8_t",
    "unsigned char": "uint8_t",
    "unsigned int": "uint32_t",
}
# Types that are the same wherever they are written.
_FUNDAMENTAL = frozenset({*_WRITTEN.values(), "float", "double", "bool", "int", "int32_t", "Half", "BFloat16"})


def type_code(written: str) -> str | None:
    """The mangling of a builtin type or of a class in namespaces; None for anything else."""
    builtin = _BUILTIN_CODES.get(written)
    if builtin is not None:
        return builtin
    parts = written.split("::")
    if not all(part.isidentifier() for part in parts) or parts[0] == "std":
        return None
    body = "".join(f"{len(part)}{part}" for part in parts)
    return f"N{body}E" if len(parts) > 1 else body


def element_type(name: CxxName | None) -> str | None:
    """The first template argument, without const, as the demangler writes it; None where there is none."""
    args = name.template_args if name is not None else None
    if not args:
        return None
    return args[0].removesuffix(" const")


def written_type(text: str) -> str:
    """A type as people write it."""
    return _WRITTEN.get(text, text)


def fundamental_type(written: str) -> str | None:
    """An element type without what its spelling leaves open; None for a name that only a compiler can resolve."""
    text = written_type(written.removeprefix("const ").removesuffix(" const")).rpartition("::")[2]
    text = {"int32_t": "int", "long long": "int64_t", "half": "Half"}.get(text, text)
    return text if text in _FUNDAMENTAL else None
