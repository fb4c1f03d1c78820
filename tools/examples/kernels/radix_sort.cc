// Sorts keys of 32 bits in eight passes.

#include <algorithm>
#include <utility>

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/radix_sort.inc"
    ;

constexpr int kCount = 5000;
constexpr unsigned int kThreads = 128;
constexpr unsigned int kBlocks = (kCount + kThreads - 1) / kThreads;
constexpr int kDigits = 16;

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  std::vector<uint32_t> keys;
  for (int i = 0; i < kCount; ++i) keys.push_back(numbers.Next() >> numbers.Between(0, 31));
  const DeviceArray<uint32_t> first(keys);
  const DeviceArray<uint32_t> second(keys.size());
  const DeviceArray<uint32_t> counts(kDigits * kBlocks);
  CUdeviceptr from = first.address();
  CUdeviceptr to = second.address();
  for (int shift = 0; shift < 32; shift += 4) {
    module.Launch("count_digits", {kBlocks, kThreads}, from, kCount, shift, counts.address());
    module.Launch("add_up", {1, kThreads}, counts.address(), static_cast<int>(kDigits * kBlocks));
    module.Launch("move_keys", {kBlocks, kThreads}, from, to, kCount, shift, counts.address());
    std::swap(from, to);
  }
  std::sort(keys.begin(), keys.end());
  return Compare("keys", first.Read(), keys);
}
