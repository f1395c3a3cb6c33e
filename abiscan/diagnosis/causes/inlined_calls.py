"""inlined-call: the symbol is in no source, because an inline function or macro of torch headers refers to it.

Each row was read in the headers of the releases: the out-of-line function that a header calls, and the code in an
extension that leads there. Rows are facts about an API; they do not decide whether a symbol is missing, or since
when."""

from __future__ import annotations

from msgspec import Struct

from abiscan.diagnosis import fixes
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId


class InlinedCall(Struct, frozen=True):
    """An out-of-line function and the calls whose inline code reaches it.

    Attributes:
        entity: its qualified name.
        called_by: the code in the source.
        header: of the inline code.
        instead: replacement; may be empty.
    """

    entity: str
    called_by: str
    header: str
    instead: str = ""


INLINED = (
    InlinedCall(
        "c10::impl::cow::materialize_cow_storage",
        "Tensor.data_ptr<T>(), mutable_data_ptr() and StorageImpl::mutable_data() of the headers of 2.3-2.12",
        "c10/core/StorageImpl.h",
        "const_data_ptr<T>() where the data is only read",
    ),
    InlinedCall(
        "c10::StorageImpl::throw_data_ptr_access_error",
        "Tensor.data_ptr(), StorageImpl::data() and mutable_data()",
        "c10/core/StorageImpl.h",
    ),
    InlinedCall(
        "c10::throwNullDataPtrError",
        "Tensor.mutable_data_ptr() and StorageImpl::mutable_data()",
        "c10/core/StorageImpl.h",
    ),
    InlinedCall(
        "c10::SymBool::guard_bool", "Tensor.is_contiguous(), is_non_overlapping_and_dense()", "c10/core/TensorImpl.h"
    ),
    InlinedCall(
        "c10::SymInt::guard_int", "Tensor.size(), numel() and implicit conversions of SymInt", "c10/core/SymInt.h"
    ),
    InlinedCall("c10::SymbolicShapeMeta::init_is_contiguous", "Tensor.is_contiguous()", "c10/core/SymbolicShapeMeta.h"),
    InlinedCall(
        "c10::TensorImpl::compute_contiguous",
        "TensorImpl::refresh_contiguous(), set_sizes_and_strides()",
        "c10/core/TensorImpl.h",
    ),
    InlinedCall("c10::detail::torchCheckFail", "TORCH_CHECK", "c10/util/Exception.h"),
    InlinedCall("c10::detail::torchInternalAssertFail", "TORCH_INTERNAL_ASSERT", "c10/util/Exception.h"),
    InlinedCall("c10::Error::Error", "TORCH_CHECK and the macros of c10/util/Exception.h", "c10/util/Exception.h"),
    InlinedCall("c10::Warning::Warning", "TORCH_WARN", "c10/util/Exception.h"),
    InlinedCall(
        "c10::cuda::c10_cuda_check_implementation", "C10_CUDA_CHECK and AT_CUDA_CHECK", "c10/cuda/CUDAException.h"
    ),
    InlinedCall(
        "c10::MessageLogger::MessageLogger",
        "CHECK, TORCH_CHECK_EQ and similar macros",
        "c10/util/logging_is_not_google_glog.h",
    ),
    InlinedCall(
        "c10::MessageLogger::stream",
        "CHECK, TORCH_CHECK_EQ and similar macros",
        "c10/util/logging_is_not_google_glog.h",
    ),
    InlinedCall(
        "torch::jit::parseSchemaOrName",
        'TORCH_LIBRARY\'s m.def("...")',
        "torch/library.h",
        "STABLE_TORCH_LIBRARY (torch 2.9 and later)",
    ),
    InlinedCall("c10::IValue::reportToTensorTypeError", "IValue::toTensor()", "ATen/core/ivalue_inl.h"),
    InlinedCall("c10::detail::maybe_wrap_dim_slow", "maybe_wrap_dim and Tensor.size(dim)", "c10/core/WrapDimMinimal.h"),
    InlinedCall("c10::cuda::SetDevice", "CUDAGuard and OptionalCUDAGuard", "c10/cuda/impl/CUDAGuardImpl.h"),
    InlinedCall(
        "THPVariable_Wrap",
        "pybind11's conversion of at::Tensor to Python (torch/extension.h)",
        "torch/csrc/autograd/python_variable.h",
    ),
    InlinedCall(
        "THPVariableClass",
        "pybind11's conversion of Python objects to at::Tensor (torch/extension.h)",
        "torch/csrc/autograd/python_variable.h",
    ),
)


def causes(missing: MissingName) -> Candidates:
    """For an entity that is in the table."""
    qualified = missing.name if missing.cxx is None else missing.cxx.qualified
    row = next((row for row in INLINED if row.entity == qualified), None)
    if row is None and missing.cxx is not None and missing.cxx.qualified.startswith("at::_ops::"):
        operator = missing.cxx.scope[2] if len(missing.cxx.scope) > 2 else missing.cxx.base
        # The name is the operator with its overload (`add_Tensor`, `to_dtype_layout`), without a separator.
        row = InlinedCall(
            qualified, f"the operator {operator}, called as at:: function or method of Tensor", "ATen/ops"
        )
    if row is None or missing.file.is_torch_itself:
        return
    evidence = (
        f"An inline function in {row.header} calls {missing.shown}.",
        f"Called from source code as: {row.called_by}.",
    )
    fix = fixes.rebuild(missing)
    if row.instead:
        fix += f"\nor: Use {row.instead}."
    # It explains the origin of the name; the release or ABI explains why it is missing.
    yield Candidate(CauseId.INLINED_CALL, 0.4, evidence, fix)
