"""Messages of programs, by their source, with the cause that follows from the message alone. Names, paths and numbers
were made up for this file. `data/texts.toml` has the forms of texts; `reported.py` has real threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.diagnosis import Knowledge, explain
from abiscan.diagnosis.messages.log_facts import log_facts
from abiscan.model.cause import CauseId
from abiscan.releases import ReleaseIndex
from tests.diagnosis.oracles import read_elf
from tests.diagnosis.reported import knowledge_of_text

_UNUSABLE, _MISSING, _FIRST = CauseId.UNUSABLE_FILE, CauseId.LIBRARY_MISSING, CauseId.IMPORT_TORCH_FIRST
_OTHER_COPY, _TEMPLATE = CauseId.LIBRARY_VERSION_MISMATCH, CauseId.TEMPLATE_MANGLING
_NOT_PYTHON = CauseId.LIBTORCH_PYTHON_NOT_LINKED
_OLDER, _NEWER = CauseId.BUILT_FOR_OLDER_TORCH, CauseId.BUILT_FOR_NEWER_TORCH
_CUDA, _GPU, _BUILD = CauseId.CUDA_LIBRARY_MISMATCH, CauseId.GPU_ARCHITECTURE_MISMATCH, CauseId.CUDA_BUILD_REQUIRED
_HALF, _LINK = CauseId.HALF_INTRINSIC, CauseId.LIBRARY_NOT_LINKED
_SOURCE = CauseId.EXTENSION_SOURCE_NOT_BUILT
_PYTHON, _OPERATOR = CauseId.PYTHON_ABI_MISMATCH, CauseId.OP_NOT_REGISTERED

WORDINGS = {
    "glibc, elf/dl-load.c and elf/dl-reloc.c": (
        ("ImportError: /x/a.so: ELF load command past end of file", _UNUSABLE),
        ("ImportError: /x/a.so: ELF load command alignment not page-aligned", _UNUSABLE),
        ("ImportError: /x/a.so: ELF load command address/offset not properly aligned", _UNUSABLE),
        ("ImportError: /x/a.so: only ET_DYN and ET_EXEC can be loaded", _UNUSABLE),
        ("ImportError: /x/a.so: cannot dynamically load position-independent executable", _UNUSABLE),
        ("ImportError: /x/a.so: CPU ISA level is lower than required", _UNUSABLE),
        ("ImportError: /x/a.so: cannot read file data: Is a directory", _UNUSABLE),
        ("ImportError: /x/a.so: object file has no loadable segments", _UNUSABLE),
        ("ImportError: /x/a.so: ELF file OS ABI invalid", _UNUSABLE),
        ("ImportError: /x/a.so: cannot restore segment prot after reloc: Permission denied", _UNUSABLE),
        ("OSError: /x/a.so: cannot open shared object file: Permission denied", _UNUSABLE),
        ("ImportError: libATen.so.1: cannot open shared object file: No such file or directory", _OLDER),
        (
            "ImportError: libtorch_hip.so: cannot open shared object file: No such file or directory",
            CauseId.ROCM_NAMING,
        ),
        ("ImportError: /x/a.so: undefined symbol: __gxx_personality_v0", CauseId.LIBRARY_NOT_LINKED),
        ("ImportError: /x/a.so: undefined symbol: __cxa_call_terminate", CauseId.LIBSTDCXX_TOO_OLD),
        ("ImportError: libtorch.so: cannot open shared object file: No such file or directory", _MISSING),
    ),
    "glibc's translations (package libc-l10n, libc.mo)": (
        ("ImportError: libc10.so: Kann die Shared-Object-Datei nicht \u00f6ffnen: Datei nicht gefunden", _FIRST),
        ("ImportError: libcudart.so.10.1: Ne peut ouvrir le fichier d'objet partag\u00e9: Aucun fichier", _CUDA),
        ("ImportError: libcudart.so.10.1: no se puede abrir el fichero del objeto compartido: No existe", _CUDA),
        ("ImportError: libcudart.so.10.1: n\u00e3o \u00e9 poss\u00edvel abrir arquivo compartilhado: Arquivo", _CUDA),
        (
            "ImportError: libcudart.so.10.1: \u5171\u6709\u30aa\u30d6\u30b8\u30a7\u30af\u30c8\u30d5\u30a1\u30a4\u30eb"
            "\u3092\u958b\u3051\u307e\u305b\u3093: \u30d5\u30a1\u30a4\u30eb",
            _CUDA,
        ),
        (
            "ImportError: libcudart.so.10.1: \u7121\u6cd5\u958b\u555f\u5171\u7528\u7269\u4ef6: "
            "\u6c92\u6709\u6b64\u4e00\u6a94\u6848",
            _CUDA,
        ),
    ),
    "musl, ldso/dynlink.c": (
        ("Error loading shared library libc10.so: No such file or directory (needed by /x/_C.so)", _FIRST),
        ("Error loading shared library ld-linux-x86-64.so.2: No such file (needed by /x/a.so)", _UNUSABLE),
    ),
    "dyld (dyld4/Loader.cpp, mach_o)": (
        (
            "dlopen(/x/_C.so, 2): no suitable image found.  Did find:\n\t/x/_C.so: mach-o, but wrong architecture",
            _UNUSABLE,
        ),
        ("dlopen(/x/_C.so, 0x0002): tried: '/x/_C.so' (slice is not valid mach-o file)", _UNUSABLE),
        (
            "dlopen(/x/_C.so, 2): tried: '/x/_C.so' (code signature in <3A> '/x/_C.so' not valid for use in process)",
            _UNUSABLE,
        ),
    ),
    "Windows, winerror.h; CPython and ctypes put the rest around it": (
        (
            'OSError: [WinError 1114] (DLL) initialization routine failed. Error loading "C:\\torch\\lib\\c10.dll"',
            _MISSING,
        ),
        (
            "ImportError: DLL load failed while importing _C: A DLL initialization routine failed.",
            _MISSING,
        ),
        (
            'OSError: [WinError 1455] The paging file is too small. Error loading "C:\\torch\\lib\\cufft64_10.dll"',
            _UNUSABLE,
        ),
        ('OSError: [WinError 182] The operating system cannot run %1. Error loading "C:\\e\\_C.pyd"', _OTHER_COPY),
        ("Could not locate zlibwapi.dll. Please make sure it is in your library path!", _MISSING),
        ("ImportError: Module use of python310.dll conflicts with this version of Python.", _PYTHON),
        ("ImportError: DLL load failed while importing _C: The specified program could not be found.", _NEWER),
        ("    import a_plugin\nImportError: DLL load failed while importing a_plugin", _MISSING),
    ),
    "link editors: ld64, lld, mold, link.exe": (
        ("ld: library not found for -lc10", _MISSING),
        ("ld: library 'c10' not found", _MISSING),
        ("ld.lld: error: unable to find library -ltorch_python", _MISSING),
        ("mold: fatal: library not found: c10", _MISSING),
        ("LINK : fatal error LNK1181: cannot open input file 'torch_python.lib'", _MISSING),
        ("LINK : fatal error LNK1181: cannot open input file 'caffe2.lib'", _OLDER),
        ("LINK : fatal error LNK1104: cannot open file 'python310.lib'", _MISSING),
        ("ptxas fatal   : Unresolved extern function '_Z3fooPf'", CauseId.EXTENSION_SOURCE_NOT_BUILT),
    ),
    "GCC, Clang, nvcc and MSVC, of headers and names of torch": (
        ("fatal error: torch/extension.h: No such file or directory", _MISSING),
        ("fatal error: 'torch/extension.h' file not found", _MISSING),
        ("fatal error C1083: Cannot open include file: 'torch/extension.h': No such file or directory", _MISSING),
        ('catastrophic error: cannot open source file "ATen/ATen.h"', _MISSING),
        ("/x/a.cu:3:10: fatal error: ATen/CUDAGeneratorImpl.h: No such file or directory", _OLDER),
        ("fatal error: cusparse.h: No such file or directory", _MISSING),
        ("error: cannot convert \u2018at::DeprecatedTypeProperties\u2019 to \u2018c10::ScalarType\u2019", _OLDER),
        (
            'a.cu(54): error: no suitable conversion function from "const at::DeprecatedTypeProperties" to '
            '"c10::ScalarType" exists',
            _OLDER,
        ),
        ("a.cpp:5: error: \u2018class at::Tensor\u2019 has no member named \u2018const_data_ptr\u2019", _NEWER),
        ('a.cu(7): error: class "at::Tensor" has no member "mutable_data_ptr"', _NEWER),
        ("a.cpp:9:3: error: no member named 'optional' in namespace 'c10'", _OLDER),
        ("a.cpp:5:3: error: no matching function for call to \u2018at::empty(int)\u2019", _OLDER),
        ("a.cpp:5: error: 'TensorAccessor' in namespace 'torch' does not name a template type", _OLDER),
        ("a.cpp(5): error C2039: 'data_ptr': is not a member of 'at::Tensor'", _NEWER),
        ("a.cpp(5): error C3861: 'AT_CHECK': identifier not found", _OLDER),
        ("a.cpp(5): error C2065: 'TORCH_CHECK': undeclared identifier", _NEWER),
        ("a.cpp:12:3: error: \u2018TORCH_CHECK\u2019 was not declared in this scope", _NEWER),
        ('a.cu(3): error: identifier "AT_DISPATCH_FLOATING_TYPES_AND_HALF" is undefined', _OLDER),
    ),
    "compilers of device code": (
        ("nvcc fatal   : Value 'sm_86' is not defined for option 'gpu-architecture'", _GPU),
        ("clang++: error: invalid target ID 'gfx1201'; format is a processor name", _GPU),
        ("ptxas error   : Feature '.bf16' requires .target sm_80 or higher", _GPU),
        ("nvrtc: error: invalid value for --gpu-architecture (-arch)", _GPU),
        ("CUDA error: a PTX JIT compilation failed", CauseId.DRIVER_MISMATCH),
    ),
    "HIP and HSA": (
        ("RuntimeError: HIP error: invalid kernel file", _GPU),
        ("HIP error: hipErrorInvalidDeviceFunction", _GPU),
        ("HSA_STATUS_ERROR_INVALID_ISA", _GPU),
    ),
    "cuBLAS, cuDNN and rocBLAS": (
        ("RuntimeError: CUDA error: CUBLAS_STATUS_ARCH_MISMATCH", _GPU),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", _CUDA),
        ("rocBLAS error: Cannot read TensileLibrary.dat: No such file or directory for GPU arch : gfx1032", _GPU),
    ),
    "torch/utils/cpp_extension.py": (
        ("ValueError: Unknown CUDA arch (12.0) or GPU not supported", _GPU),
        ("OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.", _MISSING),
    ),
    "torch/_library, torch/_subclasses and the dispatcher": (
        ("NotImplementedError: m::f: there was no fake impl or Meta kernel registered for this operator.", _OPERATOR),
        ("torch._subclasses.fake_tensor.UnsupportedOperatorException: mylib.foo.default", _OPERATOR),
        ("NotImplementedError: Could not run 'mylib::foo' with arguments from the 'Meta' backend.", _OPERATOR),
        ("torch._dynamo.exc.Unsupported: 'skip function varlen_fwd in file /x/f.py'", _OPERATOR),
        ("Unsupported: call_function UserDefinedObjectVariable(builtin_function_or_method) []", _OPERATOR),
        (
            "RuntimeError: Cannot access data pointer of Tensor (e.g. FakeTensor, FunctionalTensor). If you're using "
            "torch.compile/export/fx, it is likely that we are erroneously tracing into a custom kernel.",
            _OPERATOR,
        ),
        ("AttributeError: module 'torch.library' has no attribute 'custom_op'", _NEWER),
        ("ImportError: cannot import name 'register_fake' from 'torch.library' (/x/torch/library.py)", _NEWER),
        ("ModuleNotFoundError: No module named 'torch._six'", _OLDER),
        ("AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'", _BUILD),
    ),
    "c10/core/impl/DeviceGuardImplInterface.h, ATen/detail/CUDAHooksInterface.h, torch/csrc/cuda": (
        ("RuntimeError: PyTorch is not linked with support for cuda devices", _BUILD),
        ("Cannot initialize CUDA without ATen_cuda library.", CauseId.LIBRARY_NOT_LINKED),
        ("RuntimeError: Found no NVIDIA driver on your system.", _MISSING),
    ),
    "pybind11, detail/common.h": (
        (
            "ImportError: Python version mismatch: module was compiled for Python 3.8, but the interpreter version is "
            "incompatible: 3.9.1",
            _PYTHON,
        ),
    ),
    "vLLM, csrc/quantization": (
        ("No compiled a_scaled_mm for a compute capability less than CUDA device capability: 121", _GPU),
    ),
    "packages: Apex, bitsandbytes, Horovod, MMCV, flash-attn, torchao, torchcodec, Triton, xFormers": (
        (
            "Cuda extensions are being compiled with a version of Cuda that does not match the version used to compile "
            "Pytorch binaries.  Pytorch binaries were compiled with Cuda 10.2.",
            _CUDA,
        ),
        ("RuntimeError: apex.optimizers.FusedAdam requires cuda extensions", _MISSING),
        ("CUDA SETUP: Required library version not found: libbitsandbytes_cuda117.so.", _MISSING),
        ("RuntimeError: Configured CUDA binary not found at /x/libbitsandbytes_cuda126.so", _MISSING),
        ("ImportError: Extension horovod.torch has not been built: /x/_mpi_lib.so not found", _MISSING),
        ("Framework pytorch installed with version 1.9.0 but found version 1.10.0.", _OLDER),
        ("RuntimeError: nms_impl: implementation for device cuda:0 not found.", _BUILD),
        ("RuntimeError: FlashAttention only supports Ampere GPUs or newer.", _GPU),
        (
            "Skipping import of cpp extensions due to incompatible torch version 2.7.1 for torchao version 0.15.0",
            _NEWER,
        ),
        ("RuntimeError: Could not load libtorchcodec. Likely causes:", _MISSING),
        ("AssertionError: libcuda.so cannot found!\nPossible files are located at []", _MISSING),
        ("    xFormers wasn't build with CUDA support", _BUILD),
    ),
    "CMake, and shells that look for nvcc": (
        ('Could not find a package configuration file provided by "Torch" with any of\n  the following', _MISSING),
        (
            'imported target "torch" references the file\n\n   "/x/libtorch.so"\n\nbut this file does not exist.',
            _MISSING,
        ),
        ("Your installed Caffe2 version uses CUDA but I cannot find the CUDA\n  libraries.", _MISSING),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'", _MISSING),
        ("/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found", _MISSING),
        ("ptxas /tmp/x.ptx, line 6; fatal   : Unsupported .version 8.4; current version is '8.2'", _CUDA),
    ),
    "compiled modules that Python does not find, or finds without a function": (
        ("    from torch_a import Loss\nImportError: No module named _a_ctc", _MISSING),
        ("ImportError: No module named a_kernel_cuda", _MISSING),
        ("AttributeError: module 'a._C' has no attribute 'conv'", CauseId.EXTENSION_SOURCE_NOT_BUILT),
        ("bitsandbytes: 'NoneType' object has no attribute 'cget_managed_ptr'", _BUILD),
        ("ModuleNotFoundError: No module named 'amp_C'", _MISSING),
        ("ImportError: cannot import name 'deform_conv_cuda' from 'mmdet.ops.dcn' (/x/__init__.py)", _MISSING),
        ("    y = scan_cuda.fwd(x)\nNameError: name 'scan_cuda' is not defined", _MISSING),
        ("NameError: name '_C' is not defined", _MISSING),
        ("No module named '_k2'\n_k2.cpython-38-x86_64-linux-gnu.so", _PYTHON),
    ),
    "pip, which builds in an environment of its own (PEP 517)": (
        (
            "  error: subprocess-exited-with-error\n  x Getting requirements to build wheel did not run successfully.\n"
            "      ModuleNotFoundError: No module named 'torch'",
            _MISSING,
        ),
    ),
    "setuptools, and torch's own CMake package": (
        ("error: command '/usr/local/cuda/bin/nvcc' failed: No such file or directory", _MISSING),
        ("CMake Error at Caffe2/public/cuda.cmake:65 (message):\n  PyTorch: CUDA cannot be found.", _MISSING),
    ),
    "crt/host_config.h of the CUDA toolkit": (
        ("#error -- unsupported GNU version! gcc versions later than 11 are not supported!", _CUDA),
        ("/usr/local/cuda-9.0/include/crt/host_config.h:119:2: error: #error -- unsupported GNU version! gcc", _CUDA),
        ("#error: -- unsupported Microsoft Visual Studio version! Only the versions between 2017 and 2019", _CUDA),
    ),
    "nvcc and hipcc, of their own 16-bit types": (
        ('a.cu(4): error: no suitable conversion function from "const __half" to "float" exists', _HALF),
        ('a.cu(7): error: no operator "+=" matches these operands\n       operand types are: __half += __half', _HALF),
        ('a.cu(9): error: no instance of constructor "__half::__half" matches the argument list', _HALF),
        ("a.hip:3:5: error: invalid operands to binary expression ('__half' and '__half')", _HALF),
        ("a.hip:3:5: error: no viable conversion from 'float' to '__hip_bfloat16'", _HALF),
        ('a.cu(4): error: no suitable conversion function from "__nv_bfloat16" to "float" exists', _HALF),
    ),
    "hipcc, given what is CUDA's": (
        ("a.hip:3:5: error: use of undeclared identifier '__shfl_xor_sync'", CauseId.ROCM_NAMING),
        ("clang++: error: unknown argument: '--use_fast_math'", CauseId.ROCM_NAMING),
        ("clang: error: cannot find HIP runtime; provide its path via '--rocm-path'", _MISSING),
        ("clang: error: cannot find ROCm device library; provide its path via '--rocm-path'", _MISSING),
    ),
    "compilers of the host, and headers of an older standard": (
        ("gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory", _MISSING),
        ("nvcc fatal   : Cannot find compiler 'cl.exe' in PATH", _MISSING),
        ("UserWarning: Error checking compiler version for cl: [WinError 2] not found", _MISSING),
        ("a.cpp:5:10: fatal error: Python.h: No such file or directory", _MISSING),
        ("torch/include/c10/a.h:43:8: error: 'optional' in namespace 'std' does not name a template type", _OLDER),
        ("c10\\a.h(5,32): error C2039: 'string_view': is not a member of 'std'", _OLDER),
        ("fatal error C1189: #error: You need C++17 to compile PyTorch", _OLDER),
    ),
    "musl, of what glibc alone has (checked with nm in test_c_libraries_differ)": (
        ("Error relocating /x/_C.so: __vsnprintf_chk: symbol not found", _UNUSABLE),
        ("Error relocating /x/_C.so: backtrace: symbol not found", _UNUSABLE),
        ("Error relocating /x/_C.so: __isoc23_strtol: symbol not found", _UNUSABLE),
    ),
    "ld64 and Apple's newer linker": (
        (
            "ld: warning: ignoring file /x/libc10.dylib, building for macOS-arm64 but attempting to link with file "
            "built for macOS-x86_64",
            _UNUSABLE,
        ),
        (
            "ld: warning: ignoring file '/x/libc10.dylib': found architecture 'x86_64', required architecture 'arm64'",
            _UNUSABLE,
        ),
        (
            '  "c10::detail::torchCheckFail(char const*, char const*, unsigned int, char const*)", referenced from:',
            _LINK,
        ),
        ("/usr/bin/ld: /x/liba.a(a.o): relocation R_X86_64_32 against `.x'; recompile with -fPIC", _UNUSABLE),
    ),
    "lld-link and link.exe": (
        (
            "lld-link: error: undefined symbol: __declspec(dllimport) public: __cdecl c10::Error::Error(struct "
            "c10::SourceLocation, class std::basic_string<char, struct std::char_traits<char>>)",
            _LINK,
        ),
        ("a.obj : error LNK2001: unresolved external symbol __imp_PyExc_TypeError", _PYTHON),
        ("a.obj : error LNK2001: unresolved external symbol __imp_THFloatTensor_fill", _LINK),
    ),
    "macOS: Gatekeeper and code signatures": (
        (
            "\u201clibc10.dylib\u201d can\u2019t be opened because Apple cannot check it for malicious software.",
            _UNUSABLE,
        ),
        ('"libiomp5.dylib" is damaged and can\'t be opened', _UNUSABLE),
        (
            "Library not loaded: '@rpath/liba.dylib'\n  Referenced from: '/x/b'\n  Reason: tried: '/x/liba.dylib' "
            "(code signature in <A1> '/x/liba.dylib' not valid for use in process: library load disallowed)",
            _UNUSABLE,
        ),
    ),
    "Android's linker and Java": (
        ('java.lang.UnsatisfiedLinkError: dlopen failed: library "liba_jni.so" not found', _MISSING),
        ('java.lang.UnsatisfiedLinkError: ... couldn\'t find "liba_jni.so"', _MISSING),
    ),
    "Windows: codes without brackets, torch's own module, and Windows' own log of what it loads": (
        ('WinError 127 - Error loading "torch_python.dll" or one of its dependencies', CauseId.DISTRIBUTION_VARIANT),
        ("WinError 126 Error loading D:\\x\\torch\\lib\\c10.dll or one of its dependencies.", _MISSING),
        (
            "    from torch._C import *\nImportError: DLL load failed: The specified module could not be found.",
            _MISSING,
        ),
        ("ImportError: DLL load failed: The operating system cannot run %1.", _OTHER_COPY),
        # FormatMessage of ERROR_INVALID_ORDINAL.
        ("ImportError: DLL load failed while importing _C: Das Betriebssystem kann %1 nicht ausführen.", _OTHER_COPY),
        ("ImportError: DLL load failed: Le système d\u2019exploitation ne peut pas exécuter %1.", _OTHER_COPY),
        ("ImportError: DLL load failed: オペレーティング システムで %1 を実行できません。", _OTHER_COPY),
        ("ImportError: DLL load failed while importing _C: Belirtilen yordam bulunamad\u0131.", _NEWER),
        ("ImportError: DLL load failed while importing _C: Belirtilen modül bulunamad\u0131.", _MISSING),
        ("ImportError: DLL load failed", _MISSING),
        ('LdrpProcessWork - ERROR: Unable to load DLL: "cublas64_11.dll", Parent Module: "C:\\x.dll"', _CUDA),
    ),
    "a processor that is older than the code (SIGILL, signal(7))": (
        (">>> import torch\nIllegal instruction (core dumped)", _UNUSABLE),
        ("qemu: uncaught target signal 4 (Illegal instruction)", _UNUSABLE),
    ),
    "glibc's own libraries, of two releases": (
        ("/lib/libpthread.so.0: version `GLIBC_PRIVATE' not found (required by /x/librt.so.1)", CauseId.GLIBC_TOO_OLD),
    ),
    "Triton, ptxas and LLVM, of what a GPU does not have": (
        ("ValueError('type fp8e4nv not supported in this architecture')", _GPU),
        ("AssertionError: fp8e4nv data type is not supported on CUDA arch < 89", _GPU),
        ("ptxas error : Instruction 'tcgen05.alloc' not supported on .target 'sm_120a'", _GPU),
        ("LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.tcgen05.wait.st", _GPU),
        ("The current PyTorch install supports CUDA capabilities sm_37 sm_50.", _GPU),
        ("rocBLAS error: Cannot read /x/TensileLibrary.dat: Illegal seek", _GPU),
        ("    arch_list[-1] += '+PTX'\nIndexError: list index out of range", _GPU),
    ),
    "nvidia-container-cli": (
        ("requirement error: unsatisfied condition: cuda>=12.4, please update your driver", CauseId.DRIVER_MISMATCH),
        ("Error: unsupported CUDA version: driver 8.0 < image 9.0.176", CauseId.DRIVER_MISMATCH),
    ),
    "libraries that are looked for by name, tools and modules": (
        (
            "CUDA_SETUP: WARNING! libcudart.so not found in any environmental path. Searching in backup paths...",
            _MISSING,
        ),
        ("ImportError: FFmpeg libraries are not found. Please install FFmpeg.", _MISSING),
        ("ninja: error: '/x/libamdhip64.so', needed by 'y.so', missing and no known rule to make it", _MISSING),
        ("RuntimeError: Ninja is required to load C++ extensions", _MISSING),
        ("nvrtc: error: failed to load builtins", _MISSING),
        ("-lcudart", _MISSING),
        ("ImportError: cannot import name 'liba_nat'", _MISSING),
        ("ModuleNotFoundError: No module named 'a.ops._ext.conv._conv'", _MISSING),
        ("[sgl_kernel] CRITICAL: Could not load any common_ops library!", _NEWER),
        ("ValueError: infer_schema(func): Parameter size has unsupported type list[int].", _NEWER),
    ),
    "nvcc that is older than the headers, and what it is given": (
        ("/usr/include/c++/11/bits/std_function.h:435:145: error: parameter packs not expanded with '...':", _CUDA),
        ("torch/include/pybind11/cast.h:45:120: error: expected template-name before '<' token", _CUDA),
        ("nvcc fatal   : Value 'c++17' is not defined for option 'std'", _CUDA),
        (
            'mathcalls.h(79): error: exception specification is incompatible with that of previous function "cospi"',
            _CUDA,
        ),
        ('The link interface of target "torch::x" contains: CUDA::nvToolsExt but the target was not found.', _CUDA),
        ("Unknown CUDA Architecture Name 9.0a in CUDA_SELECT_NVCC_ARCH_FLAGS", _GPU),
        ('a.cu(3): error: identifier "__hadd2" is undefined', _HALF),
        ('a.cu(3): error: more than one conversion function from "c10::Half" to a built-in type applies:', _HALF),
    ),
    "names of CUDA that a compiler does not know": (
        ('a.cu(76): error: identifier "cusparseScsrmv" is undefined', _CUDA),
        ('a.cu(76): error: identifier "__shfl_down_sync" is undefined', _CUDA),
        ("a.obj : error LNK2001: symbole externe non r\u00e9solu cublasHgemm", _LINK),
        ("a.o: undefined reference to `cublasSgemm_v2'", _LINK),
        ("NameError('rindex is not defined')", CauseId.GENERATED_KERNEL),
        ("atomicAdd", _HALF),
        ("dynamic module does not define module export function (PyInit_cpu_nms)", _PYTHON),
    ),
    "nvcc of other CUDA releases, and for older GPUs": (
        ("a.cu(160): error: texture is not a template", _CUDA),
        ('a.cu(9): error: identifier "cudaBindTexture" is undefined', _CUDA),
        ("a.cpp:4: error: 'CUDNN_CONVOLUTION_FWD_PREFER_FASTEST' was not declared in this scope", _CUDA),
        ("a.cpp:4: error: 'cudnnSetRNNDescriptor' was not declared in this scope", _CUDA),
        ('a.cu(7): error: namespace "cooperative_groups" has no member "labeled_partition"', _GPU),
        ("'sm_120' is not a recognized processor for this target (ignoring processor)", _GPU),
        ('a.cu(3): error: identifier "PackedTensorAccessor32" is undefined', _NEWER),
        ("a.cpp:3: error: 'aoti_torch_get_current_cuda_stream' was not declared in this scope", _NEWER),
        ("/usr/bin/ld: cannot find -lCUDA::nvToolsExt", _CUDA),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", _MISSING),
    ),
    "compilers that a build does not find": (
        ("error: Microsoft Visual C++ 14.0 or greater is required.", _MISSING),
        ("subprocess.CalledProcessError: Command '['where', 'cl']' returned non-zero exit status 1.", _MISSING),
        ("clang: error: unsupported option '-fopenmp'", _MISSING),
        ("fatal error: hip/hip_runtime.h: No such file or directory", _MISSING),
    ),
    "German, of GNU ld, GCC and Windows": (
        ("/usr/bin/ld: -lcudart kann nicht gefunden werden: Datei oder Verzeichnis nicht gefunden", _MISSING),
        ("Fehler: \u00bbAT_CHECK\u00ab wurde in diesem G\u00fcltigkeitsbereich nicht definiert", _OLDER),
        ("ImportError: DLL load failed while importing _C: %1 ist keine zul\u00e4ssige Win32-Anwendung.", _UNUSABLE),
    ),
    "packages: builds that failed before, and what they ask for": (
        ("/x/torch_extensions/py310_cu121/a/a.so: cannot open shared object file: No such file", _SOURCE),
        ("AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'", _MISSING),
        ("ValueError: libcublas.so.*[0-9] not found in the system path ['/usr/lib']", _MISSING),
        ("Intel MKL FATAL ERROR: Cannot load libmkl_avx2.so or libmkl_def.so.", _MISSING),
        ("Unsupported: call_function BuiltinVariable PyCapsule.rms_norm [TensorVariable()] {}", _OPERATOR),
        ("libtorch_npu.so: undefined symbol: aclrtGetSocName", _MISSING),
        ("AssertionError: libcuda.so cannot found!", _MISSING),
        ("ld: library not found for -lomp", _MISSING),
    ),
    "ctypes, and packages without their library": (
        ("OSError: libcusparse.so.10", _CUDA),
        (
            '  File "/x/torch_a/__init__.py", line 14\n    torch.ops.load_library(importlib.machinery.PathFinder()'
            ".find_spec(\nAttributeError: 'NoneType' object has no attribute 'origin'",
            _MISSING,
        ),
        ("ImportError: torch.utils.ffi is deprecated. Please use cpp extensions instead.", _OLDER),
        ("error: dereferencing pointer to incomplete type 'THTensor' {aka 'struct THTensor'}", _OLDER),
        ('error: more than one operator "<" matches these operands:\n operand types are: c10::Half < c10::Half', _HALF),
    ),
    "what is typed alone: headers, types of TH, libraries with their folders, MSVC's text": (
        ("THC/THC.h", _OLDER),
        ("<THC/THCDeviceUtils.cuh>", _OLDER),
        ("THTensor", _OLDER),
        ("a_transport.so", _MISSING),
        ("/usr/local/opt/libomp/lib/libomp.dylib", _MISSING),
        ("long * at::Tensor::data_ptr<long>(void)const", CauseId.TEMPLATE_MANGLING),
    ),
    "messages that a title cuts off, or that stand behind another program's words": (
        ("dlopen(/x/_C.so, 0x000A): tried: '/x/_C.so' (mach-o file", _UNUSABLE),
        ("dlopen(/x/_C.so, 0x000A): tried: '/x/_C.so' (mach-o file, but is an", _UNUSABLE),
        ("Missing THC/THC.h: No such file or directory with PyTorch v1.11.0-rc4", _OLDER),
        ("a.cu:5:10: fatal error: THC/THC.h: No such file or directory\n\ntorch==1.7.1+cpu", _BUILD),
        ("building jetson-inference: torchvision::nms does not exist", _OLDER),
        ("RuntimeError: No such operator torchvision::nms", _OPERATOR),
        ("File fbgemm_gpu_py.so not found", _NEWER),
        ("! /l/torch/lib/liblantern.so - libcudart.so.11.0: cannot open shared object file", _CUDA),
        (
            "! /l/liblantern.so - Error loading shared library ld-linux-x86-64.so.2: No such file (needed by /l/a.so)",
            _UNUSABLE,
        ),
        ("C:\\R\\torch\\lib\\lantern.dll - The specified module could not be found.", _MISSING),
        ("The procedure entry point could not be located in the dynamic link library Z:\\e\\xformers\\_C.pyd", _NEWER),
        ("compiled with different\nCUDA versions. PyTorch has CUDA Version=11.7 and torchvision has 11.8", _CUDA),
    ),
    "a library of the right name and of another release": (
        ("ImportError: /usr/lib/libmpi_cxx.so.1: undefined symbol: ompi_mpi_real", _OTHER_COPY),
        ("/opt/rocm/lib/libamdhip64.so.6: undefined symbol: hsa_amd_memory_pool_allocate", _OTHER_COPY),
        ("Symbol not found: __ZNSt3__122__libcpp_verbose_abortEPKcz", _OTHER_COPY),
        ("Symbol not found: _clock_gettime\n  Referenced from: /x/_C.so", _OTHER_COPY),
        ("ImportError: /x/roi/_ext/crop/_crop.so: undefined symbol: state", _OLDER),
        ("ImportError: libnccl.so.2: cannot open shared object file: No such file or directory", _MISSING),
        (
            "/w/lib/ours.so: undefined symbol: _ZN8pybind116detail11type_casterIN2at6TensorEvE4loadENS_6handleEb",
            _NOT_PYTHON,
        ),
    ),
    "integers whose type differs by system": (
        ('unresolved external symbol "public: long * __cdecl at::Tensor::data<long>(void)const "', _TEMPLATE),
        ("undefined reference to `long long* at::Tensor::data<long long>() const'", _TEMPLATE),
    ),
    "Markdown, which takes underscores for emphasis; a name alone in a title": (
        ("undefined symbol: *ZNK3c107SymBool10guard*boolEPKcl", _NEWER),
        ("iJIT_NotifyEvent import error", _OTHER_COPY),
    ),
}
EACH = [(text, cause) for rows in WORDINGS.values() for text, cause in rows]


@pytest.mark.parametrize(("text", "cause"), EACH)
def test_the_cause_that_the_words_tell(text: str, cause: CauseId, index: ReleaseIndex) -> None:
    subject, *_ = explain(text, knowledge_of_text(text, index))
    assert subject.causes[0].cause is cause, [str(each.cause) for each in subject.causes]


def test_a_duplicate_registration_has_low_confidence(nothing: Knowledge) -> None:
    """torch/library.h does not name the two libraries: no cause is certain."""
    text = (
        "Only a single TORCH_LIBRARY can be used to register the namespace torchvision; please put all of them in one."
    )
    (subject,) = explain(text, nothing)
    assert subject.text == "torchvision"
    assert "are registered twice" in subject.causes[0].evidence[0]


def test_a_release_without_wheels_for_the_python_is_excluded(nothing: Knowledge) -> None:
    """Wheels for CPython 3.8 end with torch 2.4.1 (package index): a symbol that was removed after 2.6.0 still
    existed."""
    text = (
        "/x/_C.cpython-38-x86_64-linux-gnu.so: undefined symbol: _ZN5torch7LibraryC1ENS0_4KindESsSt8optionalIN3c10"
        "11DispatchKeyEEPKcj"
    )
    (subject,) = explain(text, nothing)
    causes = [cause.cause for cause in subject.causes]
    assert causes.index(_NEWER) < causes.index(_OLDER)
    older = subject.causes[causes.index(_OLDER)]
    assert "Against it: no release after 2.6.0 has wheels for CPython 3.8, which loads it." in older.evidence


def test_c_libraries_differ(nothing: Knowledge) -> None:
    """Symbols of glibc are exported by this machine's glibc (its symbol table); symbols of compiler runtimes are not
    among them."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    library = next(line.split()[-1] for line in maps.splitlines() if line.endswith("/libc.so.6"))
    glibc = read_elf(Path(library).read_bytes()).exports
    for name in (
        "__vsnprintf_chk",
        "backtrace",
        "mallinfo",
        "__register_atfork",
        "__isnan",
        "getcontext",
        "__fdelt_chk",
    ):
        assert name in glibc
        (subject,) = explain(f"Error relocating /x/_C.so: {name}: symbol not found", nothing)
        assert subject.causes[0].cause is _UNUSABLE
        assert subject.message == "musl-glibc-symbol"
    for name in ("__once_proxy", "__cxa_throw", "__divti3", "__cudaRegisterFunction", "__kmpc_fork_call", "mine"):
        assert name not in glibc
        (subject,) = explain(f"Error relocating /x/_C.so: {name}: symbol not found", nothing)
        assert _UNUSABLE not in [cause.cause for cause in subject.causes]


def test_what_is_too_far_apart_is_not_missing(nothing: Knowledge) -> None:
    """`relocation truncated to fit` (GNU ld): the linked file is larger than the reach of its relocations; the named
    symbol is not the problem."""
    text = "(.init+0x7): relocation truncated to fit: R_X86_64_REX_GOTPCRELX against undefined symbol `__gmon_start__'"
    (subject,) = explain(text, nothing)
    assert "__gmon_start__" not in subject.text.split()
    assert subject.causes[0].cause is _UNUSABLE


def test_a_word_in_a_compiler_message_is_not_a_symbol(nothing: Knowledge) -> None:
    """`cudnn_enabled` has the form of cuDNN names; here it is a parameter of a function in a source."""
    assert not explain("x.h:27:122: error: \u2018cudnn_enabled\u2019 was not declared in this scope", nothing)
    assert not explain("clang++: error: no such argument\nPyTorch version not found", nothing)


def test_the_cuda_of_a_toolkit_is_not_that_of_torch(nothing: Knowledge) -> None:
    """torch/utils/cpp_extension.py, CUDA_MISMATCH_MESSAGE: both numbers are CUDA releases."""
    text = (
        "The detected CUDA version (12.4) mismatches the version that was used to compile\n"
        "PyTorch (11.8). Please make sure to use the same CUDA versions."
    )
    assert log_facts(text).torch is None


def test_a_kernel_that_somebody_wrote_is_not_torch_compiles(nothing: Knowledge) -> None:
    text = "triton.compiler.errors.CompilationError: at 12:14: NameError('tl is not defined')"
    assert not explain(text, nothing)


def test_an_app_of_android_imports_nothing(nothing: Knowledge) -> None:
    text = 'cannot locate symbol "_ZTVN3c105ErrorE" referenced by "/data/app/x/lib/arm64/liba.so"...'
    (subject,) = explain(text, nothing)
    assert _FIRST not in [cause.cause for cause in subject.causes]
    (library,) = explain('dlopen failed: library "liba_jni.so" not found', nothing)
    assert "ldconfig" not in library.causes[0].fix


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cudaGetDriverEntryPointByVersion", "CUDA 12.5-13.5 exports it"),
        ("cusparseScsrgemm2", "CUDA 11.7-11.8 exports it"),
        ("ncclCommWindowRegister", "NCCL 2.27-2.32 exports it"),
        ("cudaMallocHost", "Every known release of the CUDA runtime"),
        ("cudaSetupArgument", "No known release"),
        ("cuTensorMapEncodeTiled", "Drivers for CUDA 12.0 and later export it"),
    ],
)
def test_which_releases_of_cuda_have_a_name(name: str, said: str, nothing: Knowledge) -> None:
    """By `nm -D` of the libraries in NVIDIA's wheels, and cudaTypedefs.h of the toolkit (`_v12000`)."""
    (subject,) = explain(f"/x/_C.so: undefined symbol: {name}", nothing)
    evidence = [line for cause in subject.causes for line in cause.evidence]
    assert any(said in line for line in evidence)
