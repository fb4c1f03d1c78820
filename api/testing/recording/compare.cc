#include "api/testing/recording/compare.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/testing/recording/align.h"

namespace twinmmu {
namespace {

// Gives sections by name; those that come before one that is asked for are kept until they are.
class Sections {
 public:
  explicit Sections(std::unique_ptr<RecordingReader> reader) : reader_(std::move(reader)) {}

  const Json& header() const { return reader_->header(); }

  // nullopt: there is none.
  absl::StatusOr<std::optional<Section>> Take(const std::string& name) {
    const auto found = passed_.find(name);
    if (found != passed_.end()) return passed_.extract(found).mapped();
    for (;;) {
      absl::StatusOr<std::optional<Section>> next = reader_->Next();
      if (!next.ok() || !next->has_value() || (*next)->name() == name) return next;
      std::string other = (*next)->name();
      order_.push_back(other);
      passed_.emplace(std::move(other), *std::move(*next));
    }
  }

  // The names of those that nobody asked for.
  absl::StatusOr<std::vector<std::string>> Rest() {
    std::vector<std::string> rest;
    for (const std::string& name : order_) {
      if (passed_.count(name) != 0) rest.push_back(name);
    }
    for (;;) {
      const absl::StatusOr<std::optional<Section>> next = reader_->Next();
      if (!next.ok()) return next.status();
      if (!next->has_value()) return rest;
      rest.push_back((*next)->name());
    }
  }

 private:
  std::unique_ptr<RecordingReader> reader_;
  std::map<std::string, Section> passed_;
  std::vector<std::string> order_;
};

size_t DevicesOf(const Json& header) {
  const auto devices = header.find("devices");
  return devices != header.end() && devices->is_array() ? devices->size() : 0;
}

// Each machine has the number of devices that its first line tells.
bool CountsItsDevices(const Json& line, const Json& header) {
  const auto value = line.find("value");
  return TextOr(line, "call") == "GetDeviceCount" && value != line.end() &&
         *value == DevicesOf(header);
}

std::string VerdictOf(const Section& section) {
  if (!section.end.is_object()) return "ended early";
  std::string verdict = TextOr(section.end, "verdict");
  for (const char* key : {"deviation", "unsupported", "model"}) {
    if (section.end.contains(key)) {
      absl::StrAppend(&verdict, verdict.empty() ? "" : ", ", key, ": ",
                      section.end.at(key).is_string() ? section.end.at(key).get<std::string>()
                                                      : section.end.at(key).dump());
    }
  }
  return verdict;
}

// The call made here with what came of it there: numbers in it may be other ones.
Json AnsweredBy(const Json& line, const Json& other) {
  Json answered = Json::object();
  for (const auto& [key, value] : line.items()) {
    if (key == "code") break;
    answered[key] = value;
  }
  for (auto item = other.find("code"); item != other.end(); ++item) {
    answered[item.key()] = item.value();
  }
  return answered;
}

// A test that needs more devices than one of the machines has is skipped there.
bool LacksDevices(const Section& section, const Json& header, const Section& other,
                  const Json& other_header) {
  return TextOr(section.end, "verdict") == "skipped" && TextOr(other.end, "verdict") != "failed" &&
         DevicesOf(header) < DevicesOf(other_header);
}

void CompareCalls(const Section& here, const Section& there, Comparison& comparison,
                  SectionDifference& difference) {
  const Steps steps = StepsOf(here);
  const Steps other_steps = StepsOf(there);
  const Alignment alignment = Align(steps, other_steps);
  comparison.polls += steps.polls + other_steps.polls;
  comparison.of_threads += steps.of_threads + other_steps.of_threads;
  comparison.calls_only_here += alignment.only_here;
  comparison.calls_only_there += alignment.only_there;
  comparison.calls += alignment.pairs.size();
  for (const auto& [step, other] : alignment.pairs) {
    if (CountsItsDevices(*step->call, comparison.header) &&
        CountsItsDevices(*other->call, comparison.other_header)) {
      continue;
    }
    Json answered = AnsweredBy(*step->call, *other->call);
    const std::vector<std::string> keys = DifferingKeys(*step->call, answered);
    if (keys.empty()) continue;
    if (step->after_launch && std::find(keys.begin(), keys.end(), "code") == keys.end()) {
      ++comparison.after_launch;
      continue;
    }
    difference.lines.push_back({here.name(), step->line, *step->call, std::move(answered)});
  }
}

SectionDifference CompareSections(const Section& here, const Section& there,
                                  Comparison& comparison) {
  SectionDifference difference;
  difference.section = here.name();
  difference.rule = TextOr(here.begin, "rule");
  const std::string verdict = VerdictOf(here);
  const std::string other = VerdictOf(there);
  if (LacksDevices(here, comparison.header, there, comparison.other_header) ||
      LacksDevices(there, comparison.other_header, here, comparison.header)) {
    ++comparison.lacking_devices;
  } else if (verdict != other) {
    difference.verdict = absl::StrCat("\"", verdict, "\", there \"", other, "\"");
  }
  CompareCalls(here, there, comparison, difference);
  return difference;
}

bool IsDifferent(const SectionDifference& difference) {
  return !difference.verdict.empty() || !difference.lines.empty();
}

}  // namespace

absl::StatusOr<Comparison> Compare(const std::string& path, const std::string& other_path) {
  absl::StatusOr<std::unique_ptr<RecordingReader>> here = RecordingReader::Open(path);
  if (!here.ok()) return here.status();
  absl::StatusOr<std::unique_ptr<RecordingReader>> other = RecordingReader::Open(other_path);
  if (!other.ok()) return other.status();
  Sections there(*std::move(other));
  Comparison comparison;
  comparison.header = (*here)->header();
  comparison.other_header = there.header();
  for (;;) {
    const absl::StatusOr<std::optional<Section>> section = (*here)->Next();
    if (!section.ok()) return section.status();
    if (!section->has_value()) break;
    const absl::StatusOr<std::optional<Section>> match = there.Take((*section)->name());
    if (!match.ok()) return match.status();
    if (!match->has_value()) {
      comparison.only_here.push_back((*section)->name());
      continue;
    }
    ++comparison.sections;
    SectionDifference difference = CompareSections(**section, **match, comparison);
    if (IsDifferent(difference)) comparison.differences.push_back(std::move(difference));
  }
  absl::StatusOr<std::vector<std::string>> rest = there.Rest();
  if (!rest.ok()) return rest.status();
  comparison.only_there = *std::move(rest);
  return comparison;
}

}  // namespace twinmmu
