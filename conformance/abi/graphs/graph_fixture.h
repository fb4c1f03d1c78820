// GraphTest: a graph, a stream, and memory for nodes to work on.

#ifndef TWINMMU_CONFORMANCE_ABI_GRAPHS_GRAPH_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ABI_GRAPHS_GRAPH_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/graphs/node_types.h"

namespace twinmmu::abi {

using Nodes = std::vector<CUgraphNode>;

// CUgraphExecUpdateResultInfo, which our cuda.h does not have.
struct UpdateInfo {
  int result;
  CUgraphNode error_node;
  CUgraphNode error_from_node;
};

inline constexpr Function<CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*, const EdgeData*,
                                   size_t)>
    add_dependencies("cuGraphAddDependencies_v2");
inline constexpr Function<CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*, const EdgeData*,
                                   size_t)>
    remove_dependencies("cuGraphRemoveDependencies_v2");
inline constexpr Function<CUresult(CUgraph, CUgraphNode*, CUgraphNode*, EdgeData*, size_t*)>
    get_edges("cuGraphGetEdges_v2");
inline constexpr Function<CUresult(CUgraphNode, CUgraphNode*, EdgeData*, size_t*)> get_dependencies(
    "cuGraphNodeGetDependencies_v2");
inline constexpr Function<CUresult(CUgraphNode, CUgraphNode*, EdgeData*, size_t*)>
    get_dependent_nodes("cuGraphNodeGetDependentNodes_v2");
inline constexpr Function<CUresult(CUgraphExec, CUgraph, UpdateInfo*)> update(
    "cuGraphExecUpdate_v2");
inline constexpr Function<CUresult(CUstream, CUstreamCaptureStatus*, uint64_t*, CUgraph*,
                                   const CUgraphNode**, const EdgeData**, size_t*)>
    capture_info("cuStreamGetCaptureInfo_v3");
inline constexpr Function<CUresult(CUgraphNode, int, NodeAttributeValue*)> get_node_attribute(
    "cuGraphKernelNodeGetAttribute");
inline constexpr Function<CUresult(CUgraphNode, int, const NodeAttributeValue*)> set_node_attribute(
    "cuGraphKernelNodeSetAttribute");
inline constexpr Function<CUresult(CUgraphNode, CUgraphNode)> copy_node_attributes(
    "cuGraphKernelNodeCopyAttributes");

// Two edges, by the numbers of their nodes.
using Edge = std::pair<int, int>;

class GraphTest : public ContextTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  static constexpr size_t kSize = 4096;  // of the memory

  // Arguments of both kernels: memory and a number.
  CUDA_KERNEL_NODE_PARAMS KernelOf(CUfunction function, CUdeviceptr to, unsigned int value);
  CUDA_MEMSET_NODE_PARAMS FillOf(CUdeviceptr to, unsigned int value, size_t count = 1) const;
  CUDA_MEMCPY3D CopyOf(CUdeviceptr to, CUdeviceptr from, size_t size) const;

  // Nodes of graph_ or another graph.
  CUgraphNode AddEmpty(const Nodes& after = {}) { return AddEmpty(graph_, after); }
  CUgraphNode AddEmpty(CUgraph graph, const Nodes& after = {});
  // One that adds to, or sets, the first number of the memory.
  CUgraphNode AddKernel(CUfunction function, unsigned int value, const Nodes& after = {}) {
    return AddKernel(graph_, function, value, after);
  }
  CUgraphNode AddKernel(CUgraph graph, CUfunction function, unsigned int value,
                        const Nodes& after = {});
  CUgraphNode AddFill(const CUDA_MEMSET_NODE_PARAMS& fill, const Nodes& after = {}) {
    return AddFill(graph_, fill, after);
  }
  CUgraphNode AddFill(CUgraph graph, const CUDA_MEMSET_NODE_PARAMS& fill, const Nodes& after = {});
  CUgraphNode AddHost(CUgraph graph, const Nodes& after = {});

  CUgraph MakeGraph();  // destroyed at the end
  CUgraphExec Instantiate(CUgraph graph);
  CUgraphExec Instantiate() { return Instantiate(graph_); }
  // Launches it and waits for it.
  void Run(CUgraphExec executable);

  // What a graph consists of, in the order in which the driver tells it.
  Nodes NodesOf(CUgraph graph);
  std::vector<CUgraphNodeType> TypesOf(CUgraph graph);
  Nodes RootsOf(CUgraph graph);
  // By the numbers that the nodes have in `nodes`.
  std::vector<Edge> EdgesOf(CUgraph graph, const Nodes& nodes);
  std::vector<Edge> EdgesOf(CUgraph graph) { return EdgesOf(graph, NodesOf(graph)); }

  // The number at the start of the memory, or elsewhere in it.
  unsigned int Number(size_t offset = 0);

  // Another stream, which waits for nobody, and an event. Destroyed at the end.
  CUstream MakeStream(unsigned int flags = CU_STREAM_NON_BLOCKING);
  CUevent MakeEvent();
  CUresult Launch(CUstream stream, unsigned int value = 1);
  static CUstreamCaptureStatus StatusOf(CUstream stream);

  CUgraph graph_ = nullptr;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction add_ = nullptr;
  CUfunction set_ = nullptr;
  CUdeviceptr memory_ = 0;
  int host_calls_ = 0;

 private:
  // The arguments of KernelOf.
  CUdeviceptr to_ = 0;
  unsigned int value_ = 0;
  void* arguments_[2] = {&to_, &value_};
  std::vector<CUgraph> graphs_;
  std::vector<CUgraphExec> executables_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_GRAPHS_GRAPH_FIXTURE_H_
