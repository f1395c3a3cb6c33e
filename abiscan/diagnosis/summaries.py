"""Each cause in one sentence for a person, with the target in it."""

from __future__ import annotations

from typing import Final

from abiscan.model.cause import CauseId
from abiscan.model.target import Target

_SUMMARIES: Final = {
    CauseId.CXX11_ABI_MISMATCH: "The file and {torch} were built with different std::string ABIs.",
    CauseId.BUILT_FOR_NEWER_TORCH: "The file was built for a newer torch than {torch}.",
    CauseId.BUILT_FOR_OLDER_TORCH: "The file was built for an older torch than {torch}.",
    CauseId.SIGNATURE_CHANGED: (
        "{torch} has the same function with other parameters: the file was built with other headers."
    ),
    CauseId.TEMPLATE_MANGLING: (
        "The compiler of the file spells a template instance otherwise than GCC, which builds libtorch."
    ),
    CauseId.SYMBOL_HIDDEN: "The name is still inside {torch}, but no longer exported.",
    CauseId.CUDA_BUILD_REQUIRED: "The file needs a GPU build of torch; {torch} has no such library.",
    CauseId.ROCM_NAMING: "The file spells GPU names for the other vendor's build of torch (CUDA against ROCm).",
    CauseId.DISTRIBUTION_VARIANT: (
        "{torch} is another build than the release of the same version that the file was made for."
    ),
    CauseId.LIBTORCH_PYTHON_NOT_LINKED: "The file uses libtorch_python and does not link it.",
    CauseId.IMPORT_TORCH_FIRST: "The libraries are there, but nothing has loaded them: torch must be imported first.",
    CauseId.STABLE_SHIM_TOO_NEW: "The file calls C shims of a later torch than {torch}.",
    CauseId.PYTHON_ABI_MISMATCH: "The file was built for another Python than the one that loads it.",
    CauseId.LIBSTDCXX_TOO_OLD: "The libstdc++ that is loaded is older than the file's compiler needs.",
    CauseId.GLIBC_TOO_OLD: "The file needs a newer glibc than this machine's.",
    CauseId.CUDA_LIBRARY_MISMATCH: "A CUDA library of another version than the file was built with is loaded.",
    CauseId.LIBRARY_NOT_LINKED: "The file uses a library that it does not link.",
    CauseId.LIBRARY_MISSING: "A library that the file needs was not found.",
    CauseId.EXTENSION_SOURCE_NOT_BUILT: (
        "The name is the extension's own: a source that defines it was not built into the file."
    ),
    CauseId.INLINED_CALL: "Inline code of torch's headers calls the name; no source names it.",
    CauseId.GENERATED_KERNEL: "A generated Triton kernel uses a name that nothing defines.",
    CauseId.OP_NOT_REGISTERED: "torch.compile cannot trace a function that is bound by pybind11 alone.",
    CauseId.HALF_INTRINSIC: "A device intrinsic has no overload for this 16-bit type on this platform.",
}


def summary(cause: CauseId, target: Target | None = None) -> str:
    """The cause in a sentence."""
    torch = "the torch that is loaded"
    if target is not None:
        torch = f"torch {target.torch}" + (f" ({target.variant})" if target.variant else "")
    text = _SUMMARIES[cause].format(torch=torch)
    return text[0].upper() + text[1:]
