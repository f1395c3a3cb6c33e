"""Generated Triton kernels."""

from __future__ import annotations

import pytest

from abiscan.errors import UnreadableFile
from abiscan.rules import rule
from abiscan.rules.computed.generated_kernel import match_kernels
from tests.tables import data_text

RULE = rule("generated-kernel")

# The form of TorchInductor's output for a user's kernel (Flash Linear Attention's fused_recurrent_delta_rule).
KERNEL = data_text(__file__, "generated_kernel.txt")


def names(text: str) -> list[tuple[str, list[int | None]]]:
    return [
        (finding.message.split("`")[1], [place.line for place in finding.locations])
        for finding in match_kernels(RULE, text, "c.py", "c.py")
    ]


def test_undefined_names_are_located() -> None:
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
        "triton_meta = " + "x." * 99_000 + "y",
    ],
)
def test_no_finding(text: str) -> None:
    assert names(text) == []


# The form of a module that TorchInductor generates for a graph, and of its kernel.
GRAPH = data_text(__file__, "generated_graph.txt")


def test_a_good_module() -> None:
    assert names(GRAPH) == []


@pytest.mark.parametrize(
    ("old", "new", "name", "where"),
    [
        ("xoffset + tl", "s1 + tl", "s1", "the kernel `triton_poi_fused_0`"),
        ("run(buf[0], s0", "run(buf[0], s7", "s7", "`call()`"),
        ("range(2)", "range(s7)", "s7", "`call()`"),
        ("'configs': [{}]", "'configs': [{'B': s3}]", "s3", "`triton_meta['configs']`"),
        ("size_hints={'x': 4}", "configs=[s3]", "s3", "`configs`"),
        ("call = runner.call", "call = runer.call", "runer", "the module"),
    ],
)
def test_undefined_anywhere(old: str, new: str, name: str, where: str) -> None:
    text = GRAPH.replace(old, new)
    line = text[: text.index(new)].count("\n") + 1
    assert names(text) == [(name, [line])]
    assert where in match_kernels(RULE, text, "c.py", "c.py")[0].message


def test_name_that_is_private_to_a_class() -> None:
    """Output of torch 2.9.1 (pytorch issue 170398): the module defines `__mm_kernel_0`, Python looks up another
    name."""
    text = GRAPH.replace("triton_poi_fused_0 = ", "__mm_kernel_0 = ").replace(
        "triton_poi_fused_0.run", "__mm_kernel_0.run"
    )
    (finding,) = match_kernels(RULE, text, "c.py", "c.py")
    assert "`_Runner__mm_kernel_0`" in finding.message
    assert "2.13" in finding.fix
    assert "2.6" not in finding.fix
    scope: dict[str, object] = {}
    # Oracle: the interpreter, on the two important lines.
    exec("__k = 1\nclass Runner:\n    def call(self):\n        return __k\n", scope)
    with pytest.raises(NameError, match="_Runner__k"):
        scope["Runner"]().call()  # type: ignore[operator]


def test_nothing_is_run() -> None:
    assert names("raise SystemExit(1)\n" + KERNEL) == [("s2", [9])]


def test_a_module_too_large_to_parse_is_an_error() -> None:
    text = "triton_meta = [" + "a," * 101_000 + "]"
    with pytest.raises(UnreadableFile, match=r"^c\.py: more than 200000 tokens"):
        names(text)
    with pytest.raises(UnreadableFile):  # contents of a formatted string are parsed too
        names("triton_meta = f'{[" + "a," * 101_000 + "]}'")
    assert names('triton_meta = """' + "a," * 101_000 + '"""') == []
