// Memory that goes while work is still to be done with it: the commonest bug of allocators. On a
// GPU it shows as an illegal address, some time later, or not at all; here it is always seen, since
// the simulator does work as late as it may. For each design: done right, nothing is noticed; done
// wrong on purpose, the mistake is named.
//
// ovg-project/kvcached#465, vllm-project/vllm#43020, vllm-project/vllm#45615.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/allocators/destructor_errors.h"
#include "api/diagnostics.h"
#include "api/driver_error.h"
#include "api/testing/fault_injecting.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"
#include "tools/examples/allocators/expandable_segments.h"
#include "tools/examples/allocators/kv_cache.h"
#include "tools/examples/allocators/sleep_mode.h"

namespace twinmmu::examples {
namespace {

using testing::Each;
using testing::IsEmpty;

constexpr Bytes kPage = MiB(2);

std::vector<absl::Status>& DestructorErrors() {
  static auto& errors = *new std::vector<absl::Status>();
  return errors;
}

class WorkInFlightTest : public testing::Test {
 protected:
  void SetUp() override {
    DestructorErrors().clear();
    SetDestructorErrorHook([](const absl::Status& error) { DestructorErrors().push_back(error); });
    Profile profile = Profile::ReferenceH200();
    profile.stream_policy = StreamPolicy::kDeferred;
    TWINMMU_ASSERT_OK_AND_ASSIGN(simulator_, Simulator::Create(profile));
    TWINMMU_ASSERT_OK_AND_ASSIGN(vmm_, simulator_->vmm());
    TWINMMU_ASSERT_OK_AND_ASSIGN(executor_, simulator_->executor());
    TWINMMU_ASSERT_OK_AND_ASSIGN(stream_, executor_->CreateStream(DeviceOrdinal(0)));
    TWINMMU_ASSERT_OK_AND_ASSIGN(other_, executor_->CreateStream(DeviceOrdinal(0)));
  }

  Vmm* vmm() { return vmm_; }
  Executor* executor() { return executor_; }
  Stream stream() const { return stream_; }
  Stream other() const { return other_; }

  absl::Status Fill(DeviceAddress page, uint8_t byte) {
    absl::Status status = executor_->Fill(DeviceOrdinal(0), page, FillPattern{byte}, kPage.value());
    status.Update(executor_->SynchronizeDevice(DeviceOrdinal(0)));
    return status;
  }
  // Gives the stream work that reads a page, and goes on for long: each question whether it is done
  // makes the simulator do one piece of it.
  void KeepReading(Stream stream, DeviceAddress page) {
    for (int i = 0; i < 100; ++i) {
      ASSERT_THAT(executor_->CopyDeviceToHost(stream, read_.data(), page, Bytes(read_.size())),
                  IsOk());
    }
  }
  // Waits for all work. That which reads must have read this byte at last.
  void ExpectRead(uint8_t byte) {
    EXPECT_THAT(executor_->SynchronizeDevice(DeviceOrdinal(0)), IsOk());
    EXPECT_THAT(read_, Each(byte));
  }

  // The first mistake that was noticed, without the leaks of a test that ends early.
  void ExpectFirstMistake(DiagnosticKind kind) {
    const std::vector<Diagnostic> noticed = simulator_->diagnostics();
    ASSERT_FALSE(noticed.empty());
    EXPECT_EQ(noticed.front().kind, kind) << noticed.front();
  }
  // A destructor of this test reported this, and nothing else was reported.
  void ExpectDestructorError(DriverCode code) {
    ASSERT_EQ(DestructorErrors().size(), 1);
    EXPECT_THAT(DestructorErrors().front(), HasDriverCode(code));
  }
  void ExpectNoMistake() { EXPECT_THAT(simulator_->diagnostics(), IsEmpty()); }

 private:
  std::unique_ptr<Simulator> simulator_;
  Vmm* vmm_ = nullptr;
  Executor* executor_ = nullptr;
  Stream stream_;
  Stream other_;
  std::vector<uint8_t> read_ = std::vector<uint8_t>(64);
};

class ExpandableSegmentsInFlightTest : public WorkInFlightTest {
 protected:
  void SetUp() override {
    WorkInFlightTest::SetUp();
    small_ = std::make_unique<FaultInjectingVmm>(vmm(), &faults_);
    failing_ = std::make_unique<FaultInjectingExecutor>(executor(), &faults_);
    TWINMMU_ASSERT_OK_AND_ASSIGN(memory_, ExpandableSegments::Make(small_.get(), failing_.get()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(block_, memory_->Allocate(kPage, stream()));
    ASSERT_THAT(Fill(block_, 7), IsOk());
  }
  FaultPlan faults_;
  std::unique_ptr<FaultInjectingVmm> small_;
  std::unique_ptr<FaultInjectingExecutor> failing_;
  std::unique_ptr<ExpandableSegments> memory_;
  DeviceAddress block_;
};

TEST_F(ExpandableSegmentsInFlightTest, ABlockThatAnotherStreamUsesIsNotGivenOutAgain) {
  KeepReading(other(), block_);
  ASSERT_THAT(memory_->Free(block_, {other()}), IsOk());
  EXPECT_EQ(memory_->GetStats().waiting, kPage);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const DeviceAddress elsewhere, memory_->Allocate(kPage, stream()));
  EXPECT_NE(elsewhere, block_);
  ASSERT_THAT(memory_->Trim(), IsOk());
  ExpectRead(7);
  EXPECT_THAT(memory_->Allocate(kPage, stream()), IsOkAndHolds(block_));
  ExpectNoMistake();
}

TEST_F(ExpandableSegmentsInFlightTest, WhereMemoryRunsOutWaitingBlocksAreWaitedFor) {
  KeepReading(other(), block_);
  ASSERT_THAT(memory_->Free(block_, {other()}), IsOk());
  // For the tail there is none. When the block is free, both are one.
  small_->SetMemoryBudget(DeviceOrdinal(0), kPage);
  EXPECT_THAT(memory_->Allocate(kPage, stream()), IsOkAndHolds(block_));
  EXPECT_EQ(memory_->GetStats().physical, kPage);
  ExpectRead(7);
  ExpectNoMistake();
}

TEST_F(ExpandableSegmentsInFlightTest, PagesStayUntilTheirStreamIsDone) {
  KeepReading(stream(), block_);
  ASSERT_THAT(memory_->Free(block_), IsOk());
  ASSERT_THAT(memory_->Trim(), IsOk());
  EXPECT_EQ(memory_->GetStats().physical, kPage);
  ExpectRead(7);
  ASSERT_THAT(memory_->Trim(), IsOk());
  EXPECT_EQ(memory_->GetStats().physical, Bytes(0));
  ExpectNoMistake();
}

TEST_F(ExpandableSegmentsInFlightTest, TheEndWaitsForAllStreams) {
  KeepReading(stream(), block_);
  KeepReading(other(), block_);
  ASSERT_THAT(memory_->Free(block_, {other()}), IsOk());
  ASSERT_THAT(memory_->Close(), IsOk());
  ExpectRead(7);
  ExpectNoMistake();
}

TEST_F(ExpandableSegmentsInFlightTest, AnEndThatCannotWaitLeavesTheMemory) {
  KeepReading(stream(), block_);
  faults_.FailNth(1, DriverCode::kOperatingSystem, {DriverCall::kSynchronizeStream});
  memory_.reset();
  ExpectDestructorError(DriverCode::kOperatingSystem);
  ExpectRead(7);
  ExpectNoMistake();
}

TEST_F(ExpandableSegmentsInFlightTest, AUseThatNobodyNamedIsNoticedWhenThePagesGo) {
  KeepReading(other(), block_);
  ASSERT_THAT(memory_->Free(block_), IsOk());
  ASSERT_THAT(memory_->Trim(), IsOk());
  ExpectFirstMistake(DiagnosticKind::kUnmapUnderPendingWork);
}

class KvCacheInFlightTest : public WorkInFlightTest {
 protected:
  void SetUp() override {
    WorkInFlightTest::SetUp();
    failing_ = std::make_unique<FaultInjectingExecutor>(executor(), &faults_);
    TWINMMU_ASSERT_OK_AND_ASSIGN(cache_, KvCache::Make(vmm(), failing_.get()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(sequence_, cache_->Add());
    ASSERT_THAT(cache_->Grow(sequence_, kPage), IsOk());
    base_ = cache_->RangeOf(sequence_).value().base;
    ASSERT_THAT(Fill(base_, 7), IsOk());
  }
  FaultPlan faults_;
  std::unique_ptr<FaultInjectingExecutor> failing_;
  std::unique_ptr<KvCache> cache_;
  KvCache::Sequence sequence_ = 0;
  DeviceAddress base_;
};

TEST_F(KvCacheInFlightTest, ASequenceThatIsReadStaysUntilThatIsDone) {
  KeepReading(stream(), base_);
  ASSERT_THAT(cache_->Remove(sequence_, {stream()}), IsOk());
  EXPECT_EQ(cache_->GetStats().physical, kPage);
  ExpectRead(7);
  EXPECT_THAT(cache_->Add(), IsOk());
  EXPECT_EQ(cache_->GetStats().physical, Bytes(0));
  ExpectNoMistake();
}

TEST_F(KvCacheInFlightTest, TheEndWaitsForRemovedSequences) {
  KeepReading(stream(), base_);
  ASSERT_THAT(cache_->Remove(sequence_, {stream()}), IsOk());
  cache_.reset();
  ExpectRead(7);
  ExpectNoMistake();
}

TEST_F(KvCacheInFlightTest, AnEndThatCannotWaitLeavesTheMemory) {
  KeepReading(stream(), base_);
  ASSERT_THAT(cache_->Remove(sequence_, {stream()}), IsOk());
  faults_.FailNth(1, DriverCode::kOperatingSystem, {DriverCall::kSynchronizeEvent});
  cache_.reset();
  ExpectDestructorError(DriverCode::kOperatingSystem);
  ExpectRead(7);
  ExpectNoMistake();
}

TEST_F(KvCacheInFlightTest, APageIsReplacedWhenItsReadersAreDone) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const KvCache::Sequence child, cache_->Fork(sequence_, kPage));
  KeepReading(stream(), base_);
  ASSERT_THAT(cache_->MakeWritable(sequence_, Bytes(0), kPage, {stream()}), IsOk());
  ASSERT_THAT(Fill(base_, 8), IsOk());
  ExpectRead(7);
  EXPECT_THAT(cache_->Remove(child), IsOk());
  ExpectNoMistake();
}

TEST_F(KvCacheInFlightTest, APrefixIsSharedWhenItsWritersAreDone) {
  ASSERT_THAT(executor()->Fill(stream(), base_, FillPattern{9}, kPage.value()), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const KvCache::Sequence child,
                               cache_->Fork(sequence_, kPage, {stream()}));
  KeepReading(other(), cache_->RangeOf(child).value().base);
  ExpectRead(9);
  ExpectNoMistake();
}

TEST_F(KvCacheInFlightTest, AReaderThatNobodyNamedIsNoticedWhenTheSequenceGoes) {
  KeepReading(stream(), base_);
  ASSERT_THAT(cache_->Remove(sequence_), IsOk());
  ExpectFirstMistake(DiagnosticKind::kUnmapUnderPendingWork);
}

TEST_F(KvCacheInFlightTest, AReaderThatNobodyNamedIsNoticedWhenAPageIsReplaced) {
  ASSERT_THAT(cache_->Fork(sequence_, kPage), IsOk());
  KeepReading(stream(), base_);
  ASSERT_THAT(cache_->MakeWritable(sequence_, Bytes(0), kPage), IsOk());
  ExpectFirstMistake(DiagnosticKind::kUnmapUnderPendingWork);
}

TEST_F(KvCacheInFlightTest, AWriterThatNobodyNamedIsNoticedWhenItsPageIsShared) {
  ASSERT_THAT(executor()->Fill(stream(), base_, FillPattern{9}, kPage.value()), IsOk());
  ASSERT_THAT(cache_->Fork(sequence_, kPage), IsOk());
  ExpectFirstMistake(DiagnosticKind::kAccessLoweredUnderPendingWork);
}

class SleepModeInFlightTest : public WorkInFlightTest {
 protected:
  void SetUp() override {
    WorkInFlightTest::SetUp();
    small_ = std::make_unique<FaultInjectingVmm>(vmm(), &faults_);
    TWINMMU_ASSERT_OK_AND_ASSIGN(memory_, SleepMode::Make(small_.get(), executor()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(weights_, memory_->Allocate(kPage, "weights"));
    TWINMMU_ASSERT_OK_AND_ASSIGN(cache_, memory_->Allocate(kPage, "kv_cache"));
    ASSERT_THAT(Fill(weights_, 7), IsOk());
    ASSERT_THAT(Fill(cache_, 8), IsOk());
  }
  FaultPlan faults_;
  std::unique_ptr<FaultInjectingVmm> small_;
  std::unique_ptr<SleepMode> memory_;
  DeviceAddress weights_;
  DeviceAddress cache_;
};

TEST_F(SleepModeInFlightTest, BlocksKeepTheirMemoryUntilTheWorkIsDone) {
  KeepReading(stream(), cache_);
  ASSERT_THAT(memory_->Sleep({"weights"}, {stream()}), IsOk());
  EXPECT_EQ(memory_->GetStats().physical, 2 * kPage);
  ExpectRead(8);
  ASSERT_THAT(memory_->Wake({"weights"}), IsOk());
  KeepReading(other(), weights_);
  ExpectRead(7);
  ExpectNoMistake();
}

TEST_F(SleepModeInFlightTest, WhatAStreamStillWritesIsSaved) {
  ASSERT_THAT(executor()->Fill(stream(), weights_, FillPattern{9}, kPage.value()), IsOk());
  ASSERT_THAT(memory_->Sleep({"weights"}, {stream()}), IsOk());
  ASSERT_THAT(memory_->Wake(), IsOk());
  KeepReading(other(), weights_);
  ExpectRead(9);
  ExpectNoMistake();
}

// As vllm-project/vllm#34600, with work that the memory still waits for: in the block that wakes
// first, and in the other.
TEST_F(SleepModeInFlightTest, AWakeThatFailsTakesNoMemoryFromTheWork) {
  for (const absl::string_view tag : {"weights", "kv_cache"}) {
    const DeviceAddress block = tag == "weights" ? weights_ : cache_;
    ASSERT_THAT(memory_->Sleep({}), IsOk());
    ASSERT_THAT(memory_->Wake({tag}), IsOk());
    ASSERT_THAT(Fill(block, 8), IsOk());
    KeepReading(stream(), block);
    ASSERT_THAT(memory_->Sleep({}, {stream()}), IsOk());
    small_->SetMemoryBudget(DeviceOrdinal(0), kPage);
    EXPECT_THAT(memory_->Wake(), HasDriverCode(DriverCode::kOutOfMemory));
    EXPECT_EQ(memory_->GetStats().asleep, 2 * kPage);
    ExpectRead(8);
  }
  ExpectNoMistake();
}

TEST_F(SleepModeInFlightTest, ABlockIsFreedWhenTheWorkIsDone) {
  KeepReading(stream(), cache_);
  ASSERT_THAT(memory_->Free(cache_, {stream()}), IsOk());
  EXPECT_EQ(memory_->GetStats().physical, 2 * kPage);
  ExpectRead(8);
  ASSERT_THAT(memory_->Wake(), IsOk());
  EXPECT_EQ(memory_->GetStats().physical, kPage);
  ExpectNoMistake();
}

TEST_F(SleepModeInFlightTest, WorkThatNobodyNamedIsNoticedWhenItsBlockSleeps) {
  KeepReading(stream(), cache_);
  ASSERT_THAT(memory_->Sleep({"weights"}), IsOk());
  ExpectFirstMistake(DiagnosticKind::kUnmapUnderPendingWork);
}

}  // namespace
}  // namespace twinmmu::examples
