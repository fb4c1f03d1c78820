// What a call through the library costs beside the same call of the simulator, and how long the
// library takes to load. The argument is the file of libcuda.so.1.
//
//   LibraryOverSimulator/<call>: both side by side, one after the other in one run; the counters
//   are nanoseconds of each, and `added`, the difference.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "sim/simulator.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu {
namespace {

using Clock = std::chrono::steady_clock;

std::string* path = nullptr;
void* library = nullptr;

void Open() {
  library = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return;
  std::cerr << dlerror() << "\n";
  std::exit(1);
}

template <typename Function>
Function* Find(const char* symbol) {
  if (library == nullptr) Open();
  auto* const found = reinterpret_cast<Function*>(dlsym(library, symbol));
  if (found == nullptr) {
    std::cerr << symbol << " is not in the library\n";
    std::exit(1);
  }
  return found;
}

double Nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

// --- Loading. First of all, while this process has not loaded it; in a child each time.
template <typename Body>
void InChild(benchmark::State& state, const Body& body) {
  for (auto _ : state) {
    int ends[2];
    if (pipe(ends) != 0) return state.SkipWithError("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      const Clock::time_point start = Clock::now();
      body();
      const double seconds = Nanoseconds(Clock::now() - start) * 1e-9;
      _exit(write(ends[1], &seconds, sizeof(seconds)) == sizeof(seconds) ? 0 : 1);
    }
    double seconds = 0;
    const bool told = read(ends[0], &seconds, sizeof(seconds)) == sizeof(seconds);
    waitpid(child, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
    if (!told) return state.SkipWithError("the child did not tell");
    state.SetIterationTime(seconds);
  }
}

void Load(benchmark::State& state) { InChild(state, Open); }
BENCHMARK(Load)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(20);

void LoadAndInit(benchmark::State& state) {
  InChild(state, [] { Find<cuda_abi::cuInit_t>("cuInit")(0); });
}
BENCHMARK(LoadAndInit)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(20);

// --- Calls

// The median of the rounds, each of so many calls, in nanoseconds a call.
class Samples {
 public:
  template <typename Body>
  void Round(int calls, const Body& body) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i) body();
    rounds_.push_back(Nanoseconds(Clock::now() - start) / calls);
  }
  double median() {
    std::nth_element(rounds_.begin(), rounds_.begin() + rounds_.size() / 2, rounds_.end());
    return rounds_[rounds_.size() / 2];
  }

 private:
  std::vector<double> rounds_;
};

template <typename Ours, typename Theirs>
void Compare(benchmark::State& state, int calls, const Ours& by_library,
             const Theirs& by_simulator) {
  Samples library_samples;
  Samples simulator_samples;
  for (auto _ : state) {
    library_samples.Round(calls, by_library);
    simulator_samples.Round(calls, by_simulator);
  }
  state.counters["library_ns"] = library_samples.median();
  state.counters["simulator_ns"] = simulator_samples.median();
  state.counters["added_ns"] = library_samples.median() - simulator_samples.median();
}

// One mapped and accessible granule by each way.
struct Granule {
  static constexpr uint64_t kSize = uint64_t{2} << 20;

  Granule() {
    Find<cuda_abi::cuInit_t>("cuInit")(0);
    cuda_abi::CUcontext context = nullptr;
    Find<cuda_abi::cuDevicePrimaryCtxRetain_t>("cuDevicePrimaryCtxRetain")(&context, 0);
    Find<cuda_abi::cuCtxPushCurrent_t>("cuCtxPushCurrent_v2")(context);
    cuda_abi::CUmemAllocationProp prop = {};
    prop.type = 1;
    prop.location = {1, 0};
    Find<cuda_abi::cuMemAddressReserve_t>("cuMemAddressReserve")(&address, kSize, 0, 0, 0);
    Find<cuda_abi::cuMemCreate_t>("cuMemCreate")(&handle, kSize, &prop, 0);
    range = vmm.AddressReserve(Bytes(kSize)).value();
    made = vmm.Create(Bytes(kSize), AllocationProperties()).value();
  }
  void Map() {
    cuMemMap(address, kSize, 0, handle, 0);
    cuMemSetAccess(address, kSize, &desc, 1);
    vmm.Map(range, made).IgnoreError();
    vmm.SetAccess(range, {&grant, 1}).IgnoreError();
  }
  void Unmap() {
    cuMemUnmap(address, kSize);
    vmm.Unmap(range).IgnoreError();
  }

  cuda_abi::cuMemMap_t* const cuMemMap = Find<cuda_abi::cuMemMap_t>("cuMemMap");
  cuda_abi::cuMemSetAccess_t* const cuMemSetAccess =
      Find<cuda_abi::cuMemSetAccess_t>("cuMemSetAccess");
  cuda_abi::cuMemUnmap_t* const cuMemUnmap = Find<cuda_abi::cuMemUnmap_t>("cuMemUnmap");
  cuda_abi::CUdeviceptr address = 0;
  cuda_abi::CUmemGenericAllocationHandle handle = 0;
  cuda_abi::CUmemAccessDesc desc = {{1, 0}, 3};
  const AccessGrant grant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite};
  std::unique_ptr<Simulator> simulator = Simulator::Create(Profile::ReferenceH200(2)).value();
  Vmm& vmm = *simulator->vmm().value();
  Executor& executor = *simulator->executor().value();
  AddressRange range;
  AllocationHandle made;
};

constexpr int kCalls = 2000;

// Three calls; the figures are for all of them.
void MapSetAccessUnmap(benchmark::State& state) {
  Granule g;
  Compare(
      state, kCalls,
      [&] {
        g.cuMemMap(g.address, g.kSize, 0, g.handle, 0);
        g.cuMemSetAccess(g.address, g.kSize, &g.desc, 1);
        g.cuMemUnmap(g.address, g.kSize);
      },
      [&] {
        g.vmm.Map(g.range, g.made).IgnoreError();
        g.vmm.SetAccess(g.range, {&g.grant, 1}).IgnoreError();
        g.vmm.Unmap(g.range).IgnoreError();
      });
}
BENCHMARK(MapSetAccessUnmap)->Name("LibraryOverSimulator/map_set_access_unmap");

void GetAccess(benchmark::State& state) {
  Granule g;
  g.Map();
  auto* const get = Find<cuda_abi::cuMemGetAccess_t>("cuMemGetAccess");
  const cuda_abi::CUmemLocation location = {1, 0};
  unsigned long long flags = 0;
  Compare(
      state, kCalls, [&] { get(&flags, &location, g.address); },
      [&] { benchmark::DoNotOptimize(g.vmm.GetAccess(g.grant.location, g.range.base).ok()); });
  g.Unmap();
}
BENCHMARK(GetAccess)->Name("LibraryOverSimulator/get_access");

void CopyToDevice(benchmark::State& state) {
  Granule g;
  g.Map();
  auto* const copy = Find<cuda_abi::cuMemcpyHtoD_t>("cuMemcpyHtoD_v2");
  const int value = 1;
  Compare(
      state, kCalls, [&] { copy(g.address, &value, sizeof(value)); },
      [&] {
        g.executor.CopyHostToDevice(DeviceOrdinal(0), g.range.base, &value, Bytes(sizeof(value)))
            .IgnoreError();
      });
  g.Unmap();
}
BENCHMARK(CopyToDevice)->Name("LibraryOverSimulator/copy_4_bytes_to_device");

void Fill(benchmark::State& state) {
  Granule g;
  g.Map();
  auto* const fill = Find<cuda_abi::cuMemsetD8_t>("cuMemsetD8_v2");
  Compare(
      state, kCalls, [&] { fill(g.address, 1, 4); },
      [&] { g.executor.Fill(DeviceOrdinal(0), g.range.base, FillPattern{1}, 4).IgnoreError(); });
  g.Unmap();
}
BENCHMARK(Fill)->Name("LibraryOverSimulator/fill_4_bytes");

}  // namespace
}  // namespace twinmmu

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::cerr << "usage: libcuda_benchmark [--benchmark_...] FILE, which is libcuda.so.1\n";
    return 2;
  }
  twinmmu::path = new std::string(argv[1]);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
