// Logical endpoints, and the cliques of devices that reach each other.
// Source: CUDA Driver API of 13.3 and 13.4. Nobody measured any of it.

#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/calls/endpoints/endpoint_calls.h"
#include "sim/host/memory_label.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

EndpointProperties FromAbi(const CUlogicalEndpointProp& prop) {
  EndpointProperties properties;
  properties.type = static_cast<EndpointType>(prop.type);
  if (properties.type == EndpointType::kUnicast) {
    properties.owner = DeviceOrdinal(prop.unicast.device);
  } else {
    properties.device_count = prop.multicast.numDevices;
  }
  properties.size = Bytes(prop.size);
  properties.handle_types = prop.ipcHandleTypes;
  properties.flags = prop.flags;
  return properties;
}

// What is behind an endpoint, for the report.
void TellOfObject(DriverState& driver, const absl::StatusOr<AllocationHandle>& object, Bytes size) {
  if (object.ok()) driver.report.AddAllocation(*object, size, AllocationKind::kMulticastObject);
}

bool Has(const DriverState& driver, CUdevice dev, int attribute) {
  return driver.simulator->profile().Supports(static_cast<DeviceAttribute>(attribute), dev);
}

// The cliques of a device, of which each type has at most one here: those whose devices are all
// peers of one another. Its id is the first device in it.
std::vector<CUcliqueInfo> CliquesOf(const DriverState& driver, CUdevice dev) {
  // CUcliqueType: unicast and multicast pointers, then endpoints; and what a device needs for each.
  constexpr int kNeeded[] = {128, 132, 153, 154};
  const Profile& profile = driver.simulator->profile();
  unsigned int first = 0;
  while (static_cast<int>(first) != dev && !profile.peers[static_cast<size_t>(dev)][first]) ++first;
  std::vector<CUcliqueInfo> cliques;
  for (int type = 0; type < 4; ++type) {
    if (Has(driver, dev, kNeeded[type])) cliques.push_back({type, first});
  }
  return cliques;
}

}  // namespace

// --- Endpoints -----------------------------------------------------------------------------------

extern "C" CUresult cuLogicalEndpointIdReserve(CUlogicalEndpointId* base, unsigned int count) {
  return Enter(TWINMMU_HERE, {base}, [&](DriverState& driver) {
    return Give(driver.simulator->endpoints().ReserveIds(count), base);
  });
}

extern "C" CUresult cuLogicalEndpointIdRelease(CUlogicalEndpointId base, unsigned int count) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.simulator->endpoints().ReleaseIds(base, count);
  });
}

extern "C" CUresult cuLogicalEndpointCreate(CUlogicalEndpointId id,
                                            const CUlogicalEndpointProp* prop) {
  return Enter(TWINMMU_HERE, {prop}, [&](DriverState& driver) {
    const EndpointProperties properties = FromAbi(*prop);
    const auto object = driver.simulator->endpoints().Create(id, properties);
    TellOfObject(driver, object, properties.size);
    return object.status();
  });
}

extern "C" CUresult cuLogicalEndpointAddDevice(CUlogicalEndpointId id, CUdevice dev) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.simulator->endpoints().AddDevice(id, DeviceOrdinal(dev));
  });
}

extern "C" CUresult cuLogicalEndpointDestroy(CUlogicalEndpointId id) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    const auto object = driver.simulator->endpoints().Destroy(id);
    if (object.ok()) driver.report.RemoveReference(*object);
    return object.status();
  });
}

extern "C" CUresult cuLogicalEndpointBindAddr(CUlogicalEndpointId id, CUdevice dev,
                                              unsigned long long offset, void* ptr,
                                              unsigned long long size, unsigned long long flags) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.simulator->endpoints().BindAddress(id, DeviceOrdinal(dev), Bytes(offset),
                                                     RangeOf(ToNumber(ptr), size), flags);
  });
}

extern "C" CUresult cuLogicalEndpointBindMem(CUlogicalEndpointId id, CUdevice dev,
                                             unsigned long long offset,
                                             CUmemGenericAllocationHandle memory,
                                             unsigned long long memOffset, unsigned long long size,
                                             unsigned long long flags) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.simulator->endpoints().BindMemory(id, DeviceOrdinal(dev), Bytes(offset),
                                                    AllocationHandle(memory), Bytes(memOffset),
                                                    Bytes(size), flags);
  });
}

extern "C" CUresult cuLogicalEndpointUnbind(CUlogicalEndpointId id, CUdevice dev,
                                            unsigned long long offset, unsigned long long size) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.simulator->endpoints().Unbind(id, DeviceOrdinal(dev), Bytes(offset), Bytes(size));
  });
}

extern "C" CUresult cuLogicalEndpointExport(void* handle, CUlogicalEndpointId id,
                                            CUlogicalEndpointIpcHandleType type) {
  return Enter(TWINMMU_HERE, {handle}, [&](DriverState& driver) {
    const absl::StatusOr<FabricHandle> shared =
        driver.simulator->endpoints().Export(id, static_cast<uint32_t>(type));
    if (shared.ok()) std::memcpy(handle, shared->data(), shared->size());
    return shared.status();
  });
}

extern "C" CUresult cuLogicalEndpointImport(CUlogicalEndpointId id, const void* handle,
                                            CUlogicalEndpointIpcHandleType type) {
  return Enter(TWINMMU_HERE, {handle}, [&](DriverState& driver) {
    FabricHandle shared = {};
    if (type == static_cast<int>(kEndpointFabric)) {
      std::memcpy(shared.data(), handle, shared.size());
    }
    const auto object =
        driver.simulator->endpoints().Import(id, shared, static_cast<uint32_t>(type));
    TellOfObject(driver, object, Bytes(0));
    return object.status();
  });
}

extern "C" CUresult cuLogicalEndpointGetLimits(unsigned long long* bindAlignment,
                                               unsigned long long* maxSize,
                                               const CUlogicalEndpointProp* prop) {
  return Enter(TWINMMU_HERE, {bindAlignment, maxSize, prop}, [&](DriverState& driver) {
    const auto limits = driver.simulator->endpoints().GetLimits(FromAbi(*prop));
    if (!limits.ok()) return ToResult(limits.status());
    *bindAlignment = limits->alignment.value();
    *maxSize = limits->most.value();
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuLogicalEndpointQuery(CUlogicalEndpointId id, unsigned int count,
                                           int* status) {
  return Enter(TWINMMU_HERE, {status}, [&](DriverState& driver) {
    return Give(driver.simulator->endpoints().Query(id, count), status);
  });
}

// --- Cliques -------------------------------------------------------------------------------------

extern "C" CUresult cuDeviceGetCliqueCount(size_t* count, CUdevice dev) {
  return Enter(TWINMMU_HERE, {count}, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    *count = CliquesOf(driver, dev).size();
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuDeviceGetCliqueInfo(CUcliqueInfo* info, size_t* count, CUdevice dev) {
  return Enter(TWINMMU_HERE, {info, count}, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    const std::vector<CUcliqueInfo> cliques = CliquesOf(driver, dev);
    *count = std::min(*count, cliques.size());
    std::copy_n(cliques.begin(), *count, info);
    return DriverCode::kSuccess;
  });
}

// All devices of the machine are in one cluster, whose name is that of the channel in which they
// find each other's handles.
extern "C" CUresult cuDeviceGetFabricClusterUuid(CUuuid* uuid, CUdevice dev) {
  return Enter(TWINMMU_HERE, {uuid}, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    const Profile& profile = driver.simulator->profile();
    const uint64_t words[] = {
        FingerprintOf({reinterpret_cast<const uint8_t*>(profile.fabric_domain.data()),
                       profile.fabric_domain.size()}),
        static_cast<uint64_t>(profile.fabric_channel)};
    static_assert(sizeof(words) == sizeof(*uuid));
    std::memcpy(uuid, words, sizeof(words));
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda
