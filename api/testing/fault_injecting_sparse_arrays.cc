#include "api/testing/fault_injecting_sparse_arrays.h"

namespace twinmmu {

template <typename F>
auto FaultInjectingSparseArrays::Call(DriverCall kind, const F& call) -> decltype(call()) {
  absl::Status injected = faults_.Ask(kind);
  if (!injected.ok()) return injected;
  return call();
}

absl::StatusOr<Array> FaultInjectingSparseArrays::CreateArray(DeviceOrdinal device,
                                                              const ArrayDescriptor& descriptor) {
  return Call(DriverCall::kCreateArray,
              [&] { return ForwardingSparseArrays::CreateArray(device, descriptor); });
}

absl::Status FaultInjectingSparseArrays::DestroyArray(Array array) {
  return Call(DriverCall::kDestroyArray,
              [&] { return ForwardingSparseArrays::DestroyArray(array); });
}

absl::StatusOr<MipmappedArray> FaultInjectingSparseArrays::CreateMipmappedArray(
    DeviceOrdinal device, const ArrayDescriptor& descriptor, uint32_t levels) {
  return Call(DriverCall::kCreateMipmappedArray, [&] {
    return ForwardingSparseArrays::CreateMipmappedArray(device, descriptor, levels);
  });
}

absl::Status FaultInjectingSparseArrays::DestroyMipmappedArray(MipmappedArray mipmap) {
  return Call(DriverCall::kDestroyMipmappedArray,
              [&] { return ForwardingSparseArrays::DestroyMipmappedArray(mipmap); });
}

absl::StatusOr<Array> FaultInjectingSparseArrays::GetLevel(MipmappedArray mipmap, uint32_t level) {
  return Call(DriverCall::kGetLevel,
              [&] { return ForwardingSparseArrays::GetLevel(mipmap, level); });
}

absl::StatusOr<SparseProperties> FaultInjectingSparseArrays::GetArraySparseProperties(Array array) {
  return Call(DriverCall::kGetArraySparseProperties,
              [&] { return ForwardingSparseArrays::GetArraySparseProperties(array); });
}

absl::StatusOr<SparseProperties> FaultInjectingSparseArrays::GetMipmappedArraySparseProperties(
    MipmappedArray mipmap) {
  return Call(DriverCall::kGetMipmappedArraySparseProperties,
              [&] { return ForwardingSparseArrays::GetMipmappedArraySparseProperties(mipmap); });
}

absl::Status FaultInjectingSparseArrays::MapTiles(Stream stream,
                                                  absl::Span<const TileOperation> operations) {
  return Call(DriverCall::kMapTiles,
              [&] { return ForwardingSparseArrays::MapTiles(stream, operations); });
}

absl::Status FaultInjectingSparseArrays::CopyHostToArray(Stream stream, Array array,
                                                         const ArrayExtent& offset,
                                                         const ArrayExtent& extent,
                                                         const void* source) {
  return Call(DriverCall::kCopyHostToArray, [&] {
    return ForwardingSparseArrays::CopyHostToArray(stream, array, offset, extent, source);
  });
}

absl::Status FaultInjectingSparseArrays::CopyArrayToHost(Stream stream, void* destination,
                                                         Array array, const ArrayExtent& offset,
                                                         const ArrayExtent& extent) {
  return Call(DriverCall::kCopyArrayToHost, [&] {
    return ForwardingSparseArrays::CopyArrayToHost(stream, destination, array, offset, extent);
  });
}

}  // namespace twinmmu
