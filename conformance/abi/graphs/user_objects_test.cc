// User objects, which graphs keep. Measured on an H100 with driver 580.159, where the function of
// an object was called when the last executable graph was destroyed, and no launch of it ran.

#include <atomic>
#include <chrono>
#include <thread>

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

using UserObjectsTest = GraphTest;
using UserObject = struct CUuserObject_st*;

const Function<CUresult(UserObject*, void*, CUhostFn, unsigned int, unsigned int)> create(
    "cuUserObjectCreate");
const Function<CUresult(UserObject, unsigned int)> retain("cuUserObjectRetain");
const Function<CUresult(UserObject, unsigned int)> release("cuUserObjectRelease");
const Function<CUresult(CUgraph, UserObject, unsigned int, unsigned int)> retain_in_graph(
    "cuGraphRetainUserObject");
const Function<CUresult(CUgraph, UserObject, unsigned int)> release_in_graph(
    "cuGraphReleaseUserObject");

constexpr unsigned int kNoSync = 1;
constexpr unsigned int kMove = 1;

std::atomic<int> destroyed{0};
void Destroy(void*) { ++destroyed; }

TEST_F(UserObjectsTest, AnObjectHasAFunctionAndReferencesAndOneFlag) {
  UserObject object = nullptr;
  EXPECT_EQ(create(&object, nullptr, Destroy, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(&object, nullptr, Destroy, 1, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(&object, nullptr, Destroy, 0, kNoSync), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(&object, nullptr, nullptr, 1, kNoSync), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(nullptr, nullptr, Destroy, 1, kNoSync), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(UserObjectsTest, CountsMayNotBeZero) {
  UserObject object = nullptr;
  EXPECT_EQ(create(&object, nullptr, Destroy, 1, kNoSync), CUDA_SUCCESS);
  EXPECT_EQ(retain(object, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(release(object, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(retain_in_graph(graph_, object, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(release_in_graph(graph_, object, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(retain_in_graph(graph_, object, 1, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(retain(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(release(object, 1), CUDA_SUCCESS);
}

TEST_F(UserObjectsTest, GraphsAndExecutableGraphsKeepAnObject) {
  destroyed = 0;
  UserObject object = nullptr;
  EXPECT_EQ(create(&object, nullptr, Destroy, 1, kNoSync), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(retain_in_graph(graph, object, 1, kMove), CUDA_SUCCESS);
  // Four less than none, of the graph and then of the executable graph, which give them up again.
  EXPECT_EQ(release_in_graph(graph, object, 5), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 1);
}

// The driver calls its function from a thread of its own, some time after the launch is over.
TEST_F(UserObjectsTest, ALaunchThatRunsKeepsAnObject) {
  destroyed = 0;
  UserObject object = nullptr;
  EXPECT_EQ(create(&object, nullptr, Destroy, 1, kNoSync), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(retain_in_graph(graph, object, 1, kMove), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, nullptr, 0), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const Buffer word(4);
  EXPECT_EQ(cuMemsetD32(word.address(), 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(stream, word.address(), 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(destroyed, 0);
  CUstream other = nullptr;
  EXPECT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(word.address(), 1, 1, other), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  for (int i = 0; i < 5000 && destroyed == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
}

TEST_F(UserObjectsTest, AnObjectThatAGraphGaveUpIsNobodys) {
  destroyed = 0;
  UserObject object = nullptr;
  EXPECT_EQ(create(&object, nullptr, Destroy, 1, kNoSync), CUDA_SUCCESS);
  EXPECT_EQ(retain_in_graph(graph_, object, 1, kMove), CUDA_SUCCESS);
  EXPECT_EQ(release_in_graph(graph_, object, 1), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 1);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(UserObjectsTest, AnUpdatedExecutableGraphKeepsTheObjectsOfItsNewGraph) {
  destroyed = 0;
  AddEmpty();
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_SUCCESS);
  CUgraph other = nullptr;
  EXPECT_EQ(cuGraphCreate(&other, 0), CUDA_SUCCESS);
  AddEmpty(other);
  UserObject object = nullptr;
  EXPECT_EQ(create(&object, nullptr, Destroy, 1, kNoSync), CUDA_SUCCESS);
  EXPECT_EQ(retain_in_graph(other, object, 1, kMove), CUDA_SUCCESS);
  EXPECT_EQ(update(executable, other, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(other), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(UserObjectsTest, AChildGraphKeepsTheObjectsOfItsOriginal) {
  destroyed = 0;
  CUgraph child = nullptr;
  EXPECT_EQ(cuGraphCreate(&child, 0), CUDA_SUCCESS);
  UserObject object = nullptr;
  EXPECT_EQ(create(&object, nullptr, Destroy, 1, kNoSync), CUDA_SUCCESS);
  EXPECT_EQ(retain_in_graph(child, object, 1, kMove), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, child), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(child), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(cuGraphDestroyNode(node), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(UserObjectsTest, AChildGraphThatIsRefusedKeepsNothing) {
  destroyed = 0;
  UserObject object = nullptr;
  EXPECT_EQ(create(&object, nullptr, Destroy, 1, kNoSync), CUDA_SUCCESS);
  CUgraph child = nullptr;
  EXPECT_EQ(cuGraphCreate(&child, 0), CUDA_SUCCESS);
  EXPECT_EQ(retain_in_graph(child, object, 1, kMove), CUDA_SUCCESS);
  CUgraphNode of_child = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&of_child, child, nullptr, 0), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph_, &of_child, 1, child), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(child), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(UserObjectsTest, MoreReferencesThanThereAreAreNotGivenUp) {
  destroyed = 0;
  UserObject object = nullptr;
  EXPECT_EQ(create(&object, nullptr, Destroy, 1, kNoSync), CUDA_SUCCESS);
  EXPECT_EQ(release(object, 3), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0);
}

// Source: an H200 with driver 580.159.
TEST_F(UserObjectsTest, AGraphGivesUpWhatItDoesNotHold) {
  destroyed = 0;
  UserObject object = nullptr;
  EXPECT_EQ(create(&object, nullptr, Destroy, 3, kNoSync), CUDA_SUCCESS);
  EXPECT_EQ(release_in_graph(graph_, object, 2), CUDA_SUCCESS);
  EXPECT_EQ(release_in_graph(graph_, object, 3), CUDA_SUCCESS);
  EXPECT_EQ(release(object, 1), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0) << "less than no reference";
}

}  // namespace
}  // namespace twinmmu::abi
