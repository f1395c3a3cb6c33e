"""The rows of the table of inlined calls, against the headers of the installed torch and the release index."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.catalogue.cause_row import InlinedCall
from abiscan.diagnosis.causes.inlined_calls import inlined_calls
from abiscan.releases import ReleaseIndex
from tests import torch_here

NEWEST = "2.13.0"


@pytest.mark.torch
@pytest.mark.parametrize("row", inlined_calls(), ids=lambda row: row.entity)
def test_row(row: InlinedCall, index: ReleaseIndex) -> None:
    scope, _, base = row.entity.rpartition("::")
    if scope:
        parts = [*scope.split("::"), base]
        encoded = "".join(f"{len(part)}{part}" for part in parts)
        constructor = "".join(f"{len(part)}{part}" for part in parts[:-1]) + "C1"
        exported = [
            history
            for prefix in (f"_ZN{encoded}E", f"_ZNK{encoded}E", f"_ZN{encoded}B", f"_ZN{constructor}E")
            for history in index.prefix(prefix).values()
        ]
        assert exported, f"no release exports {row.entity}"
        exported_now = any(history.exported_in.contains(NEWEST) for history in exported)
    else:
        exported_now = True
    header = torch_here.directory() / "include" / row.header
    assert header.is_file()
    if exported_now:
        assert base in header.read_text(encoding="utf-8")
