"""Errors of Python, Dynamo and device compilers: generated-kernel, op-not-registered, half-intrinsic."""

from __future__ import annotations

import re

from abiscan.diagnosis import fixes
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId

# --- a generated Triton kernel --------------------------------------------------------------------------------------

# Inductor's names for sizes: s0, s1, ... for symbols of a size, u0 for unbacked ones, ks0 for kernel sizes, z0 of the
# float symbols.
_OF_KERNEL = re.compile(r"[xyzr]\d?_?(?:index|mask|offset|base|numel)|(?:in|out|in_out)_ptr\d{1,3}")
_SIZE_SYMBOL = re.compile(r"(?:s|u|ks|ps|zf|zuf)\d+$")
# Classes of sympy and of torch.utils._sympy, whose names come out where an expression is printed as it is.
_SYMPY = frozenset(
    (
        *("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "Max", "Min", "Mod", "Pow", "Abs", "Piecewise", "Where", "FloorDiv"),
        *("CeilDiv", "CleanDiv", "IntTrueDiv", "FloatTrueDiv", "ModularIndexing", "PythonMod", "ToFloat", "Identity"),
    )
)
# What the preamble of a generated kernel defines.
_PREAMBLE = frozenset(("tl", "triton", "constexpr", "tl_math", "libdevice", "triton_helpers", "async_compile"))
# A name that begins with two underscores, read in a class: `_Runner__mm_kernel_0` of `__mm_kernel_0`
# (https://docs.python.org/3/reference/expressions.html#private-name-mangling).
_CLASS_PRIVATE = re.compile(r"_([A-Za-z]\w*?)(__\w+?)$")
_GENERATED = re.compile(
    r"torchinductor|triton_meta|triton_heuristics|codecache|torch[/.]_inductor|async_compile|compile_tasks|InductorError"
)
_COMPILED = re.compile(r"torch\.compile|torch[/.]_dynamo|[Ii]nductor|BackendCompilerFailed|triton_(?:poi|red|per|tem)_")
_KERNEL = re.compile(r"'kernel_name': '(\w{1,256})'|async_compile\.triton\('(\w{1,256})'")
_KERNEL_BY_NAME = re.compile(r"\b(\w+_kernel)\w*\b")


def _is_module(name: str, context: str) -> bool:
    """Whether a name is that of a compiled module, and is used as a module is."""
    if name in ("_C", "_ext"):
        return True
    used = rf"\b{re.escape(name)}\.\w{{1,128}}\("
    return name.endswith(("_cuda", "_cpp")) and re.search(used, context) is not None


def _not_imported(name: str) -> Candidates:
    evidence = (
        f"{name} is a compiled module, by its name, and nothing has imported it here: an import that failed and was "
        "caught leaves it undefined, and its own error was not shown, or stands further up.",
    )
    fix = (
        f"python -c 'import torch; from PACKAGE import {name}'  # shows the first error\n"
        f"find . $(python -c 'import site; print(*site.getsitepackages())') -name '{name}*.so'  # whether it is built\n"
        "then build it: pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps ."
    )
    yield Candidate(CauseId.LIBRARY_MISSING, 0.7, (*evidence, "Most often it was never built."), fix)
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.5, (*evidence, "Or it was built for another torch."), fix)


def name_error(mention: Mention) -> Candidates:
    """`NameError` in a module that TorchInductor wrote; of a compiled module whose import was caught."""
    name = mention.text
    if _is_module(name, mention.context):
        yield from _not_imported(name)
        return
    generated = _GENERATED.search(mention.context) is not None
    private = _CLASS_PRIVATE.fullmatch(name)
    symbol = _SIZE_SYMBOL.match(name) is not None
    printed = (name in _SYMPY or name in _PREAMBLE) and _COMPILED.search(mention.context) is not None
    of_kernel = _OF_KERNEL.fullmatch(name) is not None
    if not (generated or symbol or printed or of_kernel) and (private is None or private[1] != "Runner"):
        return
    evidence = []
    score = 0.55
    if symbol:
        evidence.append(
            f"The generated code uses {name}, TorchInductor's name for a dynamic size, and nothing defines it."
        )
        score += 0.1
    elif private is not None:
        evidence.append(
            f"Python reads {private[2]} as {name} within class {private[1]}: generated code calls the kernel there, "
            "and defines it outside (a regression of torch 2.9.1, pytorch/pytorch issue 170398)."
        )
        score += 0.27
    elif of_kernel:
        evidence.append(f"{name} is TorchInductor's name in kernels that it writes; this one does not define it.")
        score += 0.1
    elif name in _SYMPY:
        evidence.append(f"{name} is a class of sympy: the compiler printed an expression without translating it.")
        score += 0.1
    if generated:
        evidence.append("The message comes out of a module that TorchInductor generated.")
        score += 0.27
    elif printed:
        evidence.append("The message comes out of torch.compile.")
        score += 0.1
    if re.search(r"constants['\"]?\s{0,4}[:=\]]", mention.context) is not None:
        evidence.append(
            "triton_meta['constants'] of the generated kernel refers to it, and the module does not define "
            "it (fla-org/flash-linear-attention issue 160)."
        )
        score += 0.05
    kernel = kernel_of(mention.context)
    if kernel is not None:
        evidence.append(f"The kernel is {kernel}.")
    if symbol:
        evidence.append(
            "A size that torch.compile made dynamic was passed to a tl.constexpr parameter of a Triton kernel "
            "(pytorch/pytorch issue 136504)."
        )
    yield Candidate(CauseId.GENERATED_KERNEL, min(score, 0.97), tuple(evidence), _kernel_fix(kernel, private, symbol))


def _kernel_fix(kernel: str | None, private: re.Match[str] | None, symbol: bool) -> str:
    if private is not None:
        plain = fixes.word(private[2].lstrip("_"), "kernel")
        return (
            f"Rename the Triton kernel so that its name does not begin with two underscores ({plain}).\n"
            "or use a torch before 2.9.1."
        )
    what = kernel.removeprefix("triton_") if kernel is not None else "the kernel"
    newer = (
        "Use torch 2.6 with CUDA 12.4 or later, with which the report's users had it solved.\n"
        if symbol
        else "Use a newer torch: TorchInductor wrote a module that does not define what it uses.\n"
    )
    return (
        f"{newer}Until then keep the kernel out of the compiler: @torch.compiler.disable on the function that "
        f"launches {what} (not under fullgraph=True, which refuses it)\n"
        "or make the sizes static: torch.compile(..., dynamic=False), torch._dynamo.mark_static(tensor, dim)"
    )


def kernel_of(text: str) -> str | None:
    """The name of the kernel in a generated module or in the log around it."""
    found = _KERNEL.search(text)
    if found is not None:
        return found[1] or found[2]
    by_name = _KERNEL_BY_NAME.search(text)
    return by_name[1] if by_name is not None else None


# --- device code ----------------------------------------------------------------------------------------------------

_HALF = re.compile(r"c10::(Half|BFloat16)|at::(Half|BFloat16)|__half|__hip_bfloat16|__nv_bfloat16|hip_bfloat16")
_INTRINSIC = re.compile(r"__[a-z]\w*|(?:unsafe)?[aA]tomic[A-Z]\w*")
_HIP = re.compile(r"\bhip\b|/hip/|\.hip\b|rocm|amdgcn|/opt/dtk|hipLaunch|HIP", re.IGNORECASE)


# nvcc lists them below the message.
_GIVEN = re.compile(r"argument types are: ?\(([^()\n]{1,200})\)")


def _given_types(mention: Mention, given: str) -> Candidate:
    """The answer where the compiler says which types it was called with, and none is of 16 bits."""
    evidence = [f"{mention.text} has no overload for the types that the compiler names: ({given})."]
    where = mention.location
    if where is not None and where.file is not None:
        evidence.append(f"{mention.text} is called in {where.file}, line {where.line}.")
    first = given.split(",", maxsplit=1)[0].strip()
    name = mention.text
    if name == "atomicAdd" and first == "double *":
        evidence.append("CUDA has atomicAdd of double for GPUs of compute capability 6.0 and later alone.")
        fix = "Compile for compute_60 and later alone: TORCH_CUDA_ARCH_LIST without 5.x and older, no -gencode of them."
    elif name.startswith("atomic") and first.startswith("const "):
        evidence.append("An atomic function writes: it takes no pointer to const.")
        fix = "Pass a pointer that is not to const, to memory that may be written."
    elif name == "atomicAdd" and first in ("int64_t *", "long *", "long long *"):
        evidence.append("CUDA has atomicAdd of unsigned long long, not of the signed types of 64 bits.")
        fix = (
            "Cast both to unsigned long long, which adds the same bits: atomicAdd("
            "reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(x))\n"
            "or write gpuAtomicAdd of <ATen/cuda/Atomic.cuh>."
        )
    elif name == "__ldg":
        fix = "Read plainly, *p: the compiler makes the same cached load of a const __restrict__ pointer."
    else:
        fix = f"Convert the arguments to types that {name} has an overload for, or add one for these."
    return Candidate(CauseId.HALF_INTRINSIC, 0.6, tuple(evidence), fix)


def no_overload(mention: Mention) -> Candidates:
    """`no matching function for call to '__ldg'`"""
    if _INTRINSIC.fullmatch(mention.text) is None:
        return
    where = mention.location
    file = where.file if where is not None and where.file is not None else ""
    half = _HALF.search(mention.context)
    given = _GIVEN.search(mention.context)
    if given is not None and half is None:
        yield _given_types(mention, given[1].strip())
        return
    on_hip = _HIP.search(file) is not None or _HIP.search(mention.context) is not None
    evidence = []
    kind = half.group() if half is not None else None
    score = 0.5
    if kind is not None:
        score += 0.3
    if on_hip:
        score += 0.17
        evidence.append(
            f"The compiler is HIP's: it overloads {mention.text} for the plain C types alone, not for torch's "
            f"16-bit classes."
        )
    elif kind is not None:
        torchs = kind.startswith(("c10::", "at::"))
        evidence.append(
            f"{kind} is a class of torch's: the compiler's own headers have no {mention.text} of it."
            if torchs
            else f"The compiler's headers have {mention.text} of {kind} for some GPUs and standards, or not at all."
        )
    if kind is None and not on_hip:
        evidence.append(
            f"{mention.text} is overloaded for the plain types; no overload takes the type that it is called with "
            "here: one of the 16-bit classes (c10::Half, c10::BFloat16, cutlass::half_t) is a common case."
        )
        evidence.append("The compiler's notes behind the message name the type.")
    if kind is not None:
        evidence.append(f"The code is instantiated for {kind}.")
    if where is not None and where.file is not None:
        evidence.append(f"{mention.text} is called in {where.file}, line {where.line}.")
    torch_type = kind if kind is not None and kind.startswith("c10::") else "c10::Half"
    line = f"{fixes.word(where.file, 'FILE')}:{where.line}: " if where is not None and where.file is not None else ""
    if mention.text == "__ldg":
        fix = (
            f"{line}one of\n"
            f"1. cast the pointer, for this type alone: if constexpr (std::is_same_v<scalar_t, {torch_type}>) "
            f"val = {torch_type}(__ldg(reinterpret_cast<const unsigned short*>(p)), {torch_type}::from_bits()); "
            "else val = __ldg(p);\n"
            "2. add an overload before the kernels: "
            f"__device__ __forceinline__ {torch_type} __ldg(const {torch_type}* p) {{ return *p; }}\n"
            "3. read plainly under HIP: #ifdef USE_ROCM, *p; #else, __ldg(p); #endif\n"
            "or install a prebuilt wheel of the extension for ROCm; torch-scatter has the overload from 2.1.0 on."
        )
    elif mention.text.lower().endswith("atomicadd"):
        fix = (
            f"{line}write gpuAtomicAdd for {mention.text} and #include <ATen/cuda/Atomic.cuh> (torch 1.11 and later): "
            f"it takes {torch_type} among others, under CUDA and HIP."
        )
    else:
        fix = (
            f"{line}compute in float where values suffice, converted there and back (static_cast<float>(x)), or add "
            f"an overload of {mention.text} for {torch_type}; a pointer must not be cast to another type, and a "
            "value not converted to an integer: both compile and give other numbers."
        )
    yield Candidate(CauseId.HALF_INTRINSIC, min(score, 0.97), tuple(evidence), fix)
