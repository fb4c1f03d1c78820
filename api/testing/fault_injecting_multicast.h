// FaultInjectingMulticast: passes every call on, but those that a FaultPlan makes fail.
//
//   FaultPlan faults;
//   FaultInjectingMulticast multicast(real_multicast, &faults);
//   faults.FailNth(1, DriverCode::kOutOfMemory, {DriverCall::kMulticastBindMemory});
//
// A call that fails on purpose is not made: it has changed nothing.

#ifndef TWINMMU_API_TESTING_FAULT_INJECTING_MULTICAST_H_
#define TWINMMU_API_TESTING_FAULT_INJECTING_MULTICAST_H_

#include "api/testing/fault_plan.h"
#include "api/testing/forwarding.h"

namespace twinmmu {

// Thread safety: as in api/multicast.h.
class FaultInjectingMulticast : public ForwardingMulticast {
 public:
  // Both must outlive this object.
  FaultInjectingMulticast(Multicast* target, FaultPlan* faults)
      : ForwardingMulticast(target), faults_(*faults) {}

  using Multicast::BindAddress;
  using Multicast::BindMemory;

  absl::StatusOr<Bytes> GetGranularity(const MulticastProperties& properties,
                                       Granularity option) override;
  absl::StatusOr<AllocationHandle> Create(const MulticastProperties& properties) override;
  absl::Status AddDevice(AllocationHandle object, DeviceOrdinal device) override;
  absl::Status BindMemory(AllocationHandle object, Bytes offset, AllocationHandle memory,
                          Bytes memory_offset, Bytes size, uint64_t flags) override;
  absl::Status BindAddress(AllocationHandle object, Bytes offset, const AddressRange& range,
                           uint64_t flags) override;
  absl::Status Unbind(AllocationHandle object, DeviceOrdinal device, Bytes offset,
                      Bytes size) override;

 private:
  // What the plan says, or else what `call` gives.
  template <typename F>
  auto Call(DriverCall kind, const F& call) -> decltype(call());

  FaultPlan& faults_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_FAULT_INJECTING_MULTICAST_H_
