"""Metadata of a container that cannot be read, or that names what abiscan does not know."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.model.dependency_specifiers import concerns_torch, is_specifier
from abiscan.target.declared_pythons import is_known_python
from abiscan.wheel.container_facts import ContainerFacts, ContainerKind
from abiscan.wheel.requirement_lines import required_name
from abiscan.wheel.tags import read_declared_tags, torch_requirements

# Limits for listing invalid requirements: number of lines, characters of each.
_MOST_LINES = 3
_MOST_CHARACTERS = 200


def unread_requirements(container: ContainerFacts) -> Iterator[str]:
    """Reasons why requirements are unknown, as sentences about `it`."""
    if container.unread:
        yield f"{container.unread}: its requirements are unknown"
    lines = [line for line in container.requires_dist if _is_unread(line, container.kind)]
    for line in lines[:_MOST_LINES]:
        yield f"not read, invalid: Requires-Dist: {_shortened(line)}"
    if len(lines) > _MOST_LINES:
        yield f"{len(lines) - _MOST_LINES} more of its requirements are invalid"


def _is_unread(line: str, kind: ContainerKind) -> bool:
    """Whether a requirement may be for torch and cannot be parsed. Conda package names may begin with an underscore."""
    if not concerns_torch(line):
        return kind is not ContainerKind.CONDA and required_name(line) is None
    read = torch_requirements([line])
    return not read or not is_specifier(read[0].specifier)


def _shortened(line: str) -> str:
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}..."


def unknown_of(container: ContainerFacts) -> Iterator[str]:
    """Declared parts of the target environment that have no known meaning, as sentences about `it`."""
    if container.lacks:
        yield f"it has no {container.lacks}: its requirements are unknown"
    references = [line for line in container.requires_dist if _names_no_release(line)]
    for line in references[:_MOST_LINES]:
        yield f"the reference names no release of torch: Requires-Dist: {_shortened(line)}"
    if len(references) > _MOST_LINES:
        yield f"{len(references) - _MOST_LINES} more references name no release of torch"
    pairs = read_declared_tags(container.file_tags).interpreters
    pythons = list(dict.fromkeys(python for python, _ in pairs))
    if any(python[:1].isdigit() for python in pythons):
        yield (
            f"its Python tag {'.'.join(pythons)} is not valid: a dot separates two tags, and "
            f"{next(python for python in pythons if python[:1].isdigit())} is not a Python version"
        )
    tags = [f"{pair[0]}-{pair[1]}" for pair in pairs if not pair[0][:1].isdigit() and not is_known_python(*pair)]
    for tag in list(dict.fromkeys(tags))[:_MOST_LINES]:
        yield f"the tag {tag} names a Python whose exports are not in the table of CPythons"


def _names_no_release(line: str) -> bool:
    read = torch_requirements([line])
    return bool(read) and bool(read[0].reference) and not read[0].specifier
