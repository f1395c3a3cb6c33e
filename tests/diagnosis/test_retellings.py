"""Reports as people retell them, in English and Chinese: torch built from source with prebuilt extensions, HIP's
`__ldg` without an overload for c10::Half, a symbol that only Clang makes, a kernel of TorchInductor with an undefined
size, and a pybind11 function under Dynamo. Oracle: what the sentences say; pytorch_scatter issue 412."""

from __future__ import annotations

import pytest

from abiscan.analysis.explanation import explain
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.cause import CauseId, Confidence
from abiscan.report.explain_text import render

_OPTIONS = ScanOptions(None, None, LoaderSettings("/"))


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("源码编译 torch 后 torchvision::nms does not exist", '"git+https://github.com/pytorch/vision.git"'),
        (
            "I built torch 2.1.0 from source. RuntimeError: operator torchvision::nms does not exist",
            '"git+https://github.com/pytorch/vision.git@release/0.16"',
        ),
        (
            "torchaudio and torchvision wheels mismatch, torch 2.1.0 built from source",
            '"git+https://github.com/pytorch/audio.git@release/2.1" '
            '"git+https://github.com/pytorch/vision.git@release/0.16"',
        ),
        (
            "torch 2.1.0 源码编译, torch-scatter: The detected CUDA version (12.0) mismatches the version that was "
            "used to compile PyTorch (11.8). Please make sure to use the same CUDA versions.",
            "build torch from source again with CUDA 12.0",
        ),
    ],
)
def test_a_source_build_is_not_replaced(text: str, fix: str) -> None:
    """Oracle: the tables of releases in the README of pytorch/vision and in the documentation of torchaudio."""
    (subject,) = explain(text, _OPTIONS)
    assert fix in subject.causes[0].fix
    assert all(" torch==" not in each.fix and "force-reinstall torch " not in each.fix for each in subject.causes[:1])


def test_a_source_build_on_a_dcu() -> None:
    """Oracle: the text says that this torch is a source build; the build of extensions is for it."""
    (subject,) = explain("海光DCU, torch 2.1.0 源码编译, torch-scatter 版本不匹配", _OPTIONS)
    assert "torch must be Hygon's" not in subject.causes[0].fix
    assert subject.causes[0].fix.splitlines()[-1].startswith("or, instead of this torch, install Hygon's builds")


def test_no_gpu_of_hip() -> None:
    """Oracle: rocm.docs.amd.com, installation prerequisites (groups) and containers (devices)."""
    (subject,) = explain("torch-1.13.0+rocm5.2: RuntimeError: No HIP GPUs are available", _OPTIONS)
    assert "/dev/kfd" in subject.causes[0].fix
    assert not any(word in each.fix for each in subject.causes for word in ("nvidia", "NVIDIA", "--gpus"))


def test_a_need_of_an_older_torch_is_said_once_and_of_numpy_where_it_is_used() -> None:
    """Oracle: torch_scatter of 2.1.2 imports no numpy; torch_sparse of 0.6.18 imports scipy."""
    (subject,) = explain("torch_scatter fails, I compiled PyTorch from source", _OPTIONS)
    assert subject.causes[0].fix.count("setuptools<70") == 1
    assert "numpy" not in subject.causes[0].fix
    (subject,) = explain("torch_sparse fails, I compiled PyTorch from source", _OPTIONS)
    assert subject.causes[0].fix.count("numpy<2") == 1


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            "posix.getpid",
            "Attempted to call function marked as skipped\n  Developer debug context: module: posix, qualname: getpid",
        ),
        (
            "_warnings.warn",
            "Dynamo does not know how to trace the builtin `_warnings.warn.` This function is either a Python builtin "
            "(e.g. _warnings.warn) or a third-party C/C++ Python extension (perhaps created with pybind).",
        ),
    ],
)
def test_a_function_of_python_is_moved_out_of_the_graph(function: str, text: str) -> None:
    """Oracle: torch 2.13 runs the function outside of the graph; these modules are in sys.stdlib_module_names."""
    (subject,) = explain(text, _OPTIONS)
    (cause,) = subject.causes
    assert cause.confidence is not Confidence.HIGH
    assert cause.fix.startswith(f"Call {function} outside of the compiled function")
    assert "custom_op" not in cause.fix
    assert "does not name" not in cause.fix


def test_another_word_after_the_message_is_no_function() -> None:
    (subject,) = explain("Attempted to call function marked as skipped in my_script", _OPTIONS)
    assert "my_script" not in subject.text


def test_graph_mode_is_not_the_first_advice_without_a_function() -> None:
    (subject,) = explain("vllm torch._dynamo.exc.Unsupported: Attempted to call function marked as skipped", _OPTIONS)
    lines = subject.causes[0].fix.splitlines()
    assert lines[0].startswith("The text does not name the function.")
    assert "enforce_eager=True" in lines[1]


_CLANG_NAME = "_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v"


def test_headers_without_the_constraint() -> None:
    """Oracle: ATen/core/TensorBase.h of torch 2.12.0 declares the template without std::enable_if_t."""
    text = "built with clang, undefined symbol const_data_ptr, it works with g++, torch 2.12.0"
    (subject,) = explain(text, _OPTIONS)
    assert any("built against headers of torch 2.3.0-2.11.0" in each for each in subject.causes[0].evidence)


def test_the_demangler_that_reads_a_name_of_clang() -> None:
    """Oracle: llvm-cxxfilt-14 prints the name as it is, llvm-cxxfilt-19 reads it."""
    (subject,) = explain(f"undefined symbol: {_CLANG_NAME}", _OPTIONS)
    assert subject.notes[0].endswith("llvm-cxxfilt of LLVM 19 can.")


@pytest.mark.parametrize(
    "text",
    [
        "undefined symbol at::TensorBase::const_data_ptr when importing flashinfer",
        "undefined symbol: at::TensorBase::const_data_ptr",
        "flashinfer 报错找不到符号 TensorBase::const_data_ptr",
    ],
)
def test_a_template_without_arguments_is_one_problem(text: str) -> None:
    """Oracle: nm -D of libtorch_cpu.so 2.13 has 52 names of this template: nothing in the text chooses one."""
    (subject,) = explain(text, _OPTIONS)
    assert subject.text == "const_data_ptr"
    assert "Float8" not in str(subject.causes)
    assert subject.causes[0].fix.startswith("abiscan FILE  # FILE: the .so of the message")


def test_a_template_with_arguments_is_that_symbol() -> None:
    (subject,) = explain("undefined symbol: long const* at::TensorBase::const_data_ptr<long>() const", _OPTIONS)
    assert "const_data_ptr<long" in (subject.demangled or "")


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("NameError: name 's2' is not defined in my Flask app", Confidence.LOW),
        ("NameError: name 's2' is not defined when running my notebook", Confidence.LOW),
        ("pandas \u62a5\u9519 NameError: name 's1' is not defined", Confidence.LOW),
        ("NameError: name 's2' is not defined, with torch.compile", Confidence.MEDIUM),
        ("triton: NameError: name 's2' is not defined", Confidence.MEDIUM),
    ],
)
def test_a_name_of_any_program_is_torch_compiles_only_beside_its_words(text: str, confidence: Confidence) -> None:
    """Oracle: `s2` is a name that programs have, too (Python reference, Naming and binding)."""
    (subject,) = explain(text, _OPTIONS)
    (cause,) = subject.causes
    assert (cause.cause, cause.confidence) == (CauseId.GENERATED_KERNEL, confidence)
    is_sure = confidence is not Confidence.LOW
    assert ("pip install" in cause.fix) is is_sure
    assert ("If torch.compile is used" in cause.evidence[0]) is not is_sure
    assert render((subject,)).startswith("cause: " if is_sure else "possible cause: ")


def test_a_torch_that_the_text_does_not_name_may_have_the_fix() -> None:
    """Oracle: pytorch/pytorch issue 136504, fixed in torch 2.6.0: with it, the cache or another bug is left."""
    (subject,) = explain("torch.compile: NameError: name 's2' is not defined", _OPTIONS)
    lines = subject.causes[0].fix.splitlines()
    otherwise = lines.index("If it prints 2.6 or later:")
    assert "a release before 2.6" in lines[0]
    assert lines[otherwise + 1].startswith("rm -rf ")
    assert "short script" in lines[otherwise + 2]
