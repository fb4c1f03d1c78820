// Reports in words, and as JSON Lines.

#ifndef TWINMMU_SIM_LIBCUDA_REPORT_REPORT_WORDS_H_
#define TWINMMU_SIM_LIBCUDA_REPORT_REPORT_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sim/libcuda/report/report_reader.h"

namespace twinmmu::libcuda {

struct ReportTotals {
  uint64_t errors = 0;
  uint64_t warnings = 0;
  uint64_t alive = 0;     // objects
  uint64_t injected = 0;  // failures
};
ReportTotals TotalsOf(const ProcessReport& report);

// "pool.cc:42, Pool::Grow() (libpool.so+0x1234)", as far as it is known.
std::string InWords(const Site& site);

// So many of a kind are shown where nobody says otherwise; the others are counted.
inline constexpr size_t kShownOfKind = 10;

// What matters most comes first. `ended`: how the process ended, in words; empty: not known, but
// for what the report says. `limit`: how many of a kind are shown; 0: all.
std::string InWords(const ProcessReport& report, absl::string_view ended,
                    size_t limit = kShownOfKind);

// One object in each line; docs/guide/libcuda.md has the keys.
std::string ToJsonLines(const ProcessReport& report, absl::string_view ended);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_REPORT_REPORT_WORDS_H_
