#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#if defined(USE_ROCM) || defined(OVERLOADED_ALWAYS)
__device__ __forceinline__ c10::OVERLOADED __ldg(const c10::OVERLOADED *p) { return *p; }
#endif
