// Policy: which of the values that the model allows a read gives.

#ifndef TWINMMU_SIM_COHERENCE_MODEL_POLICY_H_
#define TWINMMU_SIM_COHERENCE_MODEL_POLICY_H_

#include <cstdint>

namespace twinmmu::coherence {

enum class Policy : uint8_t {
  kCoherent,  // the newest
  // The oldest, so that a missing fence shows wherever it can; but the newest where the read and
  // that write are morally strong, so that flags are seen.
  kStale,
  kRandom,
  kL1,  // as from a cache per multiprocessor that knows lines by their virtual addresses
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MODEL_POLICY_H_
