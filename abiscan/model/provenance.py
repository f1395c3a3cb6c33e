"""What a file tells about how it was made."""

from __future__ import annotations

from msgspec import Struct

from abiscan.model.versions import Windows


class Provenance(Struct, frozen=True):
    """How a file was made, as far as it shows; a field that it does not show is None or empty.

    Attributes:
        compilers: strings of .comment.
        cxx11_abi: which std::string its torch imports use.
        torch_window: the releases that export all its torch imports, intersected.
        built_for: the release it was made for, and `built_for_basis` what that rests on.
        python_abi: `cp311`, `abi3`, or None.
        cuda: CUDA runtime version it was built with or links to.
        gpu_archs: `sm_90`, `compute_90` (PTX), `gfx942`.
        abi: `stable` (only C shims), `unstable` (at::, c10::, torch::), or `none`.
    """

    compilers: tuple[str, ...] = ()
    cxx11_abi: bool | None = None
    torch_window: Windows | None = None
    built_for: str | None = None
    built_for_basis: str | None = None
    python_abi: str | None = None
    cuda: str | None = None
    gpu_archs: tuple[str, ...] = ()
    abi: str | None = None
    glibc_needed: str | None = None
    libstdcxx_needed: str | None = None
