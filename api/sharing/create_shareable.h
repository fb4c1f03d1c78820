// Memory that other processes can import, by the best method that works here.

#ifndef TWINMMU_API_SHARING_CREATE_SHAREABLE_H_
#define TWINMMU_API_SHARING_CREATE_SHAREABLE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/allocation.h"
#include "api/vmm.h"

namespace twinmmu {

// A handle type that does not work here, and why.
struct PassedOver {
  HandleType type = HandleType::kNone;
  absl::Status reason;  // the driver's, or Unimplemented: the device lacks it
};

struct ShareableAllocation {
  AllocationHandle handle;
  // The type it can be exported as; kNone: it cannot be shared.
  HandleType type = HandleType::kNone;
  // The types preferred to `type`.
  std::vector<PassedOver> passed_over;
};

// Processes on other machines too, then those on this machine, then none.
inline constexpr HandleType kPreferredHandleTypes[] = {
    HandleType::kFabric, HandleType::kPosixFileDescriptor, HandleType::kNone};

// Creates memory with the first handle type of `preferred` that works, like Vmm::Create with that
// type; properties.requested_handle_types is ignored. A type works if the device advertises it, and
// the driver creates and exports memory with it; a descriptor exported for this check is closed
// again. Advertised does not mean permitted: a driver may advertise fabric handles, but refuse
// memory for them as NOT_PERMITTED when the service they need is not running.
//
// Memory that cannot be shared (kNone) is created only if `preferred` has it: leave it out if such
// memory is useless to you. preferred: single types, in order; not empty.
//
// After an error there is no memory. ResourceExhausted: not enough memory, with any type.
// InvalidArgument: `preferred` is empty. Otherwise nothing in `preferred` works, and the error is
// that of the last type, with the reasons of all in its message. As thread-safe as `vmm`.
// [CREATE-9]
absl::StatusOr<ShareableAllocation> CreateShareable(
    Vmm& vmm, Bytes size, const AllocationProperties& properties,
    absl::Span<const HandleType> preferred = kPreferredHandleTypes);

// "fabric: <why>; POSIX file descriptor: <why>"; empty for none.
std::string ToString(absl::Span<const PassedOver> passed_over);

}  // namespace twinmmu

#endif  // TWINMMU_API_SHARING_CREATE_SHAREABLE_H_
