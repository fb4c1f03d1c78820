// The softmax of rows, some of them shorter than a warp.

#include <algorithm>

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/softmax.inc"
    ;

std::vector<double> OnTheHost(const std::vector<float>& in, int columns) {
  std::vector<double> out(in.begin(), in.end());
  for (auto row = out.begin(); row != out.end(); row += columns) {
    const double most = *std::max_element(row, row + columns);
    double sum = 0;
    for (auto value = row; value != row + columns; ++value)
      sum += * value = std::exp(*value - most);
    for (auto value = row; value != row + columns; ++value) *value /= sum;
  }
  return out;
}

}  // namespace

int main() {
  const KernelModule module(kPtx);
  int wrong = 0;
  for (const int columns : {1000, 20}) {
    constexpr int kRows = 22;  // the last block has warps without a row
    std::vector<float> numbers = Numbers().Fractions(static_cast<size_t>(kRows * columns));
    for (float& number : numbers) number *= 50;
    const DeviceArray<float> in(numbers);
    const DeviceArray<float> out(numbers.size());
    module.Launch("softmax", {(kRows + 3) / 4, 128}, in.address(), out.address(), kRows, columns);
    wrong |= CompareNearly("probabilities", out.Read(), OnTheHost(numbers, columns), 1e-5);
  }
  return wrong;
}
