// Clusters of kernel nodes: which ones a node takes, and that its kernel is launched in them.
// Source: an H200 with driver 580.159.

#include <algorithm>
#include <array>

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

using Cluster = std::array<unsigned int, 3>;

constexpr int kClusterDimension = 4;
constexpr Cluster kNone = {0, 0, 0};
constexpr auto kInvalidClusterSize = static_cast<CUresult>(912);  // CUDA_ERROR_INVALID_CLUSTER_SIZE

const Function<CUresult(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*)>
    set_kernel_of_executable("cuGraphExecKernelNodeSetParams_v2");

// Both kernels store how many blocks the cluster has, in the first dimension.
constexpr char kKernels[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry any(.param .u64 to, .param .u32 value) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %cluster_nctaid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry pairs(.param .u64 to, .param .u32 value) .reqnctapercluster 2, 1, 1 {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %cluster_nctaid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

class ClusterNodesTest : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    ASSERT_EQ(cuModuleLoadData(&clusters_, kKernels), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&any_, clusters_, "any"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&pairs_, clusters_, "pairs"), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (clusters_ != nullptr) {
      EXPECT_EQ(cuModuleUnload(clusters_), CUDA_SUCCESS);
    }
    GraphTest::TearDown();
  }

  CUDA_KERNEL_NODE_PARAMS GridOf(CUfunction function, unsigned int blocks) {
    CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(function, memory_, 0);
    kernel.gridDimX = blocks;
    return kernel;
  }
  CUgraphNode Add(CUfunction function, unsigned int blocks) {
    const CUDA_KERNEL_NODE_PARAMS kernel = GridOf(function, blocks);
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), CUDA_SUCCESS);
    return node;
  }
  static CUresult Set(CUgraphNode node, const Cluster& cluster) {
    NodeAttributeValue value = {};
    std::copy(cluster.begin(), cluster.end(), value.cluster);
    return set_node_attribute(node, kClusterDimension, &value);
  }
  static Cluster Get(CUgraphNode node) {
    NodeAttributeValue value = {};
    EXPECT_EQ(get_node_attribute(node, kClusterDimension, &value), CUDA_SUCCESS);
    return {value.cluster[0], value.cluster[1], value.cluster[2]};
  }

  CUmodule clusters_ = nullptr;
  CUfunction any_ = nullptr;
  CUfunction pairs_ = nullptr;  // requires clusters of two blocks
};

TEST_F(ClusterNodesTest, UpToEightBlocksThatDivideTheGridMakeACluster) {
  const CUgraphNode node = Add(any_, 48);
  EXPECT_EQ(Get(node), kNone);
  for (const Cluster& cluster : {Cluster{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {8, 1, 1}}) {
    EXPECT_EQ(Set(node, cluster), CUDA_SUCCESS) << cluster[0];
    EXPECT_EQ(Get(node), cluster);
  }
  for (const Cluster& cluster :
       {Cluster{5, 1, 1}, {9, 1, 1}, {12, 1, 1}, {16, 1, 1}, {2, 2, 1}, {1, 1, 2}, {~0u, 1, 1}}) {
    EXPECT_EQ(Set(node, cluster), kInvalidClusterSize) << cluster[0] << " " << cluster[1];
    EXPECT_EQ(Get(node), (Cluster{8, 1, 1}));
  }
}

TEST_F(ClusterNodesTest, DimensionsAreAllZeroOrNone) {
  const CUgraphNode node = Add(any_, 4);
  ASSERT_EQ(Set(node, {2, 1, 1}), CUDA_SUCCESS);
  for (const Cluster& cluster : {Cluster{0, 1, 1}, {2, 0, 0}, {2, 0, 1}, {0, 1, 0}, {0, 0, 1}}) {
    EXPECT_EQ(Set(node, cluster), kInvalidClusterSize) << cluster[0] << " " << cluster[1];
  }
  EXPECT_EQ(Set(node, kNone), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(Number(), 1u);
}

TEST_F(ClusterNodesTest, AKernelThatRequiresAClusterTakesNoOther) {
  const CUgraphNode node = Add(pairs_, 4);
  for (const Cluster& cluster : {Cluster{1, 1, 1}, {4, 1, 1}, {2, 2, 1}}) {
    EXPECT_EQ(Set(node, cluster), kInvalidClusterSize) << cluster[0] << " " << cluster[1];
    EXPECT_EQ(Get(node), kNone);
  }
  for (const Cluster& cluster : {Cluster{2, 1, 1}, kNone}) {
    EXPECT_EQ(Set(node, cluster), CUDA_SUCCESS);
    Run(Instantiate());
    EXPECT_EQ(Number(), 2u);
  }
}

TEST_F(ClusterNodesTest, TheGridStaysOneOfWholeClusters) {
  const CUgraphNode node = Add(any_, 4);
  ASSERT_EQ(Set(node, {2, 1, 1}), CUDA_SUCCESS);
  const CUDA_KERNEL_NODE_PARAMS odd = GridOf(any_, 3);
  const CUDA_KERNEL_NODE_PARAMS even = GridOf(any_, 6);
  EXPECT_EQ(cuGraphKernelNodeSetParams(node, &odd), kInvalidClusterSize);
  CUDA_KERNEL_NODE_PARAMS told = {};
  EXPECT_EQ(cuGraphKernelNodeGetParams(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told.gridDimX, 4u);
  EXPECT_EQ(cuGraphKernelNodeSetParams(node, &even), CUDA_SUCCESS);
  EXPECT_EQ(Get(node), (Cluster{2, 1, 1}));
  EXPECT_EQ(Set(node, {4, 1, 1}), kInvalidClusterSize);
}

// Whatever the node of the graph was given since.
TEST_F(ClusterNodesTest, TheGridOfAnExecutableNodeIsOfItsOwnClusters) {
  const CUgraphNode node = Add(any_, 4);
  ASSERT_EQ(Set(node, {2, 1, 1}), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  ASSERT_EQ(Set(node, {4, 1, 1}), CUDA_SUCCESS);
  const CUDA_KERNEL_NODE_PARAMS odd = GridOf(any_, 3);
  const CUDA_KERNEL_NODE_PARAMS six = GridOf(any_, 6);
  EXPECT_EQ(set_kernel_of_executable(executable, node, &odd), kInvalidClusterSize);
  EXPECT_EQ(set_kernel_of_executable(executable, node, &six), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 2u);
}

TEST_F(ClusterNodesTest, AttributesAreCopiedToGridsOfWholeClusters) {
  const CUgraphNode from = Add(any_, 4);
  const CUgraphNode even = Add(any_, 6);
  const CUgraphNode odd = Add(any_, 3);
  ASSERT_EQ(Set(from, {2, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(copy_node_attributes(even, from), CUDA_SUCCESS);
  EXPECT_EQ(Get(even), (Cluster{2, 1, 1}));
  EXPECT_EQ(copy_node_attributes(odd, from), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Get(odd), kNone);
}

TEST_F(ClusterNodesTest, ANodeHasTheClusterOfTheLaunchThatWasCaptured) {
  // CUlaunchConfig, and the attribute.
  struct {
    int id;
    int pad;
    NodeAttributeValue value;
  } attribute = {kClusterDimension, 0, {}};
  struct {
    unsigned int grid[3];
    unsigned int block[3];
    unsigned int shared_bytes;
    CUstream stream;
    const void* attributes;
    unsigned int attribute_count;
  } const launch = {{4, 1, 1}, {1, 1, 1}, 0, stream_, &attribute, 1};
  attribute.value.cluster[0] = 2;
  attribute.value.cluster[1] = attribute.value.cluster[2] = 1;
  ASSERT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ((Function<CUresult(const void*, CUfunction, void**, void**)>("cuLaunchKernelEx")(
                &launch, any_, GridOf(any_, 4).kernelParams, nullptr)),
            CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  const CUgraphNode node = NodesOf(graph)[0];
  EXPECT_EQ(Get(node), (Cluster{2, 1, 1}));
  const CUDA_KERNEL_NODE_PARAMS odd = GridOf(any_, 3);
  EXPECT_EQ(cuGraphKernelNodeSetParams(node, &odd), kInvalidClusterSize);
  Run(Instantiate(graph));
  EXPECT_EQ(Number(), 2u);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
