"""The published wheel of a package for the target, or for the nearest torch that has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from abiscan.diagnosis.catalogue.package_row import Package, Wheels
from abiscan.diagnosis.fixes.torch_commands import find_torch, force_reinstall, install_torch
from abiscan.diagnosis.fixes.wheel_rows import (
    PublishedWheel,
    cuda_major,
    cuda_release,
    entry_of_release,
    is_for_python,
    nearest_variant,
    patch_release,
    platform_of,
    published_wheel,
    pythons_of_wheel,
    rows_of,
)
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model import versions
from abiscan.model.target import TorchBuild, TorchKind

# Places for the variant of torch: a command without them installs one wheel for all.
_OF_VARIANT: Final = ("{variant}", "{major}", "{name}", "{abi}")
# What only a wheel for one release of torch has: such a command has no place for another one.
_OF_ONE_BUILD: Final = r"\{(?:release|python|py|platform|abi|short|digits)\}"


def with_other_torch(package: Package, missing: MissingName, of_release: str = "") -> tuple[str, ...]:
    """A sentence and the commands that install the nearest torch with a known wheel, and that wheel: another patch
    release, else the newest torch before the target, else the oldest behind it. Empty if none fits the Python.

    Args:
        of_release: only wheels of this release of the package.
    """
    target, python = missing.target, missing.loading_python
    if target is None:
        return ()
    at = versions.order(target.version) or ()
    found = []
    for wheels in rows_of(package, missing):
        for torch in wheels.releases or wheels.variants:
            if of_release and not _is_of(entry_of_release(wheels.releases, torch) or "", of_release):
                continue
            order, known = versions.order(torch) or (), entry_of_release(wheels.variants, torch) or ()
            variant = known[0] if package.any_variant and known else nearest_variant(known, target.variant)
            release = patch_release(torch)
            if variant is not None and not _has_code(variant, missing.log.capability):
                continue  # neither that torch nor the wheel runs on the GPU of the text
            if variant is None or (python is not None and python not in pythons_of_wheel(wheels, release)):
                continue
            command = published_wheel(wheels, package, release, variant, missing).command
            wanted = _variant_of(target, variant)
            torch_there = None if wheels.with_torch else find_torch(release, missing, variant=wanted)
            if not wheels.with_torch and (torch_there is None or not _is_for(torch_there[1], wanted, package)):
                continue
            other = None if torch_there is None else f"pip install {torch_there[0]}"
            rank = 0 if order[:2] == at[:2] else 1 if order < at else 2
            near = tuple(-each for each in order) if rank < 2 else order
            found.append((rank, near, release, tuple(filter(None, (other, command)))))
    if not found:
        return ()
    _rank, _near, release, commands = min(found)
    return (f"With torch {release}, for which a wheel is known:", *commands)


def _is_of(entry: str, release: str) -> bool:
    """Whether an entry of a row is a release, or its first parts (`2.8` of 2.8.0), or a later build of it."""
    return f"{release}.".startswith(f"{entry}.") or entry.startswith(f"{release}.post")


def _is_for(there: str, wanted: str, package: Package) -> bool:
    """Whether a wheel for one variant of torch loads beside another: a CUDA build needs the libraries of its CUDA."""
    of_major = cuda_major(wanted) == wanted.removeprefix("cu") and cuda_major(there) == cuda_major(wanted)
    of_rocm = wanted == "rocm" and there.startswith("rocm")
    return there == wanted or of_major or of_rocm or package.any_variant


def _variant_of(target: TorchBuild, variant: str) -> str:
    """The variant of torch for a wheel: a wheel for all of CUDA 12 leaves that of the target."""
    of_major = cuda_major(variant) == variant.removeprefix("cu")
    return target.variant if of_major and cuda_major(target.variant) == cuda_major(variant) else variant


def find_wheel(package: Package, missing: MissingName, target: TorchBuild) -> PublishedWheel | None:
    """The published wheel for the target; None if none is known."""
    for wheels in rows_of(package, missing):
        known = entry_of_release(wheels.variants, target.version)
        if known is None:
            continue
        variant = _chosen_variant(package, wheels, known, target, missing.log.variant)
        if variant is None or (wheels.releases and entry_of_release(wheels.releases, target.version) is None):
            continue
        if not is_for_python(wheels, missing) or _is_without_torch(wheels, target.version, missing):
            continue
        return published_wheel(wheels, package, target.version, variant, missing)
    return None


def _is_without_torch(wheels: Wheels, torch: str, missing: MissingName) -> bool:
    """Whether no wheel of this torch, and so none for it, is for the CPython that the text names."""
    python, known = missing.loading_python, pythons_of_wheel(wheels, torch)
    return python is not None and missing.log.python is not None and bool(known) and python not in known


def _chosen_variant(
    package: Package, wheels: Wheels, known: tuple[str, ...], target: TorchBuild, named: str
) -> str | None:
    """The variant of a wheel for the target.

    Args:
        named: variant of a CUDA release that the text names, where it does not name that of torch.
    """
    if package.any_variant:
        return known[0]
    if named in known:
        return named
    variant = target.variant
    if variant in known:
        return variant
    if not variant and (len(known) == 1 or not any(place in wheels.install for place in _OF_VARIANT)):
        return known[0]
    return variant if f"cu{cuda_major(variant)}" in known else None


def for_release(package: Package, torch: str, missing: MissingName) -> tuple[str, ...]:
    """The wheel of a package for a release of torch with possibly unknown variant, else with the nearest torch that has
    a wheel, an older one first. Empty if none is known."""
    rows = rows_of(package, missing)
    for wheels in rows:
        known = entry_of_release(wheels.variants, torch)
        if known is not None:
            chosen = missing.target_variant
            variant = chosen if chosen in known else nearest_variant(known, "") or known[-1]
            return (published_wheel(wheels, package, torch, variant, missing).command,)
    if not rows:
        return ()
    known_for = sorted(rows[0].variants, key=lambda each: versions.order(each) or ())
    older = [each for each in known_for if (versions.order(each) or ()) < (versions.order(torch) or ())]
    nearest = older[-1] if older else known_for[0]
    which = "newest known before it" if older else "first known after it"
    variant = rows[0].variants[nearest][-1]
    release = patch_release(nearest)
    other = install_torch(release, missing, cuda=cuda_major(variant) or None)
    none = f"No wheel of {package.name} for torch {torch} is known; the {which} is for torch {nearest}:"
    command = published_wheel(rows[0], package, release, variant, missing).command
    return (none, command) if other is None else (none, other, command)


def _from_release_on(version: str, rows: tuple[Wheels, ...]) -> Iterator[tuple[str, Wheels]]:
    """A release of torch, then the later minor releases with wheels, oldest first, and their rows."""
    at = versions.order(version) or ()
    newer = {patch_release(each): wheels for wheels in rows for each in wheels.variants}
    ordered = sorted((versions.order(each) or (), each) for each in newer)
    later = [each for order, each in ordered if order > at]
    yield from ((version, wheels) for wheels in rows)
    yield from ((each, newer[each]) for each in later if versions.minor(each) != versions.minor(version))


def _has_code(variant: str, capability: str) -> bool:
    """Whether the CUDA of a variant (`cu118`) compiles for a GPU; for an unknown one it does."""
    from abiscan.model.gpu_toolkits import first_toolkit

    # Code for 8.0 runs on 8.9, and so on.
    major = capability.partition(".")[0]
    first = versions.order(first_toolkit(f"{major}.0") or "")
    cuda = versions.order(cuda_release(variant))
    return first is None or cuda is None or cuda >= first


_AMPERE: Final = "8.0"


def _for_gpu(known: tuple[str, ...], named: str, missing: MissingName) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The variants with code for the GPU of the text; for an unknown GPU and CUDA, those with code for most GPUs, and
    CUDA variants that lack it."""
    capability = missing.log.capability
    fitting = tuple(each for each in known if _has_code(each, capability))
    is_installed = missing.target is not None and missing.target.path is not None
    if capability or named or missing.log.variant or is_installed:
        return fitting, ()
    newer = tuple(each for each in fitting if _has_code(each, _AMPERE))
    if not any(cuda_major(each) for each in newer):
        return fitting, ()
    return newer, tuple(each for each in fitting if each not in newer)


def _newest_with(variant: str, rows: tuple[Wheels, ...]) -> str:
    """The newest torch with a wheel for a variant, else with any wheel; empty if there is none."""
    torches = {torch: known for wheels in rows for torch, known in wheels.variants.items()}
    newest = next((torch for torch, known in torches.items() if variant in known), next(iter(torches), ""))
    return patch_release(newest) if newest else ""


def _pythons_of(wheels: Wheels, version: str, rows: tuple[Wheels, ...]) -> Iterator[str]:
    """For which CPythons a torch and a wheel for it exist, and the first torch with both for the next CPython."""
    if not (pythons := pythons_of_wheel(wheels, version)):
        return
    yield f"this torch and its wheel of the package exist for Python {pythons[0]}-{pythons[-1]}"
    later = ((torch, row) for torch, row in _from_release_on(version, rows) if torch != version)
    newer = (torch for torch, row in later if pythons_of_wheel(row, torch)[-1:] > pythons[-1:])
    if (first := next(newer, None)) is not None:
        yield f"for a newer Python: torch {versions.minor(first)} or later"


def _for_own_release(commands: tuple[str, ...], version: str, variant: str, named: str) -> tuple[str, ...]:
    """Commands for an example, with places for the release of torch that a person has: the example would replace it.

    Args:
        named: variant that is known; empty if it is a place, too.
    """
    own = "" if variant == named else "cuNNN"
    minor = versions.minor(version)
    of_cuda = f"if it has a build for {variant}, as torch {minor} has"
    if own:
        of_cuda = f"{own}: a CUDA for which it has a build, such as {variant} of torch {minor}"
    notes = ("X.Y: the release of your torch (torch.__version__)", of_cuda)
    torch, *others = (
        each.replace(version, f"X.Y.{version.rpartition('.')[2]}").replace(variant, own or variant) for each in commands
    )
    return (f"{torch}  # {'; '.join(notes)}", *others)


def for_other_python(package: Package, missing: MissingName) -> MissingName | None:
    """The same with the newest CPython that a wheel for the target's torch is for, if the wheels with code for the GPU
    are for other CPythons than that of the text."""
    environment, target = missing.knowledge.environment, missing.target
    if environment is None or target is None or (here := missing.loading_python) is None:
        return None
    for wheels in rows_of(package, missing):
        known, _ = _for_gpu(entry_of_release(wheels.variants, target.version) or (), "", missing)
        pythons = pythons_of_wheel(wheels, target.version)
        if any(map(cuda_major, known)) and pythons and here not in pythons:
            return missing.with_knowledge(environment=replace(environment, python=pythons[-1]))
    return None


def with_cuda(package: Package, missing: MissingName, variant: str) -> tuple[str, ...]:
    """The commands that install a CUDA build of the target's torch (of the newest with a wheel, if it is unknown) and
    the wheel of a package for it; empty if no such wheel is known, or the target is a source build.

    Args:
        variant: preferred variant; another one of its CUDA is used if that has no wheel.
    """
    if missing.knowledge.target_from_source:
        return ()
    rows = rows_of(package, missing)
    target = missing.target
    stated = target is not None and versions.order(target.version) is not None
    wanted = target.version if target is not None and stated else _newest_with(variant, rows)
    for version, wheels in _from_release_on(wanted, rows):
        known, left_out = _for_gpu(entry_of_release(wheels.variants, version) or (), variant, missing)
        of_target = "" if target is None or version != wanted or not cuda_major(target.variant) else target.variant
        chosen = nearest_variant(known, variant or (of_target if of_target in known else ""))
        here = missing.loading_python
        if chosen is None or (here is not None and here not in pythons_of_wheel(wheels, version)):
            continue
        build = TorchBuild(TorchKind.RELEASE, version, chosen, None, None, None, None, None)
        there = missing.with_knowledge(target=build)
        torch = force_reinstall(install_torch(version, there) or "")
        wheel = published_wheel(wheels, package, version, chosen, there).command
        if not stated and torch and not re.search(_OF_ONE_BUILD, wheels.install):
            return _for_own_release((torch, wheel), version, chosen, variant)
        reasons = "this GPU" if for_other_python(package, missing) is None else f"Python {here}"
        notes = [f"{package.name} has no wheel for torch {wanted} and {reasons}"] if version != wanted else []
        notes += (
            [] if stated else [f"torch {version} and {chosen} are examples: put yours, if both have a wheel for it"]
        )
        if left_out:
            notes.append(
                f"builds for {', '.join(left_out)} have no code for GPUs of compute capability {_AMPERE} and later"
            )
        if variant and chosen != variant and cuda_major(variant):
            notes.append(f"torch {version} has no {variant} build; {chosen} installs its own CUDA runtime")
        # Which wheels for Windows a page has is not recorded.
        if platform_of(missing) != "win_amd64":
            notes.extend(_pythons_of(wheels, version, rows))
        torch += f"  # {'; '.join(filter(None, notes))}" if torch and any(notes) else ""
        return tuple(filter(None, (torch, wheel)))
    return ()
