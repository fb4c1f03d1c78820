// A persistent kernel, launched so that all its blocks run at once. All numbers are exact.

#include <utility>

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/persistent.inc"
    ;

constexpr int kCount = 3000;
constexpr int kSteps = 8;

std::vector<float> OnTheHost(std::vector<float> from) {
  std::vector<float> to(from.size());
  for (int step = 0; step < kSteps; ++step) {
    for (size_t i = 0; i < from.size(); ++i) {
      const float left = i > 0 ? from[i - 1] : 0;
      const float right = i + 1 < from.size() ? from[i + 1] : 0;
      to[i] = 0.25f * left + 0.5f * from[i] + 0.25f * right;
    }
    std::swap(from, to);
  }
  return from;
}

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  std::vector<float> heat;
  for (int i = 0; i < kCount; ++i) heat.push_back(static_cast<float>(numbers.Between(0, 100)));
  const DeviceArray<float> first(heat);
  const DeviceArray<float> second(heat.size());
  LaunchShape shape;
  shape.grid_x = 16;
  shape.block_x = 64;
  shape.cooperative = true;
  module.Launch("persistent", shape, first.address(), second.address(), kCount, kSteps);
  return Compare("points", first.Read(), OnTheHost(heat));
}
