"""Messages of programs, with the cause that follows from the message alone: `data/wordings.toml`. `data/texts.toml` has
the forms of texts; `reported.py` has real threads."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.text.find_log_facts import log_facts
from abiscan.model.cause import CauseId
from abiscan.releases import ReleaseIndex
from tests.diagnosis.explained import explain
from tests.diagnosis.oracles import read_elf
from tests.diagnosis.reported import explain_text

_UNUSABLE, _FIRST = CauseId.UNUSABLE_FILE, CauseId.IMPORT_TORCH_FIRST
_OLDER, _NEWER = CauseId.BUILT_FOR_OLDER_TORCH, CauseId.BUILT_FOR_NEWER_TORCH
_ROWS = tomllib.loads(Path(__file__).with_name("data").joinpath("wordings.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("cause", "text"), [row for source in _ROWS["source"] for row in source["messages"]])
def test_the_cause_that_the_words_tell(cause: str, text: str, index: ReleaseIndex) -> None:
    subject, *_ = explain_text(text, index)
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
    of_glibc = ("__vsnprintf_chk", "backtrace", "mallinfo", "__register_atfork", "__isnan", "getcontext", "__fdelt_chk")
    for name in of_glibc:
        assert name in glibc
        (subject,) = explain(f"Error relocating /x/_C.so: {name}: symbol not found", nothing)
        assert subject.causes[0].cause is _UNUSABLE
        assert subject.message == "musl-glibc-symbol"
    for name in ("__once_proxy", "__cxa_throw", "__divti3", "__cudaRegisterFunction", "__kmpc_fork_call", "mine"):
        assert name not in glibc
        (subject,) = explain(f"Error relocating /x/_C.so: {name}: symbol not found", nothing)
        assert _UNUSABLE not in [cause.cause for cause in subject.causes]


def test_the_cuda_of_a_toolkit_is_not_that_of_torch(nothing: Knowledge) -> None:
    """torch/utils/cpp_extension.py, CUDA_MISMATCH_MESSAGE: both numbers are CUDA releases."""
    text = (
        "The detected CUDA version (12.4) mismatches the version that was used to compile\n"
        "PyTorch (11.8). Please make sure to use the same CUDA versions."
    )
    assert log_facts(text).torch is None
