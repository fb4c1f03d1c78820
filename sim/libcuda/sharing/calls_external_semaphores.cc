// External semaphores. They are made by APIs for graphics, of which there is none here: so nothing
// can be imported, and what there is to say is why. The codes are those of an H100 with driver
// 580.159, but for descriptors of memory, which that driver takes for semaphores.

#include <cstddef>

#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/of_thread.h"

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
  unsigned int reserved[16];
};
static_assert(offsetof(SemaphoreDescription, handle) == 8 &&
              offsetof(SemaphoreDescription, flags) == 24);

DriverCode WhyNotImported(const SemaphoreDescription& description) {
  const int type = description.type;
  if (type < kOpaqueDescriptor || type > kLast || description.flags != 0 ||
      !AreZero(description.reserved)) {
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

// The legacy stream waits for streams that are captured, whatever it was to do.
CUresult RefuseOn(const CallSite& site, CUstream stream) {
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    CheckLegacyUncaptured(driver, context, stream);
    return DriverCode::kInvalidValue;
  });
}

}  // namespace

extern "C" CUresult cuImportExternalSemaphore(void* semaphore,
                                              const SemaphoreDescription* description) {
  return EnterInContext(TWINMMU_HERE, {semaphore, description},
                        [&](DriverState&, Context&) { return WhyNotImported(*description); });
}

extern "C" CUresult cuSignalExternalSemaphoresAsync(const void* /*semaphores*/,
                                                    const void* /*params*/, unsigned int /*count*/,
                                                    CUstream stream) {
  return RefuseOn(TWINMMU_HERE, stream);
}
extern "C" CUresult cuSignalExternalSemaphoresAsync_ptsz(const void*, const void*, unsigned int,
                                                         CUstream stream) {
  return RefuseOn(TWINMMU_HERE, OfThread(stream));
}
extern "C" CUresult cuWaitExternalSemaphoresAsync(const void* /*semaphores*/,
                                                  const void* /*params*/, unsigned int /*count*/,
                                                  CUstream stream) {
  return RefuseOn(TWINMMU_HERE, stream);
}
extern "C" CUresult cuWaitExternalSemaphoresAsync_ptsz(const void*, const void*, unsigned int,
                                                       CUstream stream) {
  return RefuseOn(TWINMMU_HERE, OfThread(stream));
}
// Nothing here declares it: its parameter stays where the caller put it.
extern "C" CUresult cuDestroyExternalSemaphore() { return RefuseAll(TWINMMU_HERE); }

}  // namespace twinmmu::libcuda
