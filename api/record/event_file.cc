#include "api/record/event_file.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace twinmmu::record {

EventFile::EventFile(const std::string& path) : file_(path) {
  FileHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.size = sizeof(header);
  file_.stream().write(reinterpret_cast<const char*>(&header), sizeof(header));
}

void EventFile::Write() {
  file_.stream().write(reinterpret_cast<const char*>(entry_.words),
                       static_cast<std::streamsize>(entry_.size * sizeof(uint64_t)));
}

void EventFile::AddProcess(const ProcessInfo& process) {
  const uint64_t who = uint64_t{process.id} << 32 | process.parent;
  EncodeEntry(EntryType::kProcess, &who, 1, process.program, &entry_);
  Write();
}

uint64_t EventFile::FrameId(const Frame& frame) {
  const auto line = [](const std::string& text) {
    return absl::StrReplaceAll(text, {{"\n", " "}});
  };
  const std::string text =
      absl::StrCat(frame.line, "\n", line(frame.file), "\n", line(frame.function));
  const auto [found, is_new] = frames_.emplace(text, frames_.size() + 1);
  if (is_new) {
    EncodeEntry(EntryType::kFrame, &found->second, 1, text, &entry_);
    Write();
  }
  return found->second;
}

uint32_t EventFile::StackId(const Stack& stack) {
  if (stack.empty()) return 0;
  const auto known = stacks_.find(&stack);
  if (known != stacks_.end()) return known->second;
  std::vector<uint64_t> words = {stacks_.size() + 1};
  for (size_t i = 0; i < std::min(stack.size(), kMaxDepth); ++i) words.push_back(FrameId(stack[i]));
  EncodeEntry(EntryType::kStack, words.data(), words.size(), "", &entry_);
  Write();
  return stacks_[&stack] = static_cast<uint32_t>(words[0]);
}

void EventFile::Add(const Event& event, const Stack& stack) {
  Event added = event;
  added.stack = StackId(stack);
  EncodeEvent(added, &entry_);
  Write();
}

absl::Status EventFile::Finish(uint64_t lost) {
  EncodeEntry(EntryType::kEnd, &lost, 1, "", &entry_);
  Write();
  return file_.Finish();
}

}  // namespace twinmmu::record
