// What is set of a stream beside its work. Only the priority is anything that other calls give.

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/of_thread.h"

namespace twinmmu::libcuda {
namespace {

constexpr int kMaxAccessPolicyWindowSize = 109;  // CUdevice_attribute

// CUaccessPolicyWindow. A miss cannot persist.
struct AccessPolicyWindow {
  void* base;
  size_t bytes;
  float hit_ratio;
  int hit;
  int miss;
};
static_assert(sizeof(AccessPolicyWindow) == std::tuple_size_v<StreamAttribute>);
constexpr int kPersisting = 2;

// How many bytes the value of an attribute has; 0: streams have no such attribute.
size_t SizeOf(int attribute) {
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return sizeof(AccessPolicyWindow);
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return sizeof(int);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return 2;
    default:
      return 0;
  }
}

StreamAttribute AttributeOf(const StreamRecord& record, int attribute) {
  const auto set = record.attributes.find(attribute);
  if (set != record.attributes.end()) return set->second;
  StreamAttribute unset = {};
  const int no_policy = -1;
  if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) {
    std::memcpy(unset.data(), &no_policy, sizeof(no_policy));
  } else if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
    std::memcpy(unset.data(), &record.priority, sizeof(record.priority));
  } else if (attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) {
    unset[1] = 1;  // the remote domain
  }
  return unset;
}

bool IsValid(DriverState& driver, const Context& context, int attribute,
             const StreamAttribute& value) {
  int number = 0;
  std::memcpy(&number, value.data(), sizeof(number));
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      return number >= 1 && number <= 4;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return number == 0 || number == 1;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return value[0] >= 0 && value[0] <= 3 && value[1] >= 0 && value[1] <= 3;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: {
      AccessPolicyWindow window;
      std::memcpy(&window, value.data(), sizeof(window));
      const int most = AttributeOf(driver, context.device, kMaxAccessPolicyWindowSize);
      return !(window.hit_ratio < 0 || window.hit_ratio > 1) && window.miss != kPersisting &&
             window.bytes <= static_cast<size_t>(most);
    }
    default:
      return true;
  }
}

// A stream, by what is kept of it.
struct Named {
  Records<StreamRecord>* records = nullptr;
  uint64_t id = 0;
  StreamRecord record;
};

// A default stream needs a current context, others bring theirs.
DriverCode Find(const CallSite& site, DriverState& driver, CUstream stream, Named* named) {
  const CUresult fault = FaultOf(site, driver);
  if (fault != CUDA_SUCCESS) return static_cast<DriverCode>(fault);
  Context* context = nullptr;
  if (ToNumber(stream) <= kLastDefaultStream) {
    const DriverCode current = CurrentContext(site, &context);
    if (current != DriverCode::kSuccess) return current;
  }
  uint64_t id = ToNumber(OfCurrent(stream));
  if (id <= kLegacyStream) {
    const uint64_t key = ToNumber(context->handle());
    const std::optional<StreamRecord> found = driver.streams.legacy_streams.Find(key);
    *named = {&driver.streams.legacy_streams, key, StreamRecord{context, 0, kLeastPriority}};
    if (found.has_value()) named->record = *found;
    return DriverCode::kSuccess;
  }
  if (id == kPerThreadStream) id = StreamOf(driver, *context, stream).value();
  const std::optional<StreamRecord> found = driver.streams.streams.Find(id);
  if (!found.has_value()) return DriverCode::kInvalidHandle;
  *named = {&driver.streams.streams, id, *found};
  return DriverCode::kSuccess;
}

// A stream of which no capture forbids to ask.
CUresult FindUncaptured(const CallSite& site, DriverState& driver, CUstream stream, Named* named) {
  const DriverCode known = Find(site, driver, stream, named);
  if (known != DriverCode::kSuccess) return ToResult(known);
  return RefuseQuestion(driver, *named->record.context, stream).value_or(CUDA_SUCCESS);
}

// Calls body(driver, named). What is null counts after all that is wrong with the stream.
template <typename Body>
CUresult EnterStream(const CallSite& site, CUstream stream, const void* value, const Body& body) {
  return Enter(site, [&](DriverState& driver) {
    Named named;
    const CUresult known = FindUncaptured(site, driver, stream, &named);
    if (known != CUDA_SUCCESS) return known;
    const DriverCode there = CheckNeeded(site, {value});
    return there == DriverCode::kSuccess ? ToResult(body(driver, named)) : ToResult(there);
  });
}

// Of a stream that was not destroyed since.
void Keep(DriverState& driver, Named named) {
  if (named.records == &driver.streams.legacy_streams) {
    named.records->Add(named.id, Records<StreamRecord>::Prepared(named.record));
    return;
  }
  named.records->Edit(named.id, [&](StreamRecord& known) {
    known.priority = named.record.priority;
    known.attributes.swap(named.record.attributes);
  });
}

void Set(StreamRecord& record, int attribute, const StreamAttribute& value) {
  if (attribute != CU_LAUNCH_ATTRIBUTE_PRIORITY) {
    record.attributes[attribute] = value;
    return;
  }
  std::memcpy(&record.priority, value.data(), sizeof(record.priority));
  record.priority = std::clamp(record.priority, kGreatestPriority, kLeastPriority);
}

}  // namespace

extern "C" CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {device}, [&](DriverState& driver) {
    Named named;
    const DriverCode known = Find(site, driver, stream, &named);
    if (known != DriverCode::kSuccess) return ToResult(known);
    const Captured refused = RefuseCaptured(driver, *named.record.context, stream);
    if (refused.has_value()) return *refused;
    *device = named.record.context->device.value();
    return CUDA_SUCCESS;
  });
}
TWINMMU_OF_THREAD(cuStreamGetDevice_ptsz, cuStreamGetDevice, (CUstream stream, CUdevice* device),
                  OfThread(stream), device)

extern "C" CUresult cuStreamGetAttribute(CUstream stream, int attribute, void* value) {
  const CallSite site = TWINMMU_HERE;
  return EnterStream(site, stream, value, [&](DriverState&, Named& named) {
    const size_t size = SizeOf(attribute);
    if (size == 0) return ToResult(DriverCode::kInvalidValue);
    const StreamAttribute found = AttributeOf(named.record, attribute);
    std::memcpy(value, found.data(), size);
    return CUDA_SUCCESS;
  });
}
TWINMMU_OF_THREAD(cuStreamGetAttribute_ptsz, cuStreamGetAttribute,
                  (CUstream stream, int attribute, void* value), OfThread(stream), attribute, value)

extern "C" CUresult cuStreamSetAttribute(CUstream stream, int attribute, const void* value) {
  const CallSite site = TWINMMU_HERE;
  return EnterStream(site, stream, value, [&](DriverState& driver, Named& named) {
    StreamAttribute wanted = {};
    const size_t size = SizeOf(attribute);
    std::memcpy(wanted.data(), value, size);
    if (size == 0 || !IsValid(driver, *named.record.context, attribute, wanted)) {
      return ToResult(DriverCode::kInvalidValue);
    }
    Set(named.record, attribute, wanted);
    Keep(driver, std::move(named));
    return CUDA_SUCCESS;
  });
}
TWINMMU_OF_THREAD(cuStreamSetAttribute_ptsz, cuStreamSetAttribute,
                  (CUstream stream, int attribute, const void* value), OfThread(stream), attribute,
                  value)

extern "C" CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    Named target;
    Named source;
    CUresult known = FindUncaptured(site, driver, to, &target);
    if (known == CUDA_SUCCESS) known = FindUncaptured(site, driver, from, &source);
    if (known != CUDA_SUCCESS) return known;
    const bool made_together = target.record.context == source.record.context &&
                               target.record.green == source.record.green;
    if (!made_together) return ToResult(DriverCode::kInvalidValue);
    target.record.attributes = source.record.attributes;
    target.record.priority = source.record.priority;
    Keep(driver, std::move(target));
    return CUDA_SUCCESS;
  });
}
TWINMMU_OF_THREAD(cuStreamCopyAttributes_ptsz, cuStreamCopyAttributes, (CUstream to, CUstream from),
                  OfThread(to), OfThread(from))

}  // namespace twinmmu::libcuda
