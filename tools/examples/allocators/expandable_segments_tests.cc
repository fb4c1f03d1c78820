// ExpandableSegments, and what went wrong in allocators of its kind: the comment above a test names
// the report.

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/examples/allocators/design_test.h"
#include "tools/examples/allocators/expandable_segments.h"

namespace twinmmu::examples {
namespace {

using conformance::Implementations;
using conformance::NameOfImplementation;

class ExpandableSegmentsTest : public DesignTest {
 protected:
  // Pages of a granule, 32 of them in a segment.
  ExpandableSegments::Options Options() {
    ExpandableSegments::Options options;
    options.pages.page_size = granule();
    options.segment_size = 32 * granule();
    return options;
  }
  // As ExpectFilled, for the first and the last bytes: a test may look at much memory.
  void ExpectEndsFilled(const AddressRange& range, uint8_t byte) {
    constexpr Bytes kEnd(512);
    ExpectFilled(range.subrange(Bytes(0), kEnd), byte);
    ExpectFilled(range.subrange(range.size - kEnd, kEnd), byte);
  }
};

Stream DefaultStream() { return Stream(DeviceOrdinal(0)); }

AddressRange RangeOf(DeviceAddress block, Bytes size) {
  return AddressRange{block, size, Bytes(0)};
}

TEST_P(ExpandableSegmentsTest, ASegmentGrowsByWhatItsTailLacks) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&vmm(), &executor(), Options()));
  const Bytes size = 2 * granule() - KiB(64);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress first, memory->Allocate(size, DefaultStream()));
  const DriverCallCounts before = memory->GetStats().calls;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress second, memory->Allocate(size, DefaultStream()));
  const DriverCallCounts after = memory->GetStats().calls;

  EXPECT_EQ(second, first + size);
  EXPECT_EQ(memory->GetStats().physical, 4 * granule());
  EXPECT_EQ(after.create - before.create, 2);
  EXPECT_EQ(after.map - before.map, 2);
  EXPECT_EQ(after.set_access - before.set_access, 1);
  ASSERT_THAT(Fill(RangeOf(first, size), 1), IsOk());
  ASSERT_THAT(Fill(RangeOf(second, size), 2), IsOk());
  ExpectFilled(RangeOf(first, size), 1);
  ExpectFilled(RangeOf(second, size), 2);
}

// pytorch/pytorch#166116: mapping and unmapping cost more the more handles there are.
TEST_P(ExpandableSegmentsTest, MemoryOfAFreedBlockServesTheNextOneWithoutACall) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&vmm(), &executor(), Options()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress block,
                               memory->Allocate(3 * granule(), DefaultStream()));
  ASSERT_THAT(memory->Free(block), IsOk());
  const DriverCallCounts before = memory->GetStats().calls;

  EXPECT_THAT(memory->Allocate(3 * granule(), DefaultStream()), IsOkAndHolds(block));
  EXPECT_EQ(memory->GetStats().calls, before);
}

TEST_P(ExpandableSegmentsTest, NeighboursThatAreFreeMakeOneBlock) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&vmm(), &executor(), Options()));
  std::vector<DeviceAddress> blocks;
  for (int i = 0; i < 4; ++i) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress block,
                                 memory->Allocate(granule(), DefaultStream()));
    blocks.push_back(block);
  }
  // The middle one last, between two that are free.
  for (const int i : {0, 2, 1}) ASSERT_THAT(memory->Free(blocks[i]), IsOk());
  EXPECT_THAT(memory->Allocate(3 * granule(), DefaultStream()), IsOkAndHolds(blocks[0]));
  EXPECT_EQ(memory->GetStats().physical, 4 * granule());
}

TEST_P(ExpandableSegmentsTest, TrimGivesBackEveryPageWithoutABlockAndNoOther) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&vmm(), &executor(), Options()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress first,
                               memory->Allocate(2 * granule() + KiB(64), DefaultStream()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress kept,
                               memory->Allocate(granule(), DefaultStream()));
  ASSERT_THAT(Fill(RangeOf(kept, granule()), 7), IsOk());
  ASSERT_THAT(memory->Free(first), IsOk());

  // The first one finds the stream busy.
  ASSERT_THAT(memory->Trim(), IsOk());
  ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
  ASSERT_THAT(memory->Trim(), IsOk());
  EXPECT_EQ(memory->GetStats().physical, 2 * granule());
  ExpectFilled(RangeOf(kept, granule()), 7);
  // The hole gets memory again.
  EXPECT_THAT(memory->Allocate(2 * granule() + KiB(64), DefaultStream()), IsOkAndHolds(first));
  ASSERT_THAT(Fill(RangeOf(first, 2 * granule() + KiB(64)), 8), IsOk());
  ExpectFilled(RangeOf(kept, granule()), 7);
}

// vllm-project/vllm#43020, #45615: memory was unmapped that running kernels still used.
TEST_P(ExpandableSegmentsTest, TrimAfterFreeWaitsForTheWorkOfTheStream) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream stream, executor().CreateStream(device()));
  {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                                 ExpandableSegments::Make(&vmm(), &executor(), Options()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress block, memory->Allocate(granule(), stream));
    ASSERT_THAT(Fill(RangeOf(block, granule()), 5), IsOk());
    std::vector<uint8_t> read(64);
    ASSERT_THAT(executor().CopyDeviceToHost(stream, read.data(), block, Bytes(read.size())),
                IsOk());
    ASSERT_THAT(memory->Free(block), IsOk());
    ASSERT_THAT(memory->Trim(), IsOk());
    ASSERT_THAT(executor().SynchronizeStream(stream), IsOk());
    EXPECT_THAT(read, testing::Each(5));
    ASSERT_THAT(memory->Trim(), IsOk());
    EXPECT_EQ(memory->GetStats().physical, Bytes(0));
  }
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
}

// pytorch/pytorch#188008: a map failed half-way, and the bulk unmap of the destructor met the tail
// that was never mapped.
TEST_P(ExpandableSegmentsTest, AGrowthThatFailsAnywhereLeavesNothingForTheEndToTripOver) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&failing_vmm(), &executor(), Options()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress kept,
                               memory->Allocate(granule(), DefaultStream()));
  ASSERT_THAT(Fill(RangeOf(kept, granule()), 7), IsOk());
  FailEachCall([&] { return memory->Allocate(4 * granule(), DefaultStream()).status(); },
               [&] {
                 EXPECT_EQ(memory->GetStats().physical, granule());
                 EXPECT_EQ(memory->GetStats().in_use, granule());
                 ExpectFilled(RangeOf(kept, granule()), 7);
               });
  EXPECT_EQ(memory->GetStats().physical, 5 * granule());
  EXPECT_THAT(memory->Close(), IsOk());
}

// invergent-ai/surogate#117: after a map had failed in part, every later try failed.
TEST_P(ExpandableSegmentsTest, AGrowthThatFailedWorksWhenItIsTriedAgain) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&failing_vmm(), &executor(), Options()));
  faults().FailNth(3, DriverCode::kUnknown, {DriverCall::kMap});
  EXPECT_THAT(memory->Allocate(4 * granule(), DefaultStream()),
              HasDriverCode(DriverCode::kUnknown));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress block,
                               memory->Allocate(4 * granule(), DefaultStream()));
  ASSERT_THAT(Fill(RangeOf(block, 4 * granule()), 1), IsOk());
  ExpectFilled(RangeOf(block, 4 * granule()), 1);
}

// NVIDIA/cuda-python#2345: the address of a reservation that had failed was freed.
TEST_P(ExpandableSegmentsTest, AReservationThatFailsIsNeitherUsedNorFreed) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&failing_vmm(), &executor(), Options()));
  faults().FailNth(1, DriverCode::kOutOfMemory, {DriverCall::kAddressReserve});
  EXPECT_THAT(memory->Allocate(granule(), DefaultStream()),
              HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_EQ(memory->GetStats().calls.total(), 0);
  EXPECT_THAT(memory->Allocate(granule(), DefaultStream()), IsOk());
}

TEST_P(ExpandableSegmentsTest, WhereMemoryRunsOutWhatOtherStreamsKeepIsUsed) {
  failing_vmm().SetMemoryBudget(device(), 4 * granule());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream other, executor().CreateStream(device()));
  {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                                 ExpandableSegments::Make(&failing_vmm(), &executor(), Options()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress block, memory->Allocate(3 * granule(), other));
    ASSERT_THAT(memory->Free(block), IsOk());
    EXPECT_THAT(memory->Allocate(4 * granule(), DefaultStream()), IsOk());
    EXPECT_THAT(memory->Allocate(granule(), other), HasDriverCode(DriverCode::kOutOfMemory));
    EXPECT_EQ(memory->GetStats().physical, 4 * granule());
  }
  EXPECT_THAT(executor().DestroyStream(other), IsOk());
}

TEST_P(ExpandableSegmentsTest, WhatIsNotWaitedForStaysAndCanBeClosedLater) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&vmm(), &failing_executor(), Options()));
  for (const DriverCall call : {DriverCall::kSynchronizeStream, DriverCall::kSynchronizeEvent}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress block,
                                 memory->Allocate(granule(), DefaultStream()));
    ASSERT_THAT(memory->Free(block, {DefaultStream()}), IsOk());
    faults().FailNth(1, DriverCode::kOperatingSystem, {call});
    EXPECT_THAT(memory->Close(), HasDriverCode(DriverCode::kOperatingSystem));
    EXPECT_EQ(memory->GetStats().physical, granule());
  }
  EXPECT_THAT(memory->Close(), IsOk());
  EXPECT_EQ(memory->GetStats().physical, Bytes(0));
}

TEST_P(ExpandableSegmentsTest, WhereTheWorkIsLostNothingIsWaitedFor) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&vmm(), &failing_executor(), Options()));
  ASSERT_THAT(memory->Allocate(granule(), DefaultStream()), IsOk());
  faults().FailNth(1, DriverCode::kIllegalAddress, {DriverCall::kSynchronizeStream});
  EXPECT_THAT(memory->Close(), IsOk());
}

// ggml-org/llama.cpp#24489, openxla/xla#40852: what was mapped later, peers had no access to.
TEST_P(ExpandableSegmentsTest, PeersReachWhatASegmentGrewBy) {
  ExpandableSegments::Options options = Options();
  options.peers = accessors();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&vmm(), &executor(), options));
  for (uint8_t i = 0; i < 2; ++i) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress block,
                                 memory->Allocate(granule(), DefaultStream()));
    for (const DeviceOrdinal peer : accessors()) {
      ASSERT_THAT(Fill(RangeOf(block, granule()), i, peer), IsOk());
      ExpectFilled(RangeOf(block, granule()), i);
    }
  }
}

// NVIDIA/cuda-python#2906: a second deallocate took what was somebody else's by then.
TEST_P(ExpandableSegmentsTest, ABlockIsFreedOnce) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&vmm(), &executor(), Options()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress block,
                               memory->Allocate(granule(), DefaultStream()));
  EXPECT_THAT(memory->Free(block + Bytes(512)), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(memory->Free(DeviceAddress(0)), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(memory->Free(block), IsOk());
  EXPECT_THAT(memory->Free(block), StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ExpandableSegmentsTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(ExpandableSegments::Make(nullptr, &executor(), Options()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ExpandableSegments::Make(&vmm(), nullptr, Options()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  ExpandableSegments::Options host = Options();
  host.pages.properties.location = Location::Host();
  EXPECT_THAT(ExpandableSegments::Make(&vmm(), &executor(), host),
              StatusIs(absl::StatusCode::kInvalidArgument));

  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&vmm(), &executor(), Options()));
  EXPECT_THAT(memory->Allocate(Bytes(0), DefaultStream()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(memory->Allocate(granule(), Stream(DeviceOrdinal(9))),
              StatusIs(absl::StatusCode::kInvalidArgument));
  for (const Bytes size : {33 * granule(), Bytes(std::numeric_limits<uint64_t>::max())}) {
    EXPECT_THAT(memory->Allocate(size, DefaultStream()),
                StatusIs(absl::StatusCode::kResourceExhausted));
  }
  ASSERT_THAT(memory->Close(), IsOk());
  EXPECT_THAT(memory->Allocate(granule(), DefaultStream()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(memory->Trim(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(memory->Close(), IsOk());
}

// pytorch/pytorch#147851, vllm-project/vllm#37111: counters that disagree with the driver's.
// ovg-project/kvcached#437: books that drift from what is mapped, until an unmap is refused.
TEST_P(ExpandableSegmentsTest, TheBooksAreThoseOfTheDriverWhateverFails) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               ExpandableSegments::Make(&failing_vmm(), &executor(), Options()));
  const Bytes free_before = FreeMemory();
  // A third of the calls that get memory fail.
  faults().FailRandomly(0.3, 1, DriverCode::kUnknown,
                        {DriverCall::kCreate, DriverCall::kMap, DriverCall::kSetAccess});
  std::mt19937 random(1);
  struct Block {
    Bytes size;
    uint8_t byte;
  };
  std::map<DeviceAddress, Block> blocks;
  Bytes in_use;
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(testing::Message() << "step " << i);
    const uint32_t choice = random() % 8;
    if (choice == 0) {
      ASSERT_THAT(memory->Trim(), IsOk());
    } else if (choice < 4 && !blocks.empty()) {
      const auto block = std::next(blocks.begin(), random() % blocks.size());
      ExpectEndsFilled(RangeOf(block->first, block->second.size), block->second.byte);
      ASSERT_THAT(memory->Free(block->first), IsOk());
      in_use = in_use - block->second.size;
      blocks.erase(block);
    } else {
      const Bytes size = (1 + random() % 24) * (granule() / 8);
      const auto block = memory->Allocate(size, DefaultStream());
      if (block.ok()) {
        const uint8_t byte = static_cast<uint8_t>(random());
        ASSERT_THAT(Fill(RangeOf(*block, size), byte), IsOk());
        blocks[*block] = Block{size, byte};
        in_use = in_use + size;
      }
    }
    const ExpandableSegments::Stats stats = memory->GetStats();
    ASSERT_EQ(stats.in_use, in_use);
    ASSERT_GE(stats.physical, in_use);
    if (traits().sole_user) {
      ASSERT_EQ(stats.physical, free_before - FreeMemory());
    }
  }
  EXPECT_GT(faults().fired(), 10);
}

INSTANTIATE_TEST_SUITE_P(On, ExpandableSegmentsTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::examples
