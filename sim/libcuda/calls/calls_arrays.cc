// Arrays, mipmapped arrays, and the tiles of sparse ones.

#include <optional>
#include <vector>

#include "api/sparse_arrays.h"
#include "sim/libcuda/calls/boxes.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/of_thread.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::libcuda {
namespace {

// More entries than that are no list, whatever lies there.
constexpr unsigned int kMaxOperations = 1u << 20;

ArrayDescriptor FromAbi(const CUDA_ARRAY3D_DESCRIPTOR& from) {
  ArrayDescriptor descriptor;
  descriptor.extent = {from.Width, from.Height, from.Depth};
  descriptor.format = static_cast<ArrayFormat>(from.Format);
  descriptor.channels = from.NumChannels;
  descriptor.flags = from.Flags;
  return descriptor;
}

CUDA_ARRAY_SPARSE_PROPERTIES ToAbi(const SparseProperties& from) {
  CUDA_ARRAY_SPARSE_PROPERTIES properties = {};
  properties.tileExtent.width = static_cast<unsigned int>(from.tile.x);
  properties.tileExtent.height = static_cast<unsigned int>(from.tile.y);
  properties.tileExtent.depth = static_cast<unsigned int>(from.tile.z);
  properties.miptailFirstLevel = from.mip_tail_level;
  properties.miptailSize = from.mip_tail_size.value();
  properties.flags = from.single_mip_tail ? cuda_abi::CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL : 0;
  return properties;
}

bool IsWellFormed(const CUarrayMapInfo& info) {
  const bool of_array = info.resourceType == cuda_abi::CU_RESOURCE_TYPE_ARRAY ||
                        info.resourceType == cuda_abi::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  return of_array && info.memHandleType == cuda_abi::CU_MEM_HANDLE_TYPE_GENERIC &&
         info.reserved[0] == 0 && info.reserved[1] == 0;
}

TileOperation FromAbi(const CUarrayMapInfo& info, DeviceOrdinal device) {
  TileOperation operation;
  if (info.resourceType == cuda_abi::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    operation.mipmap = MipmappedArray(device, ToNumber(info.resource.mipmap));
  } else {
    operation.array = Array(device, ToNumber(info.resource.array));
  }
  operation.subresource = static_cast<ArraySubresource>(info.subresourceType);
  if (operation.subresource == ArraySubresource::kMipTail) {
    const auto& tail = info.subresource.miptail;
    operation.mip_tail = {tail.layer, Bytes(tail.offset), Bytes(tail.size)};
  } else {
    const auto& level = info.subresource.sparseLevel;
    operation.tiles = {level.level,
                       level.layer,
                       {level.offsetX, level.offsetY, level.offsetZ},
                       {level.extentWidth, level.extentHeight, level.extentDepth}};
  }
  operation.type = static_cast<TileOperationType>(info.memOperationType);
  operation.memory = AllocationHandle(info.memHandle.memHandle);
  operation.memory_offset = Bytes(info.offset);
  operation.device_mask = info.deviceBitMask;
  operation.flags = info.flags;
  return operation;
}

ArrayDescriptor FromAbi(const CUDA_ARRAY_DESCRIPTOR& from) {
  ArrayDescriptor descriptor;
  descriptor.extent = {from.Width, from.Height, 0};
  descriptor.format = static_cast<ArrayFormat>(from.Format);
  descriptor.channels = from.NumChannels;
  descriptor.flags = 0;
  return descriptor;
}

SparseArrays& ArraysOf(DriverState& driver) { return **driver.simulator->sparse_arrays(); }

template <typename Description>
CUresult Create(const CallSite& site, CUarray* array, const Description* descriptor) {
  return EnterInContext(site, {array, descriptor}, [&](DriverState& driver, Context& context) {
    Records<ArrayRecord>::Prepared record({&context});
    const absl::StatusOr<Array> made =
        ArraysOf(driver).CreateArray(context.device, FromAbi(*descriptor));
    if (made.ok()) {
      driver.arrays.arrays.Add(made->value(), std::move(record));
      driver.report.AddObject(ObjectKind::kArray, made->value(), Bytes(0), context.device.value());
    }
    return Give(made, array);
  });
}

// take(descriptor), which is that of an array.
template <typename Take>
CUresult GetDescriptor(const CallSite& site, const void* result, CUarray array, const Take& take) {
  return EnterWithHandle(site, array, {result}, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<ArrayDescriptor> found =
        driver.simulator->DescriptorOf(ArrayOf(driver, context, array));
    return found.ok() ? ToResult(take(*found)) : ToResult(found.status());
  });
}

// For questions about an array or a mipmapped array, of which none is INVALID_VALUE.
template <typename Handle, typename Body>
CUresult EnterToAskOf(const CallSite& site, Handle handle, const void* result, const Body& body) {
  if (handle == nullptr) return RefuseAnywhere(site, DriverCode::kInvalidValue);
  return EnterInAnyContext(site, handle, {result}, body);
}

CUresult TellNeeds(const absl::StatusOr<Bytes>& size,
                   CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements) {
  constexpr size_t kAlignment = size_t{64} << 10;
  if (size.ok()) *requirements = {size->value(), kAlignment, {}};
  return ToResult(size.status());
}

// For calls about a mipmapped array: one that exists needs no current context. Source: an H200 with
// driver 580.159.
template <typename Body>
CUresult EnterWithMipmap(const CallSite& site, CUmipmappedArray mipmap, Needed needed,
                         const Body& body) {
  return Enter(site, [&](DriverState& driver) {
    if (mipmap == nullptr) return ToResult(DriverCode::kInvalidHandle);
    const uint64_t id = ToNumber(mipmap);
    std::optional<DeviceOrdinal> device = driver.simulator->DeviceOfMipmappedArray(id);
    if (!device.has_value()) {
      Context* context = nullptr;
      const DriverCode usable = CurrentContext(site, &context);
      if (usable != DriverCode::kSuccess) return ToResult(usable);
      device = context->device;
    }
    const CUresult fault = FaultOf(site, driver);
    if (fault != CUDA_SUCCESS) return fault;
    const DriverCode code = CheckNeeded(site, needed);
    if (code != DriverCode::kSuccess) return ToResult(code);
    return ToResult(body(driver, MipmappedArray(*device, id)));
  });
}

}  // namespace

extern "C" CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return Create(TWINMMU_HERE, array, descriptor);
}
TWINMMU_ALIAS(cuArray3DCreate, cuArray3DCreate_v2);

extern "C" CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  return Create(TWINMMU_HERE, array, descriptor);
}
TWINMMU_ALIAS(cuArrayCreate, cuArrayCreate_v2);

extern "C" CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray array) {
  return GetDescriptor(TWINMMU_HERE, descriptor, array, [&](const ArrayDescriptor& found) {
    descriptor->Width = found.extent.x;
    descriptor->Height = found.extent.y;
    descriptor->Depth = found.extent.z;
    descriptor->Format = static_cast<cuda_abi::CUarray_format>(found.format);
    descriptor->NumChannels = found.channels;
    descriptor->Flags = found.flags;
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuArray3DGetDescriptor, cuArray3DGetDescriptor_v2);

extern "C" CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray array) {
  return GetDescriptor(TWINMMU_HERE, descriptor, array, [&](const ArrayDescriptor& found) {
    descriptor->Width = found.extent.x;
    descriptor->Height = found.extent.y;
    descriptor->Format = static_cast<cuda_abi::CUarray_format>(found.format);
    descriptor->NumChannels = found.channels;
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuArrayGetDescriptor, cuArrayGetDescriptor_v2);

// Of arrays of deferred mapping.
extern "C" CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements,
                                                 CUarray array, CUdevice) {
  return EnterToAskOf(
      TWINMMU_HERE, array, requirements, [&](DriverState& driver, Context& context) {
        return TellNeeds(driver.simulator->MemoryNeededBy(ArrayOf(driver, context, array)),
                         requirements);
      });
}

extern "C" CUresult cuMipmappedArrayGetMemoryRequirements(
    CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements, CUmipmappedArray mipmap, CUdevice) {
  return EnterToAskOf(
      TWINMMU_HERE, mipmap, requirements, [&](DriverState& driver, Context& context) {
        return TellNeeds(driver.simulator->MemoryNeededBy(MipmapOf(driver, context, mipmap)),
                         requirements);
      });
}

// Only formats of several planes have planes, and none of these is simulated.
extern "C" CUresult cuArrayGetPlane(CUarray* plane, CUarray array, unsigned int) {
  return GetDescriptor(TWINMMU_HERE, plane, array,
                       [](const ArrayDescriptor&) { return DriverCode::kInvalidValue; });
}

extern "C" CUresult cuArrayDestroy(CUarray array) {
  return EnterWithHandle(TWINMMU_HERE, array, {}, [&](DriverState& driver, Context& context) {
    const uint64_t id = ToNumber(array);
    const absl::Status destroyed = ArraysOf(driver).DestroyArray(ArrayOf(driver, context, array));
    if (destroyed.ok() && driver.arrays.arrays.Remove(id)) {
      driver.report.RemoveObject(ObjectKind::kArray, id);
    }
    return ToResult(destroyed);
  });
}

extern "C" CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* properties,
                                               CUarray array) {
  return EnterToAskOf(TWINMMU_HERE, array, properties, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<SparseProperties> found =
        ArraysOf(driver).GetArraySparseProperties(ArrayOf(driver, context, array));
    if (found.ok()) *properties = ToAbi(*found);
    return ToResult(found.status());
  });
}

extern "C" CUresult cuMipmappedArrayCreate(CUmipmappedArray* mipmap,
                                           const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                                           unsigned int levels) {
  return EnterInContext(
      TWINMMU_HERE, {mipmap, descriptor}, [&](DriverState& driver, Context& context) {
        Records<ArrayRecord>::Prepared record({&context});
        const absl::StatusOr<MipmappedArray> made =
            ArraysOf(driver).CreateMipmappedArray(context.device, FromAbi(*descriptor), levels);
        if (!made.ok()) return ToResult(made.status());
        driver.arrays.mipmaps.Add(made->value(), std::move(record));
        driver.report.AddObject(ObjectKind::kMipmappedArray, made->value(), Bytes(0),
                                context.device.value());
        *mipmap = ToPointer<CUmipmappedArray>(made->value());
        return CUDA_SUCCESS;
      });
}

extern "C" CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmap) {
  return EnterWithMipmap(TWINMMU_HERE, mipmap, {}, [&](DriverState& driver, MipmappedArray whole) {
    if (const Captured unsafe = RefuseUnsafeCall(driver)) return *unsafe;
    const absl::Status destroyed = ArraysOf(driver).DestroyMipmappedArray(whole);
    if (destroyed.ok() && driver.arrays.mipmaps.Remove(whole.value())) {
      driver.report.RemoveObject(ObjectKind::kMipmappedArray, whole.value());
    }
    return ToResult(destroyed);
  });
}

extern "C" CUresult cuMipmappedArrayGetLevel(CUarray* array, CUmipmappedArray mipmap,
                                             unsigned int level) {
  return EnterWithMipmap(TWINMMU_HERE, mipmap, {array},
                         [&](DriverState& driver, MipmappedArray whole) {
                           return Give(ArraysOf(driver).GetLevel(whole, level), array);
                         });
}

extern "C" CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* properties,
                                                        CUmipmappedArray mipmap) {
  return EnterToAskOf(TWINMMU_HERE, mipmap, properties, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<SparseProperties> found =
        ArraysOf(driver).GetMipmappedArraySparseProperties(MipmapOf(driver, context, mipmap));
    if (found.ok()) *properties = ToAbi(*found);
    return ToResult(found.status());
  });
}

extern "C" CUresult cuMemMapArrayAsync(CUarrayMapInfo* list, unsigned int count, CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  if (count == 0 || list == nullptr) {  // without a context, too
    return Enter(site, [&](DriverState&) {
      return count == 0 ? DriverCode::kInvalidValue : NullPointer(site);
    });
  }
  return EnterInContext(site, stream, {}, [&](DriverState& driver, Context& context) {
    if (count > kMaxOperations) return ToResult(DriverCode::kInvalidValue);
    std::vector<TileOperation> operations;
    for (unsigned int i = 0; i < count; ++i) {
      if (!IsWellFormed(list[i])) return ToResult(DriverCode::kInvalidValue);
      operations.push_back(FromAbi(list[i], context.device));
    }
    return ToResult(ArraysOf(driver).MapTiles(WorkOf(driver, context, stream), operations));
  });
}
TWINMMU_OF_THREAD(cuMemMapArrayAsync_ptsz, cuMemMapArrayAsync,
                  (CUarrayMapInfo * list, unsigned int count, CUstream stream), list, count,
                  OfThread(stream))

}  // namespace twinmmu::libcuda
