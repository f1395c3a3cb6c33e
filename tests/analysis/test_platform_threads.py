"""Symbols of public threads about Windows and macOS: they are looked up in the builds for that system. Of the first,
`llvm-readobj --coff-exports` finds the symbol in c10.dll of 2.4.1 and not of 2.6.0. A torch and a cause are given where
the thread has them."""

from __future__ import annotations

import pytest

from abiscan.analysis.explanation import explain_text
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings

_DYLD = "OSError: dlopen(/e/x.so, 0x0006): Symbol not found: {}\n  Referenced from: <F096> /e/x.so\n  Expected in: {}"
_CPU = "<F444> /e/torch/lib/libtorch_cpu.dylib"
_OF_ATEN = (
    "__ZN2at4_ops6conv1d4callERKNS_6TensorES4_RKN3c108optionalIS2_EENS5_8ArrayRefIxEENSA_INS5_6SymIntEEESB_x",
    "__ZN2at8internal15invoke_parallelExxxRKNSt3__18functionIFvxxEEE",
)
_METHOD = (
    "__ZN5torch3jit6MethodclENSt3__16vectorIN3c106IValueENS2_9allocatorIS5_EEEERKNS2_13unordered_mapINS2_12basic_string"
    "IcNS2_11char_traitsIcEENS6_IcEEEES5_NS2_4hashISE_EENS2_8equal_toISE_EENS6_INS2_4pairIKSE_S5_EEEEEE"
)


@pytest.mark.parametrize(
    ("text", "torch", "exported_in", "cause"),
    [
        pytest.param(
            'error LNK2019: unresolved external symbol "private: static struct c10::UndefinedTensorImpl '
            'c10::UndefinedTensorImpl::_singleton" (?_singleton@UndefinedTensorImpl@c10@@0U12@A) referenced in f',
            *("2.2.1", "1.7.1-2.4.1", "library-not-linked"),
            id="pytorch/pytorch#122707",
        ),
        pytest.param(
            'LNK2001 unresolved external symbol "__declspec(dllimport) class std::tuple<class at::Tensor,class '
            'at::Tensor> __cdecl at::lstsq(class at::Tensor const &,class at::Tensor const &)" '
            "(__imp_?lstsq@at@@YA?AV?$tuple@VTensor@at@@V12@@std@@AEBVTensor@1@0@Z)",
            *(None, "1.7.1-1.12.1", None),
            id="pytorch/pytorch#46318",
        ),
        pytest.param(
            "OSError: dlopen(/e/torchaudio/_torchaudio.so, 6): Symbol not found: __Z16THPVariable_WrapN2at6TensorE",
            *(None, "1.8.0-1.9.0", None),
            id="pytorch/audio#2035",
        ),
        pytest.param(_DYLD.format(_OF_ATEN[1], _CPU), None, "1.11.0-2.2.0", None, id="haoheliu/AudioLDM2#28"),
        pytest.param(_DYLD.format(_OF_ATEN[0], _CPU), None, "2.1.0-2.1.2", None, id="rsxdalv/TTS-WebUI#251"),
        pytest.param(
            _DYLD.format(_METHOD, "/usr/local/Cellar/libtorch/1.10.0/lib/libtorch_cpu.dylib"),
            *("1.10.0", "1.8.0-1.9.0", "built-for-older-torch"),
            id="VOICEVOX/voicevox_engine#193",
        ),
    ],
)
def test_a_thread(text: str, torch: str | None, exported_in: str, cause: str | None) -> None:
    (subject,) = explain_text(text, ScanOptions(torch, None, LoaderSettings("/"))).subjects
    assert subject.exported_in is not None
    assert subject.exported_in.text() == exported_in
    assert cause in (None, subject.causes[0].cause.value)
