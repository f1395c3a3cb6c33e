"""The demangler that reads a name."""

from __future__ import annotations

import subprocess
import sys

import cxxfilt
import pytest

from abiscan.mangling import Demangler, demangle
from abiscan.model.imports import DemangledBy
from tests.mangling.test_cxxname import CLANG
from tests.tables import table_rows


def test_gnu_speaks_first() -> None:
    answer = Demangler().demangle("_ZN2at6TensorC1Ev")
    assert (answer.text, answer.by, answer.gnu_refused) == ("at::Tensor::Tensor()", "gnu", False)


def test_llvm_is_imported_only_when_gnu_fails() -> None:
    program = (
        "import sys; from abiscan.mangling import Demangler; d = Demangler(); "
        "assert not {'cxxfilt', 'pycxxfilt'} & set(sys.modules); "
        "[d.demangle(n) for n in ('_ZN2at6TensorC1Ev', 'printf')]; assert 'pycxxfilt' not in sys.modules; "
        "d.demangle('_Z3fo'); assert 'pycxxfilt' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_llvm_reads_what_gnu_cannot() -> None:
    answer = Demangler().demangle(CLANG)
    try:
        cxxfilt.demangle(CLANG)
    except cxxfilt.InvalidName:
        assert (answer.by, answer.gnu_refused, answer.only_llvm) == ("llvm", True, True)
    else:
        assert (answer.by, answer.gnu_refused) == ("gnu", False)  # a newer C++ runtime than that of GCC 13
    assert answer.text is not None
    assert answer.text.startswith("long const* at::TensorBase::const_data_ptr<long")


def test_without_a_demangle_llvm_serves_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = cxxfilt.DeferedErrorDemangler(cxxfilt.LibraryNotFound("none here"))
    monkeypatch.setattr(cxxfilt, "default_demangler", missing)
    monkeypatch.setattr(demangle, "_LIBSTDCXX", "libnone.so.6")
    demangler = Demangler()
    answer = demangler.demangle("_ZN2at6TensorC1Ev")
    assert not demangler.gnu_available
    assert (answer.text, answer.by, answer.only_llvm) == ("at::Tensor::Tensor()", "llvm", False)


def test_a_runtime_of_another_name_is_found_by_cxxfilt(monkeypatch: pytest.MonkeyPatch) -> None:
    own = demangle._cxa_demangle()
    monkeypatch.setattr(demangle, "_LIBSTDCXX", "libnone.so.6")
    other = demangle._cxa_demangle()
    assert own is not None
    assert other is not None
    assert "cxxfilt" in sys.modules
    for name, text in ((b"_ZN2at6TensorC1Ev", b"at::Tensor::Tensor()"), (b"_Z3fo", None)):
        assert own(name) == other(name) == text


def test_neither() -> None:
    demangler = Demangler()
    answers = [demangler.demangle(name) for name in ("_Z3fo", "_ZN2at6Tensor", "printf", "_ZGVbN4v_sinf")]
    assert [answer.mangled for answer in answers if answer.neither] == ["_Z3fo", "_ZN2at6Tensor"]
    assert all(answer.by is DemangledBy.NONE and answer.text is None for answer in answers)


@table_rows
def test_names_of_other_languages_do_not_count_as_unread(name: str) -> None:
    assert not Demangler().demangle(name).neither


def test_versions_and_suffixes_stay() -> None:
    demangler = Demangler()
    assert demangler.demangle("_ZNSsC1Ev@GLIBCXX_3.4").text == "std::string::string()@GLIBCXX_3.4" or (
        demangler.demangle("_ZNSsC1Ev@GLIBCXX_3.4").text or ""
    ).endswith("@GLIBCXX_3.4")
    assert demangler.demangle("__ZN2at3mps9MPSStream6commitEb").text == "at::mps::MPSStream::commit(bool)"


def test_long_names_reach_no_native_demangler_before_our_parser_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[bytes] = []

    def record(name: bytes) -> bytes:
        handed.append(name)
        return b"text"

    monkeypatch.setattr(demangle, "_cxa_demangle", lambda: record)
    demangler = Demangler()
    assert demangler.demangle("_Z1f" + "P" * 5000 + "i").text is None
    assert handed == []
    assert demangler.demangle("_Z1f" + "i" * 2000).text == "text"
