at::Tensor grow(at::Tensor x, double by) { x.add_(by); return x; }
at::Tensor& fill(at::Tensor& out, const at::Tensor& value);
at::Tensor copied(at::Tensor x) { x = x.clone(); return x; }
at::Tensor either(at::Tensor x) { if (x.numel() == 0) return x; return x + 1; }
at::Tensor& fill(at::Tensor& to, const at::Tensor& value) { to.copy_(value); return to; }
PYBIND11_MODULE(my_kernels, m) {
  m.def("grow", &grow);
  m.def("fill", &fill);
  m.def("copied", &copied);
  m.def("either", &either);
  m.def("shrink", [](at::Tensor x) { x.mul_(0.5); return x; });
}
