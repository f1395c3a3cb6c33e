"""A headless Chromium from the system, driven by its own chromedriver. Loads local files alone."""

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

# Without these, Chromium keeps calling home, and inside a container its sandbox cannot start.
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


# `npm install --prefix build axe-core` puts it there.
AXE = Path(__file__).parents[2] / "build" / "node_modules" / "axe-core" / "axe.min.js"


def serious(browser: webdriver.Chrome) -> list[tuple[str, str, str]]:
    """What axe-core finds on the open page that is serious or critical: the rule, what it says, and the first element.

    The script comes in through the debugger, which the page's content security policy does not concern.
    """
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
    """A browser with a new profile, its console and network events recorded."""
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


def requests(browser: webdriver.Chrome) -> list[str]:
    """Every address that a page of ours has asked for since the last call (not what the browser's own pages ask)."""
    found = []
    for entry in browser.get_log("performance"):
        message: dict[str, Any] = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent" and not message["params"]["documentURL"].startswith(
            "chrome"
        ):
            found.append(message["params"]["request"]["url"])
    return found
