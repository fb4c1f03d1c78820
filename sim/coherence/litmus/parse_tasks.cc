// Tasks of streams: launches, copies, fills, events, graphs.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "sim/coherence/litmus/litmus_builder.h"

namespace twinmmu::coherence {
namespace {

constexpr char kKnownTasks[] =
    "known are launch{...}, launch NAME[programmatic]{...}, memcpy A <- B, memset A <- N, "
    "event.record E, event.synchronize E, stream.wait E, stream.synchronize, graph{...} and wait "
    "until Pk running";

// The text between the first { and the last }; empty where there are none.
absl::string_view InBraces(absl::string_view text) {
  const size_t begin = text.find('{');
  const size_t end = text.rfind('}');
  if (begin == absl::string_view::npos || end == absl::string_view::npos || end < begin) return "";
  return text.substr(begin + 1, end - begin - 1);
}

void AddOnce(int value, std::vector<int>* list) {
  if (std::count(list->begin(), list->end(), value) == 0) list->push_back(value);
}

}  // namespace

absl::StatusOr<int> ProgramBuilder::MakeTask(absl::string_view text, int process, int gpu) {
  std::vector<std::string> instructions;
  for (const absl::string_view one : SplitOutsideBrackets(InBraces(text), ';')) {
    instructions.emplace_back(one);
  }
  Place place;
  place.gpu = gpu;
  place.cta = next_cta_++;
  place.cluster = place.cta;
  const absl::Status added = AddThread(process, place, instructions);
  if (!added.ok()) return added;
  const int index = static_cast<int>(program_.threads.size()) - 1;
  int of_process = 0;
  for (int i = 0; i < index; ++i) of_process += program_.threads[i].process == process ? 1 : 0;
  Thread& thread = program_.threads.back();
  thread.kind = Thread::kLaunch;
  thread.name = absl::StrCat("P", process, ".", of_process);
  return index;
}

void ProgramBuilder::Queue(int index, bool programmatic, Stream* stream) {
  Thread& thread = program_.threads[index];
  if (programmatic) {
    // It starts as soon as the primary allows it, and what the primary waited for is done then.
    thread.after = program_.threads[stream->primary].after;
    thread.after_start = program_.threads[stream->primary].after_start;
    thread.after_trigger.push_back(stream->primary);
  } else {
    for (const int task : stream->tail) AddOnce(task, &thread.after);
    stream->tail.clear();
  }
  for (const int process : stream->started_processes) late_starts_.push_back({index, process});
  thread.host_waits = stream->host_waits;
  stream->host_waits = false;
  stream->tail.push_back(index);
}

absl::Status ProgramBuilder::AddLaunch(absl::string_view text, int process, int gpu,
                                       Stream* stream) {
  const absl::string_view head = text.substr(0, std::min(text.find('{'), text.size()));
  const bool programmatic = absl::StrContains(head, "programmatic");
  if (programmatic && stream->primary < 0) {
    return absl::InvalidArgumentError("a programmatic launch needs a launch before it");
  }
  const absl::StatusOr<int> task = MakeTask(text, process, gpu);
  if (!task.ok()) return task.status();
  Queue(*task, programmatic, stream);
  stream->primary = *task;
  return absl::OkStatus();
}

absl::Status ProgramBuilder::AddCopy(absl::string_view text, bool fill, int process, int gpu,
                                     Stream* stream) {
  const size_t arrow = text.find("<-");
  if (arrow == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(text, ": there is no <-"));
  }
  const absl::string_view target = absl::StripAsciiWhitespace(text.substr(0, arrow));
  const absl::string_view source = absl::StripAsciiWhitespace(text.substr(arrow + 2));
  const bool constant = !source.empty() && absl::ascii_isdigit(source[0]);
  if (fill && !constant) {
    return absl::InvalidArgumentError(absl::StrCat("memset needs a number, not ", source));
  }
  const absl::StatusOr<int> task = MakeTask(
      constant ? absl::StrCat("{st.weak ", target, ", ", source, "}")
               : absl::StrCat("{ld.weak copied, ", source, "; st.weak ", target, ", copied}"),
      process, gpu);
  if (!task.ok()) return task.status();
  program_.threads[*task].kind = fill ? Thread::kFill : Thread::kCopy;
  Queue(*task, false, stream);
  return absl::OkStatus();
}

// graph{n1: launch{...}; n2: memcpy a <- b; n1->n2}
absl::Status ProgramBuilder::AddGraph(absl::string_view text, int process, int gpu,
                                      Stream* stream) {
  std::map<std::string, int, std::less<>> nodes;
  std::vector<std::pair<int, int>> edges;
  for (const absl::string_view part : SplitOutsideBrackets(InBraces(text), ';')) {
    const size_t colon = part.find(':');
    const bool is_node =
        colon != absl::string_view::npos && colon < part.find("{") && colon < part.find("->");
    if (is_node) {
      const std::string name(absl::StripAsciiWhitespace(part.substr(0, colon)));
      if (absl::StartsWith(absl::StripAsciiWhitespace(part.substr(colon + 1)), "graph")) {
        return absl::InvalidArgumentError(absl::StrCat("the node ", name, " is a graph itself"));
      }
      Stream alone;
      const absl::Status added =
          AddTask(absl::StripAsciiWhitespace(part.substr(colon + 1)), process, gpu, &alone);
      if (!added.ok()) return added;
      if (alone.tail.size() != 1) {
        return absl::InvalidArgumentError(absl::StrCat("the node ", name, " is no task"));
      }
      if (!nodes.emplace(name, alone.tail[0]).second) {
        return absl::InvalidArgumentError(absl::StrCat("the node ", name, " is there twice"));
      }
      program_.threads[alone.tail[0]].name = absl::StrCat("P", process, ".", name);
      continue;
    }
    int before = -1;
    absl::string_view rest = part;
    while (true) {
      const size_t arrow = rest.find("->");
      const auto found = nodes.find(absl::StripAsciiWhitespace(rest.substr(0, arrow)));
      if (found == nodes.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", part, "\" is not an edge between nodes"));
      }
      if (before >= 0) edges.emplace_back(before, found->second);
      before = found->second;
      if (arrow == absl::string_view::npos) break;
      rest.remove_prefix(arrow + 2);
    }
  }
  std::vector<int> all;
  for (const auto& [name, node] : nodes) {
    Thread& thread = program_.threads[node];
    for (const int task : stream->tail) AddOnce(task, &thread.after);
    for (const int process_id : stream->started_processes) {
      late_starts_.push_back({node, process_id});
    }
    all.push_back(node);
  }
  for (const auto& [from, to] : edges) AddOnce(from, &program_.threads[to].after);
  stream->tail = std::move(all);
  stream->primary = -1;
  return absl::OkStatus();
}

absl::Status ProgramBuilder::AddTask(absl::string_view text, int process, int gpu, Stream* stream) {
  absl::string_view rest = text;
  if (absl::StartsWith(text, "launch")) return AddLaunch(text, process, gpu, stream);
  if (absl::StartsWith(text, "graph")) return AddGraph(text, process, gpu, stream);
  if (absl::ConsumePrefix(&rest, "memcpy ") || absl::ConsumePrefix(&rest, "memcpyAsync ")) {
    return AddCopy(rest, false, process, gpu, stream);
  }
  if (absl::ConsumePrefix(&rest, "memset ") || absl::ConsumePrefix(&rest, "memsetAsync ")) {
    return AddCopy(rest, true, process, gpu, stream);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown task \"", text, "\"; ", kKnownTasks));
}

absl::Status ProgramBuilder::AddTaskOrWait(absl::string_view text, int process, int gpu,
                                           int stream_id, Stream* stream) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "event.record ")) {
    events_[std::string(absl::StripAsciiWhitespace(rest))] = {stream->tail, stream->waits};
    return absl::OkStatus();
  }
  if (absl::ConsumePrefix(&rest, "stream.wait ") ||
      absl::ConsumePrefix(&rest, "event.synchronize ")) {
    stream->waits.emplace_back(absl::StripAsciiWhitespace(rest));
    return absl::OkStatus();
  }
  if (text == "stream.synchronize") {
    stream->host_waits = true;
    return absl::OkStatus();
  }
  if (absl::ConsumePrefix(&rest, "wait until ")) {
    int other = 0;
    if (!absl::ConsumePrefix(&rest, "P") || !absl::ConsumeSuffix(&rest, " running") ||
        !absl::SimpleAtoi(rest, &other)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text, "\": expected wait until Pk running"));
    }
    stream->started_processes.push_back(other);
    return absl::OkStatus();
  }
  const size_t first = program_.threads.size();
  const absl::Status added = AddTask(text, process, gpu, stream);
  for (size_t i = first; added.ok() && i < program_.threads.size(); ++i) {
    program_.threads[i].stream = stream_id;
    for (const std::string& event : stream->waits) {
      late_waits_.push_back({static_cast<int>(i), event});
    }
  }
  return added;
}

absl::Status ProgramBuilder::AddStream(int process, int stream_id, int gpu,
                                       const std::vector<std::string>& tasks) {
  Stream& stream = streams_[stream_id];
  stream.started_processes.clear();
  for (const std::string& line : tasks) {
    for (const absl::string_view text : SplitOutsideBrackets(line, ';')) {
      const absl::Status added = AddTaskOrWait(text, process, gpu, stream_id, &stream);
      if (!added.ok()) {
        return absl::Status(added.code(), absl::StrCat("P", process, ": ", added.message()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace twinmmu::coherence
