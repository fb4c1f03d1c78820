#include "tools/commands/litmus_report.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/files/read_file.h"
#include "conformance/litmus/litmus_device.h"
#include "sim/coherence/litmus/enumerate.h"
#include "sim/coherence/litmus/explain_race.h"
#include "sim/coherence/litmus/explore.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu {
namespace {

using coherence::Enumeration;
using coherence::Hazard;
using coherence::LitmusLine;
using coherence::LitmusTest;
using coherence::Observable;
using coherence::Outcome;
using coherence::Race;
using coherence::Verdict;
using json = nlohmann::json;

constexpr size_t kMostRaces = 3;

struct Totals {
  int tests = 0;
  int as_expected = 0;
  int different = 0;
  int unread = 0;
  int played = 0;
  int skipped = 0;
  int broken = 0;  // the device showed what is forbidden, or failed
  int weak = 0;    // it showed what is allowed and asked about
};

bool IsWeak(const LitmusTest& test, const Outcome& outcome) {
  return test.weak.Holds([&](const Observable& observable) {
    const auto found = std::find(test.observables.begin(), test.observables.end(), observable);
    return found == test.observables.end() ? uint64_t{0}
                                           : outcome[found - test.observables.begin()];
  });
}

// "P1:r0=1 P1:r1=0"
std::string ToText(const LitmusTest& test, const Outcome& outcome) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < outcome.size(); ++i) {
    parts.push_back(absl::StrCat(test.observables[i].name, "=", outcome[i]));
  }
  return parts.empty() ? "no values" : absl::StrJoin(parts, " ");
}

std::string ToText(const std::set<Hazard>& hazards) {
  if (hazards.empty()) return "none";
  return absl::StrJoin(hazards, ", ", [](std::string* out, Hazard hazard) {
    absl::StrAppend(out, coherence::NameOf(hazard));
  });
}

// What the file says for these modes.
std::optional<Verdict> Expected(const LitmusTest& test, const coherence::Modes& modes) {
  const bool strict = modes.multicast == coherence::MulticastMode::kStrict;
  return strict && test.strict_verdict ? test.strict_verdict : test.verdict;
}

// One race of each kind first, those where a fence would do before the others.
std::vector<Race> RacesToShow(const std::set<Race>& all) {
  std::vector<Race> races(all.begin(), all.end());
  std::stable_sort(races.begin(), races.end(),
                   [](const Race& a, const Race& b) { return a.ordered && !b.ordered; });
  std::vector<Race> shown;
  for (const Race& race : races) {
    const bool known = std::any_of(shown.begin(), shown.end(), [&](const Race& other) {
      return (other.first == race.first && other.second == race.second) ||
             (other.first == race.second && other.second == race.first);
    });
    if (!known && shown.size() < kMostRaces) shown.push_back(race);
  }
  return shown;
}

class Litmus {
 public:
  Litmus(const LitmusRun& run, std::ostream& out)
      : driver_(run.driver), play_(run.play), out_(out), modes_(run.modes) {}

  void Run(const std::string& path, const LitmusLine& line) {
    if (!line.test.ok()) {
      ++totals_.unread;
      out_ << path << ":" << line.line << ": " << (line.name.empty() ? "" : line.name + ": ")
           << line.test.status().message() << "\n";
      return;
    }
    const LitmusTest& test = *line.test;
    ++totals_.tests;
    const absl::StatusOr<Enumeration> all = Enumerate(test, modes_);
    if (!all.ok()) {
      ++totals_.unread;
      out_ << path << ":" << line.line << ": " << test.name << ": " << all.status().message()
           << "\n";
      return;
    }
    json record;
    record["name"] = test.name;
    Judge(test, *all, &record);
    if (driver_ != nullptr) Play(test, *all, &record);
    records_.push_back(std::move(record));
  }

  // Whether all is as it should be.
  bool Finish() {
    out_ << absl::StrFormat("%d tests: %d as the file says, %d differ, %d could not be read",
                            totals_.tests, totals_.as_expected, totals_.different, totals_.unread);
    if (driver_ != nullptr) {
      out_ << absl::StrFormat("; played %d, skipped %d, %d wrong, the weak outcome was seen in %d",
                              totals_.played, totals_.skipped, totals_.broken, totals_.weak);
    }
    out_ << "\n";
    return totals_.different + totals_.unread + totals_.broken == 0;
  }

  const json& records() const { return records_; }

 private:
  void Judge(const LitmusTest& test, const Enumeration& all, json* record) {
    const bool weak = std::any_of(all.outcomes.begin(), all.outcomes.end(),
                                  [&](const Outcome& outcome) { return IsWeak(test, outcome); });
    const Verdict verdict = weak ? Verdict::kAllowed : Verdict::kForbidden;
    std::set<Hazard> hazards;
    for (const auto& [hazard, causal] : all.kinds) hazards.insert(hazard);
    const std::optional<Verdict> expected = Expected(test, modes_);
    std::string differs;
    if (expected && *expected != verdict) {
      differs = absl::StrCat(" DIFFERS: the file says ", coherence::NameOf(*expected));
    }
    if (test.hazards && *test.hazards != hazards &&
        modes_.multicast == coherence::MulticastMode::kGuide &&
        modes_.boundary == coherence::BoundaryMode::kGuide) {
      absl::StrAppend(&differs, " DIFFERS: the file says hazard ", ToText(*test.hazards));
    }
    ++(differs.empty() ? totals_.as_expected : totals_.different);
    out_ << absl::StrFormat("%-40s %-9s  hazard %-11s %d outcomes%s\n", test.name,
                            coherence::NameOf(verdict), ToText(hazards), all.outcomes.size(),
                            differs);
    out_ << "    " << test.text << "\n";
    if (test.verdict_from_note) {
      out_ << "    expected as its note says: " << test.note << "\n";
    }
    CompareWithOperational(test, all);
    json outcomes = json::array();
    for (const Outcome& outcome : all.outcomes) {
      const std::string text = ToText(test, outcome);
      outcomes.push_back(text);
      out_ << "    " << (IsWeak(test, outcome) ? "* " : "  ") << text << "\n";
    }
    for (const Race& race : RacesToShow(all.races)) {
      out_ << "    hazard: " << Explain(test.program, race) << "\n";
    }
    (*record)["verdict"] = coherence::NameOf(verdict);
    (*record)["hazard"] = ToText(hazards);
    (*record)["allowed"] = std::move(outcomes);
  }

  // The other form of the model has to say the same of runs in program order.
  void CompareWithOperational(const LitmusTest& test, const Enumeration& all) {
    const absl::StatusOr<coherence::Exploration> explored = Explore(test, modes_);
    if (!explored.ok()) {
      out_ << "    the operational model: " << explored.status().message() << "\n";
      return;
    }
    const size_t later = all.outcomes.size() - all.causal_outcomes.size();
    out_ << "    the operational model: " << explored->states << " states, ";
    if (explored->outcomes != all.causal_outcomes) {
      ++totals_.broken;
      out_ << "OTHER OUTCOMES: a bug in twinmmu, please report it\n";
    } else if (later != 0) {
      out_ << "the same outcomes, except " << later << " that read what is written later\n";
    } else {
      out_ << "the same outcomes\n";
    }
  }

  void Play(const LitmusTest& test, const Enumeration& all, json* record) {
    play_.seed = 0x5eed + totals_.tests;
    const auto begin = std::chrono::steady_clock::now();
    const absl::StatusOr<LitmusCounts> counts = PlayLitmus(*driver_, test, play_);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!counts.ok()) {
      const bool skipped = counts.status().code() == absl::StatusCode::kUnimplemented;
      ++(skipped ? totals_.skipped : totals_.broken);
      out_ << "    " << (skipped ? "not played: " : "FAILED: ") << counts.status().message()
           << "\n";
      (*record)[skipped ? "skipped" : "failed"] = std::string(counts.status().message());
      return;
    }
    ++totals_.played;
    uint64_t weak = 0, forbidden = 0;
    json seen = json::object();
    for (const auto& [outcome, count] : counts->outcomes) {
      const bool allowed = all.outcomes.count(outcome) != 0;
      if (!allowed) forbidden += count;
      if (IsWeak(test, outcome)) weak += count;
      const std::string text = ToText(test, outcome);
      seen[text] = count;
      out_ << absl::StrFormat("    %s %-40s seen %d times\n",
                              !allowed                ? "FORBIDDEN"
                              : IsWeak(test, outcome) ? "weak     "
                                                      : "         ",
                              text, count);
    }
    if (counts->late != 0) out_ << "    FAILED: " << counts->late << " waits took too long\n";
    if (forbidden != 0 || counts->late != 0) ++totals_.broken;
    if (weak != 0) ++totals_.weak;
    out_ << absl::StrFormat("    %d rounds in %.2f s: weak outcome %d times, forbidden %d times\n",
                            counts->rounds, seconds, weak, forbidden);
    (*record)["rounds"] = counts->rounds;
    (*record)["seen"] = std::move(seen);
    (*record)["weak"] = weak;
    (*record)["forbidden"] = forbidden;
    (*record)["late"] = counts->late;
  }

  Driver* const driver_;
  LitmusPlay play_;
  std::ostream& out_;
  const coherence::Modes modes_;
  Totals totals_;
  json records_ = json::array();
};

}  // namespace

absl::StatusOr<LitmusResult> RunLitmus(const std::vector<std::string>& paths, const LitmusRun& run,
                                       std::ostream& out) {
  Litmus litmus(run, out);
  for (const std::string& path : paths) {
    const absl::StatusOr<std::unique_ptr<LineReader>> lines = LineReader::Open(path);
    if (!lines.ok()) return lines.status();
    for (;;) {
      const absl::StatusOr<std::optional<LitmusLine>> line = coherence::NextLitmus(**lines);
      if (!line.ok()) return line.status();
      if (!line->has_value()) break;
      litmus.Run(path, **line);
    }
  }
  const bool as_expected = litmus.Finish();
  return LitmusResult{as_expected, litmus.records()};
}

}  // namespace twinmmu
