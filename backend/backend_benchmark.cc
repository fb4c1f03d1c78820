// What a successful call costs on top of the driver's own time: the driver here is a table of
// functions that do nothing. Compare BM_x (through Vmm) with BM_x_Direct (through the pointer); the
// target is at most 10 ns per call.

#include <cstdlib>
#include <memory>
#include <vector>

#include "backend/cuda_driver.h"
#include "backend/driver_table.h"
#include "benchmark/benchmark.h"

namespace twinmmu {
namespace {

constexpr AddressRange kRange{DeviceAddress(0x7f0000200000), Bytes(2097152), Bytes(0)};
constexpr AllocationHandle kHandle(0x55d0);

// A function of each type that does nothing; noinline, as a function in a library is.
template <typename F>
struct Empty;
template <typename... P>
struct Empty<cuda_abi::CUresult(P...)> {
  __attribute__((noinline)) static cuda_abi::CUresult Function(P...) {
    asm volatile("");
    return cuda_abi::CUDA_SUCCESS;
  }
};

DriverTable EmptyTable() {
  DriverTable table;
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) \
  table.name = &Empty<cuda_abi::name##_t>::Function;
#include "third_party/cuda_abi/functions.inc"
  return table;
}

Vmm& EmptyVmm() {
  static const auto driver = MakeCudaDriver(EmptyTable());
  if (!driver.ok()) std::abort();
  return **(*driver)->vmm();
}

void BM_Map(benchmark::State& state) {
  Vmm& vmm = EmptyVmm();
  for (auto _ : state) benchmark::DoNotOptimize(vmm.Map(kRange, kHandle));
}
BENCHMARK(BM_Map);

void BM_Map_Direct(benchmark::State& state) {
  DriverTable table = EmptyTable();
  benchmark::DoNotOptimize(table);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        table.cuMemMap(kRange.base.value(), kRange.size.value(), 0, kHandle.value(), 0));
  }
}
BENCHMARK(BM_Map_Direct);

void BM_Unmap(benchmark::State& state) {
  Vmm& vmm = EmptyVmm();
  for (auto _ : state) benchmark::DoNotOptimize(vmm.Unmap(kRange));
}
BENCHMARK(BM_Unmap);

void BM_Unmap_Direct(benchmark::State& state) {
  DriverTable table = EmptyTable();
  benchmark::DoNotOptimize(table);
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.cuMemUnmap(kRange.base.value(), kRange.size.value()));
  }
}
BENCHMARK(BM_Unmap_Direct);

// The argument is the number of locations that are granted access.
void BM_SetAccess(benchmark::State& state) {
  Vmm& vmm = EmptyVmm();
  const std::vector<AccessGrant> grants(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(vmm.SetAccess(kRange, grants));
}
BENCHMARK(BM_SetAccess)->Arg(1)->Arg(2)->Arg(8);

void BM_SetAccess_Direct(benchmark::State& state) {
  DriverTable table = EmptyTable();
  benchmark::DoNotOptimize(table);
  const std::vector<cuda_abi::CUmemAccessDesc> desc(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        table.cuMemSetAccess(kRange.base.value(), kRange.size.value(), desc.data(), desc.size()));
  }
}
BENCHMARK(BM_SetAccess_Direct)->Arg(1)->Arg(2)->Arg(8);

}  // namespace
}  // namespace twinmmu
