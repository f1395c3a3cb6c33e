#include "gather.cuh"
#include <ATen/Dispatch.h>

void gather_cuda(at::Tensor src, at::Tensor index, at::Tensor out) {
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(src.scalar_type(), "gather", [&] {
    gather_kernel<scalar_t><<<1, 256>>>(
        src.data_ptr<scalar_t>(), index.data_ptr<int64_t>(), out.data_ptr<scalar_t>(), index.numel());
  });
}
