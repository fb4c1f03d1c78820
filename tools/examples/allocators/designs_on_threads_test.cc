// The designs that several threads may call at once, called so.

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "api/diagnostics.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"
#include "tools/examples/allocators/expandable_segments.h"
#include "tools/examples/allocators/sleep_mode.h"

namespace twinmmu::examples {
namespace {

using testing::IsEmpty;

constexpr Bytes kPage = MiB(2);

class ThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    TWINMMU_ASSERT_OK_AND_ASSIGN(simulator_, Simulator::Create(Profile::ReferenceH200()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(vmm_, simulator_->vmm());
    TWINMMU_ASSERT_OK_AND_ASSIGN(executor_, simulator_->executor());
  }
  void TearDown() override { EXPECT_THAT(simulator_->diagnostics(), IsEmpty()); }

  // Runs `work` with 1, 2 and 3, all at once.
  template <typename F>
  static void InThreads(const F& work) {
    std::vector<std::thread> threads;
    for (uint8_t i = 1; i <= 3; ++i) threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  }
  // Writes the byte to the end of a page, and expects to read it there.
  void ExpectHolds(DeviceAddress page, uint8_t byte) {
    const DeviceOrdinal device(0);
    const DeviceAddress last = page + kPage - Bytes(1);
    uint8_t read = 0;
    EXPECT_THAT(executor_->Fill(device, last, FillPattern{byte}, 1), IsOk());
    EXPECT_THAT(executor_->CopyDeviceToHost(device, &read, last, Bytes(1)), IsOk());
    EXPECT_EQ(read, byte);
  }

  std::unique_ptr<Simulator> simulator_;
  Vmm* vmm_ = nullptr;
  Executor* executor_ = nullptr;
};

TEST_F(ThreadsTest, ThreadsShareASegment) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory, ExpandableSegments::Make(vmm_, executor_));
  InThreads([&](uint8_t byte) {
    for (int i = 0; i < 50; ++i) {
      TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress block,
                                   memory->Allocate(kPage, Stream(DeviceOrdinal(0))));
      ExpectHolds(block, byte);
      EXPECT_THAT(memory->Free(block), IsOk());
      EXPECT_THAT(memory->Trim(), IsOk());
    }
  });
  EXPECT_EQ(memory->GetStats().in_use, Bytes(0));
}

TEST_F(ThreadsTest, ThreadsAllocateWhatSleepsTogether) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto memory, SleepMode::Make(vmm_, executor_));
  InThreads([&](uint8_t byte) {
    for (int i = 0; i < 20; ++i) {
      TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress block, memory->Allocate(kPage, "weights"));
      ExpectHolds(block, byte);
      EXPECT_THAT(memory->Free(block), IsOk());
    }
  });
  EXPECT_EQ(memory->GetStats().physical, Bytes(0));
}

}  // namespace
}  // namespace twinmmu::examples
