// Two streams, ordered by an event: one fills, the other adds what is there, copies it back, and
// tells the host by a host function and by a callback.

#include <vector>

#include "tools/examples/runtime/runtime_check.h"

namespace {

__global__ void Fill(int* data, int count, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = value + i;
}

__global__ void AddTo(const int* from, int* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += from[i];
}

constexpr int kCount = 4096;
constexpr size_t kSize = kCount * sizeof(int);
constexpr int kBlock = 256;

// What the host is told, in order.
struct Messages {
  const int* values;
  long long sum = 0;
  std::vector<const char*> order;
};

void CUDART_CB AddUp(void* data) {
  auto* const messages = static_cast<Messages*>(data);
  for (int i = 0; i < kCount; ++i) messages->sum += messages->values[i];
  messages->order.push_back("host function");
}

void CUDART_CB Tell(cudaStream_t, cudaError_t status, void* data) {
  static_cast<Messages*>(data)->order.push_back(status == cudaSuccess ? "callback" : "bad news");
}

const char* Name(cudaError_t error) {
  cudaGetLastError();  // forgets it
  return cudaGetErrorName(error);
}

void TellAboutEvents(cudaEvent_t begin, cudaEvent_t end, cudaEvent_t without_time) {
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  std::printf("time goes %s\n", milliseconds >= 0 ? "forward" : "backward");
  std::printf("the time of an event without one: %s\n",
              Name(cudaEventElapsedTime(&milliseconds, begin, without_time)));
  cudaEvent_t never = nullptr;
  CHECK(cudaEventCreate(&never));
  std::printf("an event that was never recorded: %s, its time: %s\n", Name(cudaEventQuery(never)),
              Name(cudaEventElapsedTime(&milliseconds, never, end)));
#ifndef PLANTED_BUG
  CHECK(cudaEventDestroy(never));
#endif
}

void TellAboutStream(cudaStream_t stream) {
  unsigned int flags = 0;
  int priority = 0;
  int least = 0;
  int greatest = 0;
  CHECK(cudaStreamGetFlags(stream, &flags));
  CHECK(cudaStreamGetPriority(stream, &priority));
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  std::printf("flags %u, priority %d of %d to %d, %s\n", flags, priority, least, greatest,
              Name(cudaStreamQuery(stream)));
}

}  // namespace

int main() {
  int* a = nullptr;
  int* b = nullptr;
  int* host = nullptr;
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  cudaEvent_t filled = nullptr;
  CHECK(cudaMalloc(&a, kSize));
  CHECK(cudaMalloc(&b, kSize));
  CHECK(cudaMallocHost(&host, kSize));
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, -100));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));

  CHECK(cudaEventRecord(begin, first));
  Fill<<<kCount / kBlock, kBlock, 0, first>>>(a, kCount, 10);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(filled, first));
  CHECK(cudaMemsetAsync(b, 1, kSize, second));
  CHECK(cudaStreamWaitEvent(second, filled, 0));
  AddTo<<<kCount / kBlock, kBlock, 0, second>>>(a, b, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(host, b, kSize, cudaMemcpyDeviceToHost, second));
  Messages messages{host};
  CHECK(cudaLaunchHostFunc(second, AddUp, &messages));
  CHECK(cudaStreamAddCallback(second, Tell, &messages, 0));
  CHECK(cudaEventRecord(end, second));
  CHECK(cudaEventSynchronize(end));
  CHECK(cudaStreamSynchronize(second));

  std::printf("values %d and %d, sum %lld\n", host[0], host[kCount - 1], messages.sum);
  for (const char* message : messages.order) std::printf("from the stream: %s\n", message);
  TellAboutEvents(begin, end, filled);
  TellAboutStream(first);
  TellAboutStream(second);

  CHECK(cudaEventDestroy(filled));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaStreamDestroy(second));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(b));
  CHECK(cudaFree(a));
  return 0;
}
