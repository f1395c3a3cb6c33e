// A kernel whose types are chosen by who includes it.
#pragma once
#include <ATen/ATen.h>

template <typename scalar_t>
__global__ void gather_kernel(const scalar_t* src, const int64_t* index, scalar_t* out, int n) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < n)
    out[at] = __ldg(src + __ldg(index + at));
}
