// NodeMemoryTest: graphs with nodes that allocate memory and free it.

#ifndef TWINMMU_CONFORMANCE_ABI_GRAPHS_NODE_MEMORY_H_
#define TWINMMU_CONFORMANCE_ABI_GRAPHS_NODE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {

// Of a child node, which our cuda.h does not have.
struct ChildParams {
  CUgraph graph;
  int ownership;
};

inline constexpr int kAllocType = 10;
inline constexpr int kFreeType = 11;
inline constexpr int kMoved = 1;
inline constexpr uint64_t kAutoFree = 1;
inline constexpr uint64_t kGraphChunk = uint64_t{32} << 20;

inline constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, AllocParams*)>
    add_alloc("cuGraphAddMemAllocNode");
inline constexpr Function<CUresult(CUgraphNode, AllocParams*)> alloc_params(
    "cuGraphMemAllocNodeGetParams");
inline constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr)>
    add_free("cuGraphAddMemFreeNode");
inline constexpr Function<CUresult(CUgraphNode, CUdeviceptr*)> free_params(
    "cuGraphMemFreeNodeGetParams");
inline constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, const EdgeData*,
                                   size_t, GenericParams*)>
    add_node("cuGraphAddNode_v2");
inline constexpr Function<CUresult(CUgraphNode, GenericParams*)> set_node_params(
    "cuGraphNodeSetParams");
inline constexpr Function<CUresult(CUdevice)> trim_graphs("cuDeviceGraphMemTrim");
inline constexpr Function<CUresult(CUdevice, int, void*)> get_graph_attribute(
    "cuDeviceGetGraphMemAttribute");
inline constexpr Function<CUresult(CUdevice, int, void*)> set_graph_attribute(
    "cuDeviceSetGraphMemAttribute");
inline constexpr Function<CUresult(CUdeviceptr*, size_t, CUstream)> allocate_async(
    "cuMemAllocAsync");
inline constexpr Function<CUresult(CUdeviceptr, CUstream)> free_async("cuMemFreeAsync");
inline constexpr Function<CUresult(CUgraphExec, CUstream)> upload_graph("cuGraphUpload");

// A node, and what it allocates.
struct Allocated {
  CUgraphNode node = nullptr;
  CUdeviceptr address = 0;
};

class NodeMemoryTest : public GraphTest {
 protected:
  void TearDown() override {
    GraphTest::TearDown();
    if (IsSkipped()) return;
    EXPECT_EQ(trim_graphs(0), CUDA_SUCCESS);
  }

  Allocated AddAlloc(CUgraph graph, size_t size = 64) {
    AllocParams params;
    params.size = size;
    Allocated added;
    EXPECT_EQ(add_alloc(&added.node, graph, nullptr, 0, &params), CUDA_SUCCESS);
    added.address = params.address;
    return added;
  }
  Allocated AddAlloc(size_t size = 64) { return AddAlloc(graph_, size); }
  CUgraphNode AddFree(CUgraph graph, CUdeviceptr address, const Nodes& after = {}) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(add_free(&node, graph, after.data(), after.size(), address), CUDA_SUCCESS);
    return node;
  }
  CUgraphNode AddFree(CUdeviceptr address, const Nodes& after = {}) {
    return AddFree(graph_, address, after);
  }

  static uint64_t Get(int attribute) {
    uint64_t value = 99;
    EXPECT_EQ(get_graph_attribute(0, attribute, &value), CUDA_SUCCESS);
    return value;
  }
  static bool IsThere(CUdeviceptr address) {
    CUdeviceptr base = 0;
    size_t size = 0;
    return cuMemGetAddressRange(&base, &size, address) == CUDA_SUCCESS;
  }
  static unsigned int NumberAt(CUdeviceptr address) {
    unsigned int number = 0;
    EXPECT_EQ(cuMemcpyDtoH(&number, address, sizeof(number)), CUDA_SUCCESS);
    return number;
  }
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_GRAPHS_NODE_MEMORY_H_
