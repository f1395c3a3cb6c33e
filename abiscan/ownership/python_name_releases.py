"""Releases of torch and its companions with a Python module or name, from `data/python_names.xz`
(`tools/build_python_names.py`), and those with a parameter of a function, from `data/python_parameters.xz`
(`tools/build_python_parameters.py`).

The tables have the names that some read release lacks: a name that they lack is in every release, or in none.
"""

from __future__ import annotations

import functools

from abiscan.data import read_compressed
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.torch_declarations import mask_of

FILE = "python_names.xz"
MODULE = "/"
"""Behind the names of modules in a package, which functions of the package may have, too."""
PARAMETERS = "python_parameters.xz"
"""Its scopes are functions: `f`, `Class.method`. Its names are parameters that the function takes."""
OPTIONAL = "!"
"""Behind a parameter: the function can be called without it."""
COUNT = "#"
"""Before a number of positional arguments that the function takes."""
EXISTS = "()"
"""Stands for the function, if some release lacks it."""


class PackageNames:
    """The names of one package.

    Attributes:
        releases: those that were read, oldest first.
    """

    def __init__(self, package: str, releases: tuple[str, ...], lines: list[str]) -> None:
        self.package = package
        self.releases = releases
        self._lines = lines

    @functools.cached_property
    def _masks(self) -> dict[str, dict[str, int]]:
        masks: dict[str, dict[str, int]] = {}
        for line in self._lines:
            scope, written, names = line.split("\t")
            masks.setdefault(scope, {}).update(dict.fromkeys(names.split(" "), mask_of(written)))
        return masks

    def ranges(self, scope: str, name: str) -> ReleaseRanges:
        """The releases in which a module or class has a name; empty if all have it, or none."""
        masks = self._masks.get(scope, {})
        mask = masks.get(name) or masks.get(name + MODULE, 0)
        return ReleaseRanges.of_known(self.releases, lambda each: bool(mask >> self.releases.index(each) & 1))

    def lacking(self, scope: str, name: str) -> ReleaseRanges:
        """The releases that lack it, of those that have the function of a parameter."""
        masks = self._masks.get(scope, {})
        there = masks.get(EXISTS, (1 << len(self.releases)) - 1)
        mask = there & ~(masks.get(name) or masks.get(name + MODULE, 0))
        return ReleaseRanges.of_known(self.releases, lambda each: bool(mask >> self.releases.index(each) & 1))

    def functions_with(self, function: str, name: str) -> list[str]:
        """The functions, or methods of this name, of which some release takes a parameter and another does not."""
        return [
            scope
            for scope, masks in self._masks.items()
            if (scope == function or scope.endswith(f".{function}")) and name in masks
        ]

    def scopes_with(self, name: str) -> list[str]:
        """The modules that have a name in the newest release and lack it in others."""
        newest = 1 << len(self.releases) - 1
        return [scope for scope, masks in self._masks.items() if masks.get(name, 0) & newest]

    def specifiers(self, ranges: ReleaseRanges) -> list[str]:
        """The version specifier of each range: `>=2.2.0,<2.6.0`."""
        return [self._specifier(first, last) for first, last in ranges]

    def _specifier(self, first: str, last: str) -> str:
        after = self.releases.index(last) + 1
        bounds = [] if first == self.releases[0] else [f">={first}"]
        return ",".join([*bounds, *([f"<{self.releases[after]}"] if after < len(self.releases) else [])])


@functools.cache
def names_of_packages(file: str = FILE) -> dict[str, PackageNames]:
    """Package -> its names, or the parameters of its functions."""
    packages: dict[str, PackageNames] = {}
    for part in read_compressed(file).split("\n["):
        head, *lines = part.split("\n")
        name, *releases = head.replace("[", "").replace("]", "").split(" ")
        packages[name] = PackageNames(name, tuple(releases), lines)
    return packages


def find_names(module: str) -> PackageNames | None:
    """The names of the package of a module; None if the table lacks it."""
    return names_of_packages().get(module.partition(".")[0])
