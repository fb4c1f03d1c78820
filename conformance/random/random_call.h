// Call: one call of a random sequence, as a value.
//
// Its operands are symbolic: addresses are offsets into the reservation of a slot, handles and
// descriptors stand in slots, and a call that makes one puts it into a slot. So a sequence keeps
// its meaning when calls are taken out of it, and where addresses and handles are others. An empty
// slot stands for 0.

#ifndef TWINMMU_CONFORMANCE_RANDOM_RANDOM_CALL_H_
#define TWINMMU_CONFORMANCE_RANDOM_RANDOM_CALL_H_

#include <array>
#include <cstdint>
#include <vector>

#include "api/executor.h"
#include "api/vmm.h"

namespace twinmmu::conformance::random {

// Those from kCopyHostToDevice on are calls of Executor. Not DriverCall: a descriptor is closed
// without the driver, and with or without a stream is one kind.
enum class CallKind {
  kAddressReserve,
  kAddressFree,
  kGetGranularity,
  kCreate,
  kRelease,
  kRetain,
  kGetProperties,
  kGetMemoryInfo,
  kCanAccessPeer,
  kMap,
  kUnmap,
  kSetAccess,
  kGetAccess,
  kExport,
  kCloseDescriptor,
  kImport,
  kGetPointerAttribute,
  kGetAddressRange,
  kCopyHostToDevice,
  kCopyDeviceToHost,
  kCopyDeviceToDevice,
  kFill,
};

inline bool IsTransfer(CallKind kind) { return kind >= CallKind::kCopyHostToDevice; }

// Results that later calls refer to.
struct Slots {
  static constexpr int kReservations = 6;
  static constexpr int kHandles = 8;
  static constexpr int kShareables = 4;
  static constexpr int kScratchHandle = kHandles;  // for the checker's own questions

  std::array<AddressRange, kReservations> reservations;
  std::array<AllocationHandle, kHandles + 1> handles;
  std::array<ShareableHandle, kShareables> shareables;
};

// granules * granularity + bytes, modulo 2^64; for sizes near all of a device's memory, also
// eighths of that.
struct Amount {
  int64_t granules = 0;
  uint64_t bytes = 0;
  int eighths = 0;

  friend bool operator==(const Amount& a, const Amount& b) {
    return a.granules == b.granules && a.bytes == b.bytes && a.eighths == b.eighths;
  }
};

inline constexpr int kNoSlot = -1;

// An address of the reservation in a slot, or with kNoSlot a number.
struct Place {
  int slot = kNoSlot;
  Amount offset;
};

// The handle in a slot, or with kNoSlot one that was invented.
struct HandleOperand {
  int slot = kNoSlot;
  uint64_t invented = 0;
};

// The stream of a copy or fill: none, the device's default stream, or one that was never made.
enum class StreamOperand { kNone, kDefault, kInvented };
inline constexpr uint64_t kInventedStream = 0x77777777;

// Which operands count depends on the kind; the others keep their defaults.
struct Call {
  CallKind kind = CallKind::kGetMemoryInfo;
  int result = 0;  // the slot that takes the result
  Place address;   // base of a range, hint, destination, what is asked about
  Place source;    // of copies
  Amount size;
  Amount offset;  // Map; AddressReserve: the alignment
  HandleOperand handle;
  uint64_t flags = 0;
  AllocationProperties properties;
  Granularity granularity = Granularity::kMinimum;
  std::vector<AccessGrant> grants;
  Location location;
  DeviceOrdinal device;
  DeviceOrdinal peer;
  HandleType handle_type = HandleType::kPosixFileDescriptor;
  int shareable = kNoSlot;  // the slot; with kNoSlot `descriptor` is imported
  int descriptor = 0;
  PointerAttribute attribute = PointerAttribute::kMapped;
  FillPattern pattern;  // CopyHostToDevice: the first byte; each following one is one more
  uint64_t count = 0;   // Fill
  StreamOperand stream = StreamOperand::kNone;
};

}  // namespace twinmmu::conformance::random

#endif  // TWINMMU_CONFORMANCE_RANDOM_RANDOM_CALL_H_
