"""Source trees, and their lines joined to a binary's findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.mangling import parse
from abiscan.model.report import ArtifactKind
from abiscan.rules import load_rules
from abiscan.source import attach_sources, check_source, is_source, scan_tree, source_tree
from tests.rules.reports import report


def test_tree(tmp_path: Path) -> None:
    (tmp_path / "csrc" / "deep").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "csrc" / "deep" / "a.cu").write_text("t.const_data_ptr<float>();")
    (tmp_path / "csrc" / "b.h").write_bytes(b"\xff\xfe t.const_data_ptr<int64_t>();")
    (tmp_path / "csrc" / "clean.cpp").write_text("int main() {}")
    (tmp_path / ".git" / "c.cpp").write_text("t.const_data_ptr<float>();")
    (tmp_path / "kernel.py").write_text("triton_meta = {'constants': {'T': s2}}")
    files, errors = scan_tree(tmp_path, load_rules(), lambda path: str(path.relative_to(tmp_path)))
    assert [(file.path, file.kind) for file in files] == [
        ("csrc/b.h", ArtifactKind.SOURCE),
        ("csrc/deep/a.cu", ArtifactKind.SOURCE),
        ("kernel.py", ArtifactKind.GENERATED_KERNEL),
    ]
    assert errors == []


def test_unreadable_files_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_tree, "MAX_SOURCE_SIZE", 10)
    (tmp_path / "large.cpp").write_text("t.const_data_ptr<float>();")
    files, errors = scan_tree(tmp_path, load_rules())
    assert files == []
    assert "too large to be a source" in errors[0].message


def test_lines_join_the_import_of_their_type(tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text("a.const_data_ptr<int64_t>();\nb.const_data_ptr<float>();\nc.const_data_ptr<scalar_t>();\n")
    files, _errors = scan_tree(tmp_path, load_rules(), lambda path: path.name)
    findings = [each for each in report("gcc-const-data-ptr.so").findings if each.rule == "const-data-ptr"]
    joined = attach_sources(findings, files, parse)
    by_symbol = {each.symbol: [place.line for place in each.locations if place.file == "a.cpp"] for each in joined}
    # scalar_t may be any of them
    assert by_symbol == {
        "_ZNK2at10TensorBase14const_data_ptrIlLi0EEEPKT_v": [1, 3],
        "_ZNK2at10TensorBase14const_data_ptrIfLi0EEEPKT_v": [2, 3],
    }


def test_one_file() -> None:
    (finding,) = check_source("a.hip", b"t.const_data_ptr<float>();", "a.hip")
    assert finding.rule == "const-data-ptr"
    assert check_source("a.py", b"import torch", "a.py") == ()


@pytest.mark.parametrize(("name", "wanted"), [("a.CU", True), ("a.cuh", True), ("a.py", True), ("a.txt", False)])
def test_is_source(name: str, wanted: bool) -> None:
    assert is_source(name) is wanted
