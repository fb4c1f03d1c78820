// Graphs: the graphs, executable graphs and user objects of the process, by the handles that the
// program has.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPHS_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPHS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "api/executor.h"
#include "sim/libcuda/graphs/graph.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

struct GraphExec {
  uint64_t flags = 0;
  // With the ids of the graph that it was made of. Launches share it: never changed, but replaced.
  std::shared_ptr<const Graph> graph;
  uint64_t generation = 0;  // of the memory, when that was last checked
  std::set<GraphId> told;   // nodes whose memory was reported
  // Each launch comes after the one before.
  std::optional<Event> launched;
  std::vector<Stream> lanes;  // that a launch may use
};

struct UserObject {
  void* pointer = nullptr;
  cuda_abi::CUhostFn destroy = nullptr;
  uint64_t references = 0;  // of the program and of graphs
};

// User objects that nobody refers to any more: to be called when no lock is held.
using Destructions = std::map<GraphId, UserObject>;

// Handles are numbers, so that a dead one is told from a live one. Everything here is for who holds
// `mutex`; that is taken before the locks of the simulator. What finds no memory changes nothing;
// what takes away needs none.
class Graphs {
 public:
  std::mutex mutex;

  GraphId NextId() { return ++last_id_; }

  // A graph of its own, without nodes.
  std::shared_ptr<Graph> Make();
  // Takes a graph in, with all that is in it.
  void Add(const std::shared_ptr<Graph>& graph, bool child = false);
  // Forgets a graph and all that is in it, and gives up the user objects that it holds.
  void Remove(const std::shared_ptr<Graph>& graph);
  // The same for a new node, and one that goes. The dependencies are nodes of the graph. A copy
  // that it runs holds the user objects of the graph that it is of.
  GraphId AddNode(Graph& graph, GraphWork work, std::vector<RememberedMemory> memory,
                  const std::vector<GraphLink>& dependencies);
  void RemoveNode(Graph& graph, GraphId node);

  // Null: there is none of that name.
  std::shared_ptr<Graph> Find(cuda_abi::CUgraph graph) const;
  bool IsChild(cuda_abi::CUgraph graph) const;
  // The graph itself, unless it is in another one.
  const Graph& OutermostOf(const Graph& graph) const;
  // A graph inside a conditional node.
  bool IsBody(cuda_abi::CUgraph graph) const;
  // A child graph that the program made.
  bool IsMoved(cuda_abi::CUgraph graph) const;
  std::shared_ptr<Graph> FindGraphOf(cuda_abi::CUgraphNode node) const;
  // The graph that the condition is of.
  std::shared_ptr<Graph> FindHolderOf(cuda_abi::CUgraphConditionalHandle condition) const;
  GraphExec* Find(cuda_abi::CUgraphExec exec);

  // Whether there is an executable graph of it, as it was when matches(graph) held.
  bool HasExecOf(GraphId graph, absl::FunctionRef<bool(const Graph&)> matches) const;
  // The same of any, or of a clone or a child graph.
  bool HasCopyOf(GraphId graph) const;
  GraphId Add(GraphExec exec);
  void Remove(cuda_abi::CUgraphExec exec);

  // A copy of its own, whose graphs and nodes have new names.
  std::shared_ptr<Graph> Clone(const Graph& graph);

  GraphId Add(const UserObject& object);
  UserObject* Find(cuda_abi::CUuserObject object);
  void Release(GraphId object, uint64_t count);
  // How many references to user objects a graph or an executable graph holds, by object.
  std::map<GraphId, uint64_t>& HeldBy(GraphId holder) { return held_[holder]; }
  // `to` holds what `from` does, and the graphs inside it, beside that.
  void ShareHeld(const Graph& from, GraphId to);
  // A holder of what an executable graph holds now; 0: that is nothing.
  GraphId HoldAsWell(cuda_abi::CUgraphExec exec);
  void GiveUp(GraphId holder);
  // It holds that, and nothing else.
  void ReplaceHeld(const Graph& from, GraphId to);
  // Those that are due.
  Destructions TakeDestructions() { return std::exchange(destructions_, {}); }

 private:
  struct Known {
    std::shared_ptr<Graph> graph;
    bool child = false;
    bool moved = false;
  };
  // What Add adds.
  struct Names {
    std::map<GraphId, Known> graphs;
    std::map<GraphId, std::shared_ptr<Graph>> nodes;
  };
  static void Collect(const std::shared_ptr<Graph>& graph, bool child, Names* names);
  using Held = std::map<GraphId, uint64_t>;  // references, by user object
  // The user objects of a graph and the graphs inside it, or of a holder, that still exist.
  void CollectHeld(const Graph& from, Held* held) const;
  void CollectHeld(GraphId holder, Held* held) const;
  void Hold(const Held& more, GraphId to);

  GraphId last_id_ = uint64_t{3} << 60;
  std::map<GraphId, Known> graphs_;
  std::map<GraphId, std::shared_ptr<Graph>> nodes_;
  std::map<GraphId, GraphExec> execs_;
  std::map<GraphId, UserObject> objects_;
  std::map<GraphId, std::map<GraphId, uint64_t>> held_;
  Destructions destructions_;
};

// Handles as numbers, and back.
template <typename Handle>
Handle HandleOf(GraphId id) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(id));
}
inline GraphId IdOf(const void* handle) { return reinterpret_cast<uintptr_t>(handle); }

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPHS_H_
