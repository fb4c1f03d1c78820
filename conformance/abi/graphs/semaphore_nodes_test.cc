// Nodes of external semaphores, of which none can be had without an API for graphics.
// Source: an H100 with driver 580.159.

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

// Both kinds of nodes.
struct SemaphoreParams {
  void** semaphores = nullptr;
  const void* params = nullptr;
  unsigned int count = 0;
};
using Add =
    Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const SemaphoreParams*)>;
using Get = Function<CUresult(CUgraphNode, SemaphoreParams*)>;
using Set = Function<CUresult(CUgraphNode, const SemaphoreParams*)>;
using SetInExec = Function<CUresult(CUgraphExec, CUgraphNode, const SemaphoreParams*)>;

struct Kind {
  int type;
  Add add;
  Get get;
  Set set;
  SetInExec set_in_exec;
};
constexpr Kind kKinds[] = {{8, Add("cuGraphAddExternalSemaphoresSignalNode"),
                            Get("cuGraphExternalSemaphoresSignalNodeGetParams"),
                            Set("cuGraphExternalSemaphoresSignalNodeSetParams"),
                            SetInExec("cuGraphExecExternalSemaphoresSignalNodeSetParams")},
                           {9, Add("cuGraphAddExternalSemaphoresWaitNode"),
                            Get("cuGraphExternalSemaphoresWaitNodeGetParams"),
                            Set("cuGraphExternalSemaphoresWaitNodeSetParams"),
                            SetInExec("cuGraphExecExternalSemaphoresWaitNodeSetParams")}};

using SemaphoreNodesTest = GraphTest;

TEST_F(SemaphoreNodesTest, NodesOfNoneDoNothing) {
  for (const Kind& kind : kKinds) {
    graph_ = MakeGraph();
    SemaphoreParams params;
    CUgraphNode node = nullptr;
    EXPECT_EQ(kind.add(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
    EXPECT_EQ(TypesOf(graph_),
              std::vector<CUgraphNodeType>{static_cast<CUgraphNodeType>(kind.type)});
    params.count = 7;
    EXPECT_EQ(kind.get(node, &params), CUDA_SUCCESS);
    EXPECT_EQ(params.count, 0u);
    Run(Instantiate());
  }
}

TEST_F(SemaphoreNodesTest, AnyNumberIsTakenForASemaphore) {
  for (const Kind& kind : kKinds) {
    void* none = nullptr;
    const unsigned long long words[18] = {};
    const SemaphoreParams params{&none, words, 1};
    CUgraphNode node = nullptr;
    EXPECT_EQ(kind.add(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  }
}

TEST_F(SemaphoreNodesTest, OtherNodesHaveNone) {
  const CUgraphNode empty = AddEmpty();
  const CUgraphExec executable = Instantiate();
  for (const Kind& kind : kKinds) {
    SemaphoreParams params;
    EXPECT_EQ(kind.get(empty, &params), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kind.set(empty, &params), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kind.set_in_exec(executable, empty, &params), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(SemaphoreNodesTest, NullPointersAreRefused) {
  const CUgraphNode empty = AddEmpty();
  const CUgraphExec executable = Instantiate();
  for (const Kind& kind : kKinds) {
    SemaphoreParams params;
    CUgraphNode node = nullptr;
    EXPECT_EQ(kind.add(&node, graph_, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kind.add(nullptr, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kind.add(&node, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kind.get(nullptr, &params), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kind.get(empty, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kind.set(empty, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kind.set_in_exec(nullptr, empty, &params), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kind.set_in_exec(executable, nullptr, &params), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kind.set_in_exec(executable, empty, nullptr), CUDA_ERROR_INVALID_VALUE);
    if (!TraitsOf().survives_bad_pointers) continue;
    params.count = 1;
    EXPECT_EQ(kind.add(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  }
}

}  // namespace
}  // namespace twinmmu::abi
