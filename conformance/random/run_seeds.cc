#include "conformance/random/run_seeds.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "conformance/random/checker.h"
#include "conformance/random/print_sequence.h"
#include "conformance/random/shrink.h"

namespace twinmmu::conformance::random {
namespace {

absl::StatusOr<Checker> CheckerOf(const Subject& subject) {
  const absl::StatusOr<Vmm*> vmm = subject.driver->vmm();
  if (!vmm.ok()) return vmm.status();
  const absl::StatusOr<Executor*> executor = subject.driver->executor();
  if (!executor.ok()) return executor.status();
  return Checker(*vmm, *executor, subject.parameters, subject.defined_only);
}

// With `check_each`, all state is asked for after each call.
std::optional<Difference> Make(Checker& checker, const std::vector<Call>& calls, bool check_each) {
  for (const Call& call : calls) {
    std::optional<Difference> difference;
    if (check_each) {
      difference = checker.DoAndCheck(call);
    } else {
      Step step = checker.Do(call);
      if (!step.difference.empty()) difference = Difference{std::move(step.difference), {}};
    }
    if (difference.has_value()) return difference;
  }
  return std::nullopt;
}

// The first difference that the calls show, on a subject of their own.
std::optional<Difference> Replay(const OpenSubject& open, const std::vector<Call>& calls,
                                 bool check_each) {
  const absl::StatusOr<Subject> subject = open();
  if (!subject.ok()) return std::nullopt;
  absl::StatusOr<Checker> checker = CheckerOf(*subject);
  if (!checker.ok()) return std::nullopt;
  std::optional<Difference> difference = Make(*checker, calls, check_each);
  // As far as that can be done after a difference: the next subject may be the same device.
  checker->CleanUp();
  return difference;
}

std::string Print(const OpenSubject& open, const std::vector<Call>& calls) {
  const absl::StatusOr<Subject> subject = open();
  if (!subject.ok()) return absl::StrCat("  // ", subject.status().message(), "\n");
  absl::StatusOr<Checker> checker = CheckerOf(*subject);
  if (!checker.ok()) return absl::StrCat("  // ", checker.status().message(), "\n");
  return PrintTest(calls, *checker);
}

// The sequence, shrunk, as a test. Each attempt has a subject of its own: one that answered wrongly
// cannot be cleaned up for sure.
std::string Explain(const OpenSubject& open, std::vector<Call> calls, const Difference& found) {
  const auto append = [&](const std::vector<Call>& questions) {
    calls.insert(calls.end(), questions.begin(), questions.end());
  };
  append(found.questions);
  // A difference that the last questions do not show by themselves may need all the others.
  const bool check_each = !Replay(open, calls, false).has_value();
  if (!Replay(open, calls, check_each).has_value()) {
    return absl::StrCat("  // ", found.what, ", after ", calls.size(),
                        " calls; the same calls anew do not show it:\n", Print(open, calls));
  }
  calls = Shrink(std::move(calls), [&](const std::vector<Call>& attempt) {
    return Replay(open, attempt, check_each).has_value();
  });
  const std::optional<Difference> shrunk = Replay(open, calls, check_each);
  if (shrunk.has_value()) append(shrunk->questions);
  return absl::StrCat("  // ", shrunk.has_value() ? shrunk->what : found.what, "\n",
                      Print(open, calls));
}

// Makes calls until it is over. `made`: those that were.
std::optional<Difference> MakeCalls(Checker& checker, Choices& choices,
                                    const std::function<bool(uint64_t made)>& is_over,
                                    std::vector<Call>& made) {
  Generator generator(&choices, &checker);
  while (!is_over(made.size())) {
    made.push_back(generator.Next());
    std::optional<Difference> difference = checker.DoAndCheck(made.back());
    if (difference.has_value()) return difference;
  }
  return checker.CleanUp();
}

}  // namespace

absl::StatusOr<Report> RunSeeds(const OpenSubject& open, const Seeds& seeds) {
  const absl::StatusOr<Subject> subject = open();
  if (!subject.ok()) return subject.status();
  absl::StatusOr<Checker> checker = CheckerOf(*subject);
  if (!checker.ok()) return checker.status();
  Report report;
  for (uint64_t seed = seeds.first;; ++seed) {
    if (seeds.begin != nullptr) seeds.begin(seed);
    SeededChoices choices(seed);
    std::vector<Call> made;
    const auto is_over = [&](uint64_t count) { return count == seeds.calls; };
    const std::optional<Difference> found = MakeCalls(*checker, choices, is_over, made);
    ++report.seeds;
    report.calls += made.size();
    report.answers = checker->answers();
    if (found.has_value()) {
      report.difference = absl::StrCat("  // Seed ", seed, ", call ", made.size(), ":\n",
                                       Explain(open, made, *found));
      return report;
    }
    // Asked here, since no seed is above the last of 64 bits.
    if (seed == seeds.last) return report;
  }
}

absl::StatusOr<std::string> RunChoices(const OpenSubject& open, Choices& choices,
                                       const std::function<bool(uint64_t made)>& is_over) {
  const absl::StatusOr<Subject> subject = open();
  if (!subject.ok()) return subject.status();
  absl::StatusOr<Checker> checker = CheckerOf(*subject);
  if (!checker.ok()) return checker.status();
  std::vector<Call> made;
  const std::optional<Difference> found = MakeCalls(*checker, choices, is_over, made);
  return found.has_value() ? Explain(open, made, *found) : "";
}

}  // namespace twinmmu::conformance::random
