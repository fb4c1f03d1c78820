// The host runs out of memory in calls that instantiate graphs, and that change what the nodes of
// executable graphs do: see memory_failure_steps.h. The simulated driver is linked in.

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuModuleLoadData(CUmodule*, const void*);
CUresult cuCtxGetFlags(unsigned int*);
CUresult cuGraphCreate(CUgraph*, unsigned int);
CUresult cuGraphDestroy(CUgraph);
CUresult cuGraphGetNodes(CUgraph, CUgraphNode*, size_t*);
CUresult cuGraphAddKernelNode_v2(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                 const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphAddMemcpyNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                              const CUDA_MEMCPY3D*, CUcontext);
CUresult cuGraphAddMemsetNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                              const CUDA_MEMSET_NODE_PARAMS*, CUcontext);
CUresult cuGraphAddHostNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                            const CUDA_HOST_NODE_PARAMS*);
CUresult cuGraphAddChildGraphNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph);
CUresult cuGraphAddBatchMemOpNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS*);
CUresult cuGraphInstantiate_v2(CUgraphExec*, CUgraph, CUgraphNode*, char*, size_t);
CUresult cuGraphInstantiateWithParams(CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*);
CUresult cuGraphExecDestroy(CUgraphExec);
CUresult cuGraphExecGetFlags(CUgraphExec, uint64_t*);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuGraphNodeGetEnabled(CUgraphExec, CUgraphNode, unsigned int*);
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec, CUgraphNode,
                                           const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D*, CUcontext);
CUresult cuGraphExecHostNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_HOST_NODE_PARAMS*);
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec, CUgraphNode, CUgraph);
CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec, CUgraphNode,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS*);
CUresult cuGraphExecNodeSetParams(CUgraphExec, CUgraphNode, CUgraphNodeParams*);
CUresult cuUserObjectCreate(CUuserObject*, void*, CUhostFn, unsigned int, unsigned int);
CUresult cuGraphRetainUserObject(CUgraph, CUuserObject, unsigned int, unsigned int);
}

namespace {

constexpr char kStore[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 p0, .param .u32 p1) {
  .reg .b64 %a;
  .reg .b32 %v;
  ld.param.u64 %a, [p0];
  ld.param.u32 %v, [p1];
  st.global.u32 [%a], %v;
  ret;
}
)";

// Words of the memory: what each node writes, and what others look at.
enum Word { kOfKernel, kOfCopy, kOfChild, kOfBatch, kWritten, kFirst = kWritten, kSecond };

void Expect(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }
void Count(void* counter) { ++*static_cast<int*>(counter); }

// What the steps hand on to each other. It begins with graphs whose nodes other tests add.
struct World {
  World() {
    Expect(cuDevicePrimaryCtxRetain(&context, 0));
    Expect(cuCtxPushCurrent_v2(context));
    Expect(cuMemAlloc_v2(&memory, 4096));
    Expect(cuStreamCreate(&stream, 1));
    CUmodule module = nullptr;
    Expect(cuModuleLoadData(&module, kStore));
    Expect(cuModuleGetFunction(&function, module, "store"));
    for (CUgraph* const made : {&graph, &child, &other_child}) Expect(cuGraphCreate(made, 0));
    const uint32_t values[] = {11, 12};
    Expect(cuMemcpyHtoD_v2(At(kFirst), values, sizeof(values)));
    AddNodes();
  }
  void AddNodes();
  CUdeviceptr At(int word) const { return memory + sizeof(uint32_t) * word; }

  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  CUfunction function = nullptr;
  CUgraph graph = nullptr, child = nullptr, other_child = nullptr;
  CUgraphNode kernel = nullptr, copy = nullptr, inner = nullptr, words = nullptr, call = nullptr;
  CUgraphExec exec = nullptr, of_params = nullptr;
  int calls[2] = {};
  int destroyed = 0;  // user objects
};
using Steps = std::vector<Step<World>>;

// --- What the nodes do ---------------------------------------------------------------------------

// Calls call(params) for a kernel that stores `value`.
template <typename Call>
CUresult WithKernel(const World& w, uint32_t value, const Call& call) {
  CUdeviceptr to = w.At(kOfKernel);
  void* arguments[] = {&to, &value};
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = w.function;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = arguments;
  return call(kernel);
}
CUDA_MEMCPY3D Copy(const World& w, Word from) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = static_cast<CUmemorytype>(2);
  copy.srcDevice = w.At(from);
  copy.dstDevice = w.At(kOfCopy);
  copy.WidthInBytes = sizeof(uint32_t);
  copy.Height = copy.Depth = 1;
  return copy;
}
CUresult AddFill(const World& w, CUgraph graph, unsigned int value) {
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = w.At(kOfChild);
  fill.value = value;
  fill.elementSize = 4;
  fill.width = fill.height = 1;
  CUgraphNode node = nullptr;
  return cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, w.context);
}
template <typename Call>
CUresult WithWords(const World& w, uint32_t value, const Call& call) {
  CUstreamBatchMemOpParams operation = {};
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = w.At(kOfBatch);
  operation.writeValue.value = value;
  const CUDA_BATCH_MEM_OP_NODE_PARAMS params = {w.context, 1, &operation, 0};
  return call(params);
}
void World::AddNodes() {
  const CUDA_MEMCPY3D of_copy = Copy(*this, kFirst);
  const CUDA_HOST_NODE_PARAMS of_call = {Count, &calls[0]};
  Expect(WithKernel(*this, 1, [&](const CUDA_KERNEL_NODE_PARAMS& params) {
    return cuGraphAddKernelNode_v2(&kernel, graph, nullptr, 0, &params);
  }));
  Expect(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &of_copy, context));
  Expect(AddFill(*this, child, 1));
  Expect(AddFill(*this, other_child, 2));
  Expect(cuGraphAddChildGraphNode(&inner, graph, &copy, 1, child));
  Expect(WithWords(*this, 1, [&](const CUDA_BATCH_MEM_OP_NODE_PARAMS& params) {
    return cuGraphAddBatchMemOpNode(&words, graph, &inner, 1, &params);
  }));
  Expect(cuGraphAddHostNode(&call, graph, &words, 1, &of_call));
  CUuserObject object = nullptr;
  Expect(cuUserObjectCreate(&object, &destroyed, Count, 1, 1));
  Expect(cuGraphRetainUserObject(other_child, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
}

// --- Steps ---------------------------------------------------------------------------------------

CUresult InstantiateWithParams(World& w) {
  CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
  params.flags =
      CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
  params.hUploadStream = w.stream;
  return cuGraphInstantiateWithParams(&w.of_params, w.graph, &params);
}
CUresult ChangeKernel(World& w) {
  return WithKernel(w, 2, [&](const CUDA_KERNEL_NODE_PARAMS& params) {
    return cuGraphExecKernelNodeSetParams_v2(w.exec, w.kernel, &params);
  });
}
CUresult ChangeKernelAsANode(World& w) {
  return WithKernel(w, 3, [&](const CUDA_KERNEL_NODE_PARAMS& kernel) {
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel = kernel;
    return cuGraphExecNodeSetParams(w.exec, w.kernel, &params);
  });
}
CUresult ChangeCopy(World& w) {
  const CUDA_MEMCPY3D copy = Copy(w, kSecond);
  return cuGraphExecMemcpyNodeSetParams(w.exec, w.copy, &copy, w.context);
}
CUresult ChangeWords(World& w) {
  return WithWords(w, 2, [&](const CUDA_BATCH_MEM_OP_NODE_PARAMS& params) {
    return cuGraphExecBatchMemOpNodeSetParams(w.exec, w.words, &params);
  });
}
CUresult ChangeCall(World& w) {
  const CUDA_HOST_NODE_PARAMS call = {Count, &w.calls[1]};
  return cuGraphExecHostNodeSetParams(w.exec, w.call, &call);
}
CUresult AskWhetherEnabled(World& w) {
  unsigned int enabled = 0;
  return cuGraphNodeGetEnabled(w.exec, w.kernel, &enabled);
}
Steps Script() {
  return {
      {"instantiate",
       [](World& w) { return cuGraphInstantiate_v2(&w.exec, w.graph, nullptr, nullptr, 0); }},
      {"instantiate with parameters", InstantiateWithParams},
      {"change the kernel", ChangeKernel},
      {"change it as a node", ChangeKernelAsANode},
      {"ask whether it is enabled", AskWhetherEnabled},
      {"change the copy", ChangeCopy},
      {"change the words", ChangeWords},
      {"change the call", ChangeCall},
      {"change the child",
       [](World& w) { return cuGraphExecChildGraphNodeSetParams(w.exec, w.inner, w.other_child); }},
      {"destroy the other child", [](World& w) { return cuGraphDestroy(w.other_child); }},
      {"destroy", [](World& w) { return cuGraphExecDestroy(w.exec); }},
      // As nobody has its object any more.
      {"look for the object", [](World& w) { return w.destroyed - 1; }},
  };
}

// --- All that a program can see ------------------------------------------------------------------

// What a launch writes, and whom it calls.
void AppendWritten(World& w, CUgraphExec exec, std::ostream& out) {
  uint32_t words[kWritten] = {};
  Expect(cuMemcpyHtoD_v2(w.memory, words, sizeof(words)));
  for (int& calls : w.calls) calls = 0;
  out << cuGraphLaunch(exec, w.stream) << " launched, ";
  out << cuStreamSynchronize(w.stream) << " wrote";
  Expect(cuMemcpyDtoH_v2(words, w.memory, sizeof(words)));
  for (const uint32_t word : words) out << " " << word;
  out << " called " << w.calls[0] << " " << w.calls[1] << "\n";
}

std::string VisibleState(World& w) {
  std::ostringstream out;
  unsigned int flags = 0;
  out << cuCtxGetFlags(&flags) << " context " << flags << "\n";
  for (const CUgraphExec exec : {w.exec, w.of_params}) {
    uint64_t of_exec = 0;
    out << cuGraphExecGetFlags(exec, &of_exec) << " flags " << of_exec << "\n";
    unsigned int enabled = 0;
    out << cuGraphNodeGetEnabled(exec, w.kernel, &enabled) << " enabled " << enabled << "\n";
    AppendWritten(w, exec, out);
  }
  size_t nodes = 0;
  out << cuGraphGetNodes(w.other_child, nullptr, &nodes) << " other child " << nodes << "\n";
  out << w.destroyed << " destroyed\n";
  out << FreeOn(1);
  return out.str();
}

class GraphExecMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(GraphExecMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/260);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, GraphExecMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda
