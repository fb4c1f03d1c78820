// Random programs through the whole interpreter: they end, or do not within their slices, or are
// refused, or fault; whatever they do, this process goes on.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "sim/coherence/model/policy.h"
#include "sim/ptx/fuzz/ptx_machine.h"
#include "sim/ptx/fuzz/random_ptx.h"

namespace twinmmu::ptx {
namespace {

// Places in code stay for as long as a machine is there.
constexpr int kProgramsOfAMachine = 500;
constexpr int kRefusals = 12;
// Of a block. A group of warps has 128; 33 and 1 leave a warp with lanes that no thread has.
constexpr std::array<uint32_t, 8> kThreads = {128, 128, 128, 96, 64, 33, 32, 1};
struct Machine {
  coherence::Policy policy;
  bool aliased;
};
// Those that are not named are coherent: what is aliased takes much longer.
constexpr std::array<Machine, 10> kMachines = {{{coherence::Policy::kCoherent, true},
                                                {coherence::Policy::kStale, true},
                                                {coherence::Policy::kRandom, true},
                                                {coherence::Policy::kStale, false},
                                                {coherence::Policy::kRandom, false}}};

// Without the line that a message names: what a program is refused for is most often one of many
// lines. Empty: it names none.
std::string WithoutLineOf(const std::string& message, const std::string& module) {
  const size_t at = message.find("line ");
  if (at == std::string::npos) return "";
  long line = std::strtol(message.c_str() + at + 5, nullptr, 10);
  size_t begin = 0;
  while (--line > 0 && begin != std::string::npos) {
    begin = module.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  const size_t end = begin == std::string::npos ? begin : module.find('\n', begin);
  if (line != 0 || end == std::string::npos) return "";
  return module.substr(0, begin) + module.substr(end);
}

void RunOne(const uint8_t* data, size_t size) {
  static std::array<std::unique_ptr<PtxMachine>, kMachines.size()> machines;
  static std::array<int, kMachines.size()> programs = {};
  Choices choices(data, size);
  const size_t machine = choices.Byte() % kMachines.size();
  const uint32_t threads = kThreads[choices.Byte() % kThreads.size()];
  std::string module = RandomPtx(choices);
  const bool verbose = std::getenv("TWINMMU_SHOW_PROGRAMS") != nullptr;
  if (programs[machine]++ % kProgramsOfAMachine == 0 || machines[machine] == nullptr) {
    machines[machine] =
        std::make_unique<PtxMachine>(kMachines[machine].policy, kMachines[machine].aliased);
  }
  for (int i = 0; i < kRefusals && !module.empty(); ++i) {
    const PtxMachine::Result result = machines[machine]->Run(module, threads);
    if (verbose) std::fprintf(stderr, "%s=> %s\n", module.c_str(), result.words.c_str());
    if (result.outcome == PtxMachine::Outcome::kStopped) machines[machine] = nullptr;
    if (result.outcome != PtxMachine::Outcome::kRefused) return;
    module = WithoutLineOf(result.words, module);
  }
}

}  // namespace
}  // namespace twinmmu::ptx

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4096) twinmmu::ptx::RunOne(data, size);
  return 0;
}
