// The whole path, and what is true of a simulator as a whole.

#include "sim/simulator.h"

#include <unistd.h>

#include <iostream>
#include <optional>
#include <vector>

#include "api/driver_call.h"
#include "api/driver_error.h"
#include "api/testing/every_call.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using testing_internal::MadeCall;
using testing_internal::MakeEveryCall;
using SimulatorTest = MachineTest;

// Reserve, create, map, set access, copy in, copy out, unmap: what is written is read.
TEST_F(SimulatorTest, CarriesDataThroughTheWholePath) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = Create(2);
  EXPECT_THAT(vmm().Map(range, handle), IsOk());
  EXPECT_THAT(vmm().Release(handle), IsOk());
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.base + kGranule, 0xabcd), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base + kGranule), IsOkAndHolds(0xabcdu));
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().AddressFree(range), IsOk());
}

// A machine that cannot exist is refused, and the message says what is wrong with it.
TEST(SimulatorCreateTest, RefusesAWrongProfile) {
  Profile profile = Profile::ReferenceH200();
  profile.minimum_granularity = MiB(3);
  const auto simulator = Simulator::Create(profile);
  EXPECT_THAT(simulator, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(std::string(simulator.status().message()), HasSubstr("3 MiB"));
}

// A window that the host has no room for is an error, not a crash.
TEST(SimulatorCreateTest, SaysWhenTheHostHasNoRoomForTheWindow) {
  Profile profile = Profile::ReferenceH200();
  profile.window.claimed = true;
  profile.window.size = TiB(200);
  EXPECT_THAT(Simulator::Create(profile), StatusIs(absl::StatusCode::kResourceExhausted));
}

// Two simulators share nothing: what one maps, the other does not know.
TEST_F(SimulatorTest, KnowsNothingOfAnother) {
  const auto other = Simulator::Create(Profile::ReferenceH200());
  ASSERT_THAT(other, IsOk());
  const AddressRange range = Ready(1);
  EXPECT_THAT((*(*other)->vmm())->RetainAllocationHandle(range.base + MiB(1)),
              HasDriverCode(DriverCode::kInvalidValue));
}

// Who replays what happened elsewhere says where a reservation is to be.
TEST_F(SimulatorTest, PutsTheNextReservationWhereItIsTold) {
  const DeviceAddress told = Reserve(1).base + 100 * kGranule;
  simulator_->PlaceNextReservation(told);
  EXPECT_EQ(Reserve(1).base, told);
}

// Memory is committed when touched: allocations far beyond the host's memory cost nothing.
TEST_F(SimulatorTest, CommitsMemoryLazily) {
  const AddressRange range = Reserve(128 * 512);
  MapNew(range.base, 128 * 512);
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.end() - Bytes(4), 7), IsOk());
  EXPECT_THAT(Read(kDevice0, range.end() - Bytes(4)), IsOkAndHolds(7u));
}

// Every error says the call, and that the simulator raised it.
TEST_F(SimulatorTest, SignsItsErrors) {
  const absl::Status status = vmm().Unmap(At(DeviceAddress(0x1000), kGranule));
  const std::optional<DriverError> error = GetDriverError(status);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->origin, ErrorOrigin::kSimulator);
  EXPECT_EQ(error->call, "cuMemUnmap");
  EXPECT_THAT(std::string(status.message()), HasSubstr("cuMemUnmap: address 0x1000"));
}

// Whether all are NOT_INITIALIZED, each under its own name, but for the version of the driver.
bool AreNotInitialized(const std::vector<MadeCall>& calls) {
  for (const auto& [call, method, status] : calls) {
    const std::optional<DriverError> error = GetDriverError(status);
    const bool as_expected = call == DriverCall::kGetDriverVersion
                                 ? status.ok()
                                 : error.has_value() &&
                                       error->code == DriverCode::kNotInitialized &&
                                       error->call == DriverCallName(call);
    if (as_expected) continue;
    std::cerr << method << ": " << status << "\n";
    return false;
  }
  return !calls.empty();
}

// In a child made by fork no call of any interface looks at anything.
TEST_F(SimulatorTest, GuardsEveryCallInAForkedChild) {
  const auto child = [&] {
    const bool guarded = AreNotInitialized(MakeEveryCall(vmm())) &&
                         AreNotInitialized(MakeEveryCall(executor())) &&
                         AreNotInitialized(MakeEveryCall(**simulator_->multicast())) &&
                         AreNotInitialized(MakeEveryCall(**simulator_->sparse_arrays()));
    _exit(guarded ? 42 : 1);
  };
  EXPECT_EXIT(child(), ExitedWithCode(42), "");
}

}  // namespace
}  // namespace twinmmu
