#include "sim/coherence/litmus/litmus_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace twinmmu::coherence {

std::vector<absl::string_view> SplitOutsideBrackets(absl::string_view text, char separator) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (i < text.size() && (c != separator || depth > 0)) continue;
    const absl::string_view part = absl::StripAsciiWhitespace(text.substr(begin, i - begin));
    if (!part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

int ProgramBuilder::AddAddress(absl::string_view name, std::vector<int> locations, bool multicast) {
  Address address;
  address.name = std::string(name);
  address.locations = std::move(locations);
  address.multicast = multicast;
  program_.addresses.push_back(std::move(address));
  const int index = static_cast<int>(program_.addresses.size()) - 1;
  addresses_.emplace(std::string(name), index);
  return index;
}

absl::Status ProgramBuilder::AddLocation(absl::string_view name, uint64_t initial,
                                         const std::vector<std::string>& aliases) {
  const int location = static_cast<int>(program_.locations.size());
  program_.locations.push_back({std::string(name), initial});
  for (const std::string& alias : aliases) {
    if (addresses_.count(alias) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("location ", name, ": the address ", alias, " is declared twice"));
    }
    AddAddress(alias, {location}, false);
  }
  return absl::OkStatus();
}

absl::Status ProgramBuilder::AddMulticast(absl::string_view name, uint64_t initial,
                                          const std::vector<std::string>& replicas,
                                          const std::vector<std::string>& multicast) {
  std::vector<int> locations;
  for (const std::string& replica : replicas) {
    locations.push_back(static_cast<int>(program_.locations.size()));
    const absl::Status added = AddLocation(replica, initial, {replica});
    if (!added.ok()) return added;
  }
  for (const std::string& address : multicast) {
    if (addresses_.count(address) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("location ", name, ": the address ", address, " is declared twice"));
    }
    AddAddress(address, locations, true);
  }
  return absl::OkStatus();
}

absl::Status ProgramBuilder::SetDevice(absl::string_view address, int device) {
  const auto found = addresses_.find(address);
  if (found == addresses_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("devices: there is no address ", address));
  }
  program_.addresses[found->second].device = device;
  return absl::OkStatus();
}

void ProgramBuilder::ExpectMulticast(std::set<std::string> names, int gpus) {
  multicast_names_ = std::move(names);
  gpus_ = std::max(gpus, 1);
}

int ProgramBuilder::AddUndeclared(absl::string_view name, bool multimem, const Place& place) {
  const std::string base(name.empty() ? name : name.substr(1));
  const std::string multicast = multimem ? std::string(name) : absl::StrCat("m", base);
  const bool unicast_of_multicast =
      !multimem && absl::StartsWith(name, "u") && multicast_names_.count(multicast) != 0;
  if (!multimem && !unicast_of_multicast) {
    const int location = static_cast<int>(program_.locations.size());
    program_.locations.push_back({std::string(name), 0});
    return AddAddress(name, {location}, false);
  }
  // "mflag" over one location per GPU, each with a unicast address "uflag0", "uflag1".
  auto found = addresses_.find(multicast);
  if (found == addresses_.end()) {
    std::vector<int> locations;
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      const int location = static_cast<int>(program_.locations.size());
      const std::string unicast = absl::StrCat("u", base, gpu);
      program_.locations.push_back({unicast, 0});
      AddAddress(unicast, {location}, false);
      locations.push_back(location);
    }
    AddAddress(multicast, std::move(locations), true);
    found = addresses_.find(multicast);
  }
  if (multimem) return found->second;
  const int gpu = place.gpu >= 0 && place.gpu < gpus_ ? place.gpu : 0;
  return addresses_.find(absl::StrCat("u", base, gpu))->second;
}

absl::StatusOr<int> ProgramBuilder::FindAddress(absl::string_view name, bool multimem,
                                                const Place& place) {
  name = absl::StripAsciiWhitespace(name);
  if (absl::ConsumePrefix(&name, "[") && !absl::ConsumeSuffix(&name, "]")) {
    return absl::InvalidArgumentError(absl::StrCat("\"[", name, "\" has no ]"));
  }
  if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(c) || c == '_' || c == '$';
      })) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not a name of an address"));
  }
  const auto found = addresses_.find(name);
  const int index =
      found != addresses_.end() ? found->second : AddUndeclared(name, multimem, place);
  if (multimem && !program_.addresses[index].multicast) {
    return absl::InvalidArgumentError(absl::StrCat(
        "multimem on ", name, ", which is a unicast address: that is undefined (R11)"));
  }
  if (!multimem && program_.addresses[index].multicast) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is a multicast address: anything but multimem is undefined there (R11)"));
  }
  return index;
}

absl::Status ProgramBuilder::AddThread(int process, const Place& place,
                                       const std::vector<std::string>& instructions) {
  Thread thread;
  thread.name = absl::StrCat("P", process);
  thread.process = process;
  thread.place = place;
  for (const std::string& text : instructions) {
    for (const absl::string_view one : SplitOutsideBrackets(text, ';')) {
      if (one == "..." || absl::StartsWith(one, "//")) continue;
      next_is_counted_ = false;
      absl::StatusOr<Instruction> instruction = ParseInstruction(one, &thread);
      if (!instruction.ok()) {
        return absl::Status(
            instruction.status().code(),
            absl::StrCat(thread.name, " \"", one, "\": ", instruction.status().message()));
      }
      if (next_is_counted_) {
        counted_.emplace_back(static_cast<int>(program_.threads.size()),
                              static_cast<int>(thread.instructions.size()));
      }
      thread.instructions.push_back(*std::move(instruction));
    }
  }
  program_.threads.push_back(std::move(thread));
  return absl::OkStatus();
}

// As the driver has it, nobody waits for an event that was never recorded.
void ProgramBuilder::WaitFor(const std::string& event, int thread, std::set<std::string>* seen) {
  const auto found = events_.find(event);
  if (found == events_.end() || !seen->insert(event).second) return;
  std::vector<int>& after = program_.threads[thread].after;
  for (const int task : found->second.tasks) {
    if (task != thread && std::count(after.begin(), after.end(), task) == 0) after.push_back(task);
  }
  for (const std::string& earlier : found->second.events) WaitFor(earlier, thread, seen);
}

absl::StatusOr<Program> ProgramBuilder::Finish() {
  for (Thread& operation : operations_) program_.threads.push_back(std::move(operation));
  operations_.clear();
  for (const LateWait& wait : late_waits_) {
    std::set<std::string> seen;
    WaitFor(wait.event, wait.thread, &seen);
  }
  for (const LateStart& start : late_starts_) {
    const auto first =
        std::find_if(program_.threads.begin(), program_.threads.end(),
                     [&](const Thread& thread) { return thread.process == start.process; });
    if (first == program_.threads.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("wait until P", start.process, " running: it launches nothing"));
    }
    program_.threads[start.thread].after_start.push_back(
        static_cast<int>(first - program_.threads.begin()));
  }
  for (const auto& [thread, index] : counted_) {
    Instruction& spin = program_.threads[thread].instructions[index];
    const int location = program_.addresses[spin.address].locations[0];
    uint64_t sum = 0;
    for (const Thread& other : program_.threads) {
      for (const Instruction& instruction : other.instructions) {
        if (instruction.kind != Instruction::kAtomic) continue;
        const std::vector<int>& of = program_.addresses[instruction.address].locations;
        if (std::count(of.begin(), of.end(), location) != 0) sum += instruction.value.constant;
      }
    }
    spin.until->value = sum;
  }
  if (program_.threads.size() > kMaxThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat(program_.threads.size(), " threads and tasks; the most is ", kMaxThreads));
  }
  return std::exchange(program_, Program());
}

}  // namespace twinmmu::coherence
