// What the building blocks of api/allocators cost, beside the calls that they make, and beside what
// a program would use instead.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/allocators/growable_buffer.h"
#include "api/allocators/sleeping_buffer.h"
#include "api/allocators/virtual_memory_pool.h"
#include "tools/benchmark/calls.h"
#include "tools/benchmark/sections.h"
#include "tools/benchmark/timing.h"
#include "tools/benchmark/usual_calls.h"

namespace twinmmu {
namespace {

// One way of doing what a row names.
struct Way {
  std::function<double()> round;  // gives the nanoseconds that count
  std::vector<double> times;

  explicit Way(std::function<double()> does) : round(std::move(does)) {}
};

// The ways take turns, and take turns at being the first.
void MeasureInTurn(int rounds, std::vector<Way>& ways) {
  for (Way& way : ways) way.round();
  for (int i = 0; i < rounds; ++i) {
    std::rotate(ways.begin(), ways.begin() + 1, ways.end());
    for (Way& way : ways) way.times.push_back(way.round());
  }
  const size_t turned = static_cast<size_t>(rounds) % ways.size();
  std::rotate(ways.begin(), ways.end() - turned, ways.end());
}

Cell TimeOf(const Way& way) { return Cell{SpreadOf(way.times)}; }

Cell RatioOf(const Way& a, const Way& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < a.times.size(); ++i) ratios.push_back(a.times[i] / b.times[i]);
  Spread spread = SpreadOf(std::move(ratios));
  spread.median = SpreadOf(a.times).median / SpreadOf(b.times).median;
  return Cell{spread, Unit::kTimes};
}

constexpr Bytes kCapacity = GiB(128);
constexpr Bytes kOffset = GiB(1);

// What the pool's calls come to, made by hand: pages one by one, everything else at once. At the
// same place of a reservation of the same size: a driver has more to do far from other mappings.
template <typename Calls>
class PagesByHand {
 public:
  PagesByHand(Calls calls, uint64_t pages)
      : calls_(calls),
        reservation_(calls_.Reserve(kCapacity)),
        range_(reservation_.subrange(kOffset, pages * kGranule)),
        handles_(pages) {}
  ~PagesByHand() { calls_.AddressFree(reservation_); }
  PagesByHand(const PagesByHand&) = delete;
  PagesByHand& operator=(const PagesByHand&) = delete;

  void Create() {
    for (AllocationHandle& handle : handles_) handle = calls_.Create(kGranule);
  }
  void Map() {
    for (size_t i = 0; i < handles_.size(); ++i) {
      calls_.Map(range_.subrange(i * kGranule, kGranule), handles_[i]);
    }
    calls_.SetAccess(range_);
  }
  void Unmap() { calls_.Unmap(range_); }
  void Release() {
    for (const AllocationHandle handle : handles_) calls_.Release(handle);
  }
  const AddressRange& range() const { return range_; }

 private:
  Calls calls_;
  AddressRange reservation_;
  AddressRange range_;
  std::vector<AllocationHandle> handles_;
};

std::unique_ptr<VirtualMemoryPool> MakePool(Driver& driver, Bytes cache_limit) {
  PageOptions options;
  options.cache_limit = cache_limit;
  auto pool = VirtualMemoryPool::Make(*driver.vmm(), *driver.executor(), kCapacity, options);
  Require(pool.status());
  return *std::move(pool);
}

template <typename Calls>
std::vector<Way> HandAndPool(PagesByHand<Calls>& hand, VirtualMemoryPool& pool, bool cached) {
  const Bytes size = hand.range().size;
  std::vector<Way> ways;
  ways.emplace_back([&hand, cached] {
    return Time([&] {
      if (!cached) hand.Create();
      hand.Map();
      hand.Unmap();
      if (!cached) hand.Release();
    });
  });
  ways.emplace_back([&pool, size] {
    return Time([&] {
      Require(pool.Allocate(kOffset, size).status());
      Require(pool.Deallocate(kOffset, size));
    });
  });
  return ways;
}

// The columns from the direct calls to the ratio, and with `usual` those behind it.
template <typename Calls>
void MeasurePoolOn(Driver& driver, Calls calls, uint64_t pages, bool cached, UsualCalls* usual,
                   Row& row) {
  PagesByHand<Calls> hand(calls, pages);
  const auto pool = MakePool(driver, cached ? GiB(1) : Bytes(0));
  if (cached) hand.Create();
  std::vector<Way> ways = HandAndPool(hand, *pool, cached);
  const Bytes size = pages * kGranule;
  if (usual != nullptr) {
    ways.emplace_back([=] { return Time([&] { usual->Free(usual->Allocate(size)); }); });
    ways.emplace_back([=] { return Time([&] { usual->FreeAsync(usual->AllocateAsync(size)); }); });
  }
  MeasureInTurn(2000, ways);
  row.cells.insert(row.cells.end(), {TimeOf(ways[0]), TimeOf(ways[1]), RatioOf(ways[1], ways[0])});
  for (size_t i = 2; i < ways.size(); ++i) row.cells.push_back(TimeOf(ways[i]));
  if (cached) hand.Release();
  if (usual != nullptr) usual->Trim();
  Require(pool->Close());
}

// One step of growth: `size` bytes become `size + step`.
Row MeasureStep(Driver& cuda, UsualCalls& usual, Bytes size, Bytes step) {
  const auto buffer = GrowableBuffer::Make(*cuda.vmm(), *cuda.executor(), size + step);
  Require(buffer.status());
  std::vector<Way> ways;
  ways.emplace_back([&] {
    Require((*buffer)->Resize(size));
    Require((*buffer)->ShrinkToFit());
    return Time([&] { Require((*buffer)->Resize(size + step)); });
  });
  ways.emplace_back([&] {
    DeviceAddress memory = usual.Allocate(size);
    const double time = Time([&] {
      const DeviceAddress larger = usual.Allocate(size + step);
      usual.Copy(larger, memory, size);
      usual.Free(memory);
      memory = larger;
    });
    usual.Free(memory);
    return time;
  });
  MeasureInTurn(20, ways);
  Require((*buffer)->Close());
  return Row{absl::StrCat(ToString(size), " and ", ToString(step), " more"),
             {TimeOf(ways[0]), TimeOf(ways[1]), RatioOf(ways[1], ways[0])}};
}

constexpr Bytes kSleeping = GiB(4);
constexpr int kSleeps = 7;

Cell PerGiB(std::vector<double> times) {
  for (double& time : times) time /= static_cast<double>(kSleeping / GiB(1));
  return Cell{SpreadOf(std::move(times))};
}

// Sleep and wake without contents, then both with: four cells, one for each row.
std::vector<Cell> MeasureSleep(Driver& cuda, Bytes page_size) {
  PageOptions options;
  options.page_size = page_size;
  const auto buffer = SleepingBuffer::Make(*cuda.vmm(), *cuda.executor(), kSleeping, options);
  Require(buffer.status());
  std::vector<Cell> cells;
  for (const Contents contents : {Contents::kDiscard, Contents::kSave}) {
    std::vector<double> sleeps;
    std::vector<double> wakes;
    for (int i = 0; i < kSleeps; ++i) {
      sleeps.push_back(Time([&] { Require((*buffer)->Sleep(contents)); }));
      wakes.push_back(Time([&] { Require((*buffer)->Wake()); }));
    }
    cells.push_back(PerGiB(sleeps));
    cells.push_back(PerGiB(wakes));
  }
  Require((*buffer)->Close());
  return cells;
}

// The same with the driver's functions, in pages of a granule.
std::vector<Cell> MeasureSleepByHand(RawCalls calls) {
  PagesByHand<RawCalls> pages(calls, kSleeping / kGranule);
  pages.Create();
  pages.Map();
  std::vector<Cell> cells;
  for (const bool save : {false, true}) {
    std::vector<double> sleeps;
    std::vector<double> wakes;
    for (int i = 0; i < kSleeps; ++i) {
      std::unique_ptr<char[]> saved;
      sleeps.push_back(Time([&] {
        if (save) {
          saved.reset(new char[kSleeping.value()]);
          calls.CopyDeviceToHost(saved.get(), pages.range().base, kSleeping);
        }
        pages.Unmap();
        pages.Release();
      }));
      wakes.push_back(Time([&] {
        pages.Create();
        pages.Map();
        if (save) calls.CopyHostToDevice(pages.range().base, saved.get(), kSleeping);
        saved.reset();
      }));
    }
    cells.push_back(PerGiB(sleeps));
    cells.push_back(PerGiB(wakes));
  }
  pages.Unmap();
  pages.Release();
  return cells;
}

}  // namespace

Table MeasurePool(const Drivers& drivers) {
  Table table{"Pool",
              "Allocate and deallocate of so many pages of 2 MiB, and the same calls of the driver "
              "made directly: the median and the quartiles of 2,000 rounds, taken in turns. The "
              "pool of cuMemAllocAsync keeps what it gets back, and is not waited for.",
              {"pages"},
              {}};
  std::optional<UsualCalls> usual;
  if (drivers.cuda != nullptr) {
    table.columns.insert(table.columns.end(),
                         {"driver, direct", "pool", "ratio", "cuMemAlloc + cuMemFree",
                          "cuMemAllocAsync + cuMemFreeAsync"});
  }
  table.columns.insert(table.columns.end(),
                       {"simulator, direct", "pool on the simulator", "ratio"});
  for (const bool cached : {true, false}) {
    for (const uint64_t pages : {1, 16, 128}) {
      Row row{absl::StrCat(pages, cached ? ", cached" : ", created and released"), {}};
      if (drivers.cuda != nullptr) {
        const RawCalls raw(*drivers.table);
        if (!usual.has_value()) usual.emplace();
        MeasurePoolOn(*drivers.cuda, raw, pages, cached, &*usual, row);
      }
      MeasurePoolOn(*drivers.sim, InterfaceCalls(*drivers.sim), pages, cached, nullptr, row);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table MeasureGrowthInPlace(const Drivers& drivers) {
  Table table{"Growth in place",
              "The median and the quartiles of 20 rounds, taken in turns. The copy is of "
              "cuMemAlloc's memory, inside the device, and is waited for.",
              {"size", "GrowableBuffer", "allocate, copy, free", "ratio"},
              {}};
  const RawCalls context(*drivers.table);
  UsualCalls usual;
  for (const Bytes size : {MiB(64), GiB(1), GiB(16)}) {
    table.rows.push_back(MeasureStep(*drivers.cuda, usual, size, MiB(64)));
  }
  return table;
}

Table MeasureWake(const Drivers& drivers) {
  const std::vector<std::vector<Cell>> columns = {MeasureSleepByHand(RawCalls(*drivers.table)),
                                                  MeasureSleep(*drivers.cuda, kGranule),
                                                  MeasureSleep(*drivers.cuda, MiB(32))};
  Table table{"Sleep and wake",
              "Of a SleepingBuffer of 4 GiB, per GiB: the median and the quartiles of 7 rounds. "
              "Contents are saved in memory of the host that is not pinned.",
              {"per GiB", "driver, direct, pages of 2 MiB", "pages of 2 MiB", "pages of 32 MiB"},
              {}};
  const char* const names[] = {"sleep", "wake", "sleep, contents saved", "wake, contents restored"};
  for (size_t i = 0; i < std::size(names); ++i) {
    Row row{names[i], {}};
    for (const std::vector<Cell>& column : columns) row.cells.push_back(column[i]);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace twinmmu
