// The mocks answer as they are told, and say so where they are told nothing.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/testing/every_call.h"
#include "api/testing/matchers.h"
#include "api/testing/mock_call.h"
#include "api/testing/mock_executor.h"
#include "api/testing/mock_multicast.h"
#include "api/testing/mock_sparse_arrays.h"
#include "api/testing/mock_vmm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::_;
using ::testing::HasSubstr;
using ::testing::NiceMock;
using ::testing::Return;
using testing_internal::MadeCall;
using testing_internal::MakeEveryCall;

// A call that nothing answers is an error that names the mock and the call, whichever it is.
TEST(MockTest, WithoutAnAnswerACallIsAnErrorThatNamesIt) {
  NiceMock<MockVmm> vmm;
  for (const MadeCall& made : MakeEveryCall(vmm)) {
    EXPECT_THAT(made.status, StatusIs(absl::StatusCode::kUnimplemented)) << made.call;
    EXPECT_THAT(std::string(made.status.message()),
                HasSubstr(absl::StrCat("MockVmm has no answer to ", made.method, ":")));
  }
  NiceMock<MockExecutor> executor;
  for (const MadeCall& made : MakeEveryCall(executor)) {
    EXPECT_THAT(made.status, StatusIs(absl::StatusCode::kUnimplemented)) << made.call;
    EXPECT_THAT(std::string(made.status.message()),
                HasSubstr(absl::StrCat("MockExecutor has no answer to ", made.method, ":")));
  }
  NiceMock<MockMulticast> multicast;
  for (const MadeCall& made : MakeEveryCall(multicast)) {
    EXPECT_THAT(made.status, StatusIs(absl::StatusCode::kUnimplemented)) << made.call;
    EXPECT_THAT(std::string(made.status.message()),
                HasSubstr(absl::StrCat("MockMulticast has no answer to ", made.method, ":")));
  }
  NiceMock<MockSparseArrays> arrays;
  for (const MadeCall& made : MakeEveryCall(arrays)) {
    EXPECT_THAT(made.status, StatusIs(absl::StatusCode::kUnimplemented)) << made.call;
    EXPECT_THAT(std::string(made.status.message()),
                HasSubstr(absl::StrCat("MockSparseArrays has no answer to ", made.method, ":")));
  }
}

// An expectation without an action is no answer: a call never succeeds by accident.
TEST(MockTest, AnExpectationWithoutAnActionIsNoAnswer) {
  MockVmm vmm;
  EXPECT_CALL(vmm, Release(_));
  EXPECT_THAT(vmm.Release(AllocationHandle(1)), StatusIs(absl::StatusCode::kUnimplemented));
}

#define TWINMMU_EXPECT(context, id, result, method, ...) \
  EXPECT_CALL(target, TWINMMU_ANY(method, __VA_ARGS__)).Times(1);

// With DelegateTo, each call reaches the call of the same name, and its answer comes back.
TEST(MockTest, DelegatesEveryCall) {
  NiceMock<MockVmm> target;
  NiceMock<MockVmm> vmm;
  vmm.DelegateTo(&target);
  TWINMMU_VMM_CALLS(TWINMMU_EXPECT, )
  MakeEveryCall(vmm);
}

// A device's copy is not taken for a stream's.
TEST(MockTest, DelegatesEveryCallOfAnExecutor) {
  NiceMock<MockExecutor> target;
  NiceMock<MockExecutor> executor;
  executor.DelegateTo(&target);
  TWINMMU_EXECUTOR_CALLS(TWINMMU_EXPECT, )
  MakeEveryCall(executor);
}

TEST(MockTest, DelegatesEveryCallOfMulticast) {
  NiceMock<MockMulticast> target;
  NiceMock<MockMulticast> multicast;
  multicast.DelegateTo(&target);
  TWINMMU_MULTICAST_CALLS(TWINMMU_EXPECT, )
  MakeEveryCall(multicast);
}

TEST(MockTest, DelegatesEveryCallOfSparseArrays) {
  NiceMock<MockSparseArrays> target;
  NiceMock<MockSparseArrays> arrays;
  arrays.DelegateTo(&target);
  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_EXPECT, )
  MakeEveryCall(arrays);
}

// DelegateTo(nullptr) ends it.
TEST(MockTest, DelegatesToNobodyAgain) {
  NiceMock<MockVmm> target;
  NiceMock<MockVmm> vmm;
  vmm.DelegateTo(&target);
  vmm.DelegateTo(nullptr);
  EXPECT_CALL(target, GetDeviceCount).Times(0);
  EXPECT_THAT(vmm.GetDeviceCount(), StatusIs(absl::StatusCode::kUnimplemented));
}

// The short forms of calls reach the long ones, with the defaults of the interface.
TEST(MockTest, HasTheShortFormsOfCalls) {
  const AddressRange range{DeviceAddress(0x200000), MiB(2), Bytes(0)};
  const AllocationHandle handle(7);
  MockVmm vmm;
  EXPECT_CALL(vmm, Map(range, handle, Bytes(0), 0)).WillOnce(Return(absl::OkStatus()));
  EXPECT_CALL(vmm, AddressReserve(MiB(2), _)).WillOnce(Return(range));
  EXPECT_CALL(vmm, Create(MiB(2), AllocationProperties(), 0)).WillOnce(Return(handle));
  EXPECT_CALL(vmm, ExportShareableHandle(handle, HandleType::kPosixFileDescriptor, 0))
      .WillOnce(Return(ShareableHandle::FileDescriptor(3)));
  EXPECT_THAT(vmm.Map(range, handle), IsOk());
  EXPECT_THAT(vmm.AddressReserve(MiB(2)), IsOkAndHolds(range));
  EXPECT_THAT(vmm.Create(MiB(2), AllocationProperties()), IsOkAndHolds(handle));
  EXPECT_THAT(vmm.ExportShareableHandle(handle, HandleType::kPosixFileDescriptor), IsOk());
}

}  // namespace
}  // namespace twinmmu
