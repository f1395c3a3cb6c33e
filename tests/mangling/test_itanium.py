"""The parser reads names of compilers, with the same text as LLVM's demangler (oracle: pycxxfilt)."""

from __future__ import annotations

import cxxfilt
import pycxxfilt
import pytest

from abiscan.mangling import NameKind, classify, parse
from tests.mangling.compiled import rows
from tests.tables import table_rows
from tests.torch_here import exported

# Names that LLVM 23 reads incorrectly or rejects, with the reason.
NOT_BY_LLVM = {
    # A conversion operator to a template of its own parameter: nested arguments are rejected.
    "_ZNK2at10TensorBasecvSt6vectorIT_SaIS2_EEIlEEv",
    # The base class of an inheriting constructor is a <type>, so later references count it; LLVM does not.
    "_ZN1n1JCI1NS_1IEIiEET_PS3_",
    "_ZN1n1JCI2NS_1IEIiEET_PS3_",
    "_ZN1n1JCI5NS_1IEIiEET_PS3_",
    # The same from Clang, which counts it in a third way; LLVM's text has the wrong parameter, as ours has.
    "_ZN1n1JCI2NS_1IEIiEET_PS1_",
}


def llvm(name: str) -> str | None:
    try:
        return pycxxfilt.itanium_demangle(name).replace(" ", "")
    except ValueError:
        return None


def display(name: str) -> str | None:
    parsed = parse(name)
    return None if parsed is None else parsed.display.replace(" ", "")


@pytest.mark.parametrize("name", [name for _, name in rows() if name not in NOT_BY_LLVM])
def test_compiled_names_read_as_llvm_reads_them(name: str) -> None:
    expected = llvm(name)
    if expected is None:
        # Clang's lambdas with internal linkage (`$_0`): LLVM rejects those with arguments.
        assert "$_0" in name
    else:
        assert display(name) == expected


@pytest.mark.parametrize("name", sorted(NOT_BY_LLVM))
def test_names_that_llvm_misreads_are_still_read(name: str) -> None:
    assert parse(name) is not None


@pytest.mark.torch
@pytest.mark.parametrize("library", ["libc10.so", "libtorch_python.so", "libshm.so"])
def test_torch_exports_read_as_llvm_reads_them(library: str) -> None:
    names = [name for name in exported(library) if classify(name) is NameKind.CXX]
    assert {name: display(name) for name in names} == {name: llvm(name) for name in names}


@pytest.mark.torch
def test_a_sample_of_libtorch_cpu_reads_as_llvm_reads_it() -> None:
    names = [name for name in exported("libtorch_cpu.so") if classify(name) is NameKind.CXX][::25]
    assert len(names) > 1500
    # If LLVM rejects a name, GNU's demangler must accept it: one of 9 names of 2.13.0 may be in the sample.
    refused = [name for name in names if llvm(name) is None]
    assert all(parse(name) is not None and cxxfilt.demangle(name) for name in refused)
    kept = [name for name in names if name not in refused]
    assert {name: display(name) for name in kept} == {name: llvm(name) for name in kept}


@table_rows
def test_rare_productions(name: str) -> None:
    """Names made up from the grammar; the parser need not read those that LLVM rejects."""
    expected = llvm(name)
    if expected is not None:
        assert display(name) == expected
