#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>

float* a(at::Tensor t) { return t.storage().data<float>(); }
float* b(at::Tensor t) { return t.unsafeGetTensorImpl()->data<float>(); }
void c(at::Tensor t) { void* p = t.storage().unsafeGetStorageImpl()->data(); (void)p; }
float* d(at::Tensor t) { return (float*)t.storage().unsafeGetStorageImpl()->data(); }
float* e(at::Tensor t) { return t.storage().unsafeGetStorageImpl()->data<float>() + 1; }
float* f(c10::Storage s) { return s.data<float>(); }
float* g(c10::StorageImpl* s) { return s->data<float>(); }
float* h(const at::Tensor& t) { auto s = t.storage(); return s.data<float>() + t.storage_offset(); }
void i(at::Tensor t) { void* const p = t.storage().data(); (void)p; }
float* j(at::Tensor t) { return t.storage().unsafe_data<float>(); }
float* k(at::Tensor t) { auto* impl = t.unsafeGetTensorImpl(); return impl->data<float>(); }
void l(c10::TensorImpl* s) { const void* p = s->data(); auto q = s->data(); auto* r = s->data(); (void)p, (void)q, (void)r; }
float* m(at::Tensor t) { return t.getIntrusivePtr()->data<float>(); }
float* n(c10::Storage s) { return static_cast<float*>(s.data()); }
const float* o(c10::Storage s) { return static_cast<const float*>(s.data()); }
char* p(c10::intrusive_ptr<c10::StorageImpl> s) { return reinterpret_cast<char*>(s->data()); }
void q(c10::Storage s) { at::DataPtr& p = s.data_ptr(); p.clear(); }
void r(c10::Storage s) { const at::DataPtr& p = s.data_ptr(); (void)p; }
float* s(const c10::intrusive_ptr<c10::TensorImpl>& s) { return (*s).data<float>(); }
float* u(c10::StorageImpl& s) { return (&s)->data<float>(); }
double* v(const std::vector<at::Tensor>& t) { return t[0].storage().data<double>(); }
float* w(std::vector<float> s, c10::ArrayRef<float> t) { float* p = s.data(); const float* q = t.data(); return q ? p : nullptr; }
template <typename T>
T* x(at::Tensor t) { return t.storage().data<T>(); }
template float* x<float>(at::Tensor);
