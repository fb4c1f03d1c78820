// GraphWork: what a node of a graph does, in the driver's own terms.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_WORK_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_WORK_H_

#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "api/executor.h"
#include "sim/libcuda/contexts.h"
#include "sim/libcuda/graphs/reserved_memory.h"
#include "sim/ptx/run/device/graph_conditions.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

class Graph;

// The arguments of a kernel as a node keeps them. Shared by copies of the node, and never changed.
struct KernelArguments {
  std::vector<char> bytes;
  std::vector<const void*> pointers;  // to each of them, in `bytes`
  bool as_buffer = false;             // how the program gave them
};

using LaunchAttributes = std::map<cuda_abi::CUlaunchAttributeID, cuda_abi::CUlaunchAttributeValue>;

struct KernelWork {
  cuda_abi::CUfunction function = nullptr;
  cuda_abi::CUkernel kernel = nullptr;  // that it is of, if the program gave that
  Context* context = nullptr;           // that it runs in
  LaunchConfig config;
  std::shared_ptr<const KernelArguments> arguments;
  LaunchAttributes attributes = {};
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
  DeviceOrdinal device;  // that fills it
};

struct HostWork {
  cuda_abi::CUDA_HOST_NODE_PARAMS call = {};
};

struct ChildWork {
  std::shared_ptr<Graph> graph;  // the node's own
  bool moved = false;            // it was the program's before
};

struct EmptyWork {};

struct WaitWork {
  cuda_abi::CUevent event = nullptr;
};

struct RecordWork {
  cuda_abi::CUevent event = nullptr;
};

// The semaphores of a node, and what is done to each. Shared by copies of the node, and never
// changed.
struct SemaphoreList {
  std::vector<cuda_abi::CUexternalSemaphore> semaphores;
  std::vector<cuda_abi::CUDA_EXTERNAL_SEMAPHORE_PARAMS> params;
};
struct SignalWork {
  std::shared_ptr<const SemaphoreList> list;
};
struct AwaitWork {
  std::shared_ptr<const SemaphoreList> list;
};

struct AllocWork {
  cuda_abi::CUDA_MEM_ALLOC_NODE_PARAMS params = {};  // as the driver tells them: with the address
  // What `params` points to.
  std::shared_ptr<const std::vector<cuda_abi::CUmemAccessDesc>> grants;
  std::shared_ptr<const ReservedMemory> memory;
  bool was_instantiated = false;
};

struct FreeWork {
  cuda_abi::CUdeviceptr address = 0;
};

struct BatchWork {
  Context* context = nullptr;
  std::shared_ptr<const std::vector<cuda_abi::CUstreamBatchMemOpParams>> operations;
  bool of_first_version = false;  // captured from one of the functions of CUDA 8
};

// What kernels set, and a node decides by. It has its value as long as a graph knows it.
struct Condition {
  Condition(std::shared_ptr<ptx::GraphConditions> in, Context* of, unsigned int initial,
            bool assigns)
      : values(std::move(in)),
        handle(values->Add()),
        context(of),
        default_value(initial),
        assigns_default(assigns) {}
  ~Condition() { values->Remove(handle); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  const std::shared_ptr<ptx::GraphConditions> values;
  const cuda_abi::CUgraphConditionalHandle handle;
  Context* const context;
  const unsigned int default_value;
  const bool assigns_default;  // when a launch begins
};

struct ConditionalWork {
  std::shared_ptr<const Condition> condition;
  cuda_abi::CUgraphConditionalNodeType type = cuda_abi::CU_GRAPH_COND_TYPE_IF;
  std::vector<std::shared_ptr<Graph>> bodies;            // the node's own
  std::shared_ptr<std::vector<cuda_abi::CUgraph>> told;  // their handles, as the program has them
};

// In the order of CUgraphNodeType.
using GraphWork = std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork,
                               WaitWork, RecordWork, SignalWork, AwaitWork, AllocWork, FreeWork,
                               BatchWork, ConditionalWork>;

inline cuda_abi::CUgraphNodeType TypeOf(const GraphWork& work) {
  return static_cast<int>(work.index());
}

// Calls visit(graph) for each graph that a node has, a std::shared_ptr<Graph> that may be changed
// where the work may.
template <typename Work, typename Visit>
void ForEachInside(Work& work, const Visit& visit) {
  if (auto* const child = std::get_if<ChildWork>(&work)) visit(child->graph);
  if (auto* const conditional = std::get_if<ConditionalWork>(&work)) {
    for (auto& body : conditional->bodies) visit(body);
  }
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_WORK_H_
