// The values that arithmetic is tried with, by type.

#ifndef TWINMMU_CONFORMANCE_PTX_ARITHMETIC_VALUES_H_
#define TWINMMU_CONFORMANCE_PTX_ARITHMETIC_VALUES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "sim/ptx/text/type.h"

namespace twinmmu::conformance {

// Bits of the type, those that matter most first.
std::vector<uint64_t> EdgeValues(ptx::Type type);

// Of floating-point types often such that sums and products of several are rounded; of integers
// often small, as counts and positions are.
uint64_t RandomValue(ptx::Type type, std::mt19937_64& random);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_PTX_ARITHMETIC_VALUES_H_
