// What it costs to observe accesses of armed memory.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "benchmark/benchmark.h"
#include "sim/coherence/monitor/alias_monitor.h"

namespace twinmmu::coherence {
namespace {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kThreads = 256;  // of a block
constexpr uint64_t kPage = 4096;
constexpr AddressId kAddress = 7;

class Workload {
 public:
  explicit Workload(uint64_t words) : monitor_({}, nullptr), memory_(words + kPage) {
    // Whole pages.
    const uint64_t bytes = (words * sizeof(uint32_t) + kPage - 1) / kPage * kPage;
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    words_ = memory_.data() + ((address + kPage - 1) / kPage * kPage - address) / sizeof(uint32_t);
    monitor_.Arm(reinterpret_cast<char*>(words_), bytes);
  }
  ThreadId Start() { return monitor_.Start(kThreads, 0, 0, before_); }
  void End(ThreadId first, bool waits = true) {
    monitor_.End(first, kThreads, &clocks_);
    if (!waits) return;
    monitor_.HostWaited(clocks_);
    before_ = clocks_;
  }
  // A store or load of the warp: lane i accesses the word `word` + i.
  void Store(ThreadId first, uint64_t word) {
    AliasMonitor::Session session(&monitor_);
    const MonitoredAccess access = Access(first, 1);
    const Lanes memory = MemoryOf(word);
    session.BeforeAll(access, ~0u, memory.data(), /*writes=*/true);
    for (uint32_t lane = 0; lane < kLanes; ++lane) words_[word + lane] = lane;
    session.AfterStores(access, ~0u, memory.data());
  }
  void Load(ThreadId first, uint64_t word) {
    AliasMonitor::Session session(&monitor_);
    const Lanes memory = MemoryOf(word);
    session.BeforeAll(Access(first, 2), ~0u, memory.data(), /*writes=*/false);
    for (const char* const from : memory) {
      char loaded = *from;
      benchmark::DoNotOptimize(loaded);
    }
  }
  void Meet(ThreadId first) {
    AliasMonitor::Meeting meeting;
    for (uint32_t thread = 0; thread < kThreads; thread += kLanes) {
      AliasMonitor::Session session(&monitor_);
      session.Arrive(first + thread, ~0u, &meeting);
    }
    for (uint32_t thread = 0; thread < kThreads; thread += kLanes) {
      AliasMonitor::Session session(&monitor_);
      session.Leave(first + thread, ~0u, &meeting);
    }
  }
  // A thread adds to a counter elsewhere, between two fences.
  void Count(ThreadId thread) {
    AliasMonitor::Session session(&monitor_);
    MonitoredAccess access;
    access.memory = reinterpret_cast<char*>(&counter_);
    access.size = sizeof(counter_);
    access.thread = thread;
    access.address = kAddress + 1;
    access.strength = {Semantics::kRelaxed, Scope::kGpu};
    char older[16];
    session.Fence(thread, 1, {Semantics::kAcquireRelease, Scope::kGpu}, true);
    session.BeforeAtomic(access, older);
    ++counter_;
    session.AfterAtomic(access, true);
    session.Fence(thread, 1, {Semantics::kAcquireRelease, Scope::kGpu}, true);
  }
  AliasMonitor& monitor() { return monitor_; }

 private:
  using Lanes = std::array<char*, kLanes>;

  Lanes MemoryOf(uint64_t word) {
    Lanes memory;
    for (char*& lane : memory) lane = reinterpret_cast<char*>(words_ + word++);
    return memory;
  }
  MonitoredAccess Access(ThreadId first, Site site) {
    MonitoredAccess access;
    access.size = sizeof(uint32_t);
    access.armed = true;
    access.thread = first;
    access.address = kAddress;
    access.site = site;
    return access;
  }

  AliasMonitor monitor_;
  std::vector<uint32_t> memory_;
  uint32_t* words_;
  uint32_t counter_ = 0;
  Clocks before_;
  Clocks clocks_;
};

// A grid of one block strides over the memory; each round is a grid.
void BM_GridStrideFill(benchmark::State& state) {
  const auto words = static_cast<uint64_t>(state.range(0));
  Workload workload(words);
  for (auto _ : state) {
    const ThreadId first = workload.Start();
    for (uint64_t word = 0; word < words; word += kLanes) {
      workload.Store(first + word % kThreads, word);
    }
    workload.End(first);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(words));
}
BENCHMARK(BM_GridStrideFill)->Arg(1 << 12)->Arg(1 << 16)->Arg(1 << 20);

// The same, where nothing waits for the grids before.
void BM_FillAgain(benchmark::State& state) {
  const auto words = static_cast<uint64_t>(state.range(0));
  Workload workload(words);
  const ThreadId first = workload.Start();
  for (auto _ : state) {
    for (uint64_t word = 0; word < words; word += kLanes) {
      workload.Store(first + word % kThreads, word);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(words));
}
BENCHMARK(BM_FillAgain)->Arg(1 << 16);

void BM_LoadOwn(benchmark::State& state) {
  const auto words = static_cast<uint64_t>(state.range(0));
  Workload workload(words);
  const ThreadId first = workload.Start();
  for (uint64_t word = 0; word < words; word += kLanes) {
    workload.Store(first + word % kThreads, word);
  }
  for (auto _ : state) {
    for (uint64_t word = 0; word < words; word += kLanes) {
      workload.Load(first + word % kThreads, word);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(words));
}
BENCHMARK(BM_LoadOwn)->Arg(1 << 12)->Arg(1 << 16);

// A block writes, meets, reads what another warp wrote, and meets again. One item is an access.
void BM_LoadOfOthersAfterABarrier(benchmark::State& state) {
  constexpr uint64_t kWords = 1 << 14;
  Workload workload(kWords);
  const ThreadId first = workload.Start();
  for (auto _ : state) {
    for (uint64_t word = 0; word < kWords; word += kLanes) {
      workload.Store(first + word % kThreads, word);
    }
    workload.Meet(first);
    for (uint64_t word = 0; word < kWords; word += kLanes) {
      workload.Load(first + (word + kLanes) % kThreads, word);
    }
    workload.Meet(first);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(2 * kWords));
}
BENCHMARK(BM_LoadOfOthersAfterABarrier);

// All threads read one word.
void BM_LoadOfOneWord(benchmark::State& state) {
  Workload workload(kLanes);
  const ThreadId first = workload.Start();
  workload.Store(first, 0);
  workload.Meet(first);
  for (auto _ : state) {
    for (ThreadId thread = 0; thread < kThreads; ++thread) {
      workload.Load(first + thread % kLanes * (kThreads / kLanes - 1), 0);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kThreads) * kLanes);
}
BENCHMARK(BM_LoadOfOneWord);

// Of a block whose threads have all accessed armed memory in between.
void BM_Barrier(benchmark::State& state) {
  Workload workload(kThreads);
  const ThreadId first = workload.Start();
  for (auto _ : state) {
    state.PauseTiming();
    for (uint64_t word = 0; word < kThreads; word += kLanes) workload.Store(first + word, word);
    state.ResumeTiming();
    workload.Meet(first);
  }
}
BENCHMARK(BM_Barrier);

// Of one whose threads have not.
void BM_BarrierOfNothing(benchmark::State& state) {
  Workload workload(kThreads);
  const ThreadId first = workload.Start();
  for (auto _ : state) workload.Meet(first);
}
BENCHMARK(BM_BarrierOfNothing);

void BM_StartAndEndOfABlock(benchmark::State& state) {
  Workload workload(kThreads);
  for (auto _ : state) workload.End(workload.Start());
}
BENCHMARK(BM_StartAndEndOfABlock);

// fence.sc by all threads of a block.
void BM_SequentialFence(benchmark::State& state) {
  Workload workload(kThreads);
  const ThreadId first = workload.Start();
  for (uint64_t word = 0; word < kThreads; word += kLanes) workload.Store(first + word, word);
  for (auto _ : state) {
    for (ThreadId thread = 0; thread < kThreads; thread += kLanes) {
      AliasMonitor::Session session(&workload.monitor());
      session.Fence(first + thread, ~0u, {Semantics::kAcquireRelease, Scope::kGpu}, true);
    }
  }
}
BENCHMARK(BM_SequentialFence);

// A grid whose blocks write, meet, and count themselves by fence.sc and an atomic operation of one
// thread, as for the last one to read what all wrote. One item is a block.
void BM_BlocksThatCount(benchmark::State& state) {
  const auto blocks = static_cast<uint64_t>(state.range(0));
  Workload workload(kThreads);
  for (auto _ : state) {
    for (uint64_t block = 0; block < blocks; ++block) {
      const ThreadId first = workload.Start();
      for (uint64_t word = 0; word < kThreads; word += kLanes) workload.Store(first + word, word);
      workload.Meet(first);
      workload.Count(first);
      workload.End(first, /*waits=*/block + 1 == blocks);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(blocks));
}
BENCHMARK(BM_BlocksThatCount)->Arg(100)->Arg(1000)->Arg(4000);

}  // namespace
}  // namespace twinmmu::coherence

BENCHMARK_MAIN();
