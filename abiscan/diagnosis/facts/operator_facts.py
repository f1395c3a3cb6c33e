"""Facts of the message catalogue about the operators of a package, and about functions that it binds and does not
register as operators."""

from __future__ import annotations

import re
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import packages_by_name, packages_by_operators
from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.facts import package_facts
from abiscan.diagnosis.fixes import package_commands
from abiscan.diagnosis.fixes.named_release import named_release
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.missing_name import MissingName
from abiscan.model import versions


def operator_module(values: Values, missing: MissingName) -> str:
    """The module that most likely registers the operators of the namespace `project`."""
    namespace, package = values.get("project", ""), _package_of_operators(values, missing)
    if package is not None and (known := package.operators.get(namespace)) is not None:
        return known
    if namespace == _COMMON_NAME:
        return "PACKAGE" if package is None else f"{package.modules[0]}.{namespace}"
    return safe(namespace.lstrip("_") or namespace, "PACKAGE")


def operator_package(values: Values, missing: MissingName) -> str | None:
    """The package of the catalogue that registers these operators, if its installation is known."""
    package = _package_of_operators(values, missing)
    is_known = package is not None and package_facts.reinstall_package({"project": package.name}, missing)
    return package.name if package is not None and is_known else None


def reinstall_operators(values: Values, missing: MissingName) -> str | None:
    """The commands that install this package for the target's torch."""
    return package_facts.reinstall_package({"project": operator_package(values, missing) or ""}, missing)


# PyTorch's tutorial calls the module and the namespace so, and many extensions do.
_COMMON_NAME: Final = "_C"


def _package_of_operators(values: Values, missing: MissingName) -> Package | None:
    namespace = values.get("project", "")
    if namespace != _COMMON_NAME:
        return package_commands.find_package(missing, namespace)
    operator = values.get("operator", "").rpartition("::")[2]
    package = packages_by_name().get(missing.log.project) or packages_by_operators().get(f"{namespace}::{operator}")
    if package is None or not package.modules:
        return None
    # One with operators of other namespaces alone registers none in this one.
    known = {each.partition("::")[0] for each in package.operators}
    return package if not known or namespace in known else None


def mutated_names(values: Values, _missing: MissingName) -> str | None:
    """The arguments that a text says the function writes to, for `mutates_args`: `"q", "k"`."""
    names = dict.fromkeys(re.findall(r"\b(?!and\b)[A-Za-z_]\w*", values.get("mutated", ""), re.ASCII))
    return None if values.get("function", "") in names else ", ".join(f'"{name}"' for name in names) or None


def registering_package(values: Values, missing: MissingName) -> str | None:
    """The package of a bound function (value `library`), if a release of it registers its functions as operators."""
    package = _registering(values, missing)
    return None if package is None else package.name


def registering_release(values: Values, missing: MissingName) -> str | None:
    """The first such release of it, with the torch that it needs: `2.7.0 and later, with torch 2.4 or later,`. None if
    the text has such a release."""
    package = _registering(values, missing)
    if package is None or package.registers is None or registered_there(values, missing):
        return None
    with_torch = f", with torch {package.registers.torch} or later," if package.registers.torch else ""
    return f"{package.registers.release} and later{with_torch}"


def registered_there(values: Values, missing: MissingName) -> str | None:
    """The release of it in the text, if that is such a release, and torch is not too old for it."""
    package = _registering(values, missing)
    if package is None or package.registers is None or torch_before_operators(values, missing):
        return None
    there = named_release(package, missing)
    return there if there and _is_since(there, package.registers.release) else None


def torch_before_operators(values: Values, missing: MissingName) -> str | None:
    """The target's torch, if every release of the package leaves its functions unregistered with it."""
    package = _registering(values, missing)
    first = "" if package is None or package.registers is None else package.registers.torch
    is_older = first and missing.target is not None and not _is_since(missing.target.version, first)
    return missing.target_version if is_older else None


def install_registering(values: Values, missing: MissingName) -> str | None:
    """The commands that install it; None for a torch that is too old for it."""
    package = _registering(values, missing)
    if package is None or package.registers is None or package.command or torch_before_operators(values, missing):
        return None
    return "\n".join(package_commands.install(package, missing, oldest=package.registers.torch)) or None


def bound_caller(values: Values, missing: MissingName) -> str | None:
    """A package that calls the bound functions itself, up to a release, if the text has no later one: `mamba-ssm`."""
    found = _bound_caller(values, missing)
    return found and found[0]


def caller_of_operators(values: Values, missing: MissingName) -> str | None:
    """The first release of it that calls the operators: `2.2.5`."""
    found = _bound_caller(values, missing)
    return found and found[1]


def install_caller(values: Values, missing: MissingName) -> str | None:
    """The commands that install it, if the text names it."""
    package = packages_by_name().get(bound_caller(values, missing) or "")
    if package is None or package.name not in {*missing.log.releases, missing.log.project}:
        return None
    return "\n".join(package_commands.install(package, missing)) or None


def _bound_caller(values: Values, missing: MissingName) -> tuple[str, str] | None:
    package = _registering(values, missing)
    callers = {} if package is None or package.registers is None else package.registers.callers
    known = packages_by_name()
    return next(
        (
            (name, first)
            for name, first in callers.items()
            if not (there := named_release(known[name], missing)) or not _is_since(there, first)
        ),
        None,
    )


def _is_since(release: str, first: str) -> bool:
    here, since = versions.order(release), versions.order(first)
    return here is not None and since is not None and here >= since


def registered_call(values: Values, missing: MissingName) -> str | None:
    """The function of it to call in place of the bound ones."""
    package = _registering(values, missing)
    return None if package is None or package.registers is None else package.registers.call or None


def _registering(values: Values, missing: MissingName) -> Package | None:
    package = package_commands.find_package(missing, values.get("library") or values.get("module"))
    return None if package is None or package.registers is None else package
