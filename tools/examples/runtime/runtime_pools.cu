// Memory from pools, in the order of streams: what one stream frees, it gets again at once, and
// another after an event.

#include "tools/examples/runtime/runtime_check.h"

namespace {

__global__ void Square(unsigned* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = i * i;
}

constexpr int kCount = 1 << 16;
constexpr size_t kSize = kCount * sizeof(unsigned);

unsigned long long Ask(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  unsigned long long value = 0;
  CHECK(cudaMemPoolGetAttribute(pool, attribute, &value));
  return value;
}

void TellAbout(const char* what, cudaMemPool_t pool) {
  std::printf("%s: used %llu, at most %llu\n", what, Ask(pool, cudaMemPoolAttrUsedMemCurrent),
              Ask(pool, cudaMemPoolAttrUsedMemHigh));
}

unsigned LastSquare(unsigned* values, cudaStream_t stream) {
  unsigned last = 0;
  Square<<<kCount / 256, 256, 0, stream>>>(values, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(&last, values + kCount - 1, sizeof(last), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  return last;
}

cudaMemPool_t MakePool() {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 0;
  cudaMemPool_t pool = nullptr;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  unsigned long long threshold = ~0ull;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  return pool;
}

}  // namespace

int main() {
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  cudaEvent_t freed = nullptr;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&freed, cudaEventDisableTiming));

  cudaMemPool_t usual = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&usual, 0));
  unsigned* values = nullptr;
  CHECK(cudaMallocAsync(&values, kSize, first));
  std::printf("the last square is %u\n", LastSquare(values, first));
  TellAbout("the device's pool", usual);
  CHECK(cudaFreeAsync(values, first));
  unsigned* again = nullptr;
  CHECK(cudaMallocAsync(&again, kSize, first));
  std::printf("the stream gets %s memory\n", again == values ? "the same" : "other");
  CHECK(cudaFreeAsync(again, first));
  CHECK(cudaStreamSynchronize(first));
  TellAbout("the device's pool", usual);

  cudaMemPool_t pool = MakePool();
  CHECK(cudaMallocFromPoolAsync(&values, kSize, pool, first));
  std::printf("the last square is %u\n", LastSquare(values, first));
  Square<<<kCount / 256, 256, 0, first>>>(values, kCount);
  CHECK(cudaGetLastError());
#ifndef PLANTED_BUG
  CHECK(cudaEventRecord(freed, first));
  CHECK(cudaStreamWaitEvent(second, freed, 0));
#endif
  CHECK(cudaFreeAsync(values, second));
  CHECK(cudaMallocFromPoolAsync(&again, kSize, pool, second));
  std::printf("the other stream gets %s memory\n", again == values ? "the same" : "other");
  CHECK(cudaFreeAsync(again, second));
  CHECK(cudaStreamSynchronize(second));
  CHECK(cudaStreamSynchronize(first));
  TellAbout("our pool", pool);
  const bool kept = Ask(pool, cudaMemPoolAttrReservedMemCurrent) != 0;
  CHECK(cudaMemPoolTrimTo(pool, 0));
  std::printf("it kept %s, and has %llu after a trim\n", kept ? "memory" : "nothing",
              Ask(pool, cudaMemPoolAttrReservedMemCurrent));
  CHECK(cudaMemPoolDestroy(pool));

  CHECK(cudaEventDestroy(freed));
  CHECK(cudaStreamDestroy(second));
  CHECK(cudaStreamDestroy(first));
  return 0;
}
