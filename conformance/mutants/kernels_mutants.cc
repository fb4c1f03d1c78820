// Mutants of kernels and faults.

#include <algorithm>
#include <utility>

#include "conformance/mutants/framework/ptx_mutant.h"
#include "conformance/mutants/kernel_mutant.h"

namespace twinmmu::conformance {
namespace {

KERNEL_MUTANT(KERNEL_1, "A kernel's fill ends with the first mapping.") {
  if (!Is(kernel, "fill")) return Real::Launch(stream, kernel, config, arguments);
  const uint64_t words = 3 * Granule() / Bytes(4);
  return Real::Launch(stream, kernel, config, {arguments[0], &words, arguments[2]});
}
KERNEL_MUTANT(KERNEL_1, "A kernel verifies the first mapping only.") {
  if (!Is(kernel, "verify")) return Real::Launch(stream, kernel, config, arguments);
  const uint64_t words = 3 * Granule() / Bytes(4);
  return Real::Launch(stream, kernel, config, {arguments[0], &words, arguments[2], arguments[3]});
}
KERNEL_MUTANT(KERNEL_1, "A kernel fills with another seed than it verifies with.") {
  if (!Is(kernel, "fill")) return Real::Launch(stream, kernel, config, arguments);
  const uint64_t seed = 0;
  return Real::Launch(stream, kernel, config, {arguments[0], arguments[1], &seed});
}
KERNEL_MUTANT_IF(KERNEL_2, "What a kernel stores is lost.", Is(kernel, "store32"), Ok())
KERNEL_MUTANT(KERNEL_2, "What a kernel loads is 0.") {
  const absl::Status status = Real::Launch(stream, kernel, config, arguments);
  if (Is(kernel, "load32")) Leave(stream.device(), AddressIn(arguments, 1), uint32_t{0});
  return status;
}
KERNEL_MUTANT(KERNEL_2, "An atomic add adds twice.") {
  if (Is(kernel, "atomic_add32")) {
    Real::Launch(stream, kernel, config, arguments).IgnoreError();
    const uint32_t before = Find<uint32_t>(stream.device(), AddressIn(arguments, 2));
    const absl::Status status = Real::Launch(stream, kernel, config, arguments);
    Leave(stream.device(), AddressIn(arguments, 2), before);
    return status;
  }
  return Real::Launch(stream, kernel, config, arguments);
}
KERNEL_MUTANT(KERNEL_2, "An atomic add gives the sum, and not what was there before.") {
  const absl::Status status = Real::Launch(stream, kernel, config, arguments);
  if (Is(kernel, "atomic_add32")) {
    const uint32_t sum = Find<uint32_t>(stream.device(), AddressIn(arguments, 0));
    Leave(stream.device(), AddressIn(arguments, 2), sum);
  }
  return status;
}

// A translation on the device that is not dropped when its mapping ends.
class StoresThroughAnOldTranslation : public KernelMutant {
 public:
  using KernelMutant::KernelMutant;
  CALL(Unmap) override {
    stale_ = range;
    return Real::Unmap(range);
  }
  CALL(Launch) override {
    const bool lost = Is(kernel, "store32") && stale_.contains(AddressIn(arguments, 0));
    stale_ = AddressRange();
    return lost ? Ok() : Real::Launch(stream, kernel, config, arguments);
  }

 private:
  AddressRange stale_;
};
MUTANT_CLASS(KERNEL_3, StoresThroughAnOldTranslation,
             "The first store to an address that is mapped anew goes to the memory before.")

class FaultsOnce : public KernelMutant {
 public:
  using KernelMutant::KernelMutant;
  CALL(Map) override {
    is_fresh_ = true;
    return Real::Map(range, handle, offset, flags);
  }
  CALL(Launch) override {
    const bool too_early = std::exchange(is_fresh_, false);
    return too_early ? Refuse(DriverCode::kIllegalAddress)
                     : Real::Launch(stream, kernel, config, arguments);
  }

 private:
  bool is_fresh_ = false;
};
MUTANT_CLASS(KERNEL_3, FaultsOnce, "The first kernel after a mapping fails.")

KERNEL_MUTANT(KERNEL_8, "A kernel's fill ends after a gibibyte.") {
  if (!Is(kernel, "fill")) return Real::Launch(stream, kernel, config, arguments);
  const uint64_t words = std::min(Argument<uint64_t>(arguments, 1), GiB(1) / Bytes(4));
  return Real::Launch(stream, kernel, config, {arguments[0], &words, arguments[2]});
}
KERNEL_MUTANT(KERNEL_8, "A kernel verifies the number of bytes modulo 2^32.") {
  if (!Is(kernel, "verify")) return Real::Launch(stream, kernel, config, arguments);
  const uint64_t words = Argument<uint64_t>(arguments, 1) % (GiB(4) / Bytes(4));
  return Real::Launch(stream, kernel, config, {arguments[0], &words, arguments[2], arguments[3]});
}

// The device keeps the access that it has seen, until it is told so by a fault.
class KeepsTheLowerAccess : public KernelMutant {
 public:
  using KernelMutant::KernelMutant;
  CALL(SetAccess) override {
    raised_ = AccessAt(range.base) == Access::kRead && grants[0].access == Access::kReadWrite;
    return Real::SetAccess(range, grants);
  }
  CALL(Launch) override {
    const bool lost = std::exchange(raised_, false) && Is(kernel, "store32");
    return lost ? Ok() : Real::Launch(stream, kernel, config, arguments);
  }

 private:
  bool raised_ = false;
};
MUTANT_CLASS(KERNEL_9, KeepsTheLowerAccess, "The first store after access was raised is lost.")

// A translation, or a cache, that is not dropped when its mapping ends.
class LoadsThroughAnOldTranslation : public KernelMutant {
 public:
  using KernelMutant::KernelMutant;
  CALL(Unmap) override {
    stale_ = range;
    word_ = Find<uint32_t>(DeviceOrdinal(0), range.base);
    return Real::Unmap(range);
  }
  CALL(Launch) override {
    const absl::Status status = Real::Launch(stream, kernel, config, arguments);
    if (Is(kernel, "load32") && stale_.contains(AddressIn(arguments, 0))) {
      Leave(stream.device(), AddressIn(arguments, 1), word_);
      stale_ = AddressRange();
    }
    return status;
  }

 private:
  AddressRange stale_;
  uint32_t word_ = 0;
};
MUTANT_CLASS(KERNEL_10, LoadsThroughAnOldTranslation,
             "The first load from an address that is mapped anew sees the memory before.")

MUTANT_CLASS(KERNEL_11, FillsLate, "A kernel is overtaken by the copies behind it.")
MUTANT_CLASS(KERNEL_12, FillsLate, "An event does not stand for the kernels before it.")
MUTANT_CLASS(KERNEL_13, FillsLate, "A copy without a stream does not wait for kernels.")

NAMED_MUTANT_OF(CopiesLate, WorksLate, KERNEL_11, Move,
                "A kernel overtakes the copies before it.") {
  return Later([=] { return Real::Move(work, destination, source, size); });
}
MUTANT_CLASS(KERNEL_13, CopiesLate, "A kernel overtakes the copies without a stream before it.")

KERNEL_MUTANT(KERNEL_14, "Of a million additions one is lost.") {
  const absl::Status status = Real::Launch(stream, kernel, config, arguments);
  const DeviceAddress word = AddressIn(arguments, 0);
  if (Is(kernel, "count")) {
    Leave(stream.device(), word, Find<uint32_t>(stream.device(), word) - 1);
  }
  return status;
}

MUTANT(KERNEL_12, WaitEvent, "A kernel does not wait for the event that its stream waits for.") {
  return Ok();
}
MUTANT_IF_REFUSED(KERNEL_4, LoadModule, "Any text is loaded.", Module(device, 999))
MUTANT_IF_REFUSED(KERNEL_4, LoadModule, "Text that is not PTX is INVALID_VALUE.", Refuse())
MUTANT(KERNEL_4, LoadModule, "The compiler's reason is kept from the caller.") {
  const auto module = Real::LoadModule(device, ptx);
  return Instead(module, GetDriverCode(module.status()));
}
MUTANT_IF_REFUSED(KERNEL_5, GetKernel, "A kernel that does not exist is found.",
                  Kernel(module.device(), 999))
MUTANT_IF_REFUSED(KERNEL_5, GetKernel, "A kernel that does not exist is INVALID_VALUE.", Refuse())
MUTANT_IF(KERNEL_6, Launch, "An empty grid does nothing and succeeds.", config.grid.x == 0, Ok())
MUTANT(KERNEL_6, Launch, "A block without rows has one.") {
  LaunchConfig changed = config;
  if (changed.block.y == 0) changed.block.y = 1;
  return Real::Launch(stream, kernel, changed, arguments);
}
MUTANT_IF_REFUSED(KERNEL_6, Launch, "An empty grid or block is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))

MUTANT_CLASS(KERNEL_2, CachesLoads, "A load does not see what an atomic add has done.")

MUTANT_CLASS(FAULT_1, StoresWithoutAccess, "A kernel stores without access.")
MUTANT_CLASS(FAULT_2, StoresWithoutAccess, "A kernel stores to read-only memory.")
MUTANT_CLASS(PEER_7, StoresWithoutAccess, "A kernel stores to a peer's memory without a grant.")

MUTANT_CLASS(FAULT_2, AddsWithoutAccess, "A kernel adds atomically to read-only memory.")

KERNEL_MUTANT(FAULT_1, "A store without access is dropped, without a fault.") {
  const bool may = AccessAt(AddressIn(arguments, 0)) == Access::kReadWrite;
  return may ? Real::Launch(stream, kernel, config, arguments) : Ok();
}
KERNEL_MUTANT(FAULT_1, "A launch that would fault is refused.") {
  const bool may = AccessAt(AddressIn(arguments, 0)) == Access::kReadWrite;
  return may ? Real::Launch(stream, kernel, config, arguments) : Refuse();
}
KERNEL_MUTANT(FAULT_2, "A kernel that loads from read-only memory faults.") {
  const bool may = AccessAt(AddressIn(arguments, 0)) == Access::kReadWrite;
  return may ? Real::Launch(stream, kernel, config, arguments)
             : Refuse(DriverCode::kIllegalAddress);
}
KERNEL_MUTANT_IF(FAULT_3, "A kernel loads 0 where nothing is mapped.",
                 !IsMapped(AddressIn(arguments, 0)), Ok())
KERNEL_MUTANT(FAULT_3, "A kernel loads 0 from reserved addresses.") {
  const DeviceAddress at = AddressIn(arguments, 0);
  const bool reserved = ReservationAt(at).has_value() && !IsMapped(at);
  return reserved ? Ok() : Real::Launch(stream, kernel, config, arguments);
}
KERNEL_MUTANT(PEER_7, "A kernel faults at a peer's memory in spite of a grant.") {
  const auto owner = Real::GetPointerAttribute(stream.device(), PointerAttribute::kDeviceOrdinal,
                                               AddressIn(arguments, 0));
  const bool foreign = owner.ok() && *owner != 0;
  const DeviceAddress nowhere(4096);
  return foreign ? Real::Launch(stream, kernel, config, {&nowhere, arguments[1]})
                 : Real::Launch(stream, kernel, config, arguments);
}

class FaultsOnceOnly : public Real {
 public:
  using Real::Real;
  CALL(SynchronizeDevice) override {
    return std::exchange(told_, true) ? Ok() : Real::SynchronizeDevice(device);
  }

 private:
  bool told_ = false;
};
MUTANT_CLASS(FAULT_1, FaultsOnceOnly, "A fault is reported once, and is not sticky.")
INTERPRETER_MUTANT(FAULT_1, FaultsOnceOnly, "A fault is reported once, and is not sticky.")

MUTANT_IF_REFUSED(FAULT_1, SynchronizeDevice, "A fault is reported as UNKNOWN.",
                  Refuse(DriverCode::kUnknown))
MUTANT_IF_REFUSED(FAULT_3, SynchronizeDevice, "A fault is never reported.", Ok())

// After a fault: what should fail, and does not.
MUTANT_IF_REFUSED(FAULT_4, Read, "Copies go on working after a fault.", Ok())
MUTANT_IF_REFUSED(FAULT_4, Set, "After a fault a fill is INVALID_VALUE.", Refuse())
MUTANT_IF_REFUSED(FAULT_4, Launch, "Launches go on after a fault.", Ok())
MUTANT_IF_REFUSED(FAULT_4, CreateStream, "A stream can be made after a fault.", Stream(device))
MUTANT_IF_REFUSED(FAULT_4, GetMemoryInfo, "Memory is reported after a fault.", MemoryInfo())
MUTANT_IF_REFUSED(FAULT_4, GetAddressRange, "The address range is reported after a fault.",
                  AddressRange())

// And what should work, and does not: the fault is taken for one of the whole driver.
class FaultOfEverything : public Real {
 public:
  using Real::Real;

 protected:
  bool Faulted() { return !Real::SynchronizeDevice(DeviceOrdinal(0)).ok(); }
};

#define FAULT_STOPS(call, sentence)                            \
  MUTANT_OF(FaultOfEverything, FAULT_4, call, sentence) {      \
    if (Faulted()) return Refuse(DriverCode::kIllegalAddress); \
    return REAL(call);                                         \
  }

FAULT_STOPS(SetAccess, "After a fault no access changes.")
FAULT_STOPS(GetAccess, "After a fault no access is answered.")
FAULT_STOPS(GetPointerAttribute, "After a fault an address has no attributes.")
FAULT_STOPS(RetainAllocationHandle, "After a fault no handle is retained.")
FAULT_STOPS(Release, "After a fault nothing is released.")
FAULT_STOPS(GetAllocationProperties, "After a fault a handle has no properties.")
FAULT_STOPS(Unmap, "After a fault nothing is unmapped.")
FAULT_STOPS(Map, "After a fault nothing is mapped.")
FAULT_STOPS(Create, "After a fault no memory is created.")
FAULT_STOPS(AddressReserve, "After a fault no addresses are reserved.")
FAULT_STOPS(AddressFree, "After a fault no addresses are freed.")

KERNEL_MUTANT(KERNEL_7, "A kernel cannot work in memory of the host.") {
  const auto type = Real::GetPointerAttribute(stream.device(), PointerAttribute::kMemoryType,
                                              AddressIn(arguments, 0));
  constexpr uint64_t kHost = 1;  // CU_MEMORYTYPE_HOST
  return type.ok() && *type == kHost ? Refuse() : Real::Launch(stream, kernel, config, arguments);
}
KERNEL_MUTANT(KERNEL_7, "What a kernel writes to memory of the host stays on the device.") {
  const auto type = Real::GetPointerAttribute(stream.device(), PointerAttribute::kMemoryType,
                                              AddressIn(arguments, 0));
  constexpr uint64_t kHost = 1;  // CU_MEMORYTYPE_HOST
  return type.ok() && *type == kHost ? Ok() : Real::Launch(stream, kernel, config, arguments);
}

// Each access, at each kind of place.

KERNEL_MUTANT_IF(FAULT_7, "A store where nothing is mapped is dropped.",
                 Is(kernel, "store32") && !IsMapped(AddressIn(arguments, 0)), Ok())
KERNEL_MUTANT_IF(FAULT_7, "An addition where nothing is mapped is dropped.",
                 Is(kernel, "atomic_add32") && !IsMapped(AddressIn(arguments, 0)), Ok())
KERNEL_MUTANT_IF(FAULT_7, "A load at null gives 0.", AddressIn(arguments, 0) == DeviceAddress(0),
                 Ok())

class UsesWhatWasMapped : public KernelMutant {
 public:
  using KernelMutant::KernelMutant;
  CALL(Unmap) override {
    unmapped_ = range;
    return Real::Unmap(range);
  }
  CALL(Launch) override {
    const bool stale = unmapped_.contains(AddressIn(arguments, 0));
    return stale ? Ok() : Real::Launch(stream, kernel, config, arguments);
  }

 private:
  AddressRange unmapped_;
};
MUTANT_CLASS(FAULT_10, UsesWhatWasMapped, "What was mapped once can be used after the unmapping.")

MUTANT_CLASS(FAULT_8, LoadsWithoutAccess, "A kernel loads without access.")
MUTANT_CLASS(FAULT_8, AddsWithoutAccess, "A kernel adds atomically without access.")

KERNEL_MUTANT(FAULT_9, "A word that is not aligned is taken from the word around it.") {
  if (!Is(kernel, "load32")) return Real::Launch(stream, kernel, config, arguments);
  const uint64_t aligned = Argument<uint64_t>(arguments, 0) & ~uint64_t{3};
  return Real::Launch(stream, kernel, config, {&aligned, arguments[1]});
}
MUTANT_CLASS(FAULT_9, FaultsOnceOnly, "A misaligned word is reported once, and is not sticky.")
INTERPRETER_MUTANT(FAULT_9, FaultsOnceOnly,
                   "A misaligned word is reported once, and is not sticky.")

MUTANT_IF_REFUSED(FAULT_9, SynchronizeDevice, "A word that is not aligned is ILLEGAL_ADDRESS.",
                  Refuse(DriverCode::kIllegalAddress))

// Queued work, and what is taken from it.
MUTANT_BEFORE(FAULT_5, Unmap, "An unmapping lets queued work finish.", true,
              Real::SynchronizeDevice(DeviceOrdinal(0)).IgnoreError())
MUTANT_IF_REFUSED(FAULT_5, SynchronizeStream, "Queued work without memory is dropped in silence.",
                  Ok())
MUTANT_IF_REFUSED(FAULT_5, Set, "Filling goes on after the fault.", Ok())
MUTANT_IF_REFUSED(FAULT_5, CreateEvent, "Events are made after the fault.", Event(device, 1))
MUTANT(FAULT_5, Unmap, "Memory that queued work uses is not unmapped.") {
  const auto done = Real::SynchronizeDevice(DeviceOrdinal(0));
  return done.ok() && IsMapped(range.base) ? Refuse(DriverCode::kNotReady) : Real::Unmap(range);
}
MUTANT_BEFORE(FAULT_6, SetAccess, "A change of access lets queued work finish.", true,
              Real::SynchronizeDevice(DeviceOrdinal(0)).IgnoreError())
MUTANT_IF(FAULT_6, SetAccess, "Access that queued work needs is not lowered to read-only.",
          grants[0].access == Access::kRead, Ok())
MUTANT(FAULT_6, SetAccess, "Read-only is too little for work that only reads.") {
  const AccessGrant none{grants[0].location, Access::kNone};
  const bool lowers = grants[0].access == Access::kRead;
  return Real::SetAccess(range, lowers ? absl::MakeConstSpan(&none, 1) : grants);
}
MUTANT_IF_REFUSED(FAULT_6, SynchronizeStream, "Work whose access was taken is reported as UNKNOWN.",
                  Refuse(DriverCode::kUnknown))

}  // namespace
}  // namespace twinmmu::conformance
