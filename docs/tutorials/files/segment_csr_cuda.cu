#include <ATen/ATen.h>

template <typename scalar_t>
__global__ void segment_csr_kernel(const scalar_t* src_data, const int64_t* indptr, scalar_t* out_data, size_t n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  scalar_t sum = 0;
  for (int64_t i = __ldg(indptr + row); i < __ldg(indptr + row + 1); i++) sum += __ldg(src_data + i);
  out_data[row] = sum;
}

void segment_csr(const at::Tensor& src, const at::Tensor& indptr, at::Tensor out) {
  AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Half, src.scalar_type(), "segment_csr", [&] {
    segment_csr_kernel<scalar_t><<<1, 256>>>(src.data_ptr<scalar_t>(), indptr.data_ptr<int64_t>(),
                                             out.data_ptr<scalar_t>(), out.numel());
  });
}
