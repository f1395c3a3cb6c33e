#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>
#include <cstdint>
#ifdef USE_ROCM
#include <hip/hip_fp16.h>
#else
#include <cuda_fp16.h>
#endif

template <typename T> __global__ void copy(const T *__restrict__ p, T *out) { out[0] = READ(p); }
template <typename T> void launch() { copy<T><<<1, 1>>>(static_cast<const T *>(nullptr), static_cast<T *>(nullptr)); }
