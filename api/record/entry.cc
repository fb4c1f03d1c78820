#include "api/record/entry.h"

#include <algorithm>
#include <cstring>

namespace twinmmu::record {
namespace {

// Zeros behind it up to a whole word.
void AppendText(std::string_view text, char** at) {
  *at = std::copy(text.begin(), text.end(), *at);
}

size_t WordsOf(size_t bytes) { return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t); }

uint64_t Pair(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

void WriteHead(uint8_t type, uint8_t flags, uint32_t fields, EntryBuffer* entry) {
  const EntryHead head{static_cast<uint16_t>(entry->size), type, flags, fields};
  std::memcpy(entry->words, &head, sizeof(head));
}

}  // namespace

void EncodeEvent(const Event& event, EntryBuffer* entry) {
  uint32_t fields = 0;
  entry->size = 1;
  const auto add = [&](Field field, uint64_t value) {
    if (value == 0) return;
    fields |= field;
    entry->words[entry->size++] = value;
  };
  add(kTime, event.time_ns);
  add(kDuration, event.duration_ns);
  add(kWho, Pair(event.process, event.thread));
  add(kStream, event.stream);
  add(kAddress, event.address);
  add(kBytes, event.bytes);
  add(kFrom, event.from);
  add(kAllocation, event.allocation);
  add(kOffset, event.offset);
  add(kShared, event.shared);
  // The host is 0 here, and the device 0 is 1.
  add(kWhere, Pair(static_cast<uint32_t>(event.device - kHost), event.stack));
  const std::string_view text = event.text.substr(0, kMaxText);
  const std::string_view code = event.code.substr(0, kMaxText);
  if (!text.empty() || !code.empty()) {
    add(kTexts, Pair(static_cast<uint32_t>(text.size()), static_cast<uint32_t>(code.size())));
    const size_t words = WordsOf(text.size() + code.size());
    entry->words[entry->size + words - 1] = 0;
    char* at = reinterpret_cast<char*>(entry->words + entry->size);
    AppendText(text, &at);
    AppendText(code, &at);
    entry->size += words;
  }
  const auto flags = static_cast<uint8_t>(event.access | static_cast<uint8_t>(event.severity) << 4);
  WriteHead(static_cast<uint8_t>(event.kind), flags, fields, entry);
}

void EncodeEntry(EntryType type, const uint64_t* words, size_t count, std::string_view text,
                 EntryBuffer* entry) {
  text = text.substr(0, kMaxText);
  const size_t of_text = WordsOf(text.size());
  std::copy(words, words + count, entry->words + 1);
  entry->size = 1 + count + of_text;
  if (of_text != 0) entry->words[entry->size - 1] = 0;
  char* at = reinterpret_cast<char*>(entry->words + 1 + count);
  AppendText(text, &at);
  WriteHead(static_cast<uint8_t>(type), 0, static_cast<uint32_t>(text.size()), entry);
}

}  // namespace twinmmu::record
