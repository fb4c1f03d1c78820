// Mutants of mappings that change under a kernel that runs.

#include <algorithm>

#include "conformance/mutants/kernel_mutant.h"

namespace twinmmu::conformance {
namespace {

// Knows whether a kernel runs that obeys orders.
class RunningMutant : public KernelMutant {
 public:
  using KernelMutant::KernelMutant;
  CALL(Launch) override {
    if (Is(kernel, "obey")) runs_ = true;
    return Real::Launch(stream, kernel, config, arguments);
  }
  CALL(SynchronizeDevice) override {
    runs_ = false;
    return Real::SynchronizeDevice(device);
  }

 protected:
  bool runs() const { return runs_; }

 private:
  bool runs_ = false;
};

// The device keeps its translations as long as a kernel runs.
class KeepsTranslations : public RunningMutant {
 public:
  using RunningMutant::RunningMutant;
  CALL(Unmap) override { return runs() ? Ok() : Real::Unmap(range); }
  CALL(Map) override {
    return runs() && IsMapped(range.base) ? Ok() : Real::Map(range, handle, offset, flags);
  }
};
MUTANT_CLASS(RUN_2, KeepsTranslations, "A kernel goes on with memory that was unmapped.")
MUTANT_CLASS(RUN_3, KeepsTranslations, "A kernel goes on with the allocation that was there.")
MUTANT_CLASS(RUN_8, KeepsTranslations, "A kernel loads past the cache what was unmapped.")
MUTANT_CLASS(RUN_9, KeepsTranslations, "A kernel loads past the cache the allocation before.")

NAMED_MUTANT_OF(GrantsLate, RunningMutant, RUN_1, SetAccess,
                "Access counts from the next launch on.") {
  return runs() ? Ok() : Real::SetAccess(range, grants);
}
MUTANT_CLASS(RUN_4, GrantsLate, "Access that was raised counts from the next launch on.")
MUTANT_CLASS(RUN_5, GrantsLate, "Access that was lowered counts from the next launch on.")
MUTANT_CLASS(RUN_6, GrantsLate, "Access that was taken counts from the next launch on.")

NAMED_MUTANT_OF(UnmapsLate, RunningMutant, RUN_2, Unmap, "An unmapping waits for the kernel.") {
  Real::SynchronizeDevice(DeviceOrdinal(0)).IgnoreError();
  return Real::Unmap(range);
}
MUTANT_CLASS(RUN_7, UnmapsLate, "An unmapping of other memory waits for the kernel.")

MUTANT_OF(RunningMutant, RUN_4, SetAccess, "Access is raised to read-only.") {
  const bool writes = runs() && grants[0].access == Access::kReadWrite;
  const AccessGrant read{grants[0].location, Access::kRead};
  return Real::SetAccess(range, writes ? absl::MakeConstSpan(&read, 1) : grants);
}
MUTANT_OF(RunningMutant, RUN_5, SetAccess, "Access that is lowered is taken.") {
  const bool lowers = runs() && grants[0].access == Access::kRead;
  const AccessGrant none{grants[0].location, Access::kNone};
  return Real::SetAccess(range, lowers ? absl::MakeConstSpan(&none, 1) : grants);
}
MUTANT_OF(RunningMutant, PEER_18, SetAccess, "Access that is taken from one is taken from both.") {
  if (runs() && grants[0].location.id == 1) Grant(range, grants[0].access, 0);
  return Real::SetAccess(range, grants);
}
MUTANT_CLASS(PEER_18, GrantsLate, "Access of one device counts when the other's kernel is done.")
MUTANT_OF(RunningMutant, RUN_7, Unmap, "An unmapping takes the neighbour from a kernel.") {
  Remove({range.base - Bytes(1), Bytes(1), Bytes(0)});
  return Real::Unmap(range);
}

// Copies through the second address reach the kernel when it has ended.
NAMED_MUTANT_OF(CopiesLate, RunningMutant, RUN_10, Write,
                "A kernel that runs does not see what is copied.") {
  const auto mappings = MappingsOf(HandleAt(destination));
  const bool second = mappings.size() == 2 && runs();
  return second ? Ok() : Real::Write(work, destination, source, size);
}

class SeesZeros : public RunningMutant {
 public:
  using RunningMutant::RunningMutant;
  CALL(Unmap) override {
    unmapped_ = runs();
    return Real::Unmap(range);
  }
  CALL(Read) override {
    const absl::Status status = Real::Read(work, destination, source, size);
    if (!unmapped_ || size != Bytes(sizeof(OrderBoard)) || !work.stream.has_value()) return status;
    Real::SynchronizeStream(*work.stream).IgnoreError();
    static_cast<OrderBoard*>(destination)->seen = 0;
    return status;
  }

 private:
  bool unmapped_ = false;
};
MUTANT_CLASS(RUN_8, SeesZeros, "What a kernel still sees of unmapped memory is zeros.")

MUTANT_OF(RunningMutant, RUN_9, Map, "A kernel sees neither allocation at a new mapping.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  if (status.ok() && runs()) Scribble(range);
  return status;
}

MUTANT_IF_REFUSED(RUN_2, SynchronizeDevice, "A kernel whose memory was unmapped is LAUNCH_FAILED.",
                  Refuse(DriverCode::kLaunchFailed))
MUTANT_AFTER(RUN_3, Map, "What is mapped where something was is empty.", outcome.ok(),
             Scribble(range))
MUTANT_IF_REFUSED(RUN_6, SynchronizeDevice, "A kernel whose access was taken ends without a fault.",
                  Ok())
MUTANT(RUN_7, Release, "A release takes the memory from a kernel that runs.") {
  for (const AddressRange& mapping : MappingsOf(handle)) Remove(mapping);
  return Real::Release(handle);
}

}  // namespace
}  // namespace twinmmu::conformance
