"""Generated Triton kernels."""

from __future__ import annotations

import pytest

from abiscan.rules import rule
from abiscan.rules.computed.generated_kernel import match_kernels

RULE = rule("generated-kernel")

# The shape of what TorchInductor writes for a user's kernel (Flash Linear Attention's fused_recurrent_delta_rule).
KERNEL = """
import triton
import triton.language as tl
from torch._inductor.runtime import triton_heuristics

@triton_heuristics.user_autotune(
    configs=[{'BV': 8}],
    triton_meta={'signature': {'q': '*fp32'}, 'device': 0, 'constants': {'T': s2, 'H': 4}, 'configs': []},
)
@triton.jit
def fused_recurrent_delta_rule_fwd_kernel(q, T, H, BV: tl.constexpr):
    pass
"""


def names(text: str) -> list[tuple[str, list[int | None]]]:
    return [
        (finding.message.split("`")[1], [place.line for place in finding.locations])
        for finding in match_kernels(RULE, text, "c.py", "c.py")
    ]


def test_undefined_name_is_found_where_it_stands() -> None:
    assert names(KERNEL) == [("s2", [8])]


def test_message_tells_the_entry() -> None:
    (finding,) = match_kernels(RULE, KERNEL, "c.py", "c.py")
    assert "`triton_meta['constants']`" in finding.message


def test_kernel_inside_a_string() -> None:
    text = f"x = 1\nasync_compile.triton('k', '''{KERNEL}''')\n"
    assert names(text) == [("s2", [9])]


@pytest.mark.parametrize(
    "text",
    [
        KERNEL.replace("s2", "128"),
        "s2 = 4\n" + KERNEL,
        "from sizes import *\n" + KERNEL,
        "triton_meta = {'constants': {}}",
        "triton_meta = {'constants': {len('a'): None, True: 1}}",
        "def f(s2):\n    triton_meta = {'constants': {'T': s2}}",
        "print(s2)  # triton_meta",  # undefined, and not in the dictionary
        "triton_meta = (",  # no Python
        "x = 1",
        "triton_meta = " + "(" * 5000,
        "triton_meta = " + "-" * 100_000 + "1",
        "triton_meta = " + "x." * 100_000 + "y",
    ],
)
def test_no_finding(text: str) -> None:
    assert names(text) == []


def test_nothing_is_run() -> None:
    assert names("raise SystemExit(1)\n" + KERNEL) == [("s2", [9])]
