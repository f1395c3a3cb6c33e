"""Values that passes hand on and that are no part of a report."""

from __future__ import annotations

from msgspec import Struct

from abiscan.model.finding import Finding


class AbsentLibraries(Struct, frozen=True):
    """Libraries that a file needs and that were not found.

    Attributes:
        missing: libraries of its closure, in the order in which the loader meets them; torch: torch's own of another
            variant; unfit: CUDA's and ROCm's that the torch ships in another version, or not at all.
        of_dependents: those that files of its package would load into its scope which need it.
    """

    missing: tuple[str, ...] = ()
    torch: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()
    of_dependents: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Torch's own first, each once."""
        return tuple(dict.fromkeys((*self.torch, *self.missing)))


class GpuCheck(Struct, frozen=True):
    """Whether the device code runs on the GPUs of `--gpu`.

    Attributes:
        unknown: it cannot be known for one of them.
    """

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: bool = False
