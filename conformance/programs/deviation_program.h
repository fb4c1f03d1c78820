// How a program is written:
//
//   DEVIATION_PROGRAM(kUnmapOfNothingSucceeds, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS") {
//     const AddressRange range = vmm.AddressReserve(granule).value();
//     return CodeOf(vmm.Unmap(range));
//   }
//
// First the name of the deviation, then what the program says where the rule is kept, then what it
// says where it is not. It has `vmm`, `executor` and `granule`, and the words below. At most 12
// lines: readers of docs/reference/observations.md see it whole.

#ifndef TWINMMU_CONFORMANCE_PROGRAMS_DEVIATION_PROGRAM_H_
#define TWINMMU_CONFORMANCE_PROGRAMS_DEVIATION_PROGRAM_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "api/driver.h"
#include "api/driver_error.h"

namespace twinmmu::conformance {

struct ProgramBody {
  const char* by_rule;
  const char* deviating;
  std::string (*run)(Vmm& vmm, Executor& executor, Bytes granule);
};

inline constexpr DeviceOrdinal kDevice(0);
inline constexpr Location kHere = Location::Device(kDevice);

// The driver's code, by its name.
inline std::string CodeOf(const absl::Status& status) {
  return DriverCodeName(GetDriverCode(status));
}
template <typename T>
std::string CodeOf(const absl::StatusOr<T>& result) {
  return CodeOf(result.status());
}

// For calls that have nothing to do with the deviation: where one fails, the program ends.
inline void Must(const absl::Status& status) {
  if (!status.ok()) throw absl::BadStatusOrAccess(status);
}

// Maps new memory of the device there, which the device may read and write.
inline void MapNew(Vmm& vmm, const AddressRange& range) {
  Must(vmm.Map(range, vmm.Create(range.size, AllocationProperties()).value()));
  Must(vmm.SetAccess(range, {{kHere, Access::kReadWrite}}));
}

// Two reservations of this size, the second behind the first.
inline std::pair<AddressRange, AddressRange> ReserveSideBySide(Vmm& vmm, Bytes size) {
  const AddressRange both = vmm.AddressReserve(2 * size).value();
  Must(vmm.AddressFree(both));
  ReserveOptions options;
  options.hint = both.base;
  const AddressRange first = vmm.AddressReserve(size, options).value();
  options.hint = first.end();
  return {first, vmm.AddressReserve(size, options).value()};
}

}  // namespace twinmmu::conformance

// To be used inside namespace twinmmu::conformance.
#define DEVIATION_PROGRAM(name, by_rule, deviating)                            \
  namespace programs {                                                         \
  static std::string Run_##name(Vmm&, Executor&, Bytes);                       \
  ProgramBody name() { return {by_rule, deviating, Run_##name}; }              \
  }                                                                            \
  static std::string programs::Run_##name([[maybe_unused]] Vmm& vmm,           \
                                          [[maybe_unused]] Executor& executor, \
                                          [[maybe_unused]] Bytes granule)

#endif  // TWINMMU_CONFORMANCE_PROGRAMS_DEVIATION_PROGRAM_H_
