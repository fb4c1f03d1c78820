#include "api/testing/recording/align.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace twinmmu {
namespace {

// How far to look for the next call that both made.
constexpr size_t kReach = 64;

std::string Name(const Json& line) { return TextOr(line, "call"); }

bool Succeeded(const Json& line) { return TextOr(line, "code") == "CUDA_SUCCESS"; }

// Where a machine happens to have room, and which numbers it gives to descriptors: numbers that
// differ although the same was asked.
bool IsChosenByTheDriver(const std::string& key, const std::string& value) {
  if (!absl::StartsWith(value, "0x")) return false;
  if (key == "descriptor") return true;
  uint64_t number = 0;
  return absl::SimpleHexAtoi(value, &number) && number >> 32 != 0 && number >> 48 == 0;
}

// The keys of a line up to its code are the call, those from there on what came of it.
std::string KeyOf(const Json& line) {
  Json call = Json::object();
  for (const auto& [key, value] : line.items()) {
    if (key == "code") break;
    if (key == "thread") continue;
    const bool other =
        value.is_string() && IsChosenByTheDriver(key, value.get_ref<const std::string&>());
    call[key] = other ? Json("0x...") : value;
  }
  return call.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool IsProgress(const Json& line) {
  return Succeeded(line) && (Name(line) == "QueryStream" || Name(line) == "QueryEvent");
}

bool IsRead(const Json& line) {
  return Name(line) == "CopyDeviceToHost" || Name(line) == "CopyArrayToHost";
}

bool ReadsOnAStream(const Step& step, const std::string& stream) {
  return IsRead(*step.call) && TextOr(*step.call, "stream") == stream;
}

// A program that watches device code reads and waits, again and again, and a fault may show in
// either: the last time that it waits stands for all of them.
void JoinPolls(Steps& steps) {
  std::vector<Step>& all = steps.steps;
  const Step last = std::move(all.back());
  all.pop_back();
  const std::string stream = TextOr(*last.call, "stream");
  while (!all.empty() && all.back().after_launch &&
         (all.back().key == last.key || ReadsOnAStream(all.back(), stream))) {
    all.pop_back();
    ++steps.polls;
  }
  all.push_back(last);
}

// Whether the calls after it can be compared with those of a section that did not make it.
bool ChangesNothing(const Step& step) {
  const std::string name = Name(*step.call);
  if (!step.call->contains("call")) return false;
  return !Succeeded(*step.call) || name == "CanAccessPeer" || IsRead(*step.call) ||
         name == "MulticastGetGranularity" ||
         (absl::StartsWith(name, "Get") && name != "GetKernel" && name != "GetLevel") ||
         absl::StartsWith(name, "Synchronize");
}

// How many calls from `begin` on may be passed over.
size_t Passable(const std::vector<Step>& steps, size_t begin) {
  size_t end = begin;
  while (end < steps.size() && end - begin < kReach && ChangesNothing(steps[end])) ++end;
  return end - begin;
}

// How many calls to pass over on either side to the next that both made; nullopt: there is none.
std::optional<std::pair<size_t, size_t>> NextInBoth(const std::vector<Step>& here, size_t i,
                                                    const std::vector<Step>& there, size_t j) {
  const size_t most_here = Passable(here, i);
  const size_t most_there = Passable(there, j);
  for (size_t both = 1; both <= most_here + most_there; ++both) {
    const size_t least = both > most_there ? both - most_there : 0;
    for (size_t passed = least; passed <= std::min(both, most_here); ++passed) {
      const size_t a = i + passed;
      const size_t b = j + both - passed;
      if (a < here.size() && b < there.size() && here[a].key == there[b].key) {
        return std::make_pair(passed, both - passed);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Steps StepsOf(const Section& section) {
  Steps steps;
  bool launched = false;
  for (size_t i = 0; i < section.lines.size(); ++i) {
    const Json& line = section.lines[i];
    if (line.contains("thread")) {
      steps.of_threads = section.lines.size() - i;
      break;
    }
    if (IsProgress(line)) {
      ++steps.polls;
      continue;
    }
    launched = launched || Name(line) == "Launch";
    steps.steps.push_back({i + 1, &line, KeyOf(line), launched});
    if (launched && Name(line) == "SynchronizeStream") JoinPolls(steps);
  }
  return steps;
}

Alignment Align(const Steps& here, const Steps& there) {
  Alignment alignment;
  size_t i = 0;
  size_t j = 0;
  while (i < here.steps.size() && j < there.steps.size()) {
    if (here.steps[i].key == there.steps[j].key) {
      alignment.pairs.emplace_back(&here.steps[i++], &there.steps[j++]);
      continue;
    }
    const auto passed = NextInBoth(here.steps, i, there.steps, j);
    if (!passed.has_value()) break;
    i += passed->first;
    j += passed->second;
  }
  alignment.only_here = here.steps.size() - alignment.pairs.size();
  alignment.only_there = there.steps.size() - alignment.pairs.size();
  return alignment;
}

}  // namespace twinmmu
