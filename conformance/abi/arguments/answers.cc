#include "conformance/abi/arguments/answers.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/abi/arguments/argument_values.h"
#include "conformance/abi/arguments/child_output.h"
#include "conformance/abi/driver_under_test.h"

namespace twinmmu::abi {
namespace {

struct Row {
  const char* symbol;
  const char* kinds;
};
constexpr Row kRows[] = {
#define TWINMMU_ARGUMENTS(symbol, kinds) {symbol, kinds},
#include "conformance/abi/arguments/argument_kinds.inc"
};

constexpr unsigned int kSeconds = 8;  // for a call
constexpr unsigned int kSecondsToMakeAll = 60;

// Which arguments are there, each a bit: all choices of a few, where they matter most; else none,
// all, all but one, and one.
std::vector<uint32_t> ChoicesOf(size_t arguments, bool is_usual) {
  const uint32_t all = (uint32_t{1} << arguments) - 1;
  std::vector<uint32_t> choices;
  if (is_usual && arguments <= 4) {
    for (uint32_t some = 0; some <= all; ++some) choices.push_back(some);
    return choices;
  }
  choices.push_back(0);
  if (arguments > 0) choices.push_back(all);
  for (size_t i = 0; arguments > 1 && i < arguments; ++i) {
    choices.push_back(all & ~(uint32_t{1} << i));
    if (arguments > 2) choices.push_back(uint32_t{1} << i);
  }
  for (size_t i = 0; is_usual && i < arguments; ++i) {
    for (size_t j = i + 1; j < arguments; ++j) {
      choices.push_back(all & ~(uint32_t{1} << i) & ~(uint32_t{1} << j));
    }
  }
  return choices;
}

// Whether a call that succeeds may change what later ones are told.
bool Changes(const std::string& symbol) {
  constexpr const char* kWords[] = {
      "Destroy", "Unload",    "Reset",       "Free",   "Release", "Pop",     "Set",
      "Detach",  "CtxCreate", "Push",        "Attach", "Capture", "Unmap",   "Exchange",
      "Delete",  "Remove",    "Retain",      "Link",   "Enable",  "Disable", "Unregister",
      "CtxFrom", "Coredump",  "Instantiate", "Update", "cuInit"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const char* word) { return symbol.find(word) != std::string::npos; });
}

struct CallOf {
  size_t row;
  uint32_t choice;
};

// The argument that states like `state` are about, by its letter; 0 if that is all of them.
char KindIn(CallState state) {
  if (state < CallState::kCapturedStream) return 0;
  return state < CallState::kKernelNode ? 'S' : 'N';
}

std::vector<CallOf> AllCalls(CallState state) {
  std::vector<CallOf> calls;
  const char kind = KindIn(state);
  for (size_t row = 0; row < std::size(kRows); ++row) {
    const std::string kinds = kRows[row].kinds;
    uint32_t needed = 0;
    for (size_t i = 0; i < kinds.size(); ++i) needed |= uint32_t{kinds[i] == kind} << i;
    if (kind != 0 && needed == 0) continue;
    for (const uint32_t choice : ChoicesOf(kinds.size(), state == CallState::kUsual)) {
      if ((choice & needed) == needed) calls.push_back({row, choice});
    }
  }
  return calls;
}

// In this process. False: the next calls need another one.
bool Make(const CallOf& call, Arguments& arguments, std::FILE* out, size_t number) {
  const auto& [symbol, kinds] = kRows[call.row];
  AnyArguments given = {};
  std::string bits;
  for (size_t i = 0; kinds[i] != '\0'; ++i) {
    const bool is_there = (call.choice >> i & 1) != 0;
    given[i] = arguments.Of(kinds[i], is_there, i);
    bits += is_there ? '1' : '0';
  }
  arguments.ClearPlaces();
  alarm(kSeconds);
  if (!arguments.BeginCapture()) return false;
  const CUresult result = Call(symbol, given);
  const std::string capture = arguments.EndCapture();
  alarm(0);
  std::fprintf(out, "%zu %s(%s): %s%s\n", number, symbol, bits.c_str(),
               NameOfResult(result).c_str(), capture.c_str());
  std::fflush(out);
  return result != CUDA_SUCCESS || !Changes(symbol);
}

// Makes calls from `first` on in a process of their own, until that ends; gives what it has said.
std::string RunFrom(CallState state, const std::vector<CallOf>& calls, size_t first) {
  const ChildOutput output = OutputOfChild([&](std::FILE* out) {
    alarm(kSecondsToMakeAll);
    const auto arguments = std::make_unique<Arguments>(state);
    if (!arguments->are_whole()) _exit(1);
    std::fprintf(out, "ready\n");
    std::fflush(out);
    for (size_t i = first; i < calls.size(); ++i) {
      if (!Make(calls[i], *arguments, out, i)) break;
    }
  });
  return output.is_whole ? output.text : output.text + "ended\n";
}

}  // namespace

std::vector<CallState> AllCallStates() {
  std::vector<CallState> states;
  for (int state = 0; state <= static_cast<int>(kLastState); ++state) {
    states.push_back(static_cast<CallState>(state));
  }
  return states;
}

std::string NameOf(CallState state) {
  constexpr const char* kNames[] = {
      "no-context",      "usual",         "destroyed",       "blocking-capture", "capture",
      "relaxed-capture", "other-context", "fault",           "green-context",    "captured-stream",
      "legacy-stream",   "thread-stream", "kernel-node",     "copy-node",        "fill-node",
      "host-node",       "child-node",    "wait-node",       "record-node",      "allocation-node",
      "free-node",       "batch-node",    "conditional-node"};
  static_assert(std::size(kNames) == static_cast<size_t>(kLastState) + 1);
  return kNames[static_cast<size_t>(state)];
}

std::vector<std::string> AnswersIn(CallState state) {
  const std::vector<CallOf> calls = AllCalls(state);
  std::vector<std::string> answers;
  for (size_t next = 0; next < calls.size();) {
    std::istringstream said(RunFrom(state, calls, next));
    std::string line;
    if (!std::getline(said, line) || line != "ready") return {};
    const size_t first = next;
    while (std::getline(said, line) && line != "ended") {
      size_t number = 0;
      std::istringstream(line) >> number;
      next = number + 1;
      answers.push_back(NameOf(state) + line.substr(line.find(' ')));
    }
    if (line == "ended" || next == first) ++next;  // by the call that has no line
  }
  return answers;
}

}  // namespace twinmmu::abi
