#include "cpu/checks.h"
#include <ATen/core/Tensor.h>

at::Tensor gather_cpu(const at::Tensor& src, const at::Tensor& index);

at::Tensor gather(const at::Tensor& src, const at::Tensor& index) {
  if (src.device().is_cuda()) {
#ifdef WITH_CUDA
    return src;
#else
    AT_ERROR(
        "Not compiled with CUDA support");
#endif
  } else {
    return gather_cpu(src, index);
  }
}
