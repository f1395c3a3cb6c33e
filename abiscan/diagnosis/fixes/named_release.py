"""The release of a package that a text names."""

from __future__ import annotations

import re
from functools import cache

from abiscan.diagnosis.catalogue.load_packages import load_packages, package_of_name
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.missing_name import MissingName


def named_release(package: Package, missing: MissingName) -> str:
    """The release that is there, as the text gives it; empty if it gives none."""
    log = missing.log
    if log.project == package.name:
        return log.project_release
    modules = (each for each in package.modules if package_of_name(each) is package)
    names = (package.name, *modules, *later_names(package.name))
    return next(filter(None, (log.releases.get(each.replace("_", "-")) for each in names)), "")


@cache
def later_names(name: str) -> tuple[str, ...]:
    """The distribution that has the later releases of a package, if it was renamed."""
    rows = load_packages().package
    return tuple(each.name for each in rows if each.former is not None and each.former.name == name)


def release_to_build(package: Package, missing: MissingName) -> str:
    """The same, unless a compiler stopped its build; another release may compile."""
    return "" if missing.reference.by_compiler else named_release(package, missing)


def requirement(package: Package, release: str) -> str:
    """The requirement of a release for pip; a release of two numbers stands for all of its patch releases."""
    is_minor = re.fullmatch(r"\d+\.\d+", release) is not None
    return f'"{package.name}=={release}.*"' if is_minor else f"{package.name}=={release}"
