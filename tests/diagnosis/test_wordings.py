"""Messages of programs, with the cause that follows from the message alone: `data/wordings.toml`. `data/texts.toml` has
the forms of texts; `reported.py` has real threads."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from abiscan.diagnosis import Knowledge, explain
from abiscan.diagnosis.messages.find_log_facts import log_facts
from abiscan.model.cause import CauseId
from abiscan.releases import ReleaseIndex
from tests.diagnosis.oracles import read_elf
from tests.diagnosis.reported import knowledge_of_text

_UNUSABLE, _FIRST = CauseId.UNUSABLE_FILE, CauseId.IMPORT_TORCH_FIRST
_OLDER, _NEWER = CauseId.BUILT_FOR_OLDER_TORCH, CauseId.BUILT_FOR_NEWER_TORCH
_ROWS = tomllib.loads(Path(__file__).with_name("data").joinpath("wordings.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("cause", "text"), [row for source in _ROWS["source"] for row in source["messages"]])
def test_the_cause_that_the_words_tell(cause: str, text: str, index: ReleaseIndex) -> None:
    subject, *_ = explain(text, knowledge_of_text(text, index))
    assert subject.causes[0].cause == cause, [str(each.cause) for each in subject.causes]


def test_a_release_without_wheels_for_the_python_is_excluded(nothing: Knowledge) -> None:
    """Wheels for CPython 3.8 end with torch 2.4.1 (package index): a symbol that was removed after 2.6.0 still
    existed."""
    text = (
        "/x/_C.cpython-38-x86_64-linux-gnu.so: undefined symbol: _ZN5torch7LibraryC1ENS0_4KindESsSt8optionalIN3c10"
        "11DispatchKeyEEPKcj"
    )
    (subject,) = explain(text, nothing)
    causes = [cause.cause for cause in subject.causes]
    assert causes.index(_NEWER) < causes.index(_OLDER)
    older = subject.causes[causes.index(_OLDER)]
    assert "Against it: no release after 2.6.0 has wheels for CPython 3.8, which loads it." in older.evidence


def test_c_libraries_differ(nothing: Knowledge) -> None:
    """Symbols of glibc are exported by this machine's glibc (its symbol table); symbols of compiler runtimes are not
    among them."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    library = next(line.split()[-1] for line in maps.splitlines() if line.endswith("/libc.so.6"))
    glibc = read_elf(Path(library).read_bytes()).exports
    for name in (
        "__vsnprintf_chk",
        "backtrace",
        "mallinfo",
        "__register_atfork",
        "__isnan",
        "getcontext",
        "__fdelt_chk",
    ):
        assert name in glibc
        (subject,) = explain(f"Error relocating /x/_C.so: {name}: symbol not found", nothing)
        assert subject.causes[0].cause is _UNUSABLE
        assert subject.message == "musl-glibc-symbol"
    for name in ("__once_proxy", "__cxa_throw", "__divti3", "__cudaRegisterFunction", "__kmpc_fork_call", "mine"):
        assert name not in glibc
        (subject,) = explain(f"Error relocating /x/_C.so: {name}: symbol not found", nothing)
        assert _UNUSABLE not in [cause.cause for cause in subject.causes]


def test_what_is_too_far_apart_is_not_missing(nothing: Knowledge) -> None:
    """`relocation truncated to fit` (GNU ld): the linked file is larger than the reach of its relocations; the named
    symbol is not the problem."""
    text = "(.init+0x7): relocation truncated to fit: R_X86_64_REX_GOTPCRELX against undefined symbol `__gmon_start__'"
    (subject,) = explain(text, nothing)
    assert "__gmon_start__" not in subject.text.split()
    assert subject.causes[0].cause is _UNUSABLE


def test_a_word_in_a_compiler_message_is_not_a_symbol(nothing: Knowledge) -> None:
    """`cudnn_enabled` has the form of cuDNN names; here it is a parameter of a function in a source."""
    assert not explain("x.h:27:122: error: \u2018cudnn_enabled\u2019 was not declared in this scope", nothing)
    assert not explain("clang++: error: no such argument\nPyTorch version not found", nothing)


def test_the_cuda_of_a_toolkit_is_not_that_of_torch(nothing: Knowledge) -> None:
    """torch/utils/cpp_extension.py, CUDA_MISMATCH_MESSAGE: both numbers are CUDA releases."""
    text = (
        "The detected CUDA version (12.4) mismatches the version that was used to compile\n"
        "PyTorch (11.8). Please make sure to use the same CUDA versions."
    )
    assert log_facts(text).torch is None


def test_a_kernel_that_somebody_wrote_is_not_torch_compiles(nothing: Knowledge) -> None:
    text = "triton.compiler.errors.CompilationError: at 12:14: NameError('tl is not defined')"
    assert not explain(text, nothing)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cudaGetDriverEntryPointByVersion", "CUDA 12.5-13.5 exports it"),
        ("cusparseScsrgemm2", "CUDA 11.7-11.8 exports it"),
        ("ncclCommWindowRegister", "NCCL 2.27-2.32 exports it"),
        ("cudaMallocHost", "Every known release of the CUDA runtime"),
        ("cudaSetupArgument", "No known release"),
        ("cuTensorMapEncodeTiled", "Drivers for CUDA 12.0 and later export it"),
    ],
)
def test_which_releases_of_cuda_have_a_name(name: str, said: str, nothing: Knowledge) -> None:
    """By `nm -D` of the libraries in NVIDIA's wheels, and cudaTypedefs.h of the toolkit (`_v12000`)."""
    (subject,) = explain(f"/x/_C.so: undefined symbol: {name}", nothing)
    evidence = [line for cause in subject.causes for line in cause.evidence]
    assert any(said in line for line in evidence)
