#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>
#include <cstdint>
#ifdef USE_ROCM
#include <hip/hip_fp16.h>
#else
#include <cuda_fp16.h>
#endif
