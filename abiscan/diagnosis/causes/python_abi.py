"""python-abi-mismatch: a name of CPython that this interpreter does not export.

`data/python_exports.txt.xz` has the names of CPython 2.7 and 3.6 - 3.13 as real interpreters export them
(`tools/build_python_exports.py`).
"""

from __future__ import annotations

import functools

from abiscan.data import data_file
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId
from abiscan.ownership.names import is_python_name

_FILE = data_file("python_exports.txt.xz")


@functools.cache
def _table() -> tuple[tuple[str, ...], dict[str, int]]:
    import lzma

    with open(_FILE, "rb") as file:
        lines = lzma.decompress(file.read()).decode().splitlines()
    masks = {}
    for line in lines[1:]:
        mask, _, name = line.partition(" ")
        masks[name] = int(mask, 16)
    return tuple(lines[0].split()), masks


def exporting_versions(name: str) -> tuple[str, ...]:
    """The CPython versions (of those in the table) that export a name, oldest first."""
    versions, masks = _table()
    mask = masks.get(name, 0)
    return tuple(version for at, version in enumerate(versions) if mask >> at & 1)


def known_versions() -> tuple[str, ...]:
    """The CPython versions of the table, oldest first."""
    return _table()[0]


def causes(missing: MissingName) -> Candidates:
    """For `Py*` names."""
    name = missing.name
    if not is_python_name(name):
        return
    found = exporting_versions(name)
    all_known = known_versions()
    here = _interpreter(missing)
    evidence = []
    score = 0.75
    if found:
        evidence.append(f"{name} is exported by CPython {_ranges(found, all_known)}.")
    else:
        evidence.append(f"{name} is exported by no CPython from {all_known[0]} to {all_known[-1]}.")
    if here is not None and here in all_known:
        if here not in found:
            score = 0.95 if found else 0.7
            evidence.append(f"This interpreter is CPython {here}.")
        else:
            score = 0.45
            evidence.append(
                f"Against it: CPython {here}, this interpreter, exports it. A program that embeds Python must "
                f"link libpython."
            )
    elif found == all_known or len(found) == len(all_known) - 1:
        score = 0.62
        evidence.append(
            "Every Python 3 has it: the process that loads the file is no Python, or does not export its names."
        )
    elif here is None:
        evidence.append("Which interpreter loads the file would decide (`python --version`).")
    if missing.python_of_file is not None:
        evidence.append(f"The file's name says CPython {missing.python_of_file[0]}.{missing.python_of_file[1]}.")
    yield Candidate(CauseId.PYTHON_ABI_MISMATCH, score, tuple(evidence), _fix(found, here, all_known))


def _interpreter(missing: MissingName) -> str | None:
    """The version of the interpreter that loads the file."""
    environment = missing.environment
    if environment is not None and environment.python is not None:
        return f"{environment.python[0]}.{environment.python[1]}"
    return None


def _fix(found: tuple[str, ...], here: str | None, all_known: tuple[str, ...]) -> str:
    if not found:
        return (
            "Install the wheel whose tag names this interpreter (cp311 for CPython 3.11), or build it with "
            "this interpreter's headers."
        )
    if here is None or here in found:
        if len(found) >= len(all_known) - 1:
            return "Load it from Python, or link libpython: -lpythonX.Y (`python3-config --embed --ldflags`)."
        return f"Use CPython {_ranges(found, all_known)}, or the wheel whose tag names the interpreter that loads it."
    tag = "cp" + here.replace(".", "")
    return (
        f"Install the wheel for {tag}: pip install --force-reinstall --no-cache-dir PACKAGE; or build it with "
        f"CPython {here}'s headers."
    )


def _ranges(found: tuple[str, ...], all_known: tuple[str, ...]) -> str:
    parts: list[list[str]] = []
    last = -2
    for version in found:
        at = all_known.index(version)
        if at == last + 1 and parts:
            parts[-1].append(version)
        else:
            parts.append([version])
        last = at
    return ", ".join(part[0] if len(part) == 1 else f"{part[0]} - {part[-1]}" for part in parts)
