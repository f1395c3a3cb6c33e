"""tools/generate.py: the generated files are current, and an outdated one is detected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import readme_output
from tools.generate import GENERATED, ROOT, generate
from tools.shown_output import with_output

pytestmark = pytest.mark.one_python

# .ci/run checks the output in pages: it depends on the machine and needs an environment.
NAMES = sorted(name for name, render in GENERATED.items() if render not in (readme_output.render, with_output))


@pytest.mark.parametrize("name", NAMES)
def test_generated_files_are_current(name: str) -> None:
    assert generate(name, ROOT, check=True), "run tools/generate.py"


@pytest.mark.parametrize(
    ("name", "generated", "otherwise"),
    [
        ("abiscan/data/report.schema.json", '"inlined-call",', ""),
        ("abiscan/data/rules.json", "const-data-ptr", "const-data-pointer"),
        ("docs/diagnosis.md", "[`inlined-call`]", "[`inline-call`]"),
        ("docs/causes/inlined-call.md", "# inlined-call", "# inline-call"),
        ("docs/rules/const-data-ptr.md", "# const-data-ptr", "# const-data-pointer"),
        ("docs/rules.md", "const-data-ptr", "const-data-pointer"),
    ],
)
def test_a_stale_file_is_seen_and_made_anew(name: str, generated: str, otherwise: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    current = (ROOT / name).read_text(encoding="utf-8")
    path.write_text(current.replace(generated, otherwise), encoding="utf-8")
    stale = path.read_text(encoding="utf-8")
    assert not generate(name, tmp_path, check=True)
    assert path.read_text(encoding="utf-8") == stale
    generate(name, tmp_path, check=False)
    assert path.read_text(encoding="utf-8") == current
