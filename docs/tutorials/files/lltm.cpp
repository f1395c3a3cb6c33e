#include <torch/extension.h>

torch::Tensor forward(torch::Tensor x, double eps) { return x * 2 + eps; }
void rms_norm(torch::Tensor& out, const torch::Tensor& x) { out.copy_(x * 3); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward);
  m.def("rms_norm", &rms_norm);
}
