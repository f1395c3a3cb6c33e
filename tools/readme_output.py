"""Generates the outputs in `README.md`."""

from __future__ import annotations

import re

from tools.shown_output import empty_environment, printed

SYMBOL = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"
# Block -> the displayed command and the executed command.
COMMANDS = {
    "main-job": ("tests/fixtures/clang-const-data-ptr.so", ["tests/fixtures/clang-const-data-ptr.so"]),
    "explain": (
        "explain --torch 2.13.0 < error.txt",
        ["explain", "--torch", "2.13.0", f"flashinfer_kernels.abi3.so: undefined symbol: {SYMBOL}"],
    ),
}


def render(current: str) -> str:
    """The page with the outputs of `COMMANDS` in the blocks after their `<!-- output NAME -->` comments."""
    with empty_environment() as environment:
        for name, (shown, arguments) in COMMANDS.items():
            block = re.compile(rf"(<!-- output {name} -->\n```text\n).*?(```)", re.DOTALL)
            assert block.search(current), f"README.md has no block for {name}"
            output = f"$ abiscan {shown}\n{printed(arguments, environment)}"
            current = block.sub(lambda found, output=output: f"{found[1]}{output}\n{found[2]}", current)
    return current
