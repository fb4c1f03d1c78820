// Any 128 bytes as a tensor map, and any place of a box: what is copied lies in the box, and the
// box in shared memory. Kernels may make maps of what they like.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sim/ptx/tensors/tensor_box.h"
#include "sim/ptx/tensors/tensor_map.h"

namespace twinmmu::ptx {
namespace {

constexpr uint64_t kSharedMemory = 228 * 1024;
constexpr uint64_t kAlignment = 1024;  // that of the widest swizzle

struct Input {
  TensorMapBits bits;
  int32_t coordinates[TensorMap::kMostRank];
  uint16_t offsets[TensorMap::kMostRank - 2];
  uint16_t small;  // bits: which coordinates are taken as small numbers, not as they are
};

TensorPlace PlaceOf(const Input& input) {
  TensorPlace place;
  place.shared = kAlignment * (input.small >> 8);
  for (size_t i = 0; i < TensorMap::kMostRank; ++i) {
    const bool is_small = (input.small >> i & 1) != 0;
    place.coordinates[i] = is_small ? input.coordinates[i] % 64 : input.coordinates[i];
  }
  std::copy(std::begin(input.offsets), std::end(input.offsets), place.offsets.begin());
  return place;
}

void Check(const TensorMap& map, const TensorPlace& place, bool loads) {
  if (WhyNoBox(map, place, loads) != nullptr) return;
  const TensorBox box = BoxOf(map, place, loads);
  uint64_t size = 0;
  for (const TensorRun& run : box.runs) {
    const uint64_t end = uint64_t{run.shared} + run.size;
    if (run.size == 0 || run.begin != size || end > box.extent) std::abort();
    if (!run.inside && run.size > box.fill.size()) std::abort();
    size += run.size;
  }
  if (size != box.size || box.extent > kSharedMemory) std::abort();
  if (size != 0 && &box.RunAt(size - 1) != &box.runs.back()) std::abort();
}

}  // namespace
}  // namespace twinmmu::ptx

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace twinmmu::ptx;
  Input input = {};
  std::memcpy(&input, data, std::min(size, sizeof(input)));
  TensorMap map;
  if (!Decode(input.bits, &map)) return 0;
  TensorMap again;
  if (!Decode(Encode(map), &again) || Encode(again) != Encode(map)) std::abort();
  Check(map, PlaceOf(input), /*loads=*/true);
  Check(map, PlaceOf(input), /*loads=*/false);
  return 0;
}
