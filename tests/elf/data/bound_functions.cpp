#include <torch/csrc/utils/pybind.h>
at::Tensor gemm(const at::Tensor& a, const at::Tensor& b) { return a; }
at::Tensor ck_moe(const at::Tensor& a, const at::Tensor& b) { return b; }
void rms_norm(at::Tensor& out, const at::Tensor& x) { out.copy_(x); }
int version() { return 3; }
PYBIND11_MODULE(m, m) {
  m.def("gemm", &gemm, "documented", pybind11::arg("a"), pybind11::arg("b"));
  m.def("ck_moe", &ck_moe, "documented too", pybind11::arg("a"), pybind11::arg("b"));
  m.def("rms_norm", &rms_norm);
  m.def("version", &version);
}
