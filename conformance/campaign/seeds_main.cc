// Random sequences beside the model, or histories of several threads, of the seeds that are this
// program's.
// Usage: seeds sequences|histories PROFILE [FIRST LAST]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "conformance/campaign/campaign.h"
#include "conformance/instances/random/random_sim.h"
#include "conformance/linearizability/race.h"
#include "conformance/random/run_seeds.h"

namespace twinmmu::conformance::campaign {
namespace {

struct Outcome {
  std::string figures;
  std::string difference;
};

random::Seeds SeedsOf(const SeedBlock& block, int calls) {
  random::Seeds seeds;
  seeds.first = block.first;
  seeds.last = block.last;
  seeds.calls = calls;
  return seeds;
}

absl::StatusOr<Outcome> RunSequences(const random::OpenSubject& open, const SeedBlock& block) {
  const absl::StatusOr<random::Report> report = random::RunSeeds(open, SeedsOf(block, 500));
  if (!report.ok()) return report.status();
  return Outcome{absl::StrCat(report->calls, " calls, ", report->answers, " answers"),
                 report->difference};
}

absl::StatusOr<Outcome> RunHistories(const random::OpenSubject& open, const SeedBlock& block) {
  const absl::StatusOr<linearizability::Races> races =
      linearizability::RunRaces(open, SeedsOf(block, 15));
  if (!races.ok()) return races.status();
  return Outcome{absl::StrCat(races->histories, " histories of ", races->operations, " calls, ",
                              races->overlapping, " with calls that overlap, ", races->tried,
                              " calls tried on the model"),
                 races->unexplained};
}

struct Kind {
  const char* name;
  absl::StatusOr<Outcome> (*run)(const random::OpenSubject& open, const SeedBlock& block);
  uint64_t ordinary;
  uint64_t in_campaign;
};
constexpr Kind kKinds[] = {{"sequences", RunSequences, 1, 2000},
                           {"histories", RunHistories, 20, 20000}};

int Run(const Kind& kind, const std::string& name, const SeedBlock& block) {
  const absl::StatusOr<Profile> profile = Profile::Named(name);
  if (!profile.ok()) {
    std::cerr << profile.status().message() << "\n";
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<Outcome> outcome = kind.run(random::SimSubject(*profile), block);
  if (!outcome.ok()) {
    std::cerr << outcome.status().message() << "\n";
    return 2;
  }
  const auto time =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
  std::cout << kind.name << " on " << name << ", seeds " << block.first << " to " << block.last
            << ": " << outcome->figures << ", " << time.count() << " s\n"
            << outcome->difference;
  return outcome->difference.empty() ? 0 : 1;
}

int Main(int argc, char** argv) {
  AcceptSharding();
  for (const Kind& kind : kKinds) {
    if ((argc != 3 && argc != 5) || std::string(argv[1]) != kind.name) continue;
    const SeedBlock own = OwnSeeds(kind.ordinary, kind.in_campaign);
    const SeedBlock given = {std::strtoull(argv[argc - 2], nullptr, 10),
                             std::strtoull(argv[argc - 1], nullptr, 10)};
    return Run(kind, argv[2], argc == 5 ? given : own);
  }
  std::cerr << "usage: seeds sequences|histories PROFILE [FIRST LAST]\n";
  return 2;
}

}  // namespace
}  // namespace twinmmu::conformance::campaign

int main(int argc, char** argv) { return twinmmu::conformance::campaign::Main(argc, argv); }
