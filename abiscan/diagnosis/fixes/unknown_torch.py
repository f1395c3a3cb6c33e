"""Commands that install a package for an installed torch of unknown release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from abiscan.diagnosis.catalogue.package_row import Package, Wheels
from abiscan.diagnosis.fixes.build_commands import BUILD
from abiscan.diagnosis.fixes.torch_commands import (
    is_installable,
)
from abiscan.diagnosis.fixes.wheel_rows import (
    PIP,
    PIP_WITH_TORCH,
    cuda_major,
    entry_of_release,
    fill_places,
    is_for_python,
    patch_release,
    platform_of,
    python_tag,
    rows_of,
    upgrade,
)
from abiscan.diagnosis.missing_name import MissingName
from abiscan.mangling import string_abi
from abiscan.model import versions

_ONLY_NEW_STRING: Final = (2, 7)
_MOST_RELEASES: Final = 8


def for_any_torch(package: Package, missing: MissingName, variant: str | None, oldest: str) -> tuple[str, ...]:
    """The last pair of a package that ended, then a wheel for the installed torch; see `_for_some_torch`."""
    last, ways = _last_pair(package, missing), _for_some_torch(package, missing, variant, oldest)
    if last is None or any(last.partition("  #")[0] in each for each in ways):
        return ways
    return (last, *(f"or: {each}" for each in ways))


def _for_some_torch(package: Package, missing: MissingName, variant: str | None, oldest: str) -> tuple[str, ...]:
    """For an unknown torch: the page or the release for any torch, if it has wheels for the platform. The torch of an
    example is one that lacks the symbol and has wheels for the CPython, in the variant if one has it."""
    entries = tuple(_possible_entries(package, missing, oldest))
    if _other_string(missing).get("abi") == "FALSE":
        # No torch of 2.7 or later has the old std::string.
        entries = tuple(each for each in entries if (versions.order(each[1]) or ()) < _ONLY_NEW_STRING)
    of_variant = [each for each in entries if variant in each[2]]
    if variant is None and any(missing.log.variant in known for _row, _torch, known in entries):
        return _for_some_torch(package, missing, missing.log.variant, oldest)
    for wheels, torch, known in of_variant or (entries if variant is None or package.any_variant else ()):
        of_example = variant if variant in known else max(filter(cuda_major, known), default=known[-1])
        if package.fetches_wheel:
            return _fetched(package, wheels, missing, oldest)
        places = fill_places(wheels, package, torch, of_example)
        python = missing.loading_python
        tag = "cp312" if python is None else python_tag(str(python))
        places |= {
            "python": tag,
            "py": tag.replace("cp", "py"),
            "platform": platform_of(missing),
            **_other_string(missing),
        }
        example = wheels.install.format_map(places)
        how = PIP_WITH_TORCH if wheels.with_torch else PIP
        of_variant_too = any(place in wheels.install for place in ("{variant}", "{major}"))
        what = "torch and CUDA" if of_variant_too and variant != of_example else "torch"
        label = f"{places['torch']}+{of_example}" if of_variant_too else places["torch"]
        if "{" not in wheels.install:
            return (f"pip install -U {example}",)
        notes = [f"for torch {label}: replace with your {what}"]
        others = [
            f"{entry_of_release(row.releases, each)} for {versions.minor(each)}"
            for row, each, _known in entries
            if row.install == wheels.install and each != torch
        ]
        others = [each for each in others if not each.startswith(f"{places['release']} ")]
        if wheels.releases and others:
            notes.append(f"{package.name} {', '.join(others[:_MOST_RELEASES])}")
        return (f"{how} {example}  # {'; '.join(notes)}",)
    return (upgrade(package),) if package.upgrade and not missing.exported_in else ()


def _last_pair(package: Package, missing: MissingName) -> str | None:
    """The last torch with a wheel of a package that ended, where a later torch than that lacks the symbol; its wheels
    install their torch."""
    wheels = next(iter(rows_of(package, missing)), None) if package.ended else None
    if wheels is None or not wheels.with_torch or not is_for_python(wheels, missing):
        return None
    torch, index = next(iter(wheels.releases)), missing.knowledge.releases
    if not is_installable(torch, missing):
        return None
    exported = missing.exported_in if missing.is_torch_name else None
    if index is not None and exported and exported.contains(index.newest().torch):
        return None
    pair = wheels.install.format_map(fill_places(wheels, package, torch, "cpu"))
    note = f"{package.name} {wheels.releases[torch]} is its last release: no later torch has a wheel of it"
    return f"{PIP_WITH_TORCH} {pair}  # {note}"


def _other_string(missing: MissingName) -> dict[str, str]:
    """The std::string of an unknown torch that lacks the symbol because of it; empty if that is not so."""
    abi = string_abi(missing.name) if missing.target is None and missing.is_torch_name else None
    return {} if abi is None else {"abi": "FALSE" if abi == "new" else "TRUE"}


def _possible_entries(
    package: Package, missing: MissingName, oldest: str
) -> Iterator[tuple[Wheels, str, tuple[str, ...]]]:
    """Each row of wheels with a release of torch that may be the installed one, and the variants, newest first."""
    for wheels in rows_of(package, missing):
        for torch, known in wheels.variants.items() if is_for_python(wheels, missing) else ():
            release = next((each for each in wheels.releases if each.startswith(f"{torch}.")), patch_release(torch))
            if _may_be_installed(release, missing, oldest):
                yield wheels, release, known


def _may_be_installed(torch: str, missing: MissingName, oldest: str) -> bool:
    """Whether an unknown torch that lacks the symbol, and is not older than another, may be this release."""
    if (versions.order(torch) or ()) < (versions.order(oldest) or ()):
        return False
    exported = missing.exported_in if missing.is_torch_name else None
    return (not exported or not exported.contains(torch)) and is_installable(torch, missing)


def _fetched(package: Package, wheels: Wheels, missing: MissingName, oldest: str) -> tuple[str, ...]:
    """Install a package that fetches the wheel for the installed torch when it is built, in a release that has one."""
    possible = {
        torch: each
        for torch, each in wheels.releases.items()
        if _may_be_installed(patch_release(torch), missing, oldest)
    }
    newest, *older = dict.fromkeys(possible.values())
    ways = [f"{BUILD} {package.name}=={newest}"]
    for release in (newest, *older):
        torches = [torch for torch, each in possible.items() if each == release]
        span = torches[-1] if len(torches) == 1 else f"{torches[-1]}-{torches[0]}"
        line = f"{BUILD} {package.name}=={release}  # for torch {span}: installs the published wheel"
        ways = [line] if release == newest else [*ways, line]
    return tuple(ways)
