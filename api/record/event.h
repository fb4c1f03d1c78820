// What happens to memory in a run, event by event: what pictures, traces and reports are made from.

#ifndef TWINMMU_API_RECORD_EVENT_H_
#define TWINMMU_API_RECORD_EVENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinmmu::record {

// Each kind once: name, and the word that a record and its views use.
#define TWINMMU_EVENT_KINDS(X)                                                   \
  X(kReserve, "reserve") /* address, bytes */                                    \
  X(kAddressFree, "address-free")                                                \
  X(kCreate, "create")   /* allocation, bytes, device */                         \
  X(kRelease, "release") /* allocation: the last handle is gone */               \
  X(kMap, "map")         /* address, bytes, allocation, offset */                \
  X(kUnmap, "unmap")                                                             \
  X(kSetAccess, "set-access") /* address, bytes, device, access */               \
  X(kExport, "export")        /* allocation, shared */                           \
  X(kImport, "import")        /* allocation, shared */                           \
  X(kAllocate, "allocate")    /* linear memory: address, bytes, device */        \
  X(kFree, "free")                                                               \
  X(kPoolAllocate, "pool-allocate") /* address, bytes, stream, device */         \
  X(kPoolFree, "pool-free")                                                      \
  X(kLaunch, "launch")         /* text: the kernel; stream */                    \
  X(kCopy, "copy")             /* address: written; from: read; bytes, stream */ \
  X(kFill, "fill")             /* address, bytes, stream */                      \
  X(kFault, "fault")           /* address; text: what happened */                \
  X(kDiagnostic, "diagnostic") /* text: the words; code: which diagnostic */

enum class EventKind : uint8_t {
#define TWINMMU_EVENT_KIND(name, word) name,
  TWINMMU_EVENT_KINDS(TWINMMU_EVENT_KIND)
#undef TWINMMU_EVENT_KIND
};

enum class Severity : uint8_t { kNone, kNote, kWarning, kError };

inline constexpr int32_t kHost = -1;

// A field that a kind does not name is 0 (device: kHost).
struct Event {
  EventKind kind = EventKind::kReserve;
  Severity severity = Severity::kNone;  // Of a diagnostic or a fault; kError: the call failed.
  uint8_t access = 0;                   // 0 none, 1 read, 3 read and write.
  int32_t device = kHost;
  uint32_t process = 0;  // Its id.
  uint32_t thread = 0;   // Its id.
  uint64_t time_ns = 0;  // Since the run began; the same clock for all its processes.
  uint64_t duration_ns = 0;
  uint64_t stream = 0;  // Id of the stream; 0: the default stream, or none.
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t from = 0;
  uint64_t allocation = 0;  // Id of physical memory, unique in its process.
  uint64_t offset = 0;      // Of the mapping in its allocation, in bytes.
  uint64_t shared = 0;      // Id of shared memory, the same in exporter and importer.
  uint32_t stack = 0;       // Of the call: an id in its record; 0: not known.
  std::string_view text;    // Lives until the next event is read.
  std::string_view code;    // As text.
};

// One frame of a call stack, the innermost first.
struct Frame {
  std::string function;
  std::string file;  // Empty where not known.
  int line = 0;
};
using Stack = std::vector<Frame>;

// Takes the events of a run, in order of time, and makes one view of them.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // `stack` is that of `event.stack`, symbolised; it lives as long as the reader.
  virtual void Add(const Event& event, const Stack& stack) = 0;
};

std::string_view Word(EventKind kind);

}  // namespace twinmmu::record

#endif  // TWINMMU_API_RECORD_EVENT_H_
