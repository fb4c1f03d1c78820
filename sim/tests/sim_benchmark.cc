// What a call costs, beside the same done with Linux's own virtual memory.
//
//   bazel run -c opt //sim/tests:sim_benchmark -- --benchmark_repetitions=15
//
// On a machine that does other work too, the least of the repetitions says most.

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "api/record/event_writer.h"
#include "benchmark/benchmark.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/mmu/translation_cache.h"
#include "sim/simulator.h"
#include "sim/state/simulator_state.h"

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
  explicit Loaded(uint64_t live, const SimulatorOptions& options = {})
      : simulator(*Simulator::Create(Profile::ReferenceH200(2), options)) {
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

void MapSetAccessUnmap(benchmark::State& state, const SimulatorOptions& options) {
  const Loaded loaded(static_cast<uint64_t>(state.range(0)), options);
  const AddressRange range = Granule(loaded.range, static_cast<uint64_t>(state.range(0)));
  const std::array grants{kGrant};
  for (auto _ : state) {
    Require(loaded.vmm->Map(range, loaded.handles[0]).ok());
    Require(loaded.vmm->SetAccess(range, grants).ok());
    Require(loaded.vmm->Unmap(range).ok());
  }
}
void BM_MapSetAccessUnmap(benchmark::State& state) { MapSetAccessUnmap(state, {}); }
void BM_MapSetAccessUnmapWithoutHistory(benchmark::State& state) {
  SimulatorOptions options;
  options.calls_remembered = 0;
  MapSetAccessUnmap(state, options);
}
// Three events each time, into a file in memory.
void BM_MapSetAccessUnmapRecorded(benchmark::State& state) {
  record::EventWriterOptions with_place;
  with_place.caller = [] { return reinterpret_cast<const void*>(&MapSetAccessUnmap); };
  const auto events = record::EventWriter::Create("/dev/shm/sim_benchmark.events", with_place);
  Require(events.ok());
  SimulatorOptions options;
  options.events = events->get();
  MapSetAccessUnmap(state, options);
  Require((*events)->lost() == 0);
  unlink("/dev/shm/sim_benchmark.events");
}
BENCHMARK(BM_MapSetAccessUnmapRecorded)->Arg(1000);
BENCHMARK(BM_MapSetAccessUnmapWithoutHistory)->Arg(0)->Arg(1000);
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

// The three steps in each of several threads, on the granules of a reservation of its own in turn.
void BM_MapSetAccessUnmapInThreads(benchmark::State& state) {
  static Simulator& simulator = *Simulator::Create(Profile::ReferenceH200(2))->release();
  Vmm& vmm = **simulator.vmm();
  const auto granules = static_cast<uint64_t>(state.range(0));
  const AddressRange whole = *vmm.AddressReserve(granules * kGranule);
  const AllocationHandle handle = *vmm.Create(kGranule, AllocationProperties());
  const std::array grants{kGrant};
  uint64_t next = 0;
  for (auto _ : state) {
    const AddressRange range = Granule(whole, next);
    Require(vmm.Map(range, handle).ok());
    Require(vmm.SetAccess(range, grants).ok());
    Require(vmm.Unmap(range).ok());
    next = next + 1 == granules ? 0 : next + 1;
  }
  state.SetItemsProcessed(state.iterations());
  Require(vmm.Release(handle).ok() && vmm.AddressFree(whole).ok());
}
BENCHMARK(BM_MapSetAccessUnmapInThreads)
    ->ArgName("granules")
    ->Arg(1)
    ->Arg(64)
    ->ThreadRange(1, 8)
    ->UseRealTime();

// What several threads read of one granule, while another thread maps, grants and unmaps another:
// memory of its own, or an alias of what they read.
template <typename Read>
void ReadBesideWriter(benchmark::State& state, const Read& read) {
  static const Loaded& loaded = *new Loaded(1000);
  static const AllocationHandle own = *loaded.vmm->Create(kGranule, AllocationProperties());
  static std::atomic<bool> stop;
  std::thread writer;
  if (state.thread_index() == 0) {
    stop = false;
    writer = std::thread([handle = state.range(0) == 0 ? own : loaded.handles[0]] {
      const AddressRange range = Granule(loaded.range, 1000);
      const std::array grants{kGrant};
      while (!stop) {
        Require(loaded.vmm->Map(range, handle).ok());
        Require(loaded.vmm->SetAccess(range, grants).ok());
        Require(loaded.vmm->Unmap(range).ok());
      }
    });
  }
  for (auto _ : state) read(loaded);
  state.SetItemsProcessed(state.iterations());
  if (!writer.joinable()) return;
  stop = true;
  writer.join();
}
void BM_GetAccessBesideWriter(benchmark::State& state) {
  ReadBesideWriter(state, [](const Loaded& loaded) {
    Require(loaded.vmm->GetAccess(kGrant.location, loaded.range.base).ok());
  });
}
void BM_GetPointerAttributeBesideWriter(benchmark::State& state) {
  ReadBesideWriter(state, [](const Loaded& loaded) {
    Require(loaded.vmm
                ->GetPointerAttribute(DeviceOrdinal(0), PointerAttribute::kDevicePointer,
                                      loaded.range.base)
                .ok());
  });
}
void BM_Copy4BytesBesideWriter(benchmark::State& state) {
  ReadBesideWriter(state, [](const Loaded& loaded) {
    static Executor& executor = **loaded.simulator->executor();
    uint32_t word;
    Require(executor.CopyDeviceToHost(DeviceOrdinal(0), &word, loaded.range.base, Bytes(4)).ok());
  });
}
void BesideWriter(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("alias")->Arg(0)->Arg(1)->ThreadRange(1, 8)->UseRealTime();
}
BENCHMARK(BM_GetAccessBesideWriter)->Apply(BesideWriter);
BENCHMARK(BM_GetPointerAttributeBesideWriter)->Apply(BesideWriter);
BENCHMARK(BM_Copy4BytesBesideWriter)->Apply(BesideWriter);

// What the heap grows by for each of a million mappings, granted to two devices.
void BM_Metadata(benchmark::State& state) {
  constexpr uint64_t kMappings = 1000000;
  const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  for (auto _ : state) {
    const size_t before = in_use();
    const Loaded loaded(kMappings);
    state.counters["bytes_per_mapping"] =
        static_cast<double>(in_use() - before) / static_cast<double>(kMappings);
  }
}
BENCHMARK(BM_Metadata)->Iterations(1)->Unit(benchmark::kMillisecond);

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

// Offsets in four granules by turns, in the first 4 KiB of each: in the processor's caches, so that
// it is the check that is measured.
constexpr uint64_t kGranulesLoaded = 4;
uint64_t NextOffset(uint64_t offset) {
  const uint64_t in_granule = (offset + 4) % 4096;
  return (offset / kGranule.value() + 1) % kGranulesLoaded * kGranule.value() + in_granule;
}

// A load and a store of 4 bytes, as a kernel makes them.
void BM_LoadAndStore(benchmark::State& state) {
  const Profile profile = Profile::ReferenceH200();
  SimulatorState machine(profile, *Window::Make(profile.window, profile.default_alignment()));
  Mmu& mmu = machine.mmu;
  SimulatedVmm vmm(&machine);
  const AddressRange range = *vmm.AddressReserve(kGranulesLoaded * kGranule, ReserveOptions());
  const std::array grants{kGrant};
  for (uint64_t i = 0; i < kGranulesLoaded; ++i) {
    const AllocationHandle handle = *vmm.Create(kGranule, AllocationProperties(), 0);
    Require(vmm.Map(Granule(range, i), handle, Bytes(0), 0).ok());
  }
  Require(vmm.SetAccess(range, grants).ok());
  TranslationCache cache(mmu, DeviceOrdinal(0));
  const std::shared_lock lock(mmu.mutex);
  uint64_t offset = 0;
  for (auto _ : state) {
    const DeviceAddress address = range.base + Bytes(offset);
    const auto value = cache.Load<uint32_t>(address);
    Require(value.has_value() && cache.Store(address, *value + 1));
    offset = NextOffset(offset);
  }
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(BM_LoadAndStore);

// The same without the simulator.
void BM_LinearLoadAndStore(benchmark::State& state) {
  std::vector<char> memory(kGranulesLoaded * kGranule.value());
  uint64_t offset = 0;
  for (auto _ : state) {
    uint32_t value;
    std::memcpy(&value, &memory[offset], sizeof(value));
    ++value;
    std::memcpy(&memory[offset], &value, sizeof(value));
    offset = NextOffset(offset);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(BM_LinearLoadAndStore);

void BM_CopyHostToDevice(benchmark::State& state) {
  const Loaded loaded(64);
  Executor* executor = *loaded.simulator->executor();
  const std::vector<char> source(static_cast<size_t>(state.range(0)), 'x');
  const auto copy = [&] {
    return executor->CopyHostToDevice(DeviceOrdinal(0), loaded.range.base, source.data(),
                                      Bytes(source.size()));
  };
  Require(copy().ok());  // the host gives the memory at the first touch, which is not measured
  for (auto _ : state) Require(copy().ok());
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

// A kernel of one block that stores a word from each thread, and what is behind it in its stream
// waits for: launched, and done.
void BM_Launch(benchmark::State& state) {
  constexpr char kKernel[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
      ".reg .b32 %r1; .reg .b64 %rd<4>;\n"
      "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
      "add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r1;\nret;\n}\n";
  const Loaded loaded(1);
  Executor* const executor = *loaded.simulator->executor();
  const DeviceOrdinal device(0);
  const Kernel kernel = *executor->GetKernel(*executor->LoadModule(device, kKernel), "k");
  const Stream stream = *executor->CreateStream(device);
  const LaunchConfig config{Dim3{1, 1, 1}, Dim3{static_cast<uint32_t>(state.range(0)), 1, 1}};
  const uint64_t address = loaded.range.base.value();
  const std::array<const void*, 1> arguments{&address};
  for (auto _ : state) Require(executor->Launch(stream, kernel, config, arguments).ok());
  Require(executor->SynchronizeStream(stream).ok());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Launch)->Arg(1)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace twinmmu

BENCHMARK_MAIN();
