"""Labels that contradict the contents of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from abiscan.model.finding import Finding
from abiscan.ownership.gpu_libraries import Toolkit
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule
from abiscan.target.declared import DeclaredGpu

# `2.7.4+cu12torch2.5cxx11abifalse` (flash-attn). Labels are case-insensitive (PEP 440).
_STRING = re.compile(r"cxx11abi(true|false)", re.IGNORECASE)


def find_contradictions(
    rule: Rule, module: str, gpu: DeclaredGpu | None, version: str, *, toolkit: Toolkit | None, cxx11_abi: bool | None
) -> Iterator[Finding]:
    """One finding for each label that the file contradicts.

    Args:
        module: the module key of the file.
        gpu: CUDA or ROCm according to path, version or package.
        version: of its distribution, with the label.
        toolkit: detected from its needed libraries.
        cxx11_abi: whether it calls torch functions with the C++11 std::string; None if unknown.
    """
    if gpu is not None and toolkit is not None:
        versions = {toolkit.kind: toolkit.version}
        if not gpu.admits(versions.get("CUDA"), versions.get("ROCm")):
            needed = f"{toolkit.soname} ({toolkit.kind} {toolkit.version})"
            detail = f"{gpu.detected_from} declares {gpu.text}, but the file needs {needed}"
            yield make_finding(rule, {"detail": detail}, (module, "gpu"))
    label = _STRING.search(version.partition("+")[2])
    if label is None or cxx11_abi in (None, label[1].lower() == "true"):
        return
    used = "new" if cxx11_abi else "old"
    detail = f"version {version} declares {label[0]}, but the file uses the {used} std::string ABI"
    yield make_finding(rule, {"detail": detail}, (module, "std::string"))
