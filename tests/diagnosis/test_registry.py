"""A cause is one row: its id, its module, its documentation and a case that it answers hang together."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import abiscan.diagnosis
from abiscan.diagnosis.ranking import Candidate, ranked
from abiscan.diagnosis.registry import CAUSES, MODULES, CauseRow, summary
from abiscan.model.cause import CauseId
from abiscan.model.target import Target, TargetKind
from tests.diagnosis.reported import ANSWERS
from tools import cause_docs

PACKAGE = Path(abiscan.diagnosis.__file__).parent
# Causes that come first in no collected thread: the test that shows each.
SHOWN_ELSEWHERE = {
    CauseId.GLIBC_TOO_OLD: "test_system_libraries.py",
    CauseId.INLINED_CALL: "test_explain.py",
    CauseId.LIBRARY_MISSING: "test_missing_needs.py",
    CauseId.GENERATED_KERNEL: "test_explain.py",
    CauseId.OP_NOT_REGISTERED: "test_explain.py",
    CauseId.HALF_INTRINSIC: "test_explain.py",
    CauseId.STATIC_TLS_EXHAUSTED: "test_explain.py",
    CauseId.GPU_ARCHITECTURE_MISMATCH: "test_gpu_errors.py",
    CauseId.DRIVER_MISMATCH: "test_gpu_errors.py",
    CauseId.UNUSABLE_FILE: "test_loading_errors.py",
    CauseId.SIGNATURE_CHANGED: "test_file_causes.py",
}


def _named_in(path: Path) -> set[str]:
    """Members of CauseId that a source names."""
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "CauseId"
    }


def test_every_cause_has_one_row() -> None:
    assert sorted(row.id for row in CAUSES) == sorted(CauseId)


@pytest.mark.parametrize("row", CAUSES, ids=lambda row: row.id)
def test_the_module_of_a_row_finds_the_cause(row: CauseRow) -> None:
    assert row.id.name in _named_in(PACKAGE.joinpath(*row.module.split(".")).with_suffix(".py"))


def test_every_module_of_causes_is_asked() -> None:
    there = {f"causes.{path.stem}" for path in (PACKAGE / "causes").glob("*.py") if path.stem != "__init__"}
    assert set(MODULES) == there
    assert all(callable(importlib.import_module(f"abiscan.diagnosis.{name}").causes) for name in MODULES)


@pytest.mark.parametrize("row", CAUSES, ids=lambda row: row.id)
def test_a_case_shows_the_cause(row: CauseRow) -> None:
    if row.id in SHOWN_ELSEWHERE:
        assert row.id.name in _named_in(Path(__file__).parent / SHOWN_ELSEWHERE[row.id])
        return
    answers = json.loads(ANSWERS.read_text(encoding="utf-8"))
    assert any(answer[0].startswith(f"{row.id} ") for answer in answers["typed"].values() if answer)


def test_the_page_is_made_of_the_rows() -> None:
    page = cause_docs.TARGET.read_text(encoding="utf-8")
    assert cause_docs.render(page) == page
    assert all(page.count(f"| [`{row.id}`](causes/{row.id}.md) |") == 1 for row in CAUSES)
    with pytest.raises(ValueError, match="end of causes"):
        cause_docs.render("a page without the table")


def test_a_summary_names_the_target() -> None:
    target = Target(TargetKind.RELEASE, "2.6.0", "cu124", None, None, None, None, None)
    assert summary(CauseId.DISTRIBUTION_VARIANT, target).startswith("torch 2.6.0 (cu124) is".capitalize())
    assert summary(CauseId.DISTRIBUTION_VARIANT).startswith("The torch that is loaded is")
    assert summary(CauseId.OP_NOT_REGISTERED, target).startswith("torch.compile ")


def test_the_order_of_the_rows_settles_a_tie() -> None:
    both = [Candidate(row.id, 0.5, (), "") for row in CAUSES]
    assert [candidate.cause for candidate in ranked(reversed(both))] == [row.id for row in CAUSES]
    assert ranked([*both, Candidate(CauseId.HALF_INTRINSIC, 0.6, (), "")])[0].cause is CauseId.HALF_INTRINSIC


def test_a_scan_without_a_missing_name_loads_no_causes() -> None:
    code = "import sys, abiscan.diagnosis; print(*(m for m in sys.modules if m.startswith('abiscan.diagnosis.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == ["abiscan.diagnosis.knowledge"]
