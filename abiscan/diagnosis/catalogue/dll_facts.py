"""Facts of the message catalogue about DLLs that Windows did not load. Values `name` and `folder`: the DLL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from abiscan.diagnosis import fixes
from abiscan.diagnosis.missing_name import MissingName

Values = Mapping[str, str]
_OF_CUDA = re.compile(r"(cublas|cublasLt|cudart|cudnn|cufft|cufftw|curand|cusolver|cusparse|nvrtc|nvJitLink)(\w*\.dll)")
_LABEL_OF_CUDA = re.compile(r"cu(\d{1,2})(\d)")


def _stated_cuda(_values: Values, missing: MissingName) -> str | None:
    """The CUDA release in the label of the torch of the text: a release on Windows has builds for several, and a
    version without a label is often a CPU build."""
    stated = "" if missing.environment is None else missing.environment.packages.get("torch", "")
    found = _LABEL_OF_CUDA.fullmatch(stated.partition("+")[2])
    return None if found is None else f"{found[1]}.{found[2]}"


def _cuda_dll_needs(values: Values, _missing: MissingName) -> str | None:
    """The value `name`, if it is a DLL of CUDA, and the one of the same release that it needs."""
    found = _OF_CUDA.fullmatch(values.get("name", ""))
    if found is None:
        return None
    needs = ("cublasLt", "cublas") if found[1] == "cublas" else (found[1],)
    return " ".join(fixes.safe(f"{each}{found[2]}", "FILE") for each in needs)


DLL_FACTS: Final[Mapping[str, Callable[[Values, MissingName], str | None]]] = {
    "stated_cuda": _stated_cuda,
    "cuda_dll_needs": _cuda_dll_needs,
}
