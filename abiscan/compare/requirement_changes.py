"""Changes in declarations of a wheel or package: requirements, Requires-Python, tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from abiscan.model.compatibility import Aspect
from abiscan.model.diff_report import Change, Effect
from abiscan.model.report import Container
from abiscan.wheel.requirement_lines import requirements_by_name


def compare_requirements(old: Container | None, new: Container | None) -> Iterator[Change]:
    """One change per requirement, torch first; none for files."""
    if old is None or new is None:
        return
    if old.requires_python != new.requires_python:
        yield _change("Requires-Python", _present(old.requires_python), _present(new.requires_python))
    before, after = requirements_by_name(old.requires_dist), requirements_by_name(new.requires_dist)
    for name in sorted({*before, *after}, key=lambda name: (name != "torch", name)):
        if before.get(name, ()) != after.get(name, ()):
            yield _change("", before.get(name, ()), after.get(name, ()))
    tags, other = _platforms(old), _platforms(new)
    if tags != other:
        yield _change("tag", tags, other)


def _present(text: str | None) -> tuple[str, ...]:
    return () if text is None else (text,)


def _platforms(container: Container) -> tuple[str, ...]:
    """The tags, compressed per interpreter as in a file name (PEP 425, "Compressed Tag Sets")."""
    found: dict[str, list[str]] = {}
    for tag in container.declared_tags:
        interpreter, _, platform = tag.rpartition("-")
        found.setdefault(interpreter, []).append(platform)
    return tuple(sorted(f"{interpreter}-{'.'.join(sorted(each))}" for interpreter, each in found.items()))


def _change(what: str, old: Sequence[str], new: Sequence[str]) -> Change:
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
