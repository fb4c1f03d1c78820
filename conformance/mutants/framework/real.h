// Real: what a mutant breaks. It passes every call on; a mutant overrides one or a few.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_REAL_H_
#define TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_REAL_H_

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/call_macros.h"
#include "api/driver_error.h"
#include "api/testing/forwarding.h"

namespace twinmmu::conformance {

// The first line of a call of api/calls.inc, by its id, where an implementation overrides it:
// CALL(Map) in a class, CALL_OF(MyClass, Map) outside. A parameter need not be used.
#define CALL(id) TWINMMU_CALL(TWINMMU_SIGNATURE, , id)
#define CALL_OF(Class, id) TWINMMU_CALL(TWINMMU_SIGNATURE, Class::, id)
#define TWINMMU_SIGNATURE(scope, id, result, method, ...) \
  result scope id(TWINMMU_UNUSED_PARAMETERS(__VA_ARGS__))
// Inside such a call: what it does elsewhere, with its arguments. REAL(Map) is
// Real::Map(range, handle, offset, flags).
#define REAL(id) TWINMMU_CALL(TWINMMU_REAL, , id)
#define TWINMMU_REAL(context, id, result, method, ...) Real::id(TWINMMU_ARGUMENTS(__VA_ARGS__))

// Where a copy or a fill is done: without a stream, or on one. Made of either.
struct Work {
  Work(DeviceOrdinal on) : device(on) {}
  Work(Stream on) : device(on.device()), stream(on) {}
  DeviceOrdinal device;
  std::optional<Stream> stream;
};

// Copies and fills, with a stream or without.
#define TWINMMU_CALL_Write                                                                         \
  absl::Status, Write, , (const Work&, work), (DeviceAddress, destination), (const void*, source), \
      (Bytes, size)
#define TWINMMU_CALL_Read                                                                   \
  absl::Status, Read, , (const Work&, work), (void*, destination), (DeviceAddress, source), \
      (Bytes, size)
#define TWINMMU_CALL_Move                                                  \
  absl::Status, Move, , (const Work&, work), (DeviceAddress, destination), \
      (DeviceAddress, source), (Bytes, size)
#define TWINMMU_CALL_Set                                                  \
  absl::Status, Set, , (const Work&, work), (DeviceAddress, destination), \
      (const FillPattern&, pattern), (uint64_t, count)

inline constexpr AddressRange kEverything{DeviceAddress(0), Bytes(~uint64_t{0}), Bytes(0)};

// All interfaces at once, so that a mutant may break one call and be noticed by another. A copy or
// fill without a stream and one on a stream come together in one call here, and the calls of
// Multicast go by their ids, since Vmm has some of their names too.
class Real : public ForwardingVmm, public ForwardingExecutor, public ForwardingSparseArrays {
 public:
  // Both must outlive this object.
  Real(Vmm* vmm, Executor* executor)
      : ForwardingVmm(vmm),
        ForwardingExecutor(executor),
        ForwardingSparseArrays(nullptr),
        executor_(executor) {}
  // Before the first call of these interfaces: who makes them, and must outlive this object.
  void SetSparseArrays(SparseArrays* arrays) { set_target(arrays); }
  void SetMulticast(Multicast* multicast) { target_multicast_ = multicast; }
  // The calls of Multicast as an interface.
  Multicast* multicast() { return &multicast_; }

  CALL(AddressReserve) override;
  CALL(Create) override;
  CALL(Map) override;

  virtual CALL(Write);
  virtual CALL(Read);
  virtual CALL(Move);
  virtual CALL(Set);

#define TWINMMU_BY_ID(context, id, result, method, ...)               \
  virtual result id(TWINMMU_PARAMETERS(__VA_ARGS__)) {                \
    return target_multicast_->method(TWINMMU_ARGUMENTS(__VA_ARGS__)); \
  }
  TWINMMU_MULTICAST_CALLS(TWINMMU_BY_ID, )
#undef TWINMMU_BY_ID

 protected:
  static absl::Status Ok() { return absl::OkStatus(); }
  static absl::Status Refuse(DriverCode code = DriverCode::kInvalidValue);
  // Another code in the place of an error.
  static absl::Status Instead(const absl::Status& status, DriverCode code) {
    return status.ok() ? status : Refuse(code);
  }
  template <typename T>
  static absl::StatusOr<T> Instead(const absl::StatusOr<T>& result, DriverCode code) {
    if (result.ok()) return result;
    return Refuse(code);
  }

  // --- What the machine holds, past the mutant ---
  Bytes Granule();
  // The mapping that contains the address.
  std::optional<AddressRange> MappingAt(DeviceAddress address);
  bool IsMapped(DeviceAddress address) { return MappingAt(address).has_value(); }
  // Whether the bytes begin in a mapping and go on behind it.
  bool LeavesMapping(DeviceAddress address, Bytes size);
  // The mappings that overlap the range, in order.
  std::vector<AddressRange> MappingsIn(const AddressRange& range);
  std::vector<AddressRange> MappingsOf(AllocationHandle handle);
  // The handle mapped there, or 0; takes no reference.
  AllocationHandle HandleAt(DeviceAddress address);
  Access AccessAt(DeviceAddress address, int device = 0);
  // Those that were made through this object, freed or not; and the latest that contains an
  // address.
  std::vector<AddressRange> Reservations();
  std::optional<AddressRange> ReservationAt(DeviceAddress address);
  // Whether the range begins in a reservation and goes on behind it.
  bool LeavesReservation(const AddressRange& range);
  // As given to Create; 0 for a handle that is not from there.
  Bytes SizeOf(AllocationHandle handle);

  // --- Damage, done without a call that the test made ---
  // Each takes whatever is mapped in the range, and leaves the rest.
  void Remove(const AddressRange& range);
  void Grant(const AddressRange& range, Access access, int device = 0);
  void Scribble(const AddressRange& range);  // over the data; access stays

 private:
  class MulticastFront : public Multicast {
   public:
    explicit MulticastFront(Real* real) : real_(*real) {}

#define TWINMMU_OF_REAL(context, id, result, method, ...)   \
  result method(TWINMMU_PARAMETERS(__VA_ARGS__)) override { \
    return real_.id(TWINMMU_ARGUMENTS(__VA_ARGS__));        \
  }
    TWINMMU_MULTICAST_CALLS(TWINMMU_OF_REAL, )
#undef TWINMMU_OF_REAL

   private:
    Real& real_;
  };

#define TWINMMU_WORK(either, id, result, method, ...)    \
  result method(TWINMMU_PARAMETERS(__VA_ARGS__)) final { \
    return either(TWINMMU_ARGUMENTS(__VA_ARGS__));       \
  }
  TWINMMU_CALL(TWINMMU_WORK, Write, CopyHostToDevice)
  TWINMMU_CALL(TWINMMU_WORK, Write, CopyHostToDeviceAsync)
  TWINMMU_CALL(TWINMMU_WORK, Read, CopyDeviceToHost)
  TWINMMU_CALL(TWINMMU_WORK, Read, CopyDeviceToHostAsync)
  TWINMMU_CALL(TWINMMU_WORK, Move, CopyDeviceToDevice)
  TWINMMU_CALL(TWINMMU_WORK, Move, CopyDeviceToDeviceAsync)
  TWINMMU_CALL(TWINMMU_WORK, Set, Fill)
  TWINMMU_CALL(TWINMMU_WORK, Set, FillAsync)
#undef TWINMMU_WORK

  Executor* executor_;
  Multicast* target_multicast_ = nullptr;
  MulticastFront multicast_{this};
  std::mutex mutex_;  // guards what follows
  std::vector<AddressRange> reservations_;
  std::vector<AddressRange> mappings_;  // all that were ever made
  std::map<AllocationHandle, Bytes> sizes_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_REAL_H_
