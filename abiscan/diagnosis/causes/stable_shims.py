"""stable-shim-too-new: a C shim of the stable ABI that a later torch than the target added. Shims have a first release
(torch/csrc/stable/c/shim_function_versions.txt in pytorch/pytorch, since 2.10)."""

from __future__ import annotations

from abiscan.diagnosis.fixes import extension_fixes, torch_fixes
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.release_position import Position
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.ownership.torch_names import SHIM_PREFIXES


def causes(missing: MissingName) -> Candidates:
    """A shim whose first release is after the target, or that no known release has."""
    if not missing.name.startswith(SHIM_PREFIXES) or missing.cxx is not None:
        return
    evidence = [f"{missing.name} is a C shim of PyTorch's stable ABI.", missing.exported_text]
    if not missing.exported_in:
        evidence[0] = f"{missing.name} is named like the C shims of PyTorch's stable ABI."
    match missing.position:
        case Position.BEFORE:
            score = 0.93
            since = missing.exported_in.first if missing.exported_in else None
            evidence.append(f"{missing.target_label} is older than {since}.")
        case Position.GAP:
            score = 0.7
        case Position.NEVER:
            score = 0.7
            evidence.append(
                "It is from a torch newer than the index, from builds for another device, or not from torch."
            )
        case Position.UNKNOWN:
            # A link editor that misses one was not given the library: the module is compiled by the torch that has it.
            score = 0.48 if missing.reference.link_time else 0.7
            if missing.target is None:
                evidence.append("The installed torch is unknown: pass --torch VERSION.")
        case _:
            return
    ways = []
    if missing.exported_in:
        ways.append(torch_fixes.rebuild_or_install(missing, missing.exported_in))
        if missing.target is None:
            ways = [torch_fixes.by_release(missing, missing.exported_in, ways[0])]
    at = versions.order(missing.target_version)
    # TORCH_TARGET_VERSION supports versions since the registration macros of the stable ABI.
    if missing.exported_in and at is not None and at[:2] >= (2, 9):
        flag = f"-DTORCH_TARGET_VERSION=0x{at[0]:02x}{at[1]:02x}000000000000"
        ways.append(f"Rebuild with {flag}: {extension_fixes.rebuild(missing)}")
    if not ways:
        ways.append("Install the torch that the extension was built for, or lower TORCH_TARGET_VERSION and rebuild.")
    yield Candidate(CauseId.STABLE_SHIM_TOO_NEW, score, tuple(evidence), "\nor: ".join(ways))
