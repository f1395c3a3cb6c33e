"""Facts for templates and conditions of the message catalogue, besides captured values. A fact is computed from these
values, the file and the target; None if unknown. It is safe in a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from abiscan.diagnosis.catalogue import (
    companion_facts,
    declared_facts,
    dll_facts,
    gpu_facts,
    package_facts,
    python_facts,
    source_facts,
    torch_facts,
)
from abiscan.diagnosis.catalogue.named_functions import Values, functions_of
from abiscan.diagnosis.missing_name import MissingName

_Fact = Callable[[Values, MissingName], str | None]
# Facts that a missing name has, by attribute.
_ATTRIBUTES: Final = {
    "shown_name": "shown",
    "exported_text": "exported_text",
    "needing_file": "file.file_name",
    "target_label": "target_label",
    "target_version": "target.version",
    "project_release": "log.project_release",
}
# Releases of packages in a text by the names that it may give them: those that are there, and those that it asks about.
_RELEASES: Final = {
    "vllm_release": ("releases", "vllm"),
    "asked_vllm": ("asked_releases", "vllm"),
    "asked_flashinfer": ("asked_releases", "flashinfer", "flashinfer-python"),
    "asked_torch": ("asked_releases", "torch", "pytorch"),
    "fla_release": ("releases", "fla", "flash-linear-attention", "fla-core"),
    "asked_fla": ("asked_releases", "fla", "flash-linear-attention"),
}


def _attribute(path: str) -> _Fact:
    def read(_values: Values, missing: MissingName) -> str | None:
        value: Any = missing
        for name in path.split("."):
            value = None if value is None else getattr(value, name)
        return value or None

    return read


def _release(table: str, *names: str) -> _Fact:
    return lambda _values, missing: next(filter(None, map(getattr(missing.log, table).get, names)), None)


FACTS: Final[Mapping[str, _Fact]] = {
    **functions_of(
        *(companion_facts, declared_facts, dll_facts, gpu_facts),
        *(package_facts, python_facts, source_facts, torch_facts),
    ),
    **{name: _attribute(path) for name, path in _ATTRIBUTES.items()},
    **{name: _release(*names) for name, names in _RELEASES.items()},
}
"""Each public function of these modules is a fact of its name, and each row of these tables."""
