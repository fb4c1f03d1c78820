// Memory that other processes can import, by the best way that works here.

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

// A way to share memory that does not work here, and why.
struct PassedOver {
  HandleType type = HandleType::kNone;
  absl::Status reason;  // the driver's, or Unimplemented: the device does not have it
};

struct ShareableAllocation {
  AllocationHandle handle;
  // What it can be exported as; kNone: it cannot be shared.
  HandleType type = HandleType::kNone;
  // What came before `type` in the order of preference.
  std::vector<PassedOver> passed_over;
};

// Processes of other machines too, then those of this one, then none.
inline constexpr HandleType kPreferredHandleTypes[] = {
    HandleType::kFabric, HandleType::kPosixFileDescriptor, HandleType::kNone};

// Creates memory with the first handle type of `preferred` that works, as Vmm::Create does with it
// as properties.requested_handle_types, which are ignored. A type works if the device says that it
// has it, the driver creates memory with it, and exports that; a descriptor made to find out is
// closed again. Advertised does not mean permitted: a driver may say that it has fabric handles,
// and refuse memory for them as NOT_PERMITTED where the service that they need does not run.
//
// Memory that cannot be shared (kNone) is created only if `preferred` has it: leave it out where
// such memory is of no use. preferred: single types, in order; not empty.
//
// After an error there is no memory. ResourceExhausted: there is not enough memory, which no other
// type would change. InvalidArgument: `preferred` is empty. Else nothing in `preferred` works, and
// the error is that of the last type, with the reasons of all in its words. Thread-safe as `vmm`.
// [CREATE-9]
absl::StatusOr<ShareableAllocation> CreateShareable(
    Vmm& vmm, Bytes size, const AllocationProperties& properties,
    absl::Span<const HandleType> preferred = kPreferredHandleTypes);

// "fabric: <why>; POSIX file descriptor: <why>"; empty for none.
std::string ToString(absl::Span<const PassedOver> passed_over);

}  // namespace twinmmu

#endif  // TWINMMU_API_SHARING_CREATE_SHAREABLE_H_
