"""Facts of the message catalogue about the platform and the interpreter (values `file`, `for_python`)."""

from __future__ import annotations

import re

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.missing_name import MissingName


def module_of_checkout(values: Values, _missing: MissingName) -> bool:
    """Whether the value `file` is a Python module outside of the folders of pip."""
    file = values.get("file", "")
    is_module = re.search(r"\.(?:cpython-\d|abi3)", file) is not None
    return is_module and not re.search(r"(?:site|dist)-packages", file)


def is_this_python(values: Values, missing: MissingName) -> str | None:
    """`yes` if the interpreter is one of `for_python`, or at least `oldest_python`; `no` if it is another."""
    here, for_python, oldest = missing.environment.python, values.get("for_python"), values.get("oldest_python")
    if here is None or (for_python is None and oldest is None):
        return None
    if oldest is not None:
        return "yes" if (here.major, here.minor) >= tuple(map(int, oldest.split("."))) else "no"
    return "yes" if f"{here.major}.{here.minor}" in (for_python or "").split(", ") else "no"
