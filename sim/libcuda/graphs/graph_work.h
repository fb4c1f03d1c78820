// GraphWork: what a node of a graph does, in the driver's own terms.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_WORK_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_WORK_H_

#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "api/executor.h"
#include "sim/libcuda/contexts.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

class Graph;

// The arguments of a kernel as a node keeps them. Shared by copies of the node, and never changed.
struct KernelArguments {
  std::vector<char> bytes;
  std::vector<void*> pointers;  // to each of them, in `bytes`
  // How the program gave them, if as one buffer: a list that says where that is.
  size_t size = 0;
  std::vector<void*> extra;
};

struct KernelWork {
  cuda_abi::CUfunction function = nullptr;
  cuda_abi::CUkernel kernel = nullptr;  // that it is of, if the program gave that
  Context* context = nullptr;           // that it runs in
  LaunchConfig config;
  std::shared_ptr<KernelArguments> arguments;
  std::map<cuda_abi::CUlaunchAttributeID, cuda_abi::CUlaunchAttributeValue> attributes = {};
};

struct CopyWork {
  cuda_abi::CUDA_MEMCPY3D copy = {};
  Context* context = nullptr;
  // Of each end; null: that of the copy.
  Context* to = nullptr;
  Context* from = nullptr;
};

struct FillWork {
  cuda_abi::CUDA_MEMSET_NODE_PARAMS fill = {};
  Context* context = nullptr;
};

struct HostWork {
  cuda_abi::CUDA_HOST_NODE_PARAMS call = {};
};

struct ChildWork {
  std::shared_ptr<Graph> graph;  // the node's own
};

struct EmptyWork {};

struct WaitWork {
  cuda_abi::CUevent event = nullptr;
};

struct RecordWork {
  cuda_abi::CUevent event = nullptr;
};

// In the order of CUgraphNodeType.
using GraphWork = std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork,
                               WaitWork, RecordWork>;

inline cuda_abi::CUgraphNodeType TypeOf(const GraphWork& work) {
  return static_cast<cuda_abi::CUgraphNodeType>(work.index());
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_WORK_H_
