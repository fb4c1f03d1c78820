// Executor: work on device memory: copies, fills, streams, events and kernels.
//
// Each call works in the primary context of the device it names, which an implementation retains
// when first needed; the caller's current context does not change.
//
// Order. Work on one stream runs in the order of the calls. Calls without a stream run on the
// device's default stream, and return when their host memory is no longer needed. As with the
// driver's own calls, a fill or a copy within the device may still be running then, and a copy from
// the host may not be complete: synchronise before you unmap its memory or reduce its access. Later
// work on the default stream waits for it; another device needs a synchronisation or an event. Host
// memory passed to a call with a stream must stay valid until that work is done, and is read or
// written at any time until then. [STREAM-*]
//
// Access. Every byte accessed must be mapped, and access granted to the device that does the work.
// If the driver can see at the call that it is not, the call is InvalidArgument and nothing runs.
// An access that only the device can refuse faults: DataLoss (ILLEGAL_ADDRESS) at the next
// synchronisation, and the same code from every later call in a context of any device, until the
// process ends. Queued work keeps nothing mapped: it faults if its memory is unmapped, or its
// access reduced, before it has run. [DATA-*, FAULT-*, PEER-10]
//
// Errors, and state after an error: as in api/vmm.h. Thread safety: as in api/vmm.h.

#ifndef TWINMMU_API_EXECUTOR_H_
#define TWINMMU_API_EXECUTOR_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu {

// A stream of a device. value() is the driver's CUstream, so a stream made elsewhere in the primary
// context can be wrapped. 0 and 1 (CU_STREAM_LEGACY) are the default stream of the device; 2
// (CU_STREAM_PER_THREAD) is that of the calling thread, whose work is ordered with it.
class Stream {
 public:
  constexpr Stream() = default;
  constexpr explicit Stream(DeviceOrdinal device, uint64_t value = 0)
      : device_(device), value_(value) {}

  constexpr DeviceOrdinal device() const { return device_; }
  constexpr uint64_t value() const { return value_; }

  friend constexpr bool operator==(Stream a, Stream b) {
    return a.device_ == b.device_ && a.value_ == b.value_;
  }
  friend constexpr bool operator!=(Stream a, Stream b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, Stream s) {
    return H::combine(std::move(h), s.device_, s.value_);
  }

 private:
  DeviceOrdinal device_;
  uint64_t value_ = 0;
};

// An event, module or kernel of a device; value() is the driver's CUevent, CUmodule or CUfunction.
// Tag only distinguishes the types.
template <typename Tag>
class DeviceObject {
 public:
  constexpr DeviceObject() = default;
  constexpr DeviceObject(DeviceOrdinal device, uint64_t value) : device_(device), value_(value) {}

  constexpr DeviceOrdinal device() const { return device_; }
  constexpr uint64_t value() const { return value_; }

  friend constexpr bool operator==(DeviceObject a, DeviceObject b) {
    return a.device_ == b.device_ && a.value_ == b.value_;
  }
  friend constexpr bool operator!=(DeviceObject a, DeviceObject b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, DeviceObject o) {
    return H::combine(std::move(h), o.device_, o.value_);
  }

 private:
  DeviceOrdinal device_;
  uint64_t value_ = 0;
};
using Event = DeviceObject<struct EventTag>;
using Module = DeviceObject<struct ModuleTag>;
using Kernel = DeviceObject<struct KernelTag>;

struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
};

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  uint32_t dynamic_shared_bytes = 0;
  // The kernel may start before the previous kernel on the stream has ended: once all its blocks
  // have executed griddepcontrol.launch_dependents or exited. What it wrote is guaranteed to be
  // visible after griddepcontrol.wait. (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
  bool programmatic_stream_serialization = false;
};

// Fills `count` elements of `width` bytes (1, 2 or 4) with the low bytes of `value`.
struct FillPattern {
  uint32_t value = 0;
  Bytes width = Bytes(1);
};

class Executor {
 public:
  virtual ~Executor() = default;

  // --- Copies and fills ------------------------------------------------------------------------
  // Those with a Stream are asynchronous and run on the stream's device; for the others see "Order"
  // above. A size of 0 does nothing. If the two ranges of a copy overlap, the content of the
  // destination is undefined.
  // InvalidArgument: a range that is not wholly mapped and accessible, a fill whose width is not 1,
  // 2 or 4, or whose address is not a multiple of its width. NotFound (INVALID_DEVICE): no such
  // device.

  virtual absl::Status CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination,
                                        const void* source, Bytes size) = 0;
  virtual absl::Status CopyDeviceToHost(DeviceOrdinal device, void* destination,
                                        DeviceAddress source, Bytes size) = 0;
  virtual absl::Status CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                          DeviceAddress source, Bytes size) = 0;
  virtual absl::Status Fill(DeviceOrdinal device, DeviceAddress destination,
                            const FillPattern& pattern, uint64_t count) = 0;

  virtual absl::Status CopyHostToDevice(Stream stream, DeviceAddress destination,
                                        const void* source, Bytes size) = 0;
  virtual absl::Status CopyDeviceToHost(Stream stream, void* destination, DeviceAddress source,
                                        Bytes size) = 0;
  virtual absl::Status CopyDeviceToDevice(Stream stream, DeviceAddress destination,
                                          DeviceAddress source, Bytes size) = 0;
  virtual absl::Status Fill(Stream stream, DeviceAddress destination, const FillPattern& pattern,
                            uint64_t count) = 0;

  // --- Streams and events ----------------------------------------------------------------------
  // A new stream and the default stream do not wait for each other. Destroying a stream lets its
  // work finish. Undefined: an object that was destroyed.

  virtual absl::StatusOr<Stream> CreateStream(DeviceOrdinal device) = 0;
  virtual absl::Status DestroyStream(Stream stream) = 0;
  // True when all work of the stream is done. Never waits; repeated calls eventually return true.
  virtual absl::StatusOr<bool> QueryStream(Stream stream) = 0;
  virtual absl::Status SynchronizeStream(Stream stream) = 0;

  virtual absl::StatusOr<Event> CreateEvent(DeviceOrdinal device) = 0;
  virtual absl::Status DestroyEvent(Event event) = 0;
  // The event now stands for the work of `stream` up to here. Both must be of the same device. Work
  // that waits for an earlier record still waits for that record.
  virtual absl::Status RecordEvent(Event event, Stream stream) = 0;
  // Later work on `stream` waits for what the event stands for; the host does not. The event may be
  // of another device.
  virtual absl::Status WaitEvent(Stream stream, Event event) = 0;
  // True when what the event stands for is done; an event never recorded is done. Never waits.
  virtual absl::StatusOr<bool> QueryEvent(Event event) = 0;
  virtual absl::Status SynchronizeEvent(Event event) = 0;

  // Waits for all work in the primary context of the device.
  virtual absl::Status SynchronizeDevice(DeviceOrdinal device) = 0;

  // --- Kernels ---------------------------------------------------------------------------------

  // Loads PTX text. InvalidArgument (INVALID_PTX, INVALID_IMAGE): it does not compile; the message
  // includes the compiler's. Unimplemented: the text is for a newer driver, or declares something
  // that this implementation lacks, which the message names.
  virtual absl::StatusOr<Module> LoadModule(DeviceOrdinal device, absl::string_view ptx) = 0;
  virtual absl::Status UnloadModule(Module module) = 0;
  // A kernel of a module, valid until the module is unloaded. NotFound (NOT_FOUND): no such name.
  virtual absl::StatusOr<Kernel> GetKernel(Module module, absl::string_view name) = 0;
  // Launches asynchronously. `arguments` points to each argument in order; they are copied before
  // the call returns. InvalidArgument: a grid or block that is empty or too large. Unimplemented:
  // the kernel has, or may call, an instruction that this implementation lacks, which the message
  // names.
  virtual absl::Status Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                              absl::Span<const void* const> arguments) = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_EXECUTOR_H_
