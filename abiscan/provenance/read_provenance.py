"""Provenance of a file: compiler, std::string ABI, Python ABI, CUDA, and the torch it was built for."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from abiscan.binary import Binary
from abiscan.mangling import string_abis
from abiscan.model import versions
from abiscan.model.device_code import DeviceImages
from abiscan.model.facts import SharedObject
from abiscan.model.imports import CheckedImport, Owner, is_cxx_name
from abiscan.model.module_name import cpython_tag
from abiscan.model.provenance import Provenance
from abiscan.model.release import ReleaseState
from abiscan.ownership.gpu_libraries import find_toolkit
from abiscan.provenance.provenance_facts import FactOrigin, provenance_facts
from abiscan.releases.matrix import Matrix


def read_provenance(
    binary: Binary,
    facts: SharedObject,
    imports: Sequence[CheckedImport],
    matrix: Matrix | None,
    device: DeviceImages,
    *,
    origin: FactOrigin,
) -> Provenance:
    """Read the provenance of a file.

    Args:
        matrix: its outcomes on the released builds, if the index was used.
        device: its GPU code.
    """
    torch_names = [b.name for b in imports if b.owner is Owner.TORCH]
    built_for, basis = _built_for(matrix, torch_names)
    toolkit = find_toolkit(facts.needed)
    made = Provenance(
        compilers=facts.compilers,
        cxx11_abi=_string_abi(torch_names),
        torch_releases=matrix.exporting if matrix is not None and torch_names else None,
        built_for=built_for,
        built_for_source=basis,
        python_abi=_python_abi(posixpath.basename(origin.package_path), imports),
        cuda=toolkit.version if toolkit is not None and toolkit.kind == "CUDA" else None,
        gpu_archs=tuple(dict.fromkeys(each.architecture for each in device.images)),
        abi=_abi(torch_names),
        glibc_needed=highest(facts, "GLIBC"),
        libstdcxx_needed=highest(facts, "GLIBCXX"),
        gpu_images=device.images,
        gpu_modules=device.modules,
        gpu_not_read=device.unread,
    )
    return replace(made, facts=provenance_facts(binary, facts, imports, made, origin))


def _string_abi(names: Iterable[str]) -> bool | None:
    """Whether torch functions are called with the new std::string; None if none of them takes one, or both are used."""
    spelled = string_abis(names)
    return None if len(spelled) != 1 else "new" in spelled


def _abi(torch_names: Sequence[str]) -> str:
    """`stable` if every torch import is a C shim of the stable ABI (a name that is not mangled)."""
    if not torch_names:
        return "none"
    return "unstable" if any(map(is_cxx_name, torch_names)) else "stable"


def _python_abi(name: str, imports: Iterable[CheckedImport]) -> str | None:
    tag = cpython_tag(name)
    if tag is not None:
        return f"cp{tag}"
    if ".abi3." in name:
        return "abi3"
    return "any" if any(b.owner is Owner.PYTHON for b in imports) else None


def highest(facts: SharedObject, family: str) -> str | None:
    """The highest version of a family (`GLIBC`, `GLIBCXX`) that the file requires."""
    required = (need.numbered for need in facts.version_needs if not need.weak)
    found = [numbered[1] for numbered in required if numbered is not None and numbered[0] == family]
    return ".".join(map(str, max(found))) if found else None


def _built_for(matrix: Matrix | None, torch_names: Sequence[str]) -> tuple[str | None, str | None]:
    """The only minor release that exports all torch imports, and the basis for that; (None, None) if there is none."""
    if matrix is None or not matrix.exporting:
        return None, None
    mangled = sum(map(is_cxx_name, torch_names))
    if not mangled:
        return None, None
    minors = {versions.minor(v.torch) for v in matrix.verdicts if v.state is not ReleaseState.FAILS}
    if len(minors) == 1:
        return minors.pop(), f"the only release that exports all its {len(torch_names)} torch imports"
    return None, None
