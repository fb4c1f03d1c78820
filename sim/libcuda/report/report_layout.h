// Where things stand in the memory of a report, which one process writes and another one reads.
//
// The writer may be killed between any two instructions. So each thing has one word that makes it
// valid, which is written last and taken back first: a reader sees the thing whole, or not at all.

#ifndef TWINMMU_SIM_LIBCUDA_REPORT_REPORT_LAYOUT_H_
#define TWINMMU_SIM_LIBCUDA_REPORT_REPORT_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace twinmmu::libcuda {

inline constexpr uint64_t kReportMagic = 0x3175'6d6d'6e69'7774;  // "twinmmu1"

// Memory is asked of the host in chunks, each before its first use: so a host that has no more
// shows as a chunk that is refused, and not as a signal.
inline constexpr int kChunkShift = 18;
inline constexpr uint64_t kChunk = uint64_t{1} << kChunkShift;
enum class ChunkState : uint8_t { kUntouched, kReady, kRefused };

inline constexpr uint64_t kRows = 256;  // of threads; the last one is for all further threads
inline constexpr uint64_t kLogSize = uint64_t{64} << 20;
inline constexpr uint64_t kObjects = uint64_t{1} << 22;
inline constexpr uint64_t kAllocations = uint64_t{1} << 23;
inline constexpr uint64_t kMaxKinds = 256;  // of diagnostics

// A span of addresses that is cut into units; what begins in a unit has its slot there.
struct UnitGrid {
  uint64_t units = 0;
  int shift = 0;  // of the size of a unit
};

struct ReportShape {
  uint64_t calls = 0;  // functions that are counted
  UnitGrid reservations;
  UnitGrid mappings;
};

struct ReportHeader {
  std::atomic<uint64_t> magic;  // once the rest is written
  ReportShape shape;
  int64_t pid;
  int64_t parent;
  std::atomic<uint64_t> window;        // the first device address; 0: not known yet
  std::atomic<uint64_t> finished;      // 1: the process ended by itself
  std::atomic<uint64_t> objects;       // slots that were ever used
  std::atomic<uint64_t> lost_objects;  // for which there was no room
  std::atomic<uint64_t> lost_records;
  std::atomic<uint64_t> injected;                // failures, whether kept or not
  std::atomic<uint64_t> asked;                   // for what is not there, whether kept or not
  std::atomic<uint64_t> diagnostics[kMaxKinds];  // noticed, by kind, whether kept or not
};

// A place in a program, as one number: the return address of a call and, above it, which function
// of our CUDA runtime is called there, if any. One wrapper may call many of them from one address.
inline constexpr int kAddressBits = 48;
inline uint64_t AddressOf(uint64_t place) { return place & ((uint64_t{1} << kAddressBits) - 1); }

// What one thread does. The counts of all functions follow.
struct ThreadRow {
  std::atomic<int64_t> thread;  // its number in the system; 0: nobody's
  std::atomic<uint64_t> call;   // that is running, plus 1; 0: none
  std::atomic<uint64_t> from;   // the place of that call
  uint64_t unused[5];
};
struct CallCount {
  std::atomic<uint64_t> calls;
  std::atomic<uint64_t> failures;
};

// The log is records, one behind the other.
enum class RecordType : uint32_t {
  kNone,        // not written yet
  kProgram,     // its path
  kCalls,       // the names of all functions, a line each
  kWarning,     // in words
  kDiagnostic,  // in words; 0; as JSON; 0; places of calls before
  kInjected,    // a failure: the rule
  kSite,        // module; offset in it, in hexadecimal; symbol; a line each
  kAsked,       // for a function that is not there: its name
};
struct Record {
  std::atomic<uint32_t> size;  // of all of it; 0: the log ends here
  std::atomic<RecordType> type;
  uint32_t length;  // of the text
  uint32_t site;    // where it was; of a kSite, the number that it explains. 0: nowhere
  uint32_t call;    // plus 1; 0: none
  uint32_t detail;  // of a diagnostic: its kind << 8 | severity; of a failure: the code; of a
                    // kAsked: 1 if a later version has the function
  uint64_t number;  // of a failure: of the call among those of its function, from 1; of a kSite:
                    // the place; of a kAsked: the version
};

// A reservation or a mapping.
struct UnitSlot {
  std::atomic<uint64_t> state;   // units << 32 | site << 16 | serial number; 0: nothing begins here
  std::atomic<uint64_t> detail;  // of a mapping, its handle
};

// An allocation; its handle's index is the place.
enum class AllocationKind : uint32_t { kMemory, kMulticastObject };
struct AllocationSlot {
  std::atomic<uint64_t> state;  // generation << 32 | references
  std::atomic<uint64_t> made;   // kind << 48 | call + 1 << 32 | site
  std::atomic<uint64_t> kept;   // call + 1 << 32 | site, of the last one that added a reference; 0:
                                // none did
  std::atomic<uint64_t> size;
};

// What else lives and has to be ended.
enum class ObjectKind : uint32_t {
  kMemory = 1,        // of cuMemAlloc and the like; its value is the address, as for the next two
  kHostMemory,        // pinned, by cuMemHostAlloc and the like
  kRegisteredMemory,  // the program's own, by cuMemHostRegister
  kStream,
  kEvent,
  kContext,     // made by cuCtxCreate
  kDescriptor,  // of exported memory; known to be open only where the process finished
  kArray,
  kMipmappedArray,
  kPool,
};
struct ObjectSlot {
  std::atomic<uint64_t> state;  // kind << 48 | call + 1 << 32 | site; 0: nothing
  std::atomic<uint64_t> value;
  std::atomic<uint64_t> size;
  std::atomic<int64_t> device;  // -1: of none
};

// Offsets into the memory.
class ReportLayout {
 public:
  ReportLayout() = default;
  explicit ReportLayout(const ReportShape& shape)
      : row_size_(RoundUp(sizeof(ThreadRow) + shape.calls * sizeof(CallCount), 64)),
        log_(kRowsBegin + RoundUp(kRows * row_size_, kChunk)),
        objects_(log_ + kLogSize),
        allocations_(objects_ + kObjects * sizeof(ObjectSlot)),
        reservations_(allocations_ + kAllocations * sizeof(AllocationSlot)),
        mappings_(reservations_ + RoundUp(shape.reservations.units * sizeof(UnitSlot), kChunk)),
        size_(mappings_ + RoundUp(shape.mappings.units * sizeof(UnitSlot), kChunk)) {}

  // The header stands at 0. The states of all chunks:
  static constexpr uint64_t chunks() { return kChunk; }
  uint64_t row(uint64_t index) const { return kRowsBegin + index * row_size_; }
  uint64_t log() const { return log_; }
  uint64_t object(uint64_t index) const { return objects_ + index * sizeof(ObjectSlot); }
  uint64_t allocation(uint64_t index) const {
    return allocations_ + index * sizeof(AllocationSlot);
  }
  uint64_t reservation(uint64_t unit) const { return reservations_ + unit * sizeof(UnitSlot); }
  uint64_t mapping(uint64_t unit) const { return mappings_ + unit * sizeof(UnitSlot); }
  uint64_t size() const { return size_; }
  // Whether all chunks have a state.
  bool fits() const { return size_ >> kChunkShift <= kChunk; }

 private:
  static constexpr uint64_t kRowsBegin = 2 * kChunk;
  static constexpr uint64_t RoundUp(uint64_t n, uint64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
  }

  uint64_t row_size_ = 0;
  uint64_t log_ = 0;
  uint64_t objects_ = 0;
  uint64_t allocations_ = 0;
  uint64_t reservations_ = 0;
  uint64_t mappings_ = 0;
  uint64_t size_ = 0;
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_REPORT_REPORT_LAYOUT_H_
