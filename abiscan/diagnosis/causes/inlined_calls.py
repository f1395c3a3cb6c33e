"""inlined-call: the symbol is in no source, because an inline function or macro of torch headers refers to it.

The calls are rows of `catalogue/inlined_calls.toml`."""

from __future__ import annotations

from functools import cache, partial

from abiscan.data import read_table
from abiscan.diagnosis.catalogue.cause_row import InlinedCall
from abiscan.diagnosis.fixes import extension_fixes
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId


@cache
def inlined_calls() -> tuple[InlinedCall, ...]:
    """Every row."""
    return read_table("inlined_calls.json", tuple[InlinedCall, ...])


def causes(missing: MissingName) -> Candidates:
    """For an entity that is in the table."""
    qualified = missing.name if missing.cxx is None else missing.cxx.qualified
    row = next((row for row in inlined_calls() if row.entity == qualified), None)
    if row is None and missing.cxx is not None and missing.cxx.qualified.startswith("at::_ops::"):
        operator = missing.cxx.scope[2] if len(missing.cxx.scope) > 2 else missing.cxx.base
        # The name is the operator with its overload (`add_Tensor`, `to_dtype_layout`), without a separator.
        called_by = f"the operator {operator}, called as at:: function or method of Tensor"
        row = InlinedCall(entity=qualified, called_by=called_by, header="ATen/ops")
    if row is None or missing.file.is_torch_itself:
        return
    evidence = (
        f"An inline function in {row.header} calls {missing.shown}.",
        f"Called from source code as: {row.called_by}.",
    )
    # It explains the origin of the name; the release or ABI explains why it is missing.
    yield Candidate(CauseId.INLINED_CALL, 0.3, evidence, partial(_fix, row, missing))


def _fix(row: InlinedCall, missing: MissingName) -> str:
    instead = f"\nor: Use {row.instead}." if row.instead else ""
    return f"{extension_fixes.rebuild(missing)}{instead}"
