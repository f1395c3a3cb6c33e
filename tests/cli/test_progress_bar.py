"""The progress bar on a (pseudo-)terminal, and no output elsewhere."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import termios
import zipfile
from pathlib import Path

import pytest

from abiscan.cli.progress_bar import ProgressBar
from abiscan.model.progress import BLOCK
from tests.programs import run_program

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
FILES = 480


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "demo-1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
    data = (FIXTURES / "stable-abi.so").read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        # Enough for two processes to take longer than the delay of the bar.
        for number in range(FILES):
            archive.writestr(f"demo/m{number}.abi3.so", data + bytes(BLOCK // 16))
    return path


def on_terminal(folder: Path, *words: str, **variables: str) -> str:
    """The output of the command on a terminal of 80 columns."""
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR")}
    environment |= {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "80", **variables}
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    command = [sys.executable, "-m", "abiscan", *words, "--torch", "2.10.0", "--fail-on", "never"]
    done = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    written = b""
    with open(master, "rb", buffering=0) as reader:
        try:
            while piece := reader.read(1 << 16):
                written += piece
        except OSError:
            pass  # EIO: the other end is closed (Linux, pty(7))
    assert done.wait() == 0
    return written.decode()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_bytes_and_total(tmp_path: Path, wheel: Path, jobs: str) -> None:
    written = on_terminal(tmp_path, wheel.name, "-j", jobs)
    frames = re.findall(r"(\d+)%\|[^|]*\| +[\d.]+[kM]?B/([\d.]+)MB \[[^]]*\], [\w./]*m\d+\.abi3\.so", written)
    assert frames, written
    assert {float(total) for _, total in frames} == {round(wheel.stat().st_size / 1e6, 1)}
    assert all(0 <= int(percent) <= 100 for percent, _ in frames)
    # The bar is erased before the last line.
    last = written.rstrip("\r\n").rpartition("\r")[2]
    assert last.startswith("abiscan: ")
    assert last.endswith(f": {FILES} files checked: {FILES} load (1 warning, 1 note)")


@pytest.mark.parametrize(("words", "variables"), [(("-q",), {}), ((), {"CI": "1"}), ((), {"TERM": "dumb"})])
def test_silence(tmp_path: Path, wheel: Path, words: tuple[str, ...], variables: dict[str, str]) -> None:
    assert "%|" not in on_terminal(tmp_path, wheel.name, *words, **variables)


def test_nothing_where_no_terminal_is(tmp_path: Path, wheel: Path) -> None:
    command = [sys.executable, "-m", "abiscan", wheel.name, "--torch", "2.10.0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_program(command, cwd=tmp_path, env=environment)
    assert re.fullmatch(rf"abiscan: pass: {FILES} files.*\n", done.stderr)


def test_a_short_run_draws_nothing_and_what_is_read_twice_counts_once() -> None:
    now = [0.0]
    stream = io.StringIO()
    bar = ProgressBar(stream, lambda: now[0])
    bar.expect({"a.whl": 3 * BLOCK + 7})
    now[0] = 0.4
    bar.read("a.whl", 0, BLOCK)
    bar.at("a.whl!x.so")
    assert stream.getvalue() == ""
    for seconds in (0.6, 0.8, 1.0):
        now[0] = seconds
        bar.read("a.whl", 0, BLOCK)
    assert "1.05MB/3.15MB" in stream.getvalue()
    now[0] = 2.0
    bar.read("a.whl", 3 * BLOCK, 5 * BLOCK)
    assert "1.05MB/3.15MB" in stream.getvalue().rpartition("\r")[2]
    bar.at("")
    assert stream.getvalue().endswith("\r")


def test_names_are_made_printable() -> None:
    now = [0.0]
    stream = io.StringIO()
    bar = ProgressBar(stream, lambda: now[0])
    now[0] = 1.0
    bar.at("a\x1b[31m\nb")
    assert "\x1b[31m" not in stream.getvalue()
    assert "\n" not in stream.getvalue()
