// What a program says of its managed memory. Codes are those of an H100 with driver 580.159.

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "sim/calls/linear/managed_calls.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/of_thread.h"

namespace twinmmu::libcuda {
namespace {

constexpr int kCpu = -1;                       // CU_DEVICE_CPU
constexpr int kNowhere = -2;                   // CU_DEVICE_INVALID
constexpr size_t kMaxBatch = size_t{1} << 20;  // more is no batch, whatever lies there

// CUmem_range_attribute.
enum RangeAttribute : int {
  kReadMostly = 1,
  kPreferredLocation = 2,
  kAccessedBy = 3,
  kLastPrefetchLocation = 4,
  kPreferredLocationType = 5,
  kPreferredLocationId = 6,
  kLastPrefetchLocationType = 7,
  kLastPrefetchLocationId = 8,
};

// Of a device, or of the CPU if it is -1.
Location LocationOf(CUdevice device) {
  if (device == kCpu) return {LocationType::kHost, kCpu};
  return Location::Device(DeviceOrdinal(device));
}
// The host has no number.
Location LocationOf(const CUmemLocation& location) {
  const Location given = FromAbi(location);
  return given.type == LocationType::kHost ? LocationOf(kCpu) : given;
}

// --- Prefetch ------------------------------------------------------------------------------------

CUresult Prefetch(const CallSite& site, DriverState& driver, Context& context, CUstream stream,
                  const ManagedCalls::Target& target) {
  const Captured refused = RefuseCaptured(driver, context, stream);
  if (refused.has_value()) return *refused;
  return ToResult(driver.simulator->managed().Prefetch(site.name(), WorkOf(driver, context, stream),
                                                       absl::MakeConstSpan(&target, 1)));
}

CUresult PrefetchToDevice(const CallSite& site, CUdeviceptr ptr, size_t size, CUdevice device,
                          CUstream stream) {
  return EnterInContext(site, stream, {}, [&](DriverState& driver, Context& context) {
    if (size == 0 || ptr == 0) return ToResult(DriverCode::kInvalidValue);
    const Location to = LocationOf(device);
    if (!driver.simulator->managed().CanPrefetchTo(to)) return ToResult(DriverCode::kInvalidDevice);
    return Prefetch(site, driver, context, stream, {RangeOf(ptr, size), to});
  });
}

CUresult PrefetchToLocation(const CallSite& site, CUdeviceptr ptr, size_t size,
                            const CUmemLocation& location, unsigned int flags, CUstream stream) {
  const Location to = LocationOf(location);
  if (flags != 0 || location.type == 0) return RefuseAnywhere(site, DriverCode::kInvalidValue);
  return EnterInAnyContext(site, stream, {}, [&](DriverState& driver, Context& context) {
    const bool of_device = to.type == LocationType::kDevice;
    const bool can_go_there = driver.simulator->managed().CanPrefetchTo(to);
    if (!of_device && !can_go_there) return ToResult(DriverCode::kInvalidValue);
    const CUresult fault = FaultOf(site, driver);
    if (fault != cuda_abi::CUDA_SUCCESS) return fault;
    CheckLegacyUncaptured(driver, context, stream);
    if (size == 0 || ptr == 0) return ToResult(DriverCode::kInvalidValue);
    if (!can_go_there) return ToResult(DriverCode::kInvalidDevice);
    return Prefetch(site, driver, context, stream, {RangeOf(ptr, size), to});
  });
}

// --- Batches -------------------------------------------------------------------------------------

struct Batch {
  const CUdeviceptr* ptrs;
  const size_t* sizes;
  size_t count;
  const CUmemLocation* locations;
  const size_t* first;  // ranges that they are for
  size_t location_count;

  bool has_ranges() const {
    return ptrs != nullptr && sizes != nullptr && count != 0 && count <= kMaxBatch;
  }
  bool has_locations() const {
    if (locations == nullptr || first == nullptr) return false;
    if (location_count == 0 || location_count > count || first[0] != 0) return false;
    return std::all_of(first, first + location_count, [&](size_t index) { return index < count; });
  }
};

// A batch is not for the legacy stream, which is seen before anything else, nor for flags, which
// are seen before a fault and a capture; whether it is `valid` otherwise, after these.
template <typename Body>
CUresult EnterBatch(const CallSite& site, CUstream stream, unsigned long long flags, bool valid,
                    const Body& body) {
  if (ToNumber(stream) <= kLegacyStream) {
    return EnterAlways(site, [] { return DriverCode::kInvalidValue; });
  }
  return EnterInAnyContext(site, stream, {}, [&](DriverState& driver, Context& context) {
    if (flags != 0) return ToResult(DriverCode::kInvalidValue);
    const CUresult fault = FaultOf(site, driver);
    if (fault != cuda_abi::CUDA_SUCCESS) return fault;
    const Captured refused = RefuseCaptured(driver, context, stream);
    if (refused.has_value()) return *refused;
    if (!valid) return ToResult(DriverCode::kInvalidValue);
    return ToResult(body(driver, WorkOf(driver, context, stream)));
  });
}

// With or without a discard, which changes nothing that can be seen.
CUresult PrefetchBatch(const CallSite& site, const Batch& batch, unsigned long long flags,
                       CUstream stream) {
  const bool valid = batch.has_ranges() && batch.has_locations();
  return EnterBatch(site, stream, flags, valid, [&](DriverState& driver, Stream on) {
    std::vector<ManagedCalls::Target> targets(batch.count);
    size_t location = 0;
    for (size_t i = 0; i < batch.count; ++i) {
      while (location + 1 < batch.location_count && batch.first[location + 1] == i) ++location;
      targets[i] = {RangeOf(batch.ptrs[i], batch.sizes[i]), FromAbi(batch.locations[location])};
    }
    return driver.simulator->managed().Prefetch(site.name(), on, targets);
  });
}

CUresult Discard(const CallSite& site, const Batch& batch, unsigned long long flags,
                 CUstream stream) {
  const bool valid = batch.has_ranges();
  return EnterBatch(site, stream, flags, valid, [&](DriverState& driver, Stream on) {
    std::vector<AddressRange> ranges(batch.count);
    for (size_t i = 0; i < batch.count; ++i) ranges[i] = RangeOf(batch.ptrs[i], batch.sizes[i]);
    return driver.simulator->managed().Discard(site.name(), on, ranges);
  });
}

// --- Advice --------------------------------------------------------------------------------------

bool IsForDevice(int advice) {
  const auto known = static_cast<Advice>(advice);
  return known == Advice::kSetPreferredLocation || known == Advice::kSetAccessedBy ||
         known == Advice::kUnsetAccessedBy;
}

CUresult AdviseFor(DriverState& driver, CUdeviceptr ptr, size_t size, int advice,
                   const Location& location) {
  // Memory that takes no advice is told first.
  if (driver.captures.MayMatter() && driver.simulator->managed().HintsOf(RangeOf(ptr, size)).ok()) {
    if (const Captured unsafe = RefuseUnsafeCall(driver)) return *unsafe;
  }
  return ToResult(driver.simulator->managed().Advise(RangeOf(ptr, size),
                                                     static_cast<Advice>(advice), location));
}

// --- Attributes ----------------------------------------------------------------------------------

bool IsSizeOf(int attribute, size_t size) {
  if (attribute < kReadMostly || attribute > kLastPrefetchLocationId) return false;
  return attribute == kAccessedBy ? size != 0 && size % sizeof(int) == 0 : size == sizeof(int);
}

// The old attributes know no nodes of the host.
int DeviceOf(const std::optional<Location>& location) {
  if (!location.has_value()) return kNowhere;
  return location->type == LocationType::kDevice ? location->id : kCpu;
}
int TypeOf(const std::optional<Location>& location) {
  return static_cast<int>(location.has_value() ? location->type : LocationType::kInvalid);
}
int IdOf(const std::optional<Location>& location) {
  return location.has_value() ? location->id : kNowhere;
}

void WriteAccessedBy(const ManagedHints& hints, int* devices, size_t count) {
  size_t written = 0;
  const auto write = [&](int device) {
    if (written < count) std::memcpy(devices + written++, &device, sizeof(device));
  };
  for (int device = 0; device < 64; ++device) {
    if ((hints.accessed_by >> device & 1) != 0) write(device);
  }
  if (hints.accessed_by_host) write(kCpu);
  while (written < count) write(kNowhere);
}

void WriteAttribute(const ManagedHints& hints, int attribute, void* data, size_t size) {
  int value = 0;
  switch (attribute) {
    case kReadMostly:
      value = hints.read_mostly ? 1 : 0;
      break;
    case kPreferredLocation:
      value = DeviceOf(hints.preferred);
      break;
    case kAccessedBy:
      return WriteAccessedBy(hints, static_cast<int*>(data), size / sizeof(int));
    case kLastPrefetchLocation:
      value = DeviceOf(hints.prefetched);
      break;
    case kPreferredLocationType:
      value = TypeOf(hints.preferred);
      break;
    case kPreferredLocationId:
      value = IdOf(hints.preferred);
      break;
    case kLastPrefetchLocationType:
      value = TypeOf(hints.prefetched);
      break;
    case kLastPrefetchLocationId:
      value = IdOf(hints.prefetched);
      break;
    default:
      return;
  }
  std::memcpy(data, &value, sizeof(value));
}

}  // namespace

extern "C" CUresult cuMemPrefetchAsync(CUdeviceptr ptr, size_t size, CUdevice device,
                                       CUstream stream) {
  return PrefetchToDevice(TWINMMU_HERE, ptr, size, device, stream);
}
TWINMMU_OF_THREAD(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync,
                  (CUdeviceptr ptr, size_t size, CUdevice device, CUstream stream), ptr, size,
                  device, OfThread(stream))
extern "C" CUresult cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t size, CUmemLocation location,
                                          unsigned int flags, CUstream stream) {
  return PrefetchToLocation(TWINMMU_HERE, ptr, size, location, flags, stream);
}
TWINMMU_OF_THREAD(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2,
                  (CUdeviceptr ptr, size_t size, CUmemLocation location, unsigned int flags,
                   CUstream stream),
                  ptr, size, location, flags, OfThread(stream))

extern "C" CUresult cuMemPrefetchBatchAsync(CUdeviceptr* ptrs, size_t* sizes, size_t count,
                                            CUmemLocation* locations, size_t* first,
                                            size_t location_count, unsigned long long flags,
                                            CUstream stream) {
  return PrefetchBatch(TWINMMU_HERE, {ptrs, sizes, count, locations, first, location_count}, flags,
                       stream);
}
TWINMMU_OF_THREAD(cuMemPrefetchBatchAsync_ptsz, cuMemPrefetchBatchAsync,
                  (CUdeviceptr * ptrs, size_t* sizes, size_t count, CUmemLocation* locations,
                   size_t* first, size_t location_count, unsigned long long flags, CUstream stream),
                  ptrs, sizes, count, locations, first, location_count, flags, OfThread(stream))
extern "C" CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* ptrs, size_t* sizes,
                                                      size_t count, CUmemLocation* locations,
                                                      size_t* first, size_t location_count,
                                                      unsigned long long flags, CUstream stream) {
  return PrefetchBatch(TWINMMU_HERE, {ptrs, sizes, count, locations, first, location_count}, flags,
                       stream);
}
TWINMMU_OF_THREAD(cuMemDiscardAndPrefetchBatchAsync_ptsz, cuMemDiscardAndPrefetchBatchAsync,
                  (CUdeviceptr * ptrs, size_t* sizes, size_t count, CUmemLocation* locations,
                   size_t* first, size_t location_count, unsigned long long flags, CUstream stream),
                  ptrs, sizes, count, locations, first, location_count, flags, OfThread(stream))
extern "C" CUresult cuMemDiscardBatchAsync(CUdeviceptr* ptrs, size_t* sizes, size_t count,
                                           unsigned long long flags, CUstream stream) {
  return Discard(TWINMMU_HERE, {ptrs, sizes, count, nullptr, nullptr, 0}, flags, stream);
}
TWINMMU_OF_THREAD(cuMemDiscardBatchAsync_ptsz, cuMemDiscardBatchAsync,
                  (CUdeviceptr * ptrs, size_t* sizes, size_t count, unsigned long long flags,
                   CUstream stream),
                  ptrs, sizes, count, flags, OfThread(stream))

extern "C" CUresult cuMemAdvise(CUdeviceptr ptr, size_t size, int advice, CUdevice device) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context&) {
    if (size == 0 || ptr == 0) return ToResult(DriverCode::kInvalidValue);
    const Location location = LocationOf(device);
    const bool known = driver.simulator->managed().CanPrefetchTo(location);
    if (!known && IsForDevice(advice)) return ToResult(DriverCode::kInvalidDevice);
    return AdviseFor(driver, ptr, size, advice, location);
  });
}
extern "C" CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t size, int advice,
                                   CUmemLocation location) {
  const CallSite site = TWINMMU_HERE;
  const Location given = LocationOf(location);
  const auto advise = [&](DriverState& driver) {
    return AdviseFor(driver, ptr, size, advice, given);
  };
  // What has no effect needs no context.
  const bool of_node =
      given.type == LocationType::kHostNuma || given.type == LocationType::kHostNumaCurrent;
  if (of_node) return Enter(site, advise);
  if (advice == 0 || location.type == 0) return RefuseAnywhere(site, DriverCode::kInvalidValue);
  // What is wrong with a location counts before a fault.
  return EnterInAnyContext(site, {}, [&](DriverState& driver, Context&) {
    if (const Captured unsafe = RefuseUnsafeCall(driver)) return *unsafe;
    return advise(driver);
  });
}

extern "C" CUresult cuMemRangeGetAttribute(void* data, size_t data_size, int attribute,
                                           CUdeviceptr ptr, size_t size) {
  return EnterInContext(TWINMMU_HERE, {data}, [&](DriverState& driver, Context&) {
    if (!IsSizeOf(attribute, data_size)) return ToResult(DriverCode::kInvalidValue);
    const auto hints = driver.simulator->managed().HintsOf(RangeOf(ptr, size));
    if (hints.ok()) WriteAttribute(*hints, attribute, data, data_size);
    return ToResult(hints.status());
  });
}

// All, or none.
extern "C" CUresult cuMemRangeGetAttributes(void** data, size_t* data_sizes, int* attributes,
                                            size_t count, CUdeviceptr ptr, size_t size) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, {data, data_sizes, attributes}, [&](DriverState& driver, Context&) {
    if (count == 0) return ToResult(DriverCode::kInvalidValue);
    for (size_t i = 0; i < count; ++i) {
      if (data[i] == nullptr) return ToResult(NullPointer(site));
      if (!IsSizeOf(attributes[i], data_sizes[i])) return ToResult(DriverCode::kInvalidValue);
    }
    const auto hints = driver.simulator->managed().HintsOf(RangeOf(ptr, size));
    if (!hints.ok()) return ToResult(hints.status());
    for (size_t i = 0; i < count; ++i) {
      WriteAttribute(*hints, attributes[i], data[i], data_sizes[i]);
    }
    return CUDA_SUCCESS;
  });
}

constexpr unsigned int kAttachSingle = 4;  // CU_MEM_ATTACH_SINGLE

extern "C" CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t size,
                                           unsigned int flags) {
  return EnterInContext(TWINMMU_HERE, stream, {}, [&](DriverState& driver, Context& context) {
    const Captured refused = RefuseWaitFor(driver, context, stream);
    if (refused.has_value()) return *refused;
    // Null is no single stream, even where it names that of a green context.
    const bool is_null = stream == nullptr && CurrentGreen() != nullptr;
    if (is_null && flags == kAttachSingle) return ToResult(DriverCode::kInvalidValue);
    return ToResult(driver.simulator->managed().Attach(WorkOf(driver, context, stream),
                                                       DeviceAddress(ptr), Bytes(size), flags));
  });
}
TWINMMU_OF_THREAD(cuStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync,
                  (CUstream stream, CUdeviceptr ptr, size_t size, unsigned int flags),
                  OfThread(stream), ptr, size, flags)

}  // namespace twinmmu::libcuda
