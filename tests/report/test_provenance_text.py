"""The compilers in the line of a file."""

from __future__ import annotations

import pytest

from abiscan.model.provenance import Provenance, ProvenanceFact, Topic
from abiscan.report.provenance_text import provenance_sections
from abiscan.report.style import Style
from tests.report import samples


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (("GCC 13.3.1",), "GCC 13.3.1"),
        (("GCC 13.3.1", "GCC 13.3.1 (C++20)", "GCC 8.5.0"), "GCC 13.3.1 (C++20), GCC 8.5.0"),
        (("GCC 13.3", "GCC 13.3.1 (C++20)"), "GCC 13.3, GCC 13.3.1 (C++20)"),
        # The output of rustc is linked with objects of the C library, compiled by GCC.
        (("GCC 10.2.1", "GCC 4.8.5", "rustc 1.99.1", "LLD 23.1.1"), "rustc 1.99.1, GCC 10.2.1"),
        (("LLD 23.1.1", "Clang 19.1.7"), "Clang 19.1.7, LLD 23.1.1"),
    ],
)
def test_the_compilers_that_tell_most_are_named(told: tuple[str, ...], shown: str) -> None:
    facts = tuple(ProvenanceFact(Topic.COMPILER, value, ".comment") for value in told)
    built = next(provenance_sections(samples.an_artifact(provenance=Provenance(facts=facts)), Style()))
    assert built.lines == [f"  built: {shown}"]
