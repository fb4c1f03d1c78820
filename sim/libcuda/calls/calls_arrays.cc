// Arrays, mipmapped arrays, and the tiles of sparse ones.

#include <algorithm>
#include <vector>

#include "api/sparse_arrays.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

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

SparseArrays& ArraysOf(DriverState& driver) { return **driver.simulator->sparse_arrays(); }

bool IsInside(size_t offset, size_t extent, size_t size) {
  return offset <= size && extent <= size - offset;
}

// A copy between memory of the host and an array, row by row where rows are not packed.
absl::Status Copy3D(DriverState& driver, Stream stream, const CUDA_MEMCPY3D& copy, bool to_array) {
  const Array array(stream.device(), ToNumber(to_array ? copy.dstArray : copy.srcArray));
  const absl::StatusOr<ArrayDescriptor> found = driver.simulator->DescriptorOf(array);
  if (!found.ok()) return found.status();
  const size_t element = ElementSize(*found).value();
  const ArrayExtent offset{to_array ? copy.dstXInBytes : copy.srcXInBytes,
                           to_array ? copy.dstY : copy.srcY, to_array ? copy.dstZ : copy.srcZ};
  const ArrayExtent extent{copy.WidthInBytes, copy.Height, copy.Depth};
  const bool inside = IsInside(offset.x, extent.x, found->extent.x * element) &&
                      IsInside(offset.y, extent.y, std::max<size_t>(found->extent.y, 1)) &&
                      IsInside(offset.z, extent.z, std::max<size_t>(found->extent.z, 1));
  if (!inside) {
    return MakeDriverStatus({DriverCode::kInvalidValue, ErrorOrigin::kSimulator, "cuMemcpy3DAsync"},
                            "the box reaches beyond the array");
  }
  const size_t pitch_asked = to_array ? copy.srcPitch : copy.dstPitch;
  const size_t pitch = pitch_asked == 0 ? copy.WidthInBytes : pitch_asked;
  const size_t height_asked = to_array ? copy.srcHeight : copy.dstHeight;
  const size_t height = height_asked == 0 ? copy.Height : height_asked;
  const size_t first_row =
      to_array ? copy.srcZ * height + copy.srcY : copy.dstZ * height + copy.dstY;
  const size_t first_byte = first_row * pitch + (to_array ? copy.srcXInBytes : copy.dstXInBytes);
  const auto move = [&](const ArrayExtent& at, const ArrayExtent& size, size_t byte) {
    char* const host = to_array ? static_cast<char*>(const_cast<void*>(copy.srcHost))
                                : static_cast<char*>(copy.dstHost);
    return driver.simulator->CopyArrayBytes(stream, array, at, size, host + first_byte + byte,
                                            to_array);
  };
  const bool packed = pitch == copy.WidthInBytes && (height == copy.Height || copy.Depth == 1);
  if (packed) return move(offset, extent, 0);
  for (size_t z = 0; z < extent.z; ++z) {
    for (size_t y = 0; y < extent.y; ++y) {
      const absl::Status moved =
          move({offset.x, offset.y + y, offset.z + z}, {extent.x, 1, 1}, (z * height + y) * pitch);
      if (!moved.ok()) return moved;
    }
  }
  return absl::OkStatus();
}

}  // namespace

extern "C" CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return EnterInContext(TWINMMU_HERE, {array, descriptor},
                        [&](DriverState& driver, Context& context) {
                          Records<ArrayRecord>::Prepared record({&context});
                          const absl::StatusOr<Array> made =
                              ArraysOf(driver).CreateArray(context.device, FromAbi(*descriptor));
                          if (made.ok()) {
                            driver.arrays.arrays.Add(made->value(), std::move(record));
                            driver.report.AddObject(ObjectKind::kArray, made->value(), Bytes(0),
                                                    context.device.value());
                          }
                          return Give(made, array);
                        });
}

extern "C" CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray array) {
  return EnterInContext(TWINMMU_HERE, {descriptor}, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<ArrayDescriptor> found =
        driver.simulator->DescriptorOf(Array(context.device, ToNumber(array)));
    if (!found.ok()) return ToResult(found.status());
    descriptor->Width = found->extent.x;
    descriptor->Height = found->extent.y;
    descriptor->Depth = found->extent.z;
    descriptor->Format = static_cast<cuda_abi::CUarray_format>(found->format);
    descriptor->NumChannels = found->channels;
    descriptor->Flags = found->flags;
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuArrayDestroy(CUarray array) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    const uint64_t id = ToNumber(array);
    const absl::Status destroyed = ArraysOf(driver).DestroyArray(Array(context.device, id));
    if (destroyed.ok() && driver.arrays.arrays.Remove(id)) {
      driver.report.RemoveObject(ObjectKind::kArray, id);
    }
    return ToResult(destroyed);
  });
}

extern "C" CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* properties,
                                               CUarray array) {
  return EnterInContext(TWINMMU_HERE, {properties}, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<SparseProperties> found =
        ArraysOf(driver).GetArraySparseProperties(Array(context.device, ToNumber(array)));
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
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    const uint64_t id = ToNumber(mipmap);
    const absl::Status destroyed =
        ArraysOf(driver).DestroyMipmappedArray(MipmappedArray(context.device, id));
    if (destroyed.ok() && driver.arrays.mipmaps.Remove(id)) {
      driver.report.RemoveObject(ObjectKind::kMipmappedArray, id);
    }
    return ToResult(destroyed);
  });
}

extern "C" CUresult cuMipmappedArrayGetLevel(CUarray* array, CUmipmappedArray mipmap,
                                             unsigned int level) {
  return EnterInContext(TWINMMU_HERE, {array}, [&](DriverState& driver, Context& context) {
    const MipmappedArray whole(context.device, ToNumber(mipmap));
    return Give(ArraysOf(driver).GetLevel(whole, level), array);
  });
}

extern "C" CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* properties,
                                                        CUmipmappedArray mipmap) {
  return EnterInContext(TWINMMU_HERE, {properties}, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<SparseProperties> found =
        ArraysOf(driver).GetMipmappedArraySparseProperties(
            MipmappedArray(context.device, ToNumber(mipmap)));
    if (found.ok()) *properties = ToAbi(*found);
    return ToResult(found.status());
  });
}

extern "C" CUresult cuMemMapArrayAsync(CUarrayMapInfo* list, unsigned int count, CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, [&](DriverState& driver, Context& context) {
    if (count == 0 || count > kMaxOperations) return ToResult(DriverCode::kInvalidValue);
    if (list == nullptr) return ToResult(NullPointer(site));
    std::vector<TileOperation> operations;
    for (unsigned int i = 0; i < count; ++i) {
      if (!IsWellFormed(list[i])) return ToResult(DriverCode::kInvalidValue);
      operations.push_back(FromAbi(list[i], context.device));
    }
    return ToResult(ArraysOf(driver).MapTiles(WorkOf(driver, context, stream), operations));
  });
}
TWINMMU_ALIAS(cuMemMapArrayAsync_ptsz, cuMemMapArrayAsync);

extern "C" CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return EnterInContext(TWINMMU_HERE, {copy}, [&](DriverState& driver, Context& context) {
    const bool to_array = copy->dstMemoryType == cuda_abi::CU_MEMORYTYPE_ARRAY;
    const auto host = to_array ? copy->srcMemoryType : copy->dstMemoryType;
    const auto other = to_array ? copy->dstMemoryType : copy->srcMemoryType;
    const bool covered =
        host == cuda_abi::CU_MEMORYTYPE_HOST && other == cuda_abi::CU_MEMORYTYPE_ARRAY;
    if (!covered) return ToResult(DriverCode::kNotSupported);
    if (copy->srcLOD != 0 || copy->dstLOD != 0) return ToResult(DriverCode::kInvalidValue);
    return ToResult(Copy3D(driver, WorkOf(driver, context, stream), *copy, to_array));
  });
}
TWINMMU_ALIAS(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);

}  // namespace twinmmu::libcuda
