#include "sim/tests/race_litmus/race_litmus.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace twinmmu {
namespace {

[[noreturn]] void Fail(const std::string& path, const std::string& line) {
  std::fprintf(stderr, "%s: what is \"%s\"?\n", path.c_str(), line.c_str());
  std::abort();
}

bool IsStep(const std::string& word) {
  static const std::set<std::string> kSteps = {"kernel", "event", "sync", "fill",
                                               "copy",   "write", "await"};
  return kSteps.count(word) != 0;
}

RaceStep StepOf(const std::vector<std::string>& words) {
  RaceStep step;
  step.what = words.front();
  for (size_t i = 1; i < words.size(); ++i) {
    const std::vector<std::string> parts = absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    step.values[parts.front()] = parts.back();
  }
  return step;
}

// A form of one test, whose lines begin with its name.
RaceLitmus FormOf(const std::string& path, const std::string& text, bool races) {
  static const std::regex kEither(R"(\{([^{}|]*)\|([^{}]*)\})");
  RaceLitmus form;
  form.races = races;
  const std::string chosen = std::regex_replace(text, kEither, races ? "$2" : "$1");
  const std::vector<std::string> lines = absl::StrSplit(chosen, '\n', absl::SkipWhitespace());
  for (const std::string& line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    const std::string& word = words.front();
    if (word == "test" && words.size() == 2) {
      form.name = words[1];
    } else if (word == "race" || word == "async" || word == "alias") {
      const std::vector<std::string> pair = absl::StrSplit(words.back(), '-');
      if (pair.size() != 2) Fail(path, line);
      if (races) form.expected.insert(RaceInWords(word, pair[0], pair[1]));
    } else if (IsStep(word)) {
      form.steps.push_back(StepOf(words));
    } else if (!form.steps.empty() && form.steps.back().what == "kernel") {
      form.steps.back().lines.push_back(line);
    } else {
      Fail(path, line);
    }
  }
  return form;
}

}  // namespace

uint64_t RaceStep::Number(const std::string& key, uint64_t unsaid) const {
  const auto found = values.find(key);
  return found == values.end() ? unsaid : std::stoull(found->second);
}

std::string RaceStep::Word(const std::string& key, const std::string& unsaid) const {
  const auto found = values.find(key);
  return found == values.end() ? unsaid : found->second;
}

std::string RaceInWords(const std::string& kind, const std::string& a, const std::string& b) {
  return absl::StrCat(kind, " ", std::min(a, b), "-", std::max(a, b));
}

std::vector<RaceLitmus> ReadRaceLitmus(const std::string& path) {
  std::ifstream file(path);
  if (!file) Fail(path, "(no such file)");
  std::vector<std::string> texts;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("test ", 0) == 0) texts.emplace_back();
    if (line.empty() || line.front() == '#') continue;
    if (texts.empty()) Fail(path, line);
    absl::StrAppend(&texts.back(), line, "\n");
  }
  std::vector<RaceLitmus> forms;
  for (const std::string& text : texts) {
    for (const bool races : {false, true}) forms.push_back(FormOf(path, text, races));
  }
  return forms;
}

}  // namespace twinmmu
