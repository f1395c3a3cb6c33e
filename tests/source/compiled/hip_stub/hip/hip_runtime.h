// In the place of HIP's header, for a host compiler: what torch's headers and the kernel under test use of it.
#pragma once
#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
struct int2 {
  int x, y;
};
constexpr int warpSize = 64;
inline unsigned long long __ballot(int) { return 0; }
template <typename T> T __shfl_xor(T value, int, int = 64) { return value; }
template <typename T> T __shfl(T value, int, int = 64) { return value; }
template <typename T> T __shfl_up(T value, unsigned, int = 64) { return value; }
template <typename T> T __shfl_down(T value, unsigned, int = 64) { return value; }
// As HIP's own header has it (hip/amd_detail/amd_hip_runtime.h, hip_ldg.h): for plain arithmetic types alone.
inline char __ldg(const char* p) { return *p; }
inline signed char __ldg(const signed char* p) { return *p; }
inline short __ldg(const short* p) { return *p; }
inline int __ldg(const int* p) { return *p; }
inline long __ldg(const long* p) { return *p; }
inline long long __ldg(const long long* p) { return *p; }
inline unsigned char __ldg(const unsigned char* p) { return *p; }
inline float __ldg(const float* p) { return *p; }
inline double __ldg(const double* p) { return *p; }
