"""Libraries that a link editor did not find (`cannot find -lcudart`): no folder of -L has the file."""

from __future__ import annotations

from abiscan.diagnosis.catalogue.package_row import SystemLibrary
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.system_packages import install_headers, library_of_file
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidates
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.ownership.vendor_row import Vendor

# Libraries of CUDA that are not in its toolkit.
_OF_NO_TOOLKIT = frozenset(("cudnn", "nccl", "cusparseLt"))


def causes_at_link_time(name: str, vendor: Vendor | None, missing: MissingName) -> Candidates:
    """Causes for a library without a version in its name, which only packages for development have."""
    system = None if name.endswith(".dylib") else library_of_file(name)
    product = system.product if system is not None else "" if vendor is None else vendor.product
    yield from row_causes(
        "library-not-found-by-linker",
        missing,
        commands={
            "flag": f"-l{safe(name.removeprefix('lib').split('.', 1)[0], 'NAME')}",
            "install": "" if system is None else "\n".join(install_headers(system)),
            "product": product,
            "brief": product.split(" (")[0],
        },
        library=name,
        vendor_library="" if vendor is None else vendor.library,
        kind=_kind(name, vendor, system),
        wsl=missing.log.is_wsl,
        conda=missing.log.is_conda,
    )


def _kind(name: str, vendor: Vendor | None, system: SystemLibrary | None) -> str:
    if system is not None:
        return "system"
    if vendor is None:
        return "unknown"
    if name.endswith(".dylib"):
        return "macos"
    if vendor.library == "cuda":
        return "driver"
    if not vendor.cuda:
        return "other"
    return "development" if vendor.library in _OF_NO_TOOLKIT else "toolkit"
