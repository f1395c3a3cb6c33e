#include "checks.h"
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

template <typename scalar_t> static void copy(const at::Tensor& src, const at::Tensor& index, at::Tensor& out) {
  const int64_t* where = index.const_data_ptr<int64_t>();
  const auto* from = src.const_data_ptr<scalar_t>();
  auto* to = out.data<scalar_t>();
  for (int64_t at = 0; at < index.numel(); at++)
    to[at] = from[where[at]];
}

at::Tensor gather_cpu(const at::Tensor& src, const at::Tensor& index) {
  CHECK_CPU(src);
  CHECK_INPUT(index.dim() == 1);
  at::Tensor out = at::empty({index.numel()}, src.options());
  if (src.scalar_type() == at::kFloat)
    copy<float>(src, index, out);
  else if (src.scalar_type() == at::kLong)
    copy<int64_t>(src, index, out);
  else if (src.scalar_type() == at::kHalf)
    UNSUPPORTED(gather, src.scalar_type());
  else
    out.zero_();
  return out;
}
