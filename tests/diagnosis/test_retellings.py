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

_NEITHER = (
    "We don't build PyTorch from source; training loss is NaN",
    "我没有从源码编译PyTorch, 训练 loss 为 nan",
    "教程: 如何从源码编译PyTorch",
    "PyTorch不是自己编译的, torch-scatter 版本不匹配",
    "our lab did not build torch from source; torch-scatter is slow",
    "scatter plot of the losses, torch from source",
    "no build of torch is patched here; torch-scatter trains well",
    "PyTorch不是自己 build 的, torch-scatter 版本不匹配",
    "How to make a local build of PyTorch 2.1.0",
    "torch 2.1.0 from PyPI, torch-scatter 自己编的, 训练 loss 为 nan",
    "I did not compile PyTorch myself; torch-scatter fails",
    "How to build PyTorch from source",
    "We never compiled PyTorch from source, torch_sparse fails",
    "怎么从源码编译torch?",
    "我想从源码编译PyTorch, torch-scatter 需要吗",
    "Built PyTorch from source; training loss is NaN",
    "torch 是官方wheel, torch-scatter 训练 loss 为 nan",
    "torch-scatter itself I compiled from source, accuracy is low",
    "__ldg loads through the read-only cache",
    "does __ldg support half?",
    "__ldg是CUDA中的一种特殊内存访问函数",
    "Use __ldg for c10::Half under CUDA, it works",
    "we replaced __ldg under HIP",
    "CUDA 的 __ldg 函数很快",
    "abiscan fix rewrites __ldg",
    "Jetson Orin: pip install torch-scatter takes long",
    "HIP's __ldg compiles for float",
    "__ldg 支持 c10::Half",
    "the HIP build reads with __ldg",
)


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


def test_sources_for_a_hip_that_has_none() -> None:
    """Oracle: the rows of torch-scatter in the package catalogue: torch 1.10 has no source for HIP 5.6 and later."""
    text = (
        "DCU, dtk-22.10, torch 1.10, torch-scatter\n"
        "segment_csr_cuda.hip:33: error: no matching function for call to '__ldg'"
    )
    (subject,) = explain(text, _OPTIONS)
    assert "torch-scatter: no source is known that compiles unchanged with this torch and HIP 5.6 or later" in (
        subject.causes[0].fix.splitlines()
    )


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


def test_an_older_hip_compiles_the_sources_with_wrong_values() -> None:
    """Oracle: the table of docs/tutorials/hip.md, HIP 5.2 with torch's flags."""
    for said, warned in (("", True), ("ROCm 5.7", False), ("ROCm 5.2", False)):
        (subject,) = explain(f"hipcc: no matching function for call to '__ldg' torch-scatter {said}", _OPTIONS)
        assert ("wrong values of Half" in subject.causes[0].fix) is warned


@pytest.mark.parametrize("text", _NEITHER)
def test_no_such_report(text: str) -> None:
    assert explain(text, _OPTIONS) == ()


_OTHER_MANGLING = (
    "missing symbol at::TensorBase::const_data_ptr<long>",
    "undefined symbol里面有 TnNSt9enable_if",
    "flashinfer 的 so 里 const_data_ptr 符号找不到",
    "flashinfer_kernels.abi3.so 缺少符號 const_data_ptr",
    "用clang18編譯的擴充套件載入時找不到符號 at::TensorBase::const_data_ptr<float, 0>() const,用g++編譯就正常",
    "用 clang 编译的扩展,加载时找不到符号 at::TensorBase::const_data_ptr<long>() const,用 gcc 编译就没问题",
    "flashinfer.abi3.so has an undefined symbol for TensorBase::const_data_ptr<long>, c++filt can't demangle it",
    'After compiling FlashInfer, python dies with "symbol lookup error". LLVM 19 reads `long const* '
    "at::TensorBase::const_data_ptr<long, 0>() const`. Which PyTorch version has this symbol?",
    "at::TensorBase::const_data_ptr<long>() const 未定义,要换哪个 torch 版本?",
    "libtorch does not export const_data_ptr<long> that flashinfer needs",
    "14const_data_ptrIlTnNSt9enable_if 找不到",
    "clang 编译 FlashInfer 后报 symbol lookup error,调用的是 tensor.const_data_ptr<int64_t>()。nm 看 libtorch_cpu.so "
    "里只有 _ZNK2at10TensorBase14const_data_ptrIlLi0EEEPKT_v",
    "FlashInfer: flashinfer_kernels.abi3.so has an undefined symbol for const_data_ptr that c++filt can't decode",
    "flashinfer 加载失败:未定义符号 _ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE"
    "4typeELi0EEEPKS3_v,哪个版本的PyTorch支持?",
    "I built flashinfer with clang 18 and importing flashinfer_kernels fails with undefined symbol const_data_ptr",
    "用 clang-18 编译的 flashinfer,import 时报 undefined symbol: const_data_ptr<long>",
    "动态库 flashinfer_kernels.abi3.so 找不到符号 at::TensorBase::const_data_ptr<int64_t>,demangle 不出来",
    "const_data_ptr undefined symbol flashinfer, is data_ptr safe to use instead?",
    "TensorBase::const_data_ptr 未定义,enable_if,flashinfer",
    "const_data_ptr",
    "tensor.const_data_ptr<int64_t>() 链接不上",
    "扩展链接 const_data_ptr 失败",
    "符号 const_data_ptr 无法被 c++filt 和 llvm-cxxfilt-14 解析",
    "Which torch version exports TensorBase::const_data_ptr?",
    "哪個 PyTorch 版本匯出 const_data_ptr",
    "在FlashInfer中把const_data_ptr换成data_ptr安全吗",
    '{"log": "undefined symbol: at::TensorBase::const_data_ptr<long>() const\\nc++filt does not demangle it"}',
)

_UNDEFINED_SIZE = (
    "NameError 变量 s2 没有被定义 torch.compile DeltaNet",
    "s2 找不到定义",
    "變數 s2 未定義",
    "NameError:變數 s2 未定義",
    "triton_meta constants {10: s2} NameError",
    "inductor generated a kernel whose constants contain s2, and s2 isn't defined anywhere",
    "第10个键的值是 s2,但是没有定义,编译 fused_recurrent_delta_rule_fwd_kernel 时报错",
    "the variable s2 does not exist in the generated triton code",
    "DeltaNet torch.compile NameError",
    "torch inductor unknown variable s2",
    "TorchInductor编译时生成的Triton内核变量未定义,如何解决?",
    'compile DeltaNet fused_recurrent_delta_rule_fwd_kernel error "s2 is not defined" pytorch 2.5.1 cuda 12.1',
    "使用TorchInductor编译Flash Linear Attention的DeltaNet模型(fused_recurrent模式)时Triton内核报错,变量s2未定义",
    "triton_meta['constants'] 里的 s2 没定义,NameError,怎么办",
    "torchinductor generates triton kernel with undefined variable s0 when dynamic shapes are on",
    "inductor 生成代码引用了未定义的变量 s2",
    "fla fused_recurrent NameError s2",
    "DeltaNet 训练时 torch.compile 失败 NameError: name 's2' is not defined,升级 PyTorch 能解决吗",
    '{"error": "NameError: name \'s2\' is not defined", "stack": "/tmp/torchinductor_root/ab/cab.py"}',
    "undefined symbol: s2 triton kernel inductor",
    "the triton kernel generated by TorchInductor uses an undefined symbol s2",
    "Inductor 生成的代码里有未定义符号 s2",
    "name 's2' undefined symbol in fused_recurrent_delta_rule_fwd_kernel",
    "triton kernel references s2 but never defines it",
    "Inductor 產生的 kernel 引用了未初始化的變數 s2",
    "triton kernel 报名字错误 s2",
    "DeltaNet模型训练时,TorchInductor报错,具体表现为Triton内核编译过程中出现的变量未定义问题",
)

_NOT_TRACED = (
    "aiter ck_moe Dynamo 无法追踪",
    "如何用direct_register_custom_op注册ck_moe",
    "ck_moe PyCapsule dynamo skipped",
    "ck_moe 被 dynamo 跳过",
    "vLLM 图模式 aiter ck_moe 报错",
    "How do I register ck_moe as a custom op for torch.compile?",
    "torch.library.custom_op 注册 ck_moe",
    "自定义算子 ck_moe 与图模式不兼容",
    "ck_moe can't be traced",
    "enforce_eager=False 时 aiter 的 ck_moe 报错",
    "Dynamo編譯器無法追蹤 aiter.jit.aiter_.PyCapsule.ck_moe 函數",
    "direct_register_custom_op in vLLM: how do I register an aiter kernel so that Dynamo can trace it?",
    "How do I make a C++ function bound with pybind11 work under torch.compile?",
    "怎样让 pybind11 绑定的 C++ 算子支持 torch.compile?",
    "vLLM ROCm aiter: torch._dynamo can't trace ck_moe",
    "图模式下调用 aiter 的 ck_moe 算子报 marked as skipped",
    "vllm rocm aiter graph break PyCapsule ck_moe",
    "torch.compile skips my pybind11 function lltm_cpp.forward",
    "aiter 的 PyCapsule.ck_moe 不能被 torch.compile 追踪,vLLM 0.8.3",
    "torch dynamo failed to trace lltm's f_moe",
    "Dynamo 不支持追踪 PyCapsule 函数 ck_moe,vLLM ROCm",
    "pybind11 op breaks torch.compile: Dynamo does not know how to trace the builtin `my_ext.PyCapsule.forward.`",
    "vLLM graph mode + aiter: Dynamo error in ck_moe; want to keep aiter",
    "torch.compile cannot trace my pybind11 function",
)


@pytest.mark.parametrize(
    "text",
    [
        "torch.compile fails in train_step with an error",
        "aiter installation error",
        "the class at::TensorBase has no member named const_data_ptr",
        'error: identifier "s2" is undefined',
        "flashinfer const_data_ptr",
        "aiter needs ROCm 6.3 in vLLM",
        "register a new user in vllm dashboard",
        "Tracing the request through vllm with opentelemetry trace_id",
        "my custom op foo_bar registered with TORCH_LIBRARY works under torch.compile",
        "torch.compile works with my pybind11 function my_ops.gelu after registering it",
        "ConstraintViolationError: Constraints violated (batch)! s0 = 2*s1",
        "const_data_ptr was added to torch in 2.1 as part of the COW work",
        "triton inference server: model repository s3 is not initialized",
    ],
)
def test_words_of_these_reports_alone_are_none(text: str) -> None:
    assert explain(text, _OPTIONS) == ()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        *((text, CauseId.TEMPLATE_MANGLING) for text in _OTHER_MANGLING),
        *((text, CauseId.GENERATED_KERNEL) for text in _UNDEFINED_SIZE),
        *((text, CauseId.OP_NOT_REGISTERED) for text in _NOT_TRACED),
    ],
)
def test_each_report_is_read_in_other_words(text: str, cause: CauseId) -> None:
    subjects = explain(text, _OPTIONS)
    assert [subject.causes[0].cause for subject in subjects] == [cause]


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


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("torch 2.5.1+rocm6.2", "pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/rocm6.2.4"),
        ("torch 2.5.1+xpu", "pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/xpu"),
        ("torch 2.5.1+cu124", "pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124"),
    ],
)
def test_another_torch_is_of_the_same_build(text: str, command: str) -> None:
    """Oracle: the variants of torch 2.6.0 in its release notes: cu118, cu124, cu126, rocm6.1, rocm6.2.4, xpu."""
    (subject,) = explain(f"{text} NameError: name 's2' is not defined", _OPTIONS)
    fix = subject.causes[0].fix
    assert command in fix.splitlines()
    assert "package index" not in fix


@pytest.mark.parametrize(
    ("text", "variable", "release"),
    [
        ("sglang and aiter: dynamo cannot trace PyCapsule.ck_moe", False, False),
        ("vLLM 0.9.1 and aiter: dynamo cannot trace PyCapsule.ck_moe", True, False),
        ("vLLM 0.8.3 and aiter: dynamo cannot trace PyCapsule.ck_moe", True, True),
    ],
)
def test_advice_about_vllm(text: str, variable: bool, release: bool) -> None:
    """Oracle: rocm_aiter_fused_moe.py of the wheels of vLLM registers the operators from 0.8.5 on."""
    (subject,) = explain(text, _OPTIONS)
    fix = subject.causes[0].fix
    assert ("VLLM_ROCM_USE_AITER_MOE" in fix) is variable
    assert ("vLLM 0.8.5" in fix) is release


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("aiter ck_moe Attempted to call function marked as skipped", True),
        ("vLLM on ROCm: ck_moe Attempted to call function marked as skipped", True),
        ("vLLM on ROCm: Attempted to call function marked as skipped, aiter ck_moe", True),
        ("Attempted to call function marked as skipped: ck_moe (aiter)", True),
    ],
)
def test_the_function_beside_the_message_is_named(text: str, named: bool) -> None:
    """Oracle: the sentence; ck_moe is a function of aiter (pytorch issue 151049)."""
    (subject,) = explain(text, _OPTIONS)
    begins = "Use vLLM 0.8.5 or later" if "vLLM" in text else "To register ck_moe as an operator"
    assert subject.causes[0].fix.startswith(begins)
    assert "or export VLLM_ROCM_USE_AITER_MOE=0" in subject.causes[0].fix
    assert ("def ck_moe(PARAMETERS)" in subject.causes[0].fix) is named
    assert "does not name the function" not in subject.causes[0].fix


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
