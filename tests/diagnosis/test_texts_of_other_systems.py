"""Texts of Windows and macOS in the forms of public threads. Expected: what resolved the thread, or what
`llvm-readobj --coff-exports` and `llvm-objdump --exports-trie` have of torch's libraries."""

from __future__ import annotations

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.cause import CauseId
from abiscan.model.subject import Subject

# Exported by c10.dll of every release since 1.7.1.
_ALWAYS = "?tls_local_dispatch_key_set@impl@c10@@YA?AULocalDispatchKeySet@12@XZ"


def only(text: str, torch: str | None = "2.7.1") -> Subject:
    (subject,) = explain(text, ScanOptions(torch, None, LoaderSettings("/")))
    return subject


def words_of(subject: Subject) -> str:
    return "\n".join(line for cause in subject.causes for line in (*cause.evidence, cause.fix or ""))


_LATER = "?toScalarType@TypeMeta@caffe2@@QEBA?AW4ScalarType@c10@@XZ"


def test_a_listing_of_imports_reports_nothing_missing() -> None:
    """PEImports.PrettyPrint of Dependencies (-imports)."""
    text = (
        "[-] Import listing for file : C:\\e\\x.pyd\nImport from module c10.dll :\n"
        f"\t Function {_LATER}\n\t Function {_ALWAYS} (Delay Import)\n\t Ordinal_3 \n[-] Import listing done\n"
    )
    assert only(text).causes == ()


# clang++ 19 -std=c++17 --target=arm64-apple-macos13, with enable_if in the inline namespace std::__1.
_OF_CLANG = "__ZNK2at10TensorBase14const_data_ptrI{}TnNSt3__19enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS4_v"


@pytest.mark.parametrize(
    ("symbol", "accessor"),
    [
        (_OF_CLANG.format("x"), "data_ptr<int64_t>()"),
        (_OF_CLANG.format("f"), "data_ptr<float>()"),
        (_OF_CLANG.format("l"), "data_ptr<int64_t>()"),
        (_OF_CLANG.format("x").partition("IXnt")[0] + "...", "data_ptr<int64_t>()"),
    ],
)
@pytest.mark.parametrize("torch", [None, "2.8.0"])
def test_clang_18_on_macos(symbol: str, accessor: str, torch: str | None) -> None:
    """Oracles: the exports of libtorch_cpu.dylib (2.3.0 to 2.11.0: IxLi0E; since 2.12.0: IxE; data_ptr: IxE),
    and the names of clang++ 19 with and without -fclang-abi-compat=17."""
    said = "" if torch is None else f", torch {torch}"
    (subject,) = explain(
        f"symbol not found in flat namespace '{symbol}'{said}", ScanOptions(None, None, LoaderSettings("/"))
    )
    cause = subject.causes[0]
    assert cause.cause is CauseId.TEMPLATE_MANGLING
    fix = cause.fix or ""
    assert f"se {accessor}, exported by torch" in fix
    assert "-fclang-abi-compat=17" in fix
    assert ("torch 2.12.0 or later" in fix) is (torch is None and not symbol.endswith("..."))
    assert ("Replace long with int64_t" in fix) is ("IlTn" in symbol)
    words = words_of(subject)
    assert not any(word in words for word in ("GCC", "gcc", "nvcc", "NVCC", "cu1"))
