#pragma once
#include <torch/extension.h>
#include <vector>

inline std::vector<int64_t> tensor_to_vec(const at::Tensor& tensor) {
  const int64_t* first = tensor.const_data_ptr<int64_t>();
  return std::vector<int64_t>(first, first + tensor.numel());
}
