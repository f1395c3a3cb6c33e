"""Facts of the message catalogue about DLLs that Windows did not load. Values `name` and `folder`: the DLL."""

from __future__ import annotations

import re

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.missing_name import MissingName
from abiscan.ownership.torch_names import is_torch_library

_OF_CUDA = re.compile(r"(cublas|cublasLt|cudart|cudnn|cufft|cufftw|curand|cusolver|cusparse|nvrtc|nvJitLink)(\w*\.dll)")


# Beside libraries with names of torch in its folder lib.
_IN_FOLDER_OF_TORCH = frozenset(("asmjit.dll", "fbgemm.dll"))


def cuda_dll_needs(values: Values, _missing: MissingName) -> str | None:
    """The value `name`, if it is a DLL of CUDA, and the one of the same release that it needs."""
    found = _OF_CUDA.fullmatch(values.get("name", ""))
    if found is None:
        return None
    needs = ("cublasLt", "cublas") if found[1] == "cublas" else (found[1],)
    return " ".join(safe(f"{each}{found[2]}", "FILE") for each in needs)


def of_torch(values: Values, _missing: MissingName) -> bool:
    """Whether the DLL (values `name`, `folder`) belongs to torch, or torch was imported and none but its `_C` is
    named."""
    name, folder = values.get("name", ""), re.sub(r"[\\/]+", "/", values.get("folder", "")).lower()
    in_folder = f"/{folder}".endswith("/torch/lib/")
    own = is_torch_library(name) or name.lower() in _IN_FOLDER_OF_TORCH or in_folder
    return own or (name in ("", "_C") and "torch_imported" in values)


def dll(values: Values, _missing: MissingName) -> str | None:
    """The value `name` if it is a DLL."""
    name = values.get("name", "")
    return safe(name, "FILE") if name.lower().endswith(".dll") else None


def foreign_dll(values: Values, missing: MissingName) -> str | None:
    """The value `name` if it is a DLL that does not belong to torch."""
    return None if of_torch(values, missing) else dll(values, missing)


def extension_of_dll(values: Values, _missing: MissingName) -> str | None:
    """The value `name` if it is a module with a name of its own: many are called `_C`, and ctypes names files."""
    name = values.get("name", "")
    return None if name.startswith("_") or "." in name else safe(name, "") or None
