"""The ways to install a package of which the catalogue has no wheel for the target."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import (
    wheels_of,
)
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.fixes.torch_commands import (
    variants_of,
)
from abiscan.diagnosis.fixes.wheel_choice import with_other_torch
from abiscan.diagnosis.fixes.wheel_rows import (
    PIP,
    PIP_WITH_TORCH,
    entry_of_release,
    fill_places,
    is_on_windows,
    nearest_variant,
    rows_of,
    upgrade,
)
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model import versions

# In commands of wheels: the pinned release, the index of a variant, and what only the name of one file has.
_RELEASE = r'"?[\w-]+==\{release\}(?:\.\*)?"?(?=\s|$)'
_INDEX = r" --(?:extra-)?index-url \S*\{variant\}\S*"
_OF_ONE_FILE: Final = ("{release}", "{python}", "{py}", "{platform}")
# The variant of a torch for ROCm of unknown release.
ANY_ROCM: Final = "rocm"


def without_known_wheel(package: Package, missing: MissingName, source: str | None) -> tuple[str, ...]:
    """The ways to install a package of which the catalogue has no wheel for the target. It says that one may exist only
    if the target is newer than the catalogue."""
    if source is None and not package.wheels:
        return (upgrade(package),)
    if _may_be_published(package, missing):
        lead, *unlisted = _unlisted(package, missing)
        if source is None:
            return ("\n".join((lead, *unlisted)),) if unlisted else ()
        otherwise = (lead, *unlisted, "Otherwise build it:") if unlisted else (f"{lead[:-1]}. Otherwise build it:",)
        return ("\n".join((*otherwise, source)),)
    rows, other = rows_of(package, missing), with_other_torch(package, missing)
    names = ", ".join(package.name.split())
    none = f"No wheel of {names} for {missing.target_label} on this platform and Python is known"
    if source is None:
        if package.upgrade and not rows:
            return (upgrade(package),)
        wsl = ": use WSL" if is_on_windows(missing) else ""
        return of_same_release(package, missing) or (("\n".join(other) if other else f"{none}{wsl}"),)
    is_command = source.startswith("pip ")
    if not other:
        return (f"{none}. Build it:\n{source}" if is_command else f"{none}\n{source}",)
    lead, *commands = other
    is_any = missing.target is not None and missing.target.variant in ("", ANY_ROCM)
    if is_any and missing.target is not None and f"torch {missing.target.version}," in lead:
        # A release without a label may be of any variant: one that has a wheel.
        return ("\n".join(commands),)
    near = missing.target is not None and f"torch {versions.minor(missing.target.version)}." in lead
    if not is_command or (any(wheels.with_torch for wheels in rows) and (package.ended or near)):
        return ("\n".join((lead, *commands, f"or: {source}")),)
    return ("\n".join((f"{none}. Build it:", source, f"or {lead[0].lower()}{lead[1:]}", *commands)),)


def _may_be_published(package: Package, missing: MissingName) -> bool:
    """Whether a wheel for the target may have been published after the catalogue was written."""
    if not package.wheels:
        return True
    rows, torch = rows_of(package, missing), missing.target_version
    at = versions.order(torch)
    if package.ended or package.last_torch or not rows or not at or not _has_kind(package, missing):
        return False
    if at[:2] > max((versions.order(each) or ())[:2] for wheels in rows for each in wheels.variants):
        return True
    newest = next((wheels for wheels in rows if entry_of_release(wheels.variants, torch)), None)
    if newest is not rows[0] or not newest.pythons or (python := missing.loading_python) is None:
        return False
    return (python.major, python.minor) > (versions.order(newest.pythons[-1]) or ())[:2]


def _has_kind(package: Package, missing: MissingName) -> bool:
    """Whether the package has wheels of the target's kind: for CUDA, ROCm or the CPU."""
    variant = missing.target_variant
    known = chain.from_iterable(each for row in rows_of(package, missing) for each in row.variants.values())
    kind = re.match("[a-z]*", variant)
    return package.any_variant or kind is None or any(each.startswith(kind[0]) for each in known)


def _unlisted(package: Package, missing: MissingName) -> Iterator[str]:
    """How to install a release for the target that the catalogue does not list: it may be newer than the catalogue."""
    yield f"Install the release of {', '.join(package.name.split())} for {missing.target_label}, if one exists:"
    if not package.wheels or package.upgrade:
        yield upgrade(package)
        return
    wheels = next(iter(rows_of(package, missing)), None) or wheels_of(package)[0]
    variant = missing.target_variant
    if variant == ANY_ROCM:
        variant = nearest_variant(variants_of(missing.target_version, missing), variant) or "rocmX.Y"
    install = re.sub(_RELEASE, lambda _: package.name, wheels.install)
    if not variant:
        install = re.sub(_INDEX, "", install)
    places_of_file = (*_OF_ONE_FILE, *(() if variant else ("{variant}",)))
    if missing.target is None or any(place in install for place in places_of_file):
        return
    places = fill_places(wheels, package, missing.target.version, variant)
    of_torch = any(place in install for place in ("{torch}", "{minor}", "{short}", "{digits}"))
    newest = "" if of_torch else "  # the newest: name the release for your torch"
    yield f"{PIP_WITH_TORCH if wheels.with_torch else PIP} {install.format_map(places)}{newest}"


def of_same_release(package: Package, missing: MissingName) -> tuple[str, ...]:
    """Its release with the number of torch, on the page of that release; empty for other packages."""
    minor = versions.minor(missing.target_version) or "X.Y"
    page = package.same_release.format(minor=minor)
    which = f"{minor} for torch {minor}{' (pip show torch)' if minor == 'X.Y' else ''}"
    wanted = f"Install the release of {package.name} with the number of torch, {which}: its wheels are on {page}"
    return (wanted,) if page else ()
