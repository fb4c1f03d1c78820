// Channels: what the channels of an element store, and how values become that.

#ifndef TWINMMU_SIM_PTX_TEXTURES_CHANNELS_H_
#define TWINMMU_SIM_PTX_TEXTURES_CHANNELS_H_

#include <cstddef>
#include <cstdint>

#include "api/sparse_arrays.h"

namespace twinmmu::ptx {

struct Channel {
  enum Kind : uint8_t { kUnsigned, kSigned, kHalf, kFloat };

  Kind kind = kUnsigned;
  int bits = 32;
  bool normalised = false;  // the format says that it stands for a number from 0 or -1 to 1

  bool is_integer() const { return kind == kUnsigned || kind == kSigned; }
  // The largest integer, which stands for 1.
  uint32_t largest() const { return ~uint32_t{0} >> (32 - bits + (kind == kSigned ? 1 : 0)); }
};
Channel ChannelOf(ArrayFormat format, size_t channel);

// What an element stores there, with its sign; null: of memory that is not there, whose bytes are
// 0.
uint32_t StoredAt(ArrayFormat format, const char* element, size_t channel);
void Store(ArrayFormat format, size_t channel, uint32_t stored, char* element);

// The integer that stands for a value, as an H200 (driver 580.159) rounds it: the value times
// largest + 1 has 4 bits of fraction, and halves go towards zero; two bits have three bounds.
uint32_t StoredFraction(const Channel& channel, float value);
// A register that sust.p stores: integers are brought to the nearest that there is.
uint32_t StoredRegister(const Channel& channel, uint32_t word);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXTURES_CHANNELS_H_
