"""The HTML page in a real, headless Chromium."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from abiscan.model.report import Report
from abiscan.report import html
from tests.report import samples

pytestmark = pytest.mark.browser

# Relative luminance and contrast by WCAG 2.2, over the nearest opaque background of every element with text.
CONTRAST = """
const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length === 3 || c[3] > 0.99) return c; } return [255, 255, 255]; };
const bad = [];
for (const e of document.body.querySelectorAll("*")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || e.closest(".sr, script")) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) bad.push([e.className || e.tagName, e.textContent.slice(0, 30), ratio.toFixed(2)]);
}
return bad;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("selenium")
    from tests.report.browser import chromium

    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def open_page(browser: Any, tmp_path: Path, report: Report, width: int = 1280, *, dark: bool = False) -> None:
    from tests.report.browser import requests, viewport

    file = tmp_path / "report.html"
    file.write_text(html.render(report), encoding="utf-8")
    browser.get_log("browser")
    requests(browser)
    viewport(browser, width, 900, dark=dark)
    browser.get(file.as_uri())
    browser.execute_script("document.documentElement.style.scrollBehavior = 'auto'; localStorage.clear();")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["mixed", "hostile", "large", "empty"])
def test_it_fits_reads_and_is_quiet(browser: Any, tmp_path: Path, name: str, width: int, dark: bool) -> None:
    from tests.report.browser import requests

    open_page(browser, tmp_path, getattr(samples, name)(), width, dark=dark)
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; });")
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth;")
    assert browser.execute_script(CONTRAST) == []
    assert browser.get_log("browser") == []
    asked = [url for url in requests(browser) if not url.startswith("data:")]
    assert asked == [(tmp_path / "report.html").as_uri()]


def test_hostile_names_are_text(browser: Any, tmp_path: Path) -> None:
    open_page(browser, tmp_path, samples.hostile())
    assert browser.execute_script("return document.querySelectorAll('img, svg, x, script').length;") == 2
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; });")
    text = browser.execute_script("return document.body.innerText;")
    for shown in ("<script>alert(1)</script>", "]]><x/>", r"\x1b[31mred\x1b[0m\x07", r"\u202egnp.so"):
        assert shown in text


def test_the_policy_stops_a_script_that_got_in(browser: Any, tmp_path: Path) -> None:
    open_page(browser, tmp_path, samples.mixed())
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 2\">');"
    )
    time.sleep(0.2)
    assert browser.execute_script("return window.ran === undefined;")


def test_search_over_twelve_thousand_imports(browser: Any, tmp_path: Path) -> None:
    open_page(browser, tmp_path, samples.large())
    result = browser.execute_script(
        """
        const q = document.getElementById("q");
        const times = [];
        for (const words of ["t", "te", "tensor", "op02 tensor", "op021 native", "nothing has this"]) {
          q.value = words;
          const start = performance.now();
          q.dispatchEvent(new Event("input"));
          document.getElementById("rows").getBoundingClientRect();
          times.push(performance.now() - start);
        }
        const none = document.getElementById("count").textContent;
        q.value = "op02 tensor";
        q.dispatchEvent(new Event("input"));
        return [Math.max(...times), none, document.getElementById("count").textContent,
                document.querySelectorAll(".row").length];
        """
    )
    slowest, none, some, rows = result
    assert none == "0 of 12000 imports"
    # By hand: the file's number and a running number of 0 to 299 follow `op`: op02 + 300 of file 02 alone.
    assert some == "300 of 12000 imports"
    assert rows < 60
    # Milliseconds; two frames at 60 Hz are 33, and this machine may be busy.
    assert slowest < 150


def test_the_keyboard_is_enough(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    open_page(browser, tmp_path, samples.large())

    def press(*keys: str) -> None:
        ActionChains(browser).send_keys(*keys).perform()

    press("/", "op0210")
    assert browser.execute_script("return document.activeElement.id;") == "q"
    press(Keys.ENTER, Keys.ARROW_DOWN)
    assert browser.execute_script("return document.activeElement.id;") == "rows"
    chosen = browser.execute_script("return document.querySelector('[aria-selected=true]').id;")
    assert browser.execute_script("return document.activeElement.getAttribute('aria-activedescendant');") == chosen
    assert "op0210" in browser.execute_script("return document.getElementById('detail').innerText;")
    # The matrix: one stop for Tab, arrows from there.
    assert browser.execute_script("return document.querySelectorAll('#matrix td[tabindex=\"0\"]').length;") == 1
    browser.execute_script("document.querySelector('#matrix td[tabindex=\"0\"]').focus();")
    press(*[Keys.ARROW_DOWN] * 20, Keys.END, Keys.ARROW_LEFT)
    time.sleep(0.2)
    place = "return [document.activeElement.parentElement.rowIndex, document.activeElement.cellIndex];"
    assert browser.execute_script(place) == [21, 29]
    tip = browser.execute_script("const t = document.getElementById('tip'); return [t.hidden, t.innerText];")
    assert tip[0] is False
    assert tip[1].startswith("torch 2.14.0+cpu: ")
    press(Keys.ESCAPE)
    assert browser.execute_script("return document.getElementById('tip').hidden;")


def test_a_cell_tells_why(browser: Any, tmp_path: Path) -> None:
    open_page(browser, tmp_path, samples.mixed(), 390)
    browser.execute_script("document.querySelector('#matrix td.c-fails').click();")
    tip = browser.execute_script("return document.getElementById('tip').innerText;")
    assert "torch 2.4.0+cpu: does not load" in tip
    assert "old string ABI" in tip
    assert "2 imports are not exported" in tip
    box = browser.execute_script(
        "const b = document.getElementById('tip').getBoundingClientRect(); return [b.left, b.right];"
    )
    assert box[0] >= 0
    assert box[1] <= 390


def test_themes_and_copy(browser: Any, tmp_path: Path) -> None:
    open_page(browser, tmp_path, samples.mixed())
    ground = "return getComputedStyle(document.body).backgroundColor;"
    light = browser.execute_script(ground)
    button = "document.getElementById('theme').click();"
    browser.execute_script(button * 2)
    assert browser.execute_script("return document.getElementById('theme').textContent;") == "Theme: dark"
    assert browser.execute_script(ground) != light
    browser.execute_script(button)
    assert browser.execute_script(ground) == light
    browser.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    browser.execute_script("document.querySelector('[data-copy]').click();")
    time.sleep(0.3)
    assert browser.execute_script("return document.querySelector('[data-copy]').textContent;") == "Copied"


def test_show_all_shows_all(browser: Any, tmp_path: Path) -> None:
    report = samples.large()
    open_page(browser, tmp_path, report)
    number = sum(len(a.findings) for a in report.artifacts)
    browser.execute_script("document.querySelector('[data-all]').click();")
    assert browser.execute_script("return document.querySelectorAll('.hits li').length;") == number
