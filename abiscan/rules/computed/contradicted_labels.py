"""Labels that a file contradicts: what it is called is not what it was built with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from abiscan.model.finding import Finding
from abiscan.ownership.gpu_libraries import Toolkit
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule
from abiscan.target.declared import DeclaredGpu

# `2.7.4+cu12torch2.5cxx11abifalse` (flash-attn); labels are compared in lower case (PEP 440).
_STRING = re.compile(r"cxx11abi(true|false)", re.IGNORECASE)


class LabelSubject(Struct, frozen=True):
    """What a file is called, and what it tells itself.

    Attributes:
        module: its identity over rebuilds.
        gpu: what its path, version or package says of CUDA or ROCm.
        version: of its distribution, with the label.
        toolkit: by the libraries that it needs.
        cxx11_abi: whether torch's functions are called with the new std::string; None where nothing tells.
    """

    module: str
    gpu: DeclaredGpu | None
    version: str
    toolkit: Toolkit | None
    cxx11_abi: bool | None


def find_contradictions(rule: Rule, subject: LabelSubject) -> Iterator[Finding]:
    """A finding for each label that is not true of the file."""
    gpu, toolkit = subject.gpu, subject.toolkit
    if gpu is not None and toolkit is not None:
        versions = {toolkit.kind: toolkit.version}
        if not gpu.admits(versions.get("CUDA"), versions.get("ROCm")):
            needed = f"{toolkit.soname} ({toolkit.kind} {toolkit.version})"
            detail = f"{gpu.because} declares {gpu.text}, but the file needs {needed}"
            yield make_finding(rule, {"detail": detail}, (subject.module, "gpu"))
    label = _STRING.search(subject.version.partition("+")[2])
    if label is None or subject.cxx11_abi in (None, label[1].lower() == "true"):
        return
    used = "new" if subject.cxx11_abi else "old"
    detail = f"version {subject.version} declares {label[0]}, but the file uses the {used} std::string ABI"
    yield make_finding(rule, {"detail": detail}, (subject.module, "std::string"))
