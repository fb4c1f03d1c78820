// What streams and events say of themselves, and what is done when a stream gets there.

#include <set>
#include <thread>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/cudart_abi.h"
#include "third_party/cuda_abi/include/cuda.h"

namespace {

using twinmmu::cuda_abi::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
using twinmmu::cuda_abi::CUlaunchAttributeValue;

constexpr int kGlobal = 0;  // cudaStreamCaptureModeGlobal
constexpr int kRelaxed = 2;

class RuntimeStreams : public testing::Test {
 protected:
  RuntimeStreams() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaEventCreate(&event_), cudaSuccess);
  }
  ~RuntimeStreams() override {
    EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    cudaGetLastError();
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

TEST_F(RuntimeStreams, HavePrioritiesOfARange) {
  int least = 7;
  int greatest = 7;
  EXPECT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5);
  EXPECT_EQ(cudaDeviceGetStreamPriorityRange(nullptr, nullptr), cudaSuccess);
  for (const int asked : {1000, -3, -1000}) {
    cudaStream_t stream = nullptr;
    int priority = 7;
    unsigned int flags = 7;
    ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, asked), cudaSuccess);
    EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
    EXPECT_EQ(priority, asked > least ? least : asked < greatest ? greatest : asked);
    EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
    EXPECT_EQ(flags, cudaStreamNonBlocking);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamCreateWithPriority(nullptr, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamCreateWithPriority(&stream_, 77, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamGetPriority(stream_, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeStreams, OfAThreadAndOfOldWaitForEachOther) {
  for (const cudaStream_t stream : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
    unsigned int flags = 7;
    EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
    EXPECT_EQ(flags, cudaStreamDefault);
  }
  EXPECT_EQ(cudaStreamGetFlags(stream_, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeStreams, EachThreadHasADefaultStreamOfItsOwn) {
  unsigned long long own = 0;
  unsigned long long of_another = 0;
  EXPECT_EQ(cudaStreamGetId(cudaStreamPerThread, &own), cudaSuccess);
  std::thread([&] {
    EXPECT_EQ(cudaStreamGetId(cudaStreamPerThread, &of_another), cudaSuccess);
  }).join();
  EXPECT_NE(own, of_another);
}

TEST_F(RuntimeStreams, HaveIdsOfTheirOwn) {
  std::set<unsigned long long> ids;
  for (const cudaStream_t stream : {stream_, cudaStreamLegacy, cudaStreamPerThread}) {
    unsigned long long id = 0;
    EXPECT_EQ(cudaStreamGetId(stream, &id), cudaSuccess);
    EXPECT_TRUE(ids.insert(id).second) << id;
  }
  unsigned long long id = 0;
  EXPECT_EQ(cudaStreamGetId(nullptr, &id), cudaSuccess);
  EXPECT_EQ(ids.count(id), 1u) << "that of the legacy stream";
  EXPECT_EQ(cudaStreamGetId(stream_, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeStreams, StayOnTheirDevice) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  int device = -1;
  EXPECT_EQ(cudaStreamGetDevice(other, &device), cudaSuccess);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cudaStreamGetDevice(nullptr, &device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaStreamGetDevice(stream_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(RuntimeStreams, HaveAttributesThatAreCopied) {
  constexpr char kBlocking = 3;  // cudaSyncPolicyBlockingSync
  constexpr int kPolicy = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  CUlaunchAttributeValue value = {};
  value.pad[0] = kBlocking;
  EXPECT_EQ(cudaStreamSetAttribute(stream_, kPolicy, &value), cudaSuccess);
  EXPECT_EQ(cudaStreamGetAttribute(other, kPolicy, &value), cudaSuccess);
  EXPECT_NE(value.pad[0], kBlocking);
  EXPECT_EQ(cudaStreamCopyAttributes(other, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamGetAttribute(other, kPolicy, &value), cudaSuccess);
  EXPECT_EQ(value.pad[0], kBlocking);
  EXPECT_EQ(cudaStreamGetAttribute(stream_, 100, &value), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamGetAttribute(stream_, kPolicy, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamSetAttribute(stream_, 100, &value), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(RuntimeStreams, CallAFunctionOfTheHostWithWhatTheyHaveDone) {
  struct Told {
    cudaStream_t stream;
    cudaError_t status;
  };
  Told told = {nullptr, cudaErrorUnknown};
  const cudaStreamCallback_t tell = [](cudaStream_t stream, cudaError_t status, void* argument) {
    *static_cast<Told*>(argument) = {stream, status};
  };
  EXPECT_EQ(cudaStreamAddCallback(stream_, tell, &told, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(told.stream, stream_);
  EXPECT_EQ(told.status, cudaSuccess);
  EXPECT_EQ(cudaStreamAddCallback(stream_, tell, &told, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamAddCallback(stream_, nullptr, &told, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeStreams, ACallbackMayAllocateNothing) {
  cudaError_t result = cudaSuccess;
  const cudaStreamCallback_t allocate = [](cudaStream_t, cudaError_t, void* argument) {
    void* memory = nullptr;
    *static_cast<cudaError_t*>(argument) = cudaMalloc(&memory, 64);
  };
  EXPECT_EQ(cudaStreamAddCallback(stream_, allocate, &result, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(static_cast<int>(result), 800);  // cudaErrorNotPermitted
}

// --- Captures

TEST_F(RuntimeStreams, SayWhetherTheyAreCaptured) {
  constexpr int kActive = 1;
  constexpr int kInvalidated = 2;
  const auto status = [&] {
    int found = 7;
    EXPECT_EQ(cudaStreamIsCapturing(stream_, &found), cudaSuccess);
    return found;
  };
  EXPECT_EQ(status(), 0);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, kGlobal), cudaSuccess);
  EXPECT_EQ(status(), kActive);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(status(), kInvalidated);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(status(), 0);
  EXPECT_EQ(cudaStreamIsCapturing(stream_, nullptr), cudaErrorInvalidValue);
}

// What waits for the device ends a capture, unless the thread says that it knows.
TEST_F(RuntimeStreams, LetAThreadDoWhatACaptureForbids) {
  void* memory = nullptr;
  cudaGraph_t graph = nullptr;
  int mode = kRelaxed;
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(mode, kGlobal) << "that from before";
  ASSERT_EQ(cudaStreamBeginCapture(stream_, kGlobal), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(mode, kRelaxed);
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

// --- Events

TEST_F(RuntimeStreams, AreOverWithAnEvent) {
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess) << "nothing was recorded";
  void* memory = nullptr;
  ASSERT_EQ(cudaHostAlloc(&memory, sizeof(cuuint32_t), cudaHostAllocMapped), cudaSuccess);
  volatile cuuint32_t* const word = static_cast<cuuint32_t*>(memory);
  *word = 0;
  ASSERT_EQ(cuStreamWaitValue32(stream_, reinterpret_cast<CUdeviceptr>(memory), 1,
                                CU_STREAM_WAIT_VALUE_EQ),
            CUDA_SUCCESS);
  EXPECT_EQ(cudaEventRecordWithFlags(event_, stream_, 0), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  *word = 1;
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaFreeHost(memory), cudaSuccess);
}

TEST_F(RuntimeStreams, AndEventsThatAreNoneAreRefused) {
  EXPECT_EQ(cudaEventSynchronize(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(nullptr, stream_), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);
  for (const cudaStream_t stream : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
    EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle) << "is not the program's";
  }
}

// As a node of the graph, which each of its launches records.
TEST_F(RuntimeStreams, RecordAnEventOutsideOfACapture) {
  constexpr unsigned int kExternal = 1;  // cudaEventRecordExternal
  EXPECT_EQ(cudaEventRecordWithFlags(event_, stream_, kExternal), cudaErrorIllegalState);
  EXPECT_EQ(cudaEventRecordWithFlags(event_, stream_, 77), cudaErrorInvalidValue);
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  size_t count = 1;
  int type = -1;
  ASSERT_EQ(cudaStreamBeginCapture(stream_, kGlobal), cudaSuccess);
  EXPECT_EQ(cudaEventRecordWithFlags(event_, stream_, kExternal), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphGetNodes(graph, &node, &count), cudaSuccess);
  EXPECT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
  EXPECT_EQ(type, 7) << "cudaGraphNodeTypeEventRecord";
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

}  // namespace
