"""The file of an `#include`."""

from __future__ import annotations

from pathlib import Path

from abiscan.source import FileSet, Neighbours
from abiscan.source.code import Code
from abiscan.source.source_set import MAX_INCLUDED, users_of, with_included
from tests.tables import table_rows


@table_rows
def test_of_a_set(includer: str, name: str, expected: str | None) -> None:
    files = dict.fromkeys(
        ("csrc/cuda/utils.cuh", "csrc/extensions.h", "include/project/types.h", "third/utils.cuh"), ""
    )
    found = FileSet(files, files.get).find(includer, name)
    assert (None if found is None else found.path) == expected


def test_around_a_file(tmp_path: Path) -> None:
    (tmp_path / "csrc" / "cuda").mkdir(parents=True)
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "a.h").write_text("int a;")
    (tmp_path / "csrc" / "b.h").write_text("int b;")
    source = tmp_path / "csrc" / "cuda" / "k.cu"
    others = Neighbours("k.cu", str(source))
    assert [code.text for name in ("a.h", "../b.h") if (code := others.find("k.cu", name))] == ["int a;", "int b;"]
    assert others.find("k.cu", "absent.h") is None
    assert others.find("k.cu", "/etc/hosts") is None
    assert others.find("k.cu", "../../../../../etc/hostname") is None  # not the name of a source


def test_who_includes_a_header(tmp_path: Path) -> None:
    files = {"a.cu": '#include "k.cuh"', "b.h": '#include "k.cuh"', "c.cu": '#include "b.h"', "k.cuh": "", "d.cu": ""}
    others = FileSet(files, files.get)
    assert [each.path for each in users_of(Code("k.cuh", ""), others)] == ["a.cu", "b.h", "c.cu"]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    beside = Neighbours("k.cuh", str(tmp_path / "k.cuh"))
    assert [Path(each.path).name for each in users_of(Code("k.cuh", ""), beside)] == ["a.cu", "b.h", "c.cu"]
    ring = {"a.h": '#include "b.h"', "b.h": '#include "a.h"'}
    assert [each.path for each in users_of(Code("a.h", ring["a.h"]), FileSet(ring, ring.get))] == ["b.h"]


def test_includes_in_a_ring_and_without_end() -> None:
    ring = {"a.h": '#include "b.h"', "b.h": '#include "a.h"'}
    assert len(list(with_included(Code("a.h", ring["a.h"]), FileSet(ring, ring.get)))) == 2
    chain = {f"{n}.h": f'#include "{n + 1}.h"' for n in range(2000)}
    assert len(list(with_included(Code("0.h", chain["0.h"]), FileSet(chain, chain.get)))) == MAX_INCLUDED
