"""Published wheels: declarations compared with needs. Expected values are from `unzip -l`, `readelf -V` and METADATA;
correct wheels have no finding at warning or above."""

from __future__ import annotations

import json

import pytest

from tests.corpus.fetch import corpus_dir
from tests.programs import run_abiscan

pytestmark = pytest.mark.corpus

ROWS = [
    ("bitsandbytes-0.45.5-*.whl", {"wheel-tag-too-old"}, "GLIBC_2.34"),
    ("torchao-0.13.0-*.whl", {"wheel-tag-other-python"}, "CPython 3.9 alone"),
    ("torchmonarch-0.7.0-*.whl", {"wheel-tag-too-old"}, "GLIBC_2.28"),
    ("kaldifeat-1.4-*.whl", {"wheel-tag-other-machine", "wheel-tag-other-python"}, "tagged any"),
    ("lmcache-0.5.6-*.whl", {"torch-requirement-too-wide"}, "torch 2.13.0"),
    ("torchvision-0.28.0-*.whl", set(), ""),
    ("numpy-2.4.6-*.whl", set(), ""),
    ("scipy-1.17.1-*.whl", set(), ""),
]


@pytest.mark.parametrize(("pattern", "rules", "says"), ROWS, ids=[row[0].split("-")[0] for row in ROWS])
def test_published_wheels(pattern: str, rules: set[str], says: str) -> None:
    (wheel,) = corpus_dir().glob(pattern)
    done = run_abiscan(wheel, "-f", "json", "-q")
    found = [f for artifact in json.loads(done.stdout)["artifacts"] for f in artifact["findings"]]
    grave = [f for f in found if f["rule"].startswith(("wheel-", "torch-requirement-")) and f["severity"] != "note"]
    assert {f["rule"] for f in grave} == rules
    assert len(grave) == len(rules)
    assert not says or any(says in f["message"] for f in grave)
