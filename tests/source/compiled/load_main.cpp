#include "load.cu"
#include <cstdio>

template <typename T> int check(const char* name) {
  T in[4] = {T(1.5f), T(2), T(0), T(100)}, out[4] = {};
  copy_kernel<T>(in, out, 4);
  for (int i = 0; i < 4; i++)
    if (!(out[i] == in[i])) return 1;
  std::printf("%s\n", name);
  return 0;
}

int main() {
  return check<float>("float") + check<double>("double") + check<int>("int") + check<int64_t>("int64") +
         check<short>("int16") + check<signed char>("int8") + check<unsigned char>("uint8") +
         check<c10::BFloat16>("bfloat16") + check<c10::Half>("half");
}
