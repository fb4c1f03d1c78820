#include "toy_allocator.h"

#include "absl/status/status.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "gtest/gtest.h"

#ifndef EXAMPLE_OWN_ABSEIL
#error "This workspace's own Abseil should be in use."
#endif
#ifndef EXAMPLE_OWN_GOOGLETEST
#error "This workspace's own GoogleTest should be in use."
#endif

namespace {

using ::twinmmu::AddressRange;
using ::twinmmu::Bytes;
using ::twinmmu::KiB;
using ::twinmmu::MiB;
using ::twinmmu::StatusIs;

// A device whose memory is used up. Overrides all that ToyAllocator calls, so it needs no target.
class FullDevice : public twinmmu::ForwardingVmm {
 public:
  FullDevice() : ForwardingVmm(this) {}

  absl::StatusOr<Bytes> GetAllocationGranularity(const twinmmu::AllocationProperties&,
                                                 twinmmu::Granularity) override {
    return MiB(2);
  }
  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const twinmmu::ReserveOptions&) override {
    ++reservations;
    return AddressRange{twinmmu::DeviceAddress(MiB(2).value()), size, Bytes(0)};
  }
  absl::Status AddressFree(const AddressRange&) override {
    --reservations;
    return absl::OkStatus();
  }
  absl::StatusOr<twinmmu::AllocationHandle> Create(Bytes, const twinmmu::AllocationProperties&,
                                                   uint64_t) override {
    return absl::ResourceExhaustedError("full");
  }

  int reservations = 0;
};

TEST(ToyAllocator, LeavesNothingBehindOnAFullDevice) {
  FullDevice vmm;
  ToyAllocator allocator(&vmm, twinmmu::DeviceOrdinal(0));
  EXPECT_THAT(allocator.Allocate(KiB(3)), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(vmm.reservations, 0);
}

}  // namespace
