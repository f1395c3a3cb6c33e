"""Put the real output of the commands into README.md, or check that it stands there.

    python tools/readme_output.py [--check]

Needs an environment without torch for `--python`, so that the output is what a fresh machine prints; it makes one.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    wanted = text
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{folder}/venv"], check=True)
        for name, arguments in COMMANDS.items():
            output = printed(arguments, f"{folder}/venv/bin/python")
            pattern = re.compile(rf"(<!-- output {name} -->\n```text\n).*?(```)", re.DOTALL)
            assert pattern.search(wanted), f"README.md has no block for {name}"
            wanted = pattern.sub(lambda m, o=output: f"{m[1]}{o}\n{m[2]}", wanted)
    if wanted == text:
        return
    if options.check:
        sys.exit("README.md does not show what the commands print: python tools/readme_output.py")
    README.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
