"""The outputs in `README.md`: what its commands print, run in an environment without torch, as on a fresh machine."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SYMBOL = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"
COMMANDS = {
    "main-job": ["tests/fixtures/clang-const-data-ptr.so"],
    "explain": ["explain", "--torch", "2.13.0", f"flashinfer_kernels.abi3.so: undefined symbol: {SYMBOL}"],
}


def printed(arguments: list[str], python: str) -> str:
    """What the command prints to standard output for an 80-column reader, with the environment's path left out."""
    done = subprocess.run(
        [sys.executable, "-m", "abiscan", *arguments, "--python", python],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    text = done.stdout.replace(str(Path(python).parents[1]), ".venv")
    shown = [f"$ abiscan {' '.join(arguments)}"] if arguments[0] != "explain" else ["$ abiscan explain < error.txt"]
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        wrapper = textwrap.TextWrapper(110, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
        shown += wrapper.wrap(line) or [""]
    return "\n".join(shown)


def render(current: str) -> str:
    """The page with the outputs of `COMMANDS` in the blocks behind their `<!-- output NAME -->` comments."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{folder}/venv"], check=True)
        for name, arguments in COMMANDS.items():
            block = re.compile(rf"(<!-- output {name} -->\n```text\n).*?(```)", re.DOTALL)
            assert block.search(current), f"README.md has no block for {name}"
            output = printed(arguments, f"{folder}/venv/bin/python")
            current = block.sub(lambda found, output=output: f"{found[1]}{output}\n{found[2]}", current)
    return current
