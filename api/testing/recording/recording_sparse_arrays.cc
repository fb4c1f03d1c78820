#include "api/testing/recording/recording_sparse_arrays.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/testing/forwarding.h"
#include "api/testing/recording/array_codec.h"

namespace twinmmu {
namespace {

constexpr auto kNoResult = [](LineWriter&, const auto&) {};
constexpr auto kProperties = [](LineWriter& line, const auto& properties) {
  line.Put("properties", EncodeSparseProperties(*properties));
};

class RecordingSparseArrays : public ForwardingSparseArrays {
 public:
  RecordingSparseArrays(SparseArrays* target, RecordingLog* log)
      : ForwardingSparseArrays(target), log_(*log) {}

  absl::StatusOr<Array> CreateArray(DeviceOrdinal device,
                                    const ArrayDescriptor& descriptor) override {
    return log_.Record(
        "CreateArray",
        [&](LineWriter& line) { line.Put("descriptor", EncodeDescriptor(descriptor)).Put(device); },
        [&] { return ForwardingSparseArrays::CreateArray(device, descriptor); },
        [&](LineWriter& line, const auto& array) {
          elements_[array->value()] = ElementSize(descriptor);
          line.Put("array", line.names().Add(Names::kArray, array->value()));
        });
  }
  absl::Status DestroyArray(Array array) override {
    return log_.Record(
        "DestroyArray", [&](LineWriter& line) { line.Put("array", Names::kArray, array); },
        [&] { return ForwardingSparseArrays::DestroyArray(array); }, kNoResult);
  }
  absl::StatusOr<MipmappedArray> CreateMipmappedArray(DeviceOrdinal device,
                                                      const ArrayDescriptor& descriptor,
                                                      uint32_t levels) override {
    return log_.Record(
        "CreateMipmappedArray",
        [&](LineWriter& line) {
          line.Put("descriptor", EncodeDescriptor(descriptor)).Put("levels", levels).Put(device);
        },
        [&] { return ForwardingSparseArrays::CreateMipmappedArray(device, descriptor, levels); },
        [&](LineWriter& line, const auto& mipmap) {
          mipmaps_[mipmap->value()] = {ElementSize(descriptor), {}};
          line.Put("mipmap", line.names().Add(Names::kMipmappedArray, mipmap->value()));
        });
  }
  absl::Status DestroyMipmappedArray(MipmappedArray mipmap) override {
    return log_.Record(
        "DestroyMipmappedArray", [&](LineWriter& line) { Put(line, mipmap); },
        [&] { return ForwardingSparseArrays::DestroyMipmappedArray(mipmap); }, kNoResult);
  }
  absl::StatusOr<Array> GetLevel(MipmappedArray mipmap, uint32_t level) override {
    return log_.Record(
        "GetLevel",
        [&](LineWriter& line) {
          Put(line, mipmap);
          line.Put("level", level);
        },
        [&] { return ForwardingSparseArrays::GetLevel(mipmap, level); },
        [&](LineWriter& line, const auto& array) {
          line.Put("array", NameOfLevel(line.names(), mipmap, level, *array));
        });
  }

  absl::StatusOr<SparseProperties> GetArraySparseProperties(Array array) override {
    return log_.Record(
        "GetArraySparseProperties",
        [&](LineWriter& line) { line.Put("array", Names::kArray, array); },
        [&] { return ForwardingSparseArrays::GetArraySparseProperties(array); }, kProperties);
  }
  absl::StatusOr<SparseProperties> GetMipmappedArraySparseProperties(
      MipmappedArray mipmap) override {
    return log_.Record(
        "GetMipmappedArraySparseProperties", [&](LineWriter& line) { Put(line, mipmap); },
        [&] { return ForwardingSparseArrays::GetMipmappedArraySparseProperties(mipmap); },
        kProperties);
  }

  absl::Status MapTiles(Stream stream, absl::Span<const TileOperation> operations) override {
    return log_.Record(
        "MapTiles",
        [&](LineWriter& line) {
          line.Put("operations", EncodeOperations(operations, line.names())).Put(stream);
        },
        [&] { return ForwardingSparseArrays::MapTiles(stream, operations); }, kNoResult);
  }

  absl::Status CopyHostToArray(Stream stream, Array array, const ArrayExtent& offset,
                               const ArrayExtent& extent, const void* source) override {
    std::optional<Bytes> size;
    return log_.Record(
        "CopyHostToArray",
        [&](LineWriter& line) { size = PutBox(line, stream, array, offset, extent, source); },
        [&] {
          return ForwardingSparseArrays::CopyHostToArray(stream, array, offset, extent, source);
        },
        // Where it was refused, there may not be as much at `source`.
        [&](LineWriter& line, const absl::Status&) {
          if (!size.has_value()) return;
          const absl::Span<const uint8_t> bytes(static_cast<const uint8_t*>(source),
                                                static_cast<size_t>(size->value()));
          line.Put("data", EncodeWritten(bytes, log_.known_content()));
        });
  }
  absl::Status CopyArrayToHost(Stream stream, void* destination, Array array,
                               const ArrayExtent& offset, const ArrayExtent& extent) override {
    std::optional<Bytes> size;
    return log_.Record(
        "CopyArrayToHost",
        [&](LineWriter& line) { size = PutBox(line, stream, array, offset, extent, destination); },
        [&] {
          return ForwardingSparseArrays::CopyArrayToHost(stream, destination, array, offset,
                                                         extent);
        },
        [&](LineWriter&, const absl::Status&) {
          if (size.has_value()) log_.Await(stream, destination, *size);
        });
  }

 private:
  struct Mipmap {
    Bytes element;
    std::map<uint32_t, uint64_t> levels;  // the arrays that name them
  };

  static void Put(LineWriter& line, MipmappedArray mipmap) {
    line.Put("mipmap", Names::kMipmappedArray, mipmap);
  }

  // A level has one name, however often it is asked for. A driver may give its value to another
  // array when the mipmapped one is gone: so the names do not suffice.
  std::string NameOfLevel(Names& names, MipmappedArray mipmap, uint32_t level, Array array) {
    Mipmap& known = mipmaps_[mipmap.value()];
    elements_[array.value()] = known.element;
    const auto [found, is_new] = known.levels.emplace(level, array.value());
    const std::string name = names.Of(Names::kArray, array.value());
    const bool is_known = !is_new && found->second == array.value() && name[0] == Names::kArray;
    found->second = array.value();
    return is_known ? name : names.Add(Names::kArray, array.value());
  }

  // The bytes at `host`, where there are any that this can tell.
  std::optional<Bytes> PutBox(LineWriter& line, Stream stream, Array array,
                              const ArrayExtent& offset, const ArrayExtent& extent,
                              const void* host) const {
    line.Put("array", line.names().Of(Names::kArray, array.value()));
    if (array.device() != stream.device()) line.Put("array_device", array.device().value());
    line.Put("offset", EncodeExtent(offset)).Put("extent", EncodeExtent(extent)).Put(stream);
    line.PutNonzero("null", host == nullptr ? 1 : 0);
    const auto element = elements_.find(array.value());
    if (element == elements_.end() || element->second == Bytes(0)) return std::nullopt;
    const std::optional<Bytes> size = SizeOfBox(element->second, extent);
    if (!size.has_value() || host == nullptr) return std::nullopt;
    line.Put("size", size->value());
    return size == Bytes(0) ? std::nullopt : size;
  }

  RecordingLog& log_;
  // By value, also of those that are gone. Used with the log locked.
  std::map<uint64_t, Bytes> elements_;
  std::map<uint64_t, Mipmap> mipmaps_;
};

}  // namespace

std::unique_ptr<SparseArrays> MakeRecordingSparseArrays(SparseArrays* target, RecordingLog* log) {
  return std::make_unique<RecordingSparseArrays>(target, log);
}

}  // namespace twinmmu
