// Formats of channels, as the runtime has them and as the driver has them.

#ifndef TWINMMU_SIM_LIBCUDART_ARRAY_FORMATS_H_
#define TWINMMU_SIM_LIBCUDART_ARRAY_FORMATS_H_

#include <cstddef>

#include "third_party/cuda_abi/cudart_abi.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::cudart {

struct ChannelFormat {
  cuda_abi::CUarray_format format = 0;
  unsigned int channels = 0;
};

// Normalised numbers of one, two or four channels of 8 or 16 bits, unsigned and signed: the kinds
// of the runtime and the formats of the driver follow each other in one order.
inline constexpr cuda_abi::CUarray_format kFirstNormalised = 0xc0;  // UNORM_INT8X1
inline constexpr cudaChannelFormatKind kFirstNormalisedKind = 5;
inline constexpr int kNormalised = 12;
inline constexpr cuda_abi::CUarray_format kPacked = 0x50;  // UNORM_INT_101010_2
inline constexpr cudaChannelFormatKind kPackedKind = 31;

inline bool IsNormalised(cuda_abi::CUarray_format format) {
  return format >= kFirstNormalised && format < kFirstNormalised + kNormalised;
}
inline bool IsNormalisedKind(cudaChannelFormatKind kind) {
  return kind >= kFirstNormalisedKind && kind < kFirstNormalisedKind + kNormalised;
}

// The driver's format of channels of so many bits; 0: it has none.
inline cuda_abi::CUarray_format FormatOf(cudaChannelFormatKind kind, int bits) {
  const int size = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : -1;
  if (size < 0) return 0;
  switch (kind) {
    case cudaChannelFormatKindUnsigned:
      return 0x01 + size;
    case cudaChannelFormatKindSigned:
      return 0x08 + size;
    case cudaChannelFormatKindFloat:
      return size == 1 ? 0x10 : size == 2 ? 0x20 : 0;
    default:
      return 0;
  }
}

inline int BitsOf(cuda_abi::CUarray_format format) {
  if (format == 0x10) return 16;
  if (format == 0x20) return 32;
  if (format == kPacked) return 8;  // on average
  if (IsNormalised(format)) return (format - kFirstNormalised) / 3 % 2 == 0 ? 8 : 16;
  return 8 << ((format & 7) - (format >= 8 ? 0 : 1));
}

// Channels of one size, 1, 2 or 4 of them. False: the driver has no such elements. Of normalised
// numbers, as the header has them; not measured.
inline bool FormatOf(const cudaChannelFormatDesc& from, ChannelFormat* to) {
  if (from.f == kPackedKind) {
    *to = {kPacked, 4};
    return from.x == 10 && from.y == 10 && from.z == 10 && from.w == 2;
  }
  const bool two = from.y != 0;
  const bool four = from.z != 0;
  if ((two && from.y != from.x) || (four && (from.z != from.x || from.w != from.x || !two)) ||
      (!four && from.w != 0)) {
    return false;
  }
  to->channels = four ? 4 : two ? 2 : 1;
  if (IsNormalisedKind(from.f)) {
    const int index = from.f - kFirstNormalisedKind;
    to->format = kFirstNormalised + index;
    return to->channels == 1u << (index % 3) && from.x == BitsOf(to->format);
  }
  to->format = FormatOf(from.f, from.x);
  return to->format != 0;
}

inline cudaChannelFormatDesc ChannelsOf(cuda_abi::CUarray_format format, unsigned int channels) {
  if (format == kPacked) return {10, 10, 10, 2, kPackedKind};
  const int bits = BitsOf(format);
  cudaChannelFormatDesc to = {};
  to.x = bits;
  to.y = channels > 1 ? bits : 0;
  to.z = to.w = channels > 2 ? bits : 0;
  if (IsNormalised(format)) {
    to.f = kFirstNormalisedKind + (format - kFirstNormalised);
    return to;
  }
  to.f = format >= 0x10 ? cudaChannelFormatKindFloat
         : format >= 8  ? cudaChannelFormatKindSigned
                        : cudaChannelFormatKindUnsigned;
  return to;
}

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_ARRAY_FORMATS_H_
