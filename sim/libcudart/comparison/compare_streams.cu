#include "sim/libcudart/comparison/comparison.h"

namespace comparison {
namespace {

void CUDART_CB Nothing(void*) {}
void CUDART_CB Told(cudaStream_t, cudaError_t, void*) {}

}  // namespace

void AskAboutStreams() {
  cudaStream_t stream = nullptr;
  cudaStream_t other = nullptr;
  unsigned flags = 77;
  int number = 77;
  unsigned long long id = 0;
  unsigned long long other_id = 0;
  ASK(cudaStreamCreate(&stream));
  ASK(cudaStreamCreate(nullptr));
  ASK(cudaStreamCreateWithFlags(&other, 77));
  ASK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  ASK(cudaStreamCreateWithFlags(nullptr, 0));
  ASK(cudaStreamGetFlags(other, &flags));
  NUMBER(flags);
  ASK(cudaStreamGetFlags(other, nullptr));
  ASK(cudaStreamGetFlags(nullptr, &flags));
  NUMBER(flags);
  ASK(cudaStreamGetFlags(cudaStreamLegacy, &flags));
  NUMBER(flags);
  ASK(cudaStreamGetFlags(cudaStreamPerThread, &flags));
  NUMBER(flags);
  ASK(cudaStreamGetPriority(stream, &number));
  NUMBER(number);
  ASK(cudaStreamGetPriority(stream, nullptr));
  ASK(cudaStreamGetId(stream, &id));
  ASK(cudaStreamGetId(other, &other_id));
  NUMBER(id != other_id);
  ASK(cudaStreamGetId(stream, nullptr));
  ASK(cudaStreamGetId(nullptr, &id));
  NUMBER(id);
  ASK(cudaStreamGetId(cudaStreamPerThread, &id));
  NUMBER(id);
  ASK(cudaStreamGetDevice(stream, &number));
  NUMBER(number);
  ASK(cudaStreamGetDevice(nullptr, &number));
  ASK(cudaStreamGetDevice(stream, nullptr));
  ASK(cudaStreamDestroy(other));
  ASK(cudaStreamCreateWithPriority(&other, 0, 1000));
  ASK(cudaStreamGetPriority(other, &number));
  NUMBER(number);
  ASK(cudaStreamQuery(stream));
  ASK(cudaStreamQuery(nullptr));
  ASK(cudaStreamSynchronize(stream));
  ASK(cudaStreamSynchronize(nullptr));
  ASK(cudaStreamWaitEvent(stream, nullptr, 0));
  ASK(cudaLaunchHostFunc(stream, Nothing, nullptr));
  ASK(cudaLaunchHostFunc(stream, nullptr, nullptr));
  ASK(cudaStreamAddCallback(stream, Told, nullptr, 0));
  ASK(cudaStreamAddCallback(stream, Told, nullptr, 1));
  ASK(cudaStreamAddCallback(stream, nullptr, nullptr, 0));
  ASK(cudaStreamSynchronize(stream));
  cudaStreamAttrValue value = {};
  ASK(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
  NUMBER(value.syncPolicy);
  value.syncPolicy = cudaSyncPolicyYield;
  ASK(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
  ASK(cudaStreamCopyAttributes(other, stream));
  value.syncPolicy = cudaSyncPolicyAuto;
  ASK(cudaStreamGetAttribute(other, cudaStreamAttributeSynchronizationPolicy, &value));
  NUMBER(value.syncPolicy);
  ASK(cudaStreamGetAttribute(stream, cudaStreamAttrID(100), &value));
  ASK(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, nullptr));
  ASK(cudaStreamCopyAttributes(other, nullptr));
  ASK(cudaStreamDestroy(stream));
  ASK(cudaStreamDestroy(nullptr));
  ASK(cudaStreamDestroy(cudaStreamLegacy));
  ASK(cudaStreamDestroy(cudaStreamPerThread));
  ASK(cudaStreamDestroy(other));
}

void AskAboutEvents() {
  cudaEvent_t event = nullptr;
  cudaEvent_t other = nullptr;
  cudaEvent_t without = nullptr;
  float milliseconds = -1;
  ASK(cudaEventCreate(&event));
  ASK(cudaEventCreate(nullptr));
  ASK(cudaEventCreateWithFlags(&without, cudaEventDisableTiming));
  ASK(cudaEventCreateWithFlags(&other, 100));
  ASK(cudaEventCreateWithFlags(&other, cudaEventInterprocess));
  ASK(cudaEventCreateWithFlags(nullptr, 0));
  ASK(cudaEventCreateWithFlags(&other, cudaEventBlockingSync));
  ASK(cudaEventQuery(event));
  ASK(cudaEventQuery(nullptr));
  ASK(cudaEventSynchronize(event));
  ASK(cudaEventSynchronize(nullptr));
  ASK(cudaEventElapsedTime(&milliseconds, event, other));
  ASK(cudaEventRecord(event, nullptr));
  ASK(cudaEventRecord(nullptr, nullptr));
  ASK(cudaEventElapsedTime(&milliseconds, event, other));
  ASK(cudaEventRecordWithFlags(other, nullptr, 0));
  ASK(cudaEventRecordWithFlags(other, nullptr, 77));
  ASK(cudaEventRecordWithFlags(other, nullptr, cudaEventRecordExternal));
  ASK(cudaEventRecord(without, nullptr));
  ASK(cudaDeviceSynchronize());
  ASK(cudaEventElapsedTime(&milliseconds, event, other));
  NUMBER(milliseconds >= 0);
  ASK(cudaEventElapsedTime(&milliseconds, event, without));
  ASK(cudaEventElapsedTime(nullptr, event, other));
  ASK(cudaEventElapsedTime(&milliseconds, nullptr, other));
  ASK(cudaEventElapsedTime(&milliseconds, event, nullptr));
  ASK(cudaStreamWaitEvent(nullptr, event, 0));
  ASK(cudaStreamWaitEvent(nullptr, event, 77));
  ASK(cudaStreamWaitEvent(nullptr, event, cudaEventWaitExternal));
  ASK(cudaEventDestroy(event));
  ASK(cudaEventDestroy(nullptr));
  cudaIpcEventHandle_t handle = {};
  ASK(cudaIpcGetEventHandle(&handle, other));
  ASK(cudaIpcGetEventHandle(nullptr, other));
  ASK(cudaIpcGetEventHandle(&handle, nullptr));
  ASK(cudaEventDestroy(other));
  ASK(cudaEventCreateWithFlags(&other, cudaEventInterprocess | cudaEventDisableTiming));
  ASK(cudaIpcGetEventHandle(&handle, other));
  ASK(cudaIpcOpenEventHandle(&event, handle));
  ASK(cudaIpcOpenEventHandle(nullptr, handle));
  handle = {};
  ASK(cudaIpcOpenEventHandle(&event, handle));
  ASK(cudaEventDestroy(other));
}

void AskAboutCaptures() {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  void* memory = nullptr;
  cudaStreamCreate(&stream);
  cudaMalloc(&memory, 4096);
  ASK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureMode(77)));
  ASK(cudaStreamEndCapture(stream, &graph));
  ASK(cudaStreamIsCapturing(stream, &status));
  NUMBER(status);
  ASK(cudaStreamIsCapturing(stream, nullptr));
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ASK(cudaStreamIsCapturing(stream, &status));
  NUMBER(status);
  ASK(cudaMemsetAsync(memory, 1, 100, stream));
  unsigned long long id = 0;
  const cudaGraphNode_t* before = nullptr;
  size_t count = 0;
  ASK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &before, nullptr, &count));
  NUMBER(count);
  ASK(cudaStreamGetCaptureInfo(stream, nullptr));
  ASK(cudaStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0,
                                          cudaStreamSetCaptureDependencies));
  ASK(cudaStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0, 77));
  ASK(cudaStreamEndCapture(stream, &graph));
  ASK(cudaGraphDestroy(graph));
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ASK(cudaStreamSynchronize(stream));
  ASK(cudaStreamIsCapturing(stream, &status));
  NUMBER(status);
  ASK(cudaStreamEndCapture(stream, &graph));
  NUMBER(graph == nullptr);
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  void* more = nullptr;
  ASK(cudaMalloc(&more, 100));
  ASK(cudaStreamEndCapture(stream, &graph));
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  ASK(cudaMalloc(&more, 100));
  ASK(cudaStreamQuery(stream));
  ASK(cudaStreamEndCapture(stream, &graph));
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ASK(cudaMemcpy(memory, &status, 4, cudaMemcpyHostToDevice));
  ASK(cudaStreamEndCapture(stream, &graph));
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ASK(cudaMemset(memory, 1, 100));
  ASK(cudaStreamEndCapture(stream, &graph));
  ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ASK(cudaDeviceSynchronize());
  ASK(cudaStreamEndCapture(stream, &graph));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  ASK(cudaThreadExchangeStreamCaptureMode(&mode));
  NUMBER(mode);
  mode = cudaStreamCaptureMode(77);
  ASK(cudaThreadExchangeStreamCaptureMode(&mode));
  ASK(cudaThreadExchangeStreamCaptureMode(nullptr));
  ASK(cudaGraphCreate(&graph, 0));
  ASK(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0,
                                    cudaStreamCaptureModeGlobal));
  ASK(cudaMemsetAsync(memory, 1, 100, stream));
  ASK(cudaStreamEndCapture(stream, &graph));
  ASK(cudaGraphGetNodes(graph, nullptr, &count));
  NUMBER(count);
  ASK(cudaStreamBeginCaptureToGraph(stream, nullptr, nullptr, nullptr, 0,
                                    cudaStreamCaptureModeGlobal));
  ASK(cudaStreamDestroy(stream));
}

}  // namespace comparison
