#include "conformance/litmus/litmus_device.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "api/driver.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/litmus/litmus_timing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/coherence/litmus/enumerate.h"
#include "sim/coherence/litmus/litmus.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"

namespace twinmmu {
namespace {

using coherence::LitmusTest;
using coherence::MulticastMode;
using coherence::Outcome;
using testing::_;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

std::unique_ptr<Simulator> SimulatorOf(const Profile& profile) {
  absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(profile);
  EXPECT_THAT(simulator, IsOk());
  return simulator.ok() ? *std::move(simulator) : nullptr;
}

LitmusTest Parse(const std::string& threads, const std::string& layout, const std::string& asked) {
  const absl::StatusOr<LitmusTest> test = coherence::ParseLitmus(absl::StrCat(
      R"({"locations": {"x": {"aliases": ["x", "y"]}, "flag": {}}, "assert": {"cond": ")", asked,
      R"("}, "threads": )", threads, R"(, "layout": )", layout, "}"));
  EXPECT_THAT(test, IsOk());
  return test.ok() ? *test : LitmusTest();
}

bool ShowsWeakOutcome(const LitmusTest& test, const LitmusCounts& counts) {
  return std::any_of(counts.outcomes.begin(), counts.outcomes.end(), [&](const auto& counted) {
    return test.weak.Holds([&](const coherence::Observable& observable) {
      const auto found = std::find(test.observables.begin(), test.observables.end(), observable);
      return counted.first[static_cast<size_t>(found - test.observables.begin())];
    });
  });
}

// Message passing: what the reader sees is (flag, data).
LitmusTest MessagePassing(const std::string& layout) {
  return Parse(R"([["st.weak x, 1", "fence.proxy.alias", "st.release.sys flag, 1"],)"
               R"( ["ld.acquire.sys r0, flag", "fence.proxy.alias", "ld.weak r1, y"]])",
               layout, R"(P1:r0 == 1 /\\ P1:r1 == 0)");
}

LitmusPlay OnSimulator() {
  LitmusPlay play;
  play.rounds = 2048;
  play.seed = 1;
  play.timing = LitmusTiming::kGivingWay;
  return play;
}

// Notes on which devices kernels are launched, and drops them if told to.
class NotedExecutor : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  absl::Status Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                      absl::Span<const void* const> arguments) override {
    devices.push_back(stream.device().value());
    if (drops) return absl::OkStatus();
    return ForwardingExecutor::Launch(stream, kernel, config, arguments);
  }
  std::vector<int> devices;
  bool drops = false;
};

class NotedDriver : public ForwardingDriver {
 public:
  explicit NotedDriver(Driver* target)
      : ForwardingDriver(target), noted(target->executor().value()) {}
  absl::StatusOr<Executor*> executor() override { return &noted; }
  NotedExecutor noted;
};

std::vector<LitmusTest> Sample() {
  const auto file = LineReader::Open("sim/coherence/testdata/alias_litmus.jsonl").value();
  std::vector<LitmusTest> tests;
  for (const coherence::LitmusLine& line : coherence::AllLitmus(*file)) {
    EXPECT_THAT(line.test, IsOk());
    if (line.test.ok()) tests.push_back(*line.test);
  }
  return tests;
}

// No outcome is outside of the model.
void ExpectWithinTheModel(const LitmusTest& test, const LitmusCounts& counts,
                          const coherence::Modes& modes) {
  EXPECT_EQ(counts.late, 0u);
  const absl::StatusOr<coherence::Enumeration> all = Enumerate(test, modes);
  ASSERT_THAT(all, IsOk());
  for (const auto& [outcome, count] : counts.outcomes) {
    EXPECT_TRUE(all->outcomes.count(outcome) != 0) << testing::PrintToString(outcome);
  }
}

// The sample, on a machine of two devices: all of it is played.
TEST(LitmusDeviceTest, PlaysTheSampleWithinTheModel) {
  const std::unique_ptr<Simulator> simulator = SimulatorOf(Profile::ReferenceH200(2));
  int played = 0;
  for (const LitmusTest& test : Sample()) {
    SCOPED_TRACE(test.name);
    LitmusPlay play = OnSimulator();
    play.rounds = 128;
    const absl::StatusOr<LitmusCounts> counts = PlayLitmus(*simulator, test, play);
    ASSERT_THAT(counts, IsOk());
    ++played;
    ExpectWithinTheModel(test, *counts, {});
  }
  EXPECT_EQ(played, 65);
  EXPECT_THAT(simulator->leaks(), IsEmpty());
}

// Whatever older values a machine shows, and however multicast and unicast addresses are related,
// multimem stays within the model; with the oldest values it shows what is allowed.
TEST(LitmusDeviceTest, PlaysMultimemWithinTheModel) {
  for (const MulticastMode mode : {MulticastMode::kGuide, MulticastMode::kStrict}) {
    for (const char* policy : {"coherent", "stale", "random:1", "random:2", "l1"}) {
      SCOPED_TRACE(policy);
      Profile profile = Profile::ReferenceH200(2);
      profile.alias_multicast = mode;
      ASSERT_THAT(profile.SetAliasPolicy(policy), IsOk());
      const std::unique_ptr<Simulator> simulator = SimulatorOf(profile);
      coherence::Modes modes;
      modes.multicast = mode;
      int played = 0;
      for (const LitmusTest& test : Sample()) {
        if (!test.multicast) continue;
        SCOPED_TRACE(test.name);
        LitmusPlay play = OnSimulator();
        play.rounds = 128;
        const absl::StatusOr<LitmusCounts> counts = PlayLitmus(*simulator, test, play);
        ASSERT_THAT(counts, IsOk());
        ++played;
        ExpectWithinTheModel(test, *counts, modes);
        const bool strict = mode == MulticastMode::kStrict && test.strict_verdict.has_value();
        const coherence::Verdict verdict = strict ? *test.strict_verdict : *test.verdict;
        if (policy == absl::string_view("stale")) {
          EXPECT_EQ(ShowsWeakOutcome(test, *counts), verdict == coherence::Verdict::kAllowed);
        }
      }
      EXPECT_EQ(played, 5);
      EXPECT_THAT(simulator->leaks(), IsEmpty());
    }
  }
}

// A driver that has no multicast objects, or may not use them.
class UnicastDriver : public ForwardingDriver {
 public:
  using ForwardingDriver::ForwardingDriver;
  absl::StatusOr<Multicast*> multicast() override { return Driver::multicast(); }
};

TEST(LitmusDeviceTest, PlaysNoMultimemWithoutMulticast) {
  const std::unique_ptr<Simulator> simulator = SimulatorOf(Profile::ReferenceH200(2));
  UnicastDriver driver(simulator.get());
  for (const LitmusTest& test : Sample()) {
    if (!test.multicast) continue;
    const absl::StatusOr<LitmusCounts> counts = PlayLitmus(driver, test, OnSimulator());
    EXPECT_EQ(counts.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(counts.status().message()), HasSubstr("multicast"));
  }
}

// A simulator that always ran one thread before the other would show nothing of the model.
TEST(LitmusDeviceTest, ShowsEveryOrderOfThreadsOfTwoBlocks) {
  const std::unique_ptr<Simulator> simulator = SimulatorOf(Profile::ReferenceH200());
  const absl::StatusOr<LitmusCounts> counts =
      PlayLitmus(*simulator, MessagePassing(R"([{"cta": 0}, {"cta": 1}])"), OnSimulator());
  ASSERT_THAT(counts, IsOk());
  EXPECT_THAT(counts->outcomes, UnorderedElementsAre(Pair(Outcome{0, 0}, _), Pair(Outcome{0, 1}, _),
                                                     Pair(Outcome{1, 1}, _)));
}

TEST(LitmusDeviceTest, ShowsEveryOrderOfThreadsOfTwoDevices) {
  const std::unique_ptr<Simulator> simulator = SimulatorOf(Profile::ReferenceH200(2));
  NotedDriver driver(simulator.get());
  const absl::StatusOr<LitmusCounts> counts =
      PlayLitmus(driver, MessagePassing(R"([{"gpu": 0}, {"gpu": 1}])"), OnSimulator());
  ASSERT_THAT(counts, IsOk());
  EXPECT_THAT(driver.noted.devices, UnorderedElementsAre(0, 1));
  EXPECT_EQ(counts->late, 0u);
  EXPECT_THAT(counts->outcomes, UnorderedElementsAre(Pair(Outcome{0, 0}, _), Pair(Outcome{0, 1}, _),
                                                     Pair(Outcome{1, 1}, _)));
}

TEST(LitmusDeviceTest, LaunchesTasksOnTheirDevices) {
  const std::unique_ptr<Simulator> simulator = SimulatorOf(Profile::ReferenceH200(2));
  NotedDriver driver(simulator.get());
  const LitmusTest test = Parse(R"([["launch{st.weak x, 1}", "event.record e"],)"
                                R"( ["stream.wait e", "launch{ld.weak r0, y}"]])",
                                R"([{"stream": 0, "gpu": 0}, {"stream": 1, "gpu": 1}])", "r0 == 0");
  const absl::StatusOr<LitmusCounts> counts = PlayLitmus(driver, test, OnSimulator());
  ASSERT_THAT(counts, IsOk());
  EXPECT_THAT(driver.noted.devices, Contains(1));
  EXPECT_THAT(counts->outcomes, UnorderedElementsAre(Pair(Outcome{1}, counts->rounds)));
}

// A launch that may start early does so, and sees all behind a wait.
TEST(LitmusDeviceTest, PlaysProgrammaticLaunches) {
  const auto outcomes = [](const std::string& wait, StreamPolicy policy) {
    Profile profile = Profile::ReferenceH200();
    profile.stream_policy = policy;
    const std::unique_ptr<Simulator> simulator = SimulatorOf(profile);
    const LitmusTest test =
        Parse(R"([["launch primary{griddepcontrol.launch_dependents; st.weak x, 1}",)"
              R"("launch secondary[programmatic]{)" +
                  wait + R"(ld.weak r0, y}"]])",
              R"([{"stream": 0}])", "r0 == 0");
    const absl::StatusOr<LitmusCounts> counts = PlayLitmus(*simulator, test, OnSimulator());
    EXPECT_THAT(counts, IsOk());
    return counts.ok() ? counts->outcomes : LitmusCounts().outcomes;
  };
  for (const StreamPolicy policy :
       {StreamPolicy::kEager, StreamPolicy::kDeferred, StreamPolicy::kSeeded}) {
    EXPECT_THAT(outcomes("griddepcontrol.wait; ", policy),
                UnorderedElementsAre(Pair(Outcome{1}, _)));
    EXPECT_THAT(outcomes("", policy), Contains(Pair(Outcome{0}, _)));
  }
}

TEST(LitmusDeviceTest, NeedsTwoDevicesForTwoGpus) {
  const std::unique_ptr<Simulator> simulator = SimulatorOf(Profile::ReferenceH200(1));
  const absl::StatusOr<LitmusCounts> counts =
      PlayLitmus(*simulator, MessagePassing(R"([{"gpu": 0}, {"gpu": 1}])"), OnSimulator());
  EXPECT_EQ(counts.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(counts.status().message()), HasSubstr("needs 2 GPUs"));
}

TEST(LitmusDeviceTest, NeedsPeersForTwoGpus) {
  Profile profile = Profile::ReferenceH200(2);
  profile.peers[1][0] = false;
  const std::unique_ptr<Simulator> simulator = SimulatorOf(profile);
  const absl::StatusOr<LitmusCounts> counts =
      PlayLitmus(*simulator, MessagePassing(R"([{"gpu": 0}, {"gpu": 1}])"), OnSimulator());
  EXPECT_EQ(counts.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(counts.status().message()), HasSubstr("device 1 cannot reach device 0"));
}

// Rounds that nobody counted must not pass for rounds that showed nothing wrong.
TEST(LitmusDeviceTest, MissesRoundsThatWereNotPlayed) {
  const std::unique_ptr<Simulator> simulator = SimulatorOf(Profile::ReferenceH200());
  NotedDriver driver(simulator.get());
  driver.noted.drops = true;
  const absl::StatusOr<LitmusCounts> counts =
      PlayLitmus(driver, MessagePassing(R"([{"cta": 0}, {"cta": 1}])"), OnSimulator());
  EXPECT_EQ(counts.status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace twinmmu
