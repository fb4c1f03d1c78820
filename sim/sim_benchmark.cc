// What a call costs, beside the same done with Linux's own virtual memory.
//
//   bazel run -c opt //sim:sim_benchmark

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "benchmark/benchmark.h"
#include "sim/simulator.h"

namespace twinmmu {
namespace {

constexpr Bytes kGranule = MiB(2);
constexpr AccessGrant kGrant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite};

AddressRange Granule(const AddressRange& range, uint64_t index) {
  return range.subrange(index * kGranule, kGranule);
}

void Require(bool ok) {
  if (!ok) std::abort();
}

// A machine with `live` mappings, of up to 1,000 handles in turn, and one free granule at the end.
struct Loaded {
  explicit Loaded(uint64_t live) : simulator(*Simulator::Create(Profile::ReferenceH200(2))) {
    vmm = *simulator->vmm();
    range = *vmm->AddressReserve((live + 1) * kGranule);
    for (uint64_t i = 0; i < std::min<uint64_t>(live + 1, 1000); ++i) {
      handles.push_back(*vmm->Create(kGranule, AllocationProperties()));
    }
    const std::array grants{kGrant, AccessGrant{Location::Device(DeviceOrdinal(1)), Access::kRead}};
    for (uint64_t i = 0; i < live; ++i) {
      Require(vmm->Map(Granule(range, i), handles[i % handles.size()]).ok());
      Require(vmm->SetAccess(Granule(range, i), grants).ok());
    }
  }

  std::unique_ptr<Simulator> simulator;
  Vmm* vmm;
  AddressRange range;
  std::vector<AllocationHandle> handles;
};

void BM_MapSetAccessUnmap(benchmark::State& state) {
  const Loaded loaded(static_cast<uint64_t>(state.range(0)));
  const AddressRange range = Granule(loaded.range, static_cast<uint64_t>(state.range(0)));
  const std::array grants{kGrant};
  for (auto _ : state) {
    Require(loaded.vmm->Map(range, loaded.handles[0]).ok());
    Require(loaded.vmm->SetAccess(range, grants).ok());
    Require(loaded.vmm->Unmap(range).ok());
  }
}
BENCHMARK(BM_MapSetAccessUnmap)->Arg(0)->Arg(1000)->Arg(1000000);

// The same three steps over all live mappings, in the order of addresses or in a random one.
void Sweep(benchmark::State& state, bool shuffle) {
  const auto live = static_cast<uint64_t>(state.range(0));
  const Loaded loaded(live);
  std::vector<uint64_t> order(live);
  for (uint64_t i = 0; i < live; ++i) order[i] = i;
  if (shuffle) std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  const std::array grants{kGrant};
  uint64_t next = 0;
  for (auto _ : state) {
    const uint64_t i = order[next];
    next = next + 1 == live ? 0 : next + 1;
    const AddressRange range = Granule(loaded.range, i);
    Require(loaded.vmm->Unmap(range).ok());
    Require(loaded.vmm->Map(range, loaded.handles[i % loaded.handles.size()]).ok());
    Require(loaded.vmm->SetAccess(range, grants).ok());
  }
}
void BM_SweepInOrder(benchmark::State& state) { Sweep(state, false); }
void BM_SweepAtRandom(benchmark::State& state) { Sweep(state, true); }
BENCHMARK(BM_SweepInOrder)->Arg(1000)->Arg(1000000);
BENCHMARK(BM_SweepAtRandom)->Arg(1000)->Arg(1000000);

// mmap, mprotect and munmap of untouched memory at a fixed address.
void BM_LinuxMapProtectUnmap(benchmark::State& state) {
  const size_t size = kGranule.value();
  const int file = memfd_create("granule", MFD_CLOEXEC);
  Require(file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0);
  void* const address =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  Require(address != MAP_FAILED);
  for (auto _ : state) {
    Require(mmap(address, size, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0) == address);
    Require(mprotect(address, size, PROT_READ | PROT_WRITE) == 0);
    Require(munmap(address, size) == 0);
  }
  close(file);
}
BENCHMARK(BM_LinuxMapProtectUnmap);

void BM_CopyHostToDevice(benchmark::State& state) {
  const Loaded loaded(64);
  Executor* executor = *loaded.simulator->executor();
  const std::vector<char> source(static_cast<size_t>(state.range(0)), 'x');
  for (auto _ : state) {
    Require(executor
                ->CopyHostToDevice(DeviceOrdinal(0), loaded.range.base, source.data(),
                                   Bytes(source.size()))
                .ok());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_CopyHostToDevice)->Arg(4)->Arg(2 << 20)->Arg(64 << 20);

void BM_Memcpy(benchmark::State& state) {
  const std::vector<char> source(static_cast<size_t>(state.range(0)), 'x');
  std::vector<char> destination(source.size());
  for (auto _ : state) {
    std::copy(source.begin(), source.end(), destination.begin());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Memcpy)->Arg(2 << 20)->Arg(64 << 20);

}  // namespace
}  // namespace twinmmu

BENCHMARK_MAIN();
