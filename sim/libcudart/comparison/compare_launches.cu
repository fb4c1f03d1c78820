#include "sim/libcudart/comparison/comparison.h"

namespace comparison {
namespace {

__global__ void Store(int* to, int value) { *to = value; }
__global__ void __launch_bounds__(64) Few(int* to) { to[threadIdx.x] = 1; }
__global__ void Share(int* to) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = 1;
  to[threadIdx.x] = shared[threadIdx.x];
}
__device__ int variable = 3;
__device__ int many[16];
__constant__ int fixed[4];
__managed__ int shared_with_host = 9;

const void* NoKernel() { return reinterpret_cast<const void*>(&NoKernel); }

}  // namespace

void AskAboutLaunches() {
  void* memory = nullptr;
  int value = 5;
  cudaMalloc(&memory, 4096);
  void* arguments[] = {&memory, &value};
  const void* const store = reinterpret_cast<const void*>(&Store);
  const void* const few = reinterpret_cast<const void*>(&Few);
  const void* const share = reinterpret_cast<const void*>(&Share);
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {32, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchKernel(store, {0, 1, 1}, {32, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {0, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {2000, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchKernel(store, {1, 100000, 1}, {32, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {1, 1, 100}, arguments, 0, nullptr));
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {32, 1, 1}, arguments, 100000, nullptr));
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {32, 1, 1}, arguments, 1 << 30, nullptr));
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {32, 1, 1}, nullptr, 0, nullptr));
  ASK(cudaLaunchKernel(few, {1, 1, 1}, {64, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchKernel(few, {1, 1, 1}, {65, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchKernel((const void*)nullptr, {1, 1, 1}, {32, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchKernel(NoKernel(), {1, 1, 1}, {32, 1, 1}, arguments, 0, nullptr));
  ASK(cudaFuncSetAttribute(share, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
  ASK(cudaLaunchKernel(share, {1, 1, 1}, {32, 1, 1}, arguments, 100000, nullptr));
  ASK(cudaLaunchCooperativeKernel(store, {1, 1, 1}, {32, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchCooperativeKernel(store, {1000000, 1, 1}, {32, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchCooperativeKernel(NoKernel(), {1, 1, 1}, {32, 1, 1}, arguments, 0, nullptr));
  cudaLaunchConfig_t config = {};
  config.gridDim = {4, 1, 1};
  config.blockDim = {32, 1, 1};
  ASK(cudaLaunchKernelExC(&config, store, arguments));
  ASK(cudaLaunchKernelExC(nullptr, store, arguments));
  ASK(cudaLaunchKernelExC(&config, NoKernel(), arguments));
  cudaLaunchAttribute attribute = {};
  config.attrs = &attribute;
  config.numAttrs = 1;
  ASK(cudaLaunchKernelExC(&config, store, arguments));
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  ASK(cudaLaunchKernelExC(&config, store, arguments));
  attribute.val.clusterDim.x = 3;
  ASK(cudaLaunchKernelExC(&config, store, arguments));
  attribute.val.clusterDim.x = 100;
  ASK(cudaLaunchKernelExC(&config, store, arguments));
  attribute.id = cudaLaunchAttributeID(100);
  ASK(cudaLaunchKernelExC(&config, store, arguments));
  attribute.id = cudaLaunchAttributePriority;
  attribute.val.priority = -1;
  ASK(cudaLaunchKernelExC(&config, store, arguments));
  config.numAttrs = 0;
  config.attrs = nullptr;
  int count = 0;
  ASK(cudaOccupancyMaxPotentialClusterSize(&count, store, &config));
  NUMBER(count);
  ASK(cudaOccupancyMaxPotentialClusterSize(&count, store, nullptr));
  ASK(cudaOccupancyMaxActiveClusters(&count, store, &config));
  ASK(cudaDeviceSynchronize());
}

void AskAboutFunctions() {
  const void* const store = reinterpret_cast<const void*>(&Store);
  const void* const few = reinterpret_cast<const void*>(&Few);
  const void* const share = reinterpret_cast<const void*>(&Share);
  cudaFuncAttributes attributes = {};
  ASK(cudaFuncGetAttributes(&attributes, few));
  NUMBER(attributes.maxThreadsPerBlock);
  NUMBER(attributes.sharedSizeBytes);
  NUMBER(attributes.constSizeBytes);
  NUMBER(attributes.localSizeBytes);
  NUMBER(attributes.maxDynamicSharedSizeBytes);
  NUMBER(attributes.preferredShmemCarveout);
  NUMBER(attributes.clusterDimMustBeSet);
  ASK(cudaFuncGetAttributes(nullptr, few));
  ASK(cudaFuncGetAttributes(&attributes, (const void*)nullptr));
  ASK(cudaFuncGetAttributes(&attributes, NoKernel()));
  ASK(cudaFuncSetAttribute(share, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30));
  ASK(cudaFuncSetAttribute(share, cudaFuncAttributeMaxDynamicSharedMemorySize, -5));
  ASK(cudaFuncSetAttribute(share, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  ASK(cudaFuncSetAttribute(share, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
  ASK(cudaFuncSetAttribute(share, cudaFuncAttribute(100), 1));
  ASK(cudaFuncSetAttribute(share, cudaFuncAttribute(0), 1));
  ASK(cudaFuncSetAttribute(NoKernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, 1));
  ASK(cudaFuncSetCacheConfig(store, cudaFuncCachePreferL1));
  ASK(cudaFuncSetCacheConfig(store, cudaFuncCache(100)));
  ASK(cudaFuncSetCacheConfig(NoKernel(), cudaFuncCachePreferL1));
  ASK(cudaFuncSetSharedMemConfig(store, cudaSharedMemBankSizeFourByte));
  ASK(cudaFuncSetSharedMemConfig(store, cudaSharedMemConfig(100)));
  ASK(cudaFuncSetSharedMemConfig(NoKernel(), cudaSharedMemBankSizeFourByte));
  const char* name = nullptr;
  ASK(cudaFuncGetName(&name, store));
  ASK(cudaFuncGetName(nullptr, store));
  ASK(cudaFuncGetName(&name, NoKernel()));
  size_t offset = 77;
  size_t size = 77;
  ASK(cudaFuncGetParamInfo(store, 1, &offset, &size));
  NUMBER(offset);
  NUMBER(size);
  ASK(cudaFuncGetParamInfo(store, 2, &offset, &size));
  ASK(cudaFuncGetParamInfo(store, 0, nullptr, &size));
  ASK(cudaFuncGetParamInfo(store, 0, &offset, nullptr));
  int blocks = 0;
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 128, 0));
  NUMBER(blocks);
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 0, 0));
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 5000, 0));
  NUMBER(blocks);
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 128, 1 << 30));
  NUMBER(blocks);
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, store, 128, 0));
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NoKernel(), 128, 0));
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, store, 128, 0, 1));
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, store, 128, 0, 77));
  ASK(cudaOccupancyAvailableDynamicSMemPerBlock(&size, store, 2, 128));
  NUMBER(size);
  ASK(cudaOccupancyAvailableDynamicSMemPerBlock(&size, store, 0, 128));
  cudaFunction_t function = nullptr;
  ASK(cudaGetFuncBySymbol(&function, store));
  ASK(cudaGetFuncBySymbol(&function, NoKernel()));
  ASK(cudaGetFuncBySymbol(nullptr, store));
  cudaKernel_t kernel = nullptr;
  ASK(cudaGetKernel(&kernel, store));
  ASK(cudaGetKernel(&kernel, NoKernel()));
  ASK(cudaGetKernel(nullptr, store));
  ASK(cudaFuncGetAttributes(&attributes, (const void*)kernel));
  ASK(cudaGetKernel(&kernel, (const void*)kernel));
  ASK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000,
                                      0));
  ASK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30,
                                      0));
  ASK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000,
                                      100));
  ASK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttribute(100), 1000, 0));
  ASK(cudaKernelSetAttributeForDevice(nullptr, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000,
                                      0));
}

void AskAboutVariables() {
  void* address = nullptr;
  size_t size = 0;
  int value = 0;
  int values[64] = {};
  const char* const unknown = "unknown";
  ASK(cudaGetSymbolAddress(&address, variable));
  ASK(cudaGetSymbolAddress(&address, unknown));
  ASK(cudaGetSymbolAddress(nullptr, variable));
  ASK(cudaGetSymbolAddress(&address, (const void*)nullptr));
  ASK(cudaGetSymbolSize(&size, many));
  NUMBER(size);
  ASK(cudaGetSymbolSize(&size, unknown));
  ASK(cudaGetSymbolSize(nullptr, many));
  ASK(cudaMemcpyFromSymbol(&value, variable, 4));
  NUMBER(value);
  ASK(cudaMemcpyFromSymbol(values, many, 64));
  ASK(cudaMemcpyFromSymbol(values, many, 4, 60));
  ASK(cudaMemcpyFromSymbol(values, many, 0, 64));
  ASK(cudaMemcpyFromSymbol(values, many, 4, 0, cudaMemcpyHostToDevice));
  ASK(cudaMemcpyFromSymbol(values, many, 4, 0, cudaMemcpyKind(77)));
  ASK(cudaMemcpyFromSymbol(values, unknown, 4));
  ASK(cudaMemcpyToSymbol(fixed, values, 16));
  ASK(cudaMemcpyToSymbol(fixed, values, 4, 12));
  ASK(cudaMemcpyToSymbol(fixed, values, 4, 0, cudaMemcpyDeviceToHost));
  ASK(cudaMemcpyToSymbol(fixed, values, 4, 0, cudaMemcpyDefault));
  ASK(cudaMemcpyToSymbol(fixed, values, 0));
  ASK(cudaMemcpyToSymbol(fixed, nullptr, 4));
  ASK(cudaMemcpyToSymbolAsync(fixed, values, 4, 0, cudaMemcpyHostToDevice, nullptr));
  ASK(cudaMemcpyFromSymbolAsync(values, many, 4, 0, cudaMemcpyDeviceToHost, nullptr));
  NUMBER(shared_with_host);
  ASK(cudaGetSymbolAddress(&address, shared_with_host));
  NUMBER(address == &shared_with_host);
  ASK(cudaDeviceSynchronize());
}

}  // namespace comparison
