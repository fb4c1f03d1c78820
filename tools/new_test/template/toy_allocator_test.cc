#include "toy_allocator.h"

#include <memory>

#include "absl/status/status.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "gtest/gtest.h"
#include "sim/simulator.h"

namespace {

using ::twinmmu::AddressRange;
using ::twinmmu::Bytes;
using ::twinmmu::IsOk;
using ::twinmmu::KiB;
using ::twinmmu::MiB;
using ::twinmmu::StatusIs;

// On a simulated H200: the block carries data, and freeing it gives all memory back.
TEST(ToyAllocator, AllocatesAndFrees) {
  const auto simulator = twinmmu::Simulator::Create(twinmmu::Profile::ReferenceH200());
  ASSERT_THAT(simulator, IsOk());
  twinmmu::Vmm& vmm = **(*simulator)->vmm();
  twinmmu::Executor& executor = **(*simulator)->executor();
  const twinmmu::DeviceOrdinal device(0);
  const twinmmu::Bytes free_before = vmm.GetMemoryInfo(device)->free;

  ToyAllocator allocator(&vmm, device);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange block, allocator.Allocate(KiB(3)));
  int written = 42;
  int read = 0;
  EXPECT_THAT(executor.CopyHostToDevice(device, block.base, &written, Bytes(sizeof(int))), IsOk());
  EXPECT_THAT(executor.CopyDeviceToHost(device, &read, block.base, Bytes(sizeof(int))), IsOk());
  EXPECT_EQ(read, written);

  EXPECT_THAT(allocator.Free(block), IsOk());
  EXPECT_EQ(vmm.GetMemoryInfo(device)->free, free_before);
}

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
