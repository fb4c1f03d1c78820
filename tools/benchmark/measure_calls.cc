#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "tools/benchmark/calls.h"
#include "tools/benchmark/sections.h"
#include "tools/benchmark/timing.h"

namespace twinmmu {
namespace {

constexpr int kWarmUpRounds = 50;
constexpr int kRounds = 10000;

// A granule from its reservation to its end. Each call is made by all sides before the next one.
template <typename... Sides>
void Round(Sides&... sides) {
  const auto each = [&](const char* call, auto f) { InTurn(call, f, sides...); };
  each("cuMemAddressReserve", [](auto& s) { s.range = s.calls.Reserve(kGranule); });
  each("cuMemCreate", [](auto& s) { s.handle = s.calls.Create(kGranule); });
  each("cuMemMap", [](auto& s) { s.calls.Map(s.range, s.handle); });
  each("cuMemSetAccess", [](auto& s) { s.calls.SetAccess(s.range); });
  each("cuMemGetAccess", [](auto& s) { s.calls.GetAccess(s.range.base); });
  each("cuMemRetainAllocationHandle", [](auto& s) { s.retained = s.calls.Retain(s.range.base); });
  each("cuMemRelease, not the last", [](auto& s) { s.calls.Release(s.retained); });
  each("cuMemGetAddressRange", [](auto& s) { s.calls.GetAddressRange(s.range.base); });
  each("cuPointerGetAttribute", [](auto& s) { s.calls.GetPointerAttribute(s.range.base); });
  each("cuMemGetInfo", [](auto& s) { s.calls.GetMemoryInfo(); });
  each("cuMemcpyHtoD of 4 bytes",
       [](auto& s) { s.calls.CopyHostToDevice(s.range.base, s.data, Bytes(sizeof(s.data))); });
  each("cuMemcpyDtoH of 4 bytes",
       [](auto& s) { s.calls.CopyDeviceToHost(s.data, s.range.base, Bytes(sizeof(s.data))); });
  each("cuMemUnmap", [](auto& s) { s.calls.Unmap(s.range); });
  each("cuMemRelease, the last", [](auto& s) { s.calls.Release(s.handle); });
  each("cuMemAddressFree", [](auto& s) { s.calls.AddressFree(s.range); });
}

// Who comes first changes from round to round: the second finds the caches warm.
template <typename A, typename B>
void Rounds(A& a, B& b) {
  for (int i = 0; i < kWarmUpRounds; ++i) Round(a, b);
  a.times.Clear();
  b.times.Clear();
  for (int i = 0; i < kRounds / 2; ++i) {
    Round(a, b);
    Round(b, a);
  }
}

template <typename A>
void Rounds(A& a) {
  for (int i = 0; i < kWarmUpRounds; ++i) Round(a);
  a.times.Clear();
  for (int i = 0; i < kRounds; ++i) Round(a);
}

// The ratio of the medians, and the quartiles of the ratios of the rounds.
Cell RatioOf(const std::vector<double>& through, const std::vector<double>& direct) {
  std::vector<double> ratios;
  for (size_t i = 0; i < direct.size(); ++i) {
    ratios.push_back(through[i] / std::max(direct[i], 1.0));
  }
  Spread spread = SpreadOf(ratios);
  spread.median = SpreadOf(through).median / std::max(SpreadOf(direct).median, 1.0);
  return Cell{spread, Unit::kTimes};
}

}  // namespace

Table MeasureCalls(const Drivers& drivers) {
  Table table{
      "Calls",
      "One granule, one thread: the median and the quartiles of 10,000 rounds. Direct calls "
      "and calls through the interface take turns, call by call; the primary context is "
      "current. The time of reading the clock is taken off.",
      {"call", "driver, direct", "through the interface", "ratio", "simulator"},
      {}};
  Side sim{InterfaceCalls(*drivers.sim)};
  Rounds(sim);
  for (const auto& [call, times] : sim.times.all()) {
    table.rows.push_back(
        Row{call, {std::nullopt, std::nullopt, std::nullopt, Cell{SpreadOf(times)}}});
  }
  if (drivers.cuda == nullptr) return table;
  Side direct{RawCalls(*drivers.table)};
  Side through{InterfaceCalls(*drivers.cuda)};
  Rounds(direct, through);
  for (Row& row : table.rows) {
    const std::vector<double>& a = direct.times.Of(row.name);
    const std::vector<double>& b = through.times.Of(row.name);
    row.cells[0] = Cell{SpreadOf(a)};
    row.cells[1] = Cell{SpreadOf(b)};
    row.cells[2] = RatioOf(b, a);
  }
  return table;
}

}  // namespace twinmmu
