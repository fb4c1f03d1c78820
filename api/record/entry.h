// EncodeEntry, EncodeEvent: an entry of a file, word by word.

#ifndef TWINMMU_API_RECORD_ENTRY_H_
#define TWINMMU_API_RECORD_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/record/event.h"
#include "api/record/event_format.h"

namespace twinmmu::record {

// Room for any entry.
struct EntryBuffer {
  uint64_t words[kMaxWords];
  size_t size = 0;  // in words
};

// Of an event, with all its fields that are not usual.
void EncodeEvent(const Event& event, EntryBuffer* entry);
// Of another type: words, then a text, which may be empty.
void EncodeEntry(EntryType type, const uint64_t* words, size_t count, std::string_view text,
                 EntryBuffer* entry);

}  // namespace twinmmu::record

#endif  // TWINMMU_API_RECORD_ENTRY_H_
