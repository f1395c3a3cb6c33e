"""The sheets of `compat`, `diff` and `env`: labels and single inputs, headlines after read errors, pages without torch
or packages."""

from __future__ import annotations

from msgspec.structs import replace

from abiscan.compare.compat import intersect_compatibility
from abiscan.model.compatibility import Aspect, BuildOfTorch, Compared, Compatibility
from abiscan.model.diff_report import Change, DiffReport, Effect
from abiscan.model.environment_report import EnvironmentReport
from abiscan.report import compat_sheet, diff_sheet, environment_sheet, sheet
from abiscan.report.html.sheet_page import page
from abiscan.report.style import Style
from abiscan.report.text_table import Row, Table, Tone

REACH = Compatibility(("x86_64",), None, ("3.11",), None, ())


def rows(*targets: Compared) -> list[tuple[str, ...]]:
    (table,) = compat_sheet.sheet(intersect_compatibility(targets)).tables
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
    assert (
        compat_sheet.sheet(intersect_compatibility((one,))).headline
        == "x.so: compatible with CPython 3.11; system x86_64"
    )


def test_nothing_that_was_read_is_compatible_with_nothing() -> None:
    """An empty folder or a text: nothing is known about it, nor about a file without known requirements."""
    nothing = Compatibility((), None, None, None, ())
    empty = intersect_compatibility((Compared("/a/empty", None, None, 0, nothing),))
    assert compat_sheet.sheet(empty).headline == "empty: no shared object could be read"
    plain = intersect_compatibility((Compared("/a/x.so", None, None, 1, nothing),))
    assert compat_sheet.sheet(plain).headline == "x.so: no requirement on torch, Python, GPUs or the system was found"


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
    table = compat_sheet.sheet(intersect_compatibility(inputs)).tables[0]
    assert table.columns == ("input", "2.5.0", "2.5.1-2.7", "compatible with")
    assert [row.cells[:3] for row in table.rows] == [("a.so", "no", "yes"), ("b.so", "yes", "yes")]
    assert table.total is not None
    assert table.total.cells == ("all", "no", "yes", "2.5.1-2.7.0")


SIDE = Compared("a.whl", None, None, 1, Compatibility((), None, None, None, ()))


def test_read_and_unread_files_are_counted() -> None:
    none = DiffReport("1", SIDE, SIDE, (), {}, ("a.whl!x.so: undecided",))
    assert diff_sheet.sheet(none).headline == "a.whl -> a.whl: not everything was compared; no change found"
    one = DiffReport("1", SIDE, SIDE, (Change(Aspect.FILE, Effect.GAINED, "brings y.so"),), {}, ("undecided",))
    assert diff_sheet.sheet(one).headline.endswith("; 1 change found")


EMPTY = EnvironmentReport("1", "Python 3.11 at /v", None, None, (), (), 0)


def test_a_missing_torch_is_reported_once() -> None:
    assert (
        "no torch is installed here: 0 packages with shared objects not checked against torch"
        in environment_sheet.sheet(EMPTY).headline
    )
    assert environment_sheet.sheet(EMPTY).word == "UNDECIDED"
    assert EMPTY.undecided
    assert "torch no torch" not in environment_sheet.sheet(EMPTY).headline
    assert "no torch -> torch 2.11.0+cu130: " in environment_sheet.sheet(replace(EMPTY, after="2.11.0+cu130")).headline


def test_a_table_without_rows_to_show_has_no_heads() -> None:
    table = Table(("package", "why"), (Row(("p 1.0", ""), Tone.PLAIN, minor=True),))
    shown = sheet.text(sheet.Sheet("LOADS", "all", Tone.GOOD, (table,)), Style())
    assert "package" not in shown
    assert "1 row needs no change (-v)" in shown


def test_a_bar_in_text_is_a_number_in_other_formats() -> None:
    quarter = sheet.Sheet("PLAN", "x", Tone.DOUBT, (), done=0.257)
    assert "  [#####---------------] 25 %" in sheet.text(quarter, Style()).splitlines()
    assert "**25 %** done" in sheet.markdown(quarter)
    assert '<progress max="100" value="25"' in page(quarter)
    nothing = sheet.Sheet("NO TORCH", "x", Tone.PLAIN, ())
    assert "%" not in sheet.text(nothing, Style()) + sheet.markdown(nothing)
    assert "<progress" not in page(nothing)


def test_packages_for_macos_resolve() -> None:
    """dyld is not predicted (docs/explanation/platforms.md)."""
    found = replace(EMPTY, torch="2.8.0", machine="macosx_arm64")
    assert environment_sheet.sheet(found).word == "RESOLVES"
    assert environment_sheet.sheet(replace(found, machine="x86_64")).word == "LOADS"
