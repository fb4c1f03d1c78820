// Formats of elements that are asked for.

#ifndef TWINMMU_CONFORMANCE_ABI_VALUES_CASES_TEXTURE_FORMATS_H_
#define TWINMMU_CONFORMANCE_ABI_VALUES_CASES_TEXTURE_FORMATS_H_

#include <cstdint>
#include <vector>

namespace twinmmu::abi {

// Integers and floats, and what is none. A genuine driver takes sums of them, too: it looks at some
// of their bits.
inline std::vector<uint64_t> PlainFormats() {
  return {0, 1, 2, 3, 4, 8, 9, 0xa, 0x10, 0x20, 0x7fffffff};
}

// And those of arrays alone. Compressed blocks (0x91 to 0x9e) and formats of video (0x9f to 0xbf)
// are not simulated.
inline std::vector<uint64_t> ArrayFormats() {
  return {0,    1,    2,    3,    4,    8,    9,    0xa,  0x10, 0x20, 0x50, 0xc0,
          0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0x7fffffff};
}

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_VALUES_CASES_TEXTURE_FORMATS_H_
