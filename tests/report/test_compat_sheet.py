"""Labels of the inputs of `compat`, and a single input."""

from __future__ import annotations

from abiscan.compare.compat import intersect_compatibility
from abiscan.model.compatibility import BuildOfTorch, Compared, Compatibility
from abiscan.report.compat_sheet import sheet

REACH = Compatibility(("x86_64",), None, ("3.11",), None, ())


def rows(*targets: Compared) -> list[tuple[str, ...]]:
    (table,) = sheet(intersect_compatibility(targets)).tables
    return [row.cells for row in table.rows]


def test_files_are_called_by_what_tells_them_apart() -> None:
    paths = ("/a/b/1.0/lib/x.so", "/a/b/2.0/lib/x.so", "/a/b/y.so", "x.so/z.so")
    files = [Compared(path, None, None, 1, REACH) for path in paths]
    named = Compared("/w/p.whl", "p", "1.0", 1, REACH)
    found = rows(*files, named)
    assert [label for what, label, _ in found if what == "CPython"] == [
        *("1.0/lib/x.so", "2.0/lib/x.so", "y.so", "z.so", "p 1.0", "all")
    ]


def test_the_same_file_twice_keeps_its_path() -> None:
    twice = [Compared("/a/x.so", None, None, 1, REACH)] * 2
    assert {label for _, label, _ in rows(*twice)} == {"/a/x.so", "all"}


def test_one_target_has_one_row_of_each() -> None:
    one = Compared("/a/x.so", None, None, 1, REACH)
    assert rows(one) == [("CPython", "x.so", "3.11"), ("system", "x.so", "x86_64")]
    assert sheet(intersect_compatibility((one,))).headline == "x.so: compatible with CPython 3.11; system x86_64"


def test_nothing_that_was_read_is_compatible_with_nothing() -> None:
    """An empty folder or a text: nothing is known about it, nor about a file without known requirements."""
    nothing = Compatibility((), None, None, None, ())
    empty = intersect_compatibility((Compared("/a/empty", None, None, 0, nothing),))
    assert sheet(empty).headline == "empty: no shared object could be read"
    plain = intersect_compatibility((Compared("/a/x.so", None, None, 1, nothing),))
    assert sheet(plain).headline == "x.so: no requirement on torch, Python, GPUs or the system was found"


def test_releases_are_grouped_by_outcome() -> None:
    """By hand: 2.4 loads on neither, so it has no column; 2.5 has two patch releases with different outcomes."""
    known = ("2.4.0", "2.5.0", "2.5.1", "2.6.0", "2.7.0")

    def of(*compatible: str) -> Compatibility:
        built = (BuildOfTorch(v, "cu121", v in compatible, "" if v in compatible else "no") for v in known)
        return Compatibility(("x86_64",), tuple(built), None, None, ())

    inputs = (
        Compared("/w/a.so", None, None, 1, of("2.5.1", "2.6.0", "2.7.0")),
        Compared("/w/b.so", None, None, 1, of("2.5.0", "2.5.1", "2.6.0", "2.7.0")),
    )
    table = sheet(intersect_compatibility(inputs)).tables[0]
    assert table.columns == ("input", "2.5.0", "2.5.1-2.7", "compatible with")
    assert [row.cells[:3] for row in table.rows] == [("a.so", "no", "yes"), ("b.so", "yes", "yes")]
    assert table.total is not None
    assert table.total.cells == ("all", "no", "yes", "2.5.1-2.7.0")
