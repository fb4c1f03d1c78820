// Green contexts, and the multiprocessors that they are made of. Kernels here run on no particular
// multiprocessor, so that nothing but the numbers differs.

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/contexts/green_contexts.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/device_attributes.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

using CUgreenCtx = struct CUgreenCtx_st*;
using CUdevResourceDesc = struct CUdevResourceDesc_st*;

constexpr int kInvalidType = 0;  // CUdevResourceType
constexpr int kMultiprocessors = 1;
constexpr auto kInvalidResourceType = static_cast<DriverCode>(914);
constexpr auto kInvalidResourceConfiguration = static_cast<DriverCode>(915);

// Groups are of so many multiprocessors and multiples of it: those that can hold a cluster
// together, and others. Source: an H100.
constexpr unsigned int kMostProcessors = 1u << 20;  // of any device
constexpr unsigned int kTogether = 8;
constexpr unsigned int kApart = 2;
constexpr unsigned int kIgnoreCoscheduling = 1;  // flags of a split
constexpr unsigned int kExclusive = 3;  // that one, and the largest clusters that there may be

constexpr unsigned int kDefaultStream = 1;  // the flag that every green context must have

// CUdevResource. What the driver keeps in the middle is our own: so that resources are told from
// what no call here gave.
struct Resource {
  int type = kInvalidType;
  unsigned int known_count = 0;
  uint64_t mark = 0;
  bool is_group = false;  // of a split: it is not split again
  char unused[96 - 17] = {};
  unsigned int count = 0;
  unsigned int smallest = 0;
  unsigned int alignment = 0;
  char rest[48 - 12] = {};
};
static_assert(sizeof(Resource) == 144);
static_assert(offsetof(Resource, count) == 96);
constexpr uint64_t kMark = 0x7477696e6d6d7531;

Resource Make(unsigned int count, bool is_group) {
  Resource made;
  if (count == 0) return made;
  made.type = kMultiprocessors;
  made.count = made.known_count = count;
  made.mark = kMark;
  made.is_group = is_group;
  return made;
}

// As a device or a context gives it.
Resource Whole(unsigned int count, bool together) {
  Resource made = Make(count, false);
  made.smallest = made.alignment = together ? kTogether : kApart;
  return made;
}

DriverCode Check(const Resource& resource) {
  if (resource.type != kMultiprocessors) return kInvalidResourceType;
  const bool is_ours = resource.mark == kMark && resource.known_count == resource.count;
  return is_ours ? DriverCode::kSuccess : kInvalidResourceConfiguration;
}

unsigned int CountOf(DriverState& driver, DeviceOrdinal device) {
  return static_cast<unsigned int>(AttributeOf(driver, device, kAttributeMultiprocessors));
}

// Descriptions are never taken back, here as in the driver.
struct Descriptions {
  std::mutex mutex;  // guards what follows
  std::map<uint64_t, unsigned int> counts;

  static Descriptions& Get() {
    static Descriptions& all = *new Descriptions;
    return all;
  }
};

DriverCode FindAlive(DriverState& driver, CUgreenCtx handle, Context** green) {
  *green = driver.contexts.Find(ToPointer<CUcontext>(ToNumber(handle)));
  if (*green == nullptr || (*green)->whole == nullptr) return DriverCode::kInvalidContext;
  return (*green)->alive ? DriverCode::kSuccess : DriverCode::kContextIsDestroyed;
}

// The current context, if it is green.
DriverCode CurrentGreenOf(const CallSite& site, Context** green) {
  Context* whole = nullptr;
  const DriverCode current = CurrentContext(site, &whole);
  if (current != DriverCode::kSuccess) return current;
  *green = CurrentGreen();
  return *green == nullptr ? DriverCode::kInvalidContext : DriverCode::kSuccess;
}

// Calls body(driver, green) with what a handle names.
template <typename Body>
CUresult EnterGreen(const CallSite& site, CUgreenCtx handle, Needed needed, const Body& body) {
  return Enter(site, needed, [&](DriverState& driver) {
    Context* green = nullptr;
    const DriverCode alive = FindAlive(driver, handle, &green);
    if (alive != DriverCode::kSuccess) return ToResult(alive);
    return ToResult(body(driver, *green));
  });
}

Resource ResourceOf(DriverState& driver, const Context& context) {
  const unsigned int all = CountOf(driver, context.device);
  if (context.whole == nullptr) return Whole(all, true);
  return Whole(context.multiprocessors, context.multiprocessors % kTogether == 0);
}

// Whether something can be asked for, which counts before the context of which it is asked.
DriverCode CheckQuestion(const CallSite& site, const Resource* resource, int type) {
  if (resource == nullptr) return NullPointer(site);
  return type == kMultiprocessors ? DriverCode::kSuccess : kInvalidResourceType;
}

}  // namespace

// --- Multiprocessors -----------------------------------------------------------------------------

extern "C" CUresult cuDeviceGetDevResource(CUdevice dev, Resource* resource, int type) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    const DriverCode valid = CheckQuestion(site, resource, type);
    if (valid != DriverCode::kSuccess) return valid;
    *resource = ResourceOf(driver, driver.contexts.Primary(DeviceOrdinal(dev)));
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCtxGetDevResource(CUcontext handle, Resource* resource, int type) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    Context* context = nullptr;
    const DriverCode valid = CheckQuestion(site, resource, type);
    if (valid != DriverCode::kSuccess) return valid;
    if (handle == nullptr) return DriverCode::kInvalidContext;
    const DriverCode alive = FindAlive(site, driver, handle, &context);
    if (alive != DriverCode::kSuccess) return alive;
    const auto fault = static_cast<DriverCode>(FaultOf(site, driver));
    if (fault == DriverCode::kSuccess) *resource = ResourceOf(driver, *context);
    return fault;
  });
}

extern "C" CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, Resource* resource, int type) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    const DriverCode valid = CheckQuestion(site, resource, type);
    if (valid != DriverCode::kSuccess) return valid;
    Context* green = nullptr;
    const DriverCode alive = FindAlive(driver, handle, &green);
    if (alive != DriverCode::kSuccess) return alive;
    const auto fault = static_cast<DriverCode>(FaultOf(site, driver));
    if (fault == DriverCode::kSuccess) *resource = ResourceOf(driver, *green);
    return fault;
  });
}

// Into groups of one size, as many as there are or as `groups` says, and the rest.
extern "C" CUresult cuDevSmResourceSplitByCount(Resource* result, unsigned int* groups,
                                                const Resource* input, Resource* remaining,
                                                unsigned int flags, unsigned int least) {
  return Enter(TWINMMU_HERE, {groups, input}, [&](DriverState& driver) {
    if ((flags & kExclusive) == kExclusive || (result != nullptr && *groups == 0)) {
      return DriverCode::kInvalidValue;
    }
    const DriverCode valid = Check(*input);
    if (valid != DriverCode::kSuccess) return valid;
    const unsigned int total = input->count;
    if (input->is_group || total == 0 || total > kMostProcessors || least > total) {
      return kInvalidResourceConfiguration;
    }
    const unsigned int unit = (flags & kIgnoreCoscheduling) != 0 ? kApart : kTogether;
    const unsigned int size = std::min((std::max(least, 1u) + unit - 1) / unit * unit, total);
    unsigned int count = total / size;
    // Clusters of processing units do not have a multiple of 8 each: of all of an H100, one group
    // is lost.
    const bool of_device = total == CountOf(driver, DeviceOrdinal(0));
    if (of_device && size == kTogether && unit == kTogether && count > 1) --count;
    if (result != nullptr) {
      count = std::min(count, *groups);
      std::fill_n(result, count, Make(size, true));
      if (remaining != nullptr) *remaining = Make(total - count * size, true);
    }
    *groups = count;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description,
                                              const Resource* resources, unsigned int count) {
  return Enter(TWINMMU_HERE, {description, resources}, [&](DriverState&) {
    if (count == 0) return DriverCode::kInvalidValue;
    unsigned int sum = 0;
    for (unsigned int i = 0; i < count; ++i) {
      const DriverCode valid = Check(resources[i]);
      if (valid != DriverCode::kSuccess) return valid;
      sum += resources[i].count;
    }
    Descriptions& all = Descriptions::Get();
    const std::lock_guard lock(all.mutex);
    const uint64_t id = all.counts.size() + 1;
    all.counts.emplace(id, sum);
    *description = ToPointer<CUdevResourceDesc>(id);
    return DriverCode::kSuccess;
  });
}

// --- Green contexts ------------------------------------------------------------------------------

// Without a description it has all multiprocessors.
extern "C" CUresult cuGreenCtxCreate(CUgreenCtx* handle, CUdevResourceDesc description,
                                     CUdevice dev, unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {handle}, [&](DriverState& driver) {
    if (!driver.simulator->profile().HasDevice(dev)) return DriverCode::kInvalidDevice;
    if (flags != kDefaultStream) return DriverCode::kInvalidValue;
    const CUresult fault = FaultOf(site, driver);
    if (fault != CUDA_SUCCESS) return static_cast<DriverCode>(fault);
    const unsigned int most = CountOf(driver, DeviceOrdinal(dev));
    unsigned int count = most;
    if (description != nullptr) {
      Descriptions& all = Descriptions::Get();
      const std::lock_guard lock(all.mutex);
      const auto found = all.counts.find(ToNumber(description));
      if (found == all.counts.end()) return DriverCode::kInvalidValue;
      count = std::min(found->second, most);
    }
    Context& primary = driver.contexts.Primary(DeviceOrdinal(dev));
    Records<StreamRecord>::Prepared record(StreamRecord{&primary, CU_STREAM_NON_BLOCKING});
    const absl::StatusOr<Stream> made = driver.executor.CreateStream(primary.device);
    if (!made.ok()) return GetDriverCode(made.status());
    absl::Cleanup undo = [&] { driver.executor.DestroyStream(*made).IgnoreError(); };
    Context& green = driver.contexts.CreateGreen(primary, count, made->value());
    std::move(undo).Cancel();
    record->id = driver.streams.NextId();
    record->green = &green;
    driver.streams.streams.Add(made->value(), std::move(record));
    driver.contexts.Retain(primary);
    *handle = ToPointer<CUgreenCtx>(ToNumber(green.handle()));
    return DriverCode::kSuccess;
  });
}

// Its streams go with it.
extern "C" CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
  return EnterGreen(TWINMMU_HERE, handle, {}, [&](DriverState& driver, Context& green) {
    std::vector<uint64_t> streams;
    driver.streams.streams.ForEach([&](uint64_t stream, const StreamRecord& record) {
      if (record.green == &green) streams.push_back(stream);
    });
    if (!driver.contexts.Destroy(green)) return DriverCode::kContextIsDestroyed;
    const auto made_in_it = [&](const StreamRecord& record) { return record.green == &green; };
    driver.streams.streams.RemoveIf(made_in_it, [&](uint64_t stream) {
      driver.executor.DestroyStream(Stream(green.device, stream)).IgnoreError();
      driver.report.RemoveObject(ObjectKind::kStream, stream);
    });
    for (const uint64_t stream : streams) ForgetCaptured(driver, ToPointer<CUstream>(stream));
    Release(driver, *green.whole);
    return DriverCode::kSuccess;
  });
}

// One handle is both.
extern "C" CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx handle) {
  const CallSite site = TWINMMU_HERE;
  return EnterGreen(site, handle, {context}, [&](DriverState& driver, Context& green) {
    const CUresult fault = FaultOf(site, driver);
    if (fault == CUDA_SUCCESS) *context = green.handle();
    return fault;
  });
}

extern "C" CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long* id) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {id}, [&](DriverState& driver) {
    Context* green = nullptr;
    const DriverCode found =
        handle == nullptr ? CurrentGreenOf(site, &green) : FindAlive(driver, handle, &green);
    if (found == DriverCode::kContextIsDestroyed) return found;
    const CUresult fault = FaultOf(site, driver);
    if (fault != CUDA_SUCCESS) return static_cast<DriverCode>(fault);
    if (found == DriverCode::kSuccess) *id = green->id;
    return found;
  });
}

// --- Streams and events --------------------------------------------------------------------------

extern "C" CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx handle, unsigned int flags,
                                           int priority) {
  return EnterGreen(TWINMMU_HERE, handle, {stream}, [&](DriverState& driver, Context& green) {
    if (flags != CU_STREAM_NON_BLOCKING) return ToResult(DriverCode::kInvalidValue);
    return MakeStream(driver, *green.whole, &green, flags, priority, stream);
  });
}

extern "C" CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx* handle) {
  const NamedObject named = NamedObject::NullFirst(stream);
  return EnterInContext(TWINMMU_HERE, named, {handle}, [&](DriverState& driver, Context& context) {
    const Context* green = nullptr;
    const uint64_t id = ToNumber(OfCurrent(stream));
    if (id > kLastDefaultStream) {
      const std::optional<StreamRecord> record = driver.streams.streams.Find(id);
      if (!record.has_value()) return ToResult(DriverCode::kInvalidHandle);
      green = record->green;
    }
    const Captured refused = RefuseQuestion(driver, context, stream);
    if (refused.has_value()) return *refused;
    *handle = green == nullptr ? nullptr : ToPointer<CUgreenCtx>(ToNumber(green->handle()));
    return CUDA_SUCCESS;
  });
}

// As those of contexts, with the streams that were made in it.
extern "C" CUresult cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event) {
  return RecordOfContext(TWINMMU_HERE, ToPointer<CUcontext>(ToNumber(handle)), event);
}

extern "C" CUresult cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event) {
  return WaitOfContext(TWINMMU_HERE, ToPointer<CUcontext>(ToNumber(handle)), event);
}

}  // namespace twinmmu::libcuda
