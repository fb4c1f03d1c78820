#include "backend/cuda_sparse_arrays.h"

#include <vector>

#include "backend/abi.h"
#include "backend/call_driver.h"

namespace twinmmu {
namespace {

cuda_abi::CUDA_ARRAY3D_DESCRIPTOR ToDriver(const ArrayDescriptor& descriptor) {
  cuda_abi::CUDA_ARRAY3D_DESCRIPTOR result = {};
  result.Width = descriptor.extent.x;
  result.Height = descriptor.extent.y;
  result.Depth = descriptor.extent.z;
  result.Format = static_cast<cuda_abi::CUarray_format>(descriptor.format);
  result.NumChannels = descriptor.channels;
  result.Flags = descriptor.flags;
  return result;
}

SparseProperties FromDriver(const cuda_abi::CUDA_ARRAY_SPARSE_PROPERTIES& properties) {
  SparseProperties result;
  result.tile = {properties.tileExtent.width, properties.tileExtent.height,
                 properties.tileExtent.depth};
  result.mip_tail_level = properties.miptailFirstLevel;
  result.mip_tail_size = Bytes(properties.miptailSize);
  result.single_mip_tail =
      (properties.flags & cuda_abi::CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL) != 0;
  return result;
}

// The driver's fields have 32 bits. What does not fit becomes the largest number, which is beyond
// every array, and not another position.
unsigned int Narrow(uint64_t value) { return value > ~0u ? ~0u : static_cast<unsigned int>(value); }

cuda_abi::CUarrayMapInfo ToDriver(const TileOperation& operation) {
  cuda_abi::CUarrayMapInfo info = {};
  if (operation.mipmap.value() != 0) {
    info.resourceType = cuda_abi::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    info.resource.mipmap = ToAbi(operation.mipmap);
  } else {
    info.resourceType = cuda_abi::CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = ToAbi(operation.array);
  }
  info.subresourceType = static_cast<cuda_abi::CUarraySparseSubresourceType>(operation.subresource);
  if (operation.subresource == ArraySubresource::kMipTail) {
    const MipTailRange& tail = operation.mip_tail;
    info.subresource.miptail = {tail.layer, tail.offset.value(), tail.size.value()};
  } else {
    const TileRange& tiles = operation.tiles;
    info.subresource.sparseLevel = {tiles.level,
                                    tiles.layer,
                                    Narrow(tiles.offset.x),
                                    Narrow(tiles.offset.y),
                                    Narrow(tiles.offset.z),
                                    Narrow(tiles.extent.x),
                                    Narrow(tiles.extent.y),
                                    Narrow(tiles.extent.z)};
  }
  info.memOperationType = static_cast<cuda_abi::CUmemOperationType>(operation.type);
  info.memHandleType = cuda_abi::CU_MEM_HANDLE_TYPE_GENERIC;
  info.memHandle.memHandle = operation.memory.value();
  info.offset = operation.memory_offset.value();
  info.deviceBitMask = operation.device_mask;
  info.flags = operation.flags;
  return info;
}

}  // namespace

absl::StatusOr<Array> CudaSparseArrays::CreateArray(DeviceOrdinal device,
                                                    const ArrayDescriptor& descriptor) {
  const cuda_abi::CUDA_ARRAY3D_DESCRIPTOR wanted = ToDriver(descriptor);
  cuda_abi::CUarray array = nullptr;
  const absl::Status status = CallOn<Symbol::cuArray3DCreate>(contexts_, device, &array, &wanted);
  if (!status.ok()) return status;
  return Array(device, FromAbi(array));
}

absl::Status CudaSparseArrays::DestroyArray(Array array) {
  return CallOn<Symbol::cuArrayDestroy>(contexts_, array.device(), array);
}

absl::StatusOr<MipmappedArray> CudaSparseArrays::CreateMipmappedArray(
    DeviceOrdinal device, const ArrayDescriptor& descriptor, uint32_t levels) {
  const cuda_abi::CUDA_ARRAY3D_DESCRIPTOR wanted = ToDriver(descriptor);
  cuda_abi::CUmipmappedArray mipmap = nullptr;
  const absl::Status status =
      CallOn<Symbol::cuMipmappedArrayCreate>(contexts_, device, &mipmap, &wanted, levels);
  if (!status.ok()) return status;
  return MipmappedArray(device, FromAbi(mipmap));
}

absl::Status CudaSparseArrays::DestroyMipmappedArray(MipmappedArray mipmap) {
  return CallOn<Symbol::cuMipmappedArrayDestroy>(contexts_, mipmap.device(), mipmap);
}

absl::StatusOr<Array> CudaSparseArrays::GetLevel(MipmappedArray mipmap, uint32_t level) {
  cuda_abi::CUarray array = nullptr;
  const absl::Status status =
      CallOn<Symbol::cuMipmappedArrayGetLevel>(contexts_, mipmap.device(), &array, mipmap, level);
  if (!status.ok()) return status;
  return Array(mipmap.device(), FromAbi(array));
}

absl::StatusOr<SparseProperties> CudaSparseArrays::GetArraySparseProperties(Array array) {
  cuda_abi::CUDA_ARRAY_SPARSE_PROPERTIES properties = {};
  const absl::Status status =
      CallOn<Symbol::cuArrayGetSparseProperties>(contexts_, array.device(), &properties, array);
  if (!status.ok()) return status;
  return FromDriver(properties);
}

absl::StatusOr<SparseProperties> CudaSparseArrays::GetMipmappedArraySparseProperties(
    MipmappedArray mipmap) {
  cuda_abi::CUDA_ARRAY_SPARSE_PROPERTIES properties = {};
  const absl::Status status = CallOn<Symbol::cuMipmappedArrayGetSparseProperties>(
      contexts_, mipmap.device(), &properties, mipmap);
  if (!status.ok()) return status;
  return FromDriver(properties);
}

absl::Status CudaSparseArrays::MapTiles(Stream stream, absl::Span<const TileOperation> operations) {
  std::vector<cuda_abi::CUarrayMapInfo> list;
  list.reserve(operations.size());
  for (const TileOperation& operation : operations) list.push_back(ToDriver(operation));
  return CallOn<Symbol::cuMemMapArrayAsync>(contexts_, stream.device(), list.data(),
                                            static_cast<unsigned int>(list.size()), stream);
}

absl::StatusOr<Bytes> CudaSparseArrays::ElementSizeOf(Array array) {
  cuda_abi::CUDA_ARRAY3D_DESCRIPTOR found = {};
  const absl::Status status =
      CallOn<Symbol::cuArray3DGetDescriptor>(contexts_, array.device(), &found, array);
  if (!status.ok()) return status;
  ArrayDescriptor descriptor;
  descriptor.format = static_cast<ArrayFormat>(found.Format);
  descriptor.channels = found.NumChannels;
  return ElementSize(descriptor);
}

absl::Status CudaSparseArrays::CopyHostToArray(Stream stream, Array array,
                                               const ArrayExtent& offset, const ArrayExtent& extent,
                                               const void* source) {
  const absl::StatusOr<Bytes> element = ElementSizeOf(array);
  if (!element.ok()) return element.status();
  cuda_abi::CUDA_MEMCPY3D copy = {};
  copy.WidthInBytes = extent.x * element->value();
  copy.Height = extent.y;
  copy.Depth = extent.z;
  copy.srcMemoryType = cuda_abi::CU_MEMORYTYPE_HOST;
  copy.srcHost = source;
  copy.srcPitch = copy.WidthInBytes;
  copy.srcHeight = extent.y;
  copy.dstMemoryType = cuda_abi::CU_MEMORYTYPE_ARRAY;
  copy.dstArray = ToAbi(array);
  copy.dstXInBytes = offset.x * element->value();
  copy.dstY = offset.y;
  copy.dstZ = offset.z;
  const cuda_abi::CUDA_MEMCPY3D* const passed = &copy;
  return CallOn<Symbol::cuMemcpy3DAsync>(contexts_, stream.device(), passed, stream);
}

absl::Status CudaSparseArrays::CopyArrayToHost(Stream stream, void* destination, Array array,
                                               const ArrayExtent& offset,
                                               const ArrayExtent& extent) {
  const absl::StatusOr<Bytes> element = ElementSizeOf(array);
  if (!element.ok()) return element.status();
  cuda_abi::CUDA_MEMCPY3D copy = {};
  copy.WidthInBytes = extent.x * element->value();
  copy.Height = extent.y;
  copy.Depth = extent.z;
  copy.srcMemoryType = cuda_abi::CU_MEMORYTYPE_ARRAY;
  copy.srcArray = ToAbi(array);
  copy.srcXInBytes = offset.x * element->value();
  copy.srcY = offset.y;
  copy.srcZ = offset.z;
  copy.dstMemoryType = cuda_abi::CU_MEMORYTYPE_HOST;
  copy.dstHost = destination;
  copy.dstPitch = copy.WidthInBytes;
  copy.dstHeight = extent.y;
  const cuda_abi::CUDA_MEMCPY3D* const passed = &copy;
  return CallOn<Symbol::cuMemcpy3DAsync>(contexts_, stream.device(), passed, stream);
}

}  // namespace twinmmu
