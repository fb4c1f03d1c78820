#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/testing/recording/file.h"
#include "api/testing/recording/recorder.h"
#include "conformance/fixtures/process_fixture.h"
#include "conformance/framework/other_process.h"
#include "conformance/framework/registry.h"
#include "conformance/recordings/known_content.h"
#include "conformance/recordings/recorders.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

bool HasArgument(int argc, char** argv, const char* part) {
  return std::any_of(argv + 1, argv + argc,
                     [part](const char* argument) { return absl::StrContains(argument, part); });
}

bool IsChild(int argc, char** argv) {
  return HasArgument(argc, argv, "--gtest_internal_run_death_test");
}

std::string ChildPath(const std::string& path, int child) {
  return absl::StrCat(path, ".child.", child);
}

// The rule of a test, by its name; null: not one of the suite.
const RuleInfo* RuleOf(const std::string& test) {
  static const auto* const rules = [] {
    auto* all = new std::map<std::string, Rule>();
    for (const Case& test_case : AllCases()) (*all)[test_case.name] = test_case.rule;
    return all;
  }();
  const auto found = rules->find(test);
  return found == rules->end() ? nullptr : &GetRule(found->second);
}

// In a child, which may end at any call: every line goes to a file of its own at once.
RecordingSink ChildSink(const std::string& path) {
  int child = 1;
  while (std::filesystem::exists(ChildPath(path, child))) ++child;
  auto file = std::make_shared<std::ofstream>(ChildPath(path, child));
  return [file](const Json& line) { *file << line.dump() << std::endl; };
}

// The lines of a child. A call that was begun and did not return gets a code that says so.
std::vector<Json> ReadChild(const std::string& path) {
  std::vector<Json> lines;
  std::map<int, Json> begun;  // by thread
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!line.is_object()) continue;  // cut off
    if (line.contains("begin")) {
      begun[line["begin"].value("thread", 0)] = line["begin"];
      continue;
    }
    if (line.contains("call")) begun.erase(line.value("thread", 0));
    lines.push_back(std::move(line));
  }
  for (auto& [thread, line] : begun) {
    line["code"] = kProcessEnded;
    lines.push_back(line);
  }
  return lines;
}

// Writes a section for each test, and one for each of its children.
class SuiteRecorder : public ::testing::EmptyTestEventListener {
 public:
  SuiteRecorder(RecordingPlan plan, std::unique_ptr<RecordingWriter> writer)
      : plan_(std::move(plan)), writer_(std::move(writer)) {}

  // Also called when the target is opened anew.
  std::unique_ptr<Driver> Wrap(std::unique_ptr<Driver> driver) {
    if (!has_header_) Note(writer_->Write(DescribeOrigin(*driver, plan_.backend, plan_.date)));
    has_header_ = true;
    auto recording = std::make_unique<RecordingDriver>(
        std::move(driver), [this](const Json& line) { section_.lines.push_back(line); },
        RecorderOptions{SuiteContent(), false});
    recording->Begin();
    recording_ = recording.get();
    return recording;
  }

  void OnTestStart(const ::testing::TestInfo& test) override {
    // Without the name of the target, which stands in the first line.
    const std::string suite = test.test_suite_name();
    section_ = Section();
    section_.begin =
        Json{{"section", absl::StrCat(suite.substr(suite.find('/') + 1), ".", test.name())}};
    const RuleInfo* const rule = RuleOf(test.name());
    if (rule != nullptr) section_.begin["rule"] = rule->id;
    if (rule != nullptr && rule->kind == RuleKind::kUndefined) section_.begin["undefined"] = true;
    if (recording_ != nullptr) recording_->Begin();
  }

  void OnTestEnd(const ::testing::TestInfo& test) override {
    const ::testing::TestResult& result = *test.result();
    section_.end = Json{{"end", section_.name()}};
    section_.end["verdict"] = result.Failed() ? "failed" : result.Skipped() ? "skipped" : "passed";
    for (int i = 0; i < result.test_property_count(); ++i) {
      const ::testing::TestProperty& property = result.GetTestProperty(i);
      section_.end[property.key()] = property.value();
      // Nobody can play this process's calls without those of the others.
      if (property.key() == std::string(kOtherProcessProperty)) section_.lines.clear();
    }
    if (!has_header_) return;
    Note(writer_->Write(section_));
    WriteChildren();
  }

  // What went wrong with the file; OK: nothing. Where no target was opened there is none.
  absl::Status Close() {
    if (!has_header_) return absl::OkStatus();
    Note(writer_->Close());
    return status_;
  }

 private:
  void WriteChildren() {
    for (int child = 1;; ++child) {
      const std::string path = ChildPath(plan_.path, child);
      if (!std::filesystem::exists(path)) return;
      Section section;
      section.begin = section_.begin;
      section.begin["section"] = absl::StrCat(section_.name(), ", child ", child);
      section.lines = ReadChild(path);
      section.end = Json{{"end", section.name()}};
      Note(writer_->Write(section));
      std::remove(path.c_str());
    }
  }

  void Note(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }

  const RecordingPlan plan_;
  const std::unique_ptr<RecordingWriter> writer_;
  RecordingDriver* recording_ = nullptr;  // belongs to the target
  bool has_header_ = false;
  Section section_;
  absl::Status status_;
};

TargetFactory Wrapped(TargetFactory factory,
                      std::function<std::unique_ptr<Driver>(std::unique_ptr<Driver>)> wrap) {
  factory.open = [open = factory.open, wrap]() -> absl::StatusOr<Target> {
    absl::StatusOr<Target> target = open();
    if (!target.ok()) return target;
    target->driver = wrap(std::move(target->driver));
    return target;
  };
  return factory;
}

}  // namespace

int RecordSuite(int argc, char** argv, TargetFactory factory, const RunOptions& options,
                const RecordingPlan& plan) {
  // What other processes do is no part of a recording.
  if (SocketToStarter() >= 0) return RunConformance(argc, argv, {std::move(factory)}, options);
  if (IsChild(argc, argv)) {
    // Where calls take turns to be written down, a race does not show.
    if (HasArgument(argc, argv, "/threads.")) {
      return RunConformance(argc, argv, {std::move(factory)}, options);
    }
    const auto wrap = [&](std::unique_ptr<Driver> driver) -> std::unique_ptr<Driver> {
      auto recording = std::make_unique<RecordingDriver>(std::move(driver), ChildSink(plan.path),
                                                         RecorderOptions{SuiteContent(), true});
      recording->Begin();
      return recording;
    };
    return RunConformance(argc, argv, {Wrapped(std::move(factory), wrap)}, options);
  }
  for (int child = 1; std::remove(ChildPath(plan.path, child).c_str()) == 0; ++child) {
  }
  absl::StatusOr<std::unique_ptr<RecordingWriter>> writer = RecordingWriter::Create(plan.path);
  if (!writer.ok()) {
    std::cerr << writer.status().message() << "\n";
    return 1;
  }
  auto* recorder = new SuiteRecorder(plan, *std::move(writer));
  ::testing::UnitTest::GetInstance()->listeners().Append(recorder);  // which owns it
  const auto wrap = [recorder](std::unique_ptr<Driver> driver) {
    return recorder->Wrap(std::move(driver));
  };
  const int exit_code = RunConformance(argc, argv, {Wrapped(std::move(factory), wrap)}, options);
  const absl::Status closed = recorder->Close();
  if (!closed.ok()) std::cerr << closed.message() << "\n";
  return closed.ok() ? exit_code : 1;
}

}  // namespace twinmmu::conformance
