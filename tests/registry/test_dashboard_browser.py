"""The page over the tables of a registry in a real, headless Chromium."""

from __future__ import annotations

import csv
import io
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.registry.kit import wheel, work

pytest.importorskip("duckdb", reason="pip install -e '.[registry]'")
pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from abiscan.registry.dashboard_view import dashboard_view
    from abiscan.registry.journal import serialize_outcome
    from abiscan.registry.run_folder import RunKey
    from abiscan.registry.scan_unit import Worker
    from abiscan.registry.store import open_run
    from abiscan.registry.unit import local_unit
    from abiscan.report.dashboard import render

    folder = tmp_path_factory.mktemp("wheels")
    wheel(folder, "alpha", "good-extension.so")
    wheel(folder, "beta", "old-string-extension.so")
    wheel(folder, "gamma", "hostile-names.so")
    hostile = wheel(folder, "delta", "old-string-extension.so")
    with zipfile.ZipFile(hostile, "a") as archive:
        about = f"Metadata-Version: 2.1\nName: {HOSTILE}\nVersion: 1.0\nRequires-Dist: torch\n"
        archive.writestr("aaa-1.0.dist-info/METADATA", about)
    (folder / f"{HOSTILE}-1.0-py3-none-any.whl").write_bytes(b"PK\x03\x04")
    out = str(tmp_path_factory.mktemp("out"))
    for day, torch in ((1, "2.12.0"), (2, "2.13.0")):
        run = open_run(out, RunKey("0.1.0", "index", torch, ""), f"2026-01-0{day}T00:00:00Z")
        worker = Worker(work(torch))
        for path in sorted(folder.iterdir()):
            run.add(serialize_outcome(worker.scan(local_unit(path.name, str(folder)))))
        run.finish(f"2026-01-0{day}T00:00:01Z")
        run.close()
    file = tmp_path_factory.mktemp("page") / "dashboard.html"
    file.write_text(render(dashboard_view(out)), encoding="utf-8")
    return file


def opened(browser: Any, page: Path, state: str = "", width: int = 1280, *, dark: bool = False) -> None:
    from tests.report.browser import open_file

    open_file(browser, page, state, width, dark=dark)


def names(browser: Any) -> list[str]:
    """The packages in the table, in order."""
    found: list[str] = browser.execute_script(
        "return [...document.querySelectorAll('#matrix tr[data-name]:not(.off)')].map((row) => row.dataset.name);"
    )
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_reads_and_is_quiet(browser: Any, page: Path, width: int, dark: bool) -> None:
    from tests.report.browser import assert_fits_and_reads

    opened(browser, page, "#package=beta", width, dark=dark)
    assert_fits_and_reads(browser, page)


@pytest.mark.parametrize("width", [1280, 390])
def test_no_list_is_taller_than_the_window(browser: Any, page: Path, width: int) -> None:
    """For any number of rows: it scrolls."""
    opened(browser, page, width=width)
    browser.execute_script(
        "document.querySelectorAll('.wide tbody').forEach((body) => {"
        " for (let i = 0; body.rows[0] && i < 200; i++) body.append(body.rows[0].cloneNode(true)); });"
    )
    heights = "return [...document.querySelectorAll('.wide[tabindex]')].map((box) => box.offsetHeight);"
    assert all(height <= 900 for height in browser.execute_script(heights))


def test_hostile_names_are_text(browser: Any, page: Path) -> None:
    opened(browser, page)
    assert browser.execute_script("return document.querySelectorAll('img').length;") == 0
    assert HOSTILE in browser.execute_script("return document.querySelector('#errors').closest('section').innerText;")
    assert browser.execute_script("return document.querySelectorAll('script').length;") == 2


def test_a_package_opens_into_wheels_files_and_names(browser: Any, page: Path) -> None:
    opened(browser, page)
    browser.execute_script("document.querySelector('tr[data-name=beta] a').click();")
    shown = browser.execute_script("return document.getElementById('chosen').innerText;")
    for part in ("beta-1.0-", "beta/old-string-extension.so", "torchCheckFail", "cxx11-abi-mismatch", "Fix"):
        assert part in shown
    # The state in the address gives the same page.
    state = browser.execute_script("return location.hash;")
    assert "package=beta" in state
    opened(browser, page, state)
    assert browser.execute_script("return document.getElementById('package').textContent;") == "beta"
    assert browser.execute_script("return document.activeElement.id;") == "package"


def test_search_order_and_failing_only_are_in_the_address(browser: Any, page: Path) -> None:
    opened(browser, page)
    everything = names(browser)
    assert {"alpha", "beta", "gamma"} <= set(everything)
    browser.execute_script(
        "const q = document.getElementById('q'); q.value = 'alp'; q.dispatchEvent(new Event('input'));"
    )
    assert names(browser) == ["alpha"]
    opened(browser, page, browser.execute_script("return location.hash;"))
    assert names(browser) == ["alpha"]
    opened(browser, page, "#only=failing&order=name")
    failing = names(browser)
    assert "alpha" not in failing
    assert failing == sorted(failing)
    assert "beta" in failing
    # A missing symbol is found in its table.
    opened(browser, page, "#q=torchcheckfail")
    found = browser.execute_script(
        "return [...document.getElementById('missing').closest('section').querySelectorAll('tbody tr:not(.off)')]"
        ".map((row) => row.textContent);"
    )
    assert found
    assert all("torchCheckFail" in row for row in found)


def test_a_table_is_sorted_by_its_headings(browser: Any, page: Path) -> None:
    opened(browser, page)
    column = (
        "return [...document.getElementById('missing').closest('section').querySelectorAll('tbody tr')]"
        ".map((row) => Number(row.cells[1].textContent));"
    )
    press = "document.getElementById('missing').closest('section').querySelectorAll('thead button')[1].click();"
    browser.execute_script(press)
    down = browser.execute_script(column)
    assert down == sorted(down, reverse=True)
    browser.execute_script(press)
    assert browser.execute_script(column) == sorted(down)


def test_a_cell_tells_why_and_the_keyboard_is_enough(browser: Any, page: Path) -> None:
    opened(browser, page)
    browser.execute_script("document.querySelector('tr[data-name=beta] td:last-child').click();")
    said = browser.execute_script("return document.getElementById('tip').innerText;")
    assert "none works" in said
    assert "beta" in said
    assert "new string ABI" in said  # as in `abiscan old-string-extension.so --matrix` for the releases since 2.7
    browser.execute_script(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Home', bubbles: true}));"
    )
    assert browser.execute_script("return document.activeElement.cellIndex;") == 1


def test_the_csv_is_the_table(browser: Any, page: Path) -> None:
    opened(browser, page)
    browser.execute_script(
        "const real = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((text) => "
        "{ window.saved = text; }); return real.call(URL, blob); }; HTMLAnchorElement.prototype.click = () => {};"
        "document.getElementById('csv').click();"
    )
    for _ in range(50):
        if saved := browser.execute_script("return window.saved;"):
            break
        time.sleep(0.1)
    lines = list(csv.DictReader(io.StringIO(saved.removeprefix("\ufeff"))))
    assert [line["package"] for line in lines] == names(browser)
    alpha = next(line for line in lines if line["package"] == "alpha")
    assert (alpha["wheels"], alpha["fail"], alpha["torch 2.13.0"]) == ("1", "0", "100")
