#include <chrono>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/commands.h"
#include "tools/failure.h"

ABSL_FLAG(std::string, seeds, "1-100", "random: the seeds, FIRST-LAST or one; each is a sequence");
ABSL_FLAG(uint64_t, calls, 1000, "random: how many calls each sequence makes");

namespace twinmmu {
namespace {

// False: not one number, nor two with the smaller one first.
bool ParseSeeds(const std::string& text, conformance::random::Seeds& seeds) {
  const std::vector<std::string> parts = absl::StrSplit(text, '-');
  return parts.size() <= 2 && absl::SimpleAtoi(parts.front(), &seeds.first) &&
         absl::SimpleAtoi(parts.back(), &seeds.last) && seeds.first <= seeds.last;
}

}  // namespace

bool RandomSeeds(conformance::random::Seeds& seeds) {
  seeds.calls = absl::GetFlag(FLAGS_calls);
  if (!ParseSeeds(absl::GetFlag(FLAGS_seeds), seeds)) {
    Fail(absl::StrCat("--seeds=", absl::GetFlag(FLAGS_seeds), " is not of the form FIRST-LAST."));
    return false;
  }
  if (seeds.calls == 0) Fail("--calls=0 would compare nothing.");
  return seeds.calls != 0;
}

int RunRandom(const std::string& backend, const conformance::random::OpenSubject& open,
              std::ostream& out) {
  conformance::random::Seeds seeds;
  if (!RandomSeeds(seeds)) return kUsageError;
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<conformance::random::Report> report =
      conformance::random::RunSeeds(open, seeds);
  if (!report.ok()) return Fail(report.status());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const bool differs = !report->difference.empty();
  out << backend << ": seeds " << seeds.first << "-" << seeds.first + report->seeds - 1 << ", "
      << report->calls << " calls, " << (differs ? 1 : 0) << " differences, " << taken.count()
      << " s\n";
  if (differs) out << "As a test over `Vmm& vmm` and `Executor& executor`:\n" << report->difference;
  return differs ? 1 : 0;
}

}  // namespace twinmmu
