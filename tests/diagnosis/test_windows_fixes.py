"""A DLL that Windows did not find: the Visual C++ runtime comes first only where nothing else is known. Oracle: what
solved the threads (nunchaku issue 534, pytorch issue 125109, Stable-Diffusion-WebUI-TensorRT issue 273)."""

from __future__ import annotations

import pytest

from abiscan.library.api import explain

LOAD = "ImportError: DLL load failed while importing {}: The specified module could not be found."
FILE = 'OSError: [WinError 126] The specified module could not be found. Error loading "C:\\v\\torch\\lib\\{}"'


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (LOAD.format("tensorrt"), "python -c"),
        (LOAD.format("_C") + "\nTorch 2.7.1+cu118", "torch 2.7.1 (cu118) has DLLs of CUDA 11.8 only"),
        (FILE.format("shm.dll"), "pip install --force-reinstall torch==2.3.1 "),
        (FILE.format("cudnn_cnn_infer64_8.dll"), "pip install --force-reinstall --no-cache-dir torch"),
        (FILE.format("c10.dll"), "Install the Microsoft Visual C++ runtime"),
        (
            "ImportError: DLL load failed: The specified module could not be found.",
            "Install the Microsoft Visual C++ runtime",
        ),
    ],
)
def test_the_first_line_of_the_fix(text: str, first: str) -> None:
    assert explain(text)[0].causes[0].fix.startswith(first)


def test_the_same_torch_for_another_cuda() -> None:
    fix = explain(LOAD.format("_C") + "\nTorch 2.7.1+cu118")[0].causes[0].fix
    assert "torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128" in fix
