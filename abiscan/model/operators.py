"""The operators that a file registers with torch."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.cause import Confidence


class Registration(enum.StrEnum):
    """Interface by which operators are registered."""

    TORCH_LIBRARY = "torch-library"
    """`TORCH_LIBRARY`, `TORCH_LIBRARY_FRAGMENT`, `TORCH_LIBRARY_IMPL`: the C++ dispatcher."""
    STABLE_TORCH_LIBRARY = "stable-torch-library"
    """`STABLE_TORCH_LIBRARY` and similar macros: the C shims `aoti_torch_library_*`, `torch_library_*`."""
    LEGACY = "legacy"
    """`c10::RegisterOperators`."""


class Operator(Struct, frozen=True):
    """An operator that a file probably defines or implements.

    Attributes:
        name: `namespace::name`; without the namespace if the file has several and the right one is unknown.
        overload: the part after the dot; empty for none.
        schema: its text in the file; None if the file contains only the name.
        confidence: HIGH for a schema beside its registration, LOW for a string that only has the form of one.
        defines: whether the file defines the operator, or only implements one that another library defines; None if
            only the name is known.
    """

    name: str
    registration: Registration
    overload: str = ""
    schema: str | None = None
    confidence: Confidence = Confidence.MEDIUM
    defines: bool | None = True


class CalledOperator(Struct, frozen=True):
    """An operator that an AOTInductor model calls by name: it must be registered at run time.

    Attributes:
        name, overload: as in `Operator`.
        in_torch: whether the target torch registers it; None for an operator that is not torch's.
    """

    name: str
    overload: str = ""
    in_torch: bool | None = None

    @property
    def full_name(self) -> str:
        """`ns::name.overload`."""
        return f"{self.name}.{self.overload}" if self.overload else self.name
