// External semaphores. They are made by APIs for graphics, of which there is none here: so nothing
// can be imported, and what there is to say is why. The codes are those of an H100 with driver
// 580.159, but for descriptors of memory, which that driver takes for semaphores.

#include <cstddef>

#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

// CUexternalSemaphoreHandleType.
constexpr int kOpaqueDescriptor = 1;
constexpr int kTimelineDescriptor = 9;
constexpr int kLast = 10;

// CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, as far as it is looked at.
struct SemaphoreDescription {
  int type;
  union {
    int descriptor;
    struct {
      void* handle;
      const void* name;
    } win32;
  } handle;
  unsigned int flags;
};
static_assert(offsetof(SemaphoreDescription, handle) == 8 &&
              offsetof(SemaphoreDescription, flags) == 24);

DriverCode WhyNotImported(const SemaphoreDescription& description) {
  const int type = description.type;
  if (type < kOpaqueDescriptor || type > kLast || description.flags != 0) {
    return DriverCode::kInvalidValue;
  }
  if (type == kTimelineDescriptor && description.handle.descriptor < 0) {
    return DriverCode::kInvalidValue;
  }
  if (type == kOpaqueDescriptor || type == kTimelineDescriptor) return DriverCode::kUnknown;
  // The others are of Windows and of NvSciSync.
  return description.handle.win32.handle == nullptr ? DriverCode::kInvalidValue
                                                    : DriverCode::kNotSupported;
}

// Whatever is named is none.
CUresult RefuseAll(const CallSite& site) {
  return EnterInContext(site, [](DriverState&, Context&) { return DriverCode::kInvalidValue; });
}

}  // namespace

extern "C" CUresult cuImportExternalSemaphore(void* semaphore,
                                              const SemaphoreDescription* description) {
  return EnterInContext(TWINMMU_HERE, {semaphore, description},
                        [&](DriverState&, Context&) { return WhyNotImported(*description); });
}

// Nothing here declares these: their parameters stay where the caller put them.
extern "C" CUresult cuSignalExternalSemaphoresAsync() { return RefuseAll(TWINMMU_HERE); }
TWINMMU_ALIAS(cuSignalExternalSemaphoresAsync_ptsz, cuSignalExternalSemaphoresAsync);
extern "C" CUresult cuWaitExternalSemaphoresAsync() { return RefuseAll(TWINMMU_HERE); }
TWINMMU_ALIAS(cuWaitExternalSemaphoresAsync_ptsz, cuWaitExternalSemaphoresAsync);
extern "C" CUresult cuDestroyExternalSemaphore() { return RefuseAll(TWINMMU_HERE); }

}  // namespace twinmmu::libcuda
