#include <atomic>

#include "sim/libcudart/comparison/comparison.h"

namespace comparison {
namespace {

__global__ void Store(int* to) { *to = 1; }
__device__ int variable = 3;

struct Objects {
  std::atomic<bool> told{false};  // what the call answered that asked for the function
  cudaStream_t stream = nullptr;
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
  cudaEvent_t later = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  int* memory = nullptr;
  int host = 7;
};

void CUDART_CB Nothing(void*) {}

void AskWhatNeedsNoDevice() {
  int number = 77;
  ASK(cudaDriverGetVersion(&number));
  ASK(cudaRuntimeGetVersion(&number));
  ASK(cudaGetDeviceCount(&number));
  ASK(cudaGetDeviceCount(nullptr));
  ASK(cudaGetDevice(&number));
  ASK(cudaSetDevice(0));
  ASK(cudaSetDevice(77));
  ASK(cudaDeviceGetAttribute(&number, cudaDevAttrWarpSize, 0));
  cudaDeviceProp properties;
  ASK(cudaGetDeviceProperties(&properties, 0));
  ASK(cudaDeviceSynchronize());
  ASK(cudaPeekAtLastError());
  ASK(cudaFree(nullptr));
  ASK(cudaThreadExchangeStreamCaptureMode(nullptr));
}

void AskOfMemory(Objects& o) {
  void* memory = nullptr;
  size_t size = 0;
  cudaPointerAttributes attributes = {};
  ASK(cudaMalloc(&memory, 4096));
  ASK(cudaMalloc(nullptr, 4096));
  ASK(cudaMalloc(&memory, 0));
  ASK(cudaMallocHost(&memory, 4096));
  ASK(cudaMallocManaged(&memory, 4096));
  ASK(cudaMallocAsync(&memory, 4096, o.stream));
  ASK(cudaFree(o.memory));
  ASK(cudaMemGetInfo(&size, &size));
  ASK(cudaPointerGetAttributes(&attributes, o.memory));
  ASK(cudaGetSymbolAddress(&memory, variable));
  ASK(cudaMemcpy(o.memory, &o.host, 4, cudaMemcpyHostToDevice));
  ASK(cudaMemcpyAsync(o.memory, &o.host, 4, cudaMemcpyHostToDevice, o.stream));
  ASK(cudaMemcpyAsync(o.memory, &o.host, 4, cudaMemcpyDefault, nullptr));
  ASK(cudaMemcpyToSymbolAsync(variable, &o.host, 4, 0, cudaMemcpyHostToDevice, o.stream));
  ASK(cudaMemset(o.memory, 1, 4));
  ASK(cudaMemsetAsync(o.memory, 1, 4, o.stream));
  ASK(cudaMemsetAsync(o.memory, 1, 4, cudaStreamPerThread));
}

void AskOfStreams(Objects& o) {
  cudaStream_t made = nullptr;
  cudaEvent_t event = nullptr;
  unsigned flags = 77;
  int number = 77;
  float milliseconds = 0;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ASK(cudaStreamCreate(&made));
  ASK(cudaStreamCreate(nullptr));
  ASK(cudaStreamGetFlags(o.stream, &flags));
  ASK(cudaStreamGetPriority(o.stream, &number));
  ASK(cudaStreamIsCapturing(o.stream, &status));
  ASK(cudaStreamQuery(o.stream));
  ASK(cudaStreamQuery(o.other));
  ASK(cudaStreamQuery(nullptr));
  ASK(cudaStreamSynchronize(o.other));
  ASK(cudaStreamSynchronize(nullptr));
  ASK(cudaEventCreate(&event));
  ASK(cudaEventRecord(o.event, o.other));
  ASK(cudaEventRecord(o.event, nullptr));
  ASK(cudaEventQuery(o.event));
  ASK(cudaEventSynchronize(o.event));
  ASK(cudaEventElapsedTime(&milliseconds, o.event, o.event));
  ASK(cudaEventRecord(o.later, o.stream));
  ASK(cudaEventQuery(o.later));
  ASK(cudaStreamWaitEvent(o.other, o.event, 0));
  ASK(cudaLaunchHostFunc(o.other, Nothing, nullptr));
  ASK(cudaLaunchHostFunc(nullptr, Nothing, nullptr));
  ASK(cudaStreamBeginCapture(o.other, cudaStreamCaptureModeRelaxed));
  ASK(cudaStreamDestroy(o.other));
}

void AskOfKernels(Objects& o) {
  void* arguments[] = {&o.memory};
  cudaFuncAttributes attributes = {};
  int blocks = 0;
  const void* const store = reinterpret_cast<const void*>(&Store);
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {1, 1, 1}, arguments, 0, o.other));
  ASK(cudaLaunchKernel(store, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr));
  ASK(cudaLaunchKernel(store, {0, 1, 1}, {1, 1, 1}, arguments, 0, o.other));
  ASK(cudaFuncGetAttributes(&attributes, store));
  ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 32, 0));
  ASK(cudaGraphLaunch(o.runnable, o.other));
  ASK(cudaGraphLaunch(o.runnable, nullptr));
  ASK(cudaGraphLaunch(nullptr, o.other));
}

void CUDART_CB AskInFunction(void* given) {
  Objects& objects = *static_cast<Objects*>(given);
  while (!objects.told) {
  }
  AskWhatNeedsNoDevice();
  AskOfMemory(objects);
  AskOfStreams(objects);
  AskOfKernels(objects);
}

void CUDART_CB AskInCallback(cudaStream_t, cudaError_t told, void* given) {
  Objects& objects = *static_cast<Objects*>(given);
  while (!objects.told) {
  }
  NUMBER(told);
  int number = 77;
  void* memory = nullptr;
  ASK(cudaGetDevice(&number));
  ASK(cudaMalloc(&memory, 4096));
  ASK(cudaEventQuery(objects.event));
  ASK(cudaStreamQuery(nullptr));
}

}  // namespace

// What functions that streams call may call.
void AskInHostFunctions() {
  Objects objects;
  cudaStreamCreate(&objects.stream);
  cudaStreamCreate(&objects.other);
  cudaEventCreate(&objects.event);
  cudaEventCreate(&objects.later);
  cudaMalloc(&objects.memory, 4096);
  cudaGraphCreate(&objects.graph, 0);
  cudaGraphInstantiate(&objects.runnable, objects.graph, 0);
  ASK(cudaLaunchHostFunc(objects.stream, AskInFunction, &objects));
  objects.told = true;
  cudaStreamSynchronize(objects.stream);
  ASK(cudaPeekAtLastError());
  ASK(cudaStreamSynchronize(objects.other));
  objects.told = false;
  ASK(cudaStreamAddCallback(objects.other, AskInCallback, &objects, 0));
  objects.told = true;
  cudaStreamSynchronize(objects.other);
  ASK(cudaStreamDestroy(objects.stream));
  ASK(cudaDeviceSynchronize());
}

}  // namespace comparison
