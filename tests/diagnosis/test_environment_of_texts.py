"""What the environment in a text decides. Oracle: what solved or explained the threads named at each case."""

from __future__ import annotations

import pytest

from abiscan.library.api import explain
from abiscan.model.cause import CauseId, Confidence
from abiscan.model.subject import Subject

BLOCK = "PyTorch version: {torch}\n[pip3] torchaudio=={audio}\nunable to load torchaudio"
NCCL = "ImportError: /e/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister"
DRIVER = "OSError: libcuda.so.1: cannot open shared object file: No such file or directory"
CUDNN_SYMBOL = "Invalid handle. Cannot load symbol cudnnCreateTensorDescriptor"


def _first(text: str) -> Subject:
    return explain(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        BLOCK.format(torch="2.1.0", audio="2.1.0"),
        "PyTorch version: 2.3.0\n[pip3] torchaudio==2.1.0",  # no failure
        "torchaudio==2.1.0 fails",  # no torch
    ],
)
def test_versions_alone_decide_nothing(text: str) -> None:
    assert not any(subject.message == "companion-beside-other-torch" for subject in explain(text))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        # elgiano/nn.ar issue 1: a plug-in of a program without Python
        (
            "dlopen(/x/RAVE/a.scx, 0x0002): Library not loaded: @rpath/libc10.dylib\n  Referenced from: /x/RAVE/a.scx",
            CauseId.LIBRARY_MISSING,
        ),
        ("Library not loaded: @rpath/libc10.dylib", CauseId.IMPORT_TORCH_FIRST),
    ],
)
def test_a_plug_in_is_no_module_of_python(text: str, cause: CauseId) -> None:
    first = _first(text).causes[0]
    assert first.cause is cause
    assert cause is CauseId.LIBRARY_MISSING or first.confidence is Confidence.MEDIUM


@pytest.mark.parametrize(
    "text",
    [
        # facebookresearch/detectron2 issue 3683: another variant of the same time lacks it, too
        "ImportError: libtorch_cuda_cu.so: cannot open shared object file: No such file or directory",
        # P3AFormer issue 8: the torch of the build is not that of the run
        "pip install torch==1.4\nImportError: /x/_ext.cpython-38.so: undefined symbol: THPVariableClass",
    ],
)
def test_what_a_text_does_not_decide_has_no_high_confidence(text: str) -> None:
    assert _first(text).causes[0].confidence is not Confidence.HIGH


@pytest.mark.parametrize(
    ("dll", "torch"), [("cudnn_cnn_infer64_8.dll", '"torch<2.4"'), ("cudnn_ops64_9.dll", "torch --index-url")]
)
def test_cudnn_beside_another_library_of_windows(dll: str, torch: str) -> None:
    """byjlw/video-analyzer issue 54: the symbol is cuDNN's own report of the missing DLL, no second failure. The builds
    of torch contain cuDNN 9 since 2.4."""
    subjects = explain(f"Could not locate {dll}. Please make sure it is in your library path!\n{CUDNN_SYMBOL}")
    assert [subject.message for subject in subjects] == ["library-not-located"]
    assert torch in (subjects[0].causes[0].fix or "")


def test_two_releases_of_nccl_write_one_folder() -> None:
    """rwth-i6/returnn issue 1802: uninstalled nvidia-nccl-cu11."""
    text = f"{NCCL}\n[pip3] nvidia-nccl-cu11==2.14.3\n[pip3] nvidia-nccl-cu12==2.20.5"
    assert (_first(text).causes[0].fix or "").startswith("pip uninstall -y nvidia-nccl-cu11 ")
    assert "uninstall" not in (_first(f"{NCCL}\n[pip3] nvidia-nccl-cu12==2.20.5").causes[0].fix or "")


def test_the_driver_of_wsl_is_that_of_windows() -> None:
    """microsoft/WSL issue 8587, NVIDIA/cuda-python issue 17: its folder is not searched."""
    assert "/usr/lib/wsl/lib" in (_first(DRIVER).causes[0].fix or "").splitlines()[-1]
    fix = _first(f"{DRIVER}\nLinux-5.15.90.1-microsoft-standard-WSL2-x86_64").causes[0].fix or ""
    assert fix.startswith("export LD_LIBRARY_PATH=/usr/lib/wsl/lib:")
    assert "Install the NVIDIA driver" not in fix


def test_a_program_without_a_name_has_none_in_the_answer() -> None:
    program = "error while loading shared libraries: libtorch.so: cannot open shared object file: No such file"
    assert any(each.startswith("A program without Python") for each in _first(program).causes[0].evidence)
