"""The parser reads names of compilers, with the same text as LLVM's demangler (oracle: pycxxfilt)."""

from __future__ import annotations

import cxxfilt
import pycxxfilt
import pytest

from abiscan.mangling import NameKind, classify, parse
from tests.mangling.compiled import rows
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


@pytest.mark.parametrize(
    "name",
    [
        # <special-name>
        "_ZTVN5torch3jit6MethodE",
        "_ZTTSt18basic_stringstreamIcSt11char_traitsIcESaIcEE",
        "_ZTC1D0_1C",
        "_ZTv0_n24_N1D1fEv",
        "_ZTch0_v0_n24_N1D1gEv",
        "_ZTHN3c104impl26raw_local_dispatch_key_setE",
        "_ZTWN3c104impl26raw_local_dispatch_key_setE",
        "_ZGVZN3c104impl3fooEvE1x",
        "_ZGRN1a1bE_",
        "_ZGRN1a1bE0_",
        "_ZTAXtl1SLi1EEE",
        "_ZGIW3foo",
        # modules, member-like friends, explicit objects, structured bindings
        "_ZW3fooW3bar1fv",
        "_ZW3fooWP3bar1fv",
        "_ZN1SF1fEv",
        "_ZNH1S1fES_",
        "_ZDC1a1bE",
        # types
        "_Z1fDv4_fDv_T_",
        "_Z1fDB8_DU16_DF16_DF16b",
        "_Z1fu10__somethingIiE",
        "_Z1fU8__vectorf",
        "_Z1fPU3AS1i",
        "_Z1fM1AKFivRE",
        "_Z1fPDoFvvEPDOLb1EEFvvEPDwiEFvvE",
        "_Z1fA3_A4_iRA5_KS_",
        "_Z1fIiEvDTcl1gfp_EE",
        "_Z1fCdGf",
        # template parameters' declarations
        "_Z1fITpTnPA3_iJXadL_Z1aEEEEvv",
        "_Z1fITk1CiEvv",
        "_Z1fITtTyTnT_E3FooEvv",
        # expressions
        "_Z1fIiEv1AIXsZT_EE",
        "_Z1fIJicEEv1AIXsZT_EE",
        "_Z1fIJicEEv1AIXsPDpT_EEE",
        "_Z1fIiEv1AIXgssr1a1bE",
        "_Z1fIiEvDTnw_T_EE",
        "_Z1fIiEvDTgsnw_T_pifp_EE",
        "_Z1fIiEvDTdafp_E",
        "_Z1fILe3fff8000000000000000EEvv",
        "_Z1fILd3ff8000000000000EEvv",
        "_Z1fILf00000001EEvv",
        "_Z1fILd0000000000000001EEvv",
        "_Z1fILd8000000000000000EEvv",
        "_Z1fILfff800000EEvv",
        "_Z1fIXtl1Adi1xLi1EEEEvv",
        "_Z1fIXtl1Adi1xdxLi2ELi1EEEEvv",
        "_Z1fIXtl1AdXLi0ELi9ELi1EEEEvv",
        "_Z1fILA4_KcEEvv",
        "_Z1fIXadsoKcL_Z1aE4_EEvv",
        "_Z1fIXLDnEEEvv",
        "_Z1fIiEDTquLb1ELi1ELi2EET_",
        "_Z1fIiEDTds1a1bET_",
        # operator precedence
        "_ZN1n1gIlXntstlEEEvv",
        "_ZN1n1gIlXntticEEEvv",
        "_ZN1n1gIlXntpp_Lx9EEEEvv",
        "_ZN1n1gIlXnttlfEEEEvv",
        "_Z1fIiEDTdladLc5EET_",
        "_Z1fIiEDTpp_tiiET_",
        "_Z1fIiEDTgsnw_1BIfEpiEET_",
        "_Z1fIXrQv_XtrEEEvv",
        "_Z1fIJiEEDTsZfp_EDpT_",
        "_Z1fIXsocLx9En8EEEvv",
        # suffixes
        "_Z1fv.cold",
        "_Z1fv.isra.0.constprop.1",
    ],
)
def test_rare_productions(name: str) -> None:
    """Names made up from the grammar; the parser need not read those that LLVM rejects."""
    expected = llvm(name)
    if expected is not None:
        assert display(name) == expected
