// The product of two matrices of small whole numbers: all sums are exact.

#include "tools/examples/kernels/half_numbers.h"
#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/staged_gemm.inc"
    ;

constexpr int kRows = 128;
constexpr int kColumns = 192;
constexpr int kDepth = 160;

std::vector<float> WholeNumbers(Numbers* numbers, int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(numbers->Between(-4, 4)));
  return values;
}

std::vector<float> OnTheHost(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> product(kRows * kColumns);
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t k = 0; k < kDepth; ++k) {
      for (size_t column = 0; column < kColumns; ++column) {
        product[row * kColumns + column] += a[row * kDepth + k] * b[k * kColumns + column];
      }
    }
  }
  return product;
}

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  const std::vector<float> left = WholeNumbers(&numbers, kRows * kDepth);
  const std::vector<float> right = WholeNumbers(&numbers, kDepth * kColumns);
  const DeviceArray<uint16_t> a(HalvesOf(left));
  const DeviceArray<uint16_t> b(HalvesOf(right));
  const DeviceArray<float> product(kRows * kColumns);
  module.Launch("staged_gemm", {kColumns / 64, 128, 0, kRows / 64}, a.address(), b.address(),
                product.address(), kColumns, kDepth);
  return Compare("sums", product.Read(), OnTheHost(left, right));
}
