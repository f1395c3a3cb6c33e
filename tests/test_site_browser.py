"""The searching pages of the site in a real, headless Chromium, compared with `explain` of the package."""

from __future__ import annotations

import functools
import random
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.releases import open_index
from tests.diagnosis.explained import explain
from tools import site_messages, site_symbols
from tools.message_data import checked_rows

pytestmark = pytest.mark.browser
DOCS = Path(__file__).resolve().parents[1] / "docs"
EXAMPLES = [(row, example) for row in checked_rows().message for example in row.examples]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the two pages, without the theme: their markup, scripts and data."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS / "assets", folder / "assets")
    site_messages.write(folder / "assets")
    site_symbols.write(folder / "assets" / "symbols")
    for page in ("explain-error", "symbol-history"):
        found = re.search(r"<form.*</script>", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
        assert found is not None
        (folder / page).mkdir()
        head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>x</title><link rel="icon" href="data:,">'
        (folder / page / "index.html").write_text(f"{head}<main><h1>x</h1>{found[0]}</main>", encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def nothing() -> Knowledge:
    """As of a machine without torch."""
    return Knowledge(releases=open_index(earlier=True))


def answers(browser: Any, site: str, texts: list[str]) -> list[list[tuple[str, bool, list[str]]]]:
    """For each text (row, whether the answer is sure, causes) of each message that the page finds."""
    from tests.report.browser import open_ready

    open_ready(browser, f"{site}/explain-error/")
    found = browser.execute_async_script(
        "const [texts, done] = arguments;"
        "const plain = ({ row, sure, causes }) => [row.id, sure, causes.map((one) => one.cause)];"
        "import('/assets/explain-error.js').then((page) => done(texts.map((text) => page.explain(text).map(plain))));",
        texts,
    )
    return [[(row, sure, causes) for row, sure, causes in each] for each in found]


def test_the_page_has_the_cause_of_each_example(browser: Any, site: str, nothing: Knowledge) -> None:
    """Oracle: `explain`. A sure answer of the page is the first cause; one that is not sure has it in its list."""
    answer_of = {row.id: row.answer or row.id for row in checked_rows().message}
    found = answers(browser, site, [example.text for _row, example in EXAMPLES])
    sure = 0
    for (row, example), results in zip(EXAMPLES, found, strict=True):
        of_row = [(is_sure, causes) for name, is_sure, causes in results if answer_of[name] == answer_of[row.id]]
        assert of_row, (row.id, example.text)
        given = [[each.cause.value for each in s.causes] for s in explain(example.text, nothing) if s.message == row.id]
        for is_sure, causes in of_row:
            if is_sure:
                assert causes[0] in [each[0] for each in given], (row.id, causes)
                sure += 1
            elif row.answer is not None:
                assert any(set(causes) & set(each) for each in given), (row.id, causes)
    assert len(EXAMPLES) > 300
    assert sure > 180


def test_each_symbol_has_the_releases_of_explain(browser: Any, site: str, nothing: Knowledge) -> None:
    """Oracle: `explain`, for symbols drawn from the index, by mangled and by demangled name."""
    from tests.report.browser import open_ready

    names = list(open_index(earlier=True).prefix("", "x86_64", limit=10**9))
    open_ready(browser, f"{site}/symbol-history/")
    for name in random.Random(34).sample(names, 240):
        (subject,) = explain(name, nothing)
        assert subject.exported_in is not None
        for query in (name, subject.demangled or name):
            assert look_up(browser, query).get(name) == subject.exported_in.text(), query


def look_up(browser: Any, query: str) -> dict[str, str]:
    """Mangled name -> releases, of the symbols that the page lists."""
    found: dict[str, str] = browser.execute_async_script(
        "const [query, done] = arguments; document.getElementById('symbol').value = query;"
        "const box = document.getElementById('symbol-result');"
        "const plain = ({ dataset }) => [dataset.mangled, dataset.exported];"
        "const seen = new MutationObserver(() => { if (box.hasAttribute('aria-busy')) return; seen.disconnect();"
        " done(Object.fromEntries([...box.querySelectorAll('details')].map(plain))); });"
        "seen.observe(box, { attributes: true });"
        "document.getElementById('symbol-form').requestSubmit();",
        query,
    )
    return found


@pytest.mark.parametrize(
    ("query", "begins"),
    [
        ("at::Tensor::data_ptr", "at::Tensor::data_ptr"),
        ("at::TensorBase::const_da", "at::TensorBase::const_data_ptr"),
        ("_ZNK2at10TensorBase14const_data_ptrI", "at::TensorBase::const_data_ptr"),
        ("aoti_torch_get_d", "aoti_torch_get_d"),
        ("c10::operator<<", "c10::operator<<"),
    ],
)
def test_a_prefix_lists_symbols_that_begin_with_it(browser: Any, site: str, query: str, begins: str) -> None:
    """At most two parts of a table are fetched, besides the index."""
    from tests.report.browser import open_ready, requests

    open_ready(browser, f"{site}/symbol-history/")
    requests(browser)
    assert look_up(browser, query)
    texts = browser.execute_script("return [...document.querySelectorAll('summary code')].map((e) => e.textContent);")
    assert all(begins in re.sub(r"<[^<>]*>", "", text) for text in texts if begins.startswith("at::")), texts
    fetched = [url for url in requests(browser) if url.endswith(".bin")]
    assert 1 <= len(fetched) <= 2
    assert f"q={query[:5].replace(':', '%3A')}" in browser.execute_script("return location.hash;")


@pytest.mark.parametrize("page", ["explain-error", "symbol-history"])
def test_the_pages_are_accessible_quiet_and_escape_names(browser: Any, site: str, page: str) -> None:
    from tests.report.browser import open_ready, requests, serious

    hostile = "<img src=x onerror=alert(1)>: undefined symbol: _Z<script>"
    browser.get_log("browser")
    requests(browser)
    open_ready(browser, f"{site}/{page}/#q={hostile.replace(' ', '%20')}")
    assert browser.execute_script("return document.querySelectorAll('img, main script').length;") == 1
    assert browser.get_log("browser") == []
    assert all(url.startswith((site, "data:")) for url in requests(browser))
    assert serious(browser) == []
