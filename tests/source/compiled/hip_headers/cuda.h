/* torch includes it by this name; hipify writes hip/hip_runtime.h there. */
