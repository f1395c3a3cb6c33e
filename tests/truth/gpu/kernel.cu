// A kernel that writes a word, launched and read back through the runtime: 0, or the number of the first error
// (10000 more where no memory could be had, which says nothing of the kernel).
#include <cuda_runtime.h>

__global__ void write_word(int* where) { *where = 42; }

extern "C" int launch(void) {
  int* place = nullptr;
  cudaError_t error = cudaMalloc(&place, sizeof(int));
  if (error != cudaSuccess) return 10000 + error;
  write_word<<<1, 1>>>(place);
  error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  int word = 0;
  error = cudaMemcpy(&word, place, sizeof(int), cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) return error;
  return word == 42 ? 0 : -1;
}
