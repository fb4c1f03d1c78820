// Allocation: one reference to memory, which a mapping can outlive.

#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "api/allocators/owners.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/owners_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using testing::ElementsAre;

// After each test free memory is what it was: what is not released fails.
class AllocationTest : public OwnersTest {};

TEST_P(AllocationTest, HasTheSizeAndThePropertiesThatWereAskedFor) {
  AllocationProperties properties;
  properties.location = Location::Device(accessors().back());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Allocation allocation,
                               Allocation::Make(&vmm(), 3 * granule(), properties));
  EXPECT_TRUE(allocation.is_open());
  EXPECT_EQ(allocation.size(), 3 * granule());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationProperties granted,
                               vmm().GetAllocationProperties(allocation.handle()));
  EXPECT_EQ(granted.location, properties.location);
}

TEST_P(AllocationTest, IsNotMadeWhereTheDriverRefuses) {
  EXPECT_THAT(Allocation::Make(&vmm(), Bytes(0), AllocationProperties()),
              HasDriverCode(DriverCode::kInvalidValue));
}

TEST_P(AllocationTest, IsReleasedOnceWhenClosedTwice) {
  Allocation allocation = Allocate();
  EXPECT_THAT(allocation.Close(), IsOk());
  EXPECT_FALSE(allocation.is_open());
  EXPECT_EQ(allocation.handle(), AllocationHandle());
  EXPECT_EQ(allocation.size(), Bytes(0));
  EXPECT_THAT(allocation.Close(), IsOk());
  EXPECT_EQ(CountOf(DriverCall::kRelease), 1);
}

TEST_P(AllocationTest, StaysOpenWhereTheDriverRefusesToReleaseIt) {
  Allocation allocation = Allocate();
  const AllocationHandle handle = allocation.handle();
  Fail(DriverCall::kRelease);
  EXPECT_THAT(allocation.Close(), HasDriverCode(DriverCode::kUnknown));
  EXPECT_TRUE(allocation.is_open());
  EXPECT_EQ(allocation.handle(), handle);
  EXPECT_EQ(allocation.size(), granule());
  EXPECT_THAT(allocation.Close(), IsOk());
}

TEST_P(AllocationTest, GivesTheErrorOfItsDestructorToTheHook) {
  AllocationHandle handle;
  {
    const Allocation allocation = Allocate();
    handle = allocation.handle();
    Fail(DriverCall::kRelease);
  }
  EXPECT_THAT(TakeDestructorErrors(), ElementsAre(HasDriverCode(DriverCode::kUnknown)));
  EXPECT_THAT(vmm().Release(handle), IsOk());
}

TEST_P(AllocationTest, IsReleasedAtOnceAndItsMappingGoesOnWorking) {
  const Reservation reservation = Reserve(1);
  Allocation memory = Allocate();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Mapping mapping,
                               Mapping::Make(reservation, Bytes(0), memory, {ReadWrite()}));
  ASSERT_THAT(Fill(mapping.range(), 5), IsOk());
  EXPECT_THAT(memory.Close(), IsOk());
  EXPECT_EQ(CountOf(DriverCall::kRelease), 1);
  ExpectFilled(mapping.range(), 5);
  EXPECT_THAT(Fill(mapping.range(), 6), IsOk());
  ExpectFilled(mapping.range(), 6);
}

TEST_P(AllocationTest, IsDestroyedAndItsMappingGoesOnWorking) {
  const Reservation reservation = Reserve(1);
  const Mapping mapping = MapOne(reservation);
  EXPECT_EQ(CountOf(DriverCall::kRelease), 1);
  EXPECT_THAT(Fill(mapping.range(), 7), IsOk());
  ExpectFilled(mapping.range(), 7);
}

TEST_P(AllocationTest, TakesOverAReferenceThatTheCallerHas) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                               vmm().Create(granule(), AllocationProperties()));
  const Reservation reservation = Reserve(1);
  const Allocation adopted = Allocation::Adopt(&watched(), handle, granule());
  EXPECT_TRUE(adopted.is_open());
  EXPECT_EQ(adopted.handle(), handle);
  EXPECT_EQ(adopted.size(), granule());
  EXPECT_THAT(Mapping::Make(reservation, Bytes(0), adopted), IsOk());
}

TEST_P(AllocationTest, ImportsTheMemoryThatWasExported) {
  const Reservation reservation = Reserve(2);
  AllocationProperties properties;
  properties.requested_handle_types = HandleType::kPosixFileDescriptor;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Allocation memory,
                               Allocation::Make(&watched(), granule(), properties));
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const ShareableHandle shareable,
      vmm().ExportShareableHandle(memory.handle(), HandleType::kPosixFileDescriptor));
  const auto imported = Allocation::Import(&watched(), shareable, granule());
  close(shareable.file_descriptor);
  ASSERT_THAT(imported, IsOk());
  EXPECT_EQ(imported->size(), granule());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Mapping theirs,
                               Mapping::Make(reservation, Bytes(0), memory, {ReadWrite()}));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Mapping ours,
                               Mapping::Make(reservation, granule(), *imported, {ReadWrite()}));
  ASSERT_THAT(Fill(theirs.range(), 8), IsOk());
  ExpectFilled(ours.range(), 8);
}

TEST_P(AllocationTest, IsNotImportedWhereTheDriverRefuses) {
  EXPECT_THAT(Allocation::Import(&vmm(), ShareableHandle(), granule()),
              HasDriverCode(DriverCode::kInvalidValue));
}

TEST_P(AllocationTest, OfAWrongSizeIsRefusedWhenItIsMapped) {
  ExpectDiagnostics({DiagnosticKind::kMapBeyondAllocation});
  const Reservation reservation = Reserve(4);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                               vmm().Create(granule(), AllocationProperties()));
  const Allocation memory = Allocation::Adopt(&watched(), handle, 2 * granule());
  EXPECT_THAT(Mapping::Make(reservation, Bytes(0), memory),
              HasDriverCode(DriverCode::kNotSupported));
}

TEST_P(AllocationTest, HoldsNothingOnceMovedFrom) {
  Allocation allocation = Allocate();
  const AllocationHandle handle = allocation.handle();
  const Allocation moved = std::move(allocation);
  EXPECT_EQ(moved.handle(), handle);
  EXPECT_EQ(moved.size(), granule());
  EXPECT_FALSE(allocation.is_open());
  EXPECT_EQ(allocation.handle(), AllocationHandle());
  EXPECT_THAT(allocation.Close(), IsOk());
  EXPECT_EQ(CountOf(DriverCall::kRelease), 0);
}

TEST_P(AllocationTest, IsAsItWasWhenMovedToItself) {
  Allocation allocation = Allocate();
  const AllocationHandle handle = allocation.handle();
  Allocation& same = allocation;
  allocation = std::move(same);
  EXPECT_EQ(allocation.handle(), handle);
  EXPECT_EQ(CountOf(DriverCall::kRelease), 0);
}

TEST_P(AllocationTest, IsReleasedWhenAssignedTo) {
  Allocation allocation = Allocate();
  Allocation other = Allocate();
  const AllocationHandle handle = other.handle();
  allocation = std::move(other);
  EXPECT_EQ(CountOf(DriverCall::kRelease), 1);
  EXPECT_EQ(allocation.handle(), handle);
}

TEST_P(AllocationTest, GivesTheErrorOfAnAssignmentToTheHook) {
  Allocation allocation = Allocate();
  const AllocationHandle lost = allocation.handle();
  Fail(DriverCall::kRelease);
  allocation = Allocation();
  EXPECT_THAT(TakeDestructorErrors(), ElementsAre(HasDriverCode(DriverCode::kUnknown)));
  EXPECT_FALSE(allocation.is_open());
  EXPECT_THAT(vmm().Release(lost), IsOk());
}

INSTANTIATE_TEST_SUITE_P(On, AllocationTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
