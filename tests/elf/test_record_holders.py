"""Classes that a file's own classes contain by value. Oracle: the compiled source."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from abiscan.analysis.shared_layouts import NOT_ITS_OWN
from abiscan.elf import open_elf
from tests.tables import data_text, table_rows

SOURCE = data_text(__file__, "record_holders.cpp")
WANTED = [
    *("c10::Held", "c10::Base", "c10::Alias", "c10::Pointed", "c10::Listed", "c10::Shared"),
    *("c10::InTorch", "c10::Nested", "c10::Unnamed"),
]
EXPECTED = {
    "c10::Alias": "own::Holder",
    "c10::Base": "own::Derived",
    "c10::Held": "own::Holder",
    "c10::Nested": "own::Holder::In",
    "c10::Unnamed": "(anonymous namespace)::Hidden",
}


@table_rows
def test_members_and_bases(command: str, tmp_path: Path) -> None:
    compiler = command.split(maxsplit=1)[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "a.cpp").write_text(SOURCE)
    subprocess.run(
        [*command.split(), "-std=c++17", "-shared", "-fPIC", "a.cpp", "-o", "a.so"], cwd=tmp_path, check=True
    )
    elf = open_elf(tmp_path / "a.so")
    assert elf.record_holders(WANTED, NOT_ITS_OWN) == EXPECTED
    assert elf.record_holders([], NOT_ITS_OWN) == {}


def test_a_file_without_debug_information_tells_nothing() -> None:
    file = Path(__file__).parents[1] / "fixtures" / "drift" / "reads-torch-2.8.so"
    assert open_elf(file).record_holders(WANTED, NOT_ITS_OWN) == {}
