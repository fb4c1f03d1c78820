// Graphs as objects: their shape, their copies, what is made of them, and what they keep alive. As
// a program of the runtime of CUDA 13 uses them.

#include <unistd.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cudart_abi.h"
#include "third_party/cuda_abi/graph_abi.h"

// Those that differ from version to version.
extern "C" {
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, void* data,
                                           size_t* count);
}

namespace {

using twinmmu::cuda_abi::CU_GRAPH_COND_ASSIGN_DEFAULT;
using twinmmu::cuda_abi::CU_GRAPH_NODE_TYPE_EMPTY;
using twinmmu::cuda_abi::CU_GRAPH_USER_OBJECT_MOVE;
using twinmmu::cuda_abi::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC;
using twinmmu::cuda_abi::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
using twinmmu::cuda_abi::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
using twinmmu::cuda_abi::CUDA_GRAPH_INSTANTIATE_PARAMS;

// A graph: two empty nodes after another.
class RuntimeGraphObjects : public testing::Test {
 protected:
  RuntimeGraphObjects() {
    EXPECT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphAddEmptyNode(&first_, graph_, nullptr, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphAddEmptyNode(&second_, graph_, &first_, 1), cudaSuccess);
  }
  ~RuntimeGraphObjects() override {
    if (exec_ != nullptr) {
      EXPECT_EQ(cudaGraphExecDestroy(exec_), cudaSuccess);
    }
    if (graph_ != nullptr) {
      EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    }
    cudaGetLastError();
  }

  cudaGraph_t graph_ = nullptr;
  cudaGraphNode_t first_ = nullptr;
  cudaGraphNode_t second_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

TEST_F(RuntimeGraphObjects, BeginAtTheirRoots) {
  cudaGraphNode_t root = nullptr;
  size_t count = 1;
  EXPECT_EQ(cudaGraphGetRootNodes(graph_, &root, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(root, first_);
  EXPECT_EQ(cudaGraphGetRootNodes(graph_, nullptr, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeGraphObjects, KnowWhatFollowsANode) {
  cudaGraphNode_t next = nullptr;
  size_t count = 1;
  EXPECT_EQ(cudaGraphNodeGetDependentNodes(first_, &next, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(next, second_);
  EXPECT_EQ(cudaGraphNodeGetDependentNodes(second_, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(cudaGraphNodeGetDependentNodes(first_, nullptr, nullptr, nullptr),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeGraphObjects, KnowTheTypesOfNodes) {
  int type = -1;
  EXPECT_EQ(cudaGraphNodeGetType(first_, &type), cudaSuccess);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_EMPTY);
  EXPECT_EQ(cudaGraphNodeGetType(first_, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeGraphObjects, AreCopiedNodeByNode) {
  cudaGraph_t clone = nullptr;
  cudaGraphNode_t found = nullptr;
  size_t count = 0;
  ASSERT_EQ(cudaGraphClone(&clone, graph_), cudaSuccess);
  EXPECT_NE(clone, graph_);
  EXPECT_EQ(cudaGraphGetNodes(clone, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(cudaGraphNodeFindInClone(&found, first_, clone), cudaSuccess);
  EXPECT_NE(found, first_);
  cudaGraphNode_t root = nullptr;
  count = 1;
  EXPECT_EQ(cudaGraphGetRootNodes(clone, &root, &count), cudaSuccess);
  EXPECT_EQ(found, root);
  EXPECT_EQ(cudaGraphNodeFindInClone(&found, first_, graph_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphClone(nullptr, graph_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroy(clone), cudaSuccess);
}

TEST_F(RuntimeGraphObjects, AreDescribedInAFile) {
  const std::string path = testing::TempDir() + "runtime_graph.dot";
  EXPECT_EQ(cudaGraphDebugDotPrint(graph_, path.c_str(), 0), cudaSuccess);
  std::string line;
  std::ifstream file(path);
  EXPECT_TRUE(std::getline(file, line));
  EXPECT_EQ(line.find("digraph"), 0u) << line;
  unlink(path.c_str());
  EXPECT_EQ(cudaGraphDebugDotPrint(graph_, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDebugDotPrint(graph_, "/nowhere/graph.dot", 0), cudaErrorOperatingSystem);
}

// --- What is made of them

TEST_F(RuntimeGraphObjects, AreInstantiatedWithFlagsThatAreTold) {
  constexpr auto kAutoFree = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
  unsigned long long flags = 77;
  ASSERT_EQ(cudaGraphInstantiate(&exec_, graph_, kAutoFree), cudaSuccess);
  EXPECT_EQ(cudaGraphExecGetFlags(exec_, &flags), cudaSuccess);
  EXPECT_EQ(flags, kAutoFree);
  EXPECT_EQ(cudaGraphExecGetFlags(exec_, nullptr), cudaErrorInvalidValue);
  cudaGraphExec_t none = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&none, graph_, 77777), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphInstantiate(nullptr, graph_, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphInstantiate(&none, nullptr, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeGraphObjects, AreInstantiatedWithParametersThatSayWhatWentWrong) {
  CUDA_GRAPH_INSTANTIATE_PARAMS how = {};
  how.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  how.result_out = 77;
  ASSERT_EQ(cudaGraphInstantiateWithParams(&exec_, graph_, &how), cudaSuccess);
  EXPECT_EQ(how.result_out, 0);
  EXPECT_EQ(cudaGraphInstantiateWithParams(nullptr, graph_, &how), cudaErrorInvalidValue);
  cudaGraphExec_t none = nullptr;
  EXPECT_EQ(cudaGraphInstantiateWithParams(&none, graph_, nullptr), cudaErrorInvalidValue);
  how.flags = 77777;
  EXPECT_EQ(cudaGraphInstantiateWithParams(&none, graph_, &how), cudaErrorInvalidValue);
}

TEST_F(RuntimeGraphObjects, AreUploadedToAStream) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec_, graph_, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphUpload(exec_, stream), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec_, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaGraphUpload(nullptr, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecDestroy(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(RuntimeGraphObjects, HaveConditions) {
  unsigned long long first = 0;
  unsigned long long second = 0;
  EXPECT_EQ(cudaGraphConditionalHandleCreate(&first, graph_, 1, CU_GRAPH_COND_ASSIGN_DEFAULT),
            cudaSuccess);
  EXPECT_EQ(cudaGraphConditionalHandleCreate(&second, graph_, 1, 0), cudaSuccess);
  EXPECT_NE(first, second);
  EXPECT_EQ(cudaGraphConditionalHandleCreate(&second, graph_, 1, 77), cudaErrorInvalidValue);
}

// --- Objects of the program

int destroyed = 0;
void Destroy(void* count) { ++*static_cast<int*>(count); }

TEST_F(RuntimeGraphObjects, KeepAnObjectOfTheProgram) {
  cudaUserObject_t object = nullptr;
  destroyed = 0;
  ASSERT_EQ(
      cudaUserObjectCreate(&object, &destroyed, Destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
      cudaSuccess);
  EXPECT_EQ(cudaUserObjectRetain(object, 2), cudaSuccess);
  EXPECT_EQ(cudaUserObjectRelease(object, 2), cudaSuccess);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(cudaGraphRetainUserObject(graph_, object, 1, CU_GRAPH_USER_OBJECT_MOVE), cudaSuccess);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
  graph_ = nullptr;
  EXPECT_EQ(destroyed, 1);
}

TEST_F(RuntimeGraphObjects, GiveAnObjectOfTheProgramUp) {
  cudaUserObject_t object = nullptr;
  destroyed = 0;
  ASSERT_EQ(
      cudaUserObjectCreate(&object, &destroyed, Destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
      cudaSuccess);
  EXPECT_EQ(cudaGraphRetainUserObject(graph_, object, 1, 0), cudaSuccess);
  EXPECT_EQ(cudaUserObjectRelease(object, 1), cudaSuccess);
  EXPECT_EQ(destroyed, 0);
  EXPECT_EQ(cudaGraphReleaseUserObject(graph_, object, 1), cudaSuccess);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(RuntimeGraphObjects, TakeAnObjectWithAFunctionAndReferences) {
  constexpr auto kNoSync = CU_USER_OBJECT_NO_DESTRUCTOR_SYNC;
  cudaUserObject_t object = nullptr;
  EXPECT_EQ(cudaUserObjectCreate(&object, nullptr, Destroy, 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaUserObjectCreate(&object, nullptr, nullptr, 1, kNoSync), cudaErrorInvalidValue);
  EXPECT_EQ(cudaUserObjectCreate(nullptr, nullptr, Destroy, 1, kNoSync), cudaErrorInvalidValue);
  EXPECT_EQ(cudaUserObjectRetain(nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphRetainUserObject(graph_, nullptr, 1, 0), cudaErrorInvalidValue);
}

}  // namespace
