"""Compatibility of NVIDIA driver branches: PTX versions that they compile and CUDA runtimes that they support.

Which CUDA release, and which branch of the driver, came with a version of PTX: PTX ISA, "Release Notes", table "PTX
Release History" (https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#release-notes), read up to PTX ISA
9.4. Which drivers serve a major release of CUDA: CUDA Toolkit Release Notes, table "CUDA Toolkit and Minimum Required
Driver Version for CUDA Minor Version Compatibility"
(https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html), and
https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html. Minor-version compatibility is for
machine code: PTX must be compiled by a driver that knows its version, in whichever major release (the same page).
"""

from __future__ import annotations

import bisect

# PTX ISA -> CUDA releases whose compiler writes it, first driver branch that compiles it.
_PTX: dict[tuple[int, ...], tuple[str, int]] = {
    (6, 0): ("9.0", 384),
    (6, 1): ("9.1", 387),
    (6, 2): ("9.2", 396),
    (6, 3): ("10.0", 400),
    (6, 4): ("10.1", 418),
    (6, 5): ("10.2", 440),
    (7, 0): ("11.0", 445),
    (7, 1): ("11.1", 455),
    (7, 2): ("11.2", 460),
    (7, 3): ("11.3", 465),
    (7, 4): ("11.4", 470),
    (7, 5): ("11.5", 495),
    (7, 6): ("11.6", 510),
    (7, 7): ("11.7", 515),
    (7, 8): ("11.8", 520),
    (8, 0): ("12.0", 525),
    (8, 1): ("12.1", 530),
    (8, 2): ("12.2", 535),
    (8, 3): ("12.3", 545),
    (8, 4): ("12.4", 550),
    (8, 5): ("12.5 or 12.6", 555),
    (8, 6): ("12.7", 565),
    (8, 7): ("12.8", 570),
    (8, 8): ("12.9", 575),
    (9, 0): ("13.0", 580),
    (9, 1): ("13.1", 590),
    (9, 2): ("13.2", 595),
    (9, 3): ("13.3", 610),
    (9, 4): ("13.4", 615),
}
_BRANCHES = [branch for _, branch in _PTX.values()]
# Major CUDA release -> first driver branch that supports its runtime. Before 11 each minor release has a row.
_RUNTIMES = {11: 450, 12: 525, 13: 580}
_MOST_DIGITS = 4


def driver_branch(version: str) -> int | None:
    """The branch of a driver version, such as 535 for `535.104.05`; None if the text is not a driver version."""
    parts = version.split(".")
    numbers = all(part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS for part in parts)
    return int(parts[0]) if numbers and len(parts) <= 3 and len(parts[0]) == 3 else None


def toolkit_of_ptx(version: str) -> str | None:
    """CUDA toolkits that write a PTX version (`9.0`), such as `13.0` or `12.5 or 12.6`; None if it is unknown."""
    found = _PTX.get(_numbers(version))
    return None if found is None else found[0]


def branch_for_ptx(version: str) -> int | None:
    """The first driver branch that compiles a PTX version; None if the PTX version is unknown."""
    found = _PTX.get(_numbers(version))
    return None if found is None else found[1]


def newest_ptx(branch: int) -> str:
    """The newest PTX version that a branch is known to compile, as the end of a sentence: `at 8.2`, `before 6.0`."""
    at = bisect.bisect_right(_BRANCHES, branch)
    known = list(_PTX)
    return f"at {_text(known[at - 1])}" if at else f"before {_text(known[0])}"


def compiles(version: str, branch: int) -> bool | None:
    """Whether a driver branch compiles a PTX version; None if the table does not contain the answer, because both are
    newer than its last row or both are older than its first."""
    asked, known = _numbers(version), list(_PTX)
    if asked in _PTX:
        return _PTX[asked][1] <= branch
    if asked < known[0]:
        return True if branch >= _BRANCHES[0] else None
    return False if branch <= _BRANCHES[-1] else None


def branch_for_runtime(cuda: str) -> int | None:
    """The first driver branch that supports the runtime of a CUDA release (`12`, `12.4`); None if it is unknown."""
    return _RUNTIMES.get(_numbers(cuda)[0])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
