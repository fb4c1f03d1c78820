// What calls take, by the names of the calls.

#ifndef TWINMMU_TOOLS_BENCHMARK_TIMING_H_
#define TWINMMU_TOOLS_BENCHMARK_TIMING_H_

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tools/benchmark/calls.h"
#include "tools/benchmark/table.h"

namespace twinmmu {

using Clock = std::chrono::steady_clock;

inline double NanosecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

template <typename F>
double Time(F f) {
  const Clock::time_point begin = Clock::now();
  f();
  return NanosecondsBetween(begin, Clock::now());
}

// What Time gives where nothing is done; it is taken off every figure.
inline double TimeOfNothing() {
  std::vector<double> times(10000);
  for (double& time : times) time = Time([] { asm volatile("" ::: "memory"); });
  return SpreadOf(times).median;
}

// The times of each call, in the order in which the calls were first made.
class Times {
 public:
  template <typename F>
  void Add(const std::string& call, F f) {
    std::vector<double>& times = Of(call);
    times.push_back(0);
    times.back() = std::max(0.0, Time(f) - nothing_);
  }
  std::vector<double>& Of(const std::string& call) {
    for (auto& [name, times] : all_) {
      if (name == call) return times;
    }
    return all_.emplace_back(call, std::vector<double>()).second;
  }
  const std::vector<std::pair<std::string, std::vector<double>>>& all() const { return all_; }
  void Clear() { all_.clear(); }

 private:
  double nothing_ = TimeOfNothing();
  std::vector<std::pair<std::string, std::vector<double>>> all_;
};

// One way of making the calls, the objects that they are made on, and what they took.
template <typename Calls>
struct Side {
  explicit Side(Calls made) : calls(made) {}

  Calls calls;
  AddressRange range;
  AllocationHandle handle;
  AllocationHandle retained;
  char data[4] = {};
  Times times;
};

// One call by each side in turn.
template <typename F, typename... Sides>
void InTurn(const std::string& call, F f, Sides&... sides) {
  (sides.times.Add(call, [&] { f(sides); }), ...);
}

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_BENCHMARK_TIMING_H_
