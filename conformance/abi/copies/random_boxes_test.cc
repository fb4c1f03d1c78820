// Random boxes, possible and impossible ones, against a copy that is made byte by byte.

#include <algorithm>
#include <random>

#include "conformance/abi/copies/box_memory.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kSize = 4096;

struct Place {
  bool of_host = false;
  size_t x = 0;
  size_t y = 0;
  size_t z = 0;
  size_t pitch = 0;
  size_t height = 0;

  size_t IndexOf(size_t in_x, size_t in_y, size_t in_z) const {
    return ((z + in_z) * height + y + in_y) * pitch + x + in_x;
  }
};

struct Box {
  Place to;
  Place from;
  size_t width = 0;
  size_t height = 0;
  size_t depth = 0;

  bool HasRows(const Place& place) const {
    return place.pitch >= place.x + width && place.height >= place.y + height;
  }
  bool IsPossible() const { return HasRows(to) && HasRows(from); }
  bool EndsInside() const {
    return to.IndexOf(width - 1, height - 1, depth - 1) < kSize &&
           from.IndexOf(width - 1, height - 1, depth - 1) < kSize;
  }
};

class RandomBoxesTest : public ContextTest {
 protected:
  size_t Any(size_t first, size_t last) {
    return std::uniform_int_distribution<size_t>(first, last)(random_);
  }
  // Rarely one that is too small for the box.
  size_t AtLeast(size_t needed) { return Any(needed - (Any(0, 9) == 0 ? 1 : 0), needed + 5); }
  Place AnyPlace(const Box& box) {
    Place place;
    place.of_host = Any(0, 2) == 0;
    place.x = Any(0, 9);
    place.y = Any(0, 3);
    place.z = Any(0, 2);
    place.pitch = AtLeast(place.x + box.width);
    place.height = std::max<size_t>(1, AtLeast(place.y + box.height));  // 0 leaves it out
    return place;
  }
  Box AnyBox() {
    Box box;
    box.width = Any(1, 20);
    box.height = Any(1, 8);
    box.depth = Any(1, 4);
    box.to = AnyPlace(box);
    box.from = AnyPlace(box);
    return box;
  }

  std::minstd_rand random_{2026};
};

CUDA_MEMCPY3D Describe(const Box& box, const Content& host_from, Content* host_to,
                       CUdeviceptr device_from, CUdeviceptr device_to) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = box.from.of_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = host_from.data();
  copy.srcDevice = device_from;
  copy.srcXInBytes = box.from.x;
  copy.srcY = box.from.y;
  copy.srcZ = box.from.z;
  copy.srcPitch = box.from.pitch;
  copy.srcHeight = box.from.height;
  copy.dstMemoryType = box.to.of_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstHost = host_to->data();
  copy.dstDevice = device_to;
  copy.dstXInBytes = box.to.x;
  copy.dstY = box.to.y;
  copy.dstZ = box.to.z;
  copy.dstPitch = box.to.pitch;
  copy.dstHeight = box.to.height;
  copy.WidthInBytes = box.width;
  copy.Height = box.height;
  copy.Depth = box.depth;
  return copy;
}

TEST_F(RandomBoxesTest, AreCopiedByteByByteOrNotAtAll) {
  const Buffer from(kSize);
  const Buffer to(kSize);
  const Content source = Numbered(kSize);
  Write(from.address(), source);
  int copied = 0;
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const Box box = AnyBox();
    if (!box.EndsInside()) continue;  // what is there is another's
    Content result(kSize);
    EXPECT_EQ(cuMemsetD8(to.address(), 0, kSize), CUDA_SUCCESS);
    const CUDA_MEMCPY3D copy = Describe(box, source, &result, from.address(), to.address());
    const bool possible = box.IsPossible();
    ASSERT_EQ(cuMemcpy3D(&copy), possible ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) << round;
    if (!box.to.of_host) result = Read(to.address(), kSize);
    Content expected(kSize);
    for (size_t z = 0; possible && z < box.depth; ++z) {
      for (size_t y = 0; y < box.height; ++y) {
        for (size_t x = 0; x < box.width; ++x) {
          expected[box.to.IndexOf(x, y, z)] = source[box.from.IndexOf(x, y, z)];
        }
      }
    }
    ASSERT_EQ(result, expected) << round;
    ++(possible ? copied : refused);
  }
  EXPECT_GT(copied, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace twinmmu::abi
