"""Completion in click's protocol for shells: COMP_WORDS, COMP_CWORD; one `type,value` per line."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.programs import run_program
from tests.tables import table_rows

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "abiscan").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m abiscan "$@"\n')
    (tmp_path / "bin" / "abiscan").chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
    }


@table_rows
def test_what_is_offered(environment: dict[str, str], words: str, offered: list[str]) -> None:
    asked = {"_ABISCAN_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = run_program(["abiscan"], env={**environment, **asked})
    assert done.stderr == ""
    found = [line.removeprefix("plain,") for line in done.stdout.splitlines() if line.startswith("plain,")]
    assert [name for name in found if name in offered] == offered
    assert all(name.startswith(words.rsplit(maxsplit=1)[-1]) for name in found)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_documented_line_gives_the_shells_script(environment: dict[str, str], shell: str) -> None:
    (line,) = [line for line in REFERENCE.splitlines() if f"_ABISCAN_COMPLETE={shell}_source" in line]
    command = re.search(r"_ABISCAN_COMPLETE=\w+ abiscan", line)
    assert command is not None
    shown = run_program(["sh", "-c", command[0]], env=environment)
    assert f"_ABISCAN_COMPLETE={shell}_complete" in shown.stdout, shown.stderr


def test_bash_takes_the_documented_line(environment: dict[str, str]) -> None:
    (line,) = re.findall(r'^(eval "\$\(_ABISCAN_COMPLETE=bash_source abiscan\)")', REFERENCE, re.MULTILINE)
    bash = shutil.which("bash")
    assert bash is not None
    script = (
        f'{line}\nCOMP_WORDS=(abiscan -f sa); COMP_CWORD=2; _abiscan_completion abiscan sa; echo "${{COMPREPLY[@]}}"\n'
        "complete -p abiscan"
    )
    done = run_program([bash, "-c", script], env=environment)
    assert done.stdout.splitlines()[0] == "sarif", done.stderr
    assert done.stdout.splitlines()[1].endswith(" abiscan")


TYPED = [("abiscan expl", "explain"), ("abiscan -f sar", "sarif"), ("abiscan --ignore const-data", "const-data-ptr")]


def documented(shell: str) -> str:
    """The line of the reference page, without its destination."""
    (line,) = [line for line in REFERENCE.splitlines() if f"_ABISCAN_COMPLETE={shell}_source" in line]
    return re.split(r" {4,}", line)[0]


@pytest.mark.shells
@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_fish_completes(environment: dict[str, str], typed: str, offered: str) -> None:
    script = f"{documented('fish')}; complete -C {typed!r}"
    done = run_program(["fish", "-c", script], env=environment)
    assert offered in [line.split("\t")[0] for line in done.stdout.splitlines()], done.stderr


@pytest.mark.shells
@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_zsh_completes(environment: dict[str, str], typed: str, offered: str) -> None:
    """At a prompt, with the Tab key."""
    master, slave = pty.openpty()
    shell = subprocess.Popen(
        ["zsh", "-f", "-i"],
        env={**environment, "TERM": "xterm", "PS1": "% "},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        os.write(master, f"autoload -U compinit; compinit -u -D; {documented('zsh')}; echo rea''dy\n".encode())
        assert "ready" in read_until(master, "ready")
        os.write(master, f"{typed}\t".encode())
        assert offered in read_until(master, offered)
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


def read_until(descriptor: int, text: str) -> str:
    """Output of a terminal until `text`, for at most a minute, without cursor movements and colours."""
    found, end = "", time.monotonic() + 60
    while text not in found and time.monotonic() < end:
        if select.select([descriptor], [], [], 1)[0]:
            found += re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", os.read(descriptor, 4096).decode(errors="replace"))
    return found
