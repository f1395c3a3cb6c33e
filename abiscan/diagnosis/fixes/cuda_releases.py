"""Evidence from the releases that export a symbol of a CUDA library."""

from __future__ import annotations

from msgspec import Struct

from abiscan.diagnosis.missing_name import MissingName
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.cuda_exports import driver_since, exporting
from abiscan.ownership.vendor_row import Vendor
from abiscan.ownership.vendors import cuda_since


class ReleaseEvidence(Struct, frozen=True):
    """Evidence from the releases of a library.

    Attributes:
        evidence: a sentence.
        mismatch: minimum score of another release being installed; None without such evidence.
    """

    evidence: str
    mismatch: float | None = None


def release_evidence(missing: MissingName, vendor: Vendor) -> ReleaseEvidence | None:
    """Evidence about a symbol; None if nothing is known."""
    if vendor.library == "cuda":
        since = driver_since(missing.name)
        if since is None:
            return None
        return ReleaseEvidence(
            f"Drivers for CUDA {since} and later export it (`nvidia-smi` prints the CUDA version of the driver)."
        )
    found = exporting(vendor.library, missing.name)
    if found is None or not found.known:
        return None
    counted = vendor.product if vendor.library == "nccl" else "CUDA"
    every = f"{counted} {found.known[0]}-{found.known[-1]}"
    if not found.having:
        gone = f"No known release ({every}) exports it."
        return ReleaseEvidence(gone, mismatch=0.76)
    if missing.file.facts is None and (added := cuda_since(missing.name)) is not None:
        older = f"CUDA {added} added it: the loaded lib{vendor.library} is older, or none is loaded."
        return ReleaseEvidence(older, mismatch=0.82)
    if len(found.having) == len(found.known):
        return ReleaseEvidence(f"Every known release of {vendor.product} ({every}) exports it; older ones may not.")
    spans = ReleaseRanges.of_known(found.known, set(found.having).__contains__).text()
    return ReleaseEvidence(f"Of the known releases ({every}), {counted} {spans} exports it.", mismatch=0.78)


def is_in_no_known_release(missing: MissingName, vendor: Vendor) -> bool:
    """Whether no known CUDA release exports a symbol, as one that nvcc of CUDA 10.0 or older calls."""
    found = None if vendor.library in ("cuda", "nccl") else exporting(vendor.library, missing.name)
    return found is not None and bool(found.known) and not found.having


def exported_since(missing: MissingName, vendor: Vendor) -> str | None:
    """The CUDA release from which on all known ones export a symbol (`12.8`); None if the oldest one does, if a later
    one does not, or if nothing is known."""
    found = None if vendor.library in ("cuda", "nccl") else exporting(vendor.library, missing.name)
    if found is None or not 0 < len(found.having) < len(found.known):
        return None
    return found.having[0] if found.known[-len(found.having) :] == found.having else None
