// NodeWorld: what captures and graphs of random programs work on, and the graphs that may run.
//
// The nodes of such a graph that touch memory are one behind the other, so that any right driver
// leaves the same in it.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_CAPTURES_NODE_WORLD_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_CAPTURES_NODE_WORLD_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/graphs/node_types.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {

inline constexpr Function<CUresult(CUgraph, CUgraphNode*, CUgraphNode*, EdgeData*, size_t*)>
    edges_of_graph("cuGraphGetEdges_v2");

// What a node is to do, by its type, where it was rolled: pointers lead into it.
struct NodeWork {
  NodeWork() = default;
  NodeWork(const NodeWork&) = delete;
  NodeWork& operator=(const NodeWork&) = delete;

  int type = 0;
  std::string words;
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  CUDA_MEMCPY3D copy = {};
  CUDA_MEMSET_NODE_PARAMS fill = {};
  CUDA_HOST_NODE_PARAMS call = {};
  CUevent event = nullptr;
  BatchParams batch = {};

  CUdeviceptr to = 0;
  unsigned int value = 0;
  void* arguments[2] = {&to, &value};
  CUstreamBatchMemOpParams operations[2] = {};
};

struct NodeOfGraph {
  std::string name;
  CUgraphNode handle = nullptr;
  int type = 0;
  bool stays = false;  // as it is, or memory would be told that nobody filled
};

struct NodeGraph {
  std::string name;
  CUgraph handle = nullptr;
  std::vector<NodeOfGraph> nodes;
  CUgraphNode last = nullptr;  // of those that touch memory
  std::string last_name;
  int nodes_made = 0;
  CUdeviceptr allocated = 0;
  bool is_freed = false;
  bool is_nested = false;
  bool has_objects = false;
  std::map<std::string, unsigned int> held;  // references to objects, by name
};

struct NodeExecutable {
  std::string name;
  CUgraphExec handle = nullptr;
  NodeGraph graph;          // as it was
  bool may_differ = false;  // after an update that failed: nobody says what it does
};

struct UserObject {
  std::string name;
  struct CUuserObject_st* handle = nullptr;
  unsigned int references = 0;  // our own
};

struct NodeWorld {
  static constexpr size_t kBytes = 4096;

  CUdeviceptr memory = 0;    // of nodes
  CUdeviceptr captured = 0;  // of captures
  CUmodule module = nullptr;
  CUfunction add = nullptr;  // to a word, as one operation
  CUfunction set = nullptr;
  std::array<CUevent, 3> events = {};
  std::vector<NodeGraph> graphs;
  std::vector<NodeExecutable> executables;
  std::vector<UserObject> objects;
  int graphs_made = 0;
  int executables_made = 0;
  int objects_made = 0;
  std::atomic<int> calls{0};  // of functions of the host
  std::atomic<int> objects_destroyed{0};
};

// Of this program. Made when it is first asked for.
NodeWorld& NodesOf(ProgramWorld& world);
// None: there is none.
NodeGraph* AnyGraph(ProgramWorld& world);
const NodeOfGraph* AnyNodeOf(ProgramWorld& world, const NodeGraph* graph);
// What so many bytes hold, as a number.
uint64_t HashOf(CUdeviceptr memory, size_t bytes);
// Work for a node of that type (kernel, copy, fill, function, event, batch), sometimes impossible.
void RollWork(ProgramWorld& world, int type, NodeWork* work);
// "KernelNode".
const char* NameOfWork(int type);
// Which only some calls survive.
bool HasNull(const NodeWork& work);
GenericParams AsAnyNode(const NodeWork& work, CUcontext context);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_RANDOM_CAPTURES_NODE_WORLD_H_
