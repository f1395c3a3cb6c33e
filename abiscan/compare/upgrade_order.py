"""The order of package upgrades: requirements first."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.inputs.distributions import Distribution
from abiscan.wheel.requirement_lines import normal_name, requirements_by_name


def steps(packages: Sequence[Distribution]) -> dict[str, int]:
    """Package name -> step, counted from 1: after all packages that it requires without an extra. Packages that require
    each other have the same step."""
    names = {normal_name(package.name): package for package in packages}
    needs = {
        name: requirements_by_name(package.requires_dist).keys() & names.keys() - {name}
        for name, package in names.items()
    }
    found: dict[str, int] = {}
    left = dict(needs)
    step = 1
    while left:
        ready = [name for name, required in left.items() if required <= found.keys()] or list(left)
        found |= dict.fromkeys(ready, step)
        left = {name: required for name, required in left.items() if name not in found}
        step += 1
    return {package.name: found[normal_name(package.name)] for package in packages}
