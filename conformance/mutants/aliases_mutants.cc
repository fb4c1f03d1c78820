// Mutants of aliases.

#include "conformance/mutants/kernel_mutant.h"

namespace twinmmu::conformance {
namespace {

KERNEL_MUTANT(ALIAS_1, "After the fence one read in a hundred is stale.") {
  const absl::Status status = Real::Launch(stream, kernel, config, arguments);
  if (!Is(kernel, "alias_fenced")) return status;
  const uint64_t rounds = Argument<uint64_t>(arguments, 2);
  Leave(stream.device(), AddressIn(arguments, 4), AliasResult{rounds, rounds / 100, 0});
  return status;
}
KERNEL_MUTANT(ALIAS_1, "The fence does not reach lines that are cached.") {
  const absl::Status status = Real::Launch(stream, kernel, config, arguments);
  if (!Is(kernel, "alias_fenced") || Argument<uint32_t>(arguments, 3) == 0) return status;
  const uint64_t rounds = Argument<uint64_t>(arguments, 2);
  Leave(stream.device(), AddressIn(arguments, 4), AliasResult{rounds, rounds, 0});
  return status;
}
KERNEL_MUTANT(ALIAS_2, "Without the fence a read may give neither value.") {
  const absl::Status status = Real::Launch(stream, kernel, config, arguments);
  if (!Is(kernel, "alias_unfenced")) return status;
  const uint64_t rounds = Argument<uint64_t>(arguments, 2);
  Leave(stream.device(), AddressIn(arguments, 4), AliasResult{rounds, rounds / 2, 1});
  return status;
}
KERNEL_MUTANT(ALIAS_2, "Without the fence the kernel ends half-way.") {
  const absl::Status status = Real::Launch(stream, kernel, config, arguments);
  if (!Is(kernel, "alias_unfenced")) return status;
  const uint64_t rounds = Argument<uint64_t>(arguments, 2);
  Leave(stream.device(), AddressIn(arguments, 4), AliasResult{rounds / 2, 0, 0});
  return status;
}
MUTANT_CLASS(ALIAS_3, CachesLoads, "A load is cached by address from one kernel to the next.")

// A trial by two threads: where its kernel has the fence, and the address of its result.
struct Trial {
  const char* kernel;
  size_t fence;
  size_t result;
};
constexpr Trial kInBlock = {"alias_block", 4, 5};
constexpr Trial kInTurns = {"alias_pair", 5, 7};

// Says `stale` and `wrong` of every trial of this kind, with the fence or without.
class TrialMutant : public KernelMutant {
 public:
  using KernelMutant::KernelMutant;

 protected:
  absl::Status LaunchWith(const Trial& trial, AliasFence fence, uint64_t stale, uint64_t wrong,
                          Stream stream, Kernel kernel, const LaunchConfig& config,
                          absl::Span<const void* const> arguments) {
    const absl::Status status = Real::Launch(stream, kernel, config, arguments);
    if (!Is(kernel, trial.kernel)) return status;
    if (Argument<AliasFence>(arguments, trial.fence) != fence) return status;
    const DeviceAddress at = AddressIn(arguments, trial.result);
    AliasResult result = Find<AliasResult>(stream.device(), at);
    result.stale += stale;
    result.wrong += wrong;
    Leave(stream.device(), at, result);
    return status;
  }
};

#define TRIAL_MUTANT(rule_id, trial, fence, stale, wrong, sentence)                   \
  MUTANT_OF(TrialMutant, rule_id, Launch, sentence) {                                 \
    return LaunchWith(trial, fence, stale, wrong, stream, kernel, config, arguments); \
  }

TRIAL_MUTANT(ALIAS_4, kInBlock, AliasFence::kWriter, 1, 0,
             "After the fence and a barrier one read is stale.")
TRIAL_MUTANT(ALIAS_5, kInBlock, AliasFence::kNone, 0, 1,
             "After a barrier without the fence a read gives neither value.")
TRIAL_MUTANT(ALIAS_6, kInTurns, AliasFence::kWriter, 1, 0,
             "After the fence a read of another block is stale.")
TRIAL_MUTANT(ALIAS_7, kInTurns, AliasFence::kNone, 0, 1,
             "Without the fence a read of another block gives neither value.")
TRIAL_MUTANT(PEER_14, kInTurns, AliasFence::kWriter, 1, 0,
             "After the fence a read of another device is stale.")
TRIAL_MUTANT(PEER_15, kInTurns, AliasFence::kNone, 0, 1,
             "Without the fence a read of another device gives neither value.")

TRIAL_MUTANT(ALIAS_11, kInBlock, AliasFence::kReader, 1, 0,
             "In a block the reader's fence is not enough.")
TRIAL_MUTANT(ALIAS_11, kInTurns, AliasFence::kReader, 1, 0,
             "Between blocks the reader's fence is not enough.")

KERNEL_MUTANT_IF(PEER_14, "Kernels of two devices never run at once.",
                 Is(kernel, "alias_pair") && Argument<uint32_t>(arguments, 6) == 1, Ok())
MUTANT_CLASS(ALIAS_8, CachesLoads, "A load is cached by address from one stream to the other.")
MUTANT_CLASS(PEER_17, CachesLoads, "A load of one device does not see the other's stores.")
MUTANT_CLASS(ALIAS_9, FillsLate, "A copy does not see what a kernel wrote through another address.")

KERNEL_MUTANT(ALIAS_10, "What is added through the second address is lost.") {
  const absl::Status status = Real::Launch(stream, kernel, config, arguments);
  if (!Is(kernel, "count")) return status;
  const DeviceAddress word = AddressIn(arguments, 0);
  const uint32_t lost = config.grid.x * config.block.x / 2 * Argument<uint32_t>(arguments, 2);
  Leave(stream.device(), word, Find<uint32_t>(stream.device(), word) - lost);
  return status;
}
KERNEL_MUTANT_IF(PEER_16, "What the second device adds is lost.",
                 Is(kernel, "count") && stream.device().value() == 1, Ok())

MUTANT(ALIAS_9, Write, "What is copied through the second address is not seen through the first.") {
  const auto mappings = MappingsOf(HandleAt(destination));
  const bool second = mappings.size() == 2 && mappings[1].contains(destination);
  return second ? Ok() : Real::Write(work, destination, source, size);
}

}  // namespace
}  // namespace twinmmu::conformance
