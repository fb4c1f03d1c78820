#include "conformance/litmus/litmus_placement.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

using coherence::Instruction;
using coherence::Program;
using coherence::Thread;

bool IsBarrier(const Instruction& instruction) {
  return instruction.kind == Instruction::kBarrier ||
         instruction.kind == Instruction::kBarrierArrive;
}

// A turn of the test is played again and again, so a barrier has to be whole at its end.
absl::Status CountBarriers(const Program& program, LitmusPlacement::Cta* cta) {
  std::map<int, std::set<int>> times;
  for (const int t : cta->threads) {
    std::map<int, int> own;
    for (const Instruction& instruction : program.threads[t].instructions) {
      if (IsBarrier(instruction)) ++own[instruction.barrier];
    }
    for (const auto& [barrier, count] : own) {
      times[barrier].insert(count);
      cta->barrier_threads[barrier] += static_cast<int>(kLanesPerWarp);
    }
  }
  for (const auto& [barrier, counts] : times) {
    if (counts.size() != 1) {
      return absl::UnimplementedError(
          absl::StrCat("its threads come to barrier ", barrier, " unequally often"));
    }
  }
  return absl::OkStatus();
}

// What the model has and PTX has not.
absl::Status CheckMultimem(const Program& program, const Instruction& instruction) {
  using coherence::Arithmetic;
  using coherence::Semantics;
  if (!instruction.IsAccess() || !program.addresses[instruction.address].multicast) {
    return absl::OkStatus();
  }
  constexpr Arithmetic kOperations[] = {Arithmetic::kAdd, Arithmetic::kMin, Arithmetic::kMax,
                                        Arithmetic::kAnd, Arithmetic::kOr,  Arithmetic::kXor};
  const bool known =
      std::count(std::begin(kOperations), std::end(kOperations), instruction.operation) != 0;
  const bool acquires =
      instruction.kind == Instruction::kAtomic && coherence::Acquires(instruction.semantics);
  if (known && !acquires) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("PTX has no ", instruction.text));
}

// What these kernels have not: sim/ptx/tests plays some of it.
absl::Status CheckProxies(const Program& program, const Instruction& instruction) {
  const bool barrier = instruction.IsBarrier() && instruction.meeting != Instruction::kOfCta;
  const bool proxy = instruction.IsAccess() &&
                     program.addresses[instruction.address].proxy != coherence::Proxy::kGeneric;
  if (!barrier && !proxy && instruction.kind != Instruction::kAsyncFence) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("it cannot play ", instruction.text));
}

}  // namespace

std::vector<int> GpusOf(const Program& program) {
  std::set<int> gpus;
  for (const Thread& thread : program.threads) gpus.insert(thread.place.gpu);
  return std::vector<int>(gpus.begin(), gpus.end());
}

size_t CountDevices(const Program& program) {
  size_t count = GpusOf(program).size();
  for (const coherence::Address& address : program.addresses) {
    count = std::max(count, address.locations.size());
  }
  return count;
}

size_t UnicastAddressOf(const Program& program, int location) {
  size_t i = 0;
  while (program.addresses[i].multicast || program.addresses[i].locations[0] != location) ++i;
  return i;
}

absl::Status CheckCanRun(const coherence::LitmusTest& test) {
  // What needs a multicast object says so of hardware, where none is made unasked.
  if (!test.runnable && !test.multicast) {
    return absl::UnimplementedError("it says that it is not runnable");
  }
  for (const Thread& thread : test.program.threads) {
    for (const Instruction& instruction : thread.instructions) {
      const absl::Status multimem = CheckMultimem(test.program, instruction);
      if (!multimem.ok()) return multimem;
      const absl::Status proxies = CheckProxies(test.program, instruction);
      if (!proxies.ok()) return proxies;
      if (instruction.kind == Instruction::kAliasReleaseFence ||
          instruction.kind == Instruction::kAliasAcquireFence) {
        return absl::UnimplementedError(
            absl::StrCat(instruction.text, " needs PTX 9.4, which the driver may not have"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<LitmusPlacement> PlaceThreads(const Program& program) {
  LitmusPlacement placement;
  const std::vector<int> gpus = GpusOf(program);
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    std::map<int, size_t> cta_of;  // by its number within the GPU
    for (size_t t = 0; t < program.threads.size(); ++t) {
      const coherence::Place& place = program.threads[t].place;
      if (place.gpu != gpus[gpu]) continue;
      const auto [found, is_new] = cta_of.emplace(place.cta, placement.ctas.size());
      if (is_new) placement.ctas.emplace_back().gpu = gpu;
      placement.ctas[found->second].threads.push_back(static_cast<int>(t));
    }
  }
  std::set<int> used;
  for (LitmusPlacement::Cta& cta : placement.ctas) {
    const absl::Status counted = CountBarriers(program, &cta);
    if (!counted.ok()) return counted;
    for (const auto& [barrier, threads] : cta.barrier_threads) used.insert(barrier);
    placement.warps = std::max(placement.warps, static_cast<uint32_t>(cta.threads.size()));
  }
  while (used.count(placement.own_barrier) != 0) --placement.own_barrier;
  if (placement.own_barrier < 0) return absl::UnimplementedError("it uses all barriers");
  return placement;
}

}  // namespace twinmmu
