"""Ctrl-C, or the end of the process, in the middle of a run over many wheels."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fixtures.wheels import make_wheel
from tests.programs import run_program

FIXTURES = Path(__file__).parents[1] / "fixtures"
# Seconds between Ctrl-C and the end.
_AT_ONCE = 0.5


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 wheels, which take several seconds."""
    folder = tmp_path_factory.mktemp("wheels")
    contents = [(FIXTURES / name).read_bytes() for name in ("good-extension.so", "old-string-extension.so")]
    for number in range(48):
        # A different file each time, so that no cached result applies.
        files = {f"w{number}/m{place}.so": contents[place % 2] + bytes((number, place)) for place in range(10)}
        make_wheel(folder, files, name=f"w{number}", tag="cp311-cp311-linux_x86_64")
    return folder


def _running(group: int) -> list[str]:
    """The processes of a group, without zombies (proc(5))."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _parent, its_group, *_ = place.read_text().rpartition(")")[2].split()
            found += [place.parent.name] if int(its_group) == group and state != "Z" else []
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_it_ends_at_once_with_what_was_found(wheels: Path, tmp_path: Path, jobs: str) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "abiscan", str(wheels), "-j", jobs, "-f", f"json:{report}"]
    took = []
    # A shell starts background jobs with SIGINT ignored, which a child inherits.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for delay in (1.5, 3, 4.5):
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        time.sleep(delay)
        assert process.poll() is None, "too soon through to be interrupted"
        begun = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        shown, told = process.communicate(timeout=60)
        took.append(time.monotonic() - begun)
        assert process.returncode == 130
        (line,) = told.splitlines()
        assert re.match("abiscan: interrupted, and no report written; so far [0-9]+ files? checked", line)
        assert shown == ""
        assert list(tmp_path.iterdir()) == []
        assert _running(process.pid) == []
        if took[-1] < _AT_ONCE:
            return
    # A busy machine may be late; not three times.
    assert min(took) < _AT_ONCE, took


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_command(wheels: Path, jobs: str, number: int) -> None:
    command = [sys.executable, "-m", "abiscan", str(wheels), "-j", jobs]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    while len(_running(process.pid)) <= (jobs == "2") and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(number)
    try:
        # Returns only when every process has closed the pipes.
        process.communicate(timeout=30)
    finally:
        for each in _running(process.pid):
            os.kill(int(each), signal.SIGKILL)
    # During the first imports it ends by the signal itself; a shell shows 128 + number for both.
    assert process.returncode in (-number, 128 + number)


_SLOW_PIP = """import os, sys, time
if "download" in sys.argv:
    open(os.path.join(os.environ["TMPDIR"], "torch.whl.part"), "wb").close()
    print("pip", os.getpid(), file=sys.stderr, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_download_leaves_neither_files_nor_pip(tmp_path: Path, number: int) -> None:
    temporary, index = tmp_path / "tmp", tmp_path / "index"
    temporary.mkdir()
    code = f"""import sys
from abiscan import child_processes
command = [sys.executable, "-c", {_SLOW_PIP!r}]
tool = child_processes.run_tool
child_processes.run_tool = lambda given, **rest: tool([*command, *given[4:]], **rest)
sys.argv = ["abiscan", "releases", "add", "2.3.0"]
signal = __import__("signal")
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where nohup runs the tests
from abiscan.__main__ import start
start()
"""
    environment = {**os.environ, "TMPDIR": str(temporary), "XDG_DATA_HOME": str(index), "XDG_CACHE_HOME": str(index)}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env=environment,
    )  # fmt: skip
    try:
        while not list(temporary.rglob("*.part")) and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)  # to this process alone, as `kill` does
        process.communicate(timeout=30)
        assert _running(process.pid) == []
    finally:
        for each in _running(process.pid):
            os.kill(int(each), signal.SIGKILL)
    assert process.returncode == 128 + number
    assert list(temporary.iterdir()) == []


def test_an_interrupt_during_the_imports_is_no_traceback() -> None:
    code = """import sys
from abiscan.__main__ import start

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "abiscan.cli.output":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
start()
"""
    done = run_program([sys.executable, "-c", code])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "abiscan: interrupted\n")
