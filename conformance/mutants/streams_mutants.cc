// Mutants of streams, events and threads; and of what the CPU sees.

#include <sys/mman.h>

#include <mutex>
#include <optional>
#include <thread>

#include "conformance/mutants/mutant.h"

namespace twinmmu::conformance {

MUTANT(STREAM_1, QueryStream, "A stream is never done.") { return false; }
MUTANT(STREAM_1, Set, "A fill on a stream never ends.") {
  return work.stream.has_value() ? Ok() : Real::Set(work, destination, pattern, count);
}
MUTANT(STREAM_1, SynchronizeStream, "Synchronising is an error.") {
  return Refuse(DriverCode::kNotReady);
}
MUTANT(STREAM_2, QueryEvent, "An event is never done.") { return false; }
MUTANT(STREAM_2, WaitEvent, "A stream cannot wait for an event of another.") {
  return Refuse(DriverCode::kInvalidHandle);
}
MUTANT(STREAM_3, QueryEvent, "An event that was never recorded is not done.") { return false; }
MUTANT(STREAM_3, SynchronizeEvent, "Waiting for an event that was never recorded is an error.") {
  return Refuse(DriverCode::kInvalidHandle);
}
MUTANT(STREAM_3, WaitEvent, "A stream cannot wait for an event that was never recorded.") {
  return Refuse();
}
MUTANT(STREAM_4, CreateStream, "A device that does not exist is INVALID_VALUE.") {
  return Instead(Real::CreateStream(device), DriverCode::kInvalidValue);
}
MUTANT(STREAM_4, CreateEvent, "An event of a device that does not exist is the first one's.") {
  const auto event = Real::CreateEvent(device);
  return event.ok() ? event : Real::CreateEvent(DeviceOrdinal(0));
}
MUTANT(STREAM_4, SynchronizeDevice, "A device that does not exist has no work: done.") {
  Real::SynchronizeDevice(device).IgnoreError();
  return Ok();
}
MUTANT(STREAM_4, Read, "A copy on a device that does not exist is INVALID_VALUE.") {
  return Instead(Real::Read(work, destination, source, size), DriverCode::kInvalidValue);
}
MUTANT(STREAM_4, Set, "A fill on a device that does not exist is done by the first.") {
  const Work first{DeviceOrdinal(0), std::nullopt};
  return Real::Set(work.device.value() > 1 ? first : work, destination, pattern, count);
}

namespace {

// Knows the first thread that asks.
class OneThread : public Real {
 public:
  using Real::Real;

 protected:
  bool IsOwner() {
    const std::lock_guard lock(mutex_);
    if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
    return owner_ == std::this_thread::get_id();
  }

 private:
  std::mutex mutex_;
  std::thread::id owner_;
};

class MapsForOneThread : public OneThread {
 public:
  using OneThread::OneThread;
  CALL_Map() override {
    return IsOwner() ? Real::Map(range, handle, offset, flags)
                     : Refuse(DriverCode::kInvalidContext);
  }
};
MUTANT_CLASS(THREAD_1, MapsForOneThread, "Only the thread that mapped first may map.")

class ReadsForOneThread : public OneThread {
 public:
  using OneThread::OneThread;
  CALL_Read() override { return IsOwner() ? Real::Read(work, destination, source, size) : Ok(); }
};
MUTANT_CLASS(THREAD_1, ReadsForOneThread, "Only the thread that read first reads anything.")

}  // namespace

MUTANT(HOST_1, Write, "The CPU does not see what the device writes.") {
  const bool host = Real::GetPointerAttribute(work.device, PointerAttribute::kMemoryType,
                                              destination) == absl::StatusOr<uint64_t>(1);
  return host ? Ok() : Real::Write(work, destination, source, size);
}
MUTANT(HOST_1, Read, "The device does not see what the CPU writes.") {
  Scribble({source, size, Bytes(0)});
  return Real::Read(work, destination, source, size);
}
MUTANT(HOST_2, Map, "The CPU may touch host memory as soon as it is mapped.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  const AccessGrant grant{Location::HostNuma(0), Access::kReadWrite};
  Real::SetAccess(range, absl::MakeConstSpan(&grant, 1)).IgnoreError();
  return status;
}
MUTANT(HOST_2, SetAccess, "A right to read lets the CPU write as well.") {
  const AccessGrant grant{grants[0].location, Access::kReadWrite};
  return Real::SetAccess(range, absl::MakeConstSpan(&grant, 1));
}
MUTANT(HOST_3, SetAccess, "The CPU may touch device memory.") {
  const absl::Status status = Real::SetAccess(range, grants);
  // Where device addresses are but numbers, nothing of the program lies there.
  mprotect(reinterpret_cast<void*>(range.base.value()), Granule().value(), PROT_READ | PROT_WRITE);
  return status;
}

}  // namespace twinmmu::conformance
