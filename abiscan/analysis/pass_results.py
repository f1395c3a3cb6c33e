"""Values that passes exchange and that are not part of the report."""

from __future__ import annotations

from msgspec import Struct

from abiscan.model.finding import Finding
from abiscan.model.operators import CalledOperator


class AbsentLibraries(Struct, frozen=True):
    """Needed libraries that were not found.

    Attributes:
        missing: libraries of its closure, in load order; torch: libraries of another variant of torch; unfit: CUDA and
            ROCm libraries that the torch ships in another version or not at all.
    """

    missing: tuple[str, ...] = ()
    torch: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Those of torch and the others that are missing, without repetition."""
        return tuple(dict.fromkeys((*self.torch, *self.missing)))


class PackageScope(Struct, frozen=True):
    """What the other files of its package mean for the resolution of a file.

    Attributes:
        dependents: sonames needed by those files that need this file: the loader searches them, too.
        absent: those of them that were not found.
        late_bound: imports that are resolved when they are called, because the package opens the file with RTLD_LAZY.
    """

    dependents: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    late_bound: tuple[str, ...] = ()


class CalledOperators(Struct, frozen=True):
    """The operators that an AOTInductor model calls by name.

    Attributes:
        unread: why they are unknown; None if they are known.
    """

    operators: tuple[CalledOperator, ...] = ()
    unread: str | None = None


class GpuCheck(Struct, frozen=True):
    """Whether the device code runs on the GPUs of `--gpu`.

    Attributes:
        unknown: whether the result is unknown for one of them.
    """

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: bool = False
