// A graph for each call.

#ifndef TWINMMU_CONFORMANCE_ABI_VALUES_CASES_GRAPH_OBJECTS_H_
#define TWINMMU_CONFORMANCE_ABI_VALUES_CASES_GRAPH_OBJECTS_H_

#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {

class OwnGraph {
 public:
  OwnGraph() { Must("cuGraphCreate", &graph_, 0); }
  ~OwnGraph() { Must("cuGraphDestroy", graph_); }
  OwnGraph(const OwnGraph&) = delete;
  OwnGraph& operator=(const OwnGraph&) = delete;

  CUgraph get() const { return graph_; }

  CUgraphNode AddEmpty() const {
    CUgraphNode node = nullptr;
    Must("cuGraphAddEmptyNode", &node, graph_, nullptr, 0);
    return node;
  }
  CUgraphNode AddKernel(unsigned int blocks = 1) const {
    const CUDA_KERNEL_NODE_PARAMS params = KernelParams(blocks);
    CUgraphNode node = nullptr;
    Must("cuGraphAddKernelNode_v2", &node, graph_, nullptr, 0, &params);
    return node;
  }
  static CUDA_KERNEL_NODE_PARAMS KernelParams(unsigned int blocks = 1) {
    return {Kernel(), blocks, 1, 1, 32, 1, 1, 0, KernelParameters(), nullptr, nullptr, nullptr};
  }

  // What becomes of it as a whole.
  CUresult Instantiated() const {
    CUgraphExec executable = nullptr;
    const CUresult result = Call("cuGraphInstantiateWithFlags", &executable, graph_, 0);
    if (result == CUDA_SUCCESS) Must("cuGraphExecDestroy", executable);
    return result;
  }

 private:
  CUgraph graph_ = nullptr;
};

class OwnExecutable {
 public:
  explicit OwnExecutable(const OwnGraph& graph) {
    Must("cuGraphInstantiateWithFlags", &executable_, graph.get(), 0);
  }
  ~OwnExecutable() { Must("cuGraphExecDestroy", executable_); }
  OwnExecutable(const OwnExecutable&) = delete;
  OwnExecutable& operator=(const OwnExecutable&) = delete;

  CUgraphExec get() const { return executable_; }

 private:
  CUgraphExec executable_ = nullptr;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_VALUES_CASES_GRAPH_OBJECTS_H_
