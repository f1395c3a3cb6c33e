"""Labels with sonames and std::string of a file, as literal values from real projects."""

from __future__ import annotations

from abiscan.ownership.gpu_libraries import find_toolkit
from abiscan.rules import rule
from abiscan.rules.computed.contradicted_labels import find_contradictions
from abiscan.target.declared import declared_by
from abiscan.wheel.container_facts import ContainerFacts, ContainerKind
from tests.tables import table_rows


@table_rows
def test_labels_that_contradict_the_file(version: str, place: str, needed: str, new: bool | None, hits: int) -> None:
    container = ContainerFacts("x.whl", ContainerKind.WHEEL, name="x", version=version)
    gpu = declared_by(container, place, "x86_64").gpu
    toolkit = find_toolkit([needed])
    found = find_contradictions(rule("label-contradicted"), "x", gpu, version, toolkit=toolkit, cxx11_abi=new)
    assert len(list(found)) == hits
