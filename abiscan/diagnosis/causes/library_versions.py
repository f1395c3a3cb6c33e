"""library-version-mismatch: a symbol is missing in the version that one release of a library defines."""

from __future__ import annotations

from abiscan.diagnosis.causes.system_libraries import is_symbol_version
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.safe_names import safe
from abiscan.diagnosis.system_packages import library_of_version
from abiscan.model.cause import CauseId
from abiscan.model.imports import Status
from abiscan.ownership.vendors import vendor_of_library


def causes(missing: MissingName) -> Candidates:
    """For a versioned reference outside of system, CUDA and torch libraries. The linker takes the version from the
    library that it is given, so the file was linked with it."""
    version = missing.reference.version
    if version is None or is_symbol_version(version) or missing.reference.link_time or missing.is_torch_name:
        return
    if missing.file.facts is not None and missing.reference.status not in (None, Status.MISSING):
        return
    named = missing.reference.library
    vendor = None if named is None else vendor_of_library(named)
    if vendor is not None and vendor.cuda:
        return
    library = library_of_version(version)
    file = library.file if library is not None else (named or "").partition(".so")[0]
    product = library.product if library is not None else named or "the library that defines it"
    evidence = (
        f"The file needs {missing.name} with version {version} of {product}, which it was linked with.",
        f"The {file or 'library'} that is loaded is another release or build and does not define that version.",
    )
    stem = safe(file, "LIBRARY")
    module = safe(missing.file.module, "MODULE")
    command = module if missing.file.python is not None or "-packages" in missing.file.path else "MODULE"
    ways = [
        f'LD_DEBUG=libs python -c "import {command}" 2>&1 | grep "calling init.*{stem}"  # prints the loaded copy',
        "unset LD_LIBRARY_PATH LD_PRELOAD  # if they contain the folder of that copy",
    ]
    if library is not None and library.conda:
        ways.append(
            f"or install the release that the file was linked with: conda install -c conda-forge {library.conda}"
        )
    elif library is not None and "ROCm" in library.product:
        ways.append(
            "or: Install the ROCm release that the file was built for. torch wheels for ROCm bundle these libraries "
            "(ls /opt/rocm*/lib lists the system copies)."
        )
    else:
        ways.append("or: Install the release of the library that the file was linked with.")
    yield Candidate(CauseId.LIBRARY_VERSION_MISMATCH, 0.86, evidence, "\n".join(ways))
