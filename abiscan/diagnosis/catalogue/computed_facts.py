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
    hip_facts,
    operator_facts,
    package_facts,
    python_facts,
    requirement_facts,
    source_facts,
    torch_facts,
)
from abiscan.diagnosis.catalogue.name_facts import NAME_FACTS, Facts
from abiscan.diagnosis.catalogue.named_functions import Values, functions_of
from abiscan.diagnosis.missing_name import MissingName

_Fact = Callable[[Values, MissingName], str | None]
# Releases of packages in a text, by the names that it may give them.
_RELEASES_THERE: Final = {
    "vllm_release": ("vllm",),
    "sglang_release": ("sglang",),
    "fla_release": ("fla", "flash-linear-attention", "fla-core"),
}
_RELEASES_ASKED_ABOUT: Final = {
    "asked_vllm": ("vllm",),
    "asked_flashinfer": ("flashinfer", "flashinfer-python"),
    "asked_torch": ("torch", "pytorch"),
    "asked_fla": ("fla", "flash-linear-attention"),
}


# The release that a text asks about, else the one that is there.
_RELEASES_NAMED: Final = {"named_vllm": ("vllm",)}


def _first(names: tuple[str, ...], releases: Callable[[MissingName], Mapping[str, str]]) -> _Fact:
    return lambda _values, missing: next(filter(None, map(releases(missing).get, names)), None)


FACTS: Final[Facts] = {
    **functions_of(
        *(companion_facts, declared_facts, dll_facts, gpu_facts, hip_facts),
        *(operator_facts, package_facts, python_facts, requirement_facts, source_facts, torch_facts),
    ),
    **NAME_FACTS,
    **{name: _first(names, lambda missing: missing.log.releases) for name, names in _RELEASES_THERE.items()},
    **{
        name: _first(names, lambda missing: missing.log.asked_releases) for name, names in _RELEASES_ASKED_ABOUT.items()
    },
    **{
        name: _first(names, lambda missing: {**missing.log.releases, **missing.log.asked_releases})
        for name, names in _RELEASES_NAMED.items()
    },
}
"""Each public function of these modules is a fact of its name, and each row of these tables."""
