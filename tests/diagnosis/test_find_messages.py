"""Subjects in error messages. The texts are output of the named programs (glibc 2.36, GNU ld 2.40, Clang 14, CPython
3.11), or from reports with URL."""

from __future__ import annotations

import gc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abiscan.diagnosis.catalogue.load_messages import messages_by_anchor
from abiscan.diagnosis.readings.answer_messages import subject_of
from abiscan.diagnosis.readings.find_messages import MAX_FOUND, find_messages
from abiscan.diagnosis.readings.found_subjects import FoundSubject, SymbolSubject, location_of
from abiscan.diagnosis.readings.match_messages import FoundMessage
from abiscan.diagnosis.text.message_text import Hit, clean
from abiscan.mangling import Demangler
from abiscan.model.subject import SubjectKind
from abiscan.releases import ReleaseIndex
from tests.processor_time import at_most
from tests.tables import table_rows


@table_rows
def test_symbol(text: str, name: str, needed_by: str | None) -> None:
    (found,) = find_messages(text)
    assert (found.kind, found.text, found.needed_by) == (SubjectKind.SYMBOL, name, needed_by)


@table_rows
def test_versioned_symbol(text: str) -> None:
    (found,) = find_messages(text)
    assert (found.text, found.library, found.version, found.needed_by) == (
        "__nvJitLinkComplete_12_4",
        "libnvJitLink.so.12",
        "libnvJitLink.so.12",
        "/s/libcusparse.so.12",
    )


@table_rows
def test_other_kinds(text: str, kind: SubjectKind, name: str) -> None:
    (found,) = find_messages(text)
    given = subject_of(found) if isinstance(found, FoundMessage) else (found.text, found.kind)
    assert given == (name, kind)


def test_the_file_and_line_of_a_compile_error() -> None:
    (found,) = find_messages("csrc/hip/segment_csr_cuda.hip:188:20: error: no matching function for call to '__ldg'\n")
    assert isinstance(found, FoundMessage)
    location = location_of(found.values)
    assert location is not None
    assert (location.file, location.line) == ("csrc/hip/segment_csr_cuda.hip", 188)


def test_colours_do_not_hide_a_message() -> None:
    text = "\x1b[01m\x1b[Ka.o:\x1b[m\x1b[K undefined reference to `\x1b[01m\x1b[Kat::f()\x1b[m\x1b[K'"
    (found,) = find_messages(clean(text))
    assert found.text == "at::f()"


def test_the_same_message_counts_once_and_keeps_the_file() -> None:
    text = "undefined symbol: foo\n" * 50 + "(rank 3) /s/_C.so: undefined symbol: foo\nundefined symbol: bar\n"
    found = find_messages(text)
    assert [each.text for each in found] == ["foo", "bar"]


def test_no_name_of_torch_is_a_message(index: ReleaseIndex) -> None:
    """Words of people, such as dispatch key, are in names, too. The oracle is the index: these are exports of torch."""
    names = [
        name for prefix in ("_ZN2at", "_ZN3c10", "_ZN5torch", "THP") for name in index.prefix(prefix, limit=50_000)
    ]
    demangler = Demangler()
    for name in names[::20]:
        for text in (name, demangler.demangle(name).text or name):
            assert find_messages(text) == (), text


@pytest.mark.parametrize(
    "text", ["", "all tests passed", "version `", "undefined symbol:", "x: cannot open shared object file"]
)
def test_nothing_to_find(text: str) -> None:
    assert [m.text for m in find_messages(text) if m.text != "x"] == []


NAMES = [
    "_ZNK3c107SymBool10guard_boolEPKcl",
    "THPVariableClass",
    "torch_library_impl",
    "c10::cuda::SetDevice(int)",
    "vtable for torch::autograd::Node",
    "float* at::TensorBase::data_ptr<float>() const",
    "my_ext::load(std::vector<at::Tensor, std::allocator<at::Tensor> > const&, int)",
    "?THPVariable_Wrap@@YAPEAU_object@@VTensorBase@at@@@Z",
]
BEFORE = [
    *("undefined symbol: ", "undefined symbol:\t", "undefined symbol = ", "undefined symbol (", "undefined symbol `"),
    *("undefined symbol '", 'undefined symbol "', "undefined symbol: \u2018", "undefined symbol: \u201c"),
    *("\u62a5\u9519undefined symbol\uff1a", "- **undefined symbol**: ", "`undefined symbol: ", "| undefined symbol: "),
    *("<code>undefined symbol: ", '{"e": "undefined symbol: ', "[rank0]: ImportError: /x/_C.so: undefined symbol: "),
]
BEHIND = [
    *("", ".", "\u3002", "\uff0c\u8c22\u8c22", "`", "`.", "'", '"', "\u201d", "\u2019", "</code>", " |", ")"),
    *(" (fatal)", "; then it stops", ", what now?", '"}', '\\"}', "\\n  File", "\n", "\r\n", "!", "\uff1f"),
    *("\t(./x.so)", "**", "..."),
    *(" when importing torch", " \u600e\u4e48\u89e3\u51b3", " - /x/y.so", " [closed]", " #12", ">", "}"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_ends_where_it_ends(name: str) -> None:
    for before in BEFORE:
        for behind in BEHIND:
            found = [each.text for each in find_messages(clean(before + name + behind))]
            assert found == [name], before + name + behind


_BEHIND_LINKED = ("", " follow", ".", "\u3002", "\ncollect2: error", "\\ncollect2", "\uff0c", '"}', " |", "\r\n")


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("?")])
def test_a_name_of_the_linker_ends_where_it_ends(name: str) -> None:
    for opening, closing in ("`'", "''", '""', "\u2018\u2019"):
        for end in (closing, ""):
            for behind in _BEHIND_LINKED:
                text = f"> undefined references to {opening}{name}{end}{behind}"
                assert [each.text for each in find_messages(clean(text))] == [name], text


@pytest.mark.slow
def test_a_large_log_takes_time_in_proportion() -> None:
    line = "[12:00:01] building foo/bar.cpp -O2 -I/usr/include warning: unused variable 'x' [-Wunused]\n"
    error = "/usr/bin/ld: a.o: undefined reference to `at::foo{}(int)'\n"
    text = "".join(line * 20 + error.format(number) for number in range(10_000))
    # 19 MB; ten seconds is several hundred times the cost. Quadratic reading would take hours.
    with at_most(10):
        found = find_messages(clean(text))
    assert len(found) == MAX_FOUND


@settings(deadline=None)  # a wall clock; the first text also loads the catalogue
@given(st.text(max_size=400))
@example("s0:")
def test_any_text_is_read(text: str) -> None:
    find_messages("")
    # A collection of garbage takes the longer the more tests ran before.
    gc.disable()
    prefixes = ("undefined symbol: ", "version `", "undefined reference to `", "NameError: name '", "operator ")
    try:
        with at_most(0.2):
            found = [each for prefix in prefixes for each in find_messages(clean(prefix + text + prefix))]
    finally:
        gc.enable()
    assert all(each.text if isinstance(each, FoundSubject) else each.quote for each in found)


@table_rows
def test_who_complains(text: str, by_linker: bool, macos: bool) -> None:
    (found,) = find_messages(text)
    assert (found.by_linker, isinstance(found, SymbolSubject) and found.macos) == (by_linker, macos)


def test_names_that_end_alike_are_two() -> None:
    """ld64 prints the parameters after each name, however long they are."""
    parameters = "(std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>> const&)"
    text = "".join(f'  "at::{name}{parameters}", referenced from:\n      _main in a.o\n' for name in "fg")
    assert [found.text for found in find_messages(text)] == [f"at::{name}{parameters}" for name in "fg"]


def test_common_words_leave_the_hits_of_rare_ones() -> None:
    words = sorted(filter(str.isascii, messages_by_anchor()), key=len)[:12]
    noise = "\n".join(f"{line} {word} {line * 7}" for line in range(700) for word in words)
    message = "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory"
    (subject,) = find_messages(f"{noise}\n{message}\n")
    assert isinstance(subject, FoundSubject)
    assert subject.text == "libcudart.so.11.0"


@pytest.mark.parametrize("separator", [" ", "; ", "\\n", "\n"])
def test_places_near_each_other_are_in_few_parts_of_a_text(separator: str) -> None:
    """What is read around each message of a log without ends of lines is at most eight times the log."""
    text = separator.join(f"undefined symbol: number{number:04}" for number in range(2_000))
    word, hits = "undefined symbol", []
    while (at := text.find(word, hits[-1].at + 1 if hits else 0)) >= 0:
        hits.append(Hit.of(text, at, word))
    assert len(hits) == 2_000
    parts = {(hit.start_above(3), hit.end_below(3)) for hit in hits}
    assert sum(end - start for start, end in parts) <= 8 * len(text)


def test_escaped_ends_of_lines_are_ends_of_lines() -> None:
    text = r"a\nb\nc word d\ne C:\CUDA\bin\nvcc\nf"
    hit = Hit.of(text, text.index("word"), "word")
    assert (hit.line, hit.preceding(1), hit.following(1)) == ("c word d", r"b\n", r"\ne C:\CUDA\bin\nvcc")
    assert (hit.preceding(9), hit.following(9)) == (r"a\nb\n", r"\ne C:\CUDA\bin\nvcc\nf")
