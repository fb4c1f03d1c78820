// What api/testing has for tests of allocators, over a machine that keeps memory as a driver does.

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

#include "api/driver_call.h"
#include "api/testing/every_call.h"
#include "api/testing/fault_injecting.h"
#include "api/testing/matchers.h"
#include "api/testing/tracing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::Field;

constexpr DeviceOrdinal kDevice0(0);
constexpr DeviceOrdinal kDevice1(1);
constexpr Bytes kGranule = MiB(2);
constexpr auto kPosix = HandleType::kPosixFileDescriptor;

auto IsMemory(Bytes free, Bytes total) {
  return IsOkAndHolds(
      AllOf(Field("free", &MemoryInfo::free, free), Field("total", &MemoryInfo::total, total)));
}

AllocationProperties On(const Location& location) {
  AllocationProperties properties;
  properties.location = location;
  return properties;
}

AllocationProperties Shareable() {
  AllocationProperties properties;
  properties.requested_handle_types = kPosix;
  return properties;
}

// Two devices, of which the first has a budget of eight granules.
class BudgetTest : public testing::Test {
 protected:
  static constexpr Bytes kBudget = 8 * kGranule;

  BudgetTest() { vmm_.SetMemoryBudget(kDevice0, kBudget); }

  FaultInjectingVmm& vmm() { return vmm_; }
  FaultPlan& faults() { return faults_; }
  Simulator& machine() { return *machine_; }
  Bytes free_at_start() const { return free_at_start_; }

  AllocationHandle Create(uint64_t granules, const AllocationProperties& properties = {}) {
    const auto handle = vmm_.Create(granules * kGranule, properties);
    EXPECT_THAT(handle, IsOk());
    return handle.value_or(AllocationHandle());
  }
  AddressRange Reserve(uint64_t granules) {
    const auto range = vmm_.AddressReserve(granules * kGranule);
    EXPECT_THAT(range, IsOk());
    return range.value_or(AddressRange());
  }
  // What the budget says is in use; it must be what the machine says.
  uint64_t GranulesInUse() {
    const auto seen = vmm_.GetMemoryInfo(kDevice0);
    const auto real = machine_->vmm().value()->GetMemoryInfo(kDevice0);
    EXPECT_THAT(seen, IsOk());
    EXPECT_EQ((seen->total - seen->free) / kGranule, (free_at_start_ - real->free) / kGranule);
    return (seen->total - seen->free) / kGranule;
  }

 private:
  std::unique_ptr<Simulator> machine_ = *Simulator::Create(Profile::ReferenceH200(2));
  FaultPlan faults_;
  FaultInjectingVmm vmm_{machine_->vmm().value(), &faults_};
  Bytes free_at_start_ = machine_->vmm().value()->GetMemoryInfo(kDevice0)->free;
};

TEST_F(BudgetTest, IsTheMemoryOfItsDevice) {
  EXPECT_THAT(vmm().GetMemoryInfo(kDevice0), IsMemory(kBudget, kBudget));
  Create(3);
  EXPECT_THAT(vmm().GetMemoryInfo(kDevice0), IsMemory(5 * kGranule, kBudget));
}

// The last byte can be had, one granule more cannot, and is not asked of the machine.
TEST_F(BudgetTest, RefusesWhatIsBeyond) {
  Create(5);
  const auto refused = vmm().Create(4 * kGranule, {});
  EXPECT_EQ(GetDriverError(refused.status()),
            (DriverError{DriverCode::kOutOfMemory, ErrorOrigin::kInjected, "cuMemCreate"}));
  EXPECT_EQ(refused.status().message(),
            "cuMemCreate failed: size 8 MiB is more than is left of the budget of device 0: "
            "10 MiB of 16 MiB are in use");
  EXPECT_EQ(GranulesInUse(), 5);
  Create(3);
  EXPECT_EQ(GranulesInUse(), 8);
}

// Sizes that wrap when added are beyond too.
TEST_F(BudgetTest, RefusesSizesThatWrap) {
  Create(1);
  EXPECT_EQ(GetDriverError(vmm().Create(Bytes(0) - kGranule, {}).status()),
            (DriverError{DriverCode::kOutOfMemory, ErrorOrigin::kInjected, "cuMemCreate"}));
  EXPECT_EQ(GranulesInUse(), 1);
}

TEST_F(BudgetTest, LeavesOtherPlacesAlone) {
  Create(8);
  Create(9, On(Location::Device(kDevice1)));
  Create(9, On(Location::HostNuma(0)));
  EXPECT_EQ(GranulesInUse(), 8);
}

// Release right after Map is usual: the mapping keeps the memory.
TEST_F(BudgetTest, MemoryCountsUntilItsLastMappingIsGone) {
  const AllocationHandle handle = Create(2);
  const AddressRange a = Reserve(2);
  const AddressRange b = Reserve(2);
  ASSERT_THAT(vmm().Map(a, handle), IsOk());
  ASSERT_THAT(vmm().Map(b, handle), IsOk());
  ASSERT_THAT(vmm().Release(handle), IsOk());
  EXPECT_EQ(GranulesInUse(), 2);
  ASSERT_THAT(vmm().Unmap(a), IsOk());
  EXPECT_EQ(GranulesInUse(), 2);
  ASSERT_THAT(vmm().Unmap(b), IsOk());
  EXPECT_EQ(GranulesInUse(), 0);
}

TEST_F(BudgetTest, MemoryCountsUntilItsLastHandleIsGone) {
  const AllocationHandle handle = Create(2);
  const AddressRange range = Reserve(2);
  ASSERT_THAT(vmm().Map(range, handle), IsOk());
  ASSERT_THAT(vmm().RetainAllocationHandle(range.base + kGranule), IsOkAndHolds(handle));
  ASSERT_THAT(vmm().Unmap(range), IsOk());
  ASSERT_THAT(vmm().Release(handle), IsOk());
  EXPECT_EQ(GranulesInUse(), 2);
  ASSERT_THAT(vmm().Release(handle), IsOk());
  EXPECT_EQ(GranulesInUse(), 0);
}

// A handle can be had back from a mapping when all had been released.
TEST_F(BudgetTest, KnowsAHandleThatIsRetainedAfterItsRelease) {
  const AllocationHandle handle = Create(2);
  const AddressRange range = Reserve(2);
  ASSERT_THAT(vmm().Map(range, handle), IsOk());
  ASSERT_THAT(vmm().Release(handle), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle again,
                               vmm().RetainAllocationHandle(range.base));
  ASSERT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_EQ(GranulesInUse(), 2);
  ASSERT_THAT(vmm().Release(again), IsOk());
  EXPECT_EQ(GranulesInUse(), 0);
}

// One call may end several mappings.
TEST_F(BudgetTest, CountsAllMappingsThatOneUnmapEnds) {
  const AddressRange all = Reserve(3);
  for (uint64_t i = 0; i < 3; ++i) {
    const AllocationHandle handle = Create(1);
    ASSERT_THAT(vmm().Map(all.subrange(i * kGranule, kGranule), handle), IsOk());
    ASSERT_THAT(vmm().Release(handle), IsOk());
  }
  ASSERT_THAT(vmm().Unmap(all.subrange(kGranule, 2 * kGranule)), IsOk());
  EXPECT_EQ(GranulesInUse(), 1);
  ASSERT_THAT(vmm().Unmap(all.subrange(Bytes(0), kGranule)), IsOk());
  EXPECT_EQ(GranulesInUse(), 0);
}

// A call that the machine refuses, or the plan fails, changes nothing that is counted.
TEST_F(BudgetTest, CountsOnlyWhatSucceeded) {
  const AllocationHandle handle = Create(2);
  EXPECT_THAT(vmm().Create(kGranule + Bytes(1), {}), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm().Map(AddressRange(), handle), HasDriverCode(DriverCode::kInvalidValue));
  faults().FailNth(1, DriverCode::kUnknown, {DriverCall::kRelease});
  EXPECT_THAT(vmm().Release(handle), HasDriverCode(DriverCode::kUnknown));
  EXPECT_EQ(GranulesInUse(), 2);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_EQ(GranulesInUse(), 0);
}

TEST_F(BudgetTest, MemoryStaysWhereTheMachineRefusesToTakeItBack) {
  FaultPlan refusals;
  FaultInjectingVmm refusing(machine().vmm().value(), &refusals);
  FaultInjectingVmm vmm(&refusing, &faults());
  vmm.SetMemoryBudget(kDevice0, kBudget);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle held, vmm.Create(kGranule, {}));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle mapped, vmm.Create(kGranule, {}));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm.AddressReserve(kGranule));
  ASSERT_THAT(vmm.Map(range, mapped), IsOk());
  ASSERT_THAT(vmm.Release(mapped), IsOk());
  refusals.FailEvery(1, DriverCode::kUnknown, {DriverCall::kRelease, DriverCall::kUnmap});
  EXPECT_THAT(vmm.Release(held), HasDriverCode(DriverCode::kUnknown));
  EXPECT_THAT(vmm.Unmap(range), HasDriverCode(DriverCode::kUnknown));
  EXPECT_THAT(vmm.GetMemoryInfo(kDevice0), IsMemory(6 * kGranule, kBudget));
  refusals.Clear();
  EXPECT_THAT(vmm.Release(held), IsOk());
  EXPECT_THAT(vmm.Unmap(range), IsOk());
  EXPECT_THAT(vmm.GetMemoryInfo(kDevice0), IsMemory(8 * kGranule, kBudget));
}

// An exported descriptor keeps memory until it is closed, which happens without a call.
TEST_F(BudgetTest, MemoryCountsUntilItsLastDescriptorIsClosed) {
  const AllocationHandle handle = Create(2, Shareable());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableHandle a,
                               vmm().ExportShareableHandle(handle, kPosix));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableHandle b,
                               vmm().ExportShareableHandle(handle, kPosix));
  ASSERT_THAT(vmm().Release(handle), IsOk());
  close(a.file_descriptor);
  EXPECT_EQ(GranulesInUse(), 2);
  close(b.file_descriptor);
  EXPECT_EQ(GranulesInUse(), 0);
}

// The number of a closed descriptor may soon be that of another export.
TEST_F(BudgetTest, TellsDescriptorsOfOneNumberApart) {
  const AllocationHandle first = Create(1, Shareable());
  const AllocationHandle second = Create(2, Shareable());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableHandle a, vmm().ExportShareableHandle(first, kPosix));
  ASSERT_THAT(vmm().Release(first), IsOk());
  close(a.file_descriptor);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableHandle b,
                               vmm().ExportShareableHandle(second, kPosix));
  ASSERT_EQ(a.file_descriptor, b.file_descriptor);
  ASSERT_THAT(vmm().Release(second), IsOk());
  EXPECT_EQ(GranulesInUse(), 2);
  close(b.file_descriptor);
  EXPECT_EQ(GranulesInUse(), 0);
}

// Another file that has the number of a closed descriptor keeps no memory.
TEST_F(BudgetTest, TellsADescriptorFromAnotherFile) {
  const AllocationHandle handle = Create(1, Shareable());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableHandle a,
                               vmm().ExportShareableHandle(handle, kPosix));
  ASSERT_THAT(vmm().Release(handle), IsOk());
  const int other = memfd_create("other", MFD_CLOEXEC);
  ASSERT_EQ(dup2(other, a.file_descriptor), a.file_descriptor);
  EXPECT_EQ(GranulesInUse(), 0);
  close(a.file_descriptor);
  close(other);
}

// Imported memory is the exported memory: it counts once, until both handles are gone.
TEST_F(BudgetTest, CountsImportedMemoryOnce) {
  const AllocationHandle handle = Create(2, Shareable());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableHandle shareable,
                               vmm().ExportShareableHandle(handle, kPosix));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle imported,
                               vmm().ImportShareableHandle(shareable));
  close(shareable.file_descriptor);
  EXPECT_EQ(GranulesInUse(), 2);
  ASSERT_THAT(vmm().Release(handle), IsOk());
  EXPECT_EQ(GranulesInUse(), 2);
  ASSERT_THAT(vmm().Release(imported), IsOk());
  EXPECT_EQ(GranulesInUse(), 0);
}

// What was created before a budget counts too; where it is more than the budget, nothing is free.
TEST_F(BudgetTest, CountsWhatWasCreatedBefore) {
  Create(3);
  vmm().SetMemoryBudget(kDevice0, 2 * kGranule);
  EXPECT_THAT(vmm().GetMemoryInfo(kDevice0), IsMemory(Bytes(0), 2 * kGranule));
  EXPECT_THAT(vmm().Create(kGranule, {}), HasDriverCode(DriverCode::kOutOfMemory));
  vmm().SetMemoryBudget(kDevice0, 4 * kGranule);
  EXPECT_THAT(vmm().GetMemoryInfo(kDevice0), IsMemory(kGranule, 4 * kGranule));
}

// A budget beyond the machine's memory promises nothing that the machine has not got.
TEST_F(BudgetTest, IsNoMoreThanTheMachineHas) {
  const auto real = machine().vmm().value()->GetMemoryInfo(kDevice0);
  vmm().SetMemoryBudget(kDevice0, TiB(1));
  EXPECT_THAT(vmm().GetMemoryInfo(kDevice0), IsMemory(real->free, real->total));
}

TEST_F(BudgetTest, CanBeTakenAway) {
  vmm().ClearMemoryBudget(kDevice0);
  Create(9);
  const auto real = machine().vmm().value()->GetMemoryInfo(kDevice0);
  EXPECT_THAT(vmm().GetMemoryInfo(kDevice0), IsMemory(real->free, real->total));
}

// Threads that create, map and give up memory at once never exceed the budget, and nothing is lost.
TEST_F(BudgetTest, HoldsForSeveralThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const AddressRange range = Reserve(3);
      for (int n = 0; n < 200; ++n) {
        const auto handle = vmm().Create(range.size, {});
        if (!handle.ok()) continue;
        // At most two of the four have three granules each.
        const auto info = machine().vmm().value()->GetMemoryInfo(kDevice0);
        EXPECT_LE(free_at_start() - info->free, 6 * kGranule);
        EXPECT_THAT(vmm().Map(range, *handle), IsOk());
        EXPECT_THAT(vmm().Release(*handle), IsOk());
        EXPECT_THAT(vmm().Unmap(range), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(GranulesInUse(), 0);
}

TEST(DoublesTest, ATraceCountsTheCallsOfSeveralThreads) {
  const std::unique_ptr<Simulator> machine = *Simulator::Create(Profile::ReferenceH200());
  TracingVmm trace(machine->vmm().value());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) (void)trace.GetMemoryInfo(kDevice0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(trace.count(DriverCall::kGetMemoryInfo), 400);
  EXPECT_EQ(trace.calls().size(), 400);
}

// A copy that is to fail moves nothing, and the stream goes on. One plan counts the calls of both
// interfaces.
TEST(DoublesTest, ACopyThatIsToFailIsNotMade) {
  const std::unique_ptr<Simulator> machine = *Simulator::Create(Profile::ReferenceH200());
  FaultPlan faults;
  FaultInjectingVmm vmm(machine->vmm().value(), &faults);
  FaultInjectingExecutor executor(machine->executor().value(), &faults);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm.AddressReserve(kGranule));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm.Create(kGranule, {}));
  ASSERT_THAT(vmm.Map(range, handle), IsOk());
  const AccessGrant grant{Location::Device(kDevice0), Access::kReadWrite};
  ASSERT_THAT(vmm.SetAccess(range, {grant}), IsOk());
  EXPECT_EQ(faults.asked(), 4);

  const Stream stream(kDevice0);
  const int sent = 42;
  int received = 7;
  ASSERT_THAT(executor.CopyHostToDevice(stream, range.base, &sent, Bytes(sizeof(sent))), IsOk());
  faults.FailNth(1, DriverCode::kIllegalAddress, {DriverCall::kCopyDeviceToHostAsync});
  EXPECT_THAT(executor.CopyDeviceToHost(stream, &received, range.base, Bytes(sizeof(sent))),
              HasDriverError(DriverCode::kIllegalAddress, "cuMemcpyDtoHAsync"));
  EXPECT_THAT(executor.SynchronizeStream(stream), IsOk());
  EXPECT_EQ(received, 7);
  ASSERT_THAT(executor.CopyDeviceToHost(stream, &received, range.base, Bytes(sizeof(sent))),
              IsOk());
  EXPECT_THAT(executor.SynchronizeStream(stream), IsOk());
  EXPECT_EQ(received, 42);
}

// The names in the list of calls are those in the errors of a machine.
TEST(DoublesTest, NamesCallsAsAMachineDoes) {
  const std::unique_ptr<Simulator> machine = *Simulator::Create(Profile::ReferenceH200());
  std::vector<testing_internal::MadeCall> all =
      testing_internal::MakeEveryCall(*machine->vmm().value());
  for (auto& made : testing_internal::MakeEveryCall(*machine->executor().value())) {
    all.push_back(made);
  }
  for (auto& made : testing_internal::MakeEveryCall(*machine->multicast().value())) {
    all.push_back(made);
  }
  for (auto& made : testing_internal::MakeEveryCall(*machine->sparse_arrays().value())) {
    all.push_back(made);
  }
  size_t failed = 0;
  for (const testing_internal::MadeCall& made : all) {
    if (made.status.ok()) continue;
    ++failed;
    ASSERT_TRUE(GetDriverError(made.status).has_value()) << made.status;
    EXPECT_EQ(GetDriverError(made.status)->call, DriverCallName(made.call));
  }
  EXPECT_EQ(failed, all.size() - 2);  // all but two that ask about the machine as a whole
}

}  // namespace
}  // namespace twinmmu
