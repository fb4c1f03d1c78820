#include "tools/views/flame_graph.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/views/event_words.h"

namespace twinmmu {
namespace {

bool IsPhysical(const LiveObject& object) {
  return (object.kind == LiveKind::kAllocation && !object.imported) ||
         (object.kind == LiveKind::kBlock && !object.mapped);
}

// The outermost first. A semicolon ends a frame, and a space is the last one of a line.
std::string Folded(const record::Stack& stack) {
  if (stack.empty()) return ";?";
  std::string text;
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
    absl::StrAppend(&text, ";",
                    absl::StrReplaceAll(InWords(*frame), {{";", ":"}, {"\n", " "}, {"\r", " "}}));
  }
  return text;
}

}  // namespace

// Before anything goes, and at the end: not at every step up.
void FlameGraph::NotePeak() {
  if (!rising_) return;
  for (const record::Stack* const stack : changed_) {
    const auto found = now_.find(stack);
    if (found == now_.end()) {
      peak_.erase(stack);
    } else {
      peak_[stack] = found->second;
    }
  }
  changed_.clear();
  rising_ = false;
}

void FlameGraph::Add(const record::Event& event, const record::Stack& stack) {
  const MemoryChange change = memory_.Apply(event, stack);
  const auto is_less = [](const LiveObject& object) { return IsPhysical(object); };
  if (std::any_of(change.ended.begin(), change.ended.end(), is_less)) NotePeak();
  for (const LiveObject& object : change.ended) {
    if (!IsPhysical(object)) continue;
    changed_.insert(object.stack);
    const auto found = now_.find(object.stack);
    if (found != now_.end() && (found->second -= object.bytes) == 0) now_.erase(found);
  }
  // Of mapped blocks there may be several.
  if (change.made.empty() || !IsPhysical(*change.made.front())) return;
  changed_.insert(change.made.front()->stack);
  now_[change.made.front()->stack] += change.made.front()->bytes;
  const uint64_t bytes = memory_.totals().physical();
  if (bytes <= peak_bytes_) return;
  peak_bytes_ = bytes;
  rising_ = true;
}

std::string FlameGraph::Finish() {
  NotePeak();
  std::map<std::string, uint64_t> lines;  // stacks may be the same in words
  for (const auto& [stack, bytes] : now_) lines["left" + Folded(*stack)] += bytes;
  for (const auto& [stack, bytes] : peak_) lines["peak" + Folded(*stack)] += bytes;
  std::string text;
  for (const auto& [line, bytes] : lines) {
    if (bytes != 0) absl::StrAppend(&text, line, " ", bytes, "\n");
  }
  return text;
}

}  // namespace twinmmu
