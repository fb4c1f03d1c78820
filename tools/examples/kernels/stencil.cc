// Seven points in three dimensions, of whole numbers: all sums are exact.

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/stencil.inc"
    ;

constexpr int kX = 70;
constexpr int kY = 19;
constexpr int kZ = 11;

float At(const std::vector<float>& in, int x, int y, int z) {
  const bool inside = x >= 0 && x < kX && y >= 0 && y < kY && z >= 0 && z < kZ;
  return inside ? in[static_cast<size_t>((z * kY + y) * kX + x)] : 0;
}

std::vector<float> OnTheHost(const std::vector<float>& in) {
  std::vector<float> out;
  for (int z = 0; z < kZ; ++z) {
    for (int y = 0; y < kY; ++y) {
      for (int x = 0; x < kX; ++x) {
        out.push_back(At(in, x - 1, y, z) + At(in, x + 1, y, z) + At(in, x, y - 1, z) +
                      At(in, x, y + 1, z) + At(in, x, y, z - 1) + At(in, x, y, z + 1) -
                      6 * At(in, x, y, z));
      }
    }
  }
  return out;
}

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  std::vector<float> values;
  for (int i = 0; i < kX * kY * kZ; ++i) {
    values.push_back(static_cast<float>(numbers.Between(-1000, 1000)));
  }
  const DeviceArray<float> in(values);
  const DeviceArray<float> out(values.size());
  module.Launch("stencil", {(kX + 31) / 32, 32, 0, (kY + 3) / 4, 4}, in.address(), out.address(),
                kX, kY, kZ);
  return Compare("points", out.Read(), OnTheHost(values));
}
