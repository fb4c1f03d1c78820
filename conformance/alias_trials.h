// Trials of aliases: how many rounds, from which word on, and what may come of them.

#ifndef TWINMMU_CONFORMANCE_ALIAS_TRIALS_H_
#define TWINMMU_CONFORMANCE_ALIAS_TRIALS_H_

#include <cstdint>
#include <string>

#include "conformance/target.h"
#include "kernels/common.h"

namespace twinmmu::conformance {

// Who takes turns in a trial: of one block, of two blocks, of two devices.
enum class AliasPartners { kOfABlock, kBlocks, kDevices };

// The rounds of a trial. What is stale by chance shows on a device only, which also has the time.
uint64_t AliasRounds(const Traits& traits, AliasPartners partners);

// What the word is before a trial: a carry into its upper half is near, so that a word of which
// only a half is read or written is noticed.
inline constexpr uint32_t kAliasStart = 0x0001FFF0;

// Expects that all rounds are done, that nothing is wrong, and with the fence nothing stale.
// Without it, what is stale is recorded as the property `name` of the test.
void ExpectCoherent(const AliasResult& seen, uint64_t rounds, bool fence, const std::string& name);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALIAS_TRIALS_H_
