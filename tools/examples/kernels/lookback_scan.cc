// An exclusive scan over many blocks.

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/lookback_scan.inc"
    ;

constexpr int kCount = 50001;
constexpr int kOfBlock = 512;
constexpr unsigned int kBlocks = (kCount + kOfBlock - 1) / kOfBlock;

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  std::vector<uint32_t> values;
  std::vector<uint32_t> sums;
  uint32_t sum = 0;
  for (int i = 0; i < kCount; ++i) {
    values.push_back(numbers.Next());  // sums wrap round
    sums.push_back(sum);
    sum += values.back();
  }
  const DeviceArray<uint32_t> in(values);
  const DeviceArray<uint32_t> out(values.size());
  const DeviceArray<uint64_t> statuses(kBlocks);
  const DeviceArray<int> next_block(1);
  module.Launch("lookback_scan", {kBlocks, 128}, in.address(), out.address(), kCount,
                statuses.address(), next_block.address());
  return Compare("sums", out.Read(), sums);
}
