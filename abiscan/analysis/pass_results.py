"""Values that passes exchange and that are not part of the report."""

from __future__ import annotations

from msgspec import Struct

from abiscan.model.finding import Finding


class AbsentLibraries(Struct, frozen=True):
    """Needed libraries that were not found.

    Attributes:
        missing: libraries of its closure, in load order; torch: libraries of another variant of torch; unfit: CUDA and
            ROCm libraries that the torch ships in another version or not at all.
        of_dependents: libraries that those files of the package which need this file would load into its scope.
    """

    missing: tuple[str, ...] = ()
    torch: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()
    of_dependents: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Those of torch and the others that are missing, without repetition."""
        return tuple(dict.fromkeys((*self.torch, *self.missing)))


class GpuCheck(Struct, frozen=True):
    """Whether the device code runs on the GPUs of `--gpu`.

    Attributes:
        unknown: whether the result is unknown for one of them.
    """

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: bool = False
