// The calls of SparseArrays that a Player makes.

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/testing/recording/arguments.h"
#include "api/testing/recording/array_codec.h"
#include "api/testing/recording/player.h"

namespace twinmmu {
namespace {

// Of four channels of 32 bits.
constexpr Bytes kLargestElement(16);

}  // namespace

absl::Status Player::MakeOnSparseArrays(const std::string& call, const Json& line) {
  static constexpr const char* kCalls[] = {"CreateArray",
                                           "DestroyArray",
                                           "CreateMipmappedArray",
                                           "DestroyMipmappedArray",
                                           "GetLevel",
                                           "GetArraySparseProperties",
                                           "CopyHostToArray",
                                           "CopyArrayToHost",
                                           "GetMipmappedArraySparseProperties",
                                           "MapTiles"};
  if (std::find(std::begin(kCalls), std::end(kCalls), call) == std::end(kCalls)) {
    throw std::invalid_argument(absl::StrCat("there is no call \"", call, "\""));
  }
  const absl::StatusOr<SparseArrays*> offered = driver_.sparse_arrays();
  if (!offered.ok()) return offered.status();
  SparseArrays& arrays = **offered;
  const auto array = [&] { return Array(Device(line), Value(Names::kArray, line, "array")); };
  const auto mipmap = [&] {
    return MipmappedArray(Device(line), Value(Names::kMipmappedArray, line, "mipmap"));
  };
  if (call == "CreateArray") {
    (void)arrays.CreateArray(Device(line), DecodeDescriptor(line.at("descriptor")));
  } else if (call == "DestroyArray") {
    (void)arrays.DestroyArray(array());
  } else if (call == "CreateMipmappedArray") {
    (void)arrays.CreateMipmappedArray(Device(line), DecodeDescriptor(line.at("descriptor")),
                                      static_cast<uint32_t>(Number(line, "levels")));
  } else if (call == "DestroyMipmappedArray") {
    (void)arrays.DestroyMipmappedArray(mipmap());
  } else if (call == "GetLevel") {
    (void)arrays.GetLevel(mipmap(), static_cast<uint32_t>(Number(line, "level")));
  } else if (call == "GetArraySparseProperties") {
    (void)arrays.GetArraySparseProperties(array());
  } else if (call == "GetMipmappedArraySparseProperties") {
    (void)arrays.GetMipmappedArraySparseProperties(mipmap());
  } else if (call == "MapTiles") {
    const Stream stream = StreamOf(line);
    (void)arrays.MapTiles(
        stream, DecodeOperations(line.at("operations"), driver_.names(), stream.device()));
  } else {
    CopyOfArray(arrays, line, call == "CopyHostToArray");
  }
  return absl::OkStatus();
}

// How much a driver copies follows from the array and not from the line, so there is room for
// elements of any size. A box for which that is too much is refused, as null is.
void Player::CopyOfArray(SparseArrays& arrays, const Json& line, bool to_array) {
  const Stream stream = StreamOf(line);
  const Array array(Device(line, line.contains("array_device") ? "array_device" : "device"),
                    Value(Names::kArray, line, "array"));
  const ArrayExtent offset = DecodeExtent(line.at("offset"));
  const ArrayExtent extent = DecodeExtent(line.at("extent"));
  const std::optional<Bytes> room = SizeOfBox(kLargestElement, extent);
  uint8_t* host = nullptr;
  if (!line.contains("null") && room.has_value() && *room <= kMostBytes) {
    buffers_.push_back(ZeroedBuffer(*room));
    host = buffers_.back().get();
    if (to_array && line.contains("data")) {
      const Bytes size(Number(line, "size"));
      if (size > *room) throw std::invalid_argument("the size is more than the box can have");
      const std::vector<uint8_t> bytes =
          DecodeWritten(line.at("data"), static_cast<size_t>(size.value()), known_content_);
      std::copy(bytes.begin(), bytes.end(), host);
    }
  }
  if (to_array) {
    (void)arrays.CopyHostToArray(stream, array, offset, extent, host);
  } else {
    (void)arrays.CopyArrayToHost(stream, host, array, offset, extent);
  }
}

}  // namespace twinmmu
