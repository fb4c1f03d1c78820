// User objects: what graphs keep alive for the program.

#include <cstdint>

#include "sim/libcuda/graphs/graph_calls.h"

namespace twinmmu::libcuda {

extern "C" CUresult cuUserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy,
                                       unsigned int references, unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  const Needed needed = {object, reinterpret_cast<const void*>(destroy)};
  return EnterGraphs(site, needed, [&](DriverState&, Graphs& graphs) {
    if (references == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) return kInvalidValue;
    *object = HandleOf<CUuserObject>(graphs.Add(UserObject{pointer, destroy, references}));
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
  return EnterGraphs(TWINMMU_HERE, {}, [&](DriverState&, Graphs& graphs) {
    UserObject* const found = graphs.Find(object);
    if (found == nullptr || count == 0 || count > INT_MAX) return kInvalidValue;
    found->references += count;
    return CUDA_SUCCESS;
  });
}

// Nobody looks how many there are; what is less than none is so in the numbers of the machine.
// Source: an H200 with driver 580.159.
extern "C" CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
  return EnterGraphs(TWINMMU_HERE, {}, [&](DriverState&, Graphs& graphs) {
    if (graphs.Find(object) == nullptr || count == 0) return kInvalidValue;
    graphs.Release(IdOf(object), count);
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                            unsigned int flags) {
  return EnterGraph(TWINMMU_HERE, graph, {}, [&](DriverState&, Graphs& graphs, Graph& found) {
    UserObject* const held = graphs.Find(object);
    if (held == nullptr || count == 0 || (flags & ~CU_GRAPH_USER_OBJECT_MOVE) != 0) {
      return kInvalidValue;
    }
    uint64_t& references = graphs.HeldBy(found.id())[IdOf(object)];
    references += count;
    if (flags == 0) held->references += count;
    return CUDA_SUCCESS;
  });
}

// The same of a graph, which may then hold less than none.
extern "C" CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object,
                                             unsigned int count) {
  return EnterGraph(TWINMMU_HERE, graph, {}, [&](DriverState&, Graphs& graphs, Graph& found) {
    if (graphs.Find(object) == nullptr || count == 0) return kInvalidValue;
    std::map<GraphId, uint64_t>& held = graphs.HeldBy(found.id());
    uint64_t& references = held[IdOf(object)];
    references -= count;
    if (references == 0) held.erase(IdOf(object));
    graphs.Release(IdOf(object), count);
    return CUDA_SUCCESS;
  });
}

}  // namespace twinmmu::libcuda
