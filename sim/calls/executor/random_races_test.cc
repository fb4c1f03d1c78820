// Random kernels, with and without a barrier left out: what race_check finds, against an oracle
// that goes through all interleavings of their threads.

#include <algorithm>
#include <cstdint>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/testing/diagnostic_matchers.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

constexpr int kWarps = 3;  // of which one thread each accesses memory
constexpr int kWords = 3;
constexpr uint64_t kLinesBefore = 17;

// What one warp does, or, of a barrier, several do together.
struct Action {
  enum Kind { kLoad, kStore, kAdd, kBarrier };
  Kind kind = kLoad;
  int word = 0;
  unsigned warps = 0;  // bits
  int line = 0;        // of the PTX, per warp
};

using Kernel = std::vector<Action>;  // in an order in which nobody waits for ever

Kernel RandomKernel(std::mt19937& random) {
  constexpr unsigned kGroups[] = {0b111, 0b111, 0b011, 0b110, 0b101};
  Kernel kernel;
  const uint64_t actions = 4 + random() % 9;
  for (uint64_t i = 0; i < actions; ++i) {
    Action action;
    action.kind = static_cast<Action::Kind>(random() % 4);
    action.word = static_cast<int>(random() % kWords);
    action.warps = action.kind == Action::kBarrier ? kGroups[random() % std::size(kGroups)]
                                                   : 1u << random() % kWarps;
    kernel.push_back(action);
  }
  return kernel;
}

// --- The oracle ---

using Lines = std::pair<int, int>;  // of a race, the smaller one first

struct Step {
  Action action;
  int line = 0;
  size_t number = 0;  // in the kernel
};
using Threads = std::vector<std::vector<Step>>;

bool Conflict(const Action& a, const Action& b) {
  if (a.kind == Action::kBarrier || b.kind == Action::kBarrier || a.word != b.word) return false;
  if (a.kind == Action::kLoad && b.kind == Action::kLoad) return false;
  return a.kind != Action::kAdd || b.kind != Action::kAdd;
}

class Oracle {
 public:
  explicit Oracle(const Threads& threads) : threads_(threads) { Visit(State(threads.size())); }
  const std::set<Lines>& races() const { return races_; }
  // Those that every run shows. An atomic operation that happens to see another one is ordered
  // behind it, and what its thread does later, too.
  const std::set<Lines>& certain() const { return certain_; }

 private:
  using State = std::vector<size_t>;  // how far each thread has come

  const Step* Next(const State& state, size_t thread) const {
    return state[thread] < threads_[thread].size() ? &threads_[thread][state[thread]] : nullptr;
  }
  void Visit(const State& state) {
    if (!seen_.insert(state).second) return;
    for (size_t i = 0; i < threads_.size(); ++i) {
      const Step* const step = Next(state, i);
      if (step == nullptr) continue;
      // Two that may come next, in any order, are a race.
      for (size_t k = 0; k < i; ++k) {
        const Step* const other = Next(state, k);
        if (other == nullptr || !Conflict(step->action, other->action)) continue;
        races_.insert(std::minmax(step->line, other->line));
        const bool atomic = step->action.kind == Action::kAdd || other->action.kind == Action::kAdd;
        if (!atomic) certain_.insert(std::minmax(step->line, other->line));
      }
      State after = state;
      if (step->action.kind != Action::kBarrier) {
        ++after[i];
        Visit(after);
        continue;
      }
      bool together = true;
      for (size_t k = 0; k < threads_.size(); ++k) {
        if ((step->action.warps >> k & 1) == 0) continue;
        const Step* const other = Next(state, k);
        together = together && other != nullptr && other->number == step->number;
        ++after[k];
      }
      if (together) Visit(after);
    }
  }

  const Threads& threads_;
  std::set<State> seen_;
  std::set<Lines> races_;
  std::set<Lines> certain_;
};

// --- The kernel as PTX ---

std::string InstructionOf(const Action& action, size_t number, bool shared) {
  const std::string at = absl::StrCat(shared ? "[%r4+" : "[%rd1+", 4 * action.word, "]");
  const char* const space = shared ? "shared" : "global";
  switch (action.kind) {
    case Action::kLoad:
      return absl::StrCat("@%p1 ld.", space, ".u32 %r6, ", at, ";");
    case Action::kStore:
      return absl::StrCat("@%p1 st.", space, ".u32 ", at, ", %r1;");
    case Action::kAdd:
      return absl::StrCat("@%p1 red.relaxed.gpu.", space, ".add.u32 ", at, ", 1;");
    case Action::kBarrier:
      break;
  }
  // One for each, so that those of two groups are never taken for each other.
  return absl::StrCat("bar.sync ", number % 16, ", ", 32 * __builtin_popcount(action.warps), ";");
}

std::string TextOf(const Kernel& kernel, bool shared, Threads* threads) {
  std::string text = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 at) {
.reg .b64 %rd<4>;
.reg .b32 %r<8>;
.reg .pred %p<4>;
.shared .align 16 .b8 tile[64];
ld.param.u64 %rd1, [at];
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 31;
shr.u32 %r3, %r1, 5;
mov.u32 %r4, tile;
setp.eq.u32 %p1, %r2, 0;
setp.eq.u32 %p2, %r3, 1;
setp.eq.u32 %p3, %r3, 2;
)";
  absl::StrAppend(&text, "@%p2 bra warp1;\n@%p3 bra warp2;\n");
  int line = static_cast<int>(kLinesBefore) + 2;
  threads->assign(kWarps, {});
  for (size_t warp = 0; warp < kWarps; ++warp) {
    absl::StrAppend(&text, "warp", warp, ":\n");
    ++line;
    for (size_t i = 0; i < kernel.size(); ++i) {
      if ((kernel[i].warps >> warp & 1) == 0) continue;
      absl::StrAppend(&text, InstructionOf(kernel[i], i, shared), "\n");
      (*threads)[warp].push_back({kernel[i], line++, i});
    }
    absl::StrAppend(&text, "ret;\n");
    ++line;
  }
  return text + "}\n";
}

// The lines that a report names.
std::set<Lines> LinesIn(const std::vector<Diagnostic>& found) {
  static const std::regex kLine("PTX line ([0-9]+)");
  std::set<Lines> lines;
  for (const Diagnostic& diagnostic : found) {
    std::vector<int> named;
    for (std::sregex_iterator at(diagnostic.message.begin(), diagnostic.message.end(), kLine), end;
         at != end; ++at) {
      named.push_back(std::stoi((*at)[1]));
    }
    if (named.size() == 2) lines.insert(std::minmax(named[0], named[1]));
  }
  return lines;
}

Profile Watched() {
  Profile profile = Profile::ReferenceH200(1);
  profile.race_check = true;
  return profile;
}

class RandomRacesTest : public testing::TestWithParam<bool> {
 protected:
  // What is found of the kernel in a machine of its own.
  std::vector<Diagnostic> FoundIn(const std::string& text) {
    const auto simulator = *Simulator::Create(Watched());
    Executor& executor = **simulator->executor();
    const auto memory = simulator->linear().Allocate({kDevice0}, Bytes(4096));
    const auto module = executor.LoadModule(kDevice0, text);
    EXPECT_THAT(module, IsOk()) << text;
    if (!memory.ok() || !module.ok()) return {};
    const auto kernel = executor.GetKernel(*module, "kernel");
    const Stream stream = *executor.CreateStream(kDevice0);
    LaunchConfig config;
    config.block = {32 * kWarps, 1, 1};
    const DeviceAddress at = *memory;
    const void* const argument = &at;
    EXPECT_THAT(executor.Launch(stream, *kernel, config, {&argument, 1}), IsOk());
    EXPECT_THAT(executor.SynchronizeDevice(kDevice0), IsOk()) << text;
    return simulator->diagnostics();
  }
};

TEST_P(RandomRacesTest, AreThoseOfSomeInterleaving) {
  int with_races = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    std::mt19937 random(seed);
    Kernel kernel = RandomKernel(random);
    for (const bool left_out : {false, true}) {
      if (left_out) {
        const auto barrier = std::find_if(kernel.begin(), kernel.end(), [](const Action& action) {
          return action.kind == Action::kBarrier;
        });
        if (barrier == kernel.end()) continue;
        kernel.erase(barrier);
      }
      Threads threads;
      const std::string text = TextOf(kernel, GetParam(), &threads);
      const Oracle oracle(threads);
      const std::set<Lines>& races = oracle.races();
      const std::vector<Diagnostic> found = FoundIn(text);
      if (!oracle.certain().empty()) {
        EXPECT_FALSE(found.empty()) << "seed " << seed << "\n" << text;
      }
      if (races.empty()) {
        EXPECT_TRUE(found.empty()) << "seed " << seed << "\n" << text;
      }
      for (const Lines& lines : LinesIn(found)) {
        EXPECT_EQ(races.count(lines), 1u)
            << "seed " << seed << ", lines " << lines.first << " and " << lines.second << "\n"
            << text;
      }
      with_races += races.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(with_races, 50);
}

INSTANTIATE_TEST_SUITE_P(Spaces, RandomRacesTest, testing::Bool(), [](const auto& space) {
  return std::string(space.param ? "Shared" : "Global");
});

}  // namespace
}  // namespace twinmmu
