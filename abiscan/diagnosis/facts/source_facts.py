"""Facts of the message catalogue about names in sources (values `name`, `header`, `library`) and the releases that have
them. The table of the declarations of torch is large, so it is read late."""

from __future__ import annotations

import posixpath

from msgspec.structs import replace

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.fixes import torch_commands, torch_fixes, wheel_rows
from abiscan.diagnosis.fixes.cuda_library_fixes import release_evidence
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.system_packages import install_headers, library_of_cmake, library_of_header
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text import generated_modules
from abiscan.diagnosis.text.gpu_vendors import AMD
from abiscan.model import module_name, versions
from abiscan.model.gpu_toolkits import newest_gcc
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership import torch_headers
from abiscan.ownership.torch_headers import header_of_name
from abiscan.ownership.vendors import vendor_of_library


def cuda_releases(values: Values, missing: MissingName) -> str | None:
    """A sentence: which releases of CUDA's `library` export the name."""
    vendor = vendor_of_library(f"lib{values.get('library')}.so")
    found = None if vendor is None else release_evidence(missing, vendor)
    return None if found is None else found[0]


def inductor_cache(values: Values, _missing: MissingName) -> str:
    """The folder of the compile cache with the file of the error (value `source_file`), else the one in the text
    (`cache_path`), else that of this user."""
    paths = (values.get(name, "") for name in ("source_file", "cache_path"))
    return next(filter(None, map(generated_modules.cache_folder, paths)), generated_modules.CACHE_OF_USER)


def other_host_compiler(values: Values, _missing: MissingName) -> bool:
    """Whether nvcc accepts the GCC of the text (values `stated_gcc`, `major`): it was started with another."""
    there, newest = versions.order(values.get("stated_gcc", "")), versions.order(values.get("major", ""))
    return there is not None and newest is not None and there[0] <= newest[0]


def gcc_of_toolkit(values: Values, missing: MissingName) -> str | None:
    """The newest GCC that the toolkit of the message (value `toolkit`) or of the text accepts."""
    of_text = missing.log.toolkit or missing.target_cuda or wheel_rows.cuda_release(missing.log.variant)
    newest = newest_gcc(values.get("toolkit") or of_text)
    return None if newest is None else str(newest)


def gcc_is_too_new(values: Values, missing: MissingName) -> bool:
    """Whether the GCC of the text (value `stated_gcc`) is newer than its toolkit accepts."""
    there, newest = versions.order(values.get("stated_gcc", "")), newest_gcc(missing.log.toolkit)
    return there is not None and newest is not None and there[0] > newest


def install_for_cmake(values: Values, missing: MissingName) -> str | None:
    """The commands that install the `package` of CMake's find_package."""
    row = library_of_cmake(values.get("package", ""))
    return None if row is None else "\n".join(install_headers(row, wheel_rows.platform_of(missing))) or None


def has_header(values: Values, _missing: MissingName) -> str | None:
    """Whether a recent torch (`headers_of`) has the `header`: `yes` or `no`."""
    there = torch_headers.has_header(values.get("header", ""))
    return None if there is None else "yes" if there else "no"


def target_before_1(_values: Values, missing: MissingName) -> bool:
    """Whether the target is a torch before 1.0."""
    at = versions.order(missing.target_version)
    return at is not None and at < (1, 0)


def exported_by(values: Values, missing: MissingName) -> str | None:
    """The releases of torch that export a function with this `name`: `2.3.0-2.12.1`."""
    ranges = _exported_in(values.get("name", ""), missing)
    return ranges.text() if ranges else None


def exported_side(values: Values, missing: MissingName) -> str | None:
    """`newest` if these releases include the newest known one, else `oldest` if they include the oldest."""
    ranges, known = _exported_in(values.get("name", ""), missing), missing.known_versions
    if not ranges:
        return None
    return "newest" if ranges.last == known[-1] else "oldest" if ranges.first == known[0] else None


def in_c10_cuda(values: Values, missing: MissingName) -> bool:
    """Whether `name` was looked up in at::cuda and the newest torch has it in c10::cuda."""
    scope, _, base = values.get("name", "").rpartition("::")
    ranges = _exported_in(f"c10::cuda::{base}", missing) if scope == "at::cuda" else None
    return ranges is not None and bool(ranges) and ranges.last == missing.known_versions[-1]


def _exported_in(name: str, missing: MissingName) -> ReleaseRanges | None:
    """The releases that export any function with a name; None if none is known."""
    if "::" not in name:
        return missing.exported_in
    releases = missing.knowledge.releases
    if releases is None:
        return None
    *scope, base = name.split("::")
    # Since 1.10 the base class has the methods that are no operators.
    scopes = (scope, ["at", "TensorBase"]) if scope == ["at", "Tensor"] else (scope,)
    encoded = ["".join(f"{len(part)}{part}" for part in (*each, base)) for each in scopes]
    prefixes = [f"{start}{each}" for each in encoded for start in ("_ZN", "_ZNK")]
    found = [h.exported_in for prefix in prefixes for h in releases.prefix(prefix, missing.knowledge.machine).values()]
    present = {release for release in missing.known_versions if any(each.contains(release) for each in found)}
    return ReleaseRanges.of_known(missing.known_versions, present.__contains__) if found else None


def other_place(values: Values, _missing: MissingName) -> bool:
    """Whether the places `earlier` and `later` differ."""
    return values.get("earlier") != values.get("later")


def header_product(values: Values, _missing: MissingName) -> str | None:
    """The library of the system that has the value `header`."""
    row = library_of_header(values.get("header", ""))
    return None if row is None else row.product


def header_package(values: Values, missing: MissingName) -> str | None:
    """The commands that install the headers with the value `header`."""
    row = library_of_header(values.get("header", ""))
    return None if row is None else "\n".join(install_headers(row, wheel_rows.platform_of(missing)))


def operator_namespace(values: Values, _missing: MissingName) -> str | None:
    """The namespace of an operator that replaces a function of the value `module`."""
    return safe(module_name.operator_namespace(values["module"]), "NAMESPACE") if "module" in values else None


# Namespaces that torch:: includes by using-directives (torch/csrc/api/include/torch/types.h).
_SCOPES_OF = {"torch": ("torch", "at", "c10"), "at": ("at", "c10")}


def declared_in(values: Values, _missing: MissingName) -> str | None:
    """The releases that declare the name or have the header, if others do not: `1.2.0-1.10.2`."""
    ranges = _declaring(values)
    return ranges.text() if ranges else None


def declared_side(values: Values, _missing: MissingName) -> str | None:
    """`newest` if these releases include the newest known one, else `former`."""
    from abiscan.ownership.torch_declarations import declarations

    ranges = _declaring(values)
    return None if not ranges else "newest" if ranges.last == declarations().releases[-1] else "former"


# Who builds extensions has seldom an older torch (August 2019).
_LONG = (1, 2)


def declared_for_long(values: Values, _missing: MissingName) -> bool:
    """Whether the first of these releases is so old that the installed torch is probably not older."""
    ranges = _declaring(values)
    first = versions.order(ranges.first) if ranges else None
    return first is not None and first[:2] < _LONG


def declared_by_target(values: Values, missing: MissingName) -> str | None:
    """Whether the target is one of these releases: `yes` or `no`."""
    ranges = _declaring(values)
    contained = ranges.contains(missing.target.version) if ranges and missing.target is not None else None
    return None if contained is None else "yes" if contained else "no"


def declaring_torch(values: Values, missing: MissingName) -> str | None:
    """The command that installs one of these releases; for a name of HIP a build for ROCm."""
    ranges = _declaring(values)
    if "HIP" in values.get("name", "") and declared_side(values, missing) == "newest":
        log = replace(missing.log, gpu=AMD)
        return torch_commands.torch_with_hip(missing.with_knowledge(log=log, target=None))
    return torch_fixes.install_torch(missing, ranges) if ranges else None


def successor(values: Values, _missing: MissingName) -> str | None:
    """What replaces the name or header in the newest release: an imperative."""
    from abiscan.ownership.torch_successors import successor_of

    name = values.get("header") or values.get("name", "")
    row = successor_of(name, torch_headers.version_read())
    if row is not None:
        return row.advice
    moved = _moved_header(name) if name.endswith((".h", ".cuh")) else None
    return None if moved is None else f"Replace it with `#include <{moved}>`"


def _moved_header(header: str) -> str | None:
    """The only header of the newest torch with the base name of one that it lacks."""
    base = f"/{posixpath.basename(header)}"
    found = [each for each in torch_headers.headers() if each.endswith(base)]
    return found[0] if len(found) == 1 and found[0] != header else None


def declaring_header(values: Values, _missing: MissingName) -> str | None:
    """The header of torch that declares the name."""
    return header_of_name(values.get("name", "").rpartition("::")[2])


def _declaring(values: Values) -> ReleaseRanges:
    """The releases; none if every release has the name, or none does."""
    from abiscan.ownership.torch_declarations import HEADERS, MACROS, declarations

    table = declarations()
    if "header" in values:
        keys = [(HEADERS, values["header"])]
    else:
        scope, _, base = values.get("name", "").rpartition("::")
        if scope.endswith("::hip"):  # the table is of builds for CUDA and the CPU
            return ReleaseRanges()
        keys = [(each, base) for each in (_SCOPES_OF.get(scope, (scope,)) if scope else (MACROS, ""))]
    found = next((each for key in keys if (each := table.declaring(*key))), ())
    return ReleaseRanges.of_known(table.releases, found.__contains__)
