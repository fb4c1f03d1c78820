// A program that is recorded on a simulator, to be played on another one.

#ifndef TWINMMU_CONFORMANCE_INSTANCES_REPLAY_REPLAY_FIXTURE_H_
#define TWINMMU_CONFORMANCE_INSTANCES_REPLAY_REPLAY_FIXTURE_H_

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "api/testing/matchers.h"
#include "api/testing/recording/file.h"
#include "api/testing/recording/recorder.h"
#include "conformance/instances/replay/replay_sim.h"
#include "conformance/recordings/known_content.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"

namespace twinmmu::conformance {

class ReplayFixture : public testing::Test {
 protected:
  ReplayFixture() {
    auto simulator = *Simulator::Create(*Profile::Named("full-address-space"));
    header_ = DescribeOrigin(*simulator, "sim", "2026-11-21");
    driver_ = std::make_unique<RecordingDriver>(
        std::move(simulator), [this](const Json& line) { section_.lines.push_back(line); },
        RecorderOptions{SuiteContent(), false});
    section_.begin = Json{{"section", "program"}};
    driver_->Begin();
  }

  Vmm& vmm() { return **driver_->vmm(); }
  Executor& executor() { return **driver_->executor(); }
  Multicast& multicast() { return **driver_->multicast(); }
  SparseArrays& arrays() { return **driver_->sparse_arrays(); }
  // What was recorded so far: to be looked at, or damaged.
  std::vector<Json>& lines() { return section_.lines; }
  Json& begin() { return section_.begin; }

  // Plays it.
  absl::StatusOr<ReplayReport> Play() {
    const std::string path = testing::TempDir() + "program.jsonl";
    const auto writer = *RecordingWriter::Create(path);
    EXPECT_THAT(writer->Write(header_), IsOk());
    section_.end = Json{{"end", "program"}};
    EXPECT_THAT(writer->Write(section_), IsOk());
    EXPECT_THAT(writer->Close(), IsOk());
    return Replay(path, SimReplayOptions());
  }

  // `calls`: how many are played.
  void ExpectNoDifference(const testing::Matcher<uint64_t>& calls) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const ReplayReport report, Play());
    std::ostringstream text;
    for (const LineDifference& difference : report.differences) Print(difference, text);
    EXPECT_EQ(text.str(), "");
    EXPECT_THAT(report.masked, testing::IsEmpty());
    EXPECT_THAT(report.calls, calls);
  }

 private:
  Json header_;
  Section section_;
  std::unique_ptr<RecordingDriver> driver_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_INSTANCES_REPLAY_REPLAY_FIXTURE_H_
