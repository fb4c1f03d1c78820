#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tools/benchmark/calls.h"
#include "tools/benchmark/sections.h"
#include "tools/benchmark/timing.h"

namespace twinmmu {
namespace {

constexpr std::chrono::milliseconds kDuration(200);
constexpr int kSamples = 5;

// How often `threads` threads together map, set access and unmap in a second, each in a reservation
// and with an allocation of its own.
double RateOf(Driver& driver, int threads) {
  std::atomic<int> ready{0};
  std::atomic<bool> started{false};
  std::atomic<bool> stopped{false};
  std::atomic<uint64_t> done{0};
  const auto work = [&] {
    InterfaceCalls calls(driver);
    const AddressRange range = calls.Reserve(kGranule);
    const AllocationHandle handle = calls.Create(kGranule);
    ready.fetch_add(1);
    while (!started) std::this_thread::yield();
    uint64_t own = 0;
    for (; !stopped.load(std::memory_order_relaxed); ++own) {
      calls.Map(range, handle);
      calls.SetAccess(range);
      calls.Unmap(range);
    }
    done.fetch_add(own);
    calls.Release(handle);
    calls.AddressFree(range);
  };
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work);
  while (ready < threads) std::this_thread::yield();
  const double nanoseconds = Time([&] {
    started = true;
    std::this_thread::sleep_for(kDuration);
    stopped = true;
  });
  for (std::thread& thread : all) thread.join();
  return static_cast<double>(done) / nanoseconds * 1e9;
}

Cell RateCell(Driver& driver, int threads) {
  std::vector<double> rates(kSamples);
  for (double& rate : rates) rate = RateOf(driver, threads);
  return Cell{SpreadOf(rates), Unit::kPerSecond};
}

}  // namespace

Table MeasureThreads(const Drivers& drivers) {
  Table table{
      "Threads",
      "Map, set access and unmap of a granule, each thread in a reservation of its own: how "
      "often all together do the three in a second. The median and the quartiles of 5 samples.",
      {"threads", "driver", "simulator"},
      {}};
  for (const int threads : {1, 2, 4, 8, 16}) {
    Row row{std::to_string(threads), {std::nullopt, RateCell(*drivers.sim, threads)}};
    if (drivers.cuda != nullptr) row.cells[0] = RateCell(*drivers.cuda, threads);
    table.rows.push_back(row);
  }
  return table;
}

}  // namespace twinmmu
