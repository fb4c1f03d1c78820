// EndpointCalls: the driver's calls for logical endpoints, which api/ does not have.

#ifndef TWINMMU_SIM_CALLS_ENDPOINTS_ENDPOINT_CALLS_H_
#define TWINMMU_SIM_CALLS_ENDPOINTS_ENDPOINT_CALLS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/multicast.h"
#include "api/vmm.h"
#include "sim/base/call_guard.h"
#include "sim/host/fabric_domain.h"

namespace twinmmu {

struct SimulatorState;

// CUlogicalEndpointType.
enum class EndpointType : int32_t { kUnicast = 1, kMulticast = 2 };

// CUlogicalEndpointProp.
struct EndpointProperties {
  EndpointType type = EndpointType::kUnicast;
  DeviceOrdinal owner;        // of a unicast endpoint
  uint32_t device_count = 0;  // of a multicast endpoint
  Bytes size;
  uint32_t handle_types = 0;  // a set of bits: kEndpointFabric
  uint32_t flags = 0;
};
inline constexpr uint32_t kEndpointFabric = 1;

// A logical endpoint names memory of one device, its owner, or of a team of devices, by a number
// and an offset. Kernels reach it by operations on the fabric, which are not modelled: here are the
// numbers, what is bound where, and who shares it. Behind an endpoint is a multicast object, of one
// device if it is unicast.
//
// Source: CUDA Driver API of 13.3 and 13.4. Nobody measured any of it; what the documentation does
// not say, docs/reference/contract.md lists. Errors, state after an error, thread safety: as in
// api/vmm.h. Where no device has endpoints of the kind, NOT_SUPPORTED.
class EndpointCalls {
 public:
  // All must outlive this object.
  EndpointCalls(SimulatorState* state, Vmm* vmm, Multicast* multicast)
      : state_(*state), vmm_(*vmm), multicast_(*multicast) {}

  // Numbers for endpoints, one behind the other, and back. InvalidArgument: none; some that are not
  // reserved, or name an endpoint. ResourceExhausted: so many are not left.
  absl::StatusOr<uint32_t> ReserveIds(uint32_t count);
  absl::Status ReleaseIds(uint32_t first, uint32_t count);

  struct Limits {
    Bytes alignment;  // of sizes and offsets
    Bytes most;       // that an endpoint can have
  };
  absl::StatusOr<Limits> GetLimits(const EndpointProperties& properties) const;

  // InvalidArgument: the number is not reserved, or names an endpoint; properties that do not
  // exist, or are beyond the limits. PermissionDenied: it is to be shared, which this user may not.
  // The result is the object behind it, for reports.
  absl::StatusOr<AllocationHandle> Create(uint32_t id, const EndpointProperties& properties);
  // InvalidArgument: as for Multicast::AddDevice; it is unicast. NotFound (INVALID_DEVICE): no such
  // device, or it is not in the clique of the others.
  absl::Status AddDevice(uint32_t id, DeviceOrdinal device);
  // True: all these numbers name endpoints whose teams are complete. Then memory can be bound.
  absl::StatusOr<bool> Query(uint32_t first, uint32_t count);

  // As Multicast::BindMemoryForDevice and BindAddressForDevice. InvalidArgument: also before Query
  // was true; the device is not the owner; it is an imported unicast endpoint.
  absl::Status BindMemory(uint32_t id, DeviceOrdinal device, Bytes offset, AllocationHandle memory,
                          Bytes memory_offset, Bytes size, uint64_t flags);
  absl::Status BindAddress(uint32_t id, DeviceOrdinal device, Bytes offset,
                           const AddressRange& range, uint64_t flags);
  // All that this process bound there. InvalidArgument: nothing was bound at `offset`, or something
  // is there only in part.
  absl::Status Unbind(uint32_t id, DeviceOrdinal device, Bytes offset, Bytes size);

  absl::StatusOr<FabricHandle> Export(uint32_t id, uint32_t handle_type);
  // An endpoint of one device is taken for a unicast one. Unimplemented: the handle names none.
  absl::StatusOr<AllocationHandle> Import(uint32_t id, const FabricHandle& handle,
                                          uint32_t handle_type);
  // Unbinds what this process bound. The result is the object that was behind it.
  absl::StatusOr<AllocationHandle> Destroy(uint32_t id);

 private:
  struct Binding {
    DeviceOrdinal device;
    Bytes offset;
    Bytes size;
  };
  struct Endpoint {
    AllocationHandle object;
    bool unicast = false;
    bool imported = false;
    DeviceOrdinal owner;
    bool ready = false;                  // as Query said
    std::vector<DeviceOrdinal> devices;  // that this process added
    std::vector<Binding> bindings;       // of this process
  };
  using Endpoints = std::map<uint32_t, Endpoint>;

  // With mutex_ held, all of them.
  bool IsReserved(uint32_t first, uint32_t count) const;
  absl::Status CheckFree(const char* call, uint32_t id) const;
  absl::StatusOr<Endpoint*> Find(const char* call, uint32_t id);
  absl::StatusOr<Endpoint*> FindOn(const char* call, uint32_t id, DeviceOrdinal device);
  absl::StatusOr<Endpoint*> FindBindable(const char* call, uint32_t id, DeviceOrdinal device);
  absl::StatusOr<bool> IsComplete(const char* call, const Endpoint& endpoint) const;

  bool Has(int attribute, DeviceOrdinal device) const;
  absl::Status CheckProperties(const char* call, const EndpointProperties& properties) const;
  Limits LimitsOf(const EndpointProperties& properties) const;

  SimulatorState& state_;
  Vmm& vmm_;
  Multicast& multicast_;
  const CallGuard guard_;
  std::mutex mutex_;                       // before mmu.mutex
  std::map<uint32_t, uint32_t> reserved_;  // the first of some, and how many
  uint32_t next_id_ = 1;
  Endpoints endpoints_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_ENDPOINTS_ENDPOINT_CALLS_H_
