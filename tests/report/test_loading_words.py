"""dyld checks more than symbols, and none of that is read (docs/explanation/platforms.md): no format claims that a file
loads on macOS. A file for Linux keeps its words."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copy

import pytest
from msgspec.structs import replace

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.report import ArtifactVerdict, Report, Verdict
from abiscan.report import render
from abiscan.report.text import summary_line
from tests.analysis.test_platforms import wheel
from tests.macho.universal_bundle import write_universal_bundle

# `loads` of a verdict: before a preposition, as a label, or after a number.
_LOADS = re.compile(r"\bloads? on\b|^loads\b|\b\d+ loads?\b|file loads|>loads<", re.MULTILINE)


def report_of(paths: list[str]) -> Report:
    report = scan(paths, ScanOptions("2.8.0", None, LoaderSettings("/"), matrix=True))
    return replace(report, verdict=Verdict.PASS)


@pytest.fixture
def mac(tmp_path: Path) -> str:
    """A wheel whose part for arm64 resolves on every torch since 2.1.0 (tests/analysis/test_universal_file.py)."""
    file = write_universal_bundle(tmp_path)
    return str(wheel(tmp_path, "macosx_11_0_arm64", {f"demo/{file.name}": file}))


@pytest.mark.parametrize("name", ["text", "markdown", "junit", "concise", "github"])
def test_symbols_of_macos_resolve(name: str, mac: str) -> None:
    report = report_of([mac])
    assert [each.verdict for each in report.artifacts] == [ArtifactVerdict.LOADS]
    assert _LOADS.findall(render(name, report)) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("text", "symbols resolve on 2.1.0-2.15.0"),
        ("text", "1 file checked: 1 resolves"),
        ("markdown", "✅ resolves"),
        ("junit", "symbols resolve on torch 2.8.0 (cpu)"),
        ("html", "The file resolves on torch 2.8.0 (cpu)."),
        ("html", "symbols resolve on torch"),
    ],
)
def test_the_words_of_macos(name: str, words: str, mac: str) -> None:
    report = report_of([mac])
    text = render(name, report) if name != "text" else render(name, report) + summary_line(report)
    assert words in " ".join(text.split())


@pytest.mark.parametrize(("name", "words"), [("text", "1 resolves, 1 loads"), ("html", "2 of 2 files pass")])
def test_files_of_several_systems(name: str, words: str, mac: str, fixtures_dir: Path, tmp_path: Path) -> None:
    # Files are in the order of their paths, whatever directory holds the fixtures.
    windows = copy(fixtures_dir / "windows/demo/_C.cp311-win_amd64.pyd", tmp_path / "windows.pyd")
    report = report_of([mac, str(windows)])
    text = render(name, report) if name != "text" else summary_line(report)
    assert words in " ".join(text.split())


def legend(report: Report) -> str:
    return re.sub(r"<[^>]*>", " ", render("html", report).partition('aria-label="Legend"')[2].partition("</ul>")[0])


def test_the_legend_has_the_words_of_the_systems(mac: str, fixtures_dir: Path) -> None:
    linux, windows = (str(fixtures_dir / name) for name in ("good-extension.so", "windows/demo/_C.cp311-win_amd64.pyd"))
    assert "symbols resolve" in legend(report_of([mac]))
    assert not re.search(r"\bloads\b", legend(report_of([mac])))
    assert re.search(r"\bloads\b", legend(report_of([linux])))
    assert re.search(r"\bloads\b", legend(report_of([windows])))
    assert re.search(r"\bpasses\b", legend(report_of([mac, linux])))
