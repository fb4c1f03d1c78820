// Kernels: their launches, attributes and occupancy.

#include <vector>

#include "sim/libcudart/registered_code.h"
#include "sim/libcudart/runtime.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::cudart {
namespace {

// The driver takes a kernel where it asks for a function, and finds that of the context.
cudaFunction_t AsFunction(cudaKernel_t kernel) { return reinterpret_cast<cudaFunction_t>(kernel); }

// What the driver calls an invalid value was, if the grid is what is wrong, an error of its own
// before CUDA 13.
cudaError_t Explain(cudaError_t error, const twinmmu_dim3& grid, const twinmmu_dim3& block) {
  if (error != cudaErrorInvalidValue || kRuntimeVersion >= 13000) return error;
  const unsigned int sizes[] = {block.x, block.y, block.z, grid.x, grid.y, grid.z};
  int device = 0;
  if (driver.cuCtxGetDevice(&device) != cudaSuccess) return error;
  int most = 0;
  // The attributes 2 to 7 of a device are how many of each there may be, 1 of threads in a block.
  for (int i = 0; i < 6; ++i) {
    if (driver.cuDeviceGetAttribute(&most, i + 2, device) != cudaSuccess) return error;
    if (sizes[i] == 0 || sizes[i] > static_cast<unsigned int>(most)) {
      return cudaErrorInvalidConfiguration;
    }
  }
  if (driver.cuDeviceGetAttribute(&most, 1, device) != cudaSuccess) return error;
  const unsigned long long threads = 1ull * block.x * block.y * block.z;
  return threads > static_cast<unsigned int>(most) ? cudaErrorInvalidConfiguration : error;
}

// Shared memory as the driver counts it.
bool Fits(size_t shared, unsigned int* size) {
  *size = static_cast<unsigned int>(shared);
  return *size == shared;
}

template <typename Call>
cudaError_t LaunchKernel(cudaKernel_t kernel, const twinmmu_dim3& grid, const twinmmu_dim3& block,
                         size_t shared, const Call& launch) {
  unsigned int size = 0;
  if (!Fits(shared, &size)) return cudaErrorInvalidValue;
  return Explain(launch(AsFunction(kernel), size), grid, block);
}

template <typename Call>
TWINMMU_INLINE cudaError_t Launch(const void* function, const twinmmu_dim3& grid,
                                  const twinmmu_dim3& block, size_t shared, const Call& launch) {
  return InContext([&] {
    cudaKernel_t kernel = nullptr;
    const cudaError_t error = FindKernel(function, &kernel);
    if (error != cudaSuccess && error != cudaErrorInvalidResourceHandle) return error;
    const cudaError_t launched = LaunchKernel(kernel, grid, block, shared, launch);
    // That a capture was invalidated counts before what is taken for a kernel and is none.
    const bool is_told = error == cudaSuccess || launched == cudaErrorStreamCaptureInvalidated;
    return is_told ? launched : error;
  });
}

template <typename Call>
TWINMMU_INLINE cudaError_t LaunchFound(cudaKernel_t kernel, const twinmmu_dim3& grid,
                                       const twinmmu_dim3& block, size_t shared,
                                       const Call& launch) {
  // The compilers' code looks it up before it launches, and goes on when that failed.
  const bool said = thread_state.last_error != cudaSuccess;
  if (kernel == nullptr && said) {
    if (thread_state.last_error == cudaErrorNoDevice) BindContext();  // which warns of it
    return thread_state.last_error;
  }
  return InContext([&] {
    return kernel != nullptr ? LaunchKernel(kernel, grid, block, shared, launch)
                             : cudaErrorInvalidResourceHandle;
  });
}

// `is_valid`: the other arguments, which count before a function that is none, but after null.
template <typename Body>
TWINMMU_INLINE cudaError_t WithFunction(const void* function, bool is_valid, const Body& body) {
  return InContext([&]() -> cudaError_t {
    if (function != nullptr && !is_valid) return cudaErrorInvalidValue;
    cudaFunction_t found = nullptr;
    const cudaError_t error = FindFunction(function, &found);
    return error == cudaSuccess ? body(found) : error;
  });
}

// Calls body(kernel, device): what a program sets of a function is set of the kernel, on the
// current device.
template <typename Body>
TWINMMU_INLINE cudaError_t WithKernel(const void* function, const Body& body) {
  return InContext([&] {
    cudaKernel_t kernel = nullptr;
    const cudaError_t error = FindKernel(function, &kernel);
    if (error != cudaSuccess) return error;
    int device = 0;
    const cudaError_t known = driver.cuCtxGetDevice(&device);
    return known == cudaSuccess ? body(kernel, device) : known;
  });
}

// The attributes 8 to 15 may be set.
bool CanBeSet(int attribute) { return attribute >= 8 && attribute <= 15; }

// NVIDIA's runtime forgets the last error in some calls that succeed.
cudaError_t ForgetErrorAfter(cudaError_t error) {
  if (error == cudaSuccess) thread_state.last_error = cudaSuccess;
  return error;
}

}  // namespace

#define TWINMMU_LAUNCH_BY(symbol)                                                                 \
  [&](cudaFunction_t kernel, unsigned int size) {                                                 \
    return driver.symbol(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, size, stream, \
                         arguments TWINMMU_EXTRA);                                                \
  }

#define TWINMMU_EXTRA , nullptr
extern "C" cudaError_t cudaLaunchKernel(const void* function, twinmmu_dim3 grid, twinmmu_dim3 block,
                                        void** arguments, size_t shared, cudaStream_t stream) {
  return Launch(function, grid, block, shared, TWINMMU_LAUNCH_BY(cuLaunchKernel));
}

extern "C" cudaError_t cudaLaunchKernel_ptsz(const void* function, twinmmu_dim3 grid,
                                             twinmmu_dim3 block, void** arguments, size_t shared,
                                             cudaStream_t stream) {
  return Launch(function, grid, block, shared, TWINMMU_LAUNCH_BY(cuLaunchKernel_ptsz));
}

extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t found, twinmmu_dim3 grid, twinmmu_dim3 block,
                                          void** arguments, size_t shared, cudaStream_t stream) {
  return LaunchFound(found, grid, block, shared, TWINMMU_LAUNCH_BY(cuLaunchKernel));
}

extern "C" cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t found, twinmmu_dim3 grid,
                                               twinmmu_dim3 block, void** arguments, size_t shared,
                                               cudaStream_t stream) {
  return LaunchFound(found, grid, block, shared, TWINMMU_LAUNCH_BY(cuLaunchKernel_ptsz));
}
#undef TWINMMU_EXTRA

#define TWINMMU_EXTRA
extern "C" cudaError_t cudaLaunchCooperativeKernel(const void* function, twinmmu_dim3 grid,
                                                   twinmmu_dim3 block, void** arguments,
                                                   size_t shared, cudaStream_t stream) {
  return Launch(function, grid, block, shared, TWINMMU_LAUNCH_BY(cuLaunchCooperativeKernel));
}

extern "C" cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* function, twinmmu_dim3 grid,
                                                        twinmmu_dim3 block, void** arguments,
                                                        size_t shared, cudaStream_t stream) {
  return Launch(function, grid, block, shared, TWINMMU_LAUNCH_BY(cuLaunchCooperativeKernel_ptsz));
}
#undef TWINMMU_EXTRA
#undef TWINMMU_LAUNCH_BY

namespace {

template <typename Function>
TWINMMU_INLINE cudaError_t LaunchEx(const cudaLaunchConfig_t* config, const void* function,
                                    void** arguments, const Function& launch) {
  if (config == nullptr) return Record(cudaErrorInvalidValue);
  return Launch(function, config->gridDim, config->blockDim, config->dynamicSmemBytes,
                [&](cudaFunction_t kernel, unsigned int size) {
                  const DriverLaunchConfig same = {
                      config->gridDim, config->blockDim, size,
                      config->stream,  config->attrs,    config->numAttrs};
                  return launch(&same, kernel, arguments, nullptr);
                });
}

}  // namespace

extern "C" cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                           void** arguments) {
  return LaunchEx(config, function, arguments,
                  [](auto... same) { return driver.cuLaunchKernelEx(same...); });
}

extern "C" cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config,
                                                const void* function, void** arguments) {
  return LaunchEx(config, function, arguments,
                  [](auto... same) { return driver.cuLaunchKernelEx_ptsz(same...); });
}

namespace {

// In the context of a stream, which may be another device's.
cudaError_t FindFunctionFor(cudaStream_t stream, const void* function, cudaFunction_t* found) {
  CUcontext own = nullptr;
  CUcontext of_stream = nullptr;
  cudaError_t error = driver.cuCtxGetCurrent(&own);
  if (error == cudaSuccess) error = driver.cuStreamGetCtx(stream, &of_stream);
  if (error == cudaSuccess) error = driver.cuCtxSetCurrent(of_stream);
  if (error != cudaSuccess) return error;
  error = FindFunction(function, found);
  const cudaError_t back = driver.cuCtxSetCurrent(own);
  return error == cudaSuccess ? back : error;
}

cudaError_t AsDriverLaunch(const cudaLaunchParams& given, cuda_abi::CUDA_LAUNCH_PARAMS* launch) {
  cudaFunction_t found = nullptr;
  unsigned int size = 0;
  if (!Fits(given.sharedMem, &size)) return cudaErrorInvalidValue;
  const cudaError_t error = FindFunctionFor(given.stream, given.func, &found);
  *launch = {reinterpret_cast<cuda_abi::CUfunction>(found),
             given.gridDim.x,
             given.gridDim.y,
             given.gridDim.z,
             given.blockDim.x,
             given.blockDim.y,
             given.blockDim.z,
             size,
             reinterpret_cast<cuda_abi::CUstream>(given.stream),
             given.args};
  return error;
}

}  // namespace

extern "C" cudaError_t cudaLaunchCooperativeKernelMultiDevice(cudaLaunchParams* list,
                                                              unsigned int count,
                                                              unsigned int flags) {
  return InContext([&]() -> cudaError_t {
    int devices = 0;
    cudaError_t error = driver.cuDeviceGetCount(&devices);
    if (error != cudaSuccess) return error;
    const bool is_count = count > 0 && count <= static_cast<unsigned int>(devices);
    if (list == nullptr || !is_count) return cudaErrorInvalidValue;
    std::vector<cuda_abi::CUDA_LAUNCH_PARAMS> launches(count);
    for (unsigned int i = 0; i < count && error == cudaSuccess; ++i) {
      error = AsDriverLaunch(list[i], &launches[i]);
    }
    if (error != cudaSuccess) return error;
    error = driver.cuLaunchCooperativeKernelMultiDevice(launches.data(), count, flags);
    return Explain(error, list[0].gridDim, list[0].blockDim);
  });
}

extern "C" cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return Anywhere([&]() -> cudaError_t {
    return kernel != nullptr ? FindKernelOf(function, kernel) : cudaErrorInvalidValue;
  });
}

extern "C" cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  const Caller caller = TWINMMU_CALLER;
  return cudaGetKernel(kernel, function);
}

extern "C" cudaError_t cudaGetFuncBySymbol(cudaFunction_t* result, const void* function) {
  return InContext([&]() -> cudaError_t {
    cudaKernel_t kernel = nullptr;
    const cudaError_t error = FindKernelOf(function, &kernel);
    if (error != cudaSuccess) return error;
    return result != nullptr ? driver.cuKernelGetFunction(result, kernel) : cudaErrorInvalidValue;
  });
}

extern "C" cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library,
                                            const char* name) {
  return Anywhere([&] {
    const cudaError_t error = driver.cuLibraryGetKernel(kernel, library, name);
    if (error == cudaSuccess) KnowKernel(*kernel);
    return error;
  });
}

extern "C" cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count,
                                                   cudaLibrary_t library) {
  if (kernels == nullptr) return Record(cudaErrorInvalidValue);
  return Anywhere([&] {
    unsigned int there = 0;
    cudaError_t error = driver.cuLibraryGetKernelCount(&there, library);
    if (error == cudaSuccess) error = driver.cuLibraryEnumerateKernels(kernels, count, library);
    for (unsigned int i = 0; error == cudaSuccess && i < count && i < there; ++i) {
      KnowKernel(kernels[i]);
    }
    return error;
  });
}

extern "C" cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) return Record(cudaErrorInvalidValue);
  return WithKernel(function, [&](cudaKernel_t kernel, int device) -> cudaError_t {
    // The driver tells them after a fault, too.
    const cudaError_t fault = CheckContext();
    if (fault != cudaSuccess) return fault;
    // By the numbers of CUfunction_attribute. What an older driver does not know stays 0.
    int values[16] = {};
    for (int i = 0; i < 16; ++i) {
      const cudaError_t error = driver.cuKernelGetAttribute(&values[i], i, kernel, device);
      if (error != cudaSuccess && i < 10) return error;
    }
    attributes->sharedSizeBytes = static_cast<size_t>(values[1]);
    attributes->constSizeBytes = static_cast<size_t>(values[2]);
    attributes->localSizeBytes = static_cast<size_t>(values[3]);
    attributes->maxThreadsPerBlock = values[0];
    attributes->numRegs = values[4];
    attributes->ptxVersion = values[5];
    attributes->binaryVersion = values[6];
    attributes->cacheModeCA = values[7];
    attributes->maxDynamicSharedSizeBytes = values[8];
    attributes->preferredShmemCarveout = values[9];
    if (kRuntimeVersion < 12000) return cudaSuccess;
    attributes->clusterDimMustBeSet = values[10];
    attributes->requiredClusterWidth = values[11];
    attributes->requiredClusterHeight = values[12];
    attributes->requiredClusterDepth = values[13];
    attributes->nonPortableClusterSizeAllowed = values[14];
    attributes->clusterSchedulingPolicyPreference = values[15];
    return cudaSuccess;
  });
}

extern "C" cudaError_t cudaFuncSetAttribute(const void* function, int attribute, int value) {
  if (!CanBeSet(attribute)) return Record(cudaErrorInvalidValue);
  return WithKernel(function, [&](cudaKernel_t kernel, int device) {
    return ForgetErrorAfter(driver.cuKernelSetAttribute(attribute, value, kernel, device));
  });
}

extern "C" cudaError_t cudaFuncSetCacheConfig(const void* function, int config) {
  return WithFunction(function, true, [&](cudaFunction_t found) {
    return driver.cuFuncSetCacheConfig(found, config);
  });
}

extern "C" cudaError_t cudaFuncGetName(const char** name, const void* function) {
  if (name == nullptr) return Record(cudaErrorInvalidValue);
  return Anywhere([&] {
    cudaKernel_t kernel = nullptr;
    const cudaError_t error = FindKernel(function, &kernel);
    return error == cudaSuccess ? driver.cuKernelGetName(name, kernel) : error;
  });
}

extern "C" cudaError_t cudaFuncSetSharedMemConfig(const void* function, int config) {
  return WithFunction(function, true, [&](cudaFunction_t found) {
    return driver.cuFuncSetSharedMemConfig(found, config);
  });
}

extern "C" cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, int attribute,
                                                       int value, int device) {
  return Anywhere([&]() -> cudaError_t {
    return CanBeSet(attribute) ? driver.cuKernelSetAttribute(attribute, value, kernel, device)
                               : cudaErrorInvalidValue;
  });
}

extern "C" cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset,
                                            size_t* size) {
  return WithFunction(function, offset != nullptr, [&](cudaFunction_t found) {
    return ForgetErrorAfter(driver.cuFuncGetParamInfo(found, index, offset, size));
  });
}

extern "C" cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                     const void* function,
                                                                     int block_size,
                                                                     size_t shared) {
  return WithFunction(function, true, [&](cudaFunction_t found) {
    return driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, found, block_size, shared);
  });
}

extern "C" cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int block_size, size_t shared, unsigned int flags) {
  constexpr unsigned int kNoCachingOverride = 1;
  return WithFunction(function, flags <= kNoCachingOverride, [&](cudaFunction_t found) {
    return driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, found, block_size,
                                                                       shared, flags);
  });
}

extern "C" cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared,
                                                                 const void* function, int blocks,
                                                                 int block_size) {
  if (function != nullptr && blocks <= 0) {
    return InContext([] { return ContextOr(cudaErrorInvalidValue); });
  }
  return WithFunction(function, true, [&](cudaFunction_t found) {
    return driver.cuOccupancyAvailableDynamicSMemPerBlock(shared, found, blocks, block_size);
  });
}

namespace {

template <typename Function>
TWINMMU_INLINE cudaError_t CountClusters(int* result, const void* function,
                                         const cudaLaunchConfig_t* config, const Function& count) {
  if (config == nullptr) return Record(cudaErrorInvalidValue);
  return WithFunction(function, result != nullptr, [&](cudaFunction_t found) {
    const DriverLaunchConfig same = {
        config->gridDim, config->blockDim, static_cast<unsigned int>(config->dynamicSmemBytes),
        config->stream,  config->attrs,    config->numAttrs};
    return count(result, found, &same);
  });
}

}  // namespace

extern "C" cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                            const cudaLaunchConfig_t* config) {
  return CountClusters(size, function, config, [](auto... same) {
    return driver.cuOccupancyMaxPotentialClusterSize(same...);
  });
}

extern "C" cudaError_t cudaOccupancyMaxActiveClusters(int* count, const void* function,
                                                      const cudaLaunchConfig_t* config) {
  return CountClusters(count, function, config,
                       [](auto... same) { return driver.cuOccupancyMaxActiveClusters(same...); });
}

// Every device has doubles.
extern "C" cudaError_t cudaSetDoubleForDevice(double* /*value*/) {
  return Anywhere([] { return cudaSuccess; });
}
extern "C" cudaError_t cudaSetDoubleForHost(double* /*value*/) {
  return Anywhere([] { return cudaSuccess; });
}

}  // namespace twinmmu::cudart
