#include "api/testing/every_call.h"

#include <type_traits>

#include "absl/status/statusor.h"
#include "api/call_macros.h"

namespace twinmmu::testing_internal {
namespace {

absl::Status StatusOf(absl::Status status) { return status; }
template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// An argument of each type; a device and addresses that no machine has.
template <typename T>
T Sample() {
  constexpr DeviceOrdinal kDevice(9);
  constexpr DeviceAddress kAddress(0x10);
  if constexpr (std::is_same_v<T, DeviceOrdinal>) {
    return kDevice;
  } else if constexpr (std::is_same_v<T, Stream> || std::is_same_v<T, Array> ||
                       std::is_same_v<T, MipmappedArray>) {
    return T(kDevice, 0);
  } else if constexpr (std::is_same_v<T, Location>) {
    return Location::Device(kDevice);
  } else if constexpr (std::is_same_v<T, DeviceAddress>) {
    return kAddress;
  } else if constexpr (std::is_same_v<T, AddressRange>) {
    return AddressRange{kAddress, Bytes(3), Bytes(0)};
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return Bytes(3);
  } else if constexpr (std::is_integral_v<T>) {
    return 1;
  } else if constexpr (std::is_same_v<T, Granularity>) {
    return static_cast<Granularity>(9);
  } else if constexpr (std::is_same_v<T, ArrayExtent>) {
    return ArrayExtent{1, 1, 1};
  } else if constexpr (std::is_pointer_v<T>) {
    static char host[64];
    return host;
  } else {
    return T();
  }
}

}  // namespace

#define TWINMMU_SAMPLE(type, parameter) Sample<std::decay_t<type>>()
#define TWINMMU_MAKE(interface, id, result, method, ...) \
  made.push_back(                                        \
      {DriverCall::k##id, #method,                       \
       StatusOf(interface.method(TWINMMU_FOR_PARAMETERS(TWINMMU_SAMPLE, __VA_ARGS__)))});

std::vector<MadeCall> MakeEveryCall(Vmm& vmm) {
  std::vector<MadeCall> made;
  TWINMMU_VMM_CALLS(TWINMMU_MAKE, vmm)
  return made;
}

std::vector<MadeCall> MakeEveryCall(Executor& executor) {
  std::vector<MadeCall> made;
  TWINMMU_EXECUTOR_CALLS(TWINMMU_MAKE, executor)
  return made;
}

std::vector<MadeCall> MakeEveryCall(Multicast& multicast) {
  std::vector<MadeCall> made;
  TWINMMU_MULTICAST_CALLS(TWINMMU_MAKE, multicast)
  return made;
}

std::vector<MadeCall> MakeEveryCall(SparseArrays& arrays) {
  std::vector<MadeCall> made;
  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_MAKE, arrays)
  return made;
}

}  // namespace twinmmu::testing_internal
