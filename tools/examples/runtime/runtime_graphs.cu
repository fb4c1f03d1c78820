// Graphs of work: one captured from two streams, and one built node by node, with memory of its
// own. Both are changed after they were instantiated.

#include "tools/examples/runtime/runtime_check.h"

namespace {

__global__ void AddNumber(int* values, int count, int number) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += number;
}

constexpr int kCount = 1024;
constexpr size_t kSize = kCount * sizeof(int);

int Last(const int* values) {
  int last = 0;
  CHECK(cudaMemcpy(&last, values + kCount - 1, sizeof(last), cudaMemcpyDeviceToHost));
  return last;
}

size_t CountOfNodes(cudaGraph_t graph) {
  size_t count = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  return count;
}

// The first half is filled and added to in one stream, the second in another.
cudaGraph_t Capture(int* values, int number) {
  cudaStream_t stream = nullptr;
  cudaStream_t side = nullptr;
  cudaEvent_t fork = nullptr;
  cudaEvent_t join = nullptr;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  CHECK(cudaMemsetAsync(values, 0, kSize / 2, stream));
  CHECK(cudaMemsetAsync(values + kCount / 2, 0, kSize / 2, side));
  AddNumber<<<2, 256, 0, stream>>>(values, kCount / 2, number);
  AddNumber<<<2, 256, 0, side>>>(values + kCount / 2, kCount / 2, 2 * number);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(stream, join, 0));
  AddNumber<<<4, 256, 0, stream>>>(values, kCount, 1);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaEventDestroy(join));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaStreamDestroy(side));
  CHECK(cudaStreamDestroy(stream));
  return graph;
}

void RunCaptured(int* values) {
  cudaGraph_t graph = Capture(values, 10);
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, nullptr));
  std::printf("captured: %zu nodes, the last value is %d\n", CountOfNodes(graph), Last(values));
  cudaGraph_t other = Capture(values, 100);
  cudaGraphExecUpdateResultInfo result = {};
  CHECK(cudaGraphExecUpdate(exec, other, &result));
  CHECK(cudaGraphLaunch(exec, nullptr));
  std::printf("updated: the last value is %d\n", Last(values));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(other));
  CHECK(cudaGraphDestroy(graph));
}

void CUDART_CB Increment(void* counter) { ++*static_cast<int*>(counter); }

// Memory that the graph allocates and frees is filled, added to and copied to `values`.
struct BuiltGraph {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t add = nullptr;
  cudaKernelNodeParams parameters = {};
  void* arguments[3] = {};
  int* memory = nullptr;
  int count = kCount;
  int number = 7;
};

void Build(BuiltGraph& built, int* values, int* launches) {
  CHECK(cudaGraphCreate(&built.graph, 0));
  cudaMemAllocNodeParams allocation = {};
  allocation.poolProps.allocType = cudaMemAllocationTypePinned;
  allocation.poolProps.location = {cudaMemLocationTypeDevice, 0};
  allocation.bytesize = kSize;
  cudaGraphNode_t allocate = nullptr;
  CHECK(cudaGraphAddMemAllocNode(&allocate, built.graph, nullptr, 0, &allocation));
  built.memory = static_cast<int*>(allocation.dptr);
  cudaMemsetParams filling = {};
  filling.dst = built.memory;
  filling.elementSize = sizeof(int);
  filling.value = 1000;
  filling.width = kCount;
  filling.height = 1;
  cudaGraphNode_t fill = nullptr;
  CHECK(cudaGraphAddMemsetNode(&fill, built.graph, &allocate, 1, &filling));
  built.arguments[0] = &built.memory;
  built.arguments[1] = &built.count;
  built.arguments[2] = &built.number;
  built.parameters.func = reinterpret_cast<void*>(&AddNumber);
  built.parameters.gridDim = {4, 1, 1};
  built.parameters.blockDim = {256, 1, 1};
  built.parameters.kernelParams = built.arguments;
  CHECK(cudaGraphAddKernelNode(&built.add, built.graph, &fill, 1, &built.parameters));
  cudaGraphNode_t copy = nullptr;
  CHECK(cudaGraphAddMemcpyNode1D(&copy, built.graph, &built.add, 1, values, built.memory, kSize,
                                 cudaMemcpyDeviceToDevice));
  cudaGraphNode_t free_node = nullptr;
  CHECK(cudaGraphAddMemFreeNode(&free_node, built.graph, &copy, 1, built.memory));
  cudaHostNodeParams call = {Increment, launches};
  cudaGraphNode_t tell = nullptr;
  CHECK(cudaGraphAddHostNode(&tell, built.graph, &copy, 1, &call));
}

void RunBuilt(int* values) {
  int launches = 0;
  BuiltGraph built;
  Build(built, values, &launches);
  cudaKernelNodeParams found = {};
  CHECK(cudaGraphKernelNodeGetParams(built.add, &found));
  std::printf("built: %zu nodes, the kernel has %u blocks of %u threads and adds %d\n",
              CountOfNodes(built.graph), found.gridDim.x, found.blockDim.x,
              *static_cast<int*>(found.kernelParams[2]));
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, built.graph, 0));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  std::printf("the last value is %d\n", Last(values));
  built.number = 8;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, built.add, &built.parameters));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  std::printf("the last value is %d after %d launches\n", Last(values), launches);
#ifdef PLANTED_BUG
  // The graph has freed it.
  CHECK(cudaMemset(built.memory, 0, kSize));
#endif
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(built.graph));
  CHECK(cudaDeviceGraphMemTrim(0));
}

}  // namespace

int main() {
  int* values = nullptr;
  CHECK(cudaMalloc(&values, kSize));
  RunCaptured(values);
  RunBuilt(values);
  CHECK(cudaFree(values));
  return 0;
}
