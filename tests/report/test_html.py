"""The HTML page as text: its contents, and that no name can become markup."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from typing import Any

import pytest
from msgspec.structs import replace

from abiscan.gate.apply import apply
from abiscan.gate.policy import Policy
from abiscan.model.release import ReleaseState
from abiscan.model.report import ArtifactVerdict
from abiscan.report import html
from tests.report import samples

REPORTS = {
    "mixed": samples.mixed(),
    "hostile": samples.hostile(),
    "empty": samples.empty(),
    "passing": apply(samples.a_report(samples.an_artifact()), Policy()),
}
# Every element of the template. A name that became markup would add another, or one more of these two.
ELEMENTS = {
    "html", "head", "meta", "title", "link", "style", "body", "a", "header", "div", "p", "span", "nav",
    "button", "main", "section", "h1", "ul", "li", "dl", "dt", "dd", "h2", "h3", "article", "pre", "code",
    "details", "summary", "table", "thead", "tr", "th", "tbody", "td", "small", "noscript", "form", "label",
    "input", "select", "option", "kbd", "footer", "script", "b", "br", "i", "caption", "figure", "figcaption",
    "svg", "rect", "line",
}  # fmt: skip


class Elements(HTMLParser):
    """The elements and attributes of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._in_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        (self.scripts if self._in_script else self.words).append(data)

    @property
    def data(self) -> dict[str, Any]:
        """What the script reads: JSON, compressed, in base64."""
        found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(self.scripts[0], validate=True)))
        return found


@pytest.mark.parametrize("name", REPORTS)
def test_nothing_in_a_report_becomes_markup(name: str) -> None:
    page = Elements(html.render(REPORTS[name]))
    assert {tag for tag, _ in page.found} <= ELEMENTS
    assert len(page.scripts) == 2
    assert not [a for _, attributes in page.found for a in attributes if a.startswith("on") or a == "style"]
    assert page.data


@pytest.mark.parametrize("name", REPORTS)
def test_the_page_needs_no_network(name: str) -> None:
    page = Elements(html.render(REPORTS[name]))
    for tag, attributes in page.found:
        assert "src" not in attributes
        if tag == "link":
            assert attributes["href"] == "data:,"
        if tag == "a" and not (attributes["href"] or "").startswith("#"):
            assert attributes["rel"] == "noreferrer noopener"
    assert "url(" not in html.render(REPORTS[name]).split("</style>")[0]


def test_hostile_names_are_there_as_text() -> None:
    text = html.render(samples.hostile())
    words = "".join(Elements(text).words)
    for shown in ("<script>alert(1)</script>", "]]><x/>", r"\x1b[31mred\x1b[0m\x07", r"raw\xff\x80byte", "{{ 7 * 7 }}"):
        assert shown in words
    assert "49" not in re.sub(r"\d{3,}", "", words)  # 7 * 7 was not computed
    data = Elements(text).data
    assert {mangled for mangled, _ in data["symbols"]} >= {"<script>alert(1)</script>", "<!--<script>"}


def test_what_a_release_manager_reads() -> None:
    words = " ".join("".join(Elements(html.render(samples.mixed())).words).split())
    assert "1 of 6 files does not load on torch 2.13.0 (cpu)." in words
    assert "built with the old std::string; this torch has the new one" in words
    assert samples.CXX11.fix in words
    assert "Accepted: ignored: goes with 2.0 (abiscan.toml, ignore 1)" in words
    assert "With 1 call of const-data-ptr rewritten it loads on 2.4.0-2.13.0 (nothing else changes)." in words
    assert "not a zip archive: it ends after 3 bytes" in words


@pytest.mark.parametrize(
    ("report", "headline"),
    [
        (samples.empty(), "Nothing here needs torch."),
        (apply(samples.a_report(samples.an_artifact()), Policy()), "The file loads on torch 2.13.0 (cpu)."),
        (apply(samples.a_report(samples.failing()), Policy()), "The file does not load on torch 2.13.0 (cpu)."),
        (
            apply(samples.a_report(samples.failing()), Policy(fail_on=None)),
            "1 file does not load on torch 2.13.0 (cpu), and the policy accepts that.",
        ),
        (
            apply(samples.a_report(samples.an_artifact(findings=(samples.a_finding(),))), Policy()),
            "1 finding fails the run on torch 2.13.0 (cpu).",
        ),
        (
            apply(samples.a_report(samples.an_artifact(verdict=ArtifactVerdict.UNDECIDED)), Policy()),
            "Nothing failed, but not everything could be read or decided on torch 2.13.0 (cpu).",
        ),
    ],
)
def test_the_headline(report: samples.Report, headline: str) -> None:
    assert headline in "".join(Elements(html.render(report)).words)


def test_a_large_wheel_makes_a_page_of_bounded_size() -> None:
    text = html.render(samples.large())
    # 12,000 imports and 1,200 cells: small enough for mail, and for a browser to open at once.
    assert len(text.encode()) < 4_000_000
    assert text.count('class="cell c-') >= 1_200


def test_modules_of_one_name_are_distinguished() -> None:
    report = samples.a_report(samples.an_artifact("w.whl", "a/x/_C.so"), samples.an_artifact("w.whl", "a/y/_C.so"))
    labels = [name for _, name, *_ in Elements(html.render(report)).data["files"]]
    assert labels == ["x/_C.so", "y/_C.so"]


def test_a_release_with_another_layout_has_a_cell_of_its_own() -> None:
    """`ReleaseState`: all symbols resolve on such a release, but the layout differs."""
    releases = samples.releases()
    other = replace(releases[0], state=ReleaseState.OTHER_LAYOUT, drift=("c10::KernelFunction",), reason="other layout")
    page = Elements(html.render(samples.a_report(samples.an_artifact(releases=(other, *releases[1:])))))
    cells = [classes for tag, a in page.found if tag == "td" and "cell" in (classes := a.get("class") or "")]
    assert "c-other-layout" in cells[0]
    assert not any("c-other-layout" in classes for classes in cells[1:])
    assert "symbols resolve; error: layout change" in page.words
