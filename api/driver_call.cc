#include "api/driver_call.h"

#include <cstddef>
#include <iterator>

#include "api/call_macros.h"

namespace twinmmu {

absl::string_view DriverCallName(DriverCall call) {
  static constexpr absl::string_view kNames[] = {
#define TWINMMU_NAME(context, id, result, method, ...) TWINMMU_DRIVER_NAME(__VA_ARGS__),
      TWINMMU_ALL_CALLS(TWINMMU_NAME, )
#undef TWINMMU_NAME
  };
  const auto index = static_cast<size_t>(call);
  return index < std::size(kNames) ? kNames[index] : "unknown call";
}

std::ostream& operator<<(std::ostream& out, DriverCall call) { return out << DriverCallName(call); }

}  // namespace twinmmu
