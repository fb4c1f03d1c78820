// Mutants of copies and fills.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "conformance/mutants/mutant_of.h"

namespace twinmmu::conformance {
namespace {

// Calls `copy` with access that device 0 may lack, and then takes it back.
class IgnoresAccess : public Real {
 public:
  using Real::Real;

 protected:
  template <typename Copy>
  absl::Status WithAccess(DeviceAddress address, Copy copy) {
    const auto mapping = MappingAt(address);
    if (!mapping.has_value()) return copy();
    const Access access = AccessAt(address);
    Grant(*mapping, Access::kReadWrite);
    const absl::Status status = copy();
    Real::SynchronizeDevice(DeviceOrdinal(0)).IgnoreError();
    Grant(*mapping, access);
    return status;
  }
  // The bytes from `address` on that are mapped, as many as `size`.
  Bytes MappedSize(DeviceAddress address, Bytes size) {
    const auto mapping = MappingAt(address);
    return mapping.has_value() ? std::min(size, mapping->end() - address) : Bytes(0);
  }
};

NAMED_MUTANT_OF(WritesWithoutAccess, IgnoresAccess, DATA_4, Write,
                "A copy from the host needs no access.") {
  return WithAccess(destination, [&] { return Real::Write(work, destination, source, size); });
}
MUTANT_CLASS(DATA_5, WritesWithoutAccess, "A copy from the host writes to read-only memory.")
MUTANT_CLASS(DATA_19, WritesWithoutAccess, "The access of the host adds to that of the device.")

MUTANT_OF(IgnoresAccess, DATA_4, Read, "A copy to the host needs no access.") {
  return WithAccess(source, [&] { return Real::Read(work, destination, source, size); });
}

NAMED_MUTANT_OF(FillsWithoutAccess, IgnoresAccess, DATA_4, Set, "A fill needs no access.") {
  return WithAccess(destination, [&] { return Real::Set(work, destination, pattern, count); });
}
MUTANT_CLASS(DATA_5, FillsWithoutAccess, "A fill writes to read-only memory.")
MUTANT_CLASS(DATA_20, FillsWithoutAccess, "A fill goes by the access of the host.")

MUTANT_OF(IgnoresAccess, DATA_4, Move, "A copy on the device needs no access to its source.") {
  return WithAccess(source, [&] { return Real::Move(work, destination, source, size); });
}

NAMED_MUTANT_OF(MovesToWithoutAccess, IgnoresAccess, DATA_4, Move,
                "A copy on the device needs no access to its target.") {
  return WithAccess(destination, [&] { return Real::Move(work, destination, source, size); });
}
MUTANT_CLASS(DATA_5, MovesToWithoutAccess, "A copy on the device writes to read-only memory.")
MUTANT_CLASS(DATA_19, MovesToWithoutAccess,
             "On the device, the access of the host adds to its own.")

NAMED_MUTANT_OF(RefusesAndWrites, IgnoresAccess, DATA_5, Write,
                "A copy to read-only memory is refused, and done.") {
  const absl::Status status = Real::Write(work, destination, source, size);
  const Bytes part = MappedSize(destination, size);
  if (!status.ok() && part != Bytes(0)) {
    WithAccess(destination, [&] {
      return Real::Write(work, destination, source, part);
    }).IgnoreError();
  }
  return status;
}
MUTANT_CLASS(DATA_6, RefusesAndWrites, "A copy into a hole is refused, and done up to the hole.")
MUTANT_CLASS(DATA_7, RefusesAndWrites, "A copy over a gap is refused, and done up to the gap.")

NAMED_MUTANT_OF(RefusesAndFills, IgnoresAccess, DATA_5, Set,
                "A fill of read-only memory is refused, and done.") {
  const absl::Status status = Real::Set(work, destination, pattern, count);
  const uint64_t part = MappedSize(destination, Bytes(count)) / pattern.width;
  if (!status.ok() && part != 0 && destination.IsAligned(pattern.width)) {
    WithAccess(destination, [&] {
      return Real::Set(work, destination, pattern, part);
    }).IgnoreError();
  }
  return status;
}
MUTANT_CLASS(DATA_6, RefusesAndFills, "A fill into a hole is refused, and done up to the hole.")
MUTANT_CLASS(DATA_7, RefusesAndFills, "A fill over a gap is refused, and done up to the gap.")

NAMED_MUTANT_OF(RefusesAndReads, IgnoresAccess, DATA_4, Read,
                "A read without access is refused, and gives the data.") {
  const absl::Status status = Real::Read(work, destination, source, size);
  const Bytes part = MappedSize(source, size);
  if (!status.ok() && part != Bytes(0)) {
    WithAccess(source, [&] { return Real::Read(work, destination, source, part); }).IgnoreError();
  }
  return status;
}
MUTANT_CLASS(DATA_6, RefusesAndReads, "A read into a hole is refused, and gives what precedes it.")

NAMED_MUTANT_OF(RefusesAndMoves, IgnoresAccess, DATA_5, Move,
                "A copy on the device to read-only memory is refused, and done.") {
  const absl::Status status = Real::Move(work, destination, source, size);
  const Bytes part = std::min(MappedSize(destination, size), MappedSize(source, size));
  if (status.ok() || part == Bytes(0)) return status;
  WithAccess(destination, [&] {
    return WithAccess(source, [&] { return Real::Move(work, destination, source, part); });
  }).IgnoreError();
  return status;
}
MUTANT_CLASS(DATA_6, RefusesAndMoves, "A copy on the device into a hole is done up to the hole.")

// After one refusal nothing works any more.
class RefusesForGood : public Real {
 public:
  using Real::Real;
  CALL(Write) override { return Note(Real::Write(work, destination, source, size)); }
  CALL(Read) override { return Note(Real::Read(work, destination, source, size)); }
  CALL(Set) override { return Note(Real::Set(work, destination, pattern, count)); }
  CALL(SynchronizeDevice) override { return Note(Real::SynchronizeDevice(device)); }
  CALL(SynchronizeStream) override { return Note(Real::SynchronizeStream(stream)); }

 private:
  absl::Status Note(const absl::Status& status) {
    if (error_.ok()) error_ = status;
    return error_;
  }
  absl::Status error_;
};
MUTANT_CLASS(DATA_4, RefusesForGood, "A copy without access is refused, and the error is sticky.")
MUTANT_CLASS(DATA_8, RefusesForGood, "A copy where nothing is mapped is refused for good.")
MUTANT_CLASS(DATA_11, RefusesForGood,
             "A bad range on a stream is refused, and the error is sticky.")

MUTANT(DATA_1, Write, "A copy ends at the border of two mappings.") {
  const auto mapping = MappingAt(destination);
  const Bytes part = mapping.has_value() ? std::min(size, mapping->end() - destination) : size;
  return Real::Write(work, destination, source, part);
}
MUTANT(DATA_1, Read, "A read over the border of two mappings goes on at the first one's base.") {
  const absl::Status status = Real::Read(work, destination, source, size);
  const auto mapping = MappingAt(source);
  if (!status.ok() || !mapping.has_value() || source + size <= mapping->end()) return status;
  const Bytes part = mapping->end() - source;
  return Real::Read(work, static_cast<char*>(destination) + part.value(), mapping->base,
                    std::min(size - part, mapping->size));
}
MUTANT_IF(DATA_1, Write, "A copy over the border of two mappings is refused.",
          LeavesMapping(destination, size), Refuse())
MUTANT(DATA_2, Set, "A fill writes the lowest byte only, whatever the width.") {
  const FillPattern bytes{pattern.value, Bytes(1)};
  return Real::Set(work, destination, bytes, count * pattern.width.value());
}
MUTANT(DATA_2, Set, "A fill takes the count for bytes.") {
  return Real::Set(work, destination, pattern, count / pattern.width.value());
}
MUTANT(DATA_2, Set, "A fill of 2 bytes writes the high one first.") {
  FillPattern swapped = pattern;
  if (pattern.width == Bytes(2)) {
    swapped.value = (pattern.value >> 8 & 0xff) | (pattern.value & 0xff) << 8;
  }
  return Real::Set(work, destination, swapped, count);
}
MUTANT(DATA_2, Set, "A fill ends at the border of two mappings.") {
  const auto mapping = MappingAt(destination);
  if (!mapping.has_value()) return Real::Set(work, destination, pattern, count);
  const uint64_t room = (mapping->end() - destination) / pattern.width;
  return Real::Set(work, destination, pattern, std::min(count, room));
}
MUTANT_IF(DATA_2, Set, "A fill of 4 bytes is refused at an address that is not a multiple of 64.",
          pattern.width == Bytes(4) && !destination.IsAligned(Bytes(64)), Refuse())
MUTANT(DATA_3, Move, "A copy on the device does nothing.") { return Ok(); }
MUTANT(DATA_3, Move, "A copy on the device moves the first half.") {
  return Real::Move(work, destination, source, size / 2);
}
MUTANT(DATA_3, Move, "A copy on the device goes the other way.") {
  return Real::Move(work, source, destination, size);
}
MUTANT_IF(DATA_5, Read, "Read-only memory is not read.", AccessAt(source) == Access::kRead,
          Refuse())
MUTANT_IF(DATA_5, Move, "Read-only memory is not the source of a copy on the device.",
          AccessAt(source) == Access::kRead, Refuse())
MUTANT(DATA_6, Set, "A fill beyond 4 GiB is taken modulo that.") {
  return Real::Set(work, destination, pattern, count & 0xffffffffu);
}
MUTANT(DATA_6, Write, "A copy into a hole ends there and succeeds.") {
  const auto mapping = MappingAt(destination);
  const Bytes part = mapping.has_value() ? std::min(size, mapping->end() - destination) : size;
  return Real::Write(work, destination, source, part);
}
MUTANT(DATA_7, Write, "A range is accessible if its ends are.") {
  const bool ends = AccessAt(destination) == Access::kReadWrite &&
                    AccessAt(destination + size - Bytes(1)) == Access::kReadWrite;
  const absl::Status status = Real::Write(work, destination, source, size);
  return ends ? Ok() : status;
}
MUTANT(DATA_7, Read, "A range is readable if its ends are.") {
  const bool ends =
      AccessAt(source) != Access::kNone && AccessAt(source + size - Bytes(1)) != Access::kNone;
  const absl::Status status = Real::Read(work, destination, source, size);
  return ends ? Ok() : status;
}
MUTANT_IF(DATA_8, Write, "A copy to null succeeds.", destination == DeviceAddress(0), Ok())
MUTANT(DATA_8, Read, "A read of reserved addresses gives zeros.") {
  const absl::Status status = Real::Read(work, destination, source, size);
  if (status.ok() || !ReservationAt(source).has_value()) return status;
  std::memset(destination, 0, size.value());
  return Ok();
}
MUTANT_IF_REFUSED(DATA_8, Set, "A fill where nothing is mapped is ILLEGAL_ADDRESS.",
                  Refuse(DriverCode::kIllegalAddress))

// A translation that outlives its mapping.
class FillsWhatWasMapped : public Real {
 public:
  using Real::Real;
  CALL(Unmap) override {
    stale_ = range;
    return Real::Unmap(range);
  }
  CALL(Set) override {
    const absl::Status status = Real::Set(work, destination, pattern, count);
    return stale_.contains(destination) ? Ok() : status;
  }

 private:
  AddressRange stale_;
};
MUTANT_CLASS(DATA_8, FillsWhatWasMapped, "What was unmapped can still be filled.")

MUTANT_IF(DATA_9, Write, "Zero bytes to null are refused.", destination == DeviceAddress(0),
          Refuse())
MUTANT_IF(DATA_9, Set, "A fill of nothing where nothing is mapped is refused.",
          !IsMapped(destination), Refuse())
MUTANT(DATA_9, Read, "Zero bytes are read as a word.") {
  const bool none = size == Bytes(0) && IsMapped(source);
  return Real::Read(work, destination, source, none ? Bytes(4) : size);
}
MUTANT(DATA_10, Set, "A fill may be misaligned.") {
  std::vector<uint8_t> bytes(count * pattern.width.value());
  if (destination.IsAligned(pattern.width)) return Real::Set(work, destination, pattern, count);
  return Real::Write(work, destination, bytes.data(), Bytes(bytes.size()));
}
MUTANT(DATA_10, Set, "A fill is rounded down to what its element is aligned to.") {
  const uint64_t width = pattern.width.value();
  return Real::Set(work, DeviceAddress(destination.value() / width * width), pattern, count);
}
MUTANT(DATA_10, Set, "A misaligned fill is refused, and done.") {
  const uint64_t width = pattern.width.value();
  const absl::Status status = Real::Set(work, destination, pattern, count);
  Real::Set(work, DeviceAddress(destination.value() / width * width), pattern, count).IgnoreError();
  return status;
}
MUTANT_IF_REFUSED(DATA_10, Set, "A misaligned fill is MISALIGNED_ADDRESS.",
                  Refuse(DriverCode::kMisalignedAddress))

// What a stream refuses is reported when it is synchronised.
class RefusesAtSynchronise : public Real {
 public:
  using Real::Real;
  CALL(Write) override { return Later(work, Real::Write(work, destination, source, size)); }
  CALL(Read) override { return Later(work, Real::Read(work, destination, source, size)); }
  CALL(Move) override { return Later(work, Real::Move(work, destination, source, size)); }
  CALL(Set) override { return Later(work, Real::Set(work, destination, pattern, count)); }
  CALL(SynchronizeStream) override { return std::exchange(late_, Ok()); }

 private:
  absl::Status Later(const Work& work, const absl::Status& status) {
    if (!work.stream.has_value()) return status;
    late_.Update(status);
    return Ok();
  }
  absl::Status late_;
};
MUTANT_CLASS(DATA_11, RefusesAtSynchronise, "A stream refuses a bad range when it is synchronised.")

MUTANT_OF(IgnoresAccess, DATA_11, Set, "A fill on a stream needs no access.") {
  const auto fill = [&] { return Real::Set(work, destination, pattern, count); };
  return work.stream.has_value() ? WithAccess(destination, fill) : fill();
}

NAMED_MUTANT_OF(FillsLate, WorksLate, DATA_12, Set,
                "Fills on a stream run after the copies that were given later.") {
  if (!work.stream.has_value()) return Real::Set(work, destination, pattern, count);
  return Later([=] { return Real::Set(work, destination, pattern, count); });
}
MUTANT_CLASS(STREAM_2, FillsLate,
             "A stream does not see what another one has done before an event.")

MUTANT_IF(DATA_12, Move, "A copy on a stream does not wait for what precedes it: nothing is there.",
          work.stream.has_value(), Ok())
MUTANT(DATA_13, Write, "Offsets in a mapping have 32 bits.") {
  const auto mapping = MappingAt(destination);
  if (!mapping.has_value()) return Real::Write(work, destination, source, size);
  const uint64_t offset = (destination - mapping->base).value() & 0xffffffffu;
  return Real::Write(work, mapping->base + Bytes(offset), source, size);
}
MUTANT_IF(DATA_13, Create, "No allocation is larger than 4 GiB.", size > GiB(4),
          Refuse(DriverCode::kOutOfMemory))

MUTANT(DATA_14, Write, "A copy begins at a multiple of 4 bytes.") {
  const DeviceAddress aligned(destination.value() / 4 * 4);
  return Real::Write(work, aligned, source, size);
}
MUTANT(DATA_14, Move, "A copy on the device ends at the second border.") {
  const auto first = MappingAt(source);
  const auto second = first.has_value() ? MappingAt(first->end()) : first;
  if (!second.has_value()) return Real::Move(work, destination, source, size);
  return Real::Move(work, destination, source, std::min(size, second->end() - source));
}
MUTANT(DATA_15, Write, "Sizes are taken modulo 1 TiB.") {
  return Real::Write(work, destination, source, size % TiB(1));
}
MUTANT_IF_REFUSED(DATA_15, Read, "A size beyond the address space is UNKNOWN.",
                  Refuse(DriverCode::kUnknown))
MUTANT_CLASS(DATA_15, RefusesForGood, "A size that no memory has is refused for good.")
MUTANT_CLASS(DATA_15, RefusesAndFills, "A fill that no memory has room for is refused, and begun.")
MUTANT_IF(DATA_16, Write, "A copy from the host whose end wraps is nothing, and succeeds.",
          destination + size < destination, Ok())
MUTANT_IF(DATA_16, Read, "A copy to the host whose end wraps is nothing, and succeeds.",
          source + size < source, Ok())
MUTANT_IF(DATA_16, Move, "A copy on the device whose end wraps is nothing, and succeeds.",
          destination + size < destination, Ok())
MUTANT_IF(DATA_16, Set, "A fill whose end wraps is nothing, and succeeds.",
          destination + Bytes(count) < destination, Ok())
MUTANT(DATA_17, Set, "A count whose bytes wrap fills the mapping.") {
  const bool wraps = (pattern.width * count) / pattern.width != count;
  if (wraps) Scribble({destination, Bytes(1), Bytes(0)});
  return Real::Set(work, destination, pattern, count);
}
MUTANT_IF(DATA_23, Set, "A count whose bytes wrap to none is nothing at any address.",
          count != 0 && pattern.width * count == Bytes(0), Ok())
MUTANT(DATA_23, Set, "A count whose bytes wrap to none need not be aligned.") {
  const bool none = count != 0 && pattern.width * count == Bytes(0);
  const bool passes = none && IsMapped(destination) && AccessAt(destination) != Access::kNone;
  return passes ? Ok() : Real::Set(work, destination, pattern, count);
}
MUTANT(DATA_23, Set, "A count whose bytes wrap to none needs no access.") {
  const bool none = count != 0 && pattern.width * count == Bytes(0);
  const bool passes = none && IsMapped(destination) && destination.IsAligned(pattern.width);
  return passes ? Ok() : Real::Set(work, destination, pattern, count);
}

}  // namespace
}  // namespace twinmmu::conformance
