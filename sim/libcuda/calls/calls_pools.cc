// Pools, and memory that is allocated and freed in the order of streams.
//
// A dead pool is refused as the current one; an H200 takes it, and the process ends when memory is
// allocated from it.

#include <cstring>
#include <optional>
#include <vector>

#include "sim/calls/pools/pool_calls.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/of_thread.h"

namespace twinmmu::libcuda {
namespace {

// More descriptors than that are no list of grants, whatever lies there.
constexpr size_t kMaxGrants = 4096;

PoolPlace PlaceOf(const CUmemLocation& location, CUmemAllocationType type) {
  return {FromAbi(location), static_cast<AllocationType>(type)};
}
// For the report: -1 is none.
int DeviceOf(const PoolPlace& place) {
  return place.location.type == LocationType::kDevice ? place.location.id : -1;
}
PoolPlace PlaceOf(CUdevice device) { return {Location::Device(DeviceOrdinal(device))}; }

// How many bytes the value of an attribute has.
size_t SizeOf(CUmemPool_attribute attribute) {
  return attribute < static_cast<int>(PoolAttribute::kReleaseThreshold) ? sizeof(int)
                                                                        : sizeof(uint64_t);
}

bool Exists(DriverState& driver, CUdevice device) {
  const absl::StatusOr<int> count = driver.vmm.GetDeviceCount();
  return count.ok() && device >= 0 && device < *count;
}

// What is null counts after all that is wrong with the stream, and after a fault.
CUresult RefuseNull(const CallSite& site, DriverState& driver) {
  const CUresult fault = FaultOf(site, driver);
  return fault == CUDA_SUCCESS ? ToResult(NullPointer(site)) : fault;
}

// Runs body(driver, stream). `capture(driver, context)`: what happens instead where the stream is
// captured.
template <typename Capture, typename Body>
CUresult EnterOnStream(const CallSite& site, Needed needed, CUstream stream, const Capture& capture,
                       const Body& body) {
  return EnterInAnyContext(site, stream, {}, [&](DriverState& driver, Context& context) {
    const Captured unsafe = RefuseUnsafeOn(driver, context, stream);
    if (unsafe.has_value()) return *unsafe;
    for (const void* const pointer : needed) {
      if (pointer == nullptr) return RefuseNull(site, driver);
    }
    const Captured captured = capture(driver, context);
    if (captured.has_value()) return *captured;
    return ToResult(body(driver, WorkOf(driver, context, stream)));
  });
}

ObjectKind KindOf(const PooledPiece& piece) {
  return piece.on_device ? ObjectKind::kMemory : ObjectKind::kHostMemory;
}

// `made`: an address of a piece, or 0.
CUresult GivePiece(DriverState& driver, Stream stream, const absl::StatusOr<DeviceAddress>& made,
                   CUdeviceptr* ptr) {
  const std::optional<PooledPiece> piece =
      made.ok() ? driver.simulator->pools().Find(*made) : std::nullopt;
  if (piece.has_value()) {
    driver.report.AddObject(KindOf(*piece), made->value(), piece->range.size,
                            stream.device().value());
  }
  return Give(made, ptr);
}

// Memory of cuMemAlloc is freed, too: when the work of the stream is done.
absl::Status FreeOnStream(DriverState& driver, Stream stream, DeviceAddress address) {
  if (address == DeviceAddress(0)) return absl::OkStatus();
  if (driver.external.buffers.Find(address.value()).has_value()) {
    return MakeDriverStatus({DriverCode::kNotSupported, ErrorOrigin::kSimulator, "cuMemFreeAsync"},
                            "a buffer of external memory is freed by cuMemFree");
  }
  PoolCalls& pools = driver.simulator->pools();
  const std::optional<PooledPiece> piece = pools.Find(address);
  if (piece.has_value()) {
    const absl::Status freed = pools.Free(stream, address);
    if (freed.ok()) driver.report.RemoveObject(KindOf(*piece), address.value());
    return freed;
  }
  const auto linear = driver.simulator->linear().Find(address);
  if (!linear.ok() || linear->kind != LinearKind::kDevice) return pools.Free(stream, address);
  if (host_function_context != nullptr) {  // which waits for the device
    return MakeDriverStatus({DriverCode::kNotPermitted, ErrorOrigin::kSimulator, "cuMemFreeAsync"},
                            "a function that a stream called frees memory of cuMemAlloc");
  }
  const absl::Status freed = driver.simulator->linear().Free(address);
  if (freed.ok()) driver.report.RemoveObject(ObjectKind::kMemory, address.value());
  return freed;
}

}  // namespace

// --- Memory --------------------------------------------------------------------------------------

extern "C" CUresult cuMemAllocAsync(CUdeviceptr* ptr, size_t size, CUstream stream) {
  if (ptr != nullptr) *ptr = 0;  // stays, if it fails
  const CallSite site = TWINMMU_HERE;
  const auto capture = [&](DriverState& driver, Context& context) {
    return CaptureAllocation(site, driver, context, size, std::nullopt, stream, ptr);
  };
  return EnterOnStream(site, {ptr}, stream, capture, [&](DriverState& driver, Stream on) {
    return GivePiece(driver, on, driver.simulator->pools().Allocate(on, Bytes(size)), ptr);
  });
}
TWINMMU_OF_THREAD(cuMemAllocAsync_ptsz, cuMemAllocAsync,
                  (CUdeviceptr * ptr, size_t size, CUstream stream), ptr, size, OfThread(stream))

extern "C" CUresult cuMemAllocFromPoolAsync(CUdeviceptr* ptr, size_t size, CUmemoryPool pool,
                                            CUstream stream) {
  if (ptr != nullptr) *ptr = 0;
  const CallSite site = TWINMMU_HERE;
  const auto capture = [&](DriverState& driver, Context& context) {
    return CaptureAllocation(site, driver, context, size, pool, stream, ptr);
  };
  return EnterOnStream(site, {ptr}, stream, capture, [&](DriverState& driver, Stream on) {
    PoolCalls& pools = driver.simulator->pools();
    return GivePiece(driver, on, pools.AllocateFrom(on, ToNumber(pool), Bytes(size)), ptr);
  });
}
TWINMMU_OF_THREAD(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync,
                  (CUdeviceptr * ptr, size_t size, CUmemoryPool pool, CUstream stream), ptr, size,
                  pool, OfThread(stream))

extern "C" CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  const auto capture = [&](DriverState& driver, Context& context) {
    return CaptureFree(site, driver, context, ptr, stream);
  };
  return EnterOnStream(site, {}, stream, capture, [&](DriverState& driver, Stream on) {
    const CUresult fault = ptr == 0 ? FaultOf(site, driver) : CUDA_SUCCESS;
    return fault == CUDA_SUCCESS ? ToResult(FreeOnStream(driver, on, DeviceAddress(ptr))) : fault;
  });
}
TWINMMU_OF_THREAD(cuMemFreeAsync_ptsz, cuMemFreeAsync, (CUdeviceptr ptr, CUstream stream), ptr,
                  OfThread(stream))

// --- Pools ---------------------------------------------------------------------------------------

extern "C" CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  return Enter(TWINMMU_HERE, {pool, props}, [&](DriverState& driver) {
    if (!AreZero(props->reserved)) return ToResult(DriverCode::kInvalidValue);
    PoolProperties properties;
    properties.place = PlaceOf(props->location, props->allocType);
    properties.handle_types = static_cast<HandleType>(props->handleTypes);
    properties.most = Bytes(props->maxSize);
    properties.usage = props->usage;
    const absl::StatusOr<uint64_t> made = driver.simulator->pools().Create(properties);
    if (!made.ok()) return ToResult(made.status());
    driver.report.AddObject(ObjectKind::kPool, *made, Bytes(0), DeviceOf(properties.place));
    *pool = ToPointer<CUmemoryPool>(*made);
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    const absl::Status destroyed = driver.simulator->pools().Destroy(ToNumber(pool));
    if (destroyed.ok()) driver.report.RemoveObject(ObjectKind::kPool, ToNumber(pool));
    return destroyed;
  });
}

extern "C" CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.simulator->pools().TrimTo(ToNumber(pool), Bytes(keep));
  });
}

extern "C" CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                          void* value) {
  return Enter(TWINMMU_HERE, {value}, [&](DriverState& driver) {
    const absl::StatusOr<uint64_t> known = driver.simulator->pools().GetAttribute(
        ToNumber(pool), static_cast<PoolAttribute>(attribute));
    if (known.ok()) std::memcpy(value, &*known, SizeOf(attribute));
    return ToResult(known.status());
  });
}

extern "C" CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                          void* value) {
  return Enter(TWINMMU_HERE, {value}, [&](DriverState& driver) {
    uint64_t wanted = 0;
    std::memcpy(&wanted, value, SizeOf(attribute));
    return driver.simulator->pools().SetAttribute(ToNumber(pool),
                                                  static_cast<PoolAttribute>(attribute), wanted);
  });
}

extern "C" CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* grants,
                                       size_t count) {
  return Enter(TWINMMU_HERE, {grants}, [&](DriverState& driver) {
    if (count > kMaxGrants) return ToResult(DriverCode::kInvalidValue);
    std::vector<AccessGrant> wanted(count);
    for (size_t i = 0; i < count; ++i) {
      wanted[i] = {FromAbi(grants[i].location), static_cast<Access>(grants[i].flags)};
    }
    return ToResult(driver.simulator->pools().SetAccess(ToNumber(pool), wanted));
  });
}

extern "C" CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool,
                                       CUmemLocation* location) {
  return Enter(TWINMMU_HERE, {flags, location}, [&](DriverState& driver) {
    const absl::StatusOr<Access> access =
        driver.simulator->pools().GetAccess(ToNumber(pool), FromAbi(*location));
    if (access.ok()) *flags = static_cast<CUmemAccess_flags>(*access);
    return ToResult(access.status());
  });
}

// --- The pools of a location ---------------------------------------------------------------------

namespace {

CUresult GivePool(const absl::StatusOr<uint64_t>& found, CUmemoryPool* pool) {
  if (found.ok()) *pool = ToPointer<CUmemoryPool>(*found);
  return ToResult(found.status());
}

}  // namespace

extern "C" CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice dev) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    if (!Exists(driver, dev)) return ToResult(DriverCode::kInvalidDevice);
    if (pool == nullptr) return ToResult(NullPointer(site));
    return GivePool(driver.simulator->pools().DefaultPool(site.name(), PlaceOf(dev)), pool);
  });
}

extern "C" CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {pool}, [&](DriverState& driver) {
    return GivePool(driver.simulator->pools().CurrentPool(site.name(), PlaceOf(dev)), pool);
  });
}

extern "C" CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    PoolCalls& pools = driver.simulator->pools();
    return ToResult(pools.SetCurrentPool(site.name(), PlaceOf(dev), ToNumber(pool)));
  });
}

extern "C" CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                           CUmemAllocationType type) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {pool, location}, [&](DriverState& driver) {
    PoolCalls& pools = driver.simulator->pools();
    return GivePool(pools.DefaultPool(site.name(), PlaceOf(*location, type)), pool);
  });
}

extern "C" CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                    CUmemAllocationType type) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {pool, location}, [&](DriverState& driver) {
    PoolCalls& pools = driver.simulator->pools();
    return GivePool(pools.CurrentPool(site.name(), PlaceOf(*location, type)), pool);
  });
}

extern "C" CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type,
                                    CUmemoryPool pool) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {location}, [&](DriverState& driver) {
    PoolCalls& pools = driver.simulator->pools();
    return pools.SetCurrentPool(site.name(), PlaceOf(*location, type), ToNumber(pool));
  });
}

}  // namespace twinmmu::libcuda
