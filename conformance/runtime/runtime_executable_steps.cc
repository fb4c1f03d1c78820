// Executables of graphs, and objects of the user's.

#include "conformance/runtime/runtime_graphs.h"

namespace random_runtime {
namespace {

Executable* AnyExecutable(RuntimeWorld& world) {
  auto& executables = Graphs().executables;
  return executables.empty() ? nullptr : &executables[world.Below(executables.size())];
}

void Forget(Executable* executable) {
  auto& executables = Graphs().executables;
  executables.erase(executables.begin() + (executable - executables.data()));
}

void Instantiate(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr || Graphs().executables.size() >= 4) return;
  Executable executable;
  bool made = false;
  if (world.OneIn(2)) {
    const unsigned long long flags = world.Of({0ull, 0ull, 0ull, 1ull, 8ull, 9ull, 77777ull});
    const bool null = world.OneIn(10);
    made =
        world.Say(cudaGraphInstantiate(null ? nullptr : &executable.handle, graph->handle, flags),
                  "cudaGraphInstantiate", graph->name, flags, null);
  } else {
    cudaGraphInstantiateParams how = {};
    how.flags = world.Of({0ull, 0ull, 1ull, 2ull, 8ull, 77777ull});
    std::string name;
    if (how.flags == 2) how.uploadStream = StreamFor(world, &name);
    made = world.Say(cudaGraphInstantiateWithParams(&executable.handle, graph->handle, &how),
                     "cudaGraphInstantiateWithParams", graph->name, how.flags, name);
    if (made) world.Gave(int(how.result_out));
  }
  if (!made) return;
  executable.name = Graphs().Name("x");
  executable.graph = graph->name;
  world.Gave(executable.name);
  Graphs().executables.push_back(executable);
}

void Launch(RuntimeWorld& world) {
  Executable* const executable = AnyExecutable(world);
  if (executable == nullptr) return;
  std::string name;
  const cudaStream_t stream = StreamFor(world, &name);
  if (world.OneIn(12)) {
    world.Say(cudaGraphLaunch(nullptr, stream), "cudaGraphLaunch", "none", name);
    return;
  }
  if (world.OneIn(6)) {
    world.Say(cudaGraphUpload(executable->handle, stream), "cudaGraphUpload", executable->name,
              name);
  }
  if (world.Say(cudaGraphLaunch(executable->handle, stream), "cudaGraphLaunch", executable->name,
                name)) {
    cudaDeviceSynchronize();
    world.Gave(Graphs().calls.load(), HashOfSlots());
  }
}

void Destroy(RuntimeWorld& world) {
  if (world.OneIn(6)) {
    world.Say(cudaGraphExecDestroy(nullptr), "cudaGraphExecDestroy", "none");
    return;
  }
  Executable* const executable = AnyExecutable(world);
  if (executable == nullptr) return;
  world.Say(cudaGraphExecDestroy(executable->handle), "cudaGraphExecDestroy", executable->name);
  Forget(executable);
}

void Update(RuntimeWorld& world) {
  Executable* const executable = AnyExecutable(world);
  if (executable == nullptr) return;
  Graph* graph = AnyGraph(world);
  for (Graph& its : Graphs().graphs) {
    if (its.name == executable->graph && !world.OneIn(3)) graph = &its;
  }
  if (graph == nullptr) return;
  cudaGraphExecUpdateResultInfo info = {};
  const cudaError_t error = cudaGraphExecUpdate(executable->handle, graph->handle, &info);
  if (world.Say(error, "cudaGraphExecUpdate", executable->name, graph->name)) {
    world.Gave(int(info.result));
    return;
  }
  world.Gave(int(info.result));
  // It may be partly what it was.
  world.Say(cudaGraphExecDestroy(executable->handle), "cudaGraphExecDestroy", executable->name);
  Forget(executable);
}

void AskExecutable(RuntimeWorld& world) {
  Executable* const executable = AnyExecutable(world);
  if (executable == nullptr) return;
  if (world.OneIn(4)) {
    unsigned long long flags = 0;
    const bool null = world.OneIn(6);
    if (world.Say(cudaGraphExecGetFlags(executable->handle, null ? nullptr : &flags),
                  "cudaGraphExecGetFlags", executable->name, null)) {
      world.Gave(flags);
    }
    return;
  }
  for (Graph& graph : Graphs().graphs) {
    if (graph.name != executable->graph || graph.nodes.empty()) continue;
    const GraphNode* node = AnyNodeOf(world, graph, world.OneIn(6) ? "hrwng" : "ksc");
    if (node == nullptr) return;
    unsigned enabled = world.OneIn(2) ? 1 : 0;
    if (world.OneIn(2)) {
      world.Say(cudaGraphNodeSetEnabled(executable->handle, node->handle, enabled),
                "cudaGraphNodeSetEnabled", executable->name, node->name, enabled);
    } else if (world.Say(cudaGraphNodeGetEnabled(executable->handle, node->handle, &enabled),
                         "cudaGraphNodeGetEnabled", executable->name, node->name)) {
      world.Gave(enabled);
    }
    return;
  }
}

// What graphs have allocated: of an executable that has run, some stays.
void AskMemory(RuntimeWorld& world) {
  const int device = world.OneIn(8) ? 100 : 0;
  unsigned long long value = 77;
  switch (world.OneIn(3) ? world.Below(4) : 0) {
    case 0:
      if (world.Say(cudaDeviceGetGraphMemAttribute(device, cudaGraphMemAttrUsedMemCurrent, &value),
                    "cudaDeviceGetGraphMemAttribute", device)) {
        world.Gave(value);
      }
      return;
    case 1:
      world.Say(cudaDeviceGetGraphMemAttribute(device, cudaGraphMemAttributeType(77), &value),
                "cudaDeviceGetGraphMemAttribute", device, 77);
      return;
    case 2: {
      const auto which = world.Of({cudaGraphMemAttrUsedMemHigh, cudaGraphMemAttrReservedMemHigh,
                                   cudaGraphMemAttrUsedMemCurrent});
      value = 0;
      world.Say(cudaDeviceSetGraphMemAttribute(device, which, &value),
                "cudaDeviceSetGraphMemAttribute", device, int(which));
      return;
    }
    default:
      world.Say(cudaDeviceGraphMemTrim(device), "cudaDeviceGraphMemTrim", device);
  }
}

void CUDART_CB CountDestroyed(void* count) { ++*static_cast<int*>(count); }

// Made, given to a graph, and let go of by its maker.
void UseObject(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr) return;
  cudaUserObject_t object = nullptr;
  const unsigned flags = world.OneIn(6) ? 0 : cudaUserObjectNoDestructorSync;
  const bool null = world.OneIn(8);
  const unsigned count = 1 + static_cast<unsigned>(world.Below(3));
  if (!world.Say(cudaUserObjectCreate(&object, &Graphs().destroyed, null ? nullptr : CountDestroyed,
                                      count, flags),
                 "cudaUserObjectCreate", count, flags, null)) {
    return;
  }
  unsigned left = count;
  if (world.OneIn(2) && world.Say(cudaUserObjectRetain(object, 2), "cudaUserObjectRetain", 2)) {
    left += 2;
  }
  const unsigned how = world.Of({0u, 0u, 77u});
  const bool in_graph = world.Say(cudaGraphRetainUserObject(graph->handle, object, 1, how),
                                  "cudaGraphRetainUserObject", graph->name, how);
  if (in_graph && world.OneIn(2)) {
    world.Say(cudaGraphReleaseUserObject(graph->handle, object, 1), "cudaGraphReleaseUserObject",
              graph->name);
  }
  world.Say(cudaUserObjectRelease(object, left), "cudaUserObjectRelease", left);
}

}  // namespace

uint64_t HashOfSlots() {
  std::vector<unsigned char> bytes(kSlots * kSlotBytes);
  cudaMemcpy(bytes.data(), Graphs().memory, bytes.size(), cudaMemcpyDeviceToHost);
  return twinmmu::HashOfBytes(bytes.data(), bytes.size());
}

Steps GraphExecutableSteps() {
  return {{8, Instantiate},    {16, Launch},   {1, Destroy},  {6, Update},
          {10, AskExecutable}, {3, AskMemory}, {5, UseObject}};
}

}  // namespace random_runtime
