#include "conformance/abi/values/case_answers.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/abi/arguments/child_output.h"
#include "conformance/abi/values/answer_lines.h"
#include "conformance/abi/values/cases/case_objects.h"
#include "conformance/abi/values/symbol_call.h"

namespace twinmmu::abi {
namespace {

constexpr unsigned int kSecondsToBegin = 60;
constexpr unsigned int kSeconds = 10;  // for a call
constexpr char kTrying[] = "trying ";  // begins what a process says before a call
constexpr char kFaulted[] = "a fault by ";

// Says first what is tried, for the case that the process ends. Ends it where a kernel or a copy
// faults: nothing that comes later would tell anything.
std::string AnswerIn(Trial& trial, const Case& asked, const std::string& tried, std::FILE* out) {
  std::fprintf(out, "%s%s\n", kTrying, tried.c_str());
  std::fflush(out);
  alarm(kSeconds);
  asked.make(trial);
  if (Call("cuCtxSynchronize") != CUDA_SUCCESS) {
    std::fprintf(out, "%s%s%s\n", kTrying, kFaulted, tried.c_str());
    std::fflush(out);
    _exit(1);
  }
  alarm(0);
  return trial.answer();
}

void WriteAll(const Case& asked, std::FILE* out) {
  const std::string name = asked.name;
  alarm(kSecondsToBegin);
  BeginCase();
  Trial base;
  const std::string answer = AnswerIn(base, asked, name, out);
  std::fprintf(out, "%s: %s\n", name.c_str(), answer.c_str());
  for (size_t i = 0; i < base.fields().size(); ++i) {
    const auto& [field, values] = base.fields()[i];
    const std::string subject = name + " " + field;
    std::vector<TriedValue> tried;
    for (const uint64_t value : values) {
      Trial trial(i, value);
      const std::string what = subject + "=" + std::to_string(value);
      tried.push_back({value, AnswerIn(trial, asked, what, out)});
    }
    std::fprintf(out, "%s\n", LineOf(subject, tried).c_str());
  }
}

}  // namespace

CaseAnswers AnswersTo(const Case& asked) {
  const ChildOutput output = OutputOfChild([&](std::FILE* out) { WriteAll(asked, out); });
  CaseAnswers answers;
  std::string last;
  std::istringstream in(output.text);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(kTrying, 0) == 0) {
      last = line;
    } else {
      answers.lines.push_back(line);
    }
  }
  answers.has_begun = !last.empty();
  if (output.is_whole) return answers;
  answers.lines.clear();
  answers.trouble = std::string(asked.name) + ": the process ended";
  if (output.signal != 0) answers.trouble += " by signal " + std::to_string(output.signal);
  if (answers.has_begun) answers.trouble += ", " + last;
  return answers;
}

}  // namespace twinmmu::abi
