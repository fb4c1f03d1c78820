#include "sim/libcuda/graphs/memory_nodes.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "sim/calls/pools/pool_calls.h"
#include "sim/libcuda/graphs/graph_edges.h"

namespace twinmmu::libcuda {
namespace {

// More descriptors than that are no list of grants, whatever lies there.
constexpr size_t kMaxGrants = 4096;

bool IsManaged(const CUmemPoolProps& props) {
  return props.allocType == static_cast<int>(AllocationType::kManaged);
}

bool AreHandleTypes(int types) {
  constexpr auto kKnown = static_cast<int>(HandleType::kPosixFileDescriptor | HandleType::kFabric);
  return (types & ~kKnown) == 0;
}

// Access that is granted to other places than the device has no meaning.
CUresult CheckGrants(DriverState& driver, const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  if (params.accessDescCount == 0) return CUDA_SUCCESS;
  if (params.accessDescs == nullptr || params.accessDescCount > kMaxGrants) return kInvalidValue;
  for (size_t i = 0; i < params.accessDescCount; ++i) {
    const CUmemAccessDesc& grant = params.accessDescs[i];
    const Location location = FromAbi(grant.location);
    if (!driver.simulator->profile().HasDevice(location.id))
      return ToResult(DriverCode::kInvalidDevice);
    const bool is_place =
        location.type >= LocationType::kDevice && location.type <= LocationType::kHostNuma;
    const auto access = static_cast<Access>(grant.flags);
    if (is_place && access == Access::kReadWrite) continue;
    return is_place && (access == Access::kNone || access == Access::kRead) ? kNotSupported
                                                                            : kInvalidValue;
  }
  return CUDA_SUCCESS;
}

// Where the memory of a node can be. Managed memory of a device is plain memory of it: an H200 with
// driver 580.159 says that it is not managed.
CUresult CheckPlace(DriverState& driver, const CUmemPoolProps& props) {
  const Location location = FromAbi(props.location);
  const bool is_known =
      IsManaged(props) ? props.handleTypes == 0 : AreHandleTypes(props.handleTypes);
  switch (location.type) {
    case LocationType::kDevice:
      return driver.simulator->profile().HasDevice(location.id) ? CUDA_SUCCESS : kInvalidValue;
    case LocationType::kHostNuma:
      return is_known && driver.simulator->profile().HasHostNode(location.id) ? kNotSupported
                                                                              : kInvalidValue;
    case LocationType::kHost:
      return props.handleTypes == 0 ? kNotSupported : kInvalidValue;
    default:
      return IsManaged(props) && is_known ? kNotSupported : kInvalidValue;
  }
}

// In the order in which an H200 with driver 580.159 looks at them.
CUresult Check(DriverState& driver, const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  const CUmemPoolProps& props = params.poolProps;
  const bool is_pinned = props.allocType == static_cast<int>(AllocationType::kPinned);
  if (!AreZero(props.reserved) || !(is_pinned || IsManaged(props))) return kInvalidValue;
  if (IsManaged(props) && props.usage != 0) return kInvalidValue;
  const CUresult placed = CheckPlace(driver, props);
  if (placed != CUDA_SUCCESS) return placed;
  if (props.handleTypes != 0 && (IsManaged(props) || !AreHandleTypes(props.handleTypes))) {
    return kInvalidValue;
  }
  const CUresult granted = CheckGrants(driver, params);
  if (granted != CUDA_SUCCESS) return granted;
  if (props.handleTypes != 0) return kNotSupported;
  return params.bytesize == 0 ? kInvalidValue : CUDA_SUCCESS;
}

uint64_t ReadersOf(const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  uint64_t readers = 0;
  for (size_t i = 0; i < params.accessDescCount; ++i) {
    const Location location = FromAbi(params.accessDescs[i].location);
    if (location.type == LocationType::kDevice) readers |= uint64_t{1} << location.id;
  }
  return readers;
}

bool IsFreedIn(const Graph& graph, CUdeviceptr address) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const auto& entry) {
    const auto* const freed = std::get_if<FreeWork>(&entry.second.work);
    return freed != nullptr && freed->address == address;
  });
}

// Whether there was ever an executable graph of a node that allocates there: the graph of it frees
// that no more. Source: an H200 with driver 580.159.
bool WasInstantiatedIn(const Graph& graph, CUdeviceptr address) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const auto& entry) {
    const auto* const alloc = std::get_if<AllocWork>(&entry.second.work);
    return alloc != nullptr && alloc->params.dptr == address && alloc->was_instantiated;
  });
}

// No node of memory is added to a graph inside another, but for the body of a conditional node,
// which is refused later. Source: an H200 with driver 580.159.
bool IsChild(DriverState& driver, const Graph& graph) {
  const auto name = HandleOf<CUgraph>(graph.id());
  return driver.graphs->IsChild(name) && !driver.graphs->IsBody(name);
}

}  // namespace

CUresult MakeAlloc(const CallSite& site, DriverState& driver, Graph& graph, const NewNode& node,
                   const CUDA_MEM_ALLOC_NODE_PARAMS& given, AllocWork* made) {
  // What else is wrong with these nodes comes after what is wrong with the memory.
  if (!HasDependencies(graph, node)) return kInvalidValue;
  const CUresult valid = Check(driver, given);
  if (valid != CUDA_SUCCESS) return valid;
  if (IsChild(driver, graph)) return kNotSupported;
  graph.SetOfMemory();
  std::vector<GraphLink> dependencies;
  const CUresult found =
      FindDependencies(graph, *made, node.dependencies, node.data, node.count, &dependencies);
  if (found != CUDA_SUCCESS) return found;
  PoolCalls& pools = driver.simulator->pools();
  const absl::StatusOr<DeviceAddress> address =
      pools.Reserve(site.name(), DeviceOrdinal(given.poolProps.location.id), graph.id(),
                    Bytes(given.bytesize), ReadersOf(given));
  if (!address.ok()) {
    graph.AddInVain(dependencies);
    return ToResult(address.status());
  }
  absl::Cleanup undo = [&] { ReservedMemory(&pools, *address); };
  made->memory = std::make_shared<ReservedMemory>(&pools, *address);
  std::move(undo).Cancel();
  made->grants = std::make_shared<std::vector<CUmemAccessDesc>>(
      given.accessDescs, given.accessDescs + given.accessDescCount);
  made->params = given;
  made->params.accessDescs = given.accessDescCount == 0 ? nullptr : made->grants->data();
  made->params.dptr = address->value();
  return CUDA_SUCCESS;
}

CUresult MakeFree(DriverState& driver, const Graph& graph, const NewNode& node, CUdeviceptr address,
                  FreeWork* made) {
  if (IsChild(driver, graph)) {
    return HasDependencies(graph, node) ? kNotSupported : kInvalidValue;
  }
  const auto reserved = driver.simulator->pools().FindReserved(DeviceAddress(address));
  if (!reserved.has_value() || reserved->base != DeviceAddress(address)) return kInvalidValue;
  if (IsFreedIn(graph, address) || WasInstantiatedIn(graph, address)) return kInvalidValue;
  made->address = address;
  return CUDA_SUCCESS;
}

bool HasMemoryNodes(const Graph& graph) {
  if (graph.is_of_memory()) return true;
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& entry) {
    const GraphWork& work = entry.second.work;
    const auto* const child = std::get_if<ChildWork>(&work);
    return std::holds_alternative<AllocWork>(work) || std::holds_alternative<FreeWork>(work) ||
           (child != nullptr && HasMemoryNodes(*child->graph));
  });
}

bool IsOfNode(DriverState& driver, DeviceAddress address) {
  return driver.simulator->pools().FindReserved(address).has_value();
}

bool IsInsideNode(DriverState& driver, const AddressRange& range) {
  const auto reserved = driver.simulator->pools().FindReserved(range.base);
  return !reserved.has_value() || reserved->contains(range);
}

CUresult CommitMemory(const CallSite& site, DriverState& driver, const Graph& graph) {
  for (const auto& [id, node] : graph.nodes()) {
    CUresult committed = CUDA_SUCCESS;
    if (const auto* const child = std::get_if<ChildWork>(&node.work)) {
      committed = CommitMemory(site, driver, *child->graph);
    } else if (const auto* const alloc = std::get_if<AllocWork>(&node.work)) {
      committed =
          ToResult(driver.simulator->pools().CommitReserved(site.name(), alloc->memory->address()));
    }
    if (committed != CUDA_SUCCESS) return committed;
  }
  return CUDA_SUCCESS;
}

namespace {

// What the nodes of a launch allocate and free, by address.
struct LaunchedMemory {
  std::set<CUdeviceptr> allocated;
  std::set<CUdeviceptr> freed;
};

void Collect(const Graph& graph, LaunchedMemory* memory) {
  for (const auto& [id, node] : graph.nodes()) {
    if (const auto* const child = std::get_if<ChildWork>(&node.work)) {
      Collect(*child->graph, memory);
    } else if (const auto* const alloc = std::get_if<AllocWork>(&node.work)) {
      memory->allocated.insert(alloc->params.dptr);
    } else if (const auto* const freed = std::get_if<FreeWork>(&node.work)) {
      memory->freed.insert(freed->address);
    }
  }
}

}  // namespace

CUresult PrepareMemory(const CallSite& site, DriverState& driver, const Graph& graph, bool frees,
                       Stream stream) {
  const PoolCalls& pools = driver.simulator->pools();
  LaunchedMemory memory;
  Collect(graph, &memory);
  const auto is_there = [&](CUdeviceptr address) {
    return pools.Find(DeviceAddress(address)).has_value();
  };
  for (const CUdeviceptr address : memory.freed) {
    if (memory.allocated.count(address) == 0 && !is_there(address)) return kInvalidValue;
  }
  for (const CUdeviceptr address : memory.allocated) {
    if (!is_there(address)) continue;
    if (!frees) return kInvalidValue;
    const absl::Status freed = Free(driver, FreeWork{address}, stream);
    if (!freed.ok()) return ToResult(freed);
  }
  return CommitMemory(site, driver, graph);
}

void FreeAllocated(DriverState& driver, const Graph& graph, Stream stream) {
  try {
    LaunchedMemory memory;
    Collect(graph, &memory);
    PoolCalls& pools = driver.simulator->pools();
    for (const CUdeviceptr address : memory.allocated) {
      if (!pools.Find(DeviceAddress(address)).has_value()) continue;
      Free(driver, FreeWork{address}, stream).IgnoreError();
    }
    pools.TrimReserved(stream.device());
  } catch (const std::bad_alloc&) {  // then it stays for the program to free
  }
}

absl::Status Allocate(const CallSite& site, DriverState& driver, const AllocWork& work,
                      Stream stream) {
  const DeviceAddress address = work.memory->address();
  absl::Status done = driver.simulator->pools().AllocateReserved(site.name(), stream, address);
  if (done.ok()) {
    driver.report.AddObject(ObjectKind::kMemory, address.value(), Bytes(work.params.bytesize),
                            work.params.poolProps.location.id);
  }
  return done;
}

absl::Status Free(DriverState& driver, const FreeWork& work, Stream stream) {
  absl::Status done = driver.simulator->pools().Free(stream, DeviceAddress(work.address));
  if (done.ok()) driver.report.RemoveObject(ObjectKind::kMemory, work.address);
  return done;
}

}  // namespace twinmmu::libcuda
