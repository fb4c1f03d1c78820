// How events stand in a file: docs/reference/records.md says it in words.

#ifndef TWINMMU_API_RECORD_EVENT_FORMAT_H_
#define TWINMMU_API_RECORD_EVENT_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace twinmmu::record {

// A file is a header, and entries of whole words of 64 bits, little-endian. What was never written
// is zero: the file ends there.
inline constexpr char kMagic[8] = {'T', 'W', 'I', 'N', 'E', 'V', 'T', '\n'};
inline constexpr uint32_t kFormatVersion = 1;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t size;      // of this header
  uint64_t start_ns;  // by CLOCK_MONOTONIC, which all processes of a host share
  uint32_t process;   // 0: of several
  uint32_t parent;
};
static_assert(sizeof(FileHeader) == 32);

// What an entry is: an event of a kind, or one of these.
enum class EntryType : uint8_t {
  kPadding = 0xf0,  // nothing
  kPlace,           // id; lines: module, offset in it in hexadecimal
  kFrame,           // id; lines: line, file, function
  kStack,           // id; the ids of its places or frames, the innermost first
  kProcess,         // id << 32 | parent; text: the program
  kEnd,             // how many events were lost; the process, or the run, came to its end
};

// The first word of an entry. It is written last.
struct EntryHead {
  uint16_t words;  // of the whole entry
  uint8_t type;    // an EventKind or an EntryType
  uint8_t flags;   // of an event: access | severity << 4
  uint32_t fields;
};
static_assert(sizeof(EntryHead) == sizeof(uint64_t));

// The fields of an event that are there: a word each, in this order; then the texts.
enum Field : uint32_t {
  kTime = 1 << 0,
  kDuration = 1 << 1,
  kWho = 1 << 2,  // process << 32 | thread
  kStream = 1 << 3,
  kAddress = 1 << 4,
  kBytes = 1 << 5,
  kFrom = 1 << 6,
  kAllocation = 1 << 7,
  kOffset = 1 << 8,
  kShared = 1 << 9,
  kWhere = 1 << 10,  // device << 32 | stack
  kTexts = 1 << 11,  // length of `text` << 32 | length of `code`; their bytes follow
};
inline constexpr uint32_t kAllFields = (1 << 12) - 1;

inline constexpr size_t kMaxWords = 1 << 12;  // of an entry
inline constexpr size_t kMaxText = 8192;      // `text` and `code` each
inline constexpr size_t kMaxDepth = 64;       // of a stack

}  // namespace twinmmu::record

#endif  // TWINMMU_API_RECORD_EVENT_FORMAT_H_
