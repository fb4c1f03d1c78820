// MachineTest: a fixture with a simulated machine and the steps that most tests begin with.

#ifndef TWINMMU_SIM_TESTING_TEST_MACHINE_H_
#define TWINMMU_SIM_TESTING_TEST_MACHINE_H_

#include <array>
#include <cstdint>
#include <memory>

#include "api/testing/matchers.h"
#include "api/vmm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/calls/linear/linear_calls.h"
#include "sim/simulator.h"

namespace twinmmu {

inline constexpr Bytes kGranule = MiB(2);
inline constexpr DeviceOrdinal kDevice0(0);
inline constexpr DeviceOrdinal kDevice1(1);

constexpr AddressRange At(DeviceAddress base, Bytes size) {
  return AddressRange{base, size, Bytes(0)};
}
constexpr AccessGrant For(DeviceOrdinal device, Access access) {
  return AccessGrant{Location::Device(device), access};
}
constexpr AccessGrant ForHost(Access access) { return AccessGrant{Location::Host(), access}; }
inline AllocationProperties On(const Location& location) {
  AllocationProperties properties;
  properties.location = location;
  return properties;
}
inline AllocationProperties Shareable() {
  AllocationProperties properties;
  properties.requested_handle_types = HandleType::kPosixFileDescriptor;
  return properties;
}

// The reference machine with two devices, unless a derived fixture passes another profile. The
// helpers below fail the test if the step fails.
class MachineTest : public testing::Test {
 protected:
  MachineTest() : MachineTest(Profile::ReferenceH200(2)) {}
  explicit MachineTest(const Profile& profile) : simulator_(*Simulator::Create(profile)) {}

  Vmm& vmm() { return **simulator_->vmm(); }
  Executor& executor() { return **simulator_->executor(); }
  LinearCalls& linear() { return simulator_->linear(); }
  const Profile& profile() const { return simulator_->profile(); }

  AddressRange Reserve(uint64_t granules, DeviceAddress hint = DeviceAddress(0)) {
    const auto range = vmm().AddressReserve(granules * kGranule, {Bytes(0), hint, 0});
    EXPECT_THAT(range, IsOk());
    return *range;
  }
  AllocationHandle Create(uint64_t granules, const AllocationProperties& properties = {}) {
    const auto handle = vmm().Create(granules * kGranule, properties);
    EXPECT_THAT(handle, IsOk());
    return *handle;
  }
  // Maps a new allocation at `base` and gives its handle, which still has its reference.
  AllocationHandle MapNew(DeviceAddress base, uint64_t granules,
                          const AllocationProperties& properties = {}) {
    const AllocationHandle handle = Create(granules, properties);
    EXPECT_THAT(vmm().Map(At(base, granules * kGranule), handle), IsOk());
    return handle;
  }
  void Grant(const AddressRange& range, const AccessGrant& grant) {
    EXPECT_THAT(vmm().SetAccess(range, std::array{grant}), IsOk());
  }
  // A reservation, all of it mapped, granted to device 0.
  AddressRange Ready(uint64_t granules, const AllocationProperties& properties = {}) {
    const AddressRange range = Reserve(granules);
    MapNew(range.base, granules, properties);
    Grant(range, For(kDevice0, Access::kReadWrite));
    return range;
  }

  absl::Status Write(DeviceOrdinal device, DeviceAddress address, uint32_t value) {
    return executor().CopyHostToDevice(device, address, &value, Bytes(sizeof(value)));
  }
  absl::StatusOr<uint32_t> Read(DeviceOrdinal device, DeviceAddress address) {
    uint32_t value = 0;
    const absl::Status status =
        executor().CopyDeviceToHost(device, &value, address, Bytes(sizeof(value)));
    if (!status.ok()) return status;
    return value;
  }
  // What GetAccess answers, or -1 where nothing is mapped.
  int AccessOf(DeviceOrdinal device, DeviceAddress address) {
    const auto access = vmm().GetAccess(Location::Device(device), address);
    return access.ok() ? static_cast<int>(*access) : -1;
  }

  std::unique_ptr<Simulator> simulator_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_TESTING_TEST_MACHINE_H_
