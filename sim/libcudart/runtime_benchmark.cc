// What a call through our runtime costs beside the same call of the driver. The arguments are the
// files of libcuda.so.1 and libcudart.so.13.
//
//   RuntimeOverDriver/<call>: both side by side, one after the other in one run; the counters are
//   nanoseconds of each, and `added`, the difference.

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "benchmark/benchmark.h"
#include "sim/libcudart/testing/fat_binary_image.h"
#define TWINMMU_CUDART_TYPES_ONLY
#include "third_party/cuda_abi/cudart_abi.h"

namespace twinmmu::cudart {
namespace {

// Of this thread, whatever else the machine does.
double NanosecondsOfThread() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void* driver_library = nullptr;
void* runtime_library = nullptr;

void* Open(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  std::cerr << dlerror() << "\n";
  std::exit(1);
}

template <typename Function>
Function* Find(void* library, const char* symbol) {
  auto* const found = reinterpret_cast<Function*>(dlsym(library, symbol));
  if (found != nullptr) return found;
  std::cerr << symbol << " is not in the library\n";
  std::exit(1);
}

// The median of the rounds, each of so many calls, in nanoseconds a call.
class Median {
 public:
  template <typename Body>
  void Round(const Body& body) {
    constexpr int kCalls = 2000;
    const double start = NanosecondsOfThread();
    for (int i = 0; i < kCalls; ++i) body();
    rounds_.push_back((NanosecondsOfThread() - start) / kCalls);
  }
  double value() {
    const auto middle = rounds_.begin() + static_cast<std::ptrdiff_t>(rounds_.size() / 2);
    std::nth_element(rounds_.begin(), middle, rounds_.end());
    return *middle;
  }

 private:
  std::vector<double> rounds_;
};

template <typename Ours, typename Theirs>
void Compare(benchmark::State& state, const Ours& by_runtime, const Theirs& by_driver) {
  Median runtime;
  Median driver;
  for (auto _ : state) {
    runtime.Round(by_runtime);
    driver.Round(by_driver);
  }
  state.counters["runtime_ns"] = runtime.value();
  state.counters["driver_ns"] = driver.value();
  state.counters["added_ns"] = runtime.value() - driver.value();
}

void* Memory() {
  void* memory = nullptr;
  Find<cudaError_t(void**, size_t)>(runtime_library, "cudaMalloc")(&memory, 4096);
  return memory;
}

void Copy(benchmark::State& state) {
  auto* const ours =
      Find<cudaError_t(void*, const void*, size_t, int)>(runtime_library, "cudaMemcpy");
  auto* const theirs =
      Find<cudaError_t(void*, const void*, size_t)>(driver_library, "cuMemcpyHtoD_v2");
  void* const memory = Memory();
  const int value = 1;
  Compare(
      state, [&] { ours(memory, &value, 4, cudaMemcpyHostToDevice); },
      [&] { theirs(memory, &value, 4); });
}
BENCHMARK(Copy)->Name("RuntimeOverDriver/copy_4_bytes_to_device");

void Fill(benchmark::State& state) {
  auto* const ours = Find<cudaError_t(void*, int, size_t)>(runtime_library, "cudaMemset");
  auto* const theirs =
      Find<cudaError_t(void*, unsigned char, size_t)>(driver_library, "cuMemsetD8_v2");
  void* const memory = Memory();
  Compare(
      state, [&] { ours(memory, 1, 4); }, [&] { theirs(memory, 1, 4); });
}
BENCHMARK(Fill)->Name("RuntimeOverDriver/fill_4_bytes");

void Query(benchmark::State& state) {
  auto* const ours = Find<cudaError_t(void*)>(runtime_library, "cudaStreamQuery");
  auto* const theirs = Find<cudaError_t(void*)>(driver_library, "cuStreamQuery");
  Memory();
  Compare(
      state, [&] { ours(nullptr); }, [&] { theirs(nullptr); });
}
BENCHMARK(Query)->Name("RuntimeOverDriver/stream_query");

TWINMMU_FAT_BINARY(kNothing, 70,
                   ".version 7.0\n.target sm_70\n.address_size 64\n"
                   ".visible .entry Nothing() { ret; }\n");

void Launch(benchmark::State& state) {
  static const char host = 0;
  void** const module = Find<void**(void*)>(runtime_library, "__cudaRegisterFatBinary")(&kNothing);
  Find<void(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*)>(
      runtime_library, "__cudaRegisterFunction")(module, &host, nullptr, "Nothing", -1, nullptr,
                                                 nullptr, nullptr, nullptr, nullptr);
  void* kernel = nullptr;
  Find<cudaError_t(void**, const void*)>(runtime_library, "cudaGetKernel")(&kernel, &host);
  auto* const ours =
      Find<cudaError_t(const void*, twinmmu_dim3, twinmmu_dim3, void**, size_t, void*)>(
          runtime_library, "cudaLaunchKernel");
  auto* const theirs =
      Find<cudaError_t(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void*, void**, void**)>(driver_library, "cuLaunchKernel");
  Compare(
      state,
      [&] {
        ours(&host, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr);
      },
      [&] { theirs(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr); });
}
BENCHMARK(Launch)->Name("RuntimeOverDriver/launch_nothing");

}  // namespace
}  // namespace twinmmu::cudart

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 3) {
    std::cerr << "usage: runtime_benchmark [--benchmark_...] LIBCUDA LIBCUDART\n";
    return 2;
  }
  twinmmu::cudart::driver_library = twinmmu::cudart::Open(argv[1]);
  twinmmu::cudart::runtime_library = twinmmu::cudart::Open(argv[2]);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
