"""The rules' TOML files as one table. Made by tools/compile_rules.py; change the files, not this."""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from typing import Any

RULES: dict[str, dict[str, Any]] = {'c10-cuda-check': {'summary': '`C10_CUDA_CHECK` calls a function whose parameters keep changing',
                    'why': 'The macros C10_CUDA_CHECK, AT_CUDA_CHECK and C10_CUDA_KERNEL_LAUNCH_CHECK expand to a call '
                           'of\n'
                           'c10::cuda::c10_cuda_check_implementation, which has had four signatures: torch 1.13, 2.0 - '
                           '2.9, 2.10 - 2.13 and from 2.14 on.',
                    'example': 'C10_CUDA_CHECK(cudaGetLastError());',
                    'use_instead': 'A check of your own on the `cudaError_t`, or `STD_CUDA_CHECK` of the stable ABI '
                                   '(torch 2.10 and later).',
                    'references': ['https://github.com/pytorch/pytorch/blob/main/c10/cuda/CUDAException.h',
                                   'https://github.com/ROCm/aiter/issues/2843'],
                    'since': '0.1.0',
                    'severity': 'note',
                    'confidence': 'high',
                    'locate': True,
                    'message': '`{name}`, which C10_CUDA_CHECK calls, is exported by {windows}; {status}',
                    'fix': 'check the cudaError_t in a function of your own and report it with TORCH_CHECK, or use '
                           'STD_CUDA_CHECK',
                    'severity_when': {'missing': 'error', 'unreachable': 'error'},
                    'import': [{'scope': ['c10', 'cuda'], 'base': ['c10_cuda_check_implementation']},
                               {'scope': ['c10', 'hip'], 'base': ['c10_hip_check_implementation']}],
                    'fact': [{'symbol': '_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib',
                              'windows': [['2.0.0', '2.9.1']]},
                             {'symbol': '_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb',
                              'windows': [['2.10.0', '2.13.0']]},
                             {'symbol': '_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jbPNS0_19CUDAErrorLogCaptureE',
                              'windows': [['2.14.0', '2.15.0']]}]},
 'c10-std-types': {'summary': "`c10::optional`, `c10::string_view` and their kin are the standard library's now",
                   'why': 'c10::optional and c10::variant were classes of their own up to torch 2.1 and '
                          'c10::string_view up to 2.5. Since then they are\n'
                          'aliases that PyTorch is removing one by one; headers that keep none can be asked for with '
                          '-DC10_NODEPRECATED.',
                   'example': 'torch::Tensor f(torch::Tensor x, c10::optional<torch::Tensor> mask);',
                   'use_instead': '`std::optional`, `std::nullopt`, `std::variant`, `std::string_view`, '
                                  '`[[maybe_unused]]`, `[[nodiscard]]`.',
                   'references': ['https://github.com/rusty1s/pytorch_scatter/pull/473'],
                   'since': '0.1.0',
                   'severity': 'note',
                   'confidence': 'high',
                   'message': '`{text}` is an alias that PyTorch is removing',
                   'fix': 'write std:: instead of c10:: (or at::, torch::); needs torch 2.2 or later, c10::string_view '
                          '2.6',
                   'source': [{'qualified': ['c10::optional',
                                             'c10::nullopt',
                                             'c10::make_optional',
                                             'c10::variant',
                                             'c10::string_view',
                                             'c10::in_place',
                                             'torch::optional',
                                             'torch::nullopt',
                                             'at::optional',
                                             'at::nullopt']},
                              {'identifier': ['C10_UNUSED', 'C10_NODISCARD'],
                               'message': '`{text}` is a macro that PyTorch is removing',
                               'fix': 'write [[maybe_unused]] or [[nodiscard]]'}]},
 'const-data-ptr': {'summary': '`const_data_ptr<T>()` binds to a name that most torch releases do not export',
                    'why': 'PyTorch declared this template differently in three ranges of releases, and each '
                           'declaration mangles to another name: one\n'
                           'for 2.1 - 2.2, one for 2.3 - 2.11, and the first again from 2.12. An extension that calls '
                           'it loads on the range it was\n'
                           'compiled for and on no other. Clang 18 and later spell the name of the middle range in a '
                           'way of their own (`Tn`, the\n'
                           'declaration of a constrained template parameter); libtorch is built with GCC, so no '
                           'release exports that spelling.',
                    'example': 'const int64_t* first = tensor.const_data_ptr<int64_t>();',
                    'use_instead': '`tensor.data_ptr<int64_t>()`, whose name every release from 1.13 on exports, as '
                                   'FlashInfer did; or\n'
                                   '`tensor.mutable_data_ptr<int64_t>()` where 2.1 is the oldest torch to support. '
                                   'Both materialize a copy-on-write tensor, which\n'
                                   'a read through `const_data_ptr` avoids; nothing else changes.',
                    'references': ['https://github.com/pytorch/pytorch/issues/174898',
                                   'https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/core/TensorBase.h',
                                   'https://reviews.llvm.org/D147655'],
                    'since': '0.1.0',
                    'severity': 'warning',
                    'confidence': 'high',
                    'locate': True,
                    'message': 'calls `const_data_ptr<{type}>()`; {status}; this spelling is exported by {windows}',
                    'fix': 'write {rewrites} instead',
                    'severity_when': {'missing': 'error', 'unreachable': 'error', 'undecided': 'warning'},
                    'import': [{'scope': ['at', 'TensorBase'],
                                'base': ['const_data_ptr'],
                                'declares_parameter': True,
                                'message': 'calls `const_data_ptr<{type}>()` in the spelling of Clang 18 and later, '
                                           'which GCC, and so libtorch, never emits; {status}; exported by {windows}',
                                'fix': 'write {rewrites} instead, or compile with -fclang-abi-compat=17, which gives '
                                       'the name that torch 2.3 - 2.11 export'},
                               {'scope': ['at', 'TensorBase'], 'base': ['const_data_ptr']}],
                    'source': [{'member': ['const_data_ptr'],
                                'templated': True,
                                'message': 'calls `{text}`, whose mangled name differs between torch 2.1 - 2.2, 2.3 - '
                                           '2.11 and 2.12 on',
                                'fix': 'write {rewrites} instead'}],
                    'rewrite': [{'write': 'data_ptr<{type}>()',
                                 'symbols': ['_ZNK2at10TensorBase8data_ptrI{type_code}EEPT_v']},
                                {'write': 'mutable_data_ptr<{type}>()',
                                 'symbols': ['_ZNK2at10TensorBase16mutable_data_ptrI{type_code}EEPT_v']}],
                    'fact': [{'symbol': '_ZNK2at10TensorBase14const_data_ptrIfLi0EEEPKT_v',
                              'windows': [['2.3.0', '2.11.0']]},
                             {'symbol': '_ZNK2at10TensorBase14const_data_ptrIfEEPKT_v',
                              'windows': [['2.1.0', '2.2.2'], ['2.12.0', '2.15.0']]},
                             {'symbol': '_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v',
                              'windows': []},
                             {'symbol': '_ZNK2at10TensorBase8data_ptrIlEEPT_v', 'windows': [['1.13.0', '2.15.0']]},
                             {'symbol': '_ZNK2at10TensorBase16mutable_data_ptrIlEEPT_v',
                              'windows': [['2.1.0', '2.15.0']]}]},
 'cuda-set-device': {'summary': '`c10::cuda::SetDevice` changed its parameters twice',
                     'why': 'CUDAGuard and OptionalCUDAGuard are inline and call it, so that it is imported by nearly '
                            'every CUDA extension without standing in\n'
                            'the source. It takes (int) in torch 2.1 - 2.2, (int8_t) in 2.3 - 2.7 and (int8_t, bool) '
                            'from 2.8 on: one binary loads on one of these ranges.',
                     'example': 'const c10::cuda::OptionalCUDAGuard guard(device_of(tensor));',
                     'use_instead': 'A build for each range, or the stable ABI: '
                                    '`torch::stable::accelerator::DeviceGuard`.',
                     'references': ['https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html',
                                    'https://github.com/pytorch/pytorch/blob/main/c10/cuda/CUDAFunctions.h'],
                     'since': '0.1.0',
                     'severity': 'note',
                     'confidence': 'high',
                     'locate': True,
                     'message': '`{name}`, which CUDAGuard calls, is exported by {windows}; {status}',
                     'fix': 'build once for each range of torch releases, or use '
                            'torch::stable::accelerator::DeviceGuard',
                     'severity_when': {'missing': 'error', 'unreachable': 'error'},
                     'import': [{'scope': ['c10', 'cuda'], 'base': ['SetDevice']}],
                     'fact': [{'symbol': '_ZN3c104cuda9SetDeviceEi', 'windows': [['2.1.0', '2.2.2']]},
                              {'symbol': '_ZN3c104cuda9SetDeviceEa', 'windows': [['2.3.0', '2.7.1']]},
                              {'symbol': '_ZN3c104cuda9SetDeviceEab', 'windows': [['2.8.0', '2.15.0']]}]},
 'current-cuda-blas-handle': {'summary': '`at::cuda::getCurrentCUDABlasHandle` gained a parameter in torch 2.12',
                              'why': 'It takes no parameter up to torch 2.11 and a bool from 2.12 on. The default '
                                     'argument hides this from sources, not from binaries.',
                              'example': 'cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();',
                              'use_instead': '`torch_get_current_cuda_blas_handle` of the stable ABI (torch 2.10 and '
                                             'later), or a handle of your own with the current stream set.',
                              'references': ['https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/cuda/CUDAContextLight.h'],
                              'since': '0.1.0',
                              'severity': 'note',
                              'confidence': 'high',
                              'locate': True,
                              'message': '`{name}` is exported by {windows}; {status}',
                              'fix': 'use torch_get_current_cuda_blas_handle, or build once for torch up to 2.11 and '
                                     'once for 2.12 on',
                              'severity_when': {'missing': 'error', 'unreachable': 'error'},
                              'import': [{'scope': ['at', 'cuda'], 'base': ['getCurrentCUDABlasHandle']}],
                              'fact': [{'symbol': '_ZN2at4cuda24getCurrentCUDABlasHandleEv',
                                        'windows': [['1.13.0', '2.11.0']]},
                                       {'symbol': '_ZN2at4cuda24getCurrentCUDABlasHandleEb',
                                        'windows': [['2.12.0', '2.15.0']]}]},
 'deprecated-type-properties': {'summary': '`tensor.type()` is deprecated',
                                'why': '`Tensor::type()` returns at::DeprecatedTypeProperties, which PyTorch has '
                                       'marked deprecated since 1.3; AT_DISPATCH macros given it warn at\n'
                                       'every compilation. It still binds on every release from 1.13 to 2.15.',
                                'example': 'AT_DISPATCH_FLOATING_TYPES(input.type(), "forward", [&] { ... });',
                                'use_instead': '`tensor.scalar_type()` in AT_DISPATCH macros, `tensor.options()` for '
                                               'factories, `tensor.device()`, `tensor.is_cuda()`.',
                                'references': ['https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/templates/TensorBody.h'],
                                'since': '0.1.0',
                                'severity': 'note',
                                'confidence': 'high',
                                'locate': True,
                                'per': 'file',
                                'message': '`tensor.type()` is called somewhere: the file imports {names}; binds on '
                                           'every release so far',
                                'fix': 'write scalar_type(), options() or device(), whichever is meant',
                                'import': [{'scope': ['at'], 'base': ['globalDeprecatedTypePropertiesRegistry']},
                                           {'scope': ['at', 'DeprecatedTypePropertiesRegistry'],
                                            'base': ['getDeprecatedTypeProperties']}],
                                'source': [{'member': ['type'],
                                            'called': True,
                                            'inside': ['AT_DISPATCH_'],
                                            'message': '`{inside}` is given `type()`, which is deprecated',
                                            'fix': 'write scalar_type() instead of type()'}],
                                'fact': [{'symbol': '_ZN2at38globalDeprecatedTypePropertiesRegistryEv',
                                          'windows': [['1.13.0', '2.15.0']]}]},
 'generated-kernel': {'summary': 'A generated Triton kernel uses a name that nothing defines',
                      'why': 'TorchInductor writes Python modules with a `triton_meta` dictionary. Where a size is '
                             'symbolic, a fault in older releases leaves its name\n'
                             '(`s2`, `ks0`) in the dictionary without a definition, and importing the module stops '
                             'with NameError.',
                      'example': "triton_meta={'signature': {'in_ptr0': '*fp32'}, 'constants': {'xnumel': s2}}",
                      'use_instead': 'PyTorch 2.6 with CUDA 12.4 or later, as far as the reports tell; until then keep '
                                     'that function out of the compiler with\n'
                                     '`torch.compiler.disable`, or compile with `dynamic=False`.',
                      'references': ['https://docs.pytorch.org/docs/stable/generated/torch.compiler.disable.html'],
                      'since': '0.1.0',
                      'severity': 'error',
                      'confidence': 'high',
                      'computed': True,
                      'message': '`{name}` in {detail} is defined nowhere in this module: importing it raises '
                                 'NameError',
                      'fix': 'clear the compile cache and use PyTorch 2.6 or later; until then keep the function out '
                             'of torch.compile with torch.compiler.disable'},
 'half-intrinsic': {'summary': 'A device intrinsic that HIP does not overload for c10::Half and c10::BFloat16',
                    'why': "CUDA's `__ldg` takes `__half*`, HIP's takes the plain arithmetic types; neither knows "
                           'c10::Half. A kernel template that is dispatched for Half or\n'
                           'BFloat16 compiles under CUDA where an overload is in scope and stops under HIP with "no '
                           'matching function for call to \'__ldg\'".',
                    'example': 'scalar_t value = __ldg(src + i);  // scalar_t is at::Half among others',
                    'use_instead': 'A plain read under HIP (`#ifdef USE_ROCM`), which the compiler turns into the same '
                                   'cached load; a cast of the pointer to\n'
                                   '`const __half*` or `const unsigned short*`; or an overload of `__ldg` for `const '
                                   'c10::Half*`.',
                    'references': ['https://github.com/rusty1s/pytorch_scatter/issues/412',
                                   'https://rocm.docs.amd.com/projects/HIP/en/latest/reference/cpp_language_extensions.html'],
                    'since': '0.1.0',
                    'severity': 'note',
                    'confidence': 'low',
                    'message': '`{text}` in a file that handles half-precision tensors: HIP has no overload of it for '
                               'c10::Half',
                    'fix': 'read plainly under #ifdef USE_ROCM, cast the pointer to const __half*, or add an overload '
                           'for c10::Half',
                    'source': [{'identifier': ['__ldg'],
                                'called': True,
                                'languages': ['hip'],
                                'file_has': ['Half',
                                             'BFloat16',
                                             'kHalf',
                                             'kBFloat16',
                                             'AT_DISPATCH_FLOATING_TYPES_AND_HALF',
                                             'AT_DISPATCH_ALL_TYPES_AND2'],
                                'severity': 'warning'},
                               {'identifier': ['__ldg'],
                                'called': True,
                                'languages': ['cuda'],
                                'file_has': ['Half',
                                             'BFloat16',
                                             'kHalf',
                                             'kBFloat16',
                                             'AT_DISPATCH_FLOATING_TYPES_AND_HALF',
                                             'AT_DISPATCH_ALL_TYPES_AND2'],
                                'file_lacks': ['USE_ROCM',
                                               '__HIP_PLATFORM_AMD__',
                                               '__HIP_PLATFORM_HCC__',
                                               '__HIPCC__',
                                               '__HIP__']}]},
 'legacy-register-operators': {'summary': '`torch::RegisterOperators` is the registration of torch 1.x',
                               'why': 'TORCH_LIBRARY has long taken its place. Its constructors and destructor were '
                                      'exported up to torch 2.1 and have been inline\n'
                                      'since, so that a file built with headers up to 2.1 loads on no later release, '
                                      'while the same source compiled anew does.',
                               'example': 'static auto registry = torch::RegisterOperators().op("myext::add", &add);',
                               'use_instead': '`TORCH_LIBRARY(myext, m) { m.def("add(Tensor a, Tensor b) -> Tensor"); '
                                              '}` with `TORCH_LIBRARY_IMPL`; for one binary over many releases\n'
                                              '`STABLE_TORCH_LIBRARY` (torch 2.9 and later).',
                               'references': ['https://discuss.pytorch.org/t/difference-between-torch-library-and-registeroperators-op/92270',
                                              'https://docs.pytorch.org/tutorials/advanced/cpp_custom_ops.html'],
                               'since': '0.1.0',
                               'severity': 'note',
                               'confidence': 'high',
                               'locate': True,
                               'per': 'file',
                               'message': 'registers operators with `torch::RegisterOperators` ({count}: {names}), '
                                          'exported by {windows}',
                               'fix': 'rebuild against {target}; register with TORCH_LIBRARY and TORCH_LIBRARY_IMPL in '
                                      'the long run',
                               'severity_when': {'missing': 'error', 'unreachable': 'error'},
                               'import': [{'scope_starts': ['c10', 'RegisterOperators']}],
                               'source': [{'qualified': ['torch::RegisterOperators',
                                                         'c10::RegisterOperators',
                                                         'torch::jit::RegisterOperators'],
                                           'message': 'registers operators with `{text}`, which TORCH_LIBRARY '
                                                      'superseded',
                                           'fix': 'register with TORCH_LIBRARY and TORCH_LIBRARY_IMPL'}],
                               'fact': [{'symbol': '_ZN3c1017RegisterOperatorsC1Ev', 'windows': [['1.13.0', '2.1.2']]},
                                        {'symbol': '_ZN3c1017RegisterOperatorsD1Ev',
                                         'windows': [['1.13.0', '2.1.2']]}]},
 'libtorch-python-internals': {'summary': 'A name of libtorch_python that newer releases hide',
                               'why': 'libtorch_python exported 3,623 names of torch, at, c10 and THP in torch 2.6 and '
                                      'about 240 from 2.7 on, where hidden visibility became\n'
                                      'the default. What was hidden is still in the library and cannot be bound.',
                               'example': 'torch::utils::cuda_lazy_init();  // exported up to 2.2',
                               'use_instead': 'The functions that libtorch and libc10 export for the same; '
                                              '`THPVariable_Wrap`, `THPVariable_Unpack` and the pybind11 casters of\n'
                                              '<torch/extension.h> for tensors, which stay. Where nothing does: ask '
                                              'PyTorch to mark the function TORCH_PYTHON_API.',
                               'references': ['https://github.com/pytorch/pytorch/issues/154105'],
                               'since': '0.1.0',
                               'severity': 'warning',
                               'confidence': 'high',
                               'locate': True,
                               'message': 'uses `{name}` of libtorch_python; {status}; exported by {windows}',
                               'fix': 'do without `{qualified}`: use what libtorch or <torch/extension.h> offers for '
                                      'the same',
                               'severity_when': {'missing': 'error', 'unreachable': 'error'},
                               'import': [{'owner': ['torch'],
                                           'provider_starts': ['libtorch_python'],
                                           'fate': ['closed']}],
                               'fact': [{'symbol': '_ZN5torch5utils14cuda_lazy_initEv',
                                         'windows': [['1.13.0', '2.2.2']]},
                                        {'symbol': '_ZN5torch10ValueErrorC1EPKcz', 'windows': [['1.13.0', '2.2.2']]},
                                        {'symbol': 'THPVariableClass', 'windows': [['1.13.0', '2.15.0']]}]},
 'malformed-name': {'summary': 'An import that begins like a C++ name and is none',
                    'why': "Names that begin with `_Z` are reserved for mangled C++ names. One that neither GNU's nor "
                           "LLVM's demangler accepts was made by hand, by\n"
                           'a broken code generator, or by a compiler that is newer than both. Vector variants of C '
                           "functions (`_ZGVbN4v_sinf`) and Rust's and\n"
                           "other languages' names are not meant.",
                    'example': '_ZN99at5emptyEv',
                    'use_instead': 'Look at what emits the name: inline assembly, a code generator, an `asm("...")` '
                                   'label with a typing error.',
                    'references': ['https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling'],
                    'since': '0.1.0',
                    'severity': 'note',
                    'confidence': 'medium',
                    'message': "neither GNU's nor LLVM's demangler accepts `{symbol}`; {status}",
                    'fix': 'find what emits this name and correct it there; no compiler that either demangler knows '
                           'does',
                    'severity_when': {'missing': 'warning', 'unreachable': 'warning'},
                    'import': [{'cxx': True, 'demangled_by': ['none']}]},
 'materialize-cow-storage': {'summary': "An inline `data_ptr()` of torch's headers left a call that torch 2.13 no "
                                        'longer serves',
                             'why': "`c10::impl::cow::materialize_cow_storage` stands in no extension's source. The "
                                    'untyped accessors (`tensor.data_ptr()`,\n'
                                    '`tensor.mutable_data_ptr()`, the same on a storage) are inline, and with the '
                                    'headers of torch 2.3 - 2.12 their bodies call it.\n'
                                    'It is exported by those releases and by no later one, so the extension cannot '
                                    'load on torch 2.13.',
                             'example': 'void* p = tensor.data_ptr();',
                             'use_instead': '`tensor.data_ptr<T>()` with the element type, which is one exported '
                                            'function and drags nothing in; for reads\n'
                                            '`tensor.const_data_ptr()` without a template argument, which does not '
                                            'materialize. Or build against the torch that is used.',
                             'references': ['https://github.com/pytorch/pytorch/issues/187727',
                                            'https://github.com/ai-dynamo/nixl/issues/1798'],
                             'since': '0.1.0',
                             'severity': 'warning',
                             'confidence': 'high',
                             'locate': True,
                             'message': 'an inline `data_ptr()` calls `{qualified}`; {status}; exported by {windows}',
                             'fix': 'write `data_ptr<T>()` with the element type (or `const_data_ptr()` to read) where '
                                    'untyped `data_ptr()` is called, or rebuild against {target}',
                             'severity_when': {'missing': 'error', 'unreachable': 'error'},
                             'import': [{'scope': ['c10', 'impl', 'cow'], 'base': ['materialize_cow_storage']}],
                             'rewrite': [{'write': 'data_ptr<{type}>()',
                                          'symbols': ['_ZNK2at10TensorBase8data_ptrIfEEPT_v']}],
                             'fact': [{'symbol': '_ZN3c104impl3cow23materialize_cow_storageERNS_11StorageImplE',
                                       'windows': [['2.3.0', '2.12.1']]},
                                      {'symbol': '_ZNK2at10TensorBase8data_ptrIfEEPT_v',
                                       'windows': [['1.13.0', '2.15.0']]}]},
 'message-logger': {'summary': 'The glog-style `CHECK` macros of c10 construct a class whose constructor keeps '
                               'changing',
                    'why': 'CHECK, CHECK_EQ, LOG and TORCH_CHECK_EQ construct a c10::MessageLogger. Its constructor '
                           'has had three signatures: to torch 2.9, in\n'
                           '2.10 alone, and from 2.11 on; `stream()` became an exported function in 2.10.',
                    'example': 'CHECK_EQ(a.size(0), b.size(0));',
                    'use_instead': '`TORCH_CHECK(a.size(0) == b.size(0), "...")`; `STD_TORCH_CHECK` in the stable ABI.',
                    'references': ['https://github.com/sgl-project/sglang/pull/30562',
                                   'https://github.com/pytorch/pytorch/blob/main/c10/util/logging_is_not_google_glog.h'],
                    'since': '0.1.0',
                    'severity': 'note',
                    'confidence': 'high',
                    'locate': True,
                    'message': '`{name}`, which CHECK and LOG macros call, is exported by {windows}; {status}',
                    'fix': 'write TORCH_CHECK instead of CHECK, CHECK_EQ, TORCH_CHECK_EQ and their kin',
                    'severity_when': {'missing': 'error', 'unreachable': 'error'},
                    'import': [{'scope': ['c10', 'MessageLogger'], 'base': ['MessageLogger', 'stream']}],
                    'source': [{'identifier': ['TORCH_CHECK_EQ',
                                               'TORCH_CHECK_NE',
                                               'TORCH_CHECK_LE',
                                               'TORCH_CHECK_LT',
                                               'TORCH_CHECK_GE',
                                               'TORCH_CHECK_GT'],
                                'called': True,
                                'message': '`{text}` constructs a c10::MessageLogger, whose constructor differs '
                                           'between torch 2.9, 2.10 and 2.11',
                                'fix': 'write TORCH_CHECK with the comparison inside'}],
                    'fact': [{'symbol': '_ZN3c1013MessageLoggerC1EPKcii', 'windows': [['1.13.0', '2.9.1']]},
                             {'symbol': '_ZN3c1013MessageLoggerC1EPKciib', 'windows': [['2.10.0', '2.10.0']]},
                             {'symbol': '_ZN3c1013MessageLoggerC1ENS_14SourceLocationEib',
                              'windows': [['2.11.0', '2.15.0']]}]},
 'missing-import': {'summary': 'An import that no library in scope exports',
                    'why': 'Python opens extensions with RTLD_NOW: the loader binds every import before the first line '
                           'runs, and one that it cannot\n'
                           'bind fails the whole file with "undefined symbol". Every library in the file\'s scope was '
                           'read to decide this.',
                    'example': 'ImportError: _C.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs',
                    'use_instead': 'What helps depends on the cause, which the report gives beside the import: most '
                                   'often a build of the extension that matches the\n'
                                   'installed torch. `abiscan explain SYMBOL` tells the history of one name.',
                    'references': ['https://man7.org/linux/man-pages/man3/dlopen.3.html'],
                    'since': '0.1.0',
                    'severity': 'error',
                    'confidence': 'high',
                    'message': '`{name}` is missing: {status}; exported by {windows}',
                    'fix': 'build the extension against {target}, or install a torch that exports it; `abiscan explain '
                           '{symbol}` has its history',
                    'import': [{'status': ['missing'],
                                'owner': ['torch'],
                                'fate': ['never'],
                                'message': '`{name}` is missing: {status}, and neither does any release from 1.13 on '
                                           'in this spelling',
                                'fix': '`abiscan explain {symbol}` tells what comes near: another compiler, '
                                       'std::string or header made this name'},
                               {'status': ['missing'], 'owner': ['torch']},
                               {'status': ['missing'],
                                'owner': ['python'],
                                'message': '`{name}` is missing: this interpreter does not export it',
                                'fix': 'build the extension for this Python version, or use the interpreter that it '
                                       'was built for'},
                               {'status': ['missing'],
                                'owner': ['self'],
                                'message': "`{name}` is missing, and it is the file's own: the source that defines it "
                                           'was not compiled in or not linked',
                                'fix': "add the source or object that defines `{qualified}` to the extension's build"},
                               {'status': ['missing'],
                                'owner': ['cuda', 'hip', 'c++', 'libc', 'openmp', 'other'],
                                'message': '`{name}` is missing: no library in scope exports it',
                                'fix': 'link the library that defines it, or install the version of it that the file '
                                       'was built with'}]},
 'missing-library': {'summary': 'A needed library that was not found',
                     'why': 'The loader maps every library that the file names (DT_NEEDED) before it binds anything; '
                            'one that it cannot find ends the\n'
                            'attempt with "cannot open shared object file". A torch or Python library that is not '
                            "there fails the file. A driver's or a\n"
                            "codec's may be on the machine that the file is meant for, so that it is only noted.",
                     'example': 'ImportError: libc10_cuda.so: cannot open shared object file: No such file or '
                                'directory',
                     'use_instead': 'Install the build of torch, or the package, that ships the library; `import '
                                    'torch` before the extension.',
                     'references': ['https://man7.org/linux/man-pages/man8/ld.so.8.html'],
                     'since': '0.1.0',
                     'severity': 'note',
                     'confidence': 'high',
                     'per': 'library',
                     'message': '{library} was not found; {count} would have to come from it{names}',
                     'fix': 'install what ships {library}, or judge the file on a machine that has it',
                     'library': [{'found': False,
                                  'soname_starts': ['libtorch_cuda',
                                                    'libc10_cuda',
                                                    'libtorch_hip',
                                                    'libc10_hip',
                                                    'libtorch_nvshmem',
                                                    'libtorch_xpu',
                                                    'libc10_xpu'],
                                  'severity': 'error',
                                  'message': '{library} is not part of {target}: it comes with GPU builds; {count} '
                                             'would have to come from it{names}',
                                  'fix': "install a GPU build of torch, or the extension's CPU build"},
                                 {'found': False,
                                  'soname_starts': ['libtorch', 'libc10', 'libcaffe2', 'libshm'],
                                  'severity': 'error',
                                  'message': '{library} was not found in {target}; {count} would have to come from '
                                             'it{names}',
                                  'fix': 'build the extension against {target}, or install the torch that ships '
                                         '{library}'},
                                 {'found': False,
                                  'soname_starts': ['libpython'],
                                  'severity': 'error',
                                  'message': '{library} was not found; extensions need not link it, the interpreter '
                                             'exports its names',
                                  'fix': 'link without libpython, or use the Python that ships {library}'},
                                 {'found': False}]},
 'op-not-registered': {'summary': 'Functions on tensors that are bound by pybind11 alone',
                       'why': 'torch.compile cannot trace a function that a C++ module exposes by pybind11: it breaks '
                              'the graph there, or stops with "Attempted to\n'
                              'call function marked as skipped ... PyCapsule". A registered operator it can trace. The '
                              'file takes or returns tensors through Python objects and\n'
                              'registers no operator.',
                       'example': 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("moe", &moe); }',
                       'use_instead': '`TORCH_LIBRARY` with `TORCH_LIBRARY_IMPL` in C++, or `torch.library.custom_op` '
                                      'around the call in Python, and in either case a fake\n'
                                      'implementation (`torch.library.register_fake`). Keep the '
                                      '`torch.library.Library` object alive.',
                       'references': ['https://docs.pytorch.org/docs/stable/compile/programming_model.custom_ops.html',
                                      'https://docs.pytorch.org/tutorials/advanced/cpp_custom_ops.html'],
                       'since': '0.1.0',
                       'severity': 'note',
                       'confidence': 'medium',
                       'per': 'file',
                       'message': 'binds functions on tensors by pybind11 ({names}) and registers no operator: '
                                  'torch.compile cannot trace them',
                       'fix': 'register them with TORCH_LIBRARY, or wrap the calls with torch.library.custom_op, and '
                              'add a fake implementation',
                       'import': [{'name': ['THPVariableClass']}, {'base': ['THPVariable_Wrap', 'THPVariable_Unpack']}],
                       'requires': [{'name': ['PyModule_Create2', 'PyModuleDef_Init', 'PyModule_FromDefAndSpec2']}],
                       'unless': [{'scope': ['torch', 'Library']},
                                  {'scope_starts': ['c10', 'RegisterOperators']},
                                  {'name': ['torch_library_impl', 'aoti_torch_library_impl']}],
                       'source': [{'identifier': ['PYBIND11_MODULE'],
                                   'called': True,
                                   'file_has': ['Tensor'],
                                   'file_lacks': ['TORCH_LIBRARY',
                                                  'TORCH_LIBRARY_FRAGMENT',
                                                  'STABLE_TORCH_LIBRARY',
                                                  'STABLE_TORCH_LIBRARY_FRAGMENT'],
                                   'message': 'binds functions by pybind11 in a file that registers no operator: '
                                              'torch.compile cannot trace them',
                                   'fix': 'register them with TORCH_LIBRARY, or wrap the calls with '
                                          'torch.library.custom_op, and add a fake implementation'}]},
 'outside-limited-api': {'summary': 'An abi3 module imports a CPython name outside of the stable ABI',
                         'why': "The name `.abi3.so` says that the module uses CPython's stable ABI alone and so works "
                                'with every later Python. A name outside of it may change or go in\n'
                                'any minor release.',
                         'example': '_PyObject_GetMethod in _C.abi3.so',
                         'use_instead': 'Compile with `Py_LIMITED_API` defined, which hides such names; pybind11 and '
                                        'torch/extension.h do not compile so.',
                         'references': ['https://docs.python.org/3/c-api/stable.html'],
                         'since': '0.1.0',
                         'severity': 'warning',
                         'confidence': 'high',
                         'per': 'file',
                         'message': "an abi3 module, with {count} outside of CPython's stable ABI: {names}",
                         'fix': 'define Py_LIMITED_API for every source of the module, or drop .abi3 from its name',
                         'import': [{'file_ends': ['.abi3.so'],
                                     'owner': ['python'],
                                     'name_starts': ['Py', '_Py'],
                                     'outside_limited_api': True}]},
 'packed-accessor': {'summary': '`packed_accessor<T, N>()` is deprecated',
                     'why': 'PyTorch has marked it deprecated since 1.3: it leaves open whether indices have 32 or 64 '
                            'bits.',
                     'example': 'auto a = tensor.packed_accessor<float, 2, torch::RestrictPtrTraits>();',
                     'use_instead': '`packed_accessor64`, or `packed_accessor32` where no tensor has more than 2**31 '
                                    'elements.',
                     'references': ['https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/core/TensorBase.h'],
                     'since': '0.1.0',
                     'severity': 'note',
                     'confidence': 'high',
                     'message': '`{text}` is deprecated',
                     'fix': 'write packed_accessor32 or packed_accessor64 instead',
                     'source': [{'member': ['packed_accessor'], 'templated': True}]},
 'removed-macros': {'summary': 'Error macros that PyTorch removed or documents as deprecated',
                    'why': 'AT_CHECK is gone: sources that use it do not compile. AT_ERROR, AT_ASSERT and AT_ASSERTM '
                           "still expand, and PyTorch's own\n"
                           'headers ask not to use them.',
                    'example': 'AT_CHECK(x.is_cuda(), "x must be a CUDA tensor");',
                    'use_instead': '`TORCH_CHECK(condition, message)`; `TORCH_INTERNAL_ASSERT` for what cannot happen.',
                    'references': ['https://github.com/pytorch/pytorch/blob/main/c10/util/Exception.h',
                                   'https://github.com/sshaoshuai/Pointnet2.PyTorch/pull/25'],
                    'since': '0.1.0',
                    'severity': 'note',
                    'confidence': 'high',
                    'message': '`{text}` is documented as deprecated',
                    'fix': 'write TORCH_CHECK(false, ...), TORCH_CHECK or TORCH_INTERNAL_ASSERT, whichever is meant',
                    'source': [{'identifier': ['AT_CHECK'],
                                'called': True,
                                'severity': 'warning',
                                'message': "`AT_CHECK` is no longer defined by torch's headers",
                                'fix': 'write TORCH_CHECK instead'},
                               {'identifier': ['AT_ERROR', 'AT_ASSERT', 'AT_ASSERTM'], 'called': True}]},
 'tensor-data': {'summary': '`tensor.data<T>()` is deprecated',
                 'why': 'PyTorch has marked it deprecated since 1.3. It is inline and calls `data_ptr<T>()`, so that '
                        'no import tells of it.',
                 'example': 'float* p = tensor.data<float>();',
                 'use_instead': '`tensor.data_ptr<float>()`: the same pointer, and a name that every release from 1.13 '
                                'on exports.',
                 'references': ['https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/core/TensorBase.h'],
                 'since': '0.1.0',
                 'severity': 'note',
                 'confidence': 'medium',
                 'message': '`{text}` is deprecated',
                 'fix': 'write {rewrites} instead',
                 'source': [{'member': ['data'], 'templated': True, 'called': True, 'file_has': ['Tensor']}],
                 'rewrite': [{'write': 'data_ptr<{type}>()',
                              'symbols': ['_ZNK2at10TensorBase8data_ptrI{type_code}EEPT_v']}]},
 'thc-api': {'summary': 'The THC library was removed in torch 1.11',
             'why': "THC (`THCState`, `THCudaCheck`, `THCudaMalloc`, `THCCeilDiv`, <THC/THC.h>) was PyTorch's first "
                    'CUDA backend in C. Sources that use it do not\n'
                    'compile against torch 1.11 or later, and binaries that import it load on no release from 1.13 on.',
             'example': 'THCudaCheck(cudaGetLastError());',
             'use_instead': '`C10_CUDA_CHECK` for THCudaCheck, `at::ceil_div` for THCCeilDiv, '
                            '`c10::cuda::CUDACachingAllocator` for THCudaMalloc and THCudaFree,\n'
                            '`at::cuda::getCurrentCUDAStream()` for THCState_getCurrentStream; '
                            '<ATen/cuda/CUDAContext.h> for <THC/THC.h>.',
             'references': ['https://github.com/pytorch/pytorch/pull/66391',
                            'https://github.com/b-flo/warp-transducer/pull/2'],
             'since': '0.1.0',
             'severity': 'warning',
             'confidence': 'high',
             'locate': True,
             'message': '`{name}` belongs to THC, which torch 1.11 removed; {status}',
             'fix': 'write the at::cuda or c10::cuda function instead (`abiscan rules thc-api` lists them)',
             'severity_when': {'missing': 'error', 'unreachable': 'error'},
             'import': [{'name': ['_THError', '_THArgCheck', '__THCudaCheck', '__THCublasCheck'],
                         'name_starts': ['THCState_', 'THCudaMalloc', 'THCudaFree', 'THCuda'],
                         'status': ['missing', 'undecided']}],
             'source': [{'include_starts': ['THC/'],
                         'message': 'includes <{text}>, which torch 1.11 removed',
                         'fix': 'include <ATen/cuda/CUDAContext.h>, <ATen/ceil_div.h> or <c10/cuda/CUDAException.h>, '
                                'whichever is used'},
                        {'identifier': ['THCudaCheck',
                                        'THCCeilDiv',
                                        'THCudaMalloc',
                                        'THCudaFree',
                                        'THCState',
                                        'THCState_getCurrentStream',
                                        'THArgCheck',
                                        'THError'],
                         'message': 'uses `{text}` of THC, which torch 1.11 removed',
                         'fix': 'write the at::cuda or c10::cuda function instead (`abiscan rules thc-api` lists '
                                'them)'}]},
 'torch-library-registration': {'summary': '`TORCH_LIBRARY` binds to functions that change between releases',
                                'why': "The macro and `m.def` are inline and import torch::Library's constructor, "
                                       '`_def`, `_impl` and torch::jit::parseSchemaOrName. Their\n'
                                       'signatures changed in torch 2.0, 2.2, 2.4, 2.7 and 2.12, and nothing is '
                                       'promised about the next release.',
                                'example': 'TORCH_LIBRARY(myext, m) { m.def("add(Tensor a, Tensor b) -> Tensor"); }',
                                'use_instead': 'Right as it is where the extension is built for each torch. For one '
                                               'binary over several releases: `STABLE_TORCH_LIBRARY` with\n'
                                               '`TORCH_BOX` (torch 2.9 and later), which goes through C functions that '
                                               'PyTorch keeps for at least two years.',
                                'references': ['https://docs.pytorch.org/cppdocs/api/stable/registration.html',
                                               'https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html'],
                                'since': '0.1.0',
                                'severity': 'note',
                                'confidence': 'high',
                                'per': 'file',
                                'locate': True,
                                'message': 'registers operators through {count} that torch promises nothing about '
                                           '({names})',
                                'fix': 'for one binary over several torch releases, register with STABLE_TORCH_LIBRARY',
                                'import': [{'scope': ['torch', 'Library']},
                                           {'scope': ['torch', 'jit'], 'base': ['parseSchemaOrName']}],
                                'fact': [{'symbol': '_ZN5torch3jit17parseSchemaOrNameERKSs',
                                          'windows': [['1.13.0', '2.3.1']]},
                                         {'symbol': '_ZN5torch3jit17parseSchemaOrNameERKSsb',
                                          'windows': [['2.4.0', '2.6.0']]},
                                         {'symbol': '_ZN5torch7LibraryC1ENS0_4KindESsN3c108optionalINS2_11DispatchKeyEEEPKcj',
                                          'windows': [['1.13.0', '2.1.2']]},
                                         {'symbol': '_ZN5torch7LibraryC1ENS0_4KindESsSt8optionalIN3c1011DispatchKeyEEPKcj',
                                          'windows': [['2.2.0', '2.6.0']]}]},
 'torch-requirement-missing': {'summary': 'A wheel has members that need torch, and requires none',
                               'why': 'Without a `Requires-Dist: torch` an installer neither brings torch nor keeps '
                                      'the one that is there at a release on which the members load.',
                               'example': 'a wheel whose module imports at:: names and whose METADATA has no '
                                          'Requires-Dist on torch',
                               'use_instead': 'The range that the members load on. Projects that leave torch to the '
                                              'user say so in their documentation.',
                               'references': ['https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use'],
                               'since': '0.1.0',
                               'severity': 'note',
                               'confidence': 'high',
                               'computed': True,
                               'message': 'the wheel requires no torch, {detail}',
                               'fix': '{target}'},
 'torch-requirement-too-wide': {'summary': 'A wheel allows torch releases on which it does not load',
                                'why': 'An installer puts any torch that `Requires-Dist` allows beside the wheel. '
                                       'Where the members import names that only some releases export, users of the\n'
                                       'others get an undefined symbol at import.',
                                'example': 'Requires-Dist: torch, for a module that loads on 2.4.0 - 2.5.1',
                                'use_instead': 'The range that the members load on, or a wheel for each group of '
                                               "releases; torch's stable ABI widens the range.",
                                'references': ['https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use'],
                                'since': '0.1.0',
                                'severity': 'warning',
                                'confidence': 'high',
                                'computed': True,
                                'message': 'the wheel requires `{name}`, {detail}',
                                'fix': '{target}'},
 'undemangled-name': {'summary': "A C++ name that GNU's demangler does not know",
                      'why': "c++filt, nm -C, gdb and Python's cxxfilt print such a name as it stands, so that the "
                             "loader's message cannot be read.\n"
                             "LLVM's demangler (here: pycxxfilt) reads it. Usually Clang 18 or later made it: it "
                             'writes the declaration of a\n'
                             'constrained template parameter (`Tn`, `Ty`, ...) into the name. GCC never does, so that '
                             'a library built with GCC, such as\n'
                             'libtorch, does not export the name either.',
                      'example': '_ZNK2at10TensorBase14const_data_ptrIlTnNSt9enable_ifIXntsr3stdE10is_const_vIT_EEiE4typeELi0EEEPKS3_v',
                      'use_instead': 'To read it: `llvm-cxxfilt` of LLVM 19 or later, or `abiscan explain`. To avoid '
                                     'it: `-fclang-abi-compat=17`, or GCC.',
                      'references': ['https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangle.template-param',
                                     'https://github.com/itanium-cxx-abi/cxx-abi/issues/47'],
                      'since': '0.1.0',
                      'severity': 'note',
                      'confidence': 'high',
                      'message': "GNU's demangler rejects `{symbol}`; LLVM's reads `{name}`",
                      'fix': 'read it with llvm-cxxfilt of LLVM 19 or later',
                      'severity_when': {'missing': 'warning', 'unreachable': 'warning'},
                      'import': [{'gnu_rejects': True,
                                  'cxx': True,
                                  'declares_parameter': True,
                                  'message': "GNU's demangler rejects `{symbol}`, a spelling of Clang 18 and later; "
                                             "LLVM's reads `{name}`",
                                  'fix': 'read it with llvm-cxxfilt of LLVM 19 or later; compile with '
                                         '-fclang-abi-compat=17 to get the name that GCC emits'},
                                 {'gnu_rejects': True, 'cxx': True}]},
 'unreachable-import': {'summary': "An import that a loaded library exports, outside of the file's scope",
                        'why': '`import torch` loads most of its libraries locally, so the loader searches one of them '
                               'only for files that name it among their\n'
                               'needed libraries. A symbol can be in memory and still be undefined for this file; '
                               'THPVariable_Wrap in an extension\n'
                               'that does not link libtorch_python is the usual one.',
                        'example': 'ImportError: _C.so: undefined symbol: THPVariableClass',
                        'use_instead': 'Link the library: `torch.utils.cpp_extension.CppExtension` names all of them, '
                                       'libtorch_python included; CMake needs\n'
                                       '`find_library(TORCH_PYTHON_LIBRARY torch_python ...)`, because '
                                       '`TORCH_LIBRARIES` leaves it out.',
                        'references': ['https://docs.pytorch.org/docs/stable/cpp_extension.html'],
                        'since': '0.1.0',
                        'severity': 'error',
                        'confidence': 'high',
                        'message': '`{name}` is exported by {provider}, which the file does not name among its needed '
                                   'libraries',
                        'fix': 'link the extension with {provider}',
                        'import': [{'status': ['unreachable']}]},
 'unstable-abi': {'summary': 'Imports that bind and about which torch promises nothing',
                  'why': 'PyTorch keeps its C shims (`aoti_torch_*`, `torch_*`) for at least two years. Everything '
                         'else of `at::`, `c10::` and `torch::` may change in any minor\n'
                         "release, and does: the report's matrix tells on which releases this file loads.",
                  'example': 'at::Tensor f(const at::Tensor& x);  // at::, c10:: and torch:: have no stable ABI',
                  'use_instead': 'The stable ABI (<torch/csrc/stable/...>, torch 2.9 and later) for one binary over '
                                 'several releases; else a build for each.',
                  'references': ['https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html'],
                  'since': '0.1.0',
                  'severity': 'note',
                  'confidence': 'high',
                  'per': 'file',
                  'message': "{count} bound to torch's C++ API, about which nothing is promised in the next release",
                  'fix': 'nothing, where each torch gets a build of its own; else move to the stable ABI',
                  'import': [{'owner': ['torch'], 'status': ['resolved'], 'cxx': True}]},
 'vtable-drift': {'summary': 'A torch class that the file derives from has another vtable in the target',
                  'why': 'A derived class carries a vtable of its own with one slot for each virtual function that the '
                         'base had when it was compiled. Where\n'
                         "torch added, removed or reordered virtual functions since, torch's code calls through a slot "
                         "that is not there, or is another function's. Every\n"
                         'symbol still binds: the first sign is a crash or a wrong result.',
                  'example': 'struct MyNode : torch::autograd::Node { variable_list apply(variable_list&&) override; '
                             '};',
                  'use_instead': 'Build the extension against the torch it runs with. `torch::autograd::Function`, '
                                 'hooks and registered operators need no\n'
                                 "derived class of the extension's own; the stable ABI promises what it exports.",
                  'references': ['https://itanium-cxx-abi.github.io/cxx-abi/abi.html#vtable'],
                  'since': '0.1.0',
                  'severity': 'warning',
                  'confidence': 'medium',
                  'computed': True,
                  'message': 'derives from `{name}`, whose vtable is not the one that this file was compiled with: '
                             '{detail}',
                  'fix': 'build the extension against {target}: no missing symbol will tell, it crashes or misbehaves '
                         'at run time'},
 'wheel-tag-beyond-stable-abi': {'summary': 'A wheel is tagged for many Pythons, and a member imports CPython names '
                                            'that not all of them have',
                                 'why': '`cp39-abi3` and `py3-none` say that one build serves many versions of '
                                        'CPython. Only names of the stable ABI are in all of them, each from the\n'
                                        'version in which it joined; any other may be gone or changed in the next one.',
                                 'example': '_PyObject_GetMethod in _C.so of a wheel tagged cp39-abi3',
                                 'use_instead': 'Define `Py_LIMITED_API` to the oldest promised version for every '
                                                'source, or build a wheel for each Python.',
                                 'references': ['https://docs.python.org/3/c-api/stable.html'],
                                 'since': '0.1.0',
                                 'severity': 'warning',
                                 'confidence': 'high',
                                 'computed': True,
                                 'message': 'the wheel is tagged {name}, but {detail}',
                                 'fix': 'define Py_LIMITED_API for the oldest promised Python, or build and tag a '
                                        'wheel for each Python'},
 'wheel-tag-other-machine': {'summary': "A wheel's platform tag is not for the machine of its members",
                             'why': 'Installers go by the tag: a shared object of another architecture is installed '
                                    'and cannot be loaded. A wheel tagged `any` is installed on every\n'
                                    'system, where a Linux shared object loads on one.',
                             'example': 'an x86_64 module in a wheel tagged py3-none-any',
                             'use_instead': 'A platform tag for each architecture, as `bdist_wheel` gives it where the '
                                            'distribution has an extension module.',
                             'references': ['https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/'],
                             'since': '0.1.0',
                             'severity': 'warning',
                             'confidence': 'high',
                             'computed': True,
                             'message': 'the wheel is tagged {name}, but {detail}',
                             'fix': 'build and tag a wheel for each architecture (`auditwheel repair` reads it from '
                                    'the members)'},
 'wheel-tag-other-python': {'summary': "A wheel's Python tag promises interpreters that do not import its modules",
                            'why': 'An interpreter imports a module only under a suffix of its own: '
                                   '`.cpython-311-x86_64-linux-gnu.so`, `.abi3.so` or `.so`. A wheel that is '
                                   'installed\n'
                                   'for another Python has its module there, and `import` does not find it.',
                            'example': 'torchao/_C.cpython-39-x86_64-linux-gnu.so in a wheel tagged cp39-abi3',
                            'use_instead': 'A wheel for each Python (`cp311-cp311`), or a module of the stable ABI '
                                           'named `.abi3.so`.',
                            'references': ['https://peps.python.org/pep-3149/',
                                           'https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/'],
                            'since': '0.1.0',
                            'severity': 'warning',
                            'confidence': 'high',
                            'computed': True,
                            'message': 'the wheel is tagged {name}, but {detail}',
                            'fix': 'tag the wheel for the Python that the module is named for, or build the module for '
                                   'the promised ones'},
 'wheel-tag-too-old': {'summary': "A wheel's platform tag promises an older system than its members load on",
                       'why': '`manylinux_2_24` says that the wheel works with glibc 2.24 and every later one, and pip '
                              'installs it there. A member that asks for a later\n'
                              'version of glibc or libstdc++ then fails at import: "version `GLIBC_2.34\' not found".',
                       'example': 'bitsandbytes-0.45.5-py3-none-manylinux_2_24_x86_64.whl with a library that asks for '
                                  'GLIBC_2.34',
                       'use_instead': 'Build in the image of the tag, or let `auditwheel repair` name the tag that the '
                                      'members keep.',
                       'references': ['https://peps.python.org/pep-0600/'],
                       'since': '0.1.0',
                       'severity': 'warning',
                       'confidence': 'high',
                       'computed': True,
                       'message': 'the wheel is tagged {name}, but {detail}',
                       'fix': '{target}build it in the image of its tag, or let `auditwheel repair` tag it'},
 'wheel-tags-differ': {'summary': "A wheel's file name and its WHEEL file have different tags",
                       'why': 'Installers go by the file name; tools that unpack, cache or repair wheels go by the '
                              'WHEEL file. Where the two differ, a rename has made a promise that\n'
                              'the build did not.',
                       'example': 'x-1.0-py3-none-any.whl whose WHEEL file says cp311-cp311-linux_x86_64',
                       'use_instead': '`wheel tags`, which changes both.',
                       'references': ['https://packaging.python.org/en/latest/specifications/binary-distribution-format/'],
                       'since': '0.1.0',
                       'severity': 'warning',
                       'confidence': 'high',
                       'computed': True,
                       'message': "only one of the wheel's file name and its WHEEL file has {detail}",
                       'fix': 'change tags with `wheel tags` or `auditwheel repair`, never by renaming the file'}}
