"""`abiscan run`: a command behaves as without it."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from abiscan.cli.child_process import KEPT
from tests.programs import run_program
from tests.tables import table_rows

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
RUN = [sys.executable, "-m", "abiscan", "run", "--"]
# Built with the old string ABI: no torch of today exports it, as tests/cli/test_cli.py shows with the loader.
MESSAGE = "ImportError: /x/_C.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs"


def alone_and_run(script: str, stdin: bytes = b"") -> tuple[subprocess.CompletedProcess[bytes], ...]:
    command = [sys.executable, "-c", script]
    return tuple(
        subprocess.run([*before, *command], input=stdin, capture_output=True, env=ENVIRONMENT, check=False)
        for before in ([], RUN)
    )


@pytest.mark.parametrize(
    "script",
    [
        "print('a'); import sys; print('b', file=sys.stderr); sys.exit(7)",
        "import sys; sys.stdout.buffer.write(bytes(range(256)) * 9000); sys.stderr.buffer.write(b'\\xff\\0\\r')",
        "import sys; sys.stdout.write(sys.stdin.read()[::-1])",
        "import sys; print(sys.stdout.isatty(), sys.stdin.isatty())",
        "",
    ],
)
def test_output_input_and_status_are_the_commands_own(script: str) -> None:
    alone, run = alone_and_run(script, b"some input")
    assert (run.returncode, run.stdout, run.stderr) == (alone.returncode, alone.stdout, alone.stderr)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_an_import_error_is_explained_behind_the_output(stream: str) -> None:
    alone, run = alone_and_run(f"import sys; print({MESSAGE!r}, file=sys.{stream}); sys.exit(1)")
    assert (run.returncode, run.stdout) == (1, alone.stdout)
    assert run.stderr.startswith(alone.stderr)
    added = run.stderr.removeprefix(alone.stderr).decode()
    assert "[cxx11-abi-mismatch, " in added
    assert "  fix: " in added


@table_rows
def test_errors_of_compilers_and_of_torch_compile_are_explained(lines: tuple[str, ...], cause: str) -> None:
    _, run = alone_and_run("import sys; print({!r}); sys.exit(1)".format("\n".join(lines)))
    assert run.returncode == 1
    assert f"[{cause}, ".encode() in run.stderr


# Of torch 2.13.0 without NumPy, behind pip's line, from the log of a build of torch-scatter 2.1.2 that succeeded.
NUMPY_WARNING = (
    "  Running command python setup.py egg_info",
    "  torch/_subclasses/functional_tensor.py:368: UserWarning: Failed to initialize NumPy: No module named 'numpy'",
)


def test_a_warning_of_a_command_that_succeeds_is_no_error() -> None:
    script = "import sys; print({!r}); sys.exit({})"
    for lines, status in (
        (NUMPY_WARNING, 0),
        (NUMPY_WARNING, 1),
        (('k.cu:9: warning: no instance of overloaded function "__ldg" matches the argument list',), 0),
    ):
        alone, run = alone_and_run(script.format("\n".join(lines), status))
        assert run.stderr == alone.stderr, lines
    _, run = alone_and_run(script.format(f"UserWarning: Failed to load image Python extension: {MESSAGE}", 0))
    assert b"[cxx11-abi-mismatch, " in run.stderr


def test_a_name_alone_is_no_error() -> None:
    alone, run = alone_and_run("print('_ZN3c106detail14torchCheckFailEPKcS2_jRKSs')")
    assert run.stderr == alone.stderr


def test_a_colored_error_is_read_too() -> None:
    _, run = alone_and_run(f"print('\\x1b[31;1mE   ' + {MESSAGE!r} + '\\x1b[0m')")
    assert b"[cxx11-abi-mismatch, " in run.stderr


@pytest.mark.parametrize(("command", "status"), [("no-such-command-here", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_be_started(command: str, status: int) -> None:
    """Oracle: the exit statuses of a shell."""
    done = run_program([*RUN, command], env=ENVIRONMENT)
    shell = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert done.returncode == shell.returncode == status
    assert re.fullmatch(rf"abiscan: error: {command}: .*\n", done.stderr)


def test_output_comes_as_it_is_written() -> None:
    script = "import sys, time; sys.stdout.write('first'); sys.stdout.flush(); sys.stdin.readline(); print('second')"
    with subprocess.Popen(
        [*RUN, sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        # The command waits for its input until this is read: the output is not buffered.
        assert os.read(running.stdout.fileno(), 100) == b"first"
        running.stdin.write(b"\n")
        running.stdin.close()
        assert running.stdout.read() == b"second\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT])
@pytest.mark.parametrize("handled", [True, False])
def test_signals_reach_the_command(number: signal.Signals, handled: bool) -> None:
    """In a session without a terminal, as with a CI runner; a shell returns 128 + N for a killed command."""
    handler = f"signal.signal({int(number)}, lambda *_: sys.exit(40))" if handled else "pass"
    default = f"signal.signal({int(number)}, signal.SIG_DFL)"
    script = f"import signal, sys, time; {default}; {handler}; print('ready', flush=True); time.sleep(60)"
    with subprocess.Popen(
        [*RUN, sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
        start_new_session=True,
        # The process that started pytest may ignore it, which children inherit.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        running.send_signal(number)
        assert running.wait(timeout=30) == (40 if handled else 128 + number)


def test_a_reader_that_goes_away_is_heard_of() -> None:
    """As in `yes | head -1`: the command ends with SIGPIPE, and nothing hangs."""
    done = run_program(
        ["bash", "-c", '"$@" yes | head -1; echo "${PIPESTATUS[0]}"', "-", *RUN], env=ENVIRONMENT, timeout=60
    )
    assert done.stdout.split() == ["y", str(128 + signal.SIGPIPE)]


def test_a_process_that_is_left_behind_does_not_hold_it() -> None:
    start = time.monotonic()
    done = subprocess.run(
        [*RUN, "sh", "-c", "echo started; sleep 30 & exit 3"], stdout=subprocess.PIPE, env=ENVIRONMENT, check=False
    )
    assert (done.returncode, done.stdout) == (3, b"started\n")
    assert time.monotonic() - start < 20


def test_a_terminal_stays_one() -> None:
    """The command has a terminal of the same size, and line ends are converted once."""
    script = "import os, sys; print(sys.stdout.isatty(), sys.stderr.isatty(), *os.get_terminal_size()); print('end')"
    shown = []
    for before in ([], RUN):
        ours, theirs = pty.openpty()
        import termios

        termios.tcsetwinsize(theirs, (33, 77))
        done = subprocess.Popen([*before, sys.executable, "-c", script], stdout=theirs, stderr=theirs, env=ENVIRONMENT)
        os.close(theirs)
        text = b""
        while True:
            try:
                data = os.read(ours, 1000)
            except OSError:
                break
            if not data:
                break
            text += data
        os.close(ours)
        assert done.wait() == 0
        shown.append(text)
    assert shown[0] == shown[1] == b"True True 77 33\r\nend\r\n"


def test_of_a_long_output_the_end_is_kept() -> None:
    _, run = alone_and_run(f"print('x' * {3 * KEPT}); print({MESSAGE!r})")
    assert len(run.stdout) > 3 * KEPT
    assert b"[cxx11-abi-mismatch, " in run.stderr


def test_options_of_an_installation_decide_the_cause() -> None:
    script = "import sys; sys.exit('ModuleNotFoundError: No module named ' + repr('torch'))"
    pip = [sys.executable, "-c", script, "pip", "install", "--no-build-isolation", "a-kernel"]
    done = run_program([*RUN, *pip], env=ENVIRONMENT)
    assert "abiscan: 1 error explained:\n" in done.stderr
    assert "python -m pip install --no-build-isolation a-kernel" in done.stderr


@pytest.mark.torch
def test_a_real_import(tmp_path: Path) -> None:
    """The interpreter's own message about a module that the loader rejects with the installed torch."""
    (tmp_path / "oldstr.so").write_bytes((FIXTURES / "old-string-extension.so").read_bytes())
    done = run_program([*RUN, sys.executable, "-c", "import torch, oldstr"], cwd=tmp_path, env=ENVIRONMENT)
    assert done.returncode == 1
    assert "ImportError: " in done.stderr
    assert "abiscan: 1 error explained:\n" in done.stderr
    assert "cxx11-abi-mismatch" in done.stderr


@pytest.mark.parametrize(("key", "number"), [(b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT)])
def test_keys_of_a_terminal_reach_the_command_once(key: bytes, number: signal.Signals) -> None:
    r"""Ctrl-C and Ctrl-\ as sent by the terminal (termios(3), ISIG): to the whole foreground group."""
    script = (
        "import signal, time\ngot = []\n"
        f"signal.signal({int(number)}, lambda n, _: got.append(n))\n"
        "print('ready', flush=True)\nend = time.monotonic() + 1\n"
        "while time.monotonic() < end: time.sleep(0.05)\n"
        "raise SystemExit(40 + len(got))"
    )
    child, terminal = pty.fork()
    if child == 0:
        signal.signal(number, signal.SIG_DFL)
        os.execve(sys.executable, [*RUN, sys.executable, "-c", script], ENVIRONMENT)
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 1000)
    os.write(terminal, key)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 41
