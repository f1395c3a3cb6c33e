"""What a wheel or package declares otherwise than before: requirements, Requires-Python, tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from abiscan.model.difference import Change, Effect
from abiscan.model.reach import Aspect
from abiscan.model.report import Container

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def changes_of_requirements(old: Container | None, new: Container | None) -> Iterator[Change]:
    """A change for each distribution that is required otherwise, torch first; nothing between files."""
    if old is None or new is None:
        return
    if old.requires_python != new.requires_python:
        yield _change("Requires-Python", _present(old.requires_python), _present(new.requires_python))
    before, after = _by_name(old.requires_dist), _by_name(new.requires_dist)
    for name in sorted({*before, *after}, key=lambda name: (name != "torch", name)):
        if before.get(name, ()) != after.get(name, ()):
            yield _change("", before.get(name, ()), after.get(name, ()))
    tags, other = _platforms(old), _platforms(new)
    if tags != other:
        yield _change("tag", tags, other)


def _present(text: str | None) -> tuple[str, ...]:
    return () if text is None else (text,)


def _platforms(container: Container) -> tuple[str, ...]:
    """The tags, those of one interpreter together as in a file's name (PEP 425, "Compressed Tag Sets")."""
    found: dict[str, list[str]] = {}
    for tag in container.tags or container.metadata_tags:
        interpreter, _, platform = tag.rpartition("-")
        found.setdefault(interpreter, []).append(platform)
    return tuple(sorted(f"{interpreter}-{'.'.join(sorted(each))}" for interpreter, each in found.items()))


def _change(what: str, old: Sequence[str], new: Sequence[str]) -> Change:
    """`requires torch==2.12.0 -> torch==2.13.0`."""
    lead = f"{what} " if what else ""
    kept = set(old) & set(new)
    removed, added = (tuple(line for line in lines if line not in kept) for lines in (old, new))
    if removed and added:
        text, effect = f"{lead}{'; '.join(removed)} -> {'; '.join(added)}", Effect.CHANGED
    elif added:
        text, effect = f"{lead}{'; '.join(added)}: not asked for before", Effect.GAINED
    else:
        text, effect = f"{lead}{'; '.join(removed)}: not asked for any more", Effect.LOST
    return Change(Aspect.REQUIREMENT, effect, text, removed=removed, added=added)


def _by_name(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Requirements by the distribution that they are on, its name as PEP 503 normalizes it; without those of extras,
    which an installer does not follow by itself."""
    found: dict[str, list[str]] = {}
    for line in lines:
        name = _NAME.match(line)
        if name is not None and "extra" not in line.partition(";")[2]:
            found.setdefault(re.sub(r"[-_.]+", "-", name[1]).lower(), []).append(_spelled(line))
    return {name: tuple(sorted(each)) for name, each in found.items()}


def _spelled(line: str) -> str:
    """`torch (==2.4.1)`, as older builders write it, is `torch==2.4.1`."""
    return re.sub(r"\s*\(([^()]*)\)", r"\1", line).strip()
