// Every place that `abiscan fix` rewrites in host code, for every element type; prints what it computes.
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <c10/core/ScalarType.h>
#include <cstdio>
#include <type_traits>

#define MUST(x) AT_ASSERTM(x, "must hold: " #x)

template <typename T> const T* through(const at::Tensor& t) { return t.const_data_ptr<T>(); }

template <typename T> void pointers(at::ScalarType type) {
  at::Tensor t = at::ones({4}, at::TensorOptions().dtype(type));
  const at::Tensor many[] = {t};
  const T* a = t.const_data_ptr<T>();
  auto b = t.template const_data_ptr<T>();
  static_assert(std::is_same_v<decltype(b), const T*>);
  const auto* c = t.contiguous().const_data_ptr<T>();
  auto d = many[0].const_data_ptr<T>();
  static_assert(std::is_same_v<decltype(d), const T*>);
  auto* e = reinterpret_cast<const void*>(many[0].const_data_ptr<T>());
  T* f = t.data<T>();
  MUST(a == b && a == c && a == d && a == e && a == f && a == through<T>(t));
  AT_ASSERT(*a == T(1));
  std::printf("%s\n", c10::toString(type));
}

void accessors() {
  at::Tensor t = at::ones({2, 2});
  const float* constant = t.const_data_ptr<const float>();
  auto wide = t.packed_accessor<float, 2>();
  auto narrow = t.packed_accessor<float, 2, at::DefaultPtrTraits, int32_t>();
  auto sized = t.packed_accessor<float, 2, at::DefaultPtrTraits, size_t>();
  wide[0][0] = 2;
  narrow[0][1] = 3;
  sized[1][1] = 4;
  if (*constant != 2)
    AT_ERROR("not the same memory");
  else
    std::printf("%g %g %g\n", constant[0], constant[1], constant[3]);
}

// What has members of the same names, and is no tensor.
struct View {
  const float* start;
  template <typename T> const T* const_data_ptr() const { return start; }
  template <typename T> const T* data() const { return start; }
  struct Kind {
    int scalarType() const { return 7; }
    bool is_cuda() const { return false; }
  };
  Kind type() const { return {}; }
};
using Slice = View;

void declared(const at::Tensor& given, const Slice& slice) {
  auto made = at::ones({2});
  auto whole = given.contiguous().view({-1});
  auto again = whole;
  at::Tensor first = made, second = given;
  std::printf("%g %g %g %g\n", *made.data<float>(), *whole.data<float>(), *again.const_data_ptr<float>(),
              *second.data<float>());
  for (const auto& each : {first, second}) std::printf("%d\n", int(each.dim()));
  {
    View given{slice.start};  // the tensor's name, and another thing
    std::printf("%g %g\n", *given.const_data_ptr<float>(), *given.data<float>());
  }
  std::printf("%g %d\n", *slice.const_data_ptr<float>(), slice.type().scalarType() + slice.type().is_cuda());
  std::printf("%s %d %d %s %d %d\n", c10::toString(given.type().scalarType()), given.type().is_cuda(),
              given.type().is_sparse(), given.type().toString().c_str(), int(given.type().device_type()),
              given.type().typeMeta() == caffe2::TypeMeta::Make<float>());
}

int main() {
  const float start = 5;
  declared(at::ones({2, 2}), View{&start});
  declared(at::ones({2, 2}).to(at::kDouble).to(at::kFloat), View{&start});
#define EACH(T, NAME) pointers<T>(at::ScalarType::NAME);
  AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(EACH)
  accessors();
  try {
    AT_ERROR("raised ", 1, " ", 2.5);
  } catch (const c10::Error& error) {
    std::printf("%s\n", error.what_without_backtrace());
  }
  try {
    AT_ASSERTM(1 == 2, "never");
  } catch (const c10::Error&) {
    std::printf("asserted\n");
  }
}
