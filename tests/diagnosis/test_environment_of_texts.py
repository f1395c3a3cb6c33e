"""What the environment in a text decides. Oracle: what solved or explained the threads named at each case."""

from __future__ import annotations

import pytest

from abiscan.library.api import explain
from abiscan.model.cause import CauseId, Confidence
from abiscan.model.subject import Subject

JIT = (
    '  File "C:\\e\\site-packages\\torch\\utils\\cpp_extension.py", line 1844, in _import_module_from_library\n'
    "    module = importlib.util.module_from_spec(spec)\n"
    "ImportError: DLL load failed: The specified module could not be found."
)
BLOCK = "PyTorch version: {torch}\n[pip3] torchaudio=={audio}\nunable to load torchaudio"
NCCL = "ImportError: /e/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister"
DRIVER = "OSError: libcuda.so.1: cannot open shared object file: No such file or directory"
CUDNN_SYMBOL = "Invalid handle. Cannot load symbol cudnnCreateTensorDescriptor"
NO_TOOLKIT = "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root."


def _first(text: str) -> Subject:
    return explain(text)[0]


@pytest.mark.parametrize(
    ("torch", "audio", "cause"),
    [
        ("1.12.0a0+2c916ef.nv22.3", "0.12.0", CauseId.DISTRIBUTION_VARIANT),  # pytorch/audio issue 2731
        ("2.3.0", "2.1.0", CauseId.BUILT_FOR_OLDER_TORCH),
        ("2.0.1", "2.1.0", CauseId.BUILT_FOR_NEWER_TORCH),
    ],
)
def test_a_companion_of_another_torch(torch: str, audio: str, cause: CauseId) -> None:
    subject = _first(BLOCK.format(torch=torch, audio=audio))
    assert (subject.message, subject.causes[0].cause) == ("companion-beside-other-torch", cause)


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


def test_a_module_that_torch_compiled_has_imported_torch() -> None:
    """hikvision-research/SparseShiftLayer issue 2: the toolkit's DLLs, not the C++ runtime or `import torch`."""
    causes = _first(JIT).causes
    assert "torch.version.cuda" in (causes[0].fix or "")
    assert CauseId.IMPORT_TORCH_FIRST not in [cause.cause for cause in causes]


def test_a_release_on_windows_does_not_tell_its_cuda() -> None:
    """gmh14/tssplat issue 10: torch 2.4.1 for Windows is published for the CPU and three releases of CUDA."""
    load = "ImportError: DLL load failed while importing foo_ext: The specified module could not be found.\n"
    assert "has DLLs of CUDA" not in (_first(load + "PyTorch 2.4.1").causes[0].fix or "")
    assert "has DLLs of CUDA 12.4 only" in (_first(load + "torch 2.4.1+cu124").causes[0].fix or "")


def test_a_variable_that_the_text_sets_is_not_set_again() -> None:
    """jniehues-kit/SLT.KIT issue 2: the build ignored it."""
    assert _first(NO_TOOLKIT).causes[0].cause is CauseId.LIBRARY_MISSING
    causes = _first(f"RUN export CUDA_HOME=/usr/local/cuda && python setup.py install\n{NO_TOOLKIT}").causes
    assert (causes[0].cause, causes[0].confidence) == (CauseId.CUDA_BUILD_REQUIRED, Confidence.MEDIUM)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("a.obj : error LNK2001: unresolved external symbol cudaLaunch", "cudart.lib"),
        ("a.obj : error LNK2001: unresolved external symbol __imp_THCudaTensor_checkGPU", "torch_cuda.lib"),
        # pytorch/builder pull request 661
        (
            'error LNK2001: unresolved external symbol "int at::cuda::warp_size(void)" (?warp_size@cuda@at@@YAHXZ)',
            "torch_cuda_cpp.",
        ),
        ("/usr/bin/ld: a.o: undefined reference to `cudaLaunch'", "-lcudart"),
    ],
)
def test_a_linker_is_given_libraries_in_its_own_words(text: str, command: str) -> None:
    cause = _first(text).causes[0]
    assert (cause.cause, command in (cause.fix or "")) == (CauseId.LIBRARY_NOT_LINKED, True)


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


def test_gcc_of_macos_names_another_standard_library() -> None:
    """parlance/ctcdecode issue 208: torch for macOS is built with libc++, whose names contain std::__1."""
    name = "__ZN5torch3jit17parseSchemaOrNameERKSs"
    cause = _first(f"ImportError: dlopen(/e/x_ext.so, 2): Symbol not found: {name}").causes[0]
    assert (cause.cause, "CC=clang" in (cause.fix or "")) == (CauseId.CXX11_ABI_MISMATCH, True)


def test_a_program_without_a_name_has_none_in_the_answer() -> None:
    program = "error while loading shared libraries: libtorch.so: cannot open shared object file: No such file"
    assert any(each.startswith("A program without Python") for each in _first(program).causes[0].evidence)
