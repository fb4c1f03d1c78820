// Video instructions: what vadd4 and its like do to two halves or four bytes of a word.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_VIDEO_OPERATIONS_H_
#define TWINMMU_SIM_PTX_OPERATIONS_VIDEO_OPERATIONS_H_

#include <cstdint>

#include "sim/ptx/operations/operation.h"

namespace twinmmu::ptx {

struct VideoForm {
  enum Kind : uint8_t {
    kAdd,
    kSubtract,
    kAverage,
    kDistance,
    kMinimum,
    kMaximum,
    kEqual,
    kUnequal,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
  };
  Kind kind = kAdd;
  int parts = 4;  // 2 or 4
  bool signed_d = false;
  bool signed_a = false;
  bool signed_b = false;
  bool saturates = false;
  bool accumulates = false;  // the sum of all parts, and c
};

// A word that stands for it.
uint32_t Encode(const VideoForm& form);

// operands: d, a, b, c, and a slot of what Encode gives, the same for all lanes.
Compute FindVideo();

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_VIDEO_OPERATIONS_H_
