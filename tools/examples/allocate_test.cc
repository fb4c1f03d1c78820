// The examples of docs/testing.md, and the function that they test.

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/driver_call.h"
#include "api/testing/checked_vmm.h"
#include "api/testing/diagnostic_matchers.h"
#include "api/testing/fault_injecting.h"
#include "api/testing/fault_plan.h"
#include "api/testing/matchers.h"
#include "api/testing/mock_vmm.h"
#include "api/testing/tracing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/simulator.h"

using namespace twinmmu;
using testing::_;
using testing::ElementsAre;
using testing::InSequence;
using testing::IsEmpty;
using testing::NiceMock;
using testing::Return;

// Memory of device 0, mapped and accessible. An error leaves everything as it was.
absl::StatusOr<AddressRange> Allocate(Vmm& vmm, Bytes size) {
  const absl::StatusOr<AddressRange> range = vmm.AddressReserve(size);
  if (!range.ok()) return range.status();
  const absl::StatusOr<AllocationHandle> handle = vmm.Create(size, {});
  const absl::Status mapped = handle.ok() ? vmm.Map(*range, *handle) : handle.status();
  if (handle.ok()) vmm.Release(*handle).IgnoreError();  // the mapping keeps the memory
  const AccessGrant grant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite};
  const absl::Status granted = mapped.ok() ? vmm.SetAccess(*range, {grant}) : mapped;
  if (granted.ok()) return range;
  if (mapped.ok()) vmm.Unmap(*range).IgnoreError();
  vmm.AddressFree(*range).IgnoreError();
  return granted;
}

absl::Status Free(Vmm& vmm, const AddressRange& range) {
  const absl::Status status = vmm.Unmap(range);
  return status.ok() ? vmm.AddressFree(range) : status;
}

TEST(AllocateTest, GivesTheAddressesBackWhereThereIsNoMemory) {
  const AddressRange range{DeviceAddress(0x200000), MiB(2), Bytes(0)};
  MockVmm vmm;
  const InSequence in_this_order;
  EXPECT_CALL(vmm, AddressReserve(MiB(2), _)).WillOnce(Return(range));
  EXPECT_CALL(vmm, Create).WillOnce(Return(absl::ResourceExhaustedError("none left")));
  EXPECT_CALL(vmm, AddressFree(range)).WillOnce(Return(absl::OkStatus()));
  EXPECT_THAT(Allocate(vmm, MiB(2)), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(AllocateTest, GrantsAccessOnce) {
  auto simulator = Simulator::Create(Profile::ReferenceH200()).value();
  NiceMock<MockVmm> vmm;
  vmm.DelegateTo(simulator->vmm().value());
  const AccessGrant grant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite};
  EXPECT_CALL(vmm, SetAccess(_, ElementsAre(grant)));
  EXPECT_THAT(Allocate(vmm, MiB(2)), IsOk());
}

TEST(AllocateTest, LeavesNothingBehindWhicheverCallFails) {
  auto simulator = Simulator::Create(Profile::ReferenceH200()).value();
  FaultPlan faults;
  FaultInjectingVmm vmm(simulator->vmm().value(), &faults);
  for (uint64_t n = 1;; ++n) {
    faults.Clear();
    faults.FailNth(n, DriverCode::kOutOfMemory,
                   {DriverCall::kAddressReserve, DriverCall::kCreate, DriverCall::kMap,
                    DriverCall::kSetAccess});
    const absl::StatusOr<AddressRange> range = Allocate(vmm, MiB(2));
    if (faults.fired() == 0) break;  // it made less than n of these calls: each has failed once
    EXPECT_THAT(range, HasErrorOrigin(ErrorOrigin::kInjected));
    EXPECT_THAT(simulator->leaks(), IsEmpty());
  }
}

TEST(AllocateTest, HasAsMuchMemoryAfterFreeAsBefore) {
  auto simulator = Simulator::Create(Profile::ReferenceH200()).value();
  FaultPlan no_faults;
  FaultInjectingVmm vmm(simulator->vmm().value(), &no_faults);
  vmm.SetMemoryBudget(DeviceOrdinal(0), MiB(4));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, Allocate(vmm, MiB(4)));
  EXPECT_THAT(Allocate(vmm, MiB(2)), HasDriverError(DriverCode::kOutOfMemory, "cuMemCreate"));
  EXPECT_THAT(Free(vmm, range), IsOk());
  EXPECT_THAT(Allocate(vmm, MiB(4)), IsOk());
}

TEST(AllocateTest, MakesFiveCalls) {
  auto simulator = Simulator::Create(Profile::ReferenceH200()).value();
  TracingVmm vmm(simulator->vmm().value());
  EXPECT_THAT(Allocate(vmm, MiB(2)), IsOk());
  EXPECT_THAT(vmm.kinds(),
              ElementsAre(DriverCall::kAddressReserve, DriverCall::kCreate, DriverCall::kMap,
                          DriverCall::kRelease, DriverCall::kSetAccess))
      << vmm;
}

TEST(AllocateTest, IsWatchedOnAnyDriver) {
  auto simulator = Simulator::Create(Profile::ReferenceH200()).value();
  CheckedVmm vmm(simulator->vmm().value());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, Allocate(vmm, MiB(2)));
  EXPECT_THAT(vmm.AddressFree(range), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm.diagnostics(), ElementsAre(IsDiagnostic(DiagnosticKind::kFreeWhileMapped)));
  EXPECT_THAT(vmm.leaks(), ElementsAre(IsDiagnostic(DiagnosticKind::kLeakedMapping),
                                       IsDiagnostic(DiagnosticKind::kLeakedReservation)));
  EXPECT_THAT(Free(vmm, range), IsOk());
  EXPECT_THAT(vmm.leaks(), IsEmpty());
}
