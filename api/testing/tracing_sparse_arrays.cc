#include "api/testing/tracing_sparse_arrays.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/testing/trace_text.h"

namespace twinmmu {
namespace {

using trace_text::Arguments;
using trace_text::Flags;
using trace_text::Text;

std::string Described(DeviceOrdinal device, const ArrayDescriptor& descriptor) {
  return absl::StrCat(Arguments(device, descriptor.extent), ", ", descriptor.channels,
                      descriptor.channels == 1 ? " channel" : " channels", " of format ",
                      static_cast<int>(descriptor.format), Flags(descriptor.flags));
}

// "3 x 1 x 1 at 126, 1, 0".
std::string Box(const ArrayExtent& offset, const ArrayExtent& extent) {
  return absl::StrCat(Text(extent), " at ", offset.x, ", ", offset.y, ", ", offset.z);
}

std::string Type(TileOperationType type) {
  if (type == TileOperationType::kMap) return "map";
  if (type == TileOperationType::kUnmap) return "unmap";
  return absl::StrCat("operation ", static_cast<uint32_t>(type));
}

std::string Subresource(const TileOperation& operation) {
  if (operation.subresource == ArraySubresource::kMipTail) {
    const MipTailRange& tail = operation.mip_tail;
    return absl::StrCat(ToString(tail.size), " at ", ToString(tail.offset),
                        " of the mip tail, layer ", tail.layer);
  }
  const bool known = operation.subresource == ArraySubresource::kSparseLevel;
  return absl::StrCat(
      Box(operation.tiles.offset, operation.tiles.extent), " of level ", operation.tiles.level,
      ", layer ", operation.tiles.layer,
      known ? ""
            : absl::StrCat(", subresource type ", static_cast<uint32_t>(operation.subresource)));
}

// "map 128 x 128 x 1 at 0, 0, 0 of level 0, layer 0 of 0x5 to 0x55d0 + 64 KiB".
std::string Operation(const TileOperation& operation) {
  const uint64_t array =
      operation.mipmap.value() != 0 ? operation.mipmap.value() : operation.array.value();
  const bool unmaps = operation.type == TileOperationType::kUnmap;
  const std::string memory = unmaps ? ""
                                    : absl::StrCat(" to ", ToString(operation.memory), " + ",
                                                   ToString(operation.memory_offset));
  const std::string mask =
      operation.device_mask == 1 ? "" : ", device mask " + Text(uint64_t{operation.device_mask});
  return absl::StrCat(Type(operation.type), " ", Subresource(operation), " of ", Text(array),
                      memory, mask, Flags(operation.flags));
}

}  // namespace

absl::StatusOr<Array> TracingSparseArrays::CreateArray(DeviceOrdinal device,
                                                       const ArrayDescriptor& descriptor) {
  return Trace(DriverCall::kCreateArray, Described(device, descriptor),
               [&] { return ForwardingSparseArrays::CreateArray(device, descriptor); });
}

absl::Status TracingSparseArrays::DestroyArray(Array array) {
  return Trace(DriverCall::kDestroyArray, Arguments(array),
               [&] { return ForwardingSparseArrays::DestroyArray(array); });
}

absl::StatusOr<MipmappedArray> TracingSparseArrays::CreateMipmappedArray(
    DeviceOrdinal device, const ArrayDescriptor& descriptor, uint32_t levels) {
  return Trace(
      DriverCall::kCreateMipmappedArray,
      absl::StrCat(Described(device, descriptor), ", ", levels, levels == 1 ? " level" : " levels"),
      [&] { return ForwardingSparseArrays::CreateMipmappedArray(device, descriptor, levels); });
}

absl::Status TracingSparseArrays::DestroyMipmappedArray(MipmappedArray mipmap) {
  return Trace(DriverCall::kDestroyMipmappedArray, Arguments(mipmap),
               [&] { return ForwardingSparseArrays::DestroyMipmappedArray(mipmap); });
}

absl::StatusOr<Array> TracingSparseArrays::GetLevel(MipmappedArray mipmap, uint32_t level) {
  return Trace(DriverCall::kGetLevel, absl::StrCat(Arguments(mipmap), ", level ", level),
               [&] { return ForwardingSparseArrays::GetLevel(mipmap, level); });
}

absl::StatusOr<SparseProperties> TracingSparseArrays::GetArraySparseProperties(Array array) {
  return Trace(DriverCall::kGetArraySparseProperties, Arguments(array),
               [&] { return ForwardingSparseArrays::GetArraySparseProperties(array); });
}

absl::StatusOr<SparseProperties> TracingSparseArrays::GetMipmappedArraySparseProperties(
    MipmappedArray mipmap) {
  return Trace(DriverCall::kGetMipmappedArraySparseProperties, Arguments(mipmap),
               [&] { return ForwardingSparseArrays::GetMipmappedArraySparseProperties(mipmap); });
}

absl::Status TracingSparseArrays::MapTiles(Stream stream,
                                           absl::Span<const TileOperation> operations) {
  const auto append = [](std::string* out, const TileOperation& operation) {
    absl::StrAppend(out, Operation(operation));
  };
  return Trace(DriverCall::kMapTiles,
               absl::StrCat("{", absl::StrJoin(operations, "; ", append), "}, stream ",
                            Text(stream.value())),
               [&] { return ForwardingSparseArrays::MapTiles(stream, operations); });
}

absl::Status TracingSparseArrays::CopyHostToArray(Stream stream, Array array,
                                                  const ArrayExtent& offset,
                                                  const ArrayExtent& extent, const void* source) {
  return Trace(DriverCall::kCopyHostToArray,
               absl::StrCat("host to ", Text(array), ", ", Box(offset, extent), ", stream ",
                            Text(stream.value())),
               [&] {
                 return ForwardingSparseArrays::CopyHostToArray(stream, array, offset, extent,
                                                                source);
               });
}

absl::Status TracingSparseArrays::CopyArrayToHost(Stream stream, void* destination, Array array,
                                                  const ArrayExtent& offset,
                                                  const ArrayExtent& extent) {
  return Trace(DriverCall::kCopyArrayToHost,
               absl::StrCat(Text(array), " to host, ", Box(offset, extent), ", stream ",
                            Text(stream.value())),
               [&] {
                 return ForwardingSparseArrays::CopyArrayToHost(stream, destination, array, offset,
                                                                extent);
               });
}

}  // namespace twinmmu
