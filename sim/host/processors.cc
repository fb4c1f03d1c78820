#include "sim/host/processors.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <thread>

namespace twinmmu {
namespace {

constexpr int64_t kNone = 0;

// The numbers with which a file begins, as far as there are any; "max", and what is negative, is
// none.
template <typename... Number>
void ReadNumbers(const std::string& path, Number*... numbers) {
  std::ifstream file(path);
  (file >> ... >> *numbers);
}

int64_t RunsOn() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // More processors than the set has room for are no case for counting.
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return std::thread::hardware_concurrency();
}

// Of both versions of control groups.
int64_t HasTimeOf(const std::string& control_groups) {
  int64_t quota = kNone;
  int64_t period = kNone;
  ReadNumbers(control_groups + "/cpu.max", &quota, &period);
  if (period <= kNone) {
    ReadNumbers(control_groups + "/cpu/cpu.cfs_quota_us", &quota);
    ReadNumbers(control_groups + "/cpu/cpu.cfs_period_us", &period);
  }
  if (quota <= kNone || period <= kNone) return kNone;
  return quota / period + (quota % period != 0 ? 1 : 0);
}

}  // namespace

int Processors(const std::string& control_groups) {
  const int64_t may_run_on = RunsOn();
  const int64_t has_time_of = HasTimeOf(control_groups);
  const int64_t count = has_time_of == kNone ? may_run_on : std::min(may_run_on, has_time_of);
  return static_cast<int>(std::max<int64_t>(count, 1));
}

}  // namespace twinmmu
