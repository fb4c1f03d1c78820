// What the runtimes before CUDA 13 have beyond those of today, as a program of CUDA 12 has them.
// The argument is the file of libcudart.so.12.

#include <string>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/older_runtime.h"
#include "third_party/cuda_abi/cudart_abi.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace {

using twinmmu::cuda_abi::CU_STREAM_SET_CAPTURE_DEPENDENCIES;
using twinmmu::cuda_abi::CUgraphEdgeData;
using twinmmu::cudart::FindOlder;

class RuntimeTwelve : public testing::Test {
 protected:
  ~RuntimeTwelve() override { OLD(cudaGetLastError)(); }
};

// --- Names that are gone

TEST_F(RuntimeTwelve, LimitsOfAThreadAreThoseOfItsDevice) {
  constexpr int kStack = 0;
  size_t size = 0;
  EXPECT_EQ(OLD(cudaThreadSetLimit)(kStack, 4096), cudaSuccess);
  EXPECT_EQ(OLD(cudaDeviceGetLimit)(&size, kStack), cudaSuccess);
  EXPECT_EQ(size, 4096u);
  EXPECT_EQ(OLD(cudaDeviceSetLimit)(kStack, 2048), cudaSuccess);
  EXPECT_EQ(OLD(cudaThreadGetLimit)(&size, kStack), cudaSuccess);
  EXPECT_EQ(size, 2048u);
  EXPECT_EQ(OLD(cudaThreadGetLimit)(nullptr, kStack), cudaErrorInvalidValue);
  EXPECT_EQ(OLD(cudaThreadSetLimit)(100, 1), cudaErrorInvalidValue);
}

TEST_F(RuntimeTwelve, TheCacheOfAThreadIsThatOfItsDevice) {
  constexpr int kShared = 1;
  constexpr int kL1 = 2;
  int config = 0;
  EXPECT_EQ(OLD(cudaThreadSetCacheConfig)(kShared), cudaSuccess);
  EXPECT_EQ(OLD(cudaDeviceGetCacheConfig)(&config), cudaSuccess);
  EXPECT_EQ(config, kShared);
  EXPECT_EQ(OLD(cudaDeviceSetCacheConfig)(kL1), cudaSuccess);
  EXPECT_EQ(OLD(cudaThreadGetCacheConfig)(&config), cudaSuccess);
  EXPECT_EQ(config, kL1);
  EXPECT_EQ(OLD(cudaThreadGetCacheConfig)(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(OLD(cudaThreadSetCacheConfig)(100), cudaErrorInvalidValue);
}

TEST_F(RuntimeTwelve, TheEndOfAThreadIsAResetOfItsDevice) {
  void* memory = nullptr;
  ASSERT_EQ(OLD(cudaMalloc)(&memory, 4096), cudaSuccess);
  EXPECT_EQ(OLD(cudaThreadSynchronize)(), cudaSuccess);
  EXPECT_EQ(OLD(cudaThreadExit)(), cudaSuccess);
  EXPECT_EQ(OLD(cudaFree)(memory), cudaErrorInvalidValue);
}

TEST_F(RuntimeTwelve, DoublesStayAsTheyAre) {
  double value = 1.5;
  EXPECT_EQ(OLD(cudaSetDoubleForDevice)(&value), cudaSuccess);
  EXPECT_EQ(OLD(cudaSetDoubleForHost)(&value), cudaSuccess);
  EXPECT_EQ(value, 1.5);
}

TEST_F(RuntimeTwelve, AProfilerCannotBeInitialised) {
  EXPECT_EQ(OLD(cudaProfilerInitialize)("configuration", "output", 0), cudaErrorNotSupported);
}

// --- Devices, events and managed memory

TEST_F(RuntimeTwelve, ADeviceIsChosen) {
  using Choose = cudaError_t(int*, const twinmmu_cudaDeviceProp_12*);
  twinmmu_cudaDeviceProp_12 wanted = {};
  wanted.major = 1;
  int device = -1;
  EXPECT_EQ(FindOlder<Choose>("cudaChooseDevice_v2")(&device, &wanted), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(FindOlder<Choose>("cudaChooseDevice_v2")(&device, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeTwelve, TimePassesBetweenEvents) {
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
  float milliseconds = -1;
  ASSERT_EQ(OLD(cudaEventCreate)(&start), cudaSuccess);
  ASSERT_EQ(OLD(cudaEventCreate)(&end), cudaSuccess);
  EXPECT_EQ(OLD(cudaEventElapsedTime_v2)(&milliseconds, start, end), cudaErrorInvalidResourceHandle)
      << "not recorded yet";
  EXPECT_EQ(OLD(cudaEventRecord)(start, nullptr), cudaSuccess);
  EXPECT_EQ(OLD(cudaEventRecord)(end, nullptr), cudaSuccess);
  EXPECT_EQ(OLD(cudaEventSynchronize)(end), cudaSuccess);
  EXPECT_EQ(OLD(cudaEventElapsedTime_v2)(&milliseconds, start, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(OLD(cudaEventDestroy)(start), cudaSuccess);
  EXPECT_EQ(OLD(cudaEventDestroy)(end), cudaSuccess);
}

TEST_F(RuntimeTwelve, HintsTakeALocationOrADevice) {
  constexpr size_t kSize = 4096;
  constexpr int kReadMostly = 1;
  constexpr int kLastPrefetchLocation = 4;
  constexpr cudaMemLocation kDevice0 = {1, 0};
  using Advise = cudaError_t(const void*, size_t, int, cudaMemLocation);
  using Prefetch = cudaError_t(const void*, size_t, cudaMemLocation, unsigned int, cudaStream_t);
  using PrefetchToDevice = cudaError_t(const void*, size_t, int, cudaStream_t);
  void* memory = nullptr;
  ASSERT_EQ(OLD(cudaMallocManaged)(&memory, kSize, cudaMemAttachGlobal), cudaSuccess);
  const auto attribute = [&](int which) {
    int value = -99;
    EXPECT_EQ(OLD(cudaMemRangeGetAttribute)(&value, sizeof(value), which, memory, kSize),
              cudaSuccess);
    return value;
  };
  EXPECT_EQ(FindOlder<Advise>("cudaMemAdvise_v2")(memory, kSize, kReadMostly, kDevice0),
            cudaSuccess);
  EXPECT_EQ(attribute(kReadMostly), 1);
  for (const std::string form : {"", "_ptsz"}) {
    auto* const prefetch = FindOlder<Prefetch>("cudaMemPrefetchAsync_v2" + form);
    auto* const prefetch_to_device = FindOlder<PrefetchToDevice>("cudaMemPrefetchAsync" + form);
    EXPECT_EQ(prefetch(memory, kSize, kDevice0, 0, nullptr), cudaSuccess);
    EXPECT_EQ(attribute(kLastPrefetchLocation), 0);
    EXPECT_EQ(prefetch_to_device(memory, kSize, cudaCpuDeviceId, nullptr), cudaSuccess);
    EXPECT_EQ(attribute(kLastPrefetchLocation), cudaCpuDeviceId);
  }
  EXPECT_EQ(FindOlder<Prefetch>("cudaMemPrefetchAsync_v2")(memory, kSize, {1, 100}, 0, nullptr),
            cudaErrorInvalidDevice);
  EXPECT_EQ(OLD(cudaFree)(memory), cudaSuccess);
}

TEST_F(RuntimeTwelve, NothingIsAnExternalSemaphore) {
  using Use = cudaError_t(const cudaExternalSemaphore_t*, const void*, unsigned int, cudaStream_t);
  const cudaExternalSemaphore_t none = nullptr;
  const char parameters[144] = {};
  for (const std::string form : {"", "_ptsz"}) {
    EXPECT_EQ(FindOlder<Use>("cudaSignalExternalSemaphoresAsync_v2" + form)(&none, parameters, 0,
                                                                            nullptr),
              cudaErrorInvalidValue);
    EXPECT_EQ(
        FindOlder<Use>("cudaWaitExternalSemaphoresAsync_v2" + form)(&none, parameters, 0, nullptr),
        cudaErrorInvalidValue);
  }
}

// --- Graphs whose edges have data

// Two empty nodes without an edge.
class RuntimeTwelveGraphs : public RuntimeTwelve {
 protected:
  RuntimeTwelveGraphs() {
    EXPECT_EQ(OLD(cudaGraphCreate)(&graph_, 0), cudaSuccess);
    EXPECT_EQ(OLD(cudaGraphAddEmptyNode)(&first_, graph_, nullptr, 0), cudaSuccess);
    EXPECT_EQ(OLD(cudaGraphAddEmptyNode)(&second_, graph_, nullptr, 0), cudaSuccess);
  }
  ~RuntimeTwelveGraphs() override { EXPECT_EQ(OLD(cudaGraphDestroy)(graph_), cudaSuccess); }

  cudaGraph_t graph_ = nullptr;
  cudaGraphNode_t first_ = nullptr;
  cudaGraphNode_t second_ = nullptr;
};

TEST_F(RuntimeTwelveGraphs, EdgesAreAddedAndToldWithTheirData) {
  CUgraphEdgeData data = {};
  ASSERT_EQ(OLD(cudaGraphAddDependencies_v2)(graph_, &first_, &second_, &data, 1), cudaSuccess);
  cudaGraphNode_t from = nullptr;
  cudaGraphNode_t to = nullptr;
  size_t count = 1;
  data.type = 77;
  EXPECT_EQ(OLD(cudaGraphGetEdges_v2)(graph_, &from, &to, &data, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(from, first_);
  EXPECT_EQ(to, second_);
  EXPECT_EQ(data.type, 0);
  EXPECT_EQ(OLD(cudaGraphAddDependencies_v2)(graph_, &first_, &second_, nullptr, 1),
            cudaErrorInvalidValue)
      << "a second time";
}

TEST_F(RuntimeTwelveGraphs, NodesKnowTheirNeighbours) {
  ASSERT_EQ(OLD(cudaGraphAddDependencies_v2)(graph_, &first_, &second_, nullptr, 1), cudaSuccess);
  CUgraphEdgeData data = {};
  cudaGraphNode_t found = nullptr;
  size_t count = 1;
  EXPECT_EQ(OLD(cudaGraphNodeGetDependencies_v2)(second_, &found, &data, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(found, first_);
  EXPECT_EQ(OLD(cudaGraphNodeGetDependentNodes_v2)(first_, &found, &data, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(found, second_);
  EXPECT_EQ(OLD(cudaGraphRemoveDependencies_v2)(graph_, &first_, &second_, nullptr, 1),
            cudaSuccess);
  EXPECT_EQ(OLD(cudaGraphNodeGetDependencies_v2)(second_, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(OLD(cudaGraphRemoveDependencies_v2)(graph_, &first_, &second_, nullptr, 1),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeTwelveGraphs, ANodeIsMadeByItsDescriptionWithOrWithoutData) {
  using Add = cudaError_t(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                          cudaGraphNodeParams*);
  using AddWithData = cudaError_t(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                                  const void*, size_t, cudaGraphNodeParams*);
  cudaGraphNodeParams empty = {};
  empty.type = 5;
  const CUgraphEdgeData data = {};
  cudaGraphNode_t third = nullptr;
  cudaGraphNode_t fourth = nullptr;
  size_t count = 0;
  EXPECT_EQ(FindOlder<Add>("cudaGraphAddNode")(&third, graph_, &first_, 1, &empty), cudaSuccess);
  EXPECT_EQ(
      FindOlder<AddWithData>("cudaGraphAddNode_v2")(&fourth, graph_, &third, &data, 1, &empty),
      cudaSuccess);
  EXPECT_EQ(OLD(cudaGraphGetEdges_v2)(graph_, nullptr, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(
      FindOlder<AddWithData>("cudaGraphAddNode_v2")(&fourth, graph_, nullptr, nullptr, 0, nullptr),
      cudaErrorInvalidValue);
}

TEST_F(RuntimeTwelveGraphs, ACaptureIsToldAndChanged) {
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  int status = 0;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* before = nullptr;
  size_t count = 0;
  ASSERT_EQ(OLD(cudaStreamCreate)(&stream), cudaSuccess);
  ASSERT_EQ(OLD(cudaMalloc)(&memory, 4), cudaSuccess);
  ASSERT_EQ(OLD(cudaStreamBeginCapture)(stream, 0), cudaSuccess);
  EXPECT_EQ(OLD(cudaMemsetAsync)(memory, 1, 4, stream), cudaSuccess);
  EXPECT_EQ(OLD(cudaStreamGetCaptureInfo_v2)(stream, &status, &id, &graph, &before, &count),
            cudaSuccess);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(OLD(cudaStreamUpdateCaptureDependencies_v2)(stream, nullptr, nullptr, 0,
                                                        CU_STREAM_SET_CAPTURE_DEPENDENCIES),
            cudaSuccess);
  EXPECT_EQ(OLD(cudaStreamGetCaptureInfo_v2)(stream, &status, &id, &graph, &before, &count),
            cudaSuccess);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(OLD(cudaStreamGetCaptureInfo_v2)(stream, nullptr, &id, &graph, &before, &count),
            cudaErrorInvalidValue);
  EXPECT_EQ(OLD(cudaStreamUpdateCaptureDependencies_v2)(stream, nullptr, nullptr, 0, 77),
            cudaErrorInvalidValue);
  EXPECT_EQ(OLD(cudaStreamEndCapture)(stream, &graph), cudaSuccess);
  EXPECT_EQ(OLD(cudaGraphDestroy)(graph), cudaSuccess);
  EXPECT_EQ(OLD(cudaFree)(memory), cudaSuccess);
  EXPECT_EQ(OLD(cudaStreamDestroy)(stream), cudaSuccess);
}

}  // namespace

int main(int argc, char** argv) {
  return twinmmu::cudart::RunTestsOfOlder("libcudart.so.12", argc, argv);
}
