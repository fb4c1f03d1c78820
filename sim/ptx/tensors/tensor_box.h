// TensorBox: the bytes that one copy by a tensor map moves.

#ifndef TWINMMU_SIM_PTX_TENSORS_TENSOR_BOX_H_
#define TWINMMU_SIM_PTX_TENSORS_TENSOR_BOX_H_

#include <array>
#include <cstdint>
#include <vector>

#include "sim/ptx/tensors/tensor_map.h"

namespace twinmmu::ptx {

// Bytes that lie one behind the other, in global and in shared memory.
struct TensorRun {
  uint64_t global = 0;  // an address
  uint32_t shared = 0;  // from where the box begins
  uint32_t size = 0;
  bool inside = true;  // of the tensor; else `global` is nothing, and a load fills
  uint64_t begin = 0;  // the bytes of the runs before it
};

// Where a copy has its box.
struct TensorPlace {
  std::array<int32_t, TensorMap::kMostRank> coordinates = {};
  std::array<uint16_t, TensorMap::kMostRank - 2> offsets = {};  // im2col
  uint64_t shared = 0;  // the address in shared memory, by which a swizzle goes
};

struct TensorBox {
  std::vector<TensorRun> runs;
  uint64_t size = 0;       // of all runs
  uint64_t extent = 0;     // to the last of their bytes in shared memory
  std::vector<char> fill;  // for a run outside, of the longest one

  // The run that has the byte `at`, of `size`.
  const TensorRun& RunAt(uint64_t at) const;
};

// Why a load, or a store, cannot be at those coordinates; null: it can.
const char* WhyNoBox(const TensorMap& map, const TensorPlace& place, bool loads);
// For a load: all of the box. Else what of it is inside, in whole pieces of 16 bytes.
TensorBox BoxOf(const TensorMap& map, const TensorPlace& place, bool loads);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TENSORS_TENSOR_BOX_H_
