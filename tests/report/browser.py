"""A headless Chromium of the system, driven by its own chromedriver. Loads only local files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

from tests.tables import data_text

# Without these, Chromium contacts its servers, and its sandbox cannot start in a container.
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


# From `npm install --prefix build axe-core`.
AXE = Path(__file__).parents[2] / "build" / "node_modules" / "axe-core" / "axe.min.js"


def serious(browser: webdriver.Chrome) -> list[tuple[str, str, str]]:
    """Serious and critical findings of axe-core on the open page: rule, message and first element. The script is
    injected with the debugger, to which the page's content security policy does not apply."""
    assert AXE.is_file(), "npm install --prefix build axe-core"
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1]);")
    assert found["passes"], "axe looked at nothing"
    return [
        (violation["id"], violation["help"], violation["nodes"][0]["html"])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """A browser with a new profile, with recorded console and network events."""
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    assert binary is not None, "apt-get install chromium chromium-driver"
    assert driver is not None, "apt-get install chromium chromium-driver"
    options = Options()
    options.binary_location = binary
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


def viewport(browser: webdriver.Chrome, width: int, height: int, *, dark: bool = False) -> None:
    """The size of the page and the user's colour preference."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def open_ready(browser: webdriver.Chrome, address: str) -> None:
    """Open a page whose script says when it is done: it unpacks its data first."""
    browser.get("about:blank")
    browser.get(address)
    WebDriverWait(browser, 30, 0.02).until(
        lambda b: b.execute_script("return document.documentElement.classList.contains('ready');")
    )
    browser.execute_script("document.documentElement.style.scrollBehavior = 'auto'; localStorage.clear();")


def open_file(browser: webdriver.Chrome, file: Path, state: str = "", width: int = 1280, *, dark: bool = False) -> None:
    """Open a page on disk, without the messages and requests of earlier pages."""
    browser.get_log("browser")
    requests(browser)
    viewport(browser, width, 900, dark=dark)
    open_ready(browser, file.as_uri() + state)


def assert_fits_and_reads(browser: webdriver.Chrome, file: Path) -> None:
    """The open page fits its width with everything unfolded, has readable colours, and prints and requests nothing."""
    browser.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = true; });")
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth;")
    # Relative luminance and contrast by WCAG 2.2, over the nearest opaque background of every element with text.
    assert browser.execute_script(data_text(__file__, "contrast.js")) == []
    assert browser.get_log("browser") == []
    assert [url for url in requests(browser) if not url.startswith("data:")] == [file.as_uri()]
    assert serious(browser) == []


def requests(browser: webdriver.Chrome) -> list[str]:
    """Every address that our page requested since the last call (without the browser's own pages)."""
    found = []
    for entry in browser.get_log("performance"):
        message: dict[str, Any] = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent" and not message["params"]["documentURL"].startswith(
            "chrome"
        ):
            found.append(message["params"]["request"]["url"])
    return found
