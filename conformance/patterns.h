// Data that tests write and look for, megabytes at a time.

#ifndef TWINMMU_CONFORMANCE_PATTERNS_H_
#define TWINMMU_CONFORMANCE_PATTERNS_H_

#include <cstdint>
#include <vector>

#include "api/address.h"

namespace twinmmu::conformance {

// As many words as cover `size`. Neighbouring words and other seeds differ, so that data from a
// wrong place or a wrong time is not taken for right.
std::vector<uint32_t> Pattern(uint32_t seed, Bytes size);

// The index of the first word that is not the one of `expected`, or the size. Of equal sizes.
uint64_t FirstDifference(const std::vector<uint32_t>& words, const std::vector<uint32_t>& expected);

// The index of the first byte that is not `expected`, or the size.
uint64_t FirstOtherThan(const std::vector<uint8_t>& bytes, uint8_t expected);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_PATTERNS_H_
