#include "conformance/mutants/stubs.h"

#include <cstring>

namespace twinmmu::conformance {

CALL_OF(WithoutMemory, Read) {
  absl::Status status = Real::Read(work, destination, source, size);
  if (status.ok() && work.stream.has_value()) status = Real::SynchronizeStream(*work.stream);
  if (status.ok() && size != Bytes(0)) std::memset(destination, 0, size.value());
  return status;
}

CALL_OF(WithoutAccess, Map) {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  if (status.ok()) Open(range);
  return status;
}

CALL_OF(WithoutAccess, SetAccess) {
  const absl::Status status = Real::SetAccess(range, grants);
  Open(range);
  return status;
}

void WithoutAccess::Open(const AddressRange& range) {
  const int devices = Real::GetDeviceCount().value_or(0);
  for (int device = 0; device < devices; ++device) Grant(range, Access::kReadWrite, device);
}

}  // namespace twinmmu::conformance
