// Attributes of kernel nodes. All but two say how fast something is to be done, and mean nothing
// here.

#include <algorithm>
#include <cstring>

#include "sim/libcuda/calls/launches.h"
#include "sim/libcuda/graphs/graph_nodes.h"
#include "sim/libcuda/graphs/graphs.h"

namespace twinmmu::libcuda {
namespace {

// Those that a kernel node has, as an H100 with driver 580.159 knows them.
bool IsKnown(CUlaunchAttributeID id) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return true;
    default:
      return false;
  }
}

CUlaunchAttributeValue DefaultOf(CUlaunchAttributeID id) {
  CUlaunchAttributeValue value = {};
  // Domain 0 by default, 1 for remote memory.
  if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value.pad[1] = 1;
  return value;
}

// Gives the fields of the attribute; other bytes are left alone.
void Tell(CUlaunchAttributeID id, const CUlaunchAttributeValue& known,
          CUlaunchAttributeValue* value) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      value->accessPolicyWindow = known.accessPolicyWindow;
      break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      value->clusterDim = known.clusterDim;
      break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      value->memSyncDomainMap = known.memSyncDomainMap;
      break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      value->deviceUpdatableKernelNode.deviceUpdatable =
          known.deviceUpdatableKernelNode.deviceUpdatable;
      value->deviceUpdatableKernelNode.devNode = known.deviceUpdatableKernelNode.devNode;
      break;
    default:
      value->memSyncDomain = known.memSyncDomain;  // a number in the same place
      break;
  }
}

// Whether a node can have it. How clusters are best placed may be any number, other than for a
// launch. Source: an H200 with driver 580.159.
bool IsValid(CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return true;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: {
      const auto& asked = value.deviceUpdatableKernelNode;
      const bool is_said = asked.deviceUpdatable == 0 || asked.deviceUpdatable == 1;
      return is_said && asked.devNode == nullptr;  // the driver says which it is
    }
    default:
      return IsLaunchValue(id, value);
  }
}

// The driver keeps a priority within its range.
CUlaunchAttributeValue Kept(CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
  if (id != CU_LAUNCH_ATTRIBUTE_PRIORITY) return value;
  int priority = 0;
  std::memcpy(&priority, &value, sizeof(priority));
  priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  CUlaunchAttributeValue kept = {};
  std::memcpy(static_cast<void*>(&kept), &priority, sizeof(priority));
  return kept;
}

}  // namespace

extern "C" CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID id,
                                                  CUlaunchAttributeValue* value) {
  return EnterWork<KernelWork>(TWINMMU_HERE, node, {value},
                               [&](DriverState&, const KernelWork& work) {
                                 if (!IsKnown(id)) return kInvalidValue;
                                 const auto set = work.attributes.find(id);
                                 const CUlaunchAttributeValue known =
                                     set == work.attributes.end() ? DefaultOf(id) : set->second;
                                 Tell(id, known, value);
                                 return CUDA_SUCCESS;
                               });
}

extern "C" CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID id,
                                                  const CUlaunchAttributeValue* value) {
  const CallSite site = TWINMMU_HERE;
  return EnterWork<KernelWork>(site, node, {value}, [&](DriverState& driver, KernelWork& work) {
    if (!IsValid(id, *value)) return kInvalidValue;
    if (id == CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING) return CUDA_SUCCESS;
    if (!IsKnown(id)) return kInvalidValue;
    const CUresult fault = FaultOf(site, driver);
    if (fault != CUDA_SUCCESS) return fault;
    LaunchAttributes changed = work.attributes;
    changed[id] = Kept(id, *value);
    if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const CUresult possible = CheckAttributes(site, driver, work, changed);
      if (possible != CUDA_SUCCESS) return possible;
    }
    work.attributes.swap(changed);
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  const CallSite site = TWINMMU_HERE;
  return EnterWork<KernelWork>(
      site, to, {}, [&](DriverState& driver, KernelWork& work) -> CUresult {
        const std::shared_ptr<Graph> graph = driver.graphs->FindGraphOf(from);
        if (graph == nullptr) return NoSuchGraph();
        const auto* const source = std::get_if<KernelWork>(&graph->Find(IdOf(from))->work);
        // After a fault an H200 with driver 580.159 gives this, too, and not the code of the fault.
        const bool is_whole = FaultOf(site, driver) == CUDA_SUCCESS;
        if (source == nullptr || !is_whole) return kInvalidValue;
        LaunchAttributes copied = source->attributes;
        if (CheckAttributes(site, driver, work, copied) != CUDA_SUCCESS) return kInvalidValue;
        work.attributes.swap(copied);
        return CUDA_SUCCESS;
      });
}

}  // namespace twinmmu::libcuda
