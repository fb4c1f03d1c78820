// The addresses of a warp's lanes, all at once.

#ifndef TWINMMU_SIM_PTX_RUN_LANE_ADDRESSES_H_
#define TWINMMU_SIM_PTX_RUN_LANE_ADDRESSES_H_

#include <array>
#include <cstdint>

#include "sim/ptx/operations/host_vectors.h"
#include "sim/ptx/operations/operation.h"

namespace twinmmu::ptx {

// Where each lane's access lies in the memory of the host.
using LaneMemory = std::array<char*, kLanes>;

// The same where that is at even distances: of lane i, at memory + i * stride.
struct LaneRun {
  char* memory = nullptr;  // null: there is none
  uint64_t stride = 0;
};

// Addresses from `base` on that lie one behind the other in the memory of the host, for each lane
// `lane_stride` bytes behind those of the lane before.
struct AddressWindow {
  uint64_t base = 0;
  uint64_t size = 0;
  char* memory = nullptr;  // of `base` and lane 0; null: there are none
  uint64_t lane_stride = 0;

  bool Holds(uint64_t address, uint64_t bytes) const {
    return bytes <= size && address - base <= size - bytes;
  }
};

// Whether values[i] is values[0] + i * stride for all lanes, where stride is 0 or a power of two.
template <typename T>
inline bool IsEven(const T* values, T stride) {
  static constexpr std::array<T, kLanes> kIndex = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                   11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                   22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
  if ((stride & (stride - 1)) != 0) return false;
  const T any = stride != 0 ? ~T{0} : 0;
  const int shift = __builtin_ctzll(uint64_t{stride} | uint64_t{1} << 63);
  const T first = values[0];
  T differences = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    differences |= (values[lane] - first) ^ ((kIndex[lane] << (shift & (8 * sizeof(T) - 1))) & any);
  }
  return differences == 0;
}

// addresses[i] = values[i] + offset, of lanes not in `lanes` that of the first of these, so that
// all are treated alike. Returns all bits that are set in any.
template <typename T>
uint64_t FindAddresses(const T* values, T offset, Lanes lanes, uint64_t* addresses) {
  const T first = values[__builtin_ctz(lanes)];
  uint64_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const T value = (lanes >> lane & 1) != 0 ? values[lane] : first;
    addresses[lane] = static_cast<T>(value + offset);
    bits |= addresses[lane];
  }
  return bits;
}

// Where each lane's `bytes` lie if all are in the window. False: they are not.
inline bool FindInWindow(const uint64_t* addresses, const AddressWindow& window, uint64_t bytes,
                         char** memory) {
  if (bytes > window.size) return false;
  const uint64_t last = window.size - bytes;
  const uint64_t host = reinterpret_cast<uint64_t>(window.memory);
  uint64_t outside = 0;
  for (uint64_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t offset = addresses[lane] - window.base;
    outside |= uint64_t{offset > last};
    memory[lane] = reinterpret_cast<char*>(host + offset + lane * window.lane_stride);
  }
  return outside == 0;
}

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_LANE_ADDRESSES_H_
