// Pools that several processes use: one makes the memory, others import the pool and its pieces.
// Source of the codes: an H100 with driver 580.159.

#include <cstring>
#include <optional>

#include "sim/calls/pools/pool_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/given_descriptor.h"

namespace twinmmu::libcuda {

extern "C" CUresult cuMemPoolExportToShareableHandle(void* handle, CUmemoryPool pool,
                                                     CUmemAllocationHandleType type,
                                                     unsigned long long flags) {
  return Enter(TWINMMU_HERE, {handle}, [&](DriverState& driver) {
    if (flags != 0) return ToResult(DriverCode::kInvalidValue);
    const absl::StatusOr<int> descriptor =
        driver.simulator->pools().Export(ToNumber(pool), static_cast<HandleType>(type));
    if (descriptor.ok()) GiveDescriptor(driver, *descriptor, handle);
    return ToResult(descriptor.status());
  });
}

// A descriptor is passed as a number in the place of the pointer.
extern "C" CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle,
                                                       CUmemAllocationHandleType type,
                                                       unsigned long long flags) {
  if (pool != nullptr) *pool = nullptr;  // stays, if it fails
  return Enter(TWINMMU_HERE, {pool}, [&](DriverState& driver) {
    if (flags != 0) return ToResult(DriverCode::kInvalidValue);
    const int descriptor = static_cast<int>(reinterpret_cast<intptr_t>(handle));
    const absl::StatusOr<uint64_t> made =
        driver.simulator->pools().Import(descriptor, static_cast<HandleType>(type));
    if (!made.ok()) return ToResult(made.status());
    driver.report.AddObject(ObjectKind::kPool, *made);
    *pool = ToPointer<CUmemoryPool>(*made);
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr ptr) {
  return Enter(TWINMMU_HERE, {data}, [&](DriverState& driver) {
    const absl::StatusOr<PoolPartData> part =
        driver.simulator->pools().ExportPiece(DeviceAddress(ptr));
    if (part.ok()) std::memcpy(data->reserved, part->data(), part->size());
    return ToResult(part.status());
  });
}

extern "C" CUresult cuMemPoolImportPointer(CUdeviceptr* ptr, CUmemoryPool pool,
                                           CUmemPoolPtrExportData* data) {
  if (ptr != nullptr) *ptr = 0;  // stays, if it fails
  return Enter(TWINMMU_HERE, {ptr, data}, [&](DriverState& driver) {
    PoolPartData part;
    std::memcpy(part.data(), data->reserved, part.size());
    PoolCalls& pools = driver.simulator->pools();
    const auto made = pools.ImportPiece(ToNumber(pool), part);
    if (!made.ok()) return ToResult(made.status());
    const std::optional<PooledPiece> piece = pools.Find(made->address);
    if (made->is_new && piece.has_value()) {
      driver.report.AddObject(ObjectKind::kMemory, made->address.value(), piece->range.size);
    }
    *ptr = made->address.value();
    return CUDA_SUCCESS;
  });
}

}  // namespace twinmmu::libcuda
