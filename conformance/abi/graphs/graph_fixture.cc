#include "conformance/abi/graphs/graph_fixture.h"

#include <algorithm>

namespace twinmmu::abi {
namespace {

constexpr char kKernels[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 to, .param .u32 value) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.u32 %r2, [%rd2];
  add.u32 %r3, %r2, %r1;
  st.global.u32 [%rd2], %r3;
  ret;
}
.visible .entry set(.param .u64 to, .param .u32 value) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

void CountCall(void* calls) { ++*static_cast<int*>(calls); }

}  // namespace

void GraphTest::SetUp() {
  ContextTest::SetUp();
  if (HasFatalFailure()) return;
  if (DriverVersion() < 12030) GTEST_SKIP() << "the driver is older than these functions";
  EXPECT_EQ(cuModuleLoadData(&module_, kKernels), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&add_, module_, "add"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&set_, module_, "set"), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&memory_, kSize), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(memory_, 0, kSize), CUDA_SUCCESS);
  stream_ = MakeStream();
  // Loads what a driver loads when it is first used.
  EXPECT_EQ(Launch(stream_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  graph_ = MakeGraph();
}

void GraphTest::TearDown() {
  if (module_ != nullptr) {
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    for (CUgraphExec executable : executables_) cuGraphExecDestroy(executable);
    for (CUgraph graph : graphs_) EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    for (CUevent event : events_) EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
    for (CUstream stream : streams_) EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(memory_), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
  }
  ContextTest::TearDown();
}

CUDA_KERNEL_NODE_PARAMS GraphTest::KernelOf(CUfunction function, CUdeviceptr to,
                                            unsigned int value) {
  to_ = to;
  value_ = value;
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = function;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = arguments_;
  return kernel;
}

CUDA_MEMSET_NODE_PARAMS GraphTest::FillOf(CUdeviceptr to, unsigned int value, size_t count) const {
  return {to, 0, value, 4, count, 1};
}

CUDA_MEMCPY3D GraphTest::CopyOf(CUdeviceptr to, CUdeviceptr from, size_t size) const {
  CUDA_MEMCPY3D copy = {};
  copy.dstMemoryType = copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.srcDevice = from;
  copy.WidthInBytes = size;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUgraphNode GraphTest::AddEmpty(CUgraph graph, const Nodes& after) {
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, after.data(), after.size()), CUDA_SUCCESS);
  return node;
}

CUgraphNode GraphTest::AddKernel(CUgraph graph, CUfunction function, unsigned int value,
                                 const Nodes& after) {
  const CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(function, memory_, value);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), &kernel), CUDA_SUCCESS);
  return node;
}

CUgraphNode GraphTest::AddFill(CUgraph graph, const CUDA_MEMSET_NODE_PARAMS& fill,
                               const Nodes& after) {
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph, after.data(), after.size(), &fill, context_),
            CUDA_SUCCESS);
  return node;
}

CUgraphNode GraphTest::AddHost(CUgraph graph, const Nodes& after) {
  const CUDA_HOST_NODE_PARAMS call = {CountCall, &host_calls_};
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddHostNode(&node, graph, after.data(), after.size(), &call), CUDA_SUCCESS);
  return node;
}

CUgraph GraphTest::MakeGraph() {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  graphs_.push_back(graph);
  return graph;
}

CUgraphExec GraphTest::Instantiate(CUgraph graph) {
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  if (executable != nullptr) executables_.push_back(executable);
  return executable;
}

void GraphTest::Run(CUgraphExec executable) {
  EXPECT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
}

Nodes GraphTest::NodesOf(CUgraph graph) {
  size_t count = 0;
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
  Nodes nodes(count);
  EXPECT_EQ(cuGraphGetNodes(graph, nodes.data(), &count), CUDA_SUCCESS);
  return nodes;
}

std::vector<CUgraphNodeType> GraphTest::TypesOf(CUgraph graph) {
  std::vector<CUgraphNodeType> types;
  for (CUgraphNode node : NodesOf(graph)) {
    types.emplace_back();
    EXPECT_EQ(cuGraphNodeGetType(node, &types.back()), CUDA_SUCCESS);
  }
  return types;
}

Nodes GraphTest::RootsOf(CUgraph graph) {
  size_t count = 0;
  EXPECT_EQ(cuGraphGetRootNodes(graph, nullptr, &count), CUDA_SUCCESS);
  Nodes roots(count);
  EXPECT_EQ(cuGraphGetRootNodes(graph, roots.data(), &count), CUDA_SUCCESS);
  return roots;
}

std::vector<Edge> GraphTest::EdgesOf(CUgraph graph, const Nodes& nodes) {
  size_t count = 0;
  EXPECT_EQ(get_edges(graph, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
  Nodes from(count);
  Nodes to(count);
  std::vector<EdgeData> data(count);
  EXPECT_EQ(get_edges(graph, from.data(), to.data(), data.data(), &count), CUDA_SUCCESS);
  const auto number = [&](CUgraphNode node) {
    return static_cast<int>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
  };
  std::vector<Edge> edges;
  for (size_t i = 0; i < from.size(); ++i) edges.emplace_back(number(from[i]), number(to[i]));
  return edges;
}

unsigned int GraphTest::Number(size_t offset) {
  unsigned int number = ~0u;
  EXPECT_EQ(cuMemcpyDtoH(&number, memory_ + offset, sizeof(number)), CUDA_SUCCESS);
  return number;
}

CUstream GraphTest::MakeStream(unsigned int flags) {
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, flags), CUDA_SUCCESS);
  streams_.push_back(stream);
  return stream;
}

CUevent GraphTest::MakeEvent() {
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  events_.push_back(event);
  return event;
}

CUresult GraphTest::Launch(CUstream stream, unsigned int value) {
  KernelOf(add_, memory_, value);
  return cuLaunchKernel(add_, 1, 1, 1, 1, 1, 1, 0, stream, arguments_, nullptr);
}

CUstreamCaptureStatus GraphTest::StatusOf(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_EQ(cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
  return status;
}

}  // namespace twinmmu::abi
