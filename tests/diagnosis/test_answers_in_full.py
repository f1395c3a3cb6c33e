"""Answers besides their cause: owner of the file, direction, library and fix; and what must not be in them. Each test
names its oracle. Names of files and folders were made up."""

from __future__ import annotations

import cxxfilt
import pytest
from msgspec.structs import replace

from abiscan.diagnosis.catalogue.load_messages import messages_by_anchor
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.model.cause import CauseId
from abiscan.model.subject import Subject
from abiscan.releases import ReleaseIndex
from abiscan.report.subjects_text import render
from tests import torch_here
from tests.diagnosis.explained import explain
from tests.diagnosis.reported import explain_text, knowledge_of
from tests.tables import table_rows

_MISSING = CauseId.LIBRARY_MISSING


def _ask(text: str, index: ReleaseIndex) -> tuple[Subject, ...]:
    return explain_text(text, index)


def _said(subject: Subject) -> str:
    """The whole text of an answer."""
    parts = [part for cause in subject.causes for part in (*cause.evidence, cause.fix)]
    return "\n".join([*parts, *subject.notes, *subject.history])


# --- std::string in demangled names ---------------------------------------------------------------------------------

# No release exports these with the C++11 std::string; manglings of both, readable by GNU's demangler.
_NEW_NAMES = (
    "_ZN5torch3jit4loadERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEN3c108optionalINS9_6DeviceEEE",
    "_ZN5torch3jit17parseSchemaOrNameERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    "_ZN3c107Warning4warnENS_14SourceLocationERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb",
)


@pytest.mark.parametrize("name", _NEW_NAMES)
@pytest.mark.parametrize("version", [None, "1.10.0"])
def test_the_text_of_a_name_is_answered_as_the_name(name: str, version: str | None, index: ReleaseIndex) -> None:
    knowledge = Knowledge(releases=index) if version is None else knowledge_of(version, index)
    text = cxxfilt.demangle(name)
    (mangled,) = explain(f"undefined reference to `{name}'", knowledge)
    (demangled,) = explain(f"undefined reference to `{text}'", knowledge)
    assert "std::__cxx11::basic_string" in text
    assert demangled.mangled == name
    assert demangled.causes == mangled.causes
    assert demangled.causes[0].cause is CauseId.CXX11_ABI_MISMATCH
    assert "with the new std::string" in demangled.causes[0].evidence[0]
    assert "-D_GLIBCXX_USE_CXX11_ABI=0" in demangled.causes[0].fix


# --- loaders --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blank", ["\t", " "])
def test_ld_debug_names_the_file(blank: str, index: ReleaseIndex) -> None:
    r"""glibc, elf/dl-lookup.c and elf/dl-minimal's _dl_debug_printf: `PID:\tFILE: error: symbol lookup error: undefined
    symbol: NAME (fatal)`. It is a message of a loader."""
    name = "_ZN5torch3jit17parseSchemaOrNameERKSs"
    text = f"    120344:{blank}/opt/x/_C.so: error: symbol lookup error: undefined symbol: {name} (fatal)"
    (subject,) = _ask(text, index)
    assert subject.needed_by == "/opt/x/_C.so"
    assert subject.causes[0].cause is CauseId.BUILT_FOR_OLDER_TORCH
    assert subject.causes == _ask(f"ImportError: /opt/x/_C.so: undefined symbol: {name}", index)[0].causes


def test_what_ldd_misses_behind_a_library_that_it_did_not_find(index: ReleaseIndex) -> None:
    """ldd -r relocates with the libraries that it found: all symbols of a missing library are undefined (ldd(1))."""
    name = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    (*_, subject) = _ask(f"\tlibc10.so => not found\nundefined symbol: {name}\t(./_C.so)\n", index)
    assert subject.causes[0].cause is CauseId.IMPORT_TORCH_FIRST
    assert "ldd did not find libc10.so" in subject.causes[0].evidence[0]
    (*_, subject) = _ask(f"\tlibfoo.so => not found\nundefined symbol: {name}\t(./_C.so)\n", index)
    assert subject.causes[0].cause is not CauseId.IMPORT_TORCH_FIRST


def test_causes_of_one_library_have_fixes_of_their_own(index: ReleaseIndex) -> None:
    for name in ("libcupti.so.12", "libnccl.so.2", "libcusparseLt.so.0", "libnvrtc.so.12"):
        (subject,) = _ask(f"ImportError: {name}: cannot open shared object file: No such file or directory", index)
        fixes = [cause.fix for cause in subject.causes]
        assert len(set(fixes)) == len(fixes)
        assert any('pip install "nvidia-' in fix for fix in fixes)


@pytest.mark.parametrize("version", ["2.0.1", "2.9.0", "2.15.0"])
@pytest.mark.parametrize("library", ["libcusparse.so.11", "libcusparse.so.12", "libcublas.so.12", "libcublas.so.13"])
def test_a_missing_library_of_torch_is_not_another_release(library: str, version: str, index: ReleaseIndex) -> None:
    """The release index has the needed libraries of each build: cuSPARSE's number is not that of its CUDA 13."""
    (build,) = [each for each in index.builds("x86_64") if each.torch == version]
    text = f"ImportError: {library}: cannot open shared object file: No such file or directory"
    (subject,) = explain(text, knowledge_of(version, index))
    first = subject.causes[0].cause
    assert first is (_MISSING if library in build.brings else CauseId.CUDA_LIBRARY_MISMATCH)


def test_the_library_of_each_range(index: ReleaseIndex) -> None:
    """torch 1.12 added libtorch_cuda_linalg.so; the release index has the library of each symbol in each build."""
    name = "_ZNK3c1010TensorImpl4sizeEl"
    history = index.history(name, "x86_64")
    assert history is not None
    first, last = history.exporting_builds[0], history.exporting_builds[-1]
    one, other = history.export(first), history.export(last)
    assert one is not None
    assert other is not None
    assert one.library != other.library
    said = _said(_ask(f"undefined symbol: {name}", index)[0])
    assert f"1.11.0 in {one.library} and" in said
    assert f"in {other.library}." in said


# --- truncated names, names of other systems ------------------------------------------------------------------------


@pytest.mark.parametrize("dots", ["...", "\u2026"])
def test_a_name_with_dots_behind_it_is_completed(dots: str, index: ReleaseIndex) -> None:
    """No release exports the beginning, which looks like a whole name; one exports a symbol with this beginning (the
    release index)."""
    cut, whole = "_ZN3c1015SmallVectorBaseIjE8grow_podEPKvm", "_ZN3c1015SmallVectorBaseIjE8grow_podEPKvmm"
    assert index.history(cut, "x86_64") is None
    assert list(index.prefix(cut, "x86_64", 9)) == [whole]
    for before in ("undefined symbol: ", ""):
        (subject,) = _ask(f"{before}{cut}{dots}", index)
        assert subject.mangled == whole
    assert _ask(f"undefined symbol: {cut}", index)[0].mangled == cut


# --- torch in a text without a version ------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["cu118", "cpu", "rocm6.0"])
def test_a_variant_that_the_index_does_not_have_exports_what_its_release_does(label: str, index: ReleaseIndex) -> None:
    """All variants of one release have CPU libraries from one source; libc10.so of 2.3.1 exports the symbol (`nm
    -D`)."""
    name = "_ZN3c106detail14torchCheckFailEPKcS2_jS2_"
    (variant,) = _ask(f"torch==2.3.1+{label}\nundefined symbol: {name}", index)
    (release,) = _ask(f"torch==2.3.1\nundefined symbol: {name}", index)
    assert [cause.cause for cause in variant.causes[:2]] == [cause.cause for cause in release.causes[:2]]
    assert f"torch 2.3.1 ({label}) exports c10::detail::torchCheckFail" in _said(variant)


# --- the torch in the label of an extension -------------------------------------------------------------------------


@pytest.mark.torch
@table_rows
def test_a_header_of_a_recent_torch_asks_for_a_newer_one(header: str, cause: CauseId, index: ReleaseIndex) -> None:
    """Oracle: the include directory of the installed torch."""
    there = (torch_here.directory() / "include" / header).exists()
    assert there is (cause is CauseId.BUILT_FOR_NEWER_TORCH)
    (subject,) = _ask(f"a.cu:3:10: fatal error: {header}: No such file or directory", index)
    assert subject.causes[0].cause is cause
    (releases,) = (each for each in subject.causes[0].evidence if each.endswith(" has this header."))
    assert ("-2.15.0 " in releases) is there


def test_two_compilers_of_one_torch_spell_a_template_apart(index: ReleaseIndex) -> None:
    """Clang 18 writes `TnNSt9enable_if...` before the last argument of this instance, GCC only `Li0E` (Itanium ABI,
    5.1.8); the release index has GCC's. A file that is not torch's is of another release."""
    name = "_ZNK2at10TensorBase14const_data_ptrIN3c104HalfELi0EEEPKT_v"
    (of_torch,) = explain(name, Knowledge(releases=index), "libtorch_hip.so")
    assert of_torch.causes[0].cause is CauseId.TEMPLATE_MANGLING
    (other,) = explain(name, Knowledge(releases=index), "a_cuda.cpython-310-x86_64-linux-gnu.so")
    assert CauseId.TEMPLATE_MANGLING not in [cause.cause for cause in other.causes]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_each_answer_to_a_bare_message_has_evidence(part: int, index: ReleaseIndex) -> None:
    """Each sentence of evidence may need a value; a log that is cut off (`torch::`) may lack all of them. One of eight
    anchors at a time."""
    without = [
        anchor
        for anchor in [*messages_by_anchor()][part::8]
        for subject in _ask(f"RuntimeError: torch:: {anchor}", index)
        for cause in subject.causes
        if not all(cause.evidence) or not cause.evidence
    ]
    assert without == []


# --- texts of people -------------------------------------------------------------------------------------------------


def test_a_need_of_an_older_torch_is_said_once_and_of_numpy_where_it_is_used(index: ReleaseIndex) -> None:
    """Oracle: torch_scatter of 2.1.2 imports no numpy; torch_sparse of 0.6.18 imports scipy."""
    (subject,) = _ask("torch_scatter fails, I compiled PyTorch from source", index)
    assert subject.causes[0].fix.count("setuptools<70") == 1
    assert "numpy" not in subject.causes[0].fix
    (subject,) = _ask("torch_sparse fails, I compiled PyTorch from source", index)
    assert subject.causes[0].fix.count("numpy<2") == 1


def test_no_step_of_a_second_cause_is_cut(index: ReleaseIndex) -> None:
    """A line that ends with a colon is followed by the next one."""
    (subject,) = _ask("pandas \u62a5\u9519 NameError: name 's1' is not defined", index)
    second = replace(subject.causes[0], evidence=("Or another.",), fix="a\nIf it is not b:\nc\nd")
    shown = render((replace(subject, causes=(*subject.causes, second)),))
    assert "If it is not b:" in shown
    assert shown.rstrip().endswith("        c")


def test_a_torch_that_the_text_does_not_name_may_have_the_fix(index: ReleaseIndex) -> None:
    """Oracle: pytorch/pytorch issue 136504, fixed in torch 2.6.0: with it, the cache or another bug is left."""
    (subject,) = _ask("torch.compile: NameError: name 's2' is not defined", index)
    lines = subject.causes[0].fix.splitlines()
    otherwise = lines.index("If it prints 2.6 or later:")
    assert "a release before 2.6" in lines[0]
    assert lines[otherwise + 1].startswith("rm -rf ")
    assert "short script" in lines[otherwise + 2]
