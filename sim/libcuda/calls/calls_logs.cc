// The driver's log. Codes are those of an H100 with driver 580.159, which takes any flags and needs
// no cuInit. It writes more than the buffer has room for; this one does not.

#include <algorithm>
#include <cstring>
#include <string>

#include "sim/host/write_file.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/driver_log.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {

extern "C" CUresult cuLogsRegisterCallback(DriverLog::Callback callback, void* data,
                                           void** handle) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    if (callback == nullptr) return NullPointer(site);
    const uint64_t made = DriverLog::Get().Register(callback, data);
    if (handle != nullptr) *handle = ToPointer<void*>(made);
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuLogsUnregisterCallback(void* handle) {
  return EnterAlways(TWINMMU_HERE, [&] {
    return DriverLog::Get().Unregister(ToNumber(handle)) ? DriverCode::kSuccess
                                                         : DriverCode::kInvalidValue;
  });
}

extern "C" CUresult cuLogsCurrent(unsigned int* iterator, unsigned int /*flags*/) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    if (iterator == nullptr) return NullPointer(site);
    *iterator = DriverLog::Get().end();
    return DriverCode::kSuccess;
  });
}

// From the iterator on, which moves; from the first line that is left, if it is null.
extern "C" CUresult cuLogsDumpToFile(unsigned int* iterator, const char* path,
                                     unsigned int /*flags*/) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    if (path == nullptr) return NullPointer(site);
    bool cut = false;
    unsigned int end = 0;
    const std::string lines =
        DriverLog::Get().Lines(iterator != nullptr ? *iterator : 0, SIZE_MAX, &cut, &end);
    if (!WriteFile(path, lines)) return DriverCode::kInvalidValue;
    if (iterator != nullptr) *iterator = end;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuLogsDumpToMemory(unsigned int* iterator, char* buffer, size_t* size,
                                       unsigned int /*flags*/) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    if (buffer == nullptr || size == nullptr) return NullPointer(site);
    bool cut = false;
    unsigned int end = 0;
    const size_t room = *size != 0 ? *size - 1 : 0;
    const std::string lines =
        DriverLog::Get().Lines(iterator != nullptr ? *iterator : 0, room, &cut, &end);
    *size = 0;
    if (cut && lines.empty()) return DriverCode::kInvalidValue;
    if (room != 0) std::memcpy(buffer, lines.c_str(), lines.size() + 1);
    *size = lines.size();
    if (iterator != nullptr) *iterator = end;
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda
