// What an operation costs for a warp.
//
//   bazel run -c opt //sim/ptx:operation_benchmark

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "benchmark/benchmark.h"
#include "sim/ptx/operations/operation.h"
#include "sim/ptx/operations/operation_testing.h"

namespace twinmmu::ptx {
namespace {

void Run(benchmark::State& state, absl::string_view form, int operands, Lanes lanes) {
  const Operation operation = Find(form, operands).value();
  alignas(64) std::array<char, 256 * kMaxOperands> registers;
  registers.fill(0x3f);
  std::array<uint32_t, kMaxOperands> offsets;
  for (uint32_t i = 0; i < kMaxOperands; ++i) offsets[i] = 256 * i;
  for (auto _ : state) {
    operation.compute(offsets.data(), registers.data(), lanes);
    benchmark::ClobberMemory();
  }
}

#define TWINMMU_BENCHMARK(form, operands)                   \
  BENCHMARK_CAPTURE(Run, form, #form, operands, kAllLanes); \
  BENCHMARK_CAPTURE(Run, form / half of the lanes, #form, operands, 0x55555555)

TWINMMU_BENCHMARK(add.s32, 3);
TWINMMU_BENCHMARK(add.s64, 3);
TWINMMU_BENCHMARK(xor.b32, 3);
TWINMMU_BENCHMARK(shl.b32, 3);
TWINMMU_BENCHMARK(mad.lo.u32, 4);
TWINMMU_BENCHMARK(mul.wide.u32, 3);
TWINMMU_BENCHMARK(add.f32, 3);
TWINMMU_BENCHMARK(mul.f32, 3);
TWINMMU_BENCHMARK(fma.rn.f32, 4);
TWINMMU_BENCHMARK(add.f64, 3);
TWINMMU_BENCHMARK(fma.rn.f64, 4);
TWINMMU_BENCHMARK(fma.rn.f16x2, 4);
TWINMMU_BENCHMARK(setp.lt.s32, 3);
TWINMMU_BENCHMARK(setp.lt.u64, 3);
TWINMMU_BENCHMARK(setp.lt.f32, 3);
TWINMMU_BENCHMARK(selp.b32, 4);
TWINMMU_BENCHMARK(lop3.b32, 5);
TWINMMU_BENCHMARK(cvt.rn.f32.s32, 2);
TWINMMU_BENCHMARK(cvt.rzi.s32.f32, 2);
TWINMMU_BENCHMARK(cvt.u64.u32, 2);
TWINMMU_BENCHMARK(div.u32, 3);

}  // namespace
}  // namespace twinmmu::ptx

BENCHMARK_MAIN();
