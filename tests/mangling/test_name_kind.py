"""The mangling convention of a name."""

from __future__ import annotations

import pytest

from abiscan.mangling import NameKind, classify
from tests.torch_here import exported


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("_ZN2at6TensorC1Ev", NameKind.CXX),
        ("_Z", NameKind.CXX),
        ("_ZN2at6Tensor", NameKind.CXX),
        # glibc's libmvec, SLEEF (with parameters and without), AArch64 Advanced SIMD and SVE
        ("_ZGVbN2v_sin", NameKind.VECTOR_ABI),
        ("_ZGVeN16vv_powf", NameKind.VECTOR_ABI),
        ("_ZGVdN4vl8l8_sincos", NameKind.VECTOR_ABI),
        ("_ZGVeN16_Sleef_modff", NameKind.VECTOR_ABI),
        ("_ZGVnN4v_sinf", NameKind.VECTOR_ABI),
        ("_ZGVsMxv_sinf", NameKind.VECTOR_ABI),
        # guard variables
        ("_ZGVZN3c104impl3fooEvE1x", NameKind.CXX),
        ("_ZGVN1a1bE", NameKind.CXX),
        ("_ZGVb", NameKind.CXX),
        ("printf", NameKind.C),
        ("", NameKind.C),
        ("_init", NameKind.C),
        ("_D", NameKind.C),
        ("_R", NameKind.C),
        ("_RNvC6mycrate3foo", NameKind.RUST),
        ("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", NameKind.RUST),
        ("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE.llvm.1234", NameKind.RUST),
        # 17h..., but not a hash
        ("_ZN2at17hello_world_names1fEv", NameKind.CXX),
        ("_D3std5stdio8__T7writeln", NameKind.D),
        ("$s4main3fooyyF", NameKind.SWIFT),
        ("_$s4main3fooyyF", NameKind.SWIFT),
        ("?f@@YAXXZ", NameKind.MSVC),
        ("__imp_?THPVariable_Wrap@@YAPEAU_object@@VTensorBase@at@@@Z", NameKind.MSVC),
        ("__ZN2at3mps9MPSStream6commitEb", NameKind.MACHO),
    ],
)
def test_classify(name: str, kind: NameKind) -> None:
    assert classify(name) is kind


@pytest.mark.torch
def test_the_vector_functions_of_libtorch() -> None:
    """libtorch_cpu 2.13.0 exports 675 names of SLEEF's vector functions; GNU nm demangles none of them."""
    vector = [name for name in exported("libtorch_cpu.so") if classify(name) is NameKind.VECTOR_ABI]
    assert len(vector) == 675
    assert all("_Sleef_" in name or name[name.index("_", 5) + 1 :].isidentifier() for name in vector)
