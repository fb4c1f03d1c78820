// Random litmus tests.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_RANDOM_LITMUS_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_RANDOM_LITMUS_H_

#include <cstdint>
#include <string>

namespace twinmmu::coherence {

// A test of two or three threads with few instructions each, over one location with two or three
// addresses and a flag, as a line of JSON; the same for the same seed. Every instruction that the
// format knows comes up, but for multimem and tasks of streams.
std::string RandomLitmus(uint64_t seed);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_RANDOM_LITMUS_H_
