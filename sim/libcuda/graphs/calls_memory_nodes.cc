// Nodes that allocate memory and free it, and the memory that graphs have of a device.

#include "sim/calls/pools/pool_calls.h"
#include "sim/libcuda/graphs/graphs.h"
#include "sim/libcuda/graphs/memory_nodes.h"
#include "sim/libcuda/graphs/new_nodes.h"

namespace twinmmu::libcuda {

extern "C" CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph,
                                           const CUgraphNode* dependencies, size_t count,
                                           CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  const CallSite site = TWINMMU_HERE;
  const NewNode added_node = {node, graph, dependencies, nullptr, count};
  CUdeviceptr address = 0;
  const CUresult added =
      AddNode(site, added_node, params, [&](DriverState& driver, GraphWork* work) {
        AllocWork& made = work->emplace<AllocWork>();
        const CUresult possible =
            MakeAlloc(site, driver, *driver.graphs->Find(graph), added_node, *params, &made);
        address = made.params.dptr;
        return possible;
      });
  if (added == CUDA_SUCCESS) params->dptr = address;
  return added;
}

extern "C" CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node,
                                                 CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return EnterWork<AllocWork>(TWINMMU_HERE, node, {params},
                              [&](DriverState&, const AllocWork& work) {
                                *params = work.params;
                                return CUDA_SUCCESS;
                              });
}

extern "C" CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph,
                                          const CUgraphNode* dependencies, size_t count,
                                          CUdeviceptr address) {
  const NewNode added = {node, graph, dependencies, nullptr, count};
  return AddNode(TWINMMU_HERE, added, node, [&](DriverState& driver, GraphWork* work) {
    return MakeFree(driver, *driver.graphs->Find(graph), added, address,
                    &work->emplace<FreeWork>());
  });
}

extern "C" CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  return EnterWork<FreeWork>(TWINMMU_HERE, node, {address},
                             [&](DriverState&, const FreeWork& work) {
                               *address = work.address;
                               return CUDA_SUCCESS;
                             });
}

// --- What graphs have of a device ----------------------------------------------------------------

namespace {

// Enter with body(pools, device), if there is that device, which counts before what is null.
template <typename Body>
CUresult EnterForDevice(const CallSite& site, Needed needed, CUdevice device, const Body& body) {
  return Enter(site, [&](DriverState& driver) {
    const absl::StatusOr<int> count = driver.vmm.GetDeviceCount();
    if (!count.ok() || device < 0 || device >= *count) return DriverCode::kInvalidDevice;
    const DriverCode there = CheckNeeded(site, needed);
    if (there != DriverCode::kSuccess) return there;
    return body(driver.simulator->pools(), DeviceOrdinal(device));
  });
}

}  // namespace

extern "C" CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return EnterForDevice(TWINMMU_HERE, {}, device, [](PoolCalls& pools, DeviceOrdinal of) {
    pools.TrimReserved(of);
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                                 void* value) {
  return EnterForDevice(TWINMMU_HERE, {value}, device, [&](PoolCalls& pools, DeviceOrdinal of) {
    const GraphPool bytes = pools.OfGraphs(of);
    auto* const to = static_cast<uint64_t*>(value);
    switch (attribute) {
      case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
        *to = bytes.used.now.value();
        return DriverCode::kSuccess;
      case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
        *to = bytes.used.high.value();
        return DriverCode::kSuccess;
      case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
        *to = bytes.reserved.now.value();
        return DriverCode::kSuccess;
      case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        *to = bytes.reserved.high.value();
        return DriverCode::kSuccess;
      default:
        return DriverCode::kInvalidValue;
    }
  });
}

// Only that the most there was is forgotten.
extern "C" CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                                 void* value) {
  return EnterForDevice(TWINMMU_HERE, {value}, device, [&](PoolCalls& pools, DeviceOrdinal of) {
    const bool of_used = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH;
    if (!of_used && attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
      return DriverCode::kInvalidValue;
    }
    if (*static_cast<const uint64_t*>(value) != 0) return DriverCode::kInvalidValue;
    pools.ForgetHigh(of, of_used);
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda
