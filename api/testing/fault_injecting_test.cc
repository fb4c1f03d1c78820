// The wrappers make each call under its own name, and do not make the ones that are to fail.

#include "api/testing/fault_injecting.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/call_macros.h"
#include "api/testing/every_call.h"
#include "api/testing/matchers.h"
#include "api/testing/mock_executor.h"
#include "api/testing/mock_multicast.h"
#include "api/testing/mock_sparse_arrays.h"
#include "api/testing/mock_vmm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;
using ::testing::NiceMock;
using ::testing::Return;
using ::testing::StrictMock;
using testing_internal::MadeCall;
using testing_internal::MakeEveryCall;

// Every call asks the plan under its own name, and its error comes back instead of the target's.
TEST(FaultInjectingTest, FailsEveryCallWithoutMakingIt) {
  StrictMock<MockVmm> target;
  StrictMock<MockExecutor> target_executor;
  StrictMock<MockMulticast> target_multicast;
  StrictMock<MockSparseArrays> target_arrays;
  FaultPlan faults;
  FaultInjectingVmm vmm(&target, &faults);
  FaultInjectingExecutor executor(&target_executor, &faults);
  FaultInjectingMulticast multicast(&target_multicast, &faults);
  FaultInjectingSparseArrays arrays(&target_arrays, &faults);
  faults.FailEvery(1, DriverCode::kNotPermitted);
  for (const MadeCall& made : MakeEveryCall(vmm)) {
    EXPECT_EQ(GetDriverError(made.status),
              (DriverError{DriverCode::kNotPermitted, ErrorOrigin::kInjected,
                           std::string(DriverCallName(made.call))}));
  }
  for (const MadeCall& made : MakeEveryCall(executor)) {
    EXPECT_EQ(GetDriverError(made.status),
              (DriverError{DriverCode::kNotPermitted, ErrorOrigin::kInjected,
                           std::string(DriverCallName(made.call))}));
  }
  for (const MadeCall& made : MakeEveryCall(multicast)) {
    EXPECT_EQ(GetDriverError(made.status),
              (DriverError{DriverCode::kNotPermitted, ErrorOrigin::kInjected,
                           std::string(DriverCallName(made.call))}));
  }
  for (const MadeCall& made : MakeEveryCall(arrays)) {
    EXPECT_EQ(GetDriverError(made.status),
              (DriverError{DriverCode::kNotPermitted, ErrorOrigin::kInjected,
                           std::string(DriverCallName(made.call))}));
  }
#define TWINMMU_COUNT(...) +1
  EXPECT_EQ(faults.fired(), 0 TWINMMU_ALL_CALLS(TWINMMU_COUNT, ));
#undef TWINMMU_COUNT
}

// A call that is not to fail reaches the call of the same name, and its answer comes back.
TEST(FaultInjectingTest, PassesEveryOtherCallOn) {
  NiceMock<MockVmm> target;
  NiceMock<MockExecutor> target_executor;
  NiceMock<MockMulticast> target_multicast;
  NiceMock<MockSparseArrays> target_arrays;
  FaultPlan faults;
  FaultInjectingVmm vmm(&target, &faults);
  FaultInjectingExecutor executor(&target_executor, &faults);
  FaultInjectingMulticast multicast(&target_multicast, &faults);
  FaultInjectingSparseArrays arrays(&target_arrays, &faults);
  for (const MadeCall& made : MakeEveryCall(vmm)) {
    EXPECT_THAT(std::string(made.status.message()),
                HasSubstr(absl::StrCat("MockVmm has no answer to ", made.method, ":")));
  }
  for (const MadeCall& made : MakeEveryCall(executor)) {
    EXPECT_THAT(std::string(made.status.message()),
                HasSubstr(absl::StrCat("MockExecutor has no answer to ", made.method, ":")));
  }
  for (const MadeCall& made : MakeEveryCall(multicast)) {
    EXPECT_THAT(std::string(made.status.message()),
                HasSubstr(absl::StrCat("MockMulticast has no answer to ", made.method, ":")));
  }
  for (const MadeCall& made : MakeEveryCall(arrays)) {
    EXPECT_THAT(std::string(made.status.message()),
                HasSubstr(absl::StrCat("MockSparseArrays has no answer to ", made.method, ":")));
  }
}

// A driver's descriptors may all be of one file: then only their numbers tell them apart.
TEST(FaultInjectingTest, ANumberThatIsGivenOutAgainHasLeftTheFirstMemory) {
  NiceMock<MockVmm> target;
  FaultPlan faults;
  FaultInjectingVmm vmm(&target, &faults);
  vmm.SetMemoryBudget(DeviceOrdinal(0), MiB(8));
  ON_CALL(target, GetMemoryInfo).WillByDefault(Return(MemoryInfo{GiB(1), GiB(1)}));
  ON_CALL(target, Release).WillByDefault(Return(absl::OkStatus()));
  const ShareableHandle standard_input = ShareableHandle::FileDescriptor(0);
  ON_CALL(target, ExportShareableHandle).WillByDefault(Return(standard_input));
  for (const uint64_t number : {1, 2}) {
    const AllocationHandle handle(number);
    EXPECT_CALL(target, Create).WillOnce(Return(handle));
    EXPECT_THAT(vmm.Create(MiB(2), {}), IsOk());
    EXPECT_THAT(vmm.ExportShareableHandle(handle, HandleType::kPosixFileDescriptor), IsOk());
    EXPECT_THAT(vmm.Release(handle), IsOk());
    EXPECT_EQ(vmm.GetMemoryInfo(DeviceOrdinal(0))->free, MiB(6));
  }
}

// The list of calls is whole, in the order in which they are declared.
TEST(FaultInjectingTest, MakesEveryCallOfTheList) {
  NiceMock<MockVmm> vmm;
  NiceMock<MockExecutor> executor;
  std::vector<MadeCall> all = MakeEveryCall(vmm);
  for (MadeCall& made : MakeEveryCall(executor)) all.push_back(std::move(made));
  NiceMock<MockMulticast> multicast;
  for (MadeCall& made : MakeEveryCall(multicast)) all.push_back(std::move(made));
  NiceMock<MockSparseArrays> arrays;
  for (MadeCall& made : MakeEveryCall(arrays)) all.push_back(std::move(made));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].call, static_cast<DriverCall>(i));
  EXPECT_EQ(DriverCallName(static_cast<DriverCall>(all.size())), "unknown call");
}

}  // namespace
}  // namespace twinmmu
