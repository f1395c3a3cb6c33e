"""Table of facts for templates and conditions of the message catalogue, besides captured values. A fact is computed
from captured values, the file and the target; None if unknown. It is safe in a command."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from abiscan.diagnosis import fixes, wheel_rows
from abiscan.diagnosis.catalogue.companion_facts import COMPANION_FACTS
from abiscan.diagnosis.catalogue.dll_facts import DLL_FACTS
from abiscan.diagnosis.catalogue.gpu_facts import GPU_FACTS
from abiscan.diagnosis.catalogue.package_facts import PACKAGE_FACTS
from abiscan.diagnosis.catalogue.source_facts import SOURCE_FACTS
from abiscan.diagnosis.catalogue.torch_facts import TORCH_FACTS
from abiscan.diagnosis.causes import template_mangling
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.system_packages import install_headers, library_of_header
from abiscan.model.module_name import operator_namespace
from abiscan.ownership.torch_names import is_torch_library

Values = Mapping[str, str]


def _header_product(values: Values, _missing: MissingName) -> str | None:
    """The library of the system that has the value `header`."""
    row = library_of_header(values.get("header", ""))
    return None if row is None else row.product


def _header_package(values: Values, missing: MissingName) -> str | None:
    """The commands that install the headers with the value `header`."""
    row = library_of_header(values.get("header", ""))
    return None if row is None else "\n".join(install_headers(row, wheel_rows.platform_of(missing)))


def _platform(_values: Values, missing: MissingName) -> str:
    """The platform, as in wheel tags: `linux_x86_64`, `win_amd64`."""
    return wheel_rows.platform_of(missing)


def _module_of_checkout(values: Values, _missing: MissingName) -> str | None:
    """Given where the value `file` is a Python module outside of the folders of pip."""
    file = values.get("file", "")
    is_module = re.search(r"\.(?:cpython-\d|abi3)", file) is not None
    return "yes" if is_module and not re.search(r"(?:site|dist)-packages", file) else None


def _operator_module(values: Values, _missing: MissingName) -> str | None:
    """The module that most likely registers the operators of the namespace `project`."""
    namespace = values.get("project", "")
    return fixes.safe(namespace.lstrip("_") or namespace, "PACKAGE")


def _of_torch(values: Values, _missing: MissingName) -> str | None:
    """Set if the DLL (values `name`, `folder`) belongs to torch, or torch was imported and none but its `_C` is
    named."""
    name, folder = values.get("name", ""), values.get("folder", "").replace("\\", "/").lower()
    own = is_torch_library(name) or folder.endswith("/torch/lib/")
    return "yes" if own or (name in ("", "_C") and "torch_imported" in values) else None


def _dll(values: Values, _missing: MissingName) -> str | None:
    """The value `name` if it is a DLL."""
    name = values.get("name", "")
    return fixes.safe(name, "FILE") if name.lower().endswith(".dll") else None


def _extension_of_dll(values: Values, _missing: MissingName) -> str | None:
    """The value `name` if it is a module with a name of its own: many are called `_C`."""
    name = values.get("name", "")
    return None if name.startswith("_") else fixes.safe(name, "") or None


def _foreign_dll(values: Values, missing: MissingName) -> str | None:
    """The value `name` if it is a DLL that does not belong to torch."""
    return None if _of_torch(values, missing) else _dll(values, missing)


def _python(_values: Values, missing: MissingName) -> str | None:
    """The interpreter: `3.12`."""
    python = None if missing.environment is None else missing.environment.python
    return None if python is None else str(python)


def _is_this_python(values: Values, missing: MissingName) -> str | None:
    """`yes` if the interpreter is one of `for_python`, `no` if it is another."""
    python, for_python = _python(values, missing), values.get("for_python")
    if python is None or for_python is None:
        return None
    return "yes" if python.removesuffix("t") in for_python.split(", ") else "no"


def _operator_namespace(values: Values, _missing: MissingName) -> str | None:
    """The namespace of an operator that replaces a function of the value `module`."""
    return fixes.safe(operator_namespace(values["module"]), "NAMESPACE") if "module" in values else None


def _without_const(_values: Values, missing: MissingName) -> str:
    """What to change where a text names at::TensorBase::const_data_ptr<T>(), without its mangling."""
    return template_mangling.fix_for_any_element(missing)


def _needs_checkout(_values: Values, _missing: MissingName) -> str:
    """The condition of `abiscan fix --apply`."""
    return fixes.NEEDS_CHECKOUT


FACTS: Final[Mapping[str, Callable[[Values, MissingName], str | None]]] = {
    **COMPANION_FACTS,
    **DLL_FACTS,
    **GPU_FACTS,
    **PACKAGE_FACTS,
    **SOURCE_FACTS,
    **TORCH_FACTS,
    "header_product": _header_product,
    "header_package": _header_package,
    "platform": _platform,
    "module_of_checkout": _module_of_checkout,
    "operator_module": _operator_module,
    "of_torch": _of_torch,
    "dll": _dll,
    "foreign_dll": _foreign_dll,
    "extension_of_dll": _extension_of_dll,
    "python": _python,
    "is_this_python": _is_this_python,
    "operator_namespace": _operator_namespace,
    "without_const": _without_const,
    "needs_checkout": _needs_checkout,
}
