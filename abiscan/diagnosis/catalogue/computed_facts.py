"""Facts for templates and conditions of the message catalogue, besides captured values. A fact is computed from these
values, the file and the target; None if unknown. It is safe in a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from abiscan.diagnosis.catalogue import (
    companion_facts,
    declared_facts,
    dll_facts,
    gpu_facts,
    name_facts,
    package_facts,
    python_facts,
    source_facts,
    torch_facts,
)
from abiscan.diagnosis.catalogue.named_functions import Values, functions_of
from abiscan.diagnosis.missing_name import MissingName

FACTS: Final[Mapping[str, Callable[[Values, MissingName], str | None]]] = functions_of(
    companion_facts,
    declared_facts,
    dll_facts,
    gpu_facts,
    name_facts,
    package_facts,
    python_facts,
    source_facts,
    torch_facts,
)
"""Each public function of these modules is a fact of its name."""
