// Sums of squares, by pairs of blocks that share their memory.

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/cluster_pipeline.inc"
    ;

constexpr int kPairs = 3;
constexpr int kTiles = 7;
constexpr int kThreads = 64;

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  std::vector<uint32_t> values;
  std::vector<uint32_t> expected(kPairs * kThreads);
  for (size_t i = 0; i < kPairs * kTiles * kThreads; ++i) {
    values.push_back(numbers.Next());
    expected[i / (kTiles * kThreads) * kThreads + i % kThreads] += values.back() * values.back();
  }
  const DeviceArray<uint32_t> in(values);
  const DeviceArray<uint32_t> sums(expected.size());
  module.Launch("cluster_pipeline", {2 * kPairs, kThreads}, in.address(), sums.address(), kTiles);
  return Compare("sums", sums.Read(), expected);
}
