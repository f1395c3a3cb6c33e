"""Why an import is missing or an error is raised, with evidence and a fix (made by `diagnosis`)."""

from __future__ import annotations

import enum

from msgspec import Struct


class Confidence(enum.StrEnum):
    """How sure a cause or finding is. HIGH: facts leave no other reading. MEDIUM: facts fit, others could. LOW: a guess
    worth saying."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class CauseId(enum.StrEnum):
    """Why an import is missing or an error is raised (CONTRACT).

    Of two causes with the same score the member that stands first wins.
    """

    LIBSTDCXX_TOO_OLD = "libstdcxx-too-old"
    GLIBC_TOO_OLD = "glibc-too-old"
    PYTHON_ABI_MISMATCH = "python-abi-mismatch"
    STABLE_SHIM_TOO_NEW = "stable-shim-too-new"
    TEMPLATE_MANGLING = "template-mangling"
    CXX11_ABI_MISMATCH = "cxx11-abi-mismatch"
    CUDA_BUILD_REQUIRED = "cuda-build-required"
    ROCM_NAMING = "rocm-naming"
    SIGNATURE_CHANGED = "signature-changed"
    SYMBOL_HIDDEN = "symbol-hidden"
    LIBTORCH_PYTHON_NOT_LINKED = "libtorch-python-not-linked"
    IMPORT_TORCH_FIRST = "import-torch-first"
    LIBRARY_NOT_LINKED = "library-not-linked"
    BUILT_FOR_NEWER_TORCH = "built-for-newer-torch"
    BUILT_FOR_OLDER_TORCH = "built-for-older-torch"
    DISTRIBUTION_VARIANT = "distribution-variant"
    CUDA_LIBRARY_MISMATCH = "cuda-library-mismatch"
    LIBRARY_MISSING = "library-missing"
    EXTENSION_SOURCE_NOT_BUILT = "extension-source-not-built"
    INLINED_CALL = "inlined-call"
    GENERATED_KERNEL = "generated-kernel"
    OP_NOT_REGISTERED = "op-not-registered"
    HALF_INTRINSIC = "half-intrinsic"
    STATIC_TLS_EXHAUSTED = "static-tls-exhausted"
    GPU_ARCHITECTURE_MISMATCH = "gpu-architecture-mismatch"
    DRIVER_MISMATCH = "driver-mismatch"
    UNUSABLE_FILE = "unusable-file"


class Situation(enum.StrEnum):
    """How a user got the extension, which decides what can be done about a cause."""

    WHEEL = "wheel"
    SOURCE = "source"
    CONDA = "conda"
    CONTAINER = "container"
    BINARY = "binary"


class Check(Struct, frozen=True):
    """A way to confirm a cause by hand: what the commands show, and the commands."""

    text: str
    commands: str


class Remedy(Struct, frozen=True):
    """What to do in one situation; `commands` is empty where there is none to run."""

    situation: Situation
    text: str
    commands: str = ""


class CausePage(Struct, frozen=True):
    """What is known of a cause whatever the file: a TOML file of `diagnosis/catalogue/causes`.

    Attributes:
        title: a sentence on what is wrong; `{torch}` stands for the target.
        explanation, prevention: prose, paragraphs divided by an empty line.
        detection: the facts from which abiscan concludes it.
        references: https addresses.
    """

    id: CauseId
    title: str
    explanation: str
    detection: str
    confirm: tuple[Check, ...]
    fix: tuple[Remedy, ...]
    prevention: str
    references: tuple[str, ...]

    def title_for(self, torch: str | None = None) -> str:
        """The title with the target in it (`torch 2.6.0 (cu124)`)."""
        text = self.title.replace("{torch}", torch or "the installed torch")
        return text[0].upper() + text[1:] if self.title.startswith("{") else text


class Cause(Struct, frozen=True):
    """One answer to "why": ranked among others, with what it rests on and what to do.

    Attributes:
        evidence: sentences, each a fact that was looked up (what, where, found or not).
        fix: a command, flag, version or line to change, as something to paste where that can be.
    """

    cause: CauseId
    confidence: Confidence
    evidence: tuple[str, ...]
    fix: str


class CauseGroup(Struct, frozen=True):
    """One cause of a file, with every import that it explains."""

    cause: CauseId
    confidence: Confidence
    summary: str
    evidence: tuple[str, ...]
    fix: str
    symbols: tuple[str, ...]
