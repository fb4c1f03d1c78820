// How often each byte is there.

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/histogram.inc"
    ;

constexpr int kQuads = 10001;

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> expected(256);
  for (int i = 0; i < 4 * kQuads; ++i) {
    // Some are much more frequent than others.
    bytes.push_back(static_cast<uint8_t>(numbers.Next() & numbers.Next() & 0xff));
    ++expected[bytes.back()];
  }
  const DeviceArray<uint8_t> in(bytes);
  const DeviceArray<uint32_t> counts(256);
  module.Launch("histogram", {8, 128}, in.address(), kQuads, counts.address());
  return Compare("counts", counts.Read(), expected);
}
