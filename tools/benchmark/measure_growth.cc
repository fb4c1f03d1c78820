#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <random>
#include <vector>

#include "tools/benchmark/calls.h"
#include "tools/benchmark/sections.h"
#include "tools/benchmark/timing.h"

namespace twinmmu {
namespace {

constexpr uint64_t kStages[] = {1000, 10000, 50000, 200000};
constexpr uint64_t kHandles = 1000;  // each is mapped many times: 2 GiB of memory are enough
constexpr int kRounds = 1000;

using StageTimes = std::array<Times, std::size(kStages)>;

// A driver with a growing number of live mappings, of one granule each, side by side.
class Growing {
 public:
  explicit Growing(Driver& driver)
      : side_(InterfaceCalls(driver)),
        range_(side_.calls.Reserve(kStages[std::size(kStages) - 1] * kGranule)) {
    for (uint64_t i = 0; i < kHandles; ++i) handles_.push_back(side_.calls.Create(kGranule));
  }
  ~Growing() {
    side_.calls.Unmap(range_.subrange(Bytes(0), live_ * kGranule));
    for (const AllocationHandle handle : handles_) side_.calls.Release(handle);
    side_.calls.AddressFree(range_);
  }
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;

  void GrowTo(uint64_t live) {
    for (; live_ < live; ++live_) {
      side_.calls.Map(Granule(live_), HandleOf(live_));
      side_.calls.SetAccess(Granule(live_));
    }
  }

  // Each call once, on one of the live mappings, or on what is new where it makes something.
  void Round() {
    const uint64_t i = std::uniform_int_distribution<uint64_t>(0, live_ - 1)(random_);
    const AddressRange granule = Granule(i);
    auto& s = side_;
    const auto time = [&](const char* call, auto f) { s.times.Add(call, f); };
    time("cuMemAddressReserve", [&] { s.range = s.calls.Reserve(kGranule); });
    time("cuMemCreate", [&] { s.handle = s.calls.Create(kGranule); });
    time("cuMemGetAccess", [&] { s.calls.GetAccess(granule.base); });
    time("cuMemRetainAllocationHandle", [&] { s.retained = s.calls.Retain(granule.base); });
    time("cuMemRelease, not the last", [&] { s.calls.Release(s.retained); });
    time("cuMemGetAddressRange", [&] { s.calls.GetAddressRange(granule.base); });
    time("cuPointerGetAttribute", [&] { s.calls.GetPointerAttribute(granule.base); });
    time("cuMemUnmap", [&] { s.calls.Unmap(granule); });
    time("cuMemMap", [&] { s.calls.Map(granule, HandleOf(i)); });
    time("cuMemSetAccess", [&] { s.calls.SetAccess(granule); });
    time("cuMemRelease, the last", [&] { s.calls.Release(s.handle); });
    time("cuMemAddressFree", [&] { s.calls.AddressFree(s.range); });
  }

  Times& times() { return side_.times; }

 private:
  AddressRange Granule(uint64_t i) const { return range_.subrange(i * kGranule, kGranule); }
  AllocationHandle HandleOf(uint64_t i) const { return handles_[i % kHandles]; }

  Side<InterfaceCalls> side_;
  AddressRange range_;
  std::vector<AllocationHandle> handles_;
  uint64_t live_ = 0;
  std::mt19937_64 random_{1};
};

StageTimes MeasureStages(Driver& driver) {
  StageTimes stages;
  Growing growing(driver);
  for (size_t i = 0; i < stages.size(); ++i) {
    std::cerr << "  " << kStages[i] << " live mappings\n";
    growing.GrowTo(kStages[i]);
    growing.times().Clear();
    for (int round = 0; round < kRounds; ++round) growing.Round();
    stages[i] = growing.times();
  }
  return stages;
}

// The times of one call with each number of mappings, and how much more the last takes.
void Append(StageTimes& stages, const std::string& call, Row& row) {
  std::vector<double> medians;
  for (Times& times : stages) {
    medians.push_back(SpreadOf(times.Of(call)).median);
    row.cells.push_back(Cell{Exactly(medians.back())});
  }
  row.cells.push_back(Cell{Exactly(medians.back() / medians.front()), Unit::kTimes});
}

}  // namespace

Table MeasureGrowth(const Drivers& drivers) {
  Table table{
      "Growth",
      "The median time of 1,000 calls, each on a random one of so many live mappings of a "
      "granule, side by side, of 1,000 handles by turns. cuMemGetAccess comes first, so it meets "
      "caches that know nothing of that mapping. Growth: the last over the first.",
      {"call"},
      {}};
  const auto add = [&table](const std::string& name, Driver& driver) {
    for (const uint64_t stage : kStages) {
      table.columns.push_back(name + ", " + std::to_string(stage));
    }
    table.columns.push_back(name + ", growth");
    StageTimes stages = MeasureStages(driver);
    if (table.rows.empty()) {
      for (const auto& [call, times] : stages[0].all()) table.rows.push_back(Row{call, {}});
    }
    for (Row& row : table.rows) Append(stages, row.name, row);
  };
  if (drivers.cuda != nullptr) add("driver", *drivers.cuda);
  add("simulator", *drivers.sim);
  return table;
}

}  // namespace twinmmu
