// MemoryLabel: what an exported memory file says of the memory in it, for other simulators.

#ifndef TWINMMU_SIM_HOST_MEMORY_LABEL_H_
#define TWINMMU_SIM_HOST_MEMORY_LABEL_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/host/access_log.h"
#include "sim/profile/profile.h"

namespace twinmmu {

// What two machines must agree on to share memory of a location.
struct SharingTraits {
  int driver_version = 0;
  Bytes minimum_granularity;
  Bytes recommended_granularity;
  Bytes reservation_granularity;
  Bytes memory;       // of the location
  uint64_t name = 0;  // of its device, as a number

  // Of a machine that has the location.
  static SharingTraits Of(const Profile& profile, const Location& location);
  // For multicast objects: the granularities are theirs, and the name stands for all devices.
  static SharingTraits OfTeams(const Profile& profile);
};

// Why memory of a machine `exporter` is not memory of the machine `importer`; empty: it is.
std::string DifferenceOf(const SharingTraits& exporter, const SharingTraits& importer);

struct MemoryLabel {
  uint64_t id = 0;  // no two pieces of memory have the same
  Bytes size;       // without the label
  AllocationProperties properties;
  SharingTraits traits;
  uint32_t team_devices = 0;  // of a multicast object; 0: it is memory
  Bytes object_size;          // of a multicast object
};

// A label stands behind the memory, where room is left for it, and for an AccessLog behind it.
// Whoever has a descriptor can write there: it is read once, and then believed in nothing that is
// not checked.
inline constexpr Bytes kLogOffset = KiB(4);  // in that room
inline constexpr Bytes kLabelRoom = kLogOffset + AccessLog::kRoom;

// ResourceExhausted: the host refused.
absl::Status WriteLabel(int file_descriptor, const MemoryLabel& label);

// The label of a file that is one of exported memory, and that nobody can make shorter; each number
// in it fits its type, and that is all that is known of them. InvalidArgument: it is no such file,
// and why. ResourceExhausted: the host does not say.
absl::StatusOr<MemoryLabel> ReadLabel(int file_descriptor);

// Whether an errno tells of a failure of the host, and not of the file that was looked at.
bool IsOfTheHost(int error);

// A number that stands for these bytes, the same in every process.
uint64_t FingerprintOf(absl::Span<const uint8_t> bytes);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_MEMORY_LABEL_H_
