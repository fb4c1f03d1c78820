// Mutants of streams, events, threads and processes; and of what the CPU sees.

#include <sys/mman.h>

#include <mutex>
#include <thread>
#include <utility>

#include "conformance/mutants/mutant_of.h"

namespace twinmmu::conformance {
namespace {

MUTANT(STREAM_1, QueryStream, "A stream is never done.") { return false; }
MUTANT_IF(STREAM_1, Set, "A fill on a stream never ends.", work.stream.has_value(), Ok())
MUTANT(STREAM_1, SynchronizeStream, "Synchronising is an error.") {
  return Refuse(DriverCode::kNotReady);
}
MUTANT(STREAM_13, Set, "A fill on a stream that was destroyed is done on the default stream.") {
  const absl::Status status = Real::Set(work, destination, pattern, count);
  if (status.ok() || !work.stream.has_value()) return status;
  return Real::Set(work.device, destination, pattern, count);
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
MUTANT_IF_REFUSED(STREAM_4, CreateStream, "A device that does not exist is INVALID_VALUE.",
                  Refuse())
MUTANT_IF_REFUSED(STREAM_4, CreateEvent,
                  "An event of a device that does not exist is the first one's.",
                  Real::CreateEvent(DeviceOrdinal(0)))
MUTANT_IF_REFUSED(STREAM_4, SynchronizeDevice, "A device that does not exist has no work: done.",
                  Ok())
MUTANT_IF_REFUSED(STREAM_4, Read, "A copy on a device that does not exist is INVALID_VALUE.",
                  Refuse())
MUTANT(STREAM_4, Set, "A fill on a device that does not exist is done by the first.") {
  const Work first = DeviceOrdinal(0);
  return Real::Set(work.device.value() > 1 ? first : work, destination, pattern, count);
}

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

MUTANT_OF(OneThread, THREAD_1, Map, "Only the thread that mapped first may map.") {
  return IsOwner() ? Real::Map(range, handle, offset, flags) : Refuse(DriverCode::kInvalidContext);
}

MUTANT_OF(OneThread, THREAD_1, Read, "Only the thread that read first reads anything.") {
  return IsOwner() ? Real::Read(work, destination, source, size) : Ok();
}

MUTANT_IF(HOST_1, Write, "The CPU does not see what the device writes.",
          Real::GetPointerAttribute(work.device, PointerAttribute::kMemoryType, destination) ==
              absl::StatusOr<uint64_t>(1),
          Ok())
MUTANT_BEFORE(HOST_1, Read, "The device does not see what the CPU writes.", true,
              Scribble({source, size, Bytes(0)}))
MUTANT(HOST_2, Map, "The CPU may touch host memory as soon as it is mapped.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  const AccessGrant grant{Location::HostNuma(0), Access::kReadWrite};
  Real::SetAccess(range, absl::MakeConstSpan(&grant, 1)).IgnoreError();
  return status;
}
MUTANT(HOST_2, SetAccess, "Read access lets the CPU write as well.") {
  const AccessGrant grant{grants[0].location, Access::kReadWrite};
  return Real::SetAccess(range, absl::MakeConstSpan(&grant, 1));
}
MUTANT(HOST_3, SetAccess, "The CPU may touch device memory.") {
  const absl::Status status = Real::SetAccess(range, grants);
  // Where device addresses are but numbers, nothing of the program lies there.
  mprotect(reinterpret_cast<void*>(range.base.value()), Granule().value(), PROT_READ | PROT_WRITE);
  return status;
}

MUTANT_IF(STREAM_5, Move, "A name of the default stream is not known.",
          work.stream.has_value() && work.stream->value() == 2, Refuse(DriverCode::kInvalidHandle))
MUTANT_IF(STREAM_5, Set, "Under one of its names the default stream does nothing.",
          work.stream.has_value() && work.stream->value() == 1, Ok())
MUTANT(STREAM_6, SynchronizeStream, "Synchronising one stream waits for all.") {
  return Real::SynchronizeDevice(stream.device());
}
MUTANT(STREAM_6, Set, "Whatever is given to the default stream waits for all streams.") {
  const bool by_default = work.stream.has_value() && work.stream->value() == 0;
  if (by_default) Real::SynchronizeDevice(work.device).IgnoreError();
  return Real::Set(work, destination, pattern, count);
}
MUTANT(STREAM_7, SynchronizeEvent, "Waiting for an event waits for all work.") {
  return Real::SynchronizeDevice(event.device());
}

class RecordsOnce : public Real {
 public:
  using Real::Real;
  CALL(RecordEvent) override {
    return std::exchange(recorded_, true) ? Ok() : Real::RecordEvent(event, stream);
  }

 private:
  bool recorded_ = false;
};
MUTANT_CLASS(STREAM_7, RecordsOnce, "An event that was recorded is not recorded again.")

class SaysYesOnce : public Real {
 public:
  using Real::Real;
  CALL(QueryEvent) override {
    const auto done = Real::QueryEvent(event);
    if (said_ && done.ok()) return false;
    said_ = done.ok() && *done;
    return done;
  }

 private:
  bool said_ = false;
};
MUTANT_CLASS(STREAM_11, SaysYesOnce, "An event that was done is not done when it is asked again.")

// Fills of a created stream are handed on when somebody waits.
class HandsOnLate : public WorksLate {
 public:
  using WorksLate::WorksLate;
  CALL(Set) override {
    const bool created = work.stream.has_value() && work.stream->value() != 0;
    if (!created) return Real::Set(work, destination, pattern, count);
    return Later([=] { return Real::Set(work, destination, pattern, count); });
  }
  CALL(DestroyStream) override {
    Drop();
    return Real::DestroyStream(stream);
  }
};
MUTANT_CLASS(STREAM_9, HandsOnLate, "What a stream has not done when it is destroyed is dropped.")

MUTANT(STREAM_2, WaitEvent, "A wait does nothing.") { return Ok(); }
MUTANT(STREAM_8, SynchronizeStream, "A wait is for all that the event's stream is given.") {
  return Real::SynchronizeDevice(stream.device());
}
MUTANT(STREAM_9, DestroyStream, "A stream with work is not destroyed.") {
  const auto done = Real::QueryStream(stream);
  return done.ok() && *done ? Real::DestroyStream(stream) : Refuse(DriverCode::kNotReady);
}
MUTANT(STREAM_10, SynchronizeDevice, "Synchronising a device waits for its default stream.") {
  return Real::SynchronizeStream(Stream(device));
}
MUTANT(STREAM_11, QueryStream, "A stream that is asked too early gives an error.") {
  const auto done = Real::QueryStream(stream);
  if (done.ok() && !*done) return Refuse(DriverCode::kNotReady);
  return done;
}
MUTANT_BEFORE(STREAM_12, Unmap, "An unmapping waits for queued work.", true,
              Real::SynchronizeDevice(DeviceOrdinal(0)).IgnoreError())
MUTANT_BEFORE(STREAM_12, AddressFree, "Freeing addresses waits for queued work.", true,
              Real::SynchronizeDevice(DeviceOrdinal(0)).IgnoreError())
MUTANT(STREAM_12, Release, "Released memory is taken from queued work.") {
  for (const AddressRange& mapping : MappingsOf(handle)) Remove(mapping);
  return Real::Release(handle);
}

// What one thread does reaches the other.
MUTANT_BEFORE(THREAD_2, Unmap, "Unmapping overwrites the neighbour.", true,
              Scribble({range.base - Bytes(1), Bytes(1), Bytes(0)}))
MUTANT_IF(THREAD_2, Read, "A thread beside another one reads nothing.", size == Bytes(4), Ok())
MUTANT_IF_REFUSED(THREAD_3, GetAccess, "A mapping that comes or goes is NOT_FOUND.",
                  Refuse(DriverCode::kNotFound))
MUTANT(THREAD_3, Unmap, "An unmapping is left to the next mapping.") {
  const auto mapping = MappingAt(range.base);
  const bool first = mapping.has_value() && *mapping != MappingsIn(kEverything).front();
  return first ? Ok() : Real::Unmap(range);
}
MUTANT(THREAD_4, GetAccess, "Access that was just changed reads as a mixture.") {
  const auto access = Real::GetAccess(location, address);
  if (access.ok() && *access == Access::kReadWrite) return static_cast<Access>(2);
  return access;
}
MUTANT_IF(THREAD_4, SetAccess, "Access that is changed often is not lowered.",
          AccessAt(range.base) == Access::kReadWrite, Ok())
MUTANT(THREAD_5, Map, "Both of two threads are told that they have mapped.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  return MappingAt(range.base) == range ? Ok() : status;
}
MUTANT(THREAD_5, Map, "Of two threads the second one wins, and both are told so.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  if (status.ok() || MappingAt(range.base) != range) return status;
  Remove(range);
  return Real::Map(range, handle, offset, flags);
}

// In a child made by fork.
MUTANT_IF_REFUSED(FORK_1, GetDeviceCount, "A forked child still counts the devices.", 2)
MUTANT_IF(FORK_1, AddressReserve, "A forked child has its arguments looked at.", size == Bytes(0),
          Refuse())
MUTANT_IF_REFUSED(FORK_1, Set, "A forked child fills memory in name.", Ok())
MUTANT_IF_REFUSED(FORK_1, Release, "A forked child may let go of what it inherited.", Ok())

}  // namespace
}  // namespace twinmmu::conformance
