"""Changes in compatible torch releases, Pythons, GPUs and systems, and in the declarations of a wheel or package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from abiscan.model.compatibility import Aspect, BuildOfTorch, Compatibility, Floor, compatible_releases, ranges_of
from abiscan.model.cuda_driver import branch_for_runtime
from abiscan.model.diff_report import Change, Effect
from abiscan.model.platforms import system_of
from abiscan.model.report import Container
from abiscan.wheel.requirement_lines import requirements_by_name
from abiscan.wheel.tags import shipped_with


def compare_compatibility(old: Compatibility, new: Compatibility) -> Iterator[Change]:
    """Compatibility that was lost or gained. A loss is a regression."""
    yield from _torch(old, new)
    yield from _pythons(old, new)
    yield from _machines(old, new)
    if is_of_one_system(old, new):
        yield from _gpus(old, new)
        yield from _floors(old, new)
        yield from _cuda(old.cuda, new.cuda)


def is_of_one_system(old: Compatibility, new: Compatibility) -> bool:
    """Whether some operating system is of both, or one of them has none. Between systems, GPUs and floors say
    nothing."""
    before, after = ({system_of(machine) for machine in each.machines} for each in (old, new))
    return not before or not after or not before.isdisjoint(after)


# --- torch ------------------------------------------------------------------------------------------------------


def _torch(old: Compatibility, new: Compatibility) -> Iterator[Change]:
    if old.torch is None and new.torch is None:
        return
    if new.torch is None:
        yield Change(Aspect.TORCH, Effect.GAINED, "no longer needs torch: compatible with every release")
        return
    if old.torch is None:
        failing = [b for b in new.torch if not b.compatible]
        text = f"now needs torch; compatible with {compatible_releases(new.torch)}"
        yield Change(Aspect.TORCH, Effect.LOST, text, bool(failing), removed=tuple(b.name for b in failing))
        return
    # Builds for another platform have other variants: the release is compared.
    known = {b.name for b in old.torch}
    before = {part for b in old.torch if b.compatible for part in (b.name, b.torch)}
    lost = [b for b in new.torch if not b.compatible and (b.name if b.name in known else b.torch) in before]
    if lost:
        tail = "" if any(b.compatible for b in new.torch) else "; now compatible with no known release"
        text = f"no longer compatible with torch {by_reason(lost, new.torch)}{tail}"
        yield Change(Aspect.TORCH, Effect.LOST, text, True, removed=tuple(b.name for b in lost))
    gained = [b for b in new.torch if b.compatible and (b.name if b.name in known else b.torch) not in before]
    if gained:
        text = f"compatible with torch {compatible_releases(replace(b, compatible=b in gained) for b in new.torch)}"
        yield Change(Aspect.TORCH, Effect.GAINED, text, added=tuple(b.name for b in gained))


def by_reason(failing: Sequence[BuildOfTorch], known: Sequence[BuildOfTorch]) -> str:
    """`2.4.0-2.5.1 (names came later), 2.8.0 (not allowed by torch<2.8)`."""
    parts = []
    for reason in dict.fromkeys(build.reason for build in failing):
        names = {build.name for build in failing if build.reason == reason}
        parts.append(f"{ranges_of(known, lambda b, names=names: b.name in names).text()} ({reason})")  # type: ignore[misc]
    return ", ".join(parts)


# --- Python, GPU ------------------------------------------------------------------------------------------------


def _pythons(old: Compatibility, new: Compatibility) -> Iterator[Change]:
    if old.pythons == new.pythons:
        return
    if new.pythons is None:
        yield Change(Aspect.PYTHON, Effect.GAINED, "no longer for a particular CPython")
        return
    if old.pythons is None:
        yield Change(
            Aspect.PYTHON,
            Effect.LOST,
            f"now only for CPython {', '.join(new.pythons) or 'none'}",
            True,
            added=new.pythons,
        )
        return
    lost, gained = _lost_and_gained(old.pythons, new.pythons)
    if lost:
        yield Change(Aspect.PYTHON, Effect.LOST, f"no longer for CPython {', '.join(lost)}", True, removed=lost)
    if gained:
        yield Change(Aspect.PYTHON, Effect.GAINED, f"also for CPython {', '.join(gained)}", added=gained)


def _lost_and_gained(old: Sequence[str], new: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(each for each in old if each not in new), tuple(each for each in new if each not in old)


def _gpus(old: Compatibility, new: Compatibility) -> Iterator[Change]:
    if old.gpus is None and new.gpus is None:
        return
    if old.gpus is None or new.gpus is None:
        code = " ".join((new if old.gpus is None else old).device_code)
        effect = Effect.GAINED if old.gpus is None else Effect.LOST
        text = f"new device code: {code}" if old.gpus is None else f"no longer has device code; had {code}"
        yield Change(Aspect.GPU, effect, text, effect is Effect.LOST, removed=old.device_code, added=new.device_code)
        return
    removed, added = _lost_and_gained(old.device_code, new.device_code)
    lost, gained = _lost_and_gained(old.gpus, new.gpus)
    images = "; ".join(
        [f"new images: {' '.join(added)}"] * bool(added) + [f"removed: {' '.join(removed)}"] * bool(removed)
    )
    tail = f" ({images})" if images else ""
    if lost:
        yield Change(Aspect.GPU, Effect.LOST, f"no longer runs on {' '.join(lost)}{tail}", True, removed=lost)
        tail = ""
    if gained:
        yield Change(Aspect.GPU, Effect.GAINED, f"runs on {' '.join(gained)} now{tail}", added=gained)
    elif images and not lost:
        text = f"{images}; the supported GPUs are unchanged"
        yield Change(Aspect.GPU, Effect.CHANGED, text, removed=removed, added=added)


# --- system -----------------------------------------------------------------------------------------------------


def _machines(old: Compatibility, new: Compatibility) -> Iterator[Change]:
    lost, gained = _lost_and_gained(old.machines, new.machines)
    if lost:
        text = f"is for {', '.join(new.machines) or 'no machine'}, no longer for {', '.join(lost)}"
        if not is_of_one_system(old, new):
            text += ": GPUs and system requirements are not compared"
        yield Change(Aspect.SYSTEM, Effect.LOST, text, True, removed=lost, added=gained)
    elif gained:
        yield Change(Aspect.SYSTEM, Effect.GAINED, f"now also for {', '.join(gained)}", added=gained)


def _floors(old: Compatibility, new: Compatibility) -> Iterator[Change]:
    before, after = ({f.part: f for f in each.floors} for each in (old, new))
    for part, floor in after.items():
        was = before.get(part)
        if was is not None and was.version >= floor.version:
            continue
        # libstdc++ numbers both in parallel; only GLIBCXX is reported.
        if part == "CXXABI" and _raised(before.get("GLIBCXX"), after.get("GLIBCXX")):
            continue
        text = f"needs {floor.text} ({floor.required_by}); " + (
            f"was {was.text}" if was else f"needed no {part} before"
        )
        removed = () if was is None else (was.text,)
        glibc = before.get("glibc")
        if (
            glibc is not None
            and part != "glibc"
            and all(floor.version <= shipped_with(glibc.version, machine, part) for machine in new.machines)
        ):
            text += f"; systems with {glibc.text} have it"
            yield Change(Aspect.SYSTEM, Effect.CHANGED, text, removed=removed, added=(floor.text,))
            continue
        yield Change(Aspect.SYSTEM, Effect.LOST, text, True, removed=removed, added=(floor.text,))
    for part, was in before.items():
        floor_now = after.get(part)
        if floor_now is None or floor_now.version < was.version:
            text = f"needs only {floor_now.text}" if floor_now else f"no longer needs {part}"
            added = () if floor_now is None else (floor_now.text,)
            yield Change(Aspect.SYSTEM, Effect.GAINED, f"{text}; was {was.text}", removed=(was.text,), added=added)


def _raised(old: Floor | None, new: Floor | None) -> bool:
    return new is not None and (old is None or old.version < new.version)


def _cuda(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    lost, gained = _lost_and_gained(old, new)
    if gained:
        drivers = [branch for version in gained if (branch := branch_for_runtime(version)) is not None]
        driver = f", with NVIDIA's driver {max(drivers)} or newer" if drivers else ""
        was = f"; was CUDA {', '.join(old)}" if old else ""
        text = f"needs the libraries of CUDA {', '.join(gained)}{driver}{was}"
        yield Change(Aspect.SYSTEM, Effect.LOST, text, True, removed=lost, added=gained)
    elif lost:
        text = f"no longer needs libraries of CUDA {', '.join(lost)}"
        yield Change(Aspect.SYSTEM, Effect.GAINED, text, removed=lost)


# --- declarations -----------------------------------------------------------------------------------------------


def compare_requirements(old: Container | None, new: Container | None) -> Iterator[Change]:
    """One change per requirement, torch first; none for files."""
    if old is None or new is None:
        return
    if old.requires_python != new.requires_python:
        pythons = (() if each.requires_python is None else (each.requires_python,) for each in (old, new))
        yield _requirement("Requires-Python", *pythons)
    before, after = requirements_by_name(old.requires_dist), requirements_by_name(new.requires_dist)
    for name in sorted({*before, *after}, key=lambda name: (name != "torch", name)):
        if before.get(name, ()) != after.get(name, ()):
            yield _requirement("", before.get(name, ()), after.get(name, ()))
    tags, other = _platforms(old), _platforms(new)
    if tags != other:
        yield _requirement("tag", tags, other)


def _platforms(container: Container) -> tuple[str, ...]:
    """The tags, compressed per interpreter as in a file name (PEP 425, "Compressed Tag Sets")."""
    found: dict[str, list[str]] = {}
    for tag in container.declared_tags:
        interpreter, _, platform = tag.rpartition("-")
        found.setdefault(interpreter, []).append(platform)
    return tuple(sorted(f"{interpreter}-{'.'.join(sorted(each))}" for interpreter, each in found.items()))


def _requirement(what: str, old: Sequence[str], new: Sequence[str]) -> Change:
    """`requires torch==2.12.0 -> torch==2.13.0`."""
    lead = f"{what} " if what else ""
    kept = set(old) & set(new)
    removed, added = (tuple(line for line in lines if line not in kept) for lines in (old, new))
    if removed and added:
        text, effect = f"{lead}{_listed(removed)} -> {_listed(added)}", Effect.CHANGED
    elif added:
        text, effect = f"{lead}{_listed(added)}: not required before", Effect.GAINED
    else:
        text, effect = f"{lead}{_listed(removed)}: no longer required", Effect.LOST
    return Change(Aspect.REQUIREMENT, effect, text, removed=removed, added=added)


def _listed(lines: Sequence[str]) -> str:
    """A separator that no marker contains: they may have semicolons and `and`."""
    return ", and ".join(lines)
