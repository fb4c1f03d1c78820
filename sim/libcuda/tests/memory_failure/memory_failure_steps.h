// Steps of a program of which each allocation fails in turn, on a host that has no memory.

#ifndef TWINMMU_SIM_LIBCUDA_TESTS_MEMORY_FAILURE_MEMORY_FAILURE_STEPS_H_
#define TWINMMU_SIM_LIBCUDA_TESTS_MEMORY_FAILURE_MEMORY_FAILURE_STEPS_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"
#include "sim/testing/failing_host.h"

namespace twinmmu::libcuda {

inline constexpr char kEmptyKernel[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry nothing() { ret; }
)";

// `World`: what the steps hand on to each other.
template <typename World>
struct Step {
  const char* name;
  std::function<int(World&)> run;  // a CUresult
};

template <typename World>
std::vector<Step<World>> Joined(std::initializer_list<std::vector<Step<World>>> parts) {
  std::vector<Step<World>> script;
  for (const auto& part : parts) script.insert(script.end(), part.begin(), part.end());
  return script;
}

// All that a program can see.
template <typename World>
using StateOf = std::string (*)(World&);

// Of it: how much memory the first devices have free, a line each.
inline std::string FreeOn(int devices) {
  std::string text;
  for (int device = 0; device < devices; ++device) {
    const auto info = Process::Get().driver()->vmm.GetMemoryInfo(DeviceOrdinal(device));
    text += std::to_string(info.ok() ? info->free.value() : 0) + " free\n";
  }
  return text;
}

inline void Restart() {
  Process::Get().Restart(Profile::ReferenceH200(2));
  ASSERT_NE(Process::Get().driver(), nullptr);
}

// By how many allocations a step may differ from one run to the next: the scheduler's thread may do
// a part of what was launched.
inline constexpr uint64_t kMayDiffer = 8;

// Runs a step where a failure may hit it; if it does, the step runs a second time. `uses`: about
// how many allocations the step makes if none fails.
template <typename World>
void RunStep(World& world, const Step<World>& step, uint64_t uses, StateOf<World> state_of) {
  constexpr int kOutOfMemory = 2;
  SCOPED_TRACE(step.name);
  const bool may_be_hit = failing_host::Countdown() < uses + kMayDiffer;
  const std::string before = may_be_hit ? state_of(world) : "";
  int result = 0;
  bool is_hit = false;
  {
    const failing_host::Scope scope;
    result = step.run(world);
    is_hit = scope.failed();
  }
  ASSERT_TRUE(may_be_hit || !is_hit);
  if (is_hit && result == kOutOfMemory) {
    EXPECT_EQ(state_of(world), before);
    result = step.run(world);
  }
  EXPECT_EQ(result, 0);
}

template <typename World>
std::vector<uint64_t> CountUses(const std::vector<Step<World>>& script, StateOf<World> state_of) {
  Restart();
  World world;
  std::vector<uint64_t> uses;
  failing_host::FailAt(failing_host::Fails::kMemory, ~uint64_t{0}, false);
  for (const Step<World>& step : script) {
    const uint64_t left = failing_host::Countdown();
    RunStep(world, step, 0, state_of);
    uses.push_back(left - failing_host::Countdown());
  }
  return uses;
}

// Each allocation of each step fails once; `for_good`: with all that follow in that step. The step
// says OUT_OF_MEMORY, or does without; then all is as it was, and the same step works. `least`: how
// many allocations there are, or the test shows nothing.
template <typename World>
void ExpectNothingIsLost(const std::vector<Step<World>>& script, StateOf<World> state_of,
                         bool for_good, uint64_t least) {
  CountUses(script, state_of);  // what the first call of its kind makes for all to come
  const std::vector<uint64_t> uses = CountUses(script, state_of);
  uint64_t total = 0;
  for (const uint64_t each : uses) total += each;
  ASSERT_GE(total, least);
  for (uint64_t n = 0; n < total && !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(n);
    Restart();
    World world;
    failing_host::FailAt(failing_host::Fails::kMemory, n, for_good);
    for (size_t i = 0; i < script.size() && !testing::Test::HasFailure(); ++i) {
      RunStep(world, script[i], uses[i], state_of);
    }
  }
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_TESTS_MEMORY_FAILURE_MEMORY_FAILURE_STEPS_H_
