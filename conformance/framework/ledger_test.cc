// The ledger undoes exactly what a test left, in the order that the driver asks for.

#include "conformance/framework/ledger.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr AddressRange kRange{DeviceAddress(0x1000), Bytes(0x4000), Bytes(0)};

// Succeeds at everything, and writes down what undoes something. Overrides every call that the
// ledger makes, so it needs no target.
class WritingVmm : public ForwardingVmm {
 public:
  WritingVmm() : ForwardingVmm(/*target=*/nullptr) {}

  absl::StatusOr<AddressRange> AddressReserve(Bytes, const ReserveOptions&) override {
    return kRange;
  }
  absl::Status AddressFree(const AddressRange& range) override {
    return Note(absl::StrCat("free ", ToString(range.base)));
  }
  absl::StatusOr<AllocationHandle> Create(Bytes, const AllocationProperties&, uint64_t) override {
    return AllocationHandle(7);
  }
  absl::Status Release(AllocationHandle handle) override {
    return Note(absl::StrCat("release ", ToString(handle)));
  }
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress) override {
    return AllocationHandle(7);
  }
  absl::Status Map(const AddressRange&, AllocationHandle, Bytes, uint64_t) override {
    return result;
  }
  absl::Status Unmap(const AddressRange& range) override {
    return Note(absl::StrCat("unmap ", ToString(range.base), " +", ToString(range.size)));
  }

  absl::Status result;
  std::vector<std::string> calls;

 private:
  absl::Status Note(std::string call) {
    calls.push_back(std::move(call));
    return result;
  }
};

class LedgerTest : public ::testing::Test {
 protected:
  WritingVmm vmm_;
  LedgerVmm ledger_{&vmm_};
};

// Mappings go before their reservation, and each reference is returned once.
TEST_F(LedgerTest, UndoesInTheOrderThatTheDriverAsksFor) {
  ASSERT_THAT(ledger_.AddressReserve(kRange.size, {}), IsOk());
  ASSERT_THAT(ledger_.Create(kRange.size, {}, 0), IsOk());
  ASSERT_THAT(ledger_.Map(kRange, AllocationHandle(7), Bytes(0), 0), IsOk());
  ASSERT_THAT(ledger_.RetainAllocationHandle(kRange.base), IsOk());
  EXPECT_THAT(ledger_.UndoAll(), IsOk());
  EXPECT_THAT(vmm_.calls,
              ElementsAre("unmap 0x1000 +16 KiB", "free 0x1000", "release 0x7", "release 0x7"));
}

// What the test undid itself is not undone again: a second release can crash a driver.
TEST_F(LedgerTest, LeavesWhatWasUndone) {
  ASSERT_THAT(ledger_.AddressReserve(kRange.size, {}), IsOk());
  ASSERT_THAT(ledger_.Create(kRange.size, {}, 0), IsOk());
  ASSERT_THAT(ledger_.Map(kRange, AllocationHandle(7), Bytes(0), 0), IsOk());
  ASSERT_THAT(ledger_.Unmap(kRange), IsOk());
  ASSERT_THAT(ledger_.AddressFree(kRange), IsOk());
  ASSERT_THAT(ledger_.Release(AllocationHandle(7)), IsOk());
  vmm_.calls.clear();
  EXPECT_THAT(ledger_.UndoAll(), IsOk());
  EXPECT_THAT(vmm_.calls, IsEmpty());
}

// A call that failed is not booked.
TEST_F(LedgerTest, BooksNothingOfAFailedCall) {
  vmm_.result = absl::InternalError("no");
  EXPECT_FALSE(ledger_.Map(kRange, AllocationHandle(7), Bytes(0), 0).ok());
  EXPECT_THAT(ledger_.UndoAll(), IsOk());
  EXPECT_THAT(vmm_.calls, IsEmpty());
}

// An error while undoing is reported, and the rest is undone all the same.
TEST_F(LedgerTest, GoesOnAfterAnError) {
  ASSERT_THAT(ledger_.AddressReserve(kRange.size, {}), IsOk());
  ASSERT_THAT(ledger_.Map(kRange, AllocationHandle(7), Bytes(0), 0), IsOk());
  vmm_.result = absl::InternalError("no");
  EXPECT_THAT(ledger_.UndoAll(), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(vmm_.calls, ElementsAre("unmap 0x1000 +16 KiB", "free 0x1000"));
}

// A wide unmap takes all the mappings inside it off the books.
TEST_F(LedgerTest, AnUnmapTakesAllMappingsInside) {
  ASSERT_THAT(
      ledger_.Map(kRange.subrange(Bytes(0), Bytes(0x1000)), AllocationHandle(7), Bytes(0), 0),
      IsOk());
  ASSERT_THAT(
      ledger_.Map(kRange.subrange(Bytes(0x2000), Bytes(0x1000)), AllocationHandle(7), Bytes(0), 0),
      IsOk());
  ASSERT_THAT(ledger_.Unmap(kRange), IsOk());
  vmm_.calls.clear();
  EXPECT_THAT(ledger_.UndoAll(), IsOk());
  EXPECT_THAT(vmm_.calls, IsEmpty());
}

}  // namespace
}  // namespace twinmmu::conformance
