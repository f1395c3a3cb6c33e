"""Any symbol name: a result or None, quickly; no exception, no explosion."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abiscan.mangling import Demangler, classify, differences, parse, search_prefixes, string_abi
from abiscan.mangling.parser.cursor import LENGTH_LIMIT
from abiscan.mangling.parser.render import RenderStyle
from tests.mangling.compiled import rows
from tests.processor_time import at_most, is_at_most_times, seconds_of

REAL = [name for _, name in rows()]
# The first letters of productions, so that random text is partly valid.
GRAMMAR = st.text(alphabet="NSTIEJLXPRKOFDQUZMACBWGdvcfirslt_0123456789tnyplxb.", max_size=60)


def use_all_of_it(mangled: str) -> None:
    classify(mangled)
    name = parse(mangled)
    string_abi(mangled)
    if name is None:
        return
    assert name.display
    assert name.canonical
    assert name.entity
    assert name.signature
    assert name.gpu_neutral
    assert isinstance(name.qualified, str)
    for texts in (name.parameters, name.template_args):
        assert texts is None or all(texts)
    assert all(name.in_style(style).ret != "" for style in RenderStyle)
    assert mangled.startswith(search_prefixes(name))
    assert differences(name, name) == ()


@given(GRAMMAR)
@settings(max_examples=600, deadline=2000)
def test_random_productions(text: str) -> None:
    use_all_of_it("_Z" + text)


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=2000)
def test_random_text(text: str) -> None:
    use_all_of_it(text)
    use_all_of_it("_Z" + text)
    use_all_of_it("_ZN" + text + "E")


@given(st.binary(max_size=40))
@settings(max_examples=200, deadline=2000)
def test_random_bytes_as_the_elf_reader_decodes_them(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    use_all_of_it("_Z" + text)
    Demangler().demangle("_Z" + text)


@given(st.sampled_from(REAL), st.data())
@settings(max_examples=600, deadline=2000)
def test_mutated_real_names(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(2, len(name)))
    end = data.draw(st.integers(at, min(len(name), at + 12)))
    use_all_of_it(name[:at] + data.draw(GRAMMAR.map(lambda text: text[:12])) + name[end:])


@given(st.sampled_from(REAL), st.sampled_from(REAL), st.data())
@settings(max_examples=300, deadline=2000)
def test_spliced_real_names(one: str, other: str, data: st.DataObject) -> None:
    cut, paste = data.draw(st.integers(2, len(one))), data.draw(st.integers(2, len(other)))
    use_all_of_it(one[:cut] + other[paste:])


def base36(number: int) -> str:
    digits = ""
    while True:
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36] + digits
        number //= 36
        if not number:
            return digits


def doubling(levels: int) -> str:
    """pair<pair<..>, pair<..>> by substitutions: the text doubles with every level."""
    name, last = "_Z1f4pairIiiE", "S0_"
    for level in range(levels):
        name += f"S_I{last}{last}E"
        last = f"S{base36(level + 1)}_"
    return name


def chain(levels: int) -> str:
    """A pointer to the target type of the previous parameter: depth without nesting."""
    return "_Z1fPi" + "PS_" + "".join(f"PS{base36(level)}_" for level in range(levels))


HOSTILE = {
    "pointers": "_Z1f" + "P" * 60000 + "i",
    "nested names": "_Z" + "N" * 60000,
    "local names": "_Z" + "Z" * 60000,
    "template arguments": "_Z1f" + "I" * 60000,
    "templates in templates": "_Z" + "1aI" * 20000 + "i" + "E" * 5000,
    "doubling": doubling(40),
    "doubling for long": doubling(3000),
    "a chain of pointers": chain(5000),
    "a pack": "_Z1fIJ" + "i" * 60000 + "EEvDpT_",
    "packs of packs": "_Z1fIJ" + "i" * 100 + "EEv" + "Dp1aI" * 4 + "DpT_" + "T_E" * 4,
    "a scope of many": "_ZN" + "1a" * 30000 + "E",
    "templates in scopes": "_ZN" + "1aIiE" * 10000 + "E",
    "tags": "_Z1f" + "B1a" * 20000 + "v",
    "modules": "_Z" + "W1a" * 20000 + "1fv",
    "operators": "_Z1fIX" + "nt" * 30000 + "EE",
    "function types": "_Z1f" + "PF" * 20000,
    "lambdas": "_Z1f" + "Ul" * 30000,
    "constraints": "_Z1fIi" + "Qnt" * 20000,
    "thunks": "_Z" + "Thn1_" * 12000,
    "a large length": "_Z99999999999999999999f",
    "a large literal": "_Z1fILi" + "9" * 60000 + "EEvv",
    "a large substitution": "_Z1fS" + "Z" * 60000 + "_",
    "beyond the limit": "_Z" + "1a" * LENGTH_LIMIT,
    "a parameter for itself": "_ZN1acvT_IT_EEv",
    "digits of other scripts": "_Z\u0663abcv",
    "a NUL": "_Z1fv\0",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_names_end_soon(text: str) -> None:
    with at_most(2):
        use_all_of_it(text)
        Demangler().demangle(text)


def test_it_takes_twice_the_time_for_twice_the_name() -> None:
    def seconds(arguments: int) -> float:
        name = "_Z1f" + "N1a1bE" * arguments
        parse.cache_clear()
        return seconds_of(parse, name)

    assert is_at_most_times(8 * 4, lambda: seconds(8000), lambda: seconds(1000))


def test_a_deep_caller_gets_a_result() -> None:
    def descend(levels: int) -> object:
        return parse("_Z1f" + "P" * 80 + "i") if levels == 0 else descend(levels - 1)

    parse.cache_clear()
    answers = []
    for levels in range(50, 900, 50):
        try:
            answers.append(descend(levels))
        except RecursionError:  # from descend itself
            break
    assert answers
