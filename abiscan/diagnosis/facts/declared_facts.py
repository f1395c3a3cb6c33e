"""Facts of the message catalogue about the releases of torch of which the headers declare a `name`, or have a `header`.

The table of declarations is large, so it is read late.
"""

from __future__ import annotations

import posixpath

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.fixes import torch_fixes
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership import torch_headers
from abiscan.ownership.torch_name_headers import header_of_name

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


def declared_by_target(values: Values, missing: MissingName) -> str | None:
    """Whether the target is one of these releases: `yes` or `no`."""
    ranges = _declaring(values)
    contained = ranges.contains(missing.target.version) if ranges and missing.target is not None else None
    return None if contained is None else "yes" if contained else "no"


def declaring_torch(values: Values, missing: MissingName) -> str | None:
    """The command that installs one of these releases."""
    ranges = _declaring(values)
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
