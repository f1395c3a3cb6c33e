"""Make docs/pictures/terminal.svg: what a terminal shows, drawn by rich from the command's own output.

    python tools/terminal_picture.py [--check]

It shows a small wheel that is made here: one module loads on torch 2.3-2.11, one from 2.10 on, and its metadata admit
every torch.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pty
import re
import subprocess
import sys
import tempfile
import termios
import zipfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this work tree, even if another is installed

from tools.shown_output import empty_environment  # noqa: E402

TARGET = ROOT / "docs" / "pictures" / "terminal.svg"
WIDTH = 100
WHEEL = "example-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"


def wheel(folder: Path) -> None:
    """Make the displayed wheel."""
    fixtures = ROOT / "tests" / "fixtures"
    with zipfile.ZipFile(folder / WHEEL, "w") as archive:
        archive.write(fixtures / "gcc-const-data-ptr.so", "example/_C.cpython-311-x86_64-linux-gnu.so")
        archive.write(fixtures / "stable-abi.so", "example/_ops.abi3.so")
        archive.writestr(
            "example-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: example\nVersion: 1.0\nRequires-Dist: torch\n",
        )
        archive.writestr("example-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_28_x86_64\n")
        archive.writestr("example-1.0.dist-info/RECORD", "")


def on_terminal(command: list[str], folder: str, variables: dict[str, str]) -> tuple[str, str]:
    """Standard output on a terminal of WIDTH columns, and its last line."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (50, WIDTH))
    run = subprocess.Popen(command, cwd=folder, env=variables, stdout=slave, stderr=subprocess.PIPE)
    os.close(slave)
    shown = b""
    with open(master, "rb", buffering=0) as reader, contextlib.suppress(OSError):  # EIO: the command has ended
        while piece := reader.read(1 << 16):
            shown += piece
    errors = run.communicate()[1]
    assert run.returncode == 1, errors
    return shown.decode(), errors.decode()


def picture() -> str:
    """The SVG."""
    with tempfile.TemporaryDirectory() as folder, empty_environment() as environment:
        wheel(Path(folder))
        command = ["abiscan", "--torch", "2.15.0", WHEEL]
        variables = {**os.environ, "VIRTUAL_ENV": environment, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            variables.pop(name, None)
        shown, errors = on_terminal([sys.executable, "-m", *command], folder, variables)
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    console.print(Text(f"$ {' '.join(command)}", style="bold"))
    for line in [*shown.splitlines()[:22], "...", *errors.splitlines()]:
        console.print(Text.from_ansi(line), soft_wrap=True)
    drawn = console.export_svg(title="abiscan", theme=MONOKAI, unique_id="abiscan")
    # No font from another server.
    drawn = re.sub(r"\s*@font-face \{.*?\}\n", "\n", drawn, flags=re.DOTALL)
    return drawn.replace("Fira Code, monospace", "monospace").rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wanted = picture()
    current = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    if options.check:
        if wanted != current:
            print(f"{TARGET.relative_to(ROOT)} is stale: run tools/terminal_picture.py", file=sys.stderr)
        return int(wanted != current)
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
