"""Causes of unresolved imports and of error messages, with evidence and fix (made by `diagnosis`)."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import Struct


class Confidence(enum.StrEnum):
    """Confidence of a cause or finding. HIGH: no other explanation fits the facts. MEDIUM: the facts fit, other
    explanations are possible. LOW: a plausible guess."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class CauseId(enum.StrEnum):
    """Ids of causes (CONTRACT).

    The order breaks ties between equal scores: earlier members rank higher.
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
    LIBRARY_VERSION_MISMATCH = "library-version-mismatch"
    DUPLICATE_DEFINITION = "duplicate-definition"
    BUILD_OUT_OF_MEMORY = "build-out-of-memory"


class Cause(Struct, frozen=True):
    """A ranked cause with its evidence and fix.

    Attributes:
        evidence: sentences; each states one fact that was looked up.
        fix: a command, compiler flag, version or code change; pasteable where possible.
    """

    cause: CauseId
    confidence: Confidence
    evidence: tuple[str, ...]
    fix: str


class CauseGroup(Struct, frozen=True):
    """A cause of a file with all imports that it explains."""

    cause: CauseId
    confidence: Confidence
    summary: str
    evidence: tuple[str, ...]
    fix: str
    symbols: tuple[str, ...]


class Diagnosis(Struct, frozen=True):
    """The causes of one file.

    Attributes:
        causes: mangled import -> causes, best first; without imports that have none. Empty if not asked for.
        groups: causes of the file, most important first, each with the imports that it explains best.
    """

    causes: Mapping[str, tuple[Cause, ...]] = {}
    groups: tuple[CauseGroup, ...] = ()
