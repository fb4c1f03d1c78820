#include "api/testing/recording/compare.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

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

// The keys of a line up to its code are the call, those from there on what came of it.
Json CallOf(const Json& line) {
  Json call = Json::object();
  for (const auto& [key, value] : line.items()) {
    if (key == "code") break;
    if (key != "thread") call[key] = value;
  }
  return call;
}

bool IsProgress(const Json& line) {
  const auto call = line.find("call");
  return call != line.end() && (*call == "QueryStream" || *call == "QueryEvent");
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

SectionDifference CompareSections(const Section& here, const Section& there,
                                  Comparison& comparison) {
  SectionDifference difference;
  difference.section = here.name();
  difference.rule = TextOr(here.begin, "rule");
  const std::string verdict = VerdictOf(here);
  const std::string other = VerdictOf(there);
  if (verdict != other) {
    difference.verdict = absl::StrCat("\"", verdict, "\", there \"", other, "\"");
  }
  const size_t both = std::min(here.lines.size(), there.lines.size());
  size_t i = 0;
  for (; i < both && CallOf(here.lines[i]) == CallOf(there.lines[i]); ++i) {
    ++comparison.calls;
    if (IsProgress(here.lines[i]) || DifferingKeys(here.lines[i], there.lines[i]).empty()) continue;
    difference.lines.push_back({here.name(), i + 1, here.lines[i], there.lines[i]});
  }
  if (i != here.lines.size() || i != there.lines.size()) ++comparison.parted;
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
  comparison.machine = (*here)->header();
  comparison.other_machine = there.header();
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
