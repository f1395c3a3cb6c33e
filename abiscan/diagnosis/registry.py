"""The table of causes. A new cause is a new row; `docs/diagnosis.md` and every summary are made of the rows."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from abiscan.model.cause import CauseId
from abiscan.model.target import Target


class CauseRow(Struct, frozen=True):
    """A cause, and where it comes from.

    Attributes:
        id: as the report spells it.
        module: of `abiscan.diagnosis`, in which its theme is; others may find it too. Those in `causes` are asked about
            every missing name, in the order of the rows.
        summary: a sentence for a person; `{torch}` is the target.
        facts: what it is read from, for the documentation.
    """

    id: CauseId
    module: str
    summary: str
    facts: str


# Of two causes with the same score the row that stands first wins.
CAUSES: Final = (
    CauseRow(
        CauseId.LIBSTDCXX_TOO_OLD,
        "causes.system_libraries",
        "The libstdc++ (or another library of GCC's runtime) that is loaded is older than the file's compiler needs.",
        "the symbol version, the GCC release that has it, what this machine's copy defines",
    ),
    CauseRow(
        CauseId.GLIBC_TOO_OLD,
        "causes.system_libraries",
        "The file needs a newer glibc than this machine's.",
        "the symbol version, the glibc release that has it, what this machine's copy defines",
    ),
    CauseRow(
        CauseId.PYTHON_ABI_MISMATCH,
        "causes.python_abi",
        "The file uses names of CPython that the Python it is for does not export.",
        "CPython 2.7 and 3.6 - 3.14, and the free-threaded builds of 3.13 and 3.14, as real interpreters export them "
        "(`data/python_exports.txt.gz`)",
    ),
    CauseRow(
        CauseId.STABLE_SHIM_TOO_NEW,
        "causes.stable_shims",
        "The file calls C shims of a later torch than {torch}.",
        "a C shim whose window opens after the target",
    ),
    CauseRow(
        CauseId.TEMPLATE_MANGLING,
        "causes.template_mangling",
        "The compiler of the file spells a template instance otherwise than GCC, which builds libtorch.",
        "the name declares its template parameters (`Tn`, Clang 18 and later, nvcc), or a spelling of the same "
        "instance is exported; on macOS `long` where int64_t is `long long`",
    ),
    CauseRow(
        CauseId.CXX11_ABI_MISMATCH,
        "causes.string_abi",
        "The file and {torch} were built with different std::string ABIs.",
        "a name of the same canonical form, made with the other std::string, is exported by the target, or by a "
        "release, and no build exports both",
    ),
    CauseRow(
        CauseId.CUDA_BUILD_REQUIRED,
        "causes.gpu_builds",
        "The file needs a library that comes with a GPU build of torch, and not with {torch}.",
        "only GPU libraries export it, and the target has none",
    ),
    CauseRow(
        CauseId.ROCM_NAMING,
        "causes.gpu_builds",
        "The file spells GPU names for the other vendor's build of torch (CUDA against ROCm).",
        "the other vendor's spelling is exported",
    ),
    CauseRow(
        CauseId.SIGNATURE_CHANGED,
        "causes.signatures",
        "{torch} has the same function in another form: the file was built with other headers.",
        "the target (or, with none, a release) exports the same entity with other parameters, and no build exports "
        "both; the difference is marked",
    ),
    CauseRow(
        CauseId.SYMBOL_HIDDEN,
        "causes.visibility",
        "The name may still be inside {torch}, but is not exported.",
        "libtorch_python exported it until 2.6; a vtable or typeinfo of a class whose functions are exported",
    ),
    CauseRow(
        CauseId.LIBTORCH_PYTHON_NOT_LINKED,
        "causes.linking",
        "The file uses libtorch_python and does not link it.",
        "libtorch_python exports it, and the file does not list that library as needed",
    ),
    CauseRow(
        CauseId.IMPORT_TORCH_FIRST,
        "causes.linking",
        "The libraries are there, but nothing has loaded them: torch must be imported first.",
        "who exports it or is not found, and whether the file lists that library as needed",
    ),
    CauseRow(
        CauseId.LIBRARY_NOT_LINKED,
        "causes.linking",
        "The file uses a library that it does not link.",
        "who exports it, by torch's builds or by its prefix, and whether the file lists that library as needed",
    ),
    CauseRow(
        CauseId.BUILT_FOR_NEWER_TORCH,
        "causes.built_for",
        "The file was built for a newer torch than {torch}.",
        "the windows of the name against the target's version",
    ),
    CauseRow(
        CauseId.BUILT_FOR_OLDER_TORCH,
        "causes.built_for",
        "The file was built for an older torch than {torch}.",
        "the windows of the name against the target's version",
    ),
    CauseRow(
        CauseId.DISTRIBUTION_VARIANT,
        "causes.built_for",
        "{torch} is another build than the release of the same version that the file was made for.",
        "the release of the target's version exports it and the target does not; a git revision that is no release's; "
        "a library of torch that misses a name of torch",
    ),
    CauseRow(
        CauseId.CUDA_LIBRARY_MISMATCH,
        "causes.vendor_libraries",
        "The file was built with another version of a CUDA library than the one that is there.",
        "whose name it is by its prefix, the library that a versioned reference names, the release in an nvJitLink "
        "name, the releases whose wheels export it (`data/cuda_exports.txt.gz`)",
    ),
    CauseRow(
        CauseId.LIBRARY_MISSING,
        "missing_library",
        "A library that the file needs was not found.",
        "a needed library that was not found; which builds of torch ship it",
    ),
    CauseRow(
        CauseId.EXTENSION_SOURCE_NOT_BUILT,
        "causes.extension_source",
        "The name is most likely the extension's own: a source that defines it was not built into the file.",
        "nobody else's name: the file's own namespace, the global one, a device link that was left out",
    ),
    CauseRow(
        CauseId.INLINED_CALL,
        "causes.inlined_calls",
        "Inline code of torch's headers calls the name; the file's sources need not name it.",
        "inline code of torch's headers calls it; the row says which header and which call",
    ),
    CauseRow(
        CauseId.GENERATED_KERNEL,
        "messages.python_errors",
        "A generated Triton kernel uses a name that nothing defines.",
        "the error text and what stands around it",
    ),
    CauseRow(
        CauseId.OP_NOT_REGISTERED,
        "messages.python_errors",
        "torch.compile cannot trace a function that is bound by pybind11 alone.",
        "the error text and what stands around it",
    ),
    CauseRow(
        CauseId.HALF_INTRINSIC,
        "messages.python_errors",
        "A device intrinsic has no overload for the type that it is called with, most often one of 16 bits.",
        "the error text and what stands around it",
    ),
    CauseRow(
        CauseId.STATIC_TLS_EXHAUSTED,
        "messages.loading_errors",
        "The process has no room left for the thread-local variables of a library that asks for static ones.",
        "the loader's message, and which library it names",
    ),
    CauseRow(
        CauseId.GPU_ARCHITECTURE_MISMATCH,
        "messages.gpu_errors",
        "The file has no device code that runs on this GPU.",
        "the message of CUDA, HIP, torch or the compiler, and which GPUs it names",
    ),
    CauseRow(
        CauseId.DRIVER_MISMATCH,
        "messages.gpu_errors",
        "The GPU's driver does not serve the CUDA release that the file was built with.",
        "the message of CUDA or torch, and which release it names",
    ),
    CauseRow(
        CauseId.UNUSABLE_FILE,
        "messages.loading_errors",
        "The loader does not take the file: it is for another processor or system, is not whole, or asks for what is "
        "refused here.",
        "the loader's message, and which file it names",
    ),
)

MODULES: Final = tuple(dict.fromkeys(row.module for row in CAUSES if row.module.startswith("causes.")))
"""The modules that are asked about a missing name, in their order."""

_POSITIONS: Final = {row.id: position for position, row in enumerate(CAUSES)}


def position(cause: CauseId) -> int:
    """The place of a cause's row, which settles a tie."""
    return _POSITIONS[cause]


def summary(cause: CauseId, target: Target | None = None) -> str:
    """The cause in a sentence, with the target in it."""
    torch = "the torch that is loaded"
    if target is not None:
        torch = f"torch {target.torch}" + (f" ({target.variant})" if target.variant else "")
    template = CAUSES[position(cause)].summary
    text = template.format(torch=torch)
    return text[0].upper() + text[1:] if template.startswith("{") else text
