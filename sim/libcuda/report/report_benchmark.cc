// What a report costs a call. The goal: 15 ns for a mapping that comes and goes, calls counted.

#include <benchmark/benchmark.h>

#include "sim/libcuda/report/report.h"

namespace twinmmu::libcuda {
namespace {

constexpr const char* kCalls[] = {"cuMemMap", "cuMemUnmap"};
constexpr DeviceAddress kWindow(0x7000'0000'0000);

ReportOptions Options(const char* folder) {
  ReportOptions options;
  options.calls = kCalls;
  options.folder = folder;
  return options;
}

void BM_Call(benchmark::State& state) {
  Report report(Options(""), Profile::ReferenceH200());
  for (auto unused : state) {
    ReportedCall call(report, 0, __builtin_return_address(0));
    benchmark::DoNotOptimize(call);
  }
}
BENCHMARK(BM_Call);

// In address order, over so many mappings that are alive; in a file, as `twinmmu run` has it.
void BM_MapAndUnmap(benchmark::State& state) {
  Report report(Options("/dev/shm"), Profile::ReferenceH200());
  report.SetWindow(kWindow);
  const auto live = static_cast<uint64_t>(state.range(0));
  uint64_t next = 0;
  const auto range = [](uint64_t index) {
    return AddressRange{kWindow + MiB(2 * index), MiB(2), {}};
  };
  for (auto unused : state) {
    {
      const ReportedCall call(report, 0, __builtin_return_address(0));
      report.AddMapping(range(next), AllocationHandle(1));
    }
    next = next + 1 == live ? 0 : next + 1;
    {
      const ReportedCall call(report, 1, __builtin_return_address(0));
      report.RemoveMappings(range(next));
    }
  }
}
BENCHMARK(BM_MapAndUnmap)->Arg(1)->Arg(1000)->Arg(1'000'000);

void BM_CreateAndRelease(benchmark::State& state) {
  Report report(Options(""), Profile::ReferenceH200());
  uint64_t next = 0;
  for (auto unused : state) {
    const AllocationHandle handle(next % 1000 + 1);
    const ReportedCall call(report, 0, __builtin_return_address(0));
    report.AddAllocation(handle, MiB(2));
    report.RemoveReference(handle);
    ++next;
  }
}
BENCHMARK(BM_CreateAndRelease);

void BM_AllocateAndFree(benchmark::State& state) {
  Report report(Options(""), Profile::ReferenceH200());
  uint64_t next = 0;
  for (auto unused : state) {
    const ReportedCall call(report, 0, __builtin_return_address(0));
    report.AddObject(ObjectKind::kMemory, next, Bytes(512), 0);
    if (next >= 1000) report.RemoveObject(ObjectKind::kMemory, next - 1000);
    ++next;
  }
}
BENCHMARK(BM_AllocateAndFree);

}  // namespace
}  // namespace twinmmu::libcuda

BENCHMARK_MAIN();
