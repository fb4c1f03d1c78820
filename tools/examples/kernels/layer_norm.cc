// Layer normalisation of rows of halves.

#include "tools/examples/kernels/half_numbers.h"
#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/layer_norm.inc"
    ;

constexpr int kRows = 12;
constexpr int kColumns = 770;  // less than the threads of a block hold
constexpr float kEpsilon = 1e-5f;

std::vector<double> OnTheHost(const std::vector<float>& in, const std::vector<float>& scale,
                              const std::vector<float>& shift) {
  std::vector<double> out;
  for (size_t row = 0; row < in.size(); row += kColumns) {
    double mean = 0;
    for (size_t i = 0; i < kColumns; ++i) mean += in[row + i];
    mean /= kColumns;
    double variance = 0;
    for (size_t i = 0; i < kColumns; ++i) variance += (in[row + i] - mean) * (in[row + i] - mean);
    variance /= kColumns;
    for (size_t i = 0; i < kColumns; ++i) {
      out.push_back((in[row + i] - mean) / std::sqrt(variance + double{kEpsilon}) * scale[i] +
                    shift[i]);
    }
  }
  return out;
}

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  const std::vector<float> values = numbers.Fractions(kRows * kColumns);
  const std::vector<float> scales = numbers.Fractions(kColumns);
  const std::vector<float> shifts = numbers.Fractions(kColumns);
  const DeviceArray<uint16_t> in(HalvesOf(values));
  const DeviceArray<uint16_t> scale(HalvesOf(scales));
  const DeviceArray<uint16_t> shift(HalvesOf(shifts));
  const DeviceArray<uint16_t> out(values.size());
  module.Launch("layer_norm", {kRows, 128}, in.address(), scale.address(), shift.address(),
                out.address(), kColumns / 2, kEpsilon);
  return CompareNearly("values", FloatsOf(out.Read()), OnTheHost(values, scales, shifts), 4e-3);
}
