// SleepMode, and what went wrong in allocators of its kind: the comment above a test names the
// report.

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/examples/allocators/design_test.h"
#include "tools/examples/allocators/sleep_mode.h"

namespace twinmmu::examples {
namespace {

using conformance::Implementations;
using conformance::NameOfImplementation;

class SleepModeTest : public DesignTest {
 protected:
  SleepMode::Options Options() {
    SleepMode::Options options;
    options.pages.page_size = granule();
    return options;
  }
  AddressRange RangeOf(DeviceAddress block, uint64_t pages) {
    return AddressRange{block, pages * granule(), Bytes(0)};
  }

  // Three blocks of 2 pages each, filled with 1, 2, 3.
  absl::StatusOr<std::vector<DeviceAddress>> AllocateThree(SleepMode& memory) {
    std::vector<DeviceAddress> blocks;
    for (uint8_t i = 1; i <= 3; ++i) {
      const absl::StatusOr<DeviceAddress> block = memory.Allocate(2 * granule(), "weights");
      if (!block.ok()) return block.status();
      const absl::Status status = Fill(RangeOf(*block, 2), i);
      if (!status.ok()) return status;
      blocks.push_back(*block);
    }
    return blocks;
  }
  void ExpectThree(const std::vector<DeviceAddress>& blocks) {
    for (uint8_t i = 1; i <= 3; ++i) {
      // The seam, and the end.
      constexpr Bytes kLength(512);
      const AddressRange block = RangeOf(blocks[i - 1], 2);
      ExpectFilled(block.subrange(granule() - kLength, 2 * kLength), i);
      ExpectFilled(block.subrange(block.size - kLength, kLength), i);
    }
  }
};

// fzyzcjy/torch_memory_saver#83: pausing freed nothing.
TEST_P(SleepModeTest, SleepGivesAllMemoryToOthers) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory, SleepMode::Make(&vmm(), &executor(), Options()));
  const Bytes before = FreeMemory();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto blocks, AllocateThree(*memory));
  EXPECT_EQ(memory->GetStats().physical, 6 * granule());
  if (traits().sole_user) {
    EXPECT_EQ(before - FreeMemory(), 6 * granule());
  }
  ASSERT_THAT(memory->Sleep({"weights"}), IsOk());
  EXPECT_EQ(memory->GetStats().physical, Bytes(0));
  EXPECT_EQ(memory->GetStats().asleep, 6 * granule());
  if (traits().sole_user) {
    EXPECT_EQ(FreeMemory(), before);
  }
  ASSERT_THAT(memory->Wake(), IsOk());
  ExpectThree(blocks);
}

TEST_P(SleepModeTest, TagsSayWhatIsSavedAndWhatWakes) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory, SleepMode::Make(&vmm(), &executor(), Options()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress weights,
                               memory->Allocate(2 * granule(), "weights"));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress cache,
                               memory->Allocate(3 * granule(), "kv_cache"));
  ASSERT_THAT(Fill(RangeOf(weights, 2), 1), IsOk());
  ASSERT_THAT(memory->Sleep({"weights"}), IsOk());
  EXPECT_EQ(memory->GetStats().saved, 2 * granule());

  ASSERT_THAT(memory->Wake({"weights"}), IsOk());
  EXPECT_EQ(memory->GetStats().awake, 2 * granule());
  EXPECT_EQ(memory->GetStats().physical, 2 * granule());
  EXPECT_EQ(memory->GetStats().saved, Bytes(0));
  ExpectFilled(RangeOf(weights, 2), 1);
  ASSERT_THAT(memory->Wake(), IsOk());
  EXPECT_EQ(memory->GetStats().awake, 5 * granule());
  ASSERT_THAT(Fill(RangeOf(cache, 3), 2), IsOk());
}

// vllm-project/vllm#34600, #12981: a wake without memory left the earlier blocks mapped, or copied
// into what was not. fzyzcjy/torch_memory_saver#87, #35: it ended the process.
TEST_P(SleepModeTest, AWakeThatRunsOutOfMemoryAnywhereWakesNone) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               SleepMode::Make(&failing_vmm(), &executor(), Options()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto blocks, AllocateThree(*memory));
  ASSERT_THAT(memory->Sleep({"weights"}), IsOk());
  const Bytes free = FreeMemory();
  for (uint64_t pages = 0; pages < 6; ++pages) {
    SCOPED_TRACE(testing::Message() << "memory for " << pages << " pages of 6");
    failing_vmm().SetMemoryBudget(device(), pages * granule());
    EXPECT_THAT(memory->Wake(), HasDriverCode(DriverCode::kOutOfMemory));
    EXPECT_EQ(memory->GetStats().asleep, 6 * granule());
    EXPECT_EQ(memory->GetStats().saved, 6 * granule());
    // What the first blocks had got may go in a later call.
    ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
    ASSERT_THAT(memory->Sleep({}), IsOk());
    EXPECT_EQ(memory->GetStats().physical, Bytes(0));
    if (traits().sole_user) {
      EXPECT_EQ(FreeMemory(), free);
    }
  }
  failing_vmm().SetMemoryBudget(device(), 6 * granule());
  ASSERT_THAT(memory->Wake(), IsOk());
  ExpectThree(blocks);
}

// invergent-ai/surogate#117: after a failure in part, every later try failed.
TEST_P(SleepModeTest, AWakeThatFailsAnywhereKeepsWhatWasSaved) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               SleepMode::Make(&failing_vmm(), &failing_executor(), Options()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto blocks, AllocateThree(*memory));
  ASSERT_THAT(memory->Sleep({"weights"}), IsOk());
  FailEachCall([&] { return memory->Wake(); },
               [&] {
                 EXPECT_EQ(memory->GetStats().asleep, 6 * granule());
                 EXPECT_EQ(memory->GetStats().saved, 6 * granule());
               });
  ExpectThree(blocks);
}

// vllm-project/vllm#36651: the error of one call was still there for the next.
TEST_P(SleepModeTest, TheErrorOfOneWakeIsNotThatOfTheNext) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               SleepMode::Make(&failing_vmm(), &executor(), Options()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto blocks, AllocateThree(*memory));
  ASSERT_THAT(memory->Sleep({"weights"}), IsOk());
  faults().FailNth(2, DriverCode::kOutOfMemory, {DriverCall::kCreate});
  EXPECT_THAT(memory->Wake(), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(memory->Wake(), IsOk());
  EXPECT_THAT(memory->Wake(), IsOk());
  EXPECT_THAT(memory->Free(blocks[0]), IsOk());
  EXPECT_THAT(memory->Sleep({"weights"}), IsOk());
}

// vllm-project/vllm#36651, fzyzcjy/torch_memory_saver#92: a block that was freed asleep released
// its handle a second time.
TEST_P(SleepModeTest, ABlockThatIsFreedAsleepReleasesNothingTwice) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory, SleepMode::Make(&vmm(), &executor(), Options()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto blocks, AllocateThree(*memory));
  ASSERT_THAT(memory->Sleep({"weights"}), IsOk());
  EXPECT_THAT(memory->Free(blocks[1]), IsOk());
  EXPECT_THAT(memory->Free(blocks[1]), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(memory->GetStats().asleep, 4 * granule());
  ASSERT_THAT(memory->Wake(), IsOk());
  ExpectFilled(RangeOf(blocks[0], 2), 1);
  ExpectFilled(RangeOf(blocks[2], 2), 3);
  EXPECT_THAT(memory->Free(blocks[0]), IsOk());
  EXPECT_EQ(memory->GetStats().physical, 2 * granule());
}

// vllm-project/vllm#36651: a second sleep released handles that were released.
TEST_P(SleepModeTest, SleepingTwiceKeepsWhatWasSaved) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory, SleepMode::Make(&vmm(), &executor(), Options()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto blocks, AllocateThree(*memory));
  ASSERT_THAT(memory->Sleep({"weights"}), IsOk());
  ASSERT_THAT(memory->Sleep({}), IsOk());
  EXPECT_EQ(memory->GetStats().saved, 6 * granule());
  ASSERT_THAT(memory->Wake(), IsOk());
  ExpectThree(blocks);
}

// ovg-project/kvcached#437: an unmap was refused, and the books took it for done.
TEST_P(SleepModeTest, ASleepThatFailsAnywhereCanGoOn) {
  for (uint64_t n = 1; n <= 3; ++n) {
    SCOPED_TRACE(testing::Message() << "unmap " << n << " fails");
    TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                                 SleepMode::Make(&failing_vmm(), &executor(), Options()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const auto blocks, AllocateThree(*memory));
    faults().FailNth(n, DriverCode::kUnknown, {DriverCall::kUnmap});
    EXPECT_THAT(memory->Sleep({"weights"}), HasDriverCode(DriverCode::kUnknown));
    EXPECT_EQ(memory->GetStats().asleep, 2 * (n - 1) * granule());
    EXPECT_EQ(memory->GetStats().physical, memory->GetStats().awake);
    EXPECT_THAT(memory->Sleep({"weights"}), IsOk());
    EXPECT_EQ(memory->GetStats().physical, Bytes(0));
    ASSERT_THAT(memory->Wake(), IsOk());
    ExpectThree(blocks);
  }
}

// ggml-org/llama.cpp#24489, openxla/xla#40852: access was given to the owner only.
TEST_P(SleepModeTest, PeersReachABlockThatWoke) {
  SleepMode::Options options = Options();
  options.peers = accessors();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory, SleepMode::Make(&vmm(), &executor(), options));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto blocks, AllocateThree(*memory));
  ASSERT_THAT(memory->Sleep({"weights"}), IsOk());
  ASSERT_THAT(memory->Wake(), IsOk());
  for (const DeviceOrdinal peer : accessors()) {
    ExpectFilled(RangeOf(blocks[0], 2), 1, peer);
    ASSERT_THAT(Fill(RangeOf(blocks[1], 2), 2, peer), IsOk());
  }
}

// NVIDIA/cuda-python#2345, #2906: what an allocation had got before it failed was lost, or freed
// without having been got.
TEST_P(SleepModeTest, AnAllocationThatFailsAnywhereLeavesNothing) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory,
                               SleepMode::Make(&failing_vmm(), &executor(), Options()));
  const Bytes before = FreeMemory();
  FailEachCall([&] { return memory->Allocate(3 * granule(), "weights").status(); },
               [&] {
                 EXPECT_EQ(memory->GetStats().awake, Bytes(0));
                 if (traits().sole_user) {
                   EXPECT_EQ(FreeMemory(), before);
                 }
               });
}

TEST_P(SleepModeTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(SleepMode::Make(nullptr, &executor()), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SleepMode::Make(&vmm(), nullptr), StatusIs(absl::StatusCode::kInvalidArgument));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory, SleepMode::Make(&vmm(), &executor(), Options()));
  for (const Bytes size : {Bytes(0), Bytes(std::numeric_limits<uint64_t>::max())}) {
    EXPECT_THAT(memory->Allocate(size, "weights"), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto blocks, AllocateThree(*memory));
  // A word that was mistyped discards nothing.
  EXPECT_THAT(memory->Sleep({"weight"}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(memory->GetStats().awake, 6 * granule());
  EXPECT_THAT(memory->Wake({"weight"}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(memory->Free(blocks[0] + granule()), StatusIs(absl::StatusCode::kNotFound));
}

INSTANTIATE_TEST_SUITE_P(On, SleepModeTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::examples
