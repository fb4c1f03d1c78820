// Litmus tests of PTX, reported to AliasMonitor access by access as an interpreter does: what it
// gives is what the model allows.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/coherence/litmus/enumerate.h"
#include "sim/coherence/litmus/explore.h"
#include "sim/coherence/litmus/guard.h"
#include "sim/coherence/litmus/litmus.h"
#include "sim/coherence/model/litmus_program.h"
#include "sim/coherence/model/policy.h"
#include "sim/coherence/monitor/alias_monitor.h"

namespace twinmmu::coherence {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kStride = 16;  // from one location to the next

struct Played {
  Outcome outcome;
  std::set<Hazard> hazards;
};

// One run of a test, with random order of steps.
class Player {
 public:
  Player(const LitmusTest& test, Policy policy, uint64_t seed)
      : test_(test),
        program_(test.program),
        random_(seed),
        monitor_(Options(policy, seed),
                 [this](const AliasHazard& hazard) { hazards_.insert(Known(hazard.hazard)); }) {
    for (size_t i = 0; i < program_.locations.size(); ++i) {
      Write(At(i), static_cast<uint32_t>(program_.locations[i].initial));
    }
    monitor_.Arm(memory_.data(), memory_.size());
    threads_.resize(program_.threads.size());
    std::map<std::tuple<int, int, int>, std::vector<size_t>> blocks;
    for (size_t t = 0; t < threads_.size(); ++t) {
      const Place& place = program_.threads[t].place;
      threads_[t].registers.resize(program_.threads[t].registers.size());
      blocks[{place.gpu, place.cluster, place.cta}].push_back(t);
    }
    int sm = 0;
    for (const auto& [place, threads] : blocks) {
      ThreadId id =
          monitor_.Start(static_cast<uint32_t>(threads.size()), std::get<0>(place), sm++, Clocks());
      for (const size_t t : threads) threads_[t].id = id++;
    }
  }

  // What hazards of both forms are compared by: whose mapping an address is only the test knows.
  static Hazard Known(Hazard hazard) {
    return hazard == Hazard::kCrossDevice ? Hazard::kAlias : hazard;
  }

  // nullopt: not done after many steps.
  std::optional<Played> Play() {
    for (int step = 0; step < 2000; ++step) {
      std::vector<size_t> ready;
      for (size_t t = 0; t < threads_.size(); ++t) {
        if (CanStep(t)) ready.push_back(t);
      }
      if (ready.empty()) break;
      Step(ready[random_() % ready.size()]);
    }
    for (size_t t = 0; t < threads_.size(); ++t) {
      if (threads_[t].next != program_.threads[t].instructions.size()) return std::nullopt;
    }
    Played run;
    run.hazards = hazards_;
    for (const Observable& observable : test_.observables) {
      const auto index = static_cast<size_t>(observable.index);
      run.outcome.push_back(observable.thread >= 0 ? threads_[observable.thread].registers[index]
                                                   : Read(At(index)));
    }
    return run;
  }

 private:
  struct ThreadState {
    ThreadId id = 0;
    size_t next = 0;
    bool arrived = false;
    std::vector<uint64_t> registers;
    std::map<int, int> turns;
  };
  struct Barrier {
    int arrived = 0;
    AliasMonitor::Meeting meeting;
  };
  using BarrierKey = std::tuple<int, int, int, int>;  // GPU, CTA, number, turn

  static AliasOptions Options(Policy policy, uint64_t seed) {
    AliasOptions options;
    options.policy = policy;
    options.seed = seed;
    return options;
  }
  static uint32_t Read(const char* from) {
    uint32_t value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  static void Write(char* to, uint32_t value) { std::memcpy(to, &value, sizeof(value)); }
  char* At(size_t location) { return memory_.data() + location * kStride; }

  BarrierKey KeyOf(size_t t, const Instruction& instruction) const {
    const Place& place = program_.threads[t].place;
    const auto turn = threads_[t].turns.find(instruction.barrier);
    return {place.gpu, place.cta, instruction.barrier,
            turn == threads_[t].turns.end() ? 0 : turn->second};
  }
  // How many threads come there.
  int Participants(const BarrierKey& key) const {
    const auto& [gpu, cta, number, turn] = key;
    int participants = 0;
    for (const Thread& thread : program_.threads) {
      const auto comes = [barrier = number](const Instruction& instruction) {
        return (instruction.kind == Instruction::kBarrier ||
                instruction.kind == Instruction::kBarrierArrive) &&
               instruction.barrier == barrier;
      };
      const bool here = thread.place.gpu == gpu && thread.place.cta == cta;
      const auto times =
          std::count_if(thread.instructions.begin(), thread.instructions.end(), comes);
      participants += here && times > turn ? 1 : 0;
    }
    return participants;
  }

  bool CanStep(size_t t) {
    const Thread& thread = program_.threads[t];
    if (threads_[t].next == thread.instructions.size()) return false;
    const Instruction& instruction = thread.instructions[threads_[t].next];
    if (instruction.kind != Instruction::kBarrier || !threads_[t].arrived) return true;
    const BarrierKey key = KeyOf(t, instruction);
    return barriers_[key].arrived == Participants(key);
  }

  void Step(size_t t) {
    ThreadState& state = threads_[t];
    const Instruction& instruction = program_.threads[t].instructions[state.next];
    AliasMonitor::Session session(&monitor_);
    switch (instruction.kind) {
      case Instruction::kFence:
        session.Fence(state.id, 1, {instruction.semantics, instruction.scope},
                      instruction.sequential);
        break;
      case Instruction::kAliasFence:
        session.AliasFence(state.id, 1);
        break;
      case Instruction::kAliasReleaseFence:
        session.AliasReleaseFence(state.id, 1);
        break;
      case Instruction::kAliasAcquireFence:
        session.AliasAcquireFence(state.id, 1);
        break;
      case Instruction::kBarrier:
      case Instruction::kBarrierArrive:
        if (!Meet(&session, t, instruction)) return;
        break;
      default:
        if (!Access(&session, &state, instruction)) return;
    }
    ++state.next;
  }

  bool Meet(AliasMonitor::Session* session, size_t t, const Instruction& instruction) {
    ThreadState& state = threads_[t];
    Barrier& barrier = barriers_[KeyOf(t, instruction)];
    if (!state.arrived) {
      ++barrier.arrived;
      session->Arrive(state.id, 1, &barrier.meeting);
      if (instruction.kind == Instruction::kBarrier) {
        state.arrived = true;
        return false;
      }
    } else {
      session->Leave(state.id, 1, &barrier.meeting);
    }
    state.arrived = false;
    ++state.turns[instruction.barrier];
    return true;
  }

  uint64_t Operand(const ThreadState& state, const Value& value) const {
    return value.reg < 0 ? value.constant : state.registers[static_cast<size_t>(value.reg)];
  }

  // False: the loop goes on.
  bool Access(AliasMonitor::Session* session, ThreadState* state, const Instruction& instruction) {
    const Address& address = program_.addresses[static_cast<size_t>(instruction.address)];
    MonitoredAccess access;
    access.memory = At(static_cast<size_t>(address.locations.at(0)));
    access.size = sizeof(uint32_t);
    access.armed = true;
    access.thread = state->id;
    access.address = static_cast<AddressId>(instruction.address + 1);
    access.strength = {instruction.semantics, instruction.scope};
    access.site = static_cast<Site>(state->id * 100 + state->next);
    std::array<char, 16> older;
    uint64_t result = 0;
    const uint64_t operand = Operand(*state, instruction.value);
    if (instruction.kind == Instruction::kLoad) {
      result = Read(session->Load(access, older.data()));
    } else if (instruction.kind == Instruction::kStore) {
      session->BeforeStore(access);
      Write(access.memory, static_cast<uint32_t>(operand));
      session->AfterStore(access);
    } else {
      result = Read(session->BeforeAtomic(access, older.data()));
      const uint64_t compare = Operand(*state, instruction.compare);
      const bool writes = instruction.operation != Arithmetic::kCompareAndSwap || result == compare;
      if (writes) {
        Write(access.memory,
              static_cast<uint32_t>(Apply(instruction.operation, result, operand, compare)));
      }
      session->AfterAtomic(access, writes);
    }
    if (instruction.until &&
        !Compare(result, instruction.until->comparison, instruction.until->value)) {
      return false;
    }
    if (instruction.result >= 0) {
      state->registers[static_cast<size_t>(instruction.result)] = result;
    }
    return true;
  }

  const LitmusTest& test_;
  const Program& program_;
  std::mt19937_64 random_;
  alignas(kPage) std::array<char, kPage> memory_{};
  std::set<Hazard> hazards_;
  AliasMonitor monitor_;
  std::vector<ThreadState> threads_;
  std::map<BarrierKey, Barrier> barriers_;
};

// Those that one kernel can be: the monitor knows nothing of multicast and clusters.
std::vector<LitmusTest> Sample() {
  const auto file = LineReader::Open("sim/coherence/testdata/alias_litmus.jsonl").value();
  std::vector<LitmusTest> tests;
  for (const LitmusLine& line : AllLitmus(*file)) {
    EXPECT_TRUE(line.test.ok()) << line.name << ": " << line.test.status();
    if (!line.test.ok() || line.test->host || line.test->multicast) continue;
    const auto& threads = line.test->program.threads;
    const bool clusters = std::any_of(threads.begin(), threads.end(), [](const Thread& thread) {
      return std::any_of(
          thread.instructions.begin(), thread.instructions.end(),
          [](const Instruction& instruction) { return instruction.scope == Scope::kCluster; });
    });
    if (!clusters) tests.push_back(*line.test);
  }
  return tests;
}

Enumeration MustEnumerate(const LitmusTest& test) {
  absl::StatusOr<Enumeration> all = Enumerate(test, Modes());
  EXPECT_TRUE(all.ok()) << test.name << ": " << all.status();
  return all.ok() ? *std::move(all) : Enumeration();
}

bool Holds(const LitmusTest& test, const Condition& condition, const Outcome& outcome) {
  return condition.Holds([&](const Observable& observable) {
    const auto found = std::find(test.observables.begin(), test.observables.end(), observable);
    return outcome.at(static_cast<size_t>(found - test.observables.begin()));
  });
}

// Of runs in which what the test asks for was seen.
std::set<Hazard> HazardsOfRuns(const LitmusTest& test, Policy policy, uint64_t runs) {
  const std::vector<Condition> guards = GuardsOf(test);
  std::set<Hazard> hazards;
  for (uint64_t seed = 0; seed < runs; ++seed) {
    const std::optional<Played> run = Player(test, policy, seed).Play();
    if (run && std::all_of(guards.begin(), guards.end(), [&](const Condition& guard) {
          return Holds(test, guard, run->outcome);
        })) {
      hazards.insert(run->hazards.begin(), run->hazards.end());
    }
  }
  return hazards;
}

TEST(AliasMonitorGatesTest, MostOfTheSampleIsPlayed) { EXPECT_GE(Sample().size(), 40u); }

TEST(AliasMonitorGatesTest, ValuesAreThoseThatTheModelAllows) {
  for (const LitmusTest& test : Sample()) {
    const Enumeration all = MustEnumerate(test);
    for (const Policy policy : {Policy::kCoherent, Policy::kStale, Policy::kRandom, Policy::kL1}) {
      uint64_t played = 0;
      for (uint64_t seed = 0; seed < 60; ++seed) {
        const std::optional<Played> run = Player(test, policy, seed).Play();
        played += run ? 1 : 0;
        EXPECT_TRUE(!run || all.outcomes.count(run->outcome) == 1)
            << test.name << ", policy " << static_cast<int>(policy) << ", seed " << seed;
      }
      EXPECT_NE(played, 0u) << test.name;
    }
  }
}

TEST(AliasMonitorGatesTest, HazardsAreThoseOfTheModel) {
  for (const LitmusTest& test : Sample()) {
    std::set<Hazard> hazards;
    for (const auto& [hazard, causal] : MustEnumerate(test).kinds) {
      if (causal) hazards.insert(Player::Known(hazard));
    }
    EXPECT_EQ(HazardsOfRuns(test, Policy::kCoherent, 200), hazards) << test.name;
    EXPECT_EQ(HazardsOfRuns(test, Policy::kRandom, 200), hazards) << test.name;
  }
}

// Whether one of many runs shows the weak outcome.
bool Shows(const LitmusTest& test, Policy policy) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::optional<Played> run = Player(test, policy, seed).Play();
    if (run && Holds(test, test.weak, run->outcome)) return true;
  }
  return false;
}

bool MachineShows(const LitmusTest& test, Policy policy) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::optional<SingleRun> run = RunOnce(test, Modes(), policy, seed);
    if (run && Holds(test, test.weak, run->outcome)) return true;
  }
  return false;
}

TEST(AliasMonitorGatesTest, EachPolicyShowsWhatTheOperationalModelShows) {
  for (const LitmusTest& test : Sample()) {
    for (const Policy policy : {Policy::kCoherent, Policy::kStale, Policy::kL1}) {
      EXPECT_EQ(Shows(test, policy), MachineShows(test, policy))
          << test.name << ", policy " << static_cast<int>(policy);
    }
  }
}

}  // namespace
}  // namespace twinmmu::coherence
