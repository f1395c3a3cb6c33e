"""library-version-mismatch: a symbol is missing in the version that one release of a library defines."""

from __future__ import annotations

from abiscan.diagnosis.causes.system_libraries import is_symbol_version
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.system_packages import library_of_version
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidates
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.model.imports import Status
from abiscan.ownership.vendors import vendor_of_library


def is_installed_in_link(missing: MissingName) -> bool:
    """Whether the linker misses a C symbol for an installed shared library, which was linked long before."""
    is_read = missing.file.facts is not None
    return missing.reference.link_time and missing.cxx is None and ".so" in missing.file.path and not is_read


def causes(missing: MissingName) -> Candidates:
    """For a versioned reference outside of system, CUDA and torch libraries. The linker takes the version from the
    library that it is given, so the file was linked with it."""
    version = missing.reference.version
    if version is None and not missing.is_torch_name and is_installed_in_link(missing):
        folder, _slash, name = missing.file.path.rpartition("/")
        folder = safe(folder, "DIRECTORY")
        file = safe(missing.file.path, "FILE")
        yield from row_causes(
            "library-of-link-lacks-symbol", missing, commands={"folder": folder, "file": file}, needing=name
        )
        return
    if version is None or is_symbol_version(version) or missing.is_torch_name:
        return
    if missing.reference.link_time and not missing.file.path:
        return
    if missing.file.facts is not None and missing.reference.status not in (None, Status.MISSING):
        return
    named = missing.reference.library
    vendor = None if named is None else vendor_of_library(named)
    if vendor is not None and vendor.cuda:
        return
    library = library_of_version(version)
    own = (named or "").rpartition("/")[2]
    file = library.file if library is not None else own.partition(".so")[0]
    product = library.product if library is not None else own or "the library that defines it"
    is_module = missing.file.python is not None or "-packages" in missing.file.path
    if missing.reference.link_time:
        folder, slash, name = missing.file.path.rpartition("/")
        yield from row_causes(
            "linker-found-other-version",
            missing,
            commands={"stem": safe(file, "LIBRARY"), "folder": safe(folder, "DIRECTORY") if slash else "DIRECTORY"},
            symbol=missing.name,
            version=version,
            product=product,
            needing=name,
            file=file,
            rocm=library is not None and "ROCm" in product,
        )
        return
    yield from row_causes(
        "library-of-other-version",
        missing,
        commands={
            "stem": safe(file, "LIBRARY"),
            "module": safe(missing.file.module, "MODULE") if is_module else "MODULE",
            "conda": "" if library is None else library.conda,
        },
        symbol="" if missing.name == version else missing.name,
        version=version,
        product=product,
        file=file,
        rocm=library is not None and "ROCm" in product,
    )
