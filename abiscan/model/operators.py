"""The operators that a file registers with torch."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.cause import Confidence


class Registration(enum.StrEnum):
    """By which interface operators are registered."""

    TORCH_LIBRARY = "torch-library"
    """`TORCH_LIBRARY`, `TORCH_LIBRARY_FRAGMENT`, `TORCH_LIBRARY_IMPL`: the C++ dispatcher."""
    STABLE_TORCH_LIBRARY = "stable-torch-library"
    """`STABLE_TORCH_LIBRARY` and its kin: the C shims `aoti_torch_library_*`, `torch_library_*`."""
    LEGACY = "legacy"
    """`c10::RegisterOperators`."""


class Operator(Struct, frozen=True):
    """An operator that a file seems to define or implement.

    Attributes:
        name: `namespace::name`; without the namespace where the file does not tell which of several.
        overload: what stands behind the dot; empty for none.
        schema: as its text stands in the file; None where only its name does.
        confidence: HIGH where a schema stands beside the registration that it is for, LOW where a string merely has
            the form of one.
        defines: whether it defines the operator, or only implements what another library defines; None where a text
            is the name alone, which either leaves.
    """

    name: str
    registration: Registration
    overload: str = ""
    schema: str | None = None
    confidence: Confidence = Confidence.MEDIUM
    defines: bool | None = True


class CalledOperator(Struct, frozen=True):
    """An operator that a model of AOTInductor calls by its name: something must have registered it where it runs.

    Attributes:
        name, overload: as of `Operator`.
        in_torch: whether the torch that the file is judged against has it; None for one that is not torch's own.
    """

    name: str
    overload: str = ""
    in_torch: bool | None = None

    @property
    def full_name(self) -> str:
        """`ns::name.overload`."""
        return f"{self.name}.{self.overload}" if self.overload else self.name
