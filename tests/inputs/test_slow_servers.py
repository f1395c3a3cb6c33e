"""Servers that send a byte at a time: abandoned with one line, however long they would continue."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from abiscan.errors import UnreadableFile
from abiscan.inputs import read_rate
from abiscan.inputs.read_rate import RateLimits, TooSlow, within
from abiscan.inputs.remote import open_remote
from abiscan.inputs.remote_file import named
from abiscan.releases import pip_download
from tests.programs import run_program

pytestmark = pytest.mark.registry
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nContent-Type: text/html\r\n\r\n"


class Dripping:
    """A server that sends `at_once`, and then a byte every hundredth of a second, without end.

    Attributes:
        asked: number of connections.
    """

    def __init__(self, at_once: bytes) -> None:
        self._at_once = at_once
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.asked = 0
        self._over = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection, _address = self._listening.accept()
            except OSError:
                return
            self.asked += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65536)
                connection.sendall(self._at_once)
                while not self._over.wait(0.01):
                    connection.sendall(b"x")
            except OSError:
                return

    def close(self) -> None:
        self._over.set()
        self._listening.close()


class Steady(Dripping):
    """A server that sends a body in 100 parts, one every twentieth of a second.

    Attributes:
        seconds: duration of the last response.
    """

    def __init__(self, head: bytes, body: bytes) -> None:
        self._body = body
        self.seconds = 0.0
        super().__init__(head)

    def _answer(self, connection: socket.socket) -> None:
        begun = time.monotonic()
        size = len(self._body) // 100
        with connection:
            connection.recv(65536)
            connection.sendall(self._at_once)
            for part in range(100):
                time.sleep(0.05)
                connection.sendall(self._body[part * size : (part + 1) * size])
        self.seconds = time.monotonic() - begun


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> RateLimits:
    found = RateLimits(rate=1000, window=0.2, whole=60)
    monkeypatch.setattr(read_rate, "LIMITS", found)
    return found


@pytest.fixture(params=[b"", b"HTTP/1.1 200 OK\r\nX-Long: ", _HEAD], ids=["status", "header", "body"])
def server(request: pytest.FixtureRequest) -> Iterator[Dripping]:
    found = Dripping(request.param)
    yield found
    found.close()


@pytest.mark.parametrize("whole", [False, True])
def test_a_server_that_drips_is_given_up(server: Dripping, limits: RateLimits, whole: bool) -> None:
    url = f"http://127.0.0.1:{server.port}/a-1.0-py3-none-any.whl"
    begun = time.monotonic()
    with pytest.raises(
        UnreadableFile, match=r"^http://127\.0\.0\.1:\d+/a-1\.0-py3-none-any\.whl: the server sent \d+ bytes"
    ):
        open_remote(named(url), whole=whole)
    assert time.monotonic() - begun < 3
    # A retry would not be faster; a server that ignores ranges is contacted once more.
    assert server.asked <= 2


def test_a_page_of_an_index_that_drips_is_given_up(server: Dripping, limits: RateLimits) -> None:
    from abiscan.inputs.http_bytes import page

    with pytest.raises(UnreadableFile, match="too slow"):
        page(f"http://127.0.0.1:{server.port}/simple/", "text/html", "http://index/")


def test_the_whole_of_a_request_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_rate, "LIMITS", RateLimits(rate=0, window=60, whole=0.3))
    server = Dripping(_HEAD)
    with pytest.raises(UnreadableFile, match=r"the request took more than 0\.3 s"):
        open_remote(named(f"http://127.0.0.1:{server.port}/a.whl"), whole=True)
    server.close()


def test_a_command_reports_it_in_one_line(limits: RateLimits, tmp_path: Path) -> None:
    server = Dripping(_HEAD)
    code = (
        "import sys\nfrom abiscan.inputs import read_rate\n"
        "read_rate.LIMITS = read_rate.RateLimits(1000, 0.2, 60)\n"
        "from abiscan.cli import run\nrun()\n"
    )
    url = f"http://127.0.0.1:{server.port}/a-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    done = run_program([sys.executable, "-c", code, url], timeout=30, cwd=tmp_path)
    server.close()
    assert done.returncode == 3, done
    assert "Traceback" not in done.stderr
    assert f"{url}: the server sent" in done.stdout + done.stderr


def test_a_store_that_does_not_answer_is_given_up() -> None:
    over = threading.Event()
    with pytest.raises(TooSlow, match="the store did not answer within"):
        within(0.05, over.wait)
    over.set()
    assert within(5, lambda: 7) == 7
    with pytest.raises(KeyError):
        within(5, lambda: {}["absent"])


def downloaded(server: Dripping | Steady, folder: Path) -> pip_download.Fetched:
    """What pip fetches from a server, which is closed."""
    url = f"http://127.0.0.1:{server.port}/a-1.0-py3-none-any.whl"
    found = pip_download.pip_download(url, folder, python="311", platforms=["any"], quiet=True)
    server.close()
    return found


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("MAX_PIP_SECONDS", "pip was stopped: more than 4 s to fetch it"),
        ("PIP_RATE_SECONDS", "pip was stopped: less than 1000 bytes a second for 4 s to fetch it"),
    ],
)
def test_pip_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str, reason: str) -> None:
    """Pip stops for neither: each byte arrives within its read timeout."""
    server = Dripping(_HEAD)
    monkeypatch.setattr(pip_download, limit, 4)
    found = downloaded(server, tmp_path)
    assert found.wheel is None
    assert found.unreachable
    assert found.reason == reason


def test_a_command_says_that_pip_was_stopped(tmp_path: Path) -> None:
    """Without requests, with which the wheel would be read in ranges."""
    server = Dripping(_HEAD)
    code = (
        "import sys\nsys.modules['requests'] = None\n"
        "from abiscan.releases import pip_download\npip_download.PIP_RATE_SECONDS = 4\n"
        "from abiscan.cli import run\nrun()\n"
    )
    environ = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    url = f"http://127.0.0.1:{server.port}/a-1.0-py3-none-any.whl"
    done = run_program([sys.executable, "-c", code, url], env=environ)
    server.close()
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].endswith(
        "a-1.0-py3-none-any.whl: pip was stopped: less than 1000 bytes a second for 4 s to fetch it: "
        "name a local wheel, or try again"
    )


def test_pip_may_take_longer_than_the_window(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """About 400,000 bytes a second for 5 s; the data is no wheel, which pip reports."""
    body = b"x" * 2_000_000
    server = Steady(b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n", body)
    monkeypatch.setattr(pip_download, "PIP_RATE_SECONDS", 2)
    found = downloaded(server, tmp_path)
    assert server.seconds > 3
    assert "pip was stopped" not in found.reason
