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

// Channels of one size, 1, 2 or 4 of them. False: the driver has no such elements.
inline bool FormatOf(const cudaChannelFormatDesc& from, ChannelFormat* to) {
  const bool two = from.y != 0;
  const bool four = from.z != 0;
  if ((two && from.y != from.x) || (four && (from.z != from.x || from.w != from.x || !two)) ||
      (!four && from.w != 0)) {
    return false;
  }
  to->format = FormatOf(from.f, from.x);
  to->channels = four ? 4 : two ? 2 : 1;
  return to->format != 0;
}

inline int BitsOf(cuda_abi::CUarray_format format) {
  if (format == 0x10) return 16;
  if (format == 0x20) return 32;
  return 8 << ((format & 7) - (format >= 8 ? 0 : 1));
}

inline cudaChannelFormatDesc ChannelsOf(cuda_abi::CUarray_format format, unsigned int channels) {
  const int bits = BitsOf(format);
  cudaChannelFormatDesc to = {};
  to.x = bits;
  to.y = channels > 1 ? bits : 0;
  to.z = to.w = channels > 2 ? bits : 0;
  to.f = format >= 0x10 ? cudaChannelFormatKindFloat
         : format >= 8  ? cudaChannelFormatKindSigned
                        : cudaChannelFormatKindUnsigned;
  return to;
}

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_ARRAY_FORMATS_H_
