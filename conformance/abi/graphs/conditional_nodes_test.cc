// Nodes that decide whether, how often, or which of their graphs runs. Source: an H100 with driver
// 580.159.

#include <cstdint>
#include <utility>
#include <vector>

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

// Types of functions that our cuda.h does not have.
using ConditionalHandle = uint64_t;
enum ConditionalType { kIf, kWhile, kSwitch };
struct NodeParams {
  int type = 13;
  int reserved0[3] = {};
  ConditionalHandle handle = 0;
  int kind = kIf;
  unsigned int size = 1;
  CUgraph* bodies = nullptr;
  CUcontext context = nullptr;
  long long rest[26] = {};
};
static_assert(sizeof(NodeParams) == 256);
struct InstantiateParams {
  uint64_t flags = 0;
  CUstream upload = nullptr;
  CUgraphNode error_node = nullptr;
  int result = -1;
};

constexpr Function<CUresult(ConditionalHandle*, CUgraph, CUcontext, unsigned int, unsigned int)>
    make_handle("cuGraphConditionalHandleCreate");
constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, const void*, size_t,
                            NodeParams*)>
    add_node("cuGraphAddNode_v2");
constexpr Function<CUresult(CUgraphExec*, CUgraph, InstantiateParams*)> instantiate(
    "cuGraphInstantiateWithParams");

// set(handle, value); step(handle, word, most): adds 1 to the word, and goes on below `most`.
constexpr char kKernels[] = R"(
.version 8.3 .target sm_70 .address_size 64
.extern .func cudaGraphSetConditional (.param .b64 handle, .param .b32 value);
.visible .entry set(.param .u64 handle, .param .u32 value) {
  .reg .b64 %h; .reg .b32 %v;
  ld.param.u64 %h, [handle];
  ld.param.u32 %v, [value];
  { .param .b64 p0; st.param.b64 [p0], %h; .param .b32 p1; st.param.b32 [p1], %v;
    call.uni cudaGraphSetConditional, (p0, p1); }
  ret;
}
.visible .entry step(.param .u64 handle, .param .u64 word, .param .u32 most) {
  .reg .b64 %h, %p; .reg .b32 %v, %n; .reg .pred %q;
  ld.param.u64 %h, [handle];
  ld.param.u64 %p, [word];
  ld.param.u32 %n, [most];
  ld.global.u32 %v, [%p];
  add.u32 %v, %v, 1;
  st.global.u32 [%p], %v;
  setp.lt.u32 %q, %v, %n;
  selp.u32 %v, 1, 0, %q;
  { .param .b64 p0; st.param.b64 [p0], %h; .param .b32 p1; st.param.b32 [p1], %v;
    call.uni cudaGraphSetConditional, (p0, p1); }
  ret;
})";

class ConditionalNodesTest : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    if (DriverVersion() < 13000) GTEST_SKIP() << "the driver is older than these nodes";
    ASSERT_EQ(cuModuleLoadData(&kernels_, kKernels), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&set_condition_, kernels_, "set"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&step_, kernels_, "step"), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (kernels_ != nullptr) {
      EXPECT_EQ(cuModuleUnload(kernels_), CUDA_SUCCESS);
    }
    GraphTest::TearDown();
  }

  ConditionalHandle Handle(unsigned int value = 0, unsigned int flags = 0) {
    ConditionalHandle handle = 0;
    EXPECT_EQ(make_handle(&handle, graph_, context_, value, flags), CUDA_SUCCESS);
    return handle;
  }
  CUresult TryAdd(CUgraph graph, ConditionalHandle handle, int type, unsigned int size,
                  NodeParams* params, CUgraphNode* node, const Nodes& after = {}) {
    params->handle = handle;
    params->kind = type;
    params->size = size;
    params->context = context_;
    return add_node(node, graph, after.data(), nullptr, after.size(), params);
  }
  CUresult TryAdd(CUgraph graph, ConditionalHandle handle, int type, unsigned int size) {
    NodeParams params;
    CUgraphNode node = nullptr;
    return TryAdd(graph, handle, type, size, &params, &node);
  }
  // Its graphs.
  std::vector<CUgraph> Add(ConditionalHandle handle, int type, unsigned int size,
                           const Nodes& after = {}) {
    NodeParams params;
    EXPECT_EQ(TryAdd(graph_, handle, type, size, &params, &node_, after), CUDA_SUCCESS);
    return {params.bodies, params.bodies + size};
  }
  CUgraphNode AddLaunch(CUgraph graph, CUfunction function, std::vector<void*> arguments) {
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments.data();
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, &params), CUDA_SUCCESS);
    return node;
  }
  CUgraphNode AddSet(CUgraph graph, ConditionalHandle handle, unsigned int value) {
    return AddLaunch(graph, set_condition_, {&handle, &value});
  }
  CUgraphNode AddStep(CUgraph graph, ConditionalHandle handle, unsigned int most) {
    return AddLaunch(graph, step_, {&handle, &memory_, &most});
  }

  CUmodule kernels_ = nullptr;
  CUfunction set_condition_ = nullptr;
  CUfunction step_ = nullptr;
  CUgraphNode node_ = nullptr;
};

TEST_F(ConditionalNodesTest, IfRunsOneOfTwo) {
  for (const unsigned int value : {0u, 1u, 2u}) {
    graph_ = MakeGraph();
    const ConditionalHandle handle = Handle();
    const CUgraphNode decision = AddSet(graph_, handle, value);
    const std::vector<CUgraph> bodies = Add(handle, kIf, 2, {decision});
    AddKernel(bodies[0], set_, 10);
    AddKernel(bodies[1], set_, 20);
    Run(Instantiate());
    EXPECT_EQ(Number(), value != 0 ? 10u : 20u) << value;
  }
}

TEST_F(ConditionalNodesTest, SwitchRunsTheOneOfTheNumber) {
  for (const unsigned int value : {0u, 1u, 2u}) {
    graph_ = MakeGraph();
    const ConditionalHandle handle = Handle();
    const CUgraphNode decision = AddSet(graph_, handle, value);
    const std::vector<CUgraph> bodies = Add(handle, kSwitch, 2, {decision});
    EXPECT_EQ(cuMemsetD32(memory_, 5, 1), CUDA_SUCCESS);
    AddKernel(bodies[0], set_, 10);
    AddKernel(bodies[1], set_, 20);
    Run(Instantiate());
    EXPECT_EQ(Number(), value == 0 ? 10u : value == 1 ? 20u : 5u);
  }
}

TEST_F(ConditionalNodesTest, WhileRunsUntilItsKernelSaysSo) {
  const ConditionalHandle handle = Handle(1, 1);
  AddStep(Add(handle, kWhile, 1)[0], handle, 10);
  EXPECT_EQ(cuMemsetD32(memory_, 0, 1), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  Run(executable);
  EXPECT_EQ(Number(), 10u);
  Run(executable);
  EXPECT_EQ(Number(), 11u) << "the default value lets it run once more";
}

TEST_F(ConditionalNodesTest, NodesBehindItWait) {
  const ConditionalHandle handle = Handle(1, 1);
  AddStep(Add(handle, kWhile, 1)[0], handle, 10);
  AddKernel(add_, 100, {node_});
  EXPECT_EQ(cuMemsetD32(memory_, 0, 1), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(Number(), 110u);
}

TEST_F(ConditionalNodesTest, WithoutADefaultTheValueStays) {
  const ConditionalHandle handle = Handle(7, 0);
  const std::vector<CUgraph> bodies = Add(handle, kIf, 2);
  AddKernel(bodies[0], set_, 10);
  AddKernel(bodies[1], set_, 20);
  const CUgraphNode decision = AddSet(graph_, handle, 1);
  EXPECT_EQ(add_dependencies(graph_, &node_, &decision, nullptr, 1), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  Run(executable);
  EXPECT_EQ(Number(), 20u) << "it is 0 at first";
  Run(executable);
  EXPECT_EQ(Number(), 10u);
}

TEST_F(ConditionalNodesTest, AreNested) {
  const ConditionalHandle outer = Handle(1, 1);
  const ConditionalHandle inner = Handle(1, 1);
  const CUgraph body = Add(outer, kIf, 1)[0];
  NodeParams params;
  CUgraphNode node = nullptr;
  ASSERT_EQ(TryAdd(body, inner, kWhile, 1, &params, &node), CUDA_SUCCESS);
  AddStep(params.bodies[0], inner, 4);
  EXPECT_EQ(cuMemsetD32(memory_, 0, 1), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(Number(), 4u);
}

TEST_F(ConditionalNodesTest, HandlesAreOfAGraphAndAContext) {
  ConditionalHandle handle = 0;
  EXPECT_EQ(make_handle(nullptr, graph_, context_, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(make_handle(&handle, nullptr, context_, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(make_handle(&handle, graph_, nullptr, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
  for (const unsigned int flags : {2u, 3u, 4u}) {
    EXPECT_EQ(make_handle(&handle, graph_, context_, 0, flags), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(handle, 0u);
}

TEST_F(ConditionalNodesTest, TypesHaveTheirNumbersOfGraphs) {
  const ConditionalHandle handle = Handle();
  for (const auto& [type, size] : std::vector<std::pair<int, unsigned int>>{
           {kIf, 0}, {kIf, 3}, {kWhile, 0}, {kWhile, 2}, {kSwitch, 0}, {3, 1}, {-1, 1}}) {
    EXPECT_EQ(TryAdd(graph_, handle, type, size), CUDA_ERROR_INVALID_VALUE) << type << ' ' << size;
  }
}

TEST_F(ConditionalNodesTest, OneNodeDecidesByAHandle) {
  const ConditionalHandle handle = Handle();
  EXPECT_EQ(TryAdd(graph_, 0, kIf, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(TryAdd(graph_, handle + 12345, kIf, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(TryAdd(MakeGraph(), handle, kIf, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(TryAdd(graph_, handle, kIf, 1), CUDA_SUCCESS);
  EXPECT_EQ(TryAdd(graph_, handle, kIf, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ConditionalNodesTest, AContextMustBeNamed) {
  NodeParams params;
  params.handle = Handle();
  CUgraphNode node = nullptr;
  EXPECT_EQ(add_node(&node, graph_, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ConditionalNodesTest, StayWhatTheyAre) {
  const ConditionalHandle handle = Handle();
  const CUgraph body = Add(handle, kIf, 1)[0];
  EXPECT_EQ(TypesOf(graph_), std::vector<CUgraphNodeType>{static_cast<CUgraphNodeType>(13)});
  CUgraph other = nullptr;
  EXPECT_EQ(cuGraphClone(&other, graph_), CUDA_ERROR_NOT_SUPPORTED);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, MakeGraph(), nullptr, 0, graph_),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphDestroy(body), CUDA_ERROR_INVALID_VALUE);
  unsigned int enabled = 0;
  const CUgraphExec executable = Instantiate();
  EXPECT_EQ(cuGraphNodeGetEnabled(executable, node_, &enabled), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeSetEnabled(executable, node_, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ConditionalNodesTest, OneExecutableAtATime) {
  Add(Handle(), kIf, 1);
  CUgraphExec first = nullptr;
  CUgraphExec second = nullptr;
  InstantiateParams params;
  ASSERT_EQ(instantiate(&first, graph_, &params), CUDA_SUCCESS);
  EXPECT_EQ(instantiate(&second, graph_, &params), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(params.result, 1);
  EXPECT_EQ(cuGraphExecDestroy(first), CUDA_SUCCESS);
  EXPECT_EQ(instantiate(&second, graph_, &params), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(second), CUDA_SUCCESS);
}

TEST_F(ConditionalNodesTest, UnusedHandlesForbidExecutables) {
  Add(Handle(), kIf, 1);
  EXPECT_EQ(cuGraphDestroyNode(node_), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  InstantiateParams params;
  EXPECT_EQ(instantiate(&executable, graph_, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result, 5);
  EXPECT_EQ(params.error_node, nullptr);
}

TEST_F(ConditionalNodesTest, GraphsInsideHaveNoHostFunctions) {
  const CUgraph body = Add(Handle(), kIf, 1)[0];
  AddHost(body);
  CUgraphExec executable = nullptr;
  InstantiateParams params;
  EXPECT_EQ(instantiate(&executable, graph_, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result, 3);
  EXPECT_NE(params.error_node, nullptr);
}

// It is added all the same. Source: an H200 with driver 580.159.
TEST_F(ConditionalNodesTest, GraphsInsideHaveNoMemory) {
  const Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, AllocParams*)>
      add_alloc("cuGraphAddMemAllocNode");
  const CUgraph body = Add(Handle(), kIf, 1)[0];
  AllocParams params;
  CUgraphNode node = nullptr;
  EXPECT_EQ(add_alloc(&node, body, nullptr, 0, &params), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  InstantiateParams refused;
  EXPECT_EQ(instantiate(&executable, graph_, &refused), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused.result, 3);
  EXPECT_EQ(refused.error_node, node);
}

TEST_F(ConditionalNodesTest, UpdatesTakeTheDefaultOfTheOtherGraph) {
  AddKernel(Add(Handle(1, 1), kIf, 1)[0], add_, 1);
  EXPECT_EQ(cuMemsetD32(memory_, 0, 1), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  Run(executable);
  EXPECT_EQ(Number(), 1u);
  graph_ = MakeGraph();
  AddKernel(Add(Handle(0, 1), kIf, 1)[0], add_, 10);
  UpdateInfo info = {};
  EXPECT_EQ(update(executable, graph_, &info), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 1u);
}

TEST_F(ConditionalNodesTest, ExecutablesOutliveTheirGraphs) {
  const CUgraph kept = graph_;
  ASSERT_EQ(cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
  AddKernel(Add(Handle(1, 1), kIf, 1)[0], add_, 1);
  EXPECT_EQ(cuMemsetD32(memory_, 0, 1), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  EXPECT_EQ(cuGraphDestroy(graph_), CUDA_SUCCESS);
  graph_ = kept;
  Run(executable);
  Run(executable);
  EXPECT_EQ(Number(), 2u);
}

class ConditionalFaultsTest : public NewProcessTest {};

TEST_F(ConditionalFaultsTest, OnlyKernelsOfGraphsDecide) {
  if (RanInNewProcess()) return;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUgraph graph = nullptr;
  uint64_t handle = 0;
  unsigned int value = 1;
  ASSERT_EQ(cuModuleLoadData(&module, kKernels), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "set"), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(make_handle(&handle, graph, context, 0, 0), CUDA_SUCCESS);
  void* arguments[] = {&handle, &value};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Source: an H200 with driver 580.159.
TEST_F(ConditionalNodesTest, AGraphWithAHandleIsNotCopied) {
  AddEmpty();
  Handle();
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_ERROR_NOT_SUPPORTED);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, MakeGraph(), nullptr, 0, graph_),
            CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(ConditionalNodesTest, NorIsAGraphInsideOne) {
  CUgraphNode node = nullptr;
  CUgraph inside = nullptr;
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, MakeGraph()), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphChildGraphNodeGetGraph(node, &inside), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphClone(&clone, inside), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
  Add(Handle(), kIf, 1);
  EXPECT_EQ(cuGraphClone(&clone, inside), CUDA_ERROR_NOT_SUPPORTED);
}

// Even if they were made before there was a handle. Source: an H200 with driver 580.159.
TEST_F(ConditionalNodesTest, AnExecutableGraphIsNotMadeBesideOtherCopies) {
  AddEmpty();
  CUgraphExec first = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&first, graph_, 0), CUDA_SUCCESS);
  Add(Handle(), kIf, 1);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphExecDestroy(first), CUDA_SUCCESS);
  Instantiate();

  graph_ = MakeGraph();
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, MakeGraph(), nullptr, 0, graph_), CUDA_SUCCESS);
  Add(Handle(), kIf, 1);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_ERROR_NOT_SUPPORTED);

  graph_ = MakeGraph();
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_SUCCESS);
  Add(Handle(), kIf, 1);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
  Instantiate();
}

}  // namespace
}  // namespace twinmmu::abi
