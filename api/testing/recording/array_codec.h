// Values of api/sparse_arrays.h as JSON, as they stand in a recording.

#ifndef TWINMMU_API_TESTING_RECORDING_ARRAY_CODEC_H_
#define TWINMMU_API_TESTING_RECORDING_ARRAY_CODEC_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "api/sparse_arrays.h"
#include "api/testing/recording/codec.h"
#include "api/testing/recording/names.h"

namespace twinmmu {

// [x, y, z].
Json EncodeExtent(const ArrayExtent& extent);
// Without the fields that have their default value, but for the extent.
Json EncodeDescriptor(const ArrayDescriptor& descriptor);
Json EncodeSparseProperties(const SparseProperties& properties);
// Arrays and memory by their names.
Json EncodeOperations(absl::Span<const TileOperation> operations, const Names& names);

// The reverse. They throw a std::exception where the JSON is not such a value; Player catches it.
ArrayExtent DecodeExtent(const Json& json);
ArrayDescriptor DecodeDescriptor(const Json& json);
// What is mapped belongs to `device`: an operation does not say it.
std::vector<TileOperation> DecodeOperations(const Json& json, const Names& names,
                                            DeviceOrdinal device);

// What a box of elements takes. nullopt: more than 64 bits can tell.
std::optional<Bytes> SizeOfBox(Bytes element, const ArrayExtent& extent);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_ARRAY_CODEC_H_
