// The forms for the default stream of a thread (nvcc --default-stream per-thread) do what the plain
// ones do, by the driver's functions of that form. The runtime is linked into this program, so that
// what it calls is seen; the simulated driver does the same for both forms.

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "sim/libcudart/driver_functions.h"
#include "sim/libcudart/runtime.h"
#include "sim/libcudart/testing/vector_kernels.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/cudart_abi.h"

struct cudaMemcpyAttributes : twinmmu::cuda_abi::CUmemcpyAttributes {};

// Those that differ from version to version.
extern "C" {
cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                         unsigned long long flags, int* found);
cudaError_t cudaMemPrefetchAsync_ptsz(const void* address, size_t size, cudaMemLocation location,
                                      unsigned int flags, cudaStream_t stream);
cudaError_t cudaMemcpyBatchAsync_ptsz(void** to, void** from, size_t* sizes, size_t count,
                                      cudaMemcpyAttributes* attributes, size_t* first,
                                      size_t attribute_count, cudaStream_t stream);
cudaError_t cudaMemcpy3DBatchAsync_ptsz(size_t count, void* copies, unsigned long long flags,
                                        cudaStream_t stream);
cudaError_t cudaSignalExternalSemaphoresAsync_ptsz(const cudaExternalSemaphore_t* semaphores,
                                                   const void* parameters, unsigned int count,
                                                   cudaStream_t stream);
cudaError_t cudaWaitExternalSemaphoresAsync_ptsz(const cudaExternalSemaphore_t* semaphores,
                                                 const void* parameters, unsigned int count,
                                                 cudaStream_t stream);
cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, int* status, unsigned long long* id,
                                          cudaGraph_t* graph, const cudaGraphNode_t** before,
                                          const void** data, size_t* count);
cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream,
                                                     const cudaGraphNode_t* before,
                                                     const void* data, size_t count,
                                                     unsigned int flags);
}

namespace twinmmu::cudart {
namespace {

using cuda_abi::CU_MEMCPY_OPERAND_TYPE_POINTER;
using cuda_abi::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
using cuda_abi::CUDA_MEMCPY3D_BATCH_OP;

// The driver as it is, and the name of the function of it that was called last.
DriverFunctions original;
std::string last;

template <auto kField, typename... Parameters>
void Watch(const char* symbol, cudaError_t (*DriverFunctions::*)(Parameters...)) {
  static const char* const name = symbol;
  driver.*kField = [](Parameters... parameters) {
    last = name;
    return (original.*kField)(parameters...);
  };
}

void WatchAll() {
  original = driver;
#define TWINMMU_CUDART_DRIVER(symbol, parameters) \
  Watch<&DriverFunctions::symbol>(#symbol, &DriverFunctions::symbol);
#include "sim/libcudart/driver_functions.inc"
#define TWINMMU_CUDART_FORWARD(first, last, where, name, symbol, parameters, arguments) \
  Watch<&DriverFunctions::symbol>(#symbol, &DriverFunctions::symbol);
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters)
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)
#include "third_party/cuda_abi/runtime_exports.inc"
}

// "_ptsz" or "_ptds", or nothing.
std::string FormOf(const std::string& name) {
  const std::string end = name.size() < 5 ? "" : name.substr(name.size() - 5);
  return end == "_ptsz" || end == "_ptds" ? end : "";
}

constexpr size_t kSize = 4;
constexpr cudaMemcpyKind kCopy = cudaMemcpyDeviceToDevice;
constexpr cudaStream_t kDefault = nullptr;

// Memory and an array of dots, which the tests fill with 'x', and others that are filled with it.
class RuntimePerThread : public testing::Test {
 protected:
  RuntimePerThread() : module_(RegisterVectorKernels()) {
    for (void** const memory : {&to_, &from_}) EXPECT_EQ(cudaMalloc(memory, kSize), cudaSuccess);
    for (cudaArray_t* const array : {&to_array_, &from_array_}) {
      const cudaChannelFormatDesc words = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};
      EXPECT_EQ(cudaMallocArray(array, &words, 1, 1, 0), cudaSuccess);
    }
    EXPECT_EQ(cudaMemset(from_, 'x', kSize), cudaSuccess);
    EXPECT_EQ(cudaMemcpyToArray(from_array_, 0, 0, from_, kSize, kCopy), cudaSuccess);
    EXPECT_EQ(cudaMemset(to_, '.', kSize), cudaSuccess);
    EXPECT_EQ(cudaMemcpyToArray(to_array_, 0, 0, to_, kSize, kCopy), cudaSuccess);
    WatchAll();
  }
  ~RuntimePerThread() override {
    driver = original;
    for (void* const memory : {to_, from_}) EXPECT_EQ(cudaFree(memory), cudaSuccess);
    for (const cudaArray_t array : {to_array_, from_array_}) {
      EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
    }
    __cudaUnregisterFatBinary(module_);
    cudaGetLastError();
  }

  // That a function of that form called one of the driver.
  static void ExpectSameForm(const std::string& name) {
    EXPECT_EQ(FormOf(last), FormOf(name)) << name << " called " << last;
    EXPECT_NE(FormOf(last), "") << name;
  }
  std::string Memory() const {
    std::string text(kSize, '?');
    EXPECT_EQ(cudaMemcpy(&text[0], to_, kSize, cudaMemcpyDeviceToHost), cudaSuccess);
    return text;
  }
  std::string Array() const {
    EXPECT_EQ(cudaMemcpyFromArray(to_, to_array_, 0, 0, kSize, kCopy), cudaSuccess);
    return Memory();
  }
  std::string Variable() const {
    EXPECT_EQ(cudaMemcpyFromSymbol(to_, &scale, kSize, 0, kCopy), cudaSuccess);
    return Memory();
  }

  void** const module_;
  void* to_ = nullptr;
  void* from_ = nullptr;
  cudaArray_t to_array_ = nullptr;
  cudaArray_t from_array_ = nullptr;
};

// `where` is filled by the function.
#define EXPECT_FILLS(where, function, arguments)                         \
  do {                                                                   \
    EXPECT_EQ(cudaMemset(to_, '.', kSize), cudaSuccess);                 \
    EXPECT_EQ(cudaMemcpyToArray(to_array_, 0, 0, to_, kSize, kCopy), 0); \
    EXPECT_EQ(cudaMemcpyToSymbol(&scale, to_, kSize, 0, kCopy), 0);      \
    EXPECT_EQ(function arguments, cudaSuccess) << #function;             \
    ExpectSameForm(#function);                                           \
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);                     \
    EXPECT_EQ(where, "xxxx") << #function;                               \
  } while (false)

TEST_F(RuntimePerThread, MemoryIsCopied) {
  EXPECT_FILLS(Memory(), cudaMemcpy_ptds, (to_, from_, kSize, kCopy));
  EXPECT_FILLS(Memory(), cudaMemcpyAsync_ptsz, (to_, from_, kSize, kCopy, kDefault));
  EXPECT_FILLS(Memory(), cudaMemcpy2D_ptds, (to_, 2, from_, 2, 2, 2, kCopy));
  EXPECT_FILLS(Memory(), cudaMemcpy2DAsync_ptsz, (to_, 2, from_, 2, 2, 2, kCopy, kDefault));
  cudaMemcpy3DParms box = {};
  box.dstPtr = {to_, 2, 2, 2};
  box.srcPtr = {from_, 2, 2, 2};
  box.extent = {2, 2, 1};
  box.kind = kCopy;
  EXPECT_FILLS(Memory(), cudaMemcpy3D_ptds, (&box));
  EXPECT_FILLS(Memory(), cudaMemcpy3DAsync_ptsz, (&box, kDefault));
  cudaMemcpy3DPeerParms peers = {};
  peers.dstPtr = box.dstPtr;
  peers.srcPtr = box.srcPtr;
  peers.extent = box.extent;
  EXPECT_FILLS(Memory(), cudaMemcpy3DPeer_ptds, (&peers));
  EXPECT_FILLS(Memory(), cudaMemcpy3DPeerAsync_ptsz, (&peers, kDefault));
}

TEST_F(RuntimePerThread, MemoryIsCopiedInBatches) {
  size_t size = kSize;
  size_t first = 0;
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  EXPECT_FILLS(Memory(), cudaMemcpyBatchAsync_ptsz,
               (&to_, &from_, &size, 1, &attributes, &first, 1, cudaStreamPerThread));
  CUDA_MEMCPY3D_BATCH_OP box = {};
  box.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  box.src.op.ptr.ptr = reinterpret_cast<uintptr_t>(from_);
  box.dst = box.src;
  box.dst.op.ptr.ptr = reinterpret_cast<uintptr_t>(to_);
  box.extent = {kSize, 1, 1};
  box.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  EXPECT_FILLS(Memory(), cudaMemcpy3DBatchAsync_ptsz, (1, &box, 0, cudaStreamPerThread));
}

TEST_F(RuntimePerThread, MemoryIsFilled) {
  EXPECT_FILLS(Memory(), cudaMemset_ptds, (to_, 'x', kSize));
  EXPECT_FILLS(Memory(), cudaMemsetAsync_ptsz, (to_, 'x', kSize, kDefault));
  EXPECT_FILLS(Memory(), cudaMemset2D_ptds, (to_, 2, 'x', 2, 2));
  EXPECT_FILLS(Memory(), cudaMemset2DAsync_ptsz, (to_, 2, 'x', 2, 2, kDefault));
  const cudaPitchedPtr box = {to_, 2, 2, 2};
  EXPECT_FILLS(Memory(), cudaMemset3D_ptds, (box, 'x', {2, 2, 1}));
  EXPECT_FILLS(Memory(), cudaMemset3DAsync_ptsz, (box, 'x', {2, 2, 1}, kDefault));
}

TEST_F(RuntimePerThread, ArraysAreCopied) {
  EXPECT_FILLS(Array(), cudaMemcpyToArray_ptds, (to_array_, 0, 0, from_, kSize, kCopy));
  EXPECT_FILLS(Array(), cudaMemcpyToArrayAsync_ptsz,
               (to_array_, 0, 0, from_, kSize, kCopy, kDefault));
  EXPECT_FILLS(Array(), cudaMemcpy2DToArray_ptds, (to_array_, 0, 0, from_, 4, 4, 1, kCopy));
  EXPECT_FILLS(Array(), cudaMemcpy2DToArrayAsync_ptsz,
               (to_array_, 0, 0, from_, 4, 4, 1, kCopy, kDefault));
  EXPECT_FILLS(Memory(), cudaMemcpyFromArray_ptds, (to_, from_array_, 0, 0, kSize, kCopy));
  EXPECT_FILLS(Memory(), cudaMemcpyFromArrayAsync_ptsz,
               (to_, from_array_, 0, 0, kSize, kCopy, kDefault));
  EXPECT_FILLS(Memory(), cudaMemcpy2DFromArray_ptds, (to_, 4, from_array_, 0, 0, 4, 1, kCopy));
  EXPECT_FILLS(Memory(), cudaMemcpy2DFromArrayAsync_ptsz,
               (to_, 4, from_array_, 0, 0, 4, 1, kCopy, kDefault));
  EXPECT_FILLS(Array(), cudaMemcpyArrayToArray_ptds,
               (to_array_, 0, 0, from_array_, 0, 0, kSize, kCopy));
  EXPECT_FILLS(Array(), cudaMemcpy2DArrayToArray_ptds,
               (to_array_, 0, 0, from_array_, 0, 0, 4, 1, kCopy));
}

TEST_F(RuntimePerThread, VariablesAreCopied) {
  EXPECT_FILLS(Variable(), cudaMemcpyToSymbol_ptds, (&scale, from_, kSize, 0, kCopy));
  EXPECT_FILLS(Variable(), cudaMemcpyToSymbolAsync_ptsz,
               (&scale, from_, kSize, 0, kCopy, kDefault));
  EXPECT_EQ(cudaMemcpyToSymbol(offset, from_, kSize, 0, kCopy), cudaSuccess);
  EXPECT_FILLS(Memory(), cudaMemcpyFromSymbol_ptds, (to_, offset, kSize, 0, kCopy));
  EXPECT_FILLS(Memory(), cudaMemcpyFromSymbolAsync_ptsz, (to_, offset, kSize, 0, kCopy, kDefault));
}

TEST_F(RuntimePerThread, KernelsAreLaunched) {
  // Twice what is in the memory, four times; a byte of it shows it.
  int count = 1;
  void* arguments[] = {&to_, &to_, &to_, &count};
  const auto value = [&] { return static_cast<int>(Memory()[0]); };
  EXPECT_EQ(cudaMemset(to_, 0, kSize), cudaSuccess);
  EXPECT_EQ(cudaMemset(to_, 1, 1), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel_ptsz(&Add, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), cudaSuccess);
  ExpectSameForm("cudaLaunchKernel_ptsz");
  EXPECT_EQ(value(), 4);
  cudaLaunchConfig_t config = {{1, 1, 1}, {1, 1, 1}, 0, nullptr, nullptr, 0};
  EXPECT_EQ(cudaLaunchKernelExC_ptsz(&config, &Add, arguments), cudaSuccess);
  ExpectSameForm("cudaLaunchKernelExC_ptsz");
  EXPECT_EQ(value(), 16);
  EXPECT_EQ(cudaLaunchCooperativeKernel_ptsz(&Add, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr),
            cudaSuccess);
  ExpectSameForm("cudaLaunchCooperativeKernel_ptsz");
  EXPECT_EQ(value(), 64);
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(__cudaGetKernel(&kernel, &Add), cudaSuccess);
  EXPECT_EQ(cudaMemset(to_, 1, 1), cudaSuccess);
  EXPECT_EQ(__cudaLaunchKernel_ptsz(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr),
            cudaSuccess);
  ExpectSameForm("__cudaLaunchKernel_ptsz");
  EXPECT_EQ(value(), 4);
}

TEST_F(RuntimePerThread, MemoryComesFromPools) {
  cudaMemPool_t pool = nullptr;
  void* memory = nullptr;
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync_ptsz(&memory, kSize, nullptr), cudaSuccess);
  ExpectSameForm("cudaMallocAsync_ptsz");
  EXPECT_EQ(cudaMemset(memory, 1, kSize), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync_ptsz(memory, nullptr), cudaSuccess);
  ExpectSameForm("cudaFreeAsync_ptsz");
  EXPECT_EQ(cudaFreeAsync_ptsz(memory, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocFromPoolAsync_ptsz(&memory, kSize, pool, nullptr), cudaSuccess);
  ExpectSameForm("cudaMallocFromPoolAsync_ptsz");
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(RuntimePerThread, ManagedMemoryIsPrefetched) {
  constexpr int kLastPrefetchLocation = 4;
  int where = -99;
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocManaged(&memory, kSize, cudaMemAttachGlobal), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync_ptsz(memory, kSize, {1, 0}, 0, nullptr), cudaSuccess);
  ExpectSameForm("cudaMemPrefetchAsync_ptsz");
  EXPECT_EQ(cudaMemRangeGetAttribute(&where, sizeof(where), kLastPrefetchLocation, memory, kSize),
            cudaSuccess);
  EXPECT_EQ(where, 0);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(RuntimePerThread, StreamsAreCaptured) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  int status = 0;
  size_t count = 0;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture_ptsz(stream, 77), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamBeginCapture_ptsz(stream, 0), cudaSuccess);
  ExpectSameForm("cudaStreamBeginCapture_ptsz");
  EXPECT_EQ(cudaStreamUpdateCaptureDependencies_ptsz(stream, nullptr, nullptr, 0, 1), cudaSuccess);
  ExpectSameForm("cudaStreamUpdateCaptureDependencies_ptsz");
  EXPECT_EQ(
      cudaStreamGetCaptureInfo_ptsz(stream, &status, nullptr, &graph, nullptr, nullptr, &count),
      cudaSuccess);
  ExpectSameForm("cudaStreamGetCaptureInfo_ptsz");
  EXPECT_EQ(status, 1);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(RuntimePerThread, NothingIsAnExternalSemaphore) {
  EXPECT_EQ(cudaSignalExternalSemaphoresAsync_ptsz(nullptr, nullptr, 1, nullptr),
            cudaErrorInvalidValue);
  ExpectSameForm("cudaSignalExternalSemaphoresAsync_ptsz");
  EXPECT_EQ(cudaWaitExternalSemaphoresAsync_ptsz(nullptr, nullptr, 1, nullptr),
            cudaErrorInvalidValue);
  ExpectSameForm("cudaWaitExternalSemaphoresAsync_ptsz");
}

// --- All others, which are forwarded

template <typename... Parameters>
void CallWithZeros(cudaError_t (*function)(Parameters...)) {
  function(Parameters()...);
}

TEST_F(RuntimePerThread, FunctionsAreForwardedInTheirForm) {
  int count = 0;
#define TWINMMU_CUDART_FORWARD(first, last, where, name, symbol, parameters, arguments) \
  if (!FormOf(#name).empty()) {                                                         \
    CallWithZeros(&name);                                                               \
    ExpectSameForm(#name);                                                              \
    ++count;                                                                            \
  }
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters)
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)
#include "third_party/cuda_abi/runtime_exports.inc"
  EXPECT_GT(count, 20);
}

// --- The driver's functions by name

unsigned long long asked_flags = 0;

TEST_F(RuntimePerThread, TheDriversFunctionsAreAskedForInThatForm) {
  driver.cuGetProcAddress_v2 = [](const char*, void**, int, unsigned long long flags, int* found) {
    asked_flags = flags;
    *found = cudaDriverEntryPointSuccess;
    return cudaError_t{cudaSuccess};
  };
  void* function = nullptr;
  int found = -1;
  EXPECT_EQ(cudaGetDriverEntryPoint_ptsz("cuMemcpy", &function, cudaEnableDefault, &found),
            cudaSuccess);
  EXPECT_EQ(asked_flags, cudaEnablePerThreadDefaultStream);
  EXPECT_EQ(cudaGetDriverEntryPoint_ptsz("cuMemcpy", &function, cudaEnableLegacyStream, &found),
            cudaSuccess);
  EXPECT_EQ(asked_flags, cudaEnableLegacyStream);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion_ptsz("cuMemcpy", &function, 12000, cudaEnableDefault,
                                                  &found),
            cudaSuccess);
  EXPECT_EQ(asked_flags, cudaEnablePerThreadDefaultStream);
}

}  // namespace
}  // namespace twinmmu::cudart
