// Memory that has its address from the start, of devices and of the host.

#include <optional>

#include "sim/calls/pools/pool_calls.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/sharing/external_buffers.h"

namespace twinmmu::libcuda {
namespace {

constexpr size_t kPitchStep = 512;         // source: an H200 with driver 580.159
constexpr unsigned int kDeviceMap = 2;     // CU_MEMHOSTALLOC_DEVICEMAP
constexpr unsigned int kReadOnly = 8;      // CU_MEMHOSTREGISTER_READ_ONLY, never told
constexpr unsigned int kAttachGlobal = 1;  // CU_MEM_ATTACH_GLOBAL
constexpr unsigned int kAttachHost = 2;    // CU_MEM_ATTACH_HOST

// Frees at `address`: in any context, or in none, but not in one that is dead.
template <typename Free>
CUresult EnterFree(const CallSite& site, ObjectKind kind, uint64_t address, const Free& free) {
  return Enter(site, [&](DriverState& driver) {
    Context* context = nullptr;
    if (!ContextStack().empty()) {
      const DriverCode current = CurrentContext(site, &context);
      if (current != DriverCode::kSuccess) return ToResult(current);
      const CUresult fault = FaultOf(site, driver);
      if (fault != cuda_abi::CUDA_SUCCESS) return fault;
    }
    const std::optional<PooledPiece> piece = driver.simulator->pools().Find(DeviceAddress(address));
    const bool of_host = piece.has_value() && !piece->on_device;
    const absl::Status freed = free(driver);
    if (freed.ok() && address != 0) {
      driver.report.RemoveObject(of_host ? ObjectKind::kHostMemory : kind, address);
    }
    return ToResult(freed);
  });
}

CUresult AllocateHost(const CallSite& site, void** memory, size_t size, unsigned int flags) {
  return EnterInContext(site, {memory}, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<void*> made =
        driver.simulator->linear().AllocateHost(ContextOf(context), Bytes(size), flags);
    if (made.ok() && *made != nullptr) {
      driver.report.AddObject(ObjectKind::kHostMemory, ToNumber(*made), Bytes(size));
    }
    return Give(made, memory);
  });
}

absl::StatusOr<CUdeviceptr> Allocate(DriverState& driver, Context& context, size_t size) {
  LinearCalls& linear = driver.simulator->linear();
  absl::StatusOr<DeviceAddress> made = linear.Allocate(ContextOf(context), Bytes(size));
  if (GetDriverCode(made.status()) == DriverCode::kOutOfMemory) {
    driver.simulator->pools().ReleaseUnused();
    made = linear.Allocate(ContextOf(context), Bytes(size));
  }
  if (!made.ok()) return made.status();
  driver.report.AddObject(ObjectKind::kMemory, made->value(), Bytes(size), context.device.value());
  return made->value();
}

}  // namespace

// --- What there is -------------------------------------------------------------------------------

extern "C" CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<MemoryInfo> info = driver.vmm.GetMemoryInfo(context.device);
    if (!info.ok()) return ToResult(info.status());
    if (free != nullptr) *free = info->free.value();
    if (total != nullptr) *total = info->total.value();
    return CUDA_SUCCESS;
  });
}
TWINMMU_ALIAS(cuMemGetInfo, cuMemGetInfo_v2);

extern "C" CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr ptr) {
  const CallSite site = TWINMMU_HERE;
  if (base != nullptr) *base = 0;  // stays, if it fails
  if (size != nullptr) *size = 0;
  // Nothing is asked, for which not even cuInit is needed.
  if (base == nullptr && size == nullptr) return EnterAlways(site, [] { return CUDA_SUCCESS; });
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    return Give(driver.vmm.GetAddressRange(context.device, DeviceAddress(ptr)), base, size);
  });
}
TWINMMU_ALIAS(cuMemGetAddressRange, cuMemGetAddressRange_v2);

// --- Of a device ---------------------------------------------------------------------------------

extern "C" CUresult cuMemAlloc_v2(CUdeviceptr* ptr, size_t size) {
  if (ptr != nullptr) *ptr = 0;  // also where there is no context
  return EnterInContext(TWINMMU_HERE, {ptr}, [&](DriverState& driver, Context& context) {
    return Give(Allocate(driver, context, size), ptr);
  });
}
TWINMMU_ALIAS(cuMemAlloc, cuMemAlloc_v2);

extern "C" CUresult cuMemAllocPitch_v2(CUdeviceptr* ptr, size_t* pitch, size_t width, size_t height,
                                       unsigned int element) {
  return EnterInContext(TWINMMU_HERE, {ptr, pitch}, [&](DriverState& driver, Context& context) {
    const bool is_element = element == 4 || element == 8 || element == 16;
    if (!is_element || width == 0 || height == 0) return ToResult(DriverCode::kInvalidValue);
    if (const Captured unsafe = RefuseUnsafeCall(driver)) return *unsafe;
    const size_t row = (width + kPitchStep - 1) / kPitchStep * kPitchStep;
    if (row < width) return ToResult(DriverCode::kOutOfMemory);
    *pitch = row;  // also if there is not so much memory, as an H200 has it
    if (row > ~size_t{0} / height) return ToResult(DriverCode::kOutOfMemory);
    const absl::StatusOr<CUdeviceptr> made = Allocate(driver, context, row * height);
    if (!made.ok()) return ToResult(made.status());
    *ptr = *made;
    return CUDA_SUCCESS;
  });
}
TWINMMU_ALIAS(cuMemAllocPitch, cuMemAllocPitch_v2);

// The CPU and all devices see it where it is. What is wrong with the arguments comes before cuInit.
extern "C" CUresult cuMemAllocManaged(CUdeviceptr* ptr, size_t size, unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  if (ptr != nullptr) *ptr = 0;
  if (size == 0 || (flags != kAttachGlobal && flags != kAttachHost)) {
    return EnterAlways(site, [] { return DriverCode::kInvalidValue; });
  }
  if (ptr == nullptr) return EnterAlways(site, [&] { return NullPointer(site); });
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<DeviceAddress> made =
        driver.simulator->linear().AllocateManaged(ContextOf(context), Bytes(size), flags);
    if (made.ok()) {
      driver.report.AddObject(ObjectKind::kMemory, made->value(), Bytes(size),
                              context.device.value());
    }
    return Give(made, ptr);
  });
}

extern "C" CUresult cuMemFree_v2(CUdeviceptr ptr) {
  return EnterFree(TWINMMU_HERE, ObjectKind::kMemory, ptr, [&](DriverState& driver) {
    const DeviceAddress address(ptr);
    const std::optional<absl::Status> external = FreeExternalBuffer(driver, address);
    if (external.has_value()) return *external;
    Simulator& simulator = *driver.simulator;
    return simulator.pools().Has(address) ? simulator.pools().FreeNow(address)
                                          : simulator.linear().Free(address);
  });
}
TWINMMU_ALIAS(cuMemFree, cuMemFree_v2);

// --- Of the host ---------------------------------------------------------------------------------

extern "C" CUresult cuMemAllocHost_v2(void** memory, size_t size) {
  return AllocateHost(TWINMMU_HERE, memory, size, 0);
}
TWINMMU_ALIAS(cuMemAllocHost, cuMemAllocHost_v2);

extern "C" CUresult cuMemHostAlloc(void** memory, size_t size, unsigned int flags) {
  return AllocateHost(TWINMMU_HERE, memory, size, flags);
}

extern "C" CUresult cuMemFreeHost(void* memory) {
  return EnterFree(
      TWINMMU_HERE, ObjectKind::kHostMemory, ToNumber(memory),
      [&](DriverState& driver) { return driver.simulator->linear().FreeHost(memory); });
}

extern "C" CUresult cuMemHostRegister_v2(void* memory, size_t size, unsigned int flags) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    const absl::Status registered =
        driver.simulator->linear().RegisterHost(ContextOf(context), memory, Bytes(size), flags);
    if (registered.ok()) {
      driver.report.AddObject(ObjectKind::kRegisteredMemory, ToNumber(memory), Bytes(size));
    }
    return ToResult(registered);
  });
}
TWINMMU_ALIAS(cuMemHostRegister, cuMemHostRegister_v2);

extern "C" CUresult cuMemHostUnregister(void* memory) {
  const CallSite site = TWINMMU_HERE;
  if (memory == nullptr) {
    return Enter(site, [&](DriverState& driver) {
      if (ContextStack().empty()) return ToResult(NullPointer(site));
      return InCurrentContext(site, driver, [](Context&) { return DriverCode::kInvalidValue; });
    });
  }
  return EnterFree(site, ObjectKind::kRegisteredMemory, ToNumber(memory), [&](DriverState& driver) {
    return driver.simulator->linear().UnregisterHost(memory);
  });
}

// The device sees memory of the host where the CPU does.
extern "C" CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* ptr, void* memory,
                                                 unsigned int flags) {
  return EnterInContext(TWINMMU_HERE, {ptr}, [&](DriverState& driver, Context&) {
    if (flags != 0) return ToResult(DriverCode::kInvalidValue);
    const auto found = driver.simulator->linear().Find(DeviceAddress(ToNumber(memory)));
    if (!found.ok()) return ToResult(found.status());
    if (found->managed()) *ptr = 0;
    if (found->on_device() || found->managed()) return ToResult(DriverCode::kInvalidValue);
    *ptr = ToNumber(memory);
    return CUDA_SUCCESS;
  });
}
TWINMMU_ALIAS(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2);

extern "C" CUresult cuMemHostGetFlags(unsigned int* flags, void* memory) {
  const NamedObject none = NamedObject::NullFirst({});
  return EnterInContext(TWINMMU_HERE, none, {flags}, [&](DriverState& driver, Context&) {
    const auto found = driver.simulator->linear().Find(DeviceAddress(ToNumber(memory)));
    if (!found.ok()) return ToResult(found.status());
    const bool of_managed_pool = found->managed() && found->of_pool();
    if (found->on_device() || of_managed_pool) return ToResult(DriverCode::kInvalidValue);
    *flags = found->managed() ? kDeviceMap : found->flags & ~kReadOnly;
    return CUDA_SUCCESS;
  });
}

}  // namespace twinmmu::libcuda
