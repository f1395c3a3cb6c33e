"""Public threads about files for Windows and macOS whose participants found what helped.

Each text is that of the thread (`data/*_cases.jsonl`). Expected is the cause that the thread confirmed, and words of
its remedy in the fix."""

from __future__ import annotations

import json

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from tests.diagnosis.reported import FILES

_BUILD = "build of the extension for"
# Place of the thread on GitHub, torch of the thread, cause, words of the remedy.
THREADS = (
    ("mit-han-lab/torchsparse/issues/19", None, "template-mangling", "int64_t"),
    ("JIA-Lab-research/PointGroup/issues/15", None, "template-mangling", "int64_t"),
    ("facebookresearch/pytorch3d/issues/1872", "1.13.1", "built-for-newer-torch", _BUILD),
    ("Zuellni/ComfyUI-ExLlama-Nodes/issues/7", None, "built-for-newer-torch", "/exllamav2-0.3.2+cu128.torch2."),
    ("pytorch/pytorch/issues/131662", "2.4.0", "library-missing", "C++ build tools"),
    ("Comfy-Org/ComfyUI/issues/10535", None, "library-missing", "AMD driver"),
    ("pytorch/rl/issues/1308", None, "built-for-newer-torch", 'pip install "torch>=1.13.0"'),
    ("pncnmnp/phoenix10.1/issues/9", None, "built-for-newer-torch", 'pip install "torch>=1.13.0"'),
    ("DevinKreuzer/SAN/issues/3", None, "built-for-older-torch", "torch-sparse torch-sparse"),
    ("aiqm/torchani/issues/195", None, "library-missing", "brew install libomp"),
    ("pytorch/audio/issues/3724", None, "library-missing", "brew install sox"),
    ("xmake-io/xmake-repo/issues/7184", None, "library-missing", "brew install libomp"),
)


def text_of(thread: str) -> str:
    rows = (json.loads(line) for path in FILES for line in path.read_text(encoding="utf-8").splitlines() if line)
    row = next(row for row in rows if row["url"] == f"https://github.com/{thread}")
    assert row["cause_confirmed"]
    return str(row["text"])


@pytest.mark.parametrize(("thread", "torch", "cause", "remedy"), THREADS, ids=[thread for thread, *_ in THREADS])
def test_a_thread_is_answered(thread: str, torch: str | None, cause: str, remedy: str) -> None:
    found = explain(text_of(thread), ScanOptions(torch, None, LoaderSettings("/")))
    assert found[0].causes[0].cause.value == cause
    assert remedy in (found[0].causes[0].fix or "")
