// Video instructions: vadd and its like, of a word, two halves or four bytes.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_VIDEO_OPERATIONS_H_
#define TWINMMU_SIM_PTX_OPERATIONS_VIDEO_OPERATIONS_H_

#include <array>
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
    kShiftLeft,
    kShiftRight,
    kMultiplyAdd,
    kEqual,
    kUnequal,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
  };
  // What becomes of the result and c: of a word, or for kAccumulate of parts, their sum.
  enum Second : uint8_t { kNone, kAccumulate, kSmaller, kLarger };
  // A part of a word: all of it, a byte, a half.
  enum Part : uint8_t { kWord, kByte0, kByte1, kByte2, kByte3, kHalf0, kHalf1 };

  uint64_t kind : 4;
  uint64_t parts : 3;  // 1, 2 or 4
  uint64_t signed_d : 1;
  uint64_t signed_a : 1;
  uint64_t signed_b : 1;
  uint64_t saturates : 1;
  uint64_t second : 2;
  // Of a word.
  uint64_t part_a : 3;
  uint64_t part_b : 3;
  uint64_t part_d : 3;  // the rest of the result is that of c
  uint64_t wraps : 1;   // how far is shifted: modulo 32
  uint64_t scale : 4;   // how far vmad shifts its result
  uint64_t adds_one : 1;
  uint64_t negates_product : 1;
  uint64_t negates_c : 1;
  // Of parts: which of them are changed, and for each of them three bits that say which
  // part of a (from 0 on), or of b behind them, is taken.
  uint64_t mask : 4;
  uint64_t lanes_a : 12;
  uint64_t lanes_b : 12;
};

// 64 bits that stand for it, in two words.
std::array<uint32_t, 2> Encode(const VideoForm& form);

// operands: d, a, b, c, and two slots of what Encode gives, the same for all lanes.
Compute FindVideo();

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_VIDEO_OPERATIONS_H_
