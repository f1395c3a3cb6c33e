#pragma once
// In the place of rocThrust's header: the functions that c10/util/complex.h calls.
namespace thrust {
template <typename T> struct complex {
  __host__ __device__ complex(T = T(), T = T());
  __host__ __device__ T real() const;
  __host__ __device__ T imag() const;
};
template <typename T> __host__ __device__ T abs(complex<T>);
template <typename T> __host__ __device__ T arg(complex<T>);
template <typename T> __host__ __device__ complex<T> polar(T, T);
#define OF(name) \
  template <typename T> __host__ __device__ complex<T> name(complex<T>); \
  template <typename T> __host__ __device__ complex<T> name(complex<T>, complex<T>); \
  template <typename T> __host__ __device__ complex<T> name(T, complex<T>); \
  template <typename T> __host__ __device__ complex<T> name(complex<T>, T);
OF(exp) OF(log) OF(log10) OF(pow) OF(sqrt) OF(sin) OF(cos) OF(tan) OF(asin) OF(acos) OF(atan)
OF(sinh) OF(cosh) OF(tanh) OF(asinh) OF(acosh) OF(atanh)
#undef OF
} // namespace thrust
