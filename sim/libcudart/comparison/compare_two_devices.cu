#include "sim/libcudart/comparison/comparison.h"

namespace comparison {
namespace {

__global__ void Store(int* to, int value) { *to = value; }
__device__ int variable = 3;

constexpr size_t kSize = 4096;

// What was made while the first device was current.
struct OfFirst {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cudaEvent_t untimed = nullptr;
  int* memory = nullptr;
  void* host = nullptr;
  cudaArray_t array = nullptr;
  cudaGraphExec_t graph = nullptr;
};

OfFirst MakeOfFirst() {
  OfFirst first;
  const cudaChannelFormatDesc channels = cudaCreateChannelDesc<unsigned char>();
  cudaGraph_t graph = nullptr;
  cudaSetDevice(0);
  cudaStreamCreate(&first.stream);
  cudaEventCreate(&first.event);
  cudaEventCreateWithFlags(&first.untimed, cudaEventDisableTiming);
  cudaMalloc(&first.memory, kSize);
  cudaMallocHost(&first.host, kSize);
  cudaMallocArray(&first.array, &channels, 64, 1);
  cudaStreamBeginCapture(first.stream, cudaStreamCaptureModeGlobal);
  cudaMemsetAsync(first.memory, 1, kSize, first.stream);
  cudaStreamEndCapture(first.stream, &graph);
  cudaGraphInstantiate(&first.graph, graph, 0);
  cudaEventRecord(first.event, first.stream);
  cudaStreamSynchronize(first.stream);
  return first;
}

void AskOfStreams(const OfFirst& first, cudaStream_t own, cudaEvent_t event) {
  unsigned flags = 0;
  int device = 77;
  float milliseconds = 0;
  ASK(cudaStreamQuery(first.stream));
  ASK(cudaStreamSynchronize(first.stream));
  ASK(cudaStreamGetFlags(first.stream, &flags));
  ASK(cudaStreamGetDevice(first.stream, &device));
  NUMBER(device);
  ASK(cudaEventRecord(first.event, own));
  ASK(cudaEventRecord(first.event, first.stream));
  ASK(cudaEventRecord(event, first.stream));
  ASK(cudaEventRecord(first.event, nullptr));
  ASK(cudaEventRecord(event, own));
  ASK(cudaEventSynchronize(first.event));
  ASK(cudaEventQuery(first.event));
  ASK(cudaEventSynchronize(event));
  ASK(cudaEventElapsedTime(&milliseconds, first.event, event));
  ASK(cudaStreamWaitEvent(own, first.event, 0));
  ASK(cudaStreamWaitEvent(first.stream, event, 0));
  ASK(cudaStreamWaitEvent(nullptr, first.event, 0));
}

// Each on memory of the device that it runs on.
void AskOfKernels(const OfFirst& first, cudaStream_t own, int* memory) {
  int value = 5;
  int* variable_here = nullptr;
  int* memory_of_first = first.memory;
  void* arguments[] = {&memory, &value};
  void* arguments_there[] = {&memory_of_first, &value};
  const void* const store = reinterpret_cast<const void*>(&Store);
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {1, 1, 1}, arguments, 0, own));
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {1, 1, 1}, arguments_there, 0, first.stream));
  ASK(cudaLaunchCooperativeKernel(store, {1, 1, 1}, {1, 1, 1}, arguments_there, 0, first.stream));
  ASK(cudaGraphLaunch(first.graph, own));
  ASK(cudaGraphLaunch(first.graph, first.stream));
  ASK(cudaGetSymbolAddress(reinterpret_cast<void**>(&variable_here), variable));
  ASK(cudaMemcpyToSymbol(variable, &value, sizeof(value)));
  ASK(cudaMemcpyToSymbolAsync(variable, &value, sizeof(value), 0, cudaMemcpyHostToDevice,
                              first.stream));
  ASK(cudaDeviceSynchronize());
}

void AskOfMemory(const OfFirst& first, cudaStream_t own, int* memory) {
  char word[64] = {};
  void* other = nullptr;
  cudaPointerAttributes attributes = {};
  ASK(cudaPointerGetAttributes(&attributes, first.memory));
  NUMBER(attributes.device);
  ASK(cudaPointerGetAttributes(&attributes, first.host));
  NUMBER(attributes.device);
  ASK(cudaMemset(first.memory, 2, 64));
  ASK(cudaMemsetAsync(first.memory, 2, 64, own));
  ASK(cudaMemsetAsync(memory, 2, 64, first.stream));
  ASK(cudaMemcpy(word, first.memory, 64, cudaMemcpyDefault));
  ASK(cudaMemcpy(memory, first.memory, 64, cudaMemcpyDefault));
  ASK(cudaMemcpy(memory, first.memory, 64, cudaMemcpyDeviceToDevice));
  ASK(cudaMemcpyAsync(memory, first.memory, 64, cudaMemcpyDefault, own));
  ASK(cudaMemcpyAsync(memory, first.memory, 64, cudaMemcpyDefault, first.stream));
  ASK(cudaMemcpyPeer(memory, 1, first.memory, 0, 64));
  ASK(cudaMemcpyPeer(memory, 1, first.memory, 77, 64));
  ASK(cudaMemcpyPeerAsync(memory, 1, first.memory, 0, 64, own));
  ASK(cudaMemcpyPeerAsync(memory, 0, first.memory, 1, 64, own));
  ASK(cudaMemcpy2D(memory, 64, first.memory, 64, 16, 4, cudaMemcpyDefault));
  ASK(cudaMemcpy2DToArray(first.array, 0, 0, word, 64, 64, 1, cudaMemcpyHostToDevice));
  ASK(cudaMemcpy2DToArray(first.array, 0, 0, memory, 64, 64, 1, cudaMemcpyDeviceToDevice));
  ASK(cudaMallocAsync(&other, 4096, first.stream));
  ASK(cudaPointerGetAttributes(&attributes, other));
  NUMBER(attributes.device);
  ASK(cudaFreeAsync(other, own));
  ASK(cudaMallocManaged(&other, 4096));
  ASK(cudaMemPrefetchAsync(other, 4096, {cudaMemLocationTypeDevice, 0}, 0, own));
  ASK(cudaMemPrefetchAsync(other, 4096, {cudaMemLocationTypeDevice, 1}, 0, first.stream));
  ASK(cudaFree(other));
  ASK(cudaDeviceSynchronize());
}

void AskOfPeers() {
  int can = 77;
  cudaMemPool_t pool = nullptr;
  ASK(cudaDeviceCanAccessPeer(&can, 1, 0));
  NUMBER(can);
  ASK(cudaDeviceCanAccessPeer(&can, 1, 1));
  NUMBER(can);
  ASK(cudaDeviceEnablePeerAccess(1, 0));
  ASK(cudaDeviceEnablePeerAccess(0, 77));
  ASK(cudaDeviceEnablePeerAccess(0, 0));
  ASK(cudaDeviceEnablePeerAccess(0, 0));
  ASK(cudaDeviceDisablePeerAccess(0));
  ASK(cudaDeviceDisablePeerAccess(0));
  ASK(cudaDeviceGetDefaultMemPool(&pool, 0));
  ASK(cudaDeviceSetMemPool(1, pool));
}

void Free(const OfFirst& first) {
  ASK(cudaGraphExecDestroy(first.graph));
  ASK(cudaFreeArray(first.array));
  ASK(cudaFreeHost(first.host));
  ASK(cudaFree(first.memory));
  ASK(cudaEventDestroy(first.event));
  ASK(cudaEventDestroy(first.untimed));
  ASK(cudaStreamDestroy(first.stream));
}

}  // namespace

// Objects of the first device, while the second one is current.
void AskAcrossDevices() {
  int count = 0;
  cudaGetDeviceCount(&count);
  if (count < 2) return;
  const OfFirst first = MakeOfFirst();
  cudaStream_t own = nullptr;
  cudaEvent_t event = nullptr;
  int* memory = nullptr;
  ASK(cudaSetDevice(1));
  cudaStreamCreate(&own);
  cudaEventCreate(&event);
  cudaMalloc(&memory, kSize);
  AskOfStreams(first, own, event);
  AskOfKernels(first, own, memory);
  AskOfMemory(first, own, memory);
  AskOfPeers();
  Free(first);
  ASK(cudaDeviceReset());
  ASK(cudaStreamQuery(nullptr));
  ASK(cudaSetDevice(0));
  ASK(cudaDeviceSynchronize());
}

}  // namespace comparison
