// What counts first where arguments are left out, and where the context cannot be used. Source: the
// genuine runtime 13.0 on an H200.

#include <thread>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/vector_kernels.h"
#include "third_party/cuda_abi/include/cuda.h"

extern "C" {
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** before,
                                     const void** data, size_t* count);
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                             const cudaGraphNode_t* before, const void* data, size_t count,
                             cudaGraphNodeParams* parameters);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo_st* result);
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    int* found);
}

namespace {

constexpr int kGlobal = 0;
constexpr cudaMemcpyKind kHostToHost = cudaMemcpyHostToHost;
constexpr cudaMemcpyKind kToDevice = cudaMemcpyHostToDevice;
constexpr cudaMemcpyKind kWithin = cudaMemcpyDeviceToDevice;

class RuntimeLeftOut : public testing::Test {
 protected:
  RuntimeLeftOut() : module_(RegisterVectorKernels()) {
    EXPECT_EQ(cudaMalloc(&memory_, 64), cudaSuccess);
    EXPECT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    EXPECT_EQ(cudaEventCreate(&event_), cudaSuccess);
    EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool_, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphAddEmptyNode(&node_, graph_, nullptr, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiateWithFlags(&exec_, graph_, 0), cudaSuccess);
  }
  ~RuntimeLeftOut() override {
    EXPECT_EQ(cudaGraphExecDestroy(exec_), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaFree(memory_), cudaSuccess);
    __cudaUnregisterFatBinary(module_);
    cudaGetLastError();
  }

  void** const module_;
  void* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphNode_t node_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

TEST_F(RuntimeLeftOut, DevicesThatAreNoneCountFirst) {
  EXPECT_EQ(cudaDeviceCanAccessPeer(nullptr, 0, 99), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceCanAccessPeer(nullptr, 99, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceCanAccessPeer(nullptr, 0, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeLeftOut, ASymbolCountsBeforeTheAnswerAndTheWay) {
  size_t size = 0;
  EXPECT_EQ(cudaGetSymbolAddress(nullptr, nullptr), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaGetSymbolAddress(nullptr, &scale), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetSymbolSize(nullptr, nullptr), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaGetSymbolSize(nullptr, &scale), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetSymbolSize(&size, &scale), cudaSuccess);
  EXPECT_EQ(size, 4u);
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(cudaGraphAddMemcpyNodeToSymbol(&node, graph_, nullptr, 0, nullptr, memory_, 1, 0,
                                           kHostToHost),
            cudaErrorInvalidSymbol);
  EXPECT_EQ(
      cudaGraphAddMemcpyNodeToSymbol(&node, graph_, nullptr, 0, &scale, memory_, 0, 0, kHostToHost),
      cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGraphMemcpyNodeSetParamsFromSymbol(node_, memory_, nullptr, 1, 0, kToDevice),
            cudaErrorInvalidSymbol);
  EXPECT_EQ(
      cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec_, node_, memory_, nullptr, 1, 0, kToDevice),
      cudaErrorInvalidSymbol);
}

TEST_F(RuntimeLeftOut, AFunctionCountsBeforeTheAnswer) {
  EXPECT_EQ(cudaGetFuncBySymbol(nullptr, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetFuncBySymbol(nullptr, &Add), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryEnumerateKernels(nullptr, 1, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeLeftOut, ArraysCountBeforeTheirChannels) {
  const cudaChannelFormatDesc none = {};
  const cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
  cudaMipmappedArray_t mipmap = nullptr;
  EXPECT_EQ(cudaMallocMipmappedArray(nullptr, &none, {16, 0, 0}, 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocMipmappedArray(&mipmap, &none, {16, 0, 0}, 1, 0),
            cudaErrorInvalidChannelDescriptor);
  EXPECT_EQ(cudaMallocMipmappedArray(&mipmap, nullptr, {16, 0, 0}, 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocMipmappedArray(&mipmap, &bytes, {0, 0, 0}, 1, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeLeftOut, RowsNeedTheirPitchEvenIfThereAreNone) {
  void* rows = memory_;
  EXPECT_EQ(cudaMallocPitch(&rows, nullptr, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(rows, memory_);
}

TEST_F(RuntimeLeftOut, APoolIsGivenNoAccess) {
  EXPECT_EQ(cudaMemPoolSetAccess(pool_, nullptr, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolSetAccess(nullptr, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolSetAccess(pool_, nullptr, 1), cudaErrorInvalidValue);
}

TEST_F(RuntimeLeftOut, NoBytesOfArraysGoAnyWay) {
  EXPECT_EQ(cudaMemcpyArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 0, kHostToHost), cudaSuccess);
  EXPECT_EQ(cudaMemcpyArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 1, kHostToHost),
            cudaErrorInvalidMemcpyDirection);
}

TEST_F(RuntimeLeftOut, AViewIsFoundForNobody) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {memory_, {32, 0, 0, 0, cudaChannelFormatKindFloat}, 64};
  const cudaTextureDesc sampling = {};
  cudaTextureObject_t texture = 0;
  ASSERT_EQ(cudaCreateTextureObject(&texture, &resource, &sampling, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGetTextureObjectResourceViewDesc(nullptr, texture), cudaSuccess);
  EXPECT_EQ(cudaGetTextureObjectResourceViewDesc(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
}

// --- Captures

// How a capture of a stream ends in which call() gives `error`.
template <typename Call>
cudaError_t EndOfCapture(cudaStream_t stream, cudaError_t error, const Call& call) {
  EXPECT_EQ(cudaStreamBeginCapture(stream, kGlobal), cudaSuccess);
  EXPECT_EQ(call(), error);
  cudaGraph_t graph = nullptr;
  const cudaError_t end = cudaStreamEndCapture(stream, &graph);
  if (end == cudaSuccess) cudaGraphDestroy(graph);
  return end;
}

TEST_F(RuntimeLeftOut, CapturesForbidMemoryOfTheHostForNobody) {
  const auto allocate = [] { return cudaHostAlloc(nullptr, 1, 0); };
  EXPECT_EQ(EndOfCapture(stream_, cudaErrorStreamCaptureUnsupported, allocate),
            cudaErrorStreamCaptureInvalidated);
  const auto allocate_none = [] { return cudaHostAlloc(nullptr, 0, 0); };
  EXPECT_EQ(EndOfCapture(stream_, cudaErrorInvalidValue, allocate_none), cudaSuccess);
}

TEST_F(RuntimeLeftOut, CapturesForbidNoBytesInTheOrderOfAnotherStream) {
  void* address = memory_;
  const auto allocate = [&] { return cudaMallocAsync(&address, 0, nullptr); };
  EXPECT_EQ(EndOfCapture(stream_, cudaErrorStreamCaptureImplicit, allocate),
            cudaErrorStreamCaptureInvalidated);
  const auto from_pool = [&] { return cudaMallocFromPoolAsync(&address, 0, pool_, nullptr); };
  EXPECT_EQ(EndOfCapture(stream_, cudaErrorStreamCaptureImplicit, from_pool),
            cudaErrorStreamCaptureInvalidated);
  const auto in_order = [&] { return cudaMallocAsync(&address, 0, stream_); };
  EXPECT_EQ(EndOfCapture(stream_, cudaSuccess, in_order), cudaSuccess);
  EXPECT_EQ(address, nullptr);
}

TEST_F(RuntimeLeftOut, CapturesForbidAnEmptyBoxBetweenDevices) {
  const cudaMemcpy3DPeerParms box = {};
  const auto copy = [&] { return cudaMemcpy3DPeer(&box); };
  EXPECT_EQ(cudaMemcpy3DPeer(&box), cudaSuccess);
  EXPECT_EQ(EndOfCapture(stream_, cudaErrorStreamCaptureImplicit, copy),
            cudaErrorStreamCaptureInvalidated);
}

TEST_F(RuntimeLeftOut, CapturesForbidNoFillOfNoRows) {
  const auto fill = [] { return cudaMemset2DAsync(nullptr, 0, 0, 1, 0, nullptr); };
  EXPECT_EQ(EndOfCapture(stream_, cudaSuccess, fill), cudaSuccess);
}

TEST_F(RuntimeLeftOut, CapturesForbidToAskForADevice) {
  const auto ask = [] { return cudaStreamGetDevice(nullptr, nullptr); };
  EXPECT_EQ(EndOfCapture(stream_, cudaErrorStreamCaptureImplicit, ask),
            cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamGetDevice(stream_, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeLeftOut, CapturesForbidToSetNoAccess) {
  const auto set = [&] { return cudaMemPoolSetAccess(pool_, nullptr, 0); };
  EXPECT_EQ(EndOfCapture(stream_, cudaErrorStreamCaptureUnsupported, set),
            cudaErrorStreamCaptureInvalidated);
}

TEST_F(RuntimeLeftOut, AnAttributeThatIsNoneCountsBeforeCaptures) {
  const auto set = [] { return cudaStreamSetAttribute(nullptr, 0, nullptr); };
  EXPECT_EQ(EndOfCapture(stream_, cudaErrorInvalidValue, set), cudaSuccess);
}

// --- A destroyed context

// Another thread destroys the context that is current.
class RuntimeDestroyed : public RuntimeLeftOut {
 protected:
  RuntimeDestroyed() {
    EXPECT_EQ(cuCtxGetCurrent(&primary_), CUDA_SUCCESS);
    CUcontext context = nullptr;
    EXPECT_EQ(cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    std::thread([&] { EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS); }).join();
  }
  ~RuntimeDestroyed() override { EXPECT_EQ(cuCtxSetCurrent(primary_), CUDA_SUCCESS); }

  CUcontext primary_ = nullptr;
};

TEST_F(RuntimeDestroyed, CountsBeforeAnythingElse) {
  void* address = memory_;
  EXPECT_EQ(cudaMemcpy(memory_, memory_, 0, kWithin), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaMemcpy(memory_, memory_, 1, kWithin), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaMemset2DAsync(nullptr, 0, 0, 0, 0, stream_), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaMalloc(&address, 0), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaHostAlloc(nullptr, 0, 0), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaFreeArray(nullptr), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaEventDestroy(event_), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, stream_),
            cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaGetSymbolAddress(nullptr, nullptr), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaSetDeviceFlags(0), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaGetLastError(), cudaErrorDeviceUninitialized);
  EXPECT_EQ(address, memory_);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(memory_, memory_, 1, kWithin), cudaSuccess);
}

TEST_F(RuntimeDestroyed, DoesNotCountWhereNoneIsNeeded) {
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToSymbol(nullptr, nullptr, 0, 0, kToDevice), cudaSuccess);
  EXPECT_EQ(cudaGraphNodeSetEnabled(exec_, node_, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphNodeGetEnabled(exec_, node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMipmappedArrayGetMemoryRequirements(nullptr, nullptr, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeDestroyed, DoesNotCountInAStreamOfAnother) {
  void* address = nullptr;
  int device = -1;
  EXPECT_EQ(cudaMallocAsync(&address, 4, stream_), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(address, stream_), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync(&address, 0, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamGetDevice(stream_, &device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaMallocAsync(&address, 4, nullptr), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaFreeAsync(memory_, nullptr), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaStreamGetDevice(nullptr, &device), cudaErrorDeviceUninitialized);
}

TEST_F(RuntimeDestroyed, CountsBeforeTheLogIsAskedFor) {
  unsigned int position = 0;
  EXPECT_EQ(cudaLogsCurrent(&position, 0), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaLogsDumpToFile(&position, nullptr, 0), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaLogsDumpToMemory(&position, nullptr, nullptr, 0), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaLogsRegisterCallback(nullptr, nullptr, nullptr), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaLogsUnregisterCallback(nullptr), cudaErrorDeviceUninitialized);
}

TEST_F(RuntimeDestroyed, CountsAfterMemoryForNobody) {
  void* address = nullptr;
  const cudaChannelFormatDesc bytes = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
  cudaArray_t array = nullptr;
  EXPECT_EQ(cudaMalloc(nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocPitch(&address, nullptr, 1, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocArray(&array, nullptr, 1, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc3DArray(nullptr, &bytes, {1, 0, 0}, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocMipmappedArray(nullptr, &bytes, {1, 0, 0}, 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostGetDevicePointer(&address, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostGetFlags(nullptr, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeDestroyed, CountsAfterWhatIsAskedOfStreamsAndObjects) {
  EXPECT_EQ(cudaStreamIsCapturing(stream_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamIsCapturing_ptsz(stream_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamAddCallback(stream_, nullptr, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamAddCallback_ptsz(stream_, nullptr, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamSetAttribute(stream_, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamSetAttribute_ptsz(stream_, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamGetCaptureInfo(stream_, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetChannelDesc(nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetTextureObjectResourceDesc(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetTextureObjectTextureDesc(nullptr, 0), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetSurfaceObjectResourceDesc(nullptr, 0), cudaErrorInvalidDevice);
  const cudaResourceDesc resource = {};
  EXPECT_EQ(cudaCreateTextureObject(nullptr, &resource, nullptr, nullptr),
            cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeDestroyed, CountsAfterNodesOfNothing) {
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddMemcpyNode(&node, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddMemsetNode(&node, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddHostNode(&node, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddMemAllocNode(&node, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEventRecordNode(&node, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEventWaitNode(&node, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddNode(&node, graph_, nullptr, nullptr, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddMemcpyNode1D(&node, graph_, nullptr, 0, nullptr, memory_, 1, kWithin),
            cudaErrorDeviceUninitialized)
      << "but this";
  unsigned long long handle = 0;
  EXPECT_EQ(cudaGraphConditionalHandleCreate(nullptr, graph_, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphConditionalHandleCreate(&handle, nullptr, 0, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeDestroyed, CountsAfterNodesThatAreSetToNothing) {
  EXPECT_EQ(cudaGraphKernelNodeSetParams(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeSetAttribute(node_, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphMemcpyNodeSetParams(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphHostNodeSetParams(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphEventRecordNodeSetEvent(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphEventWaitNodeSetEvent(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphNodeSetParams(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParams(exec_, node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecMemsetNodeSetParams(exec_, node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecHostNodeSetParams(exec_, node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecChildGraphNodeSetParams(exec_, node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecEventRecordNodeSetEvent(exec_, node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecEventWaitNodeSetEvent(exec_, node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecNodeSetParams(exec_, node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecUpdate(exec_, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(exec_, node_, nullptr), cudaErrorDeviceUninitialized)
      << "but this";
}

TEST_F(RuntimeDestroyed, CountsAfterNodesThatNobodyAsksFor) {
  EXPECT_EQ(cudaGraphNodeGetType(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeGetParams(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphMemcpyNodeGetParams(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphMemsetNodeGetParams(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphHostNodeGetParams(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphMemAllocNodeGetParams(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphMemFreeNodeGetParams(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphEventRecordNodeGetEvent(node_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphEventWaitNodeGetEvent(node_, nullptr), cudaErrorInvalidValue);
}

// --- After a fault

// A kernel has read where nothing is, which ends what the process can do on the device: these tests
// are the last.
class RuntimeFaulty : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterVectorKernels();
    ASSERT_EQ(cudaMalloc(&memory_, 64), cudaSuccess);
    ASSERT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphAddEmptyNode(&node_, graph_, nullptr, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec_, graph_, 0), cudaSuccess);
    void* nowhere = nullptr;
    int count = 1;
    void* arguments[] = {&nowhere, &nowhere, &nowhere, &count};
    ASSERT_EQ(cudaLaunchKernel(&Add, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), kFault);
  }

  static constexpr cudaError_t kFault = cudaErrorIllegalAddress;
  static void* memory_;
  static cudaGraph_t graph_;
  static cudaGraphNode_t node_;
  static cudaGraphExec_t exec_;
};
void* RuntimeFaulty::memory_ = nullptr;
cudaGraph_t RuntimeFaulty::graph_ = nullptr;
cudaGraphNode_t RuntimeFaulty::node_ = nullptr;
cudaGraphExec_t RuntimeFaulty::exec_ = nullptr;

TEST_F(RuntimeFaulty, FunctionsAreNotTold) {
  cudaFuncAttributes attributes = {};
  size_t shared = 0;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &Add), kFault);
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, &Add, 0, 1), kFault);
  EXPECT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, nullptr, 0, 1),
            cudaErrorInvalidDeviceFunction);
}

TEST_F(RuntimeFaulty, ClustersAreCountedForSomebody) {
  const cudaLaunchConfig_t config = {};
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(nullptr, &Add, &config), cudaErrorInvalidValue);
  EXPECT_EQ(cudaOccupancyMaxPotentialClusterSize(nullptr, &Add, &config), cudaErrorInvalidValue);
}

TEST_F(RuntimeFaulty, CopiesThatLackAnEndCountFirst) {
  cudaGraphNode_t node = nullptr;
  const auto add = [&](void* to, const void* from, size_t size) {
    return cudaGraphAddMemcpyNode1D(&node, graph_, nullptr, 0, to, from, size, kWithin);
  };
  EXPECT_EQ(add(nullptr, memory_, 1), cudaErrorInvalidValue);
  EXPECT_EQ(add(memory_, nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(add(memory_, memory_, 0), kFault);
  EXPECT_EQ(add(nullptr, nullptr, 0), kFault) << "no bytes have no end";
  const auto change = [&](void* to, const void* from, size_t size) {
    return cudaGraphExecMemcpyNodeSetParams1D(exec_, node_, to, from, size, kWithin);
  };
  EXPECT_EQ(change(nullptr, memory_, 1), cudaErrorInvalidValue);
  EXPECT_EQ(change(memory_, nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(change(memory_, memory_, 0), kFault);
}

TEST_F(RuntimeFaulty, AHandleForNobodyIsNotMade) {
  EXPECT_EQ(cudaIpcGetMemHandle(nullptr, memory_), kFault);
  EXPECT_EQ(cudaIpcGetMemHandle(nullptr, nullptr), cudaErrorInvalidValue);
}

}  // namespace
