// Fourier transforms, against the sum that defines them.

#include <complex>

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/fourier.inc"
    ;

constexpr size_t kPoints = 256;
constexpr size_t kTransforms = 5;

// Real and imaginary parts in turn.
std::vector<double> OnTheHost(const std::vector<float>& in) {
  std::vector<std::complex<double>> turns;
  for (size_t i = 0; i < kPoints; ++i) {
    turns.push_back(std::polar(1.0, -2 * std::acos(-1.0) * static_cast<double>(i) / kPoints));
  }
  std::vector<double> out;
  for (size_t begin = 0; begin < in.size(); begin += 2 * kPoints) {
    for (size_t k = 0; k < kPoints; ++k) {
      std::complex<double> sum;
      for (size_t i = 0; i < kPoints; ++i) {
        sum +=
            std::complex<double>(in[begin + 2 * i], in[begin + 2 * i + 1]) * turns[i * k % kPoints];
      }
      out.push_back(sum.real());
      out.push_back(sum.imag());
    }
  }
  return out;
}

}  // namespace

int main() {
  const KernelModule module(kPtx);
  const std::vector<float> signal = Numbers().Fractions(2 * kPoints * kTransforms);
  const DeviceArray<float> in(signal);
  const DeviceArray<float> out(signal.size());
  module.Launch("fourier", {kTransforms, kPoints / 2}, in.address(), out.address());
  return CompareNearly("numbers", out.Read(), OnTheHost(signal), 1e-4);
}
