#include "api/testing/trace_text.h"

namespace twinmmu::trace_text {
namespace {

// Flags are to be 0; nothing then.
std::string FlagsText(uint64_t flags) { return flags == 0 ? "" : ", flags " + Text(flags); }

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
                      memory, mask, FlagsText(operation.flags));
}

}  // namespace

std::string Text(const ReserveOptions& options) {
  std::string text;
  if (options.alignment != Bytes(0)) {
    absl::StrAppend(&text, ", alignment ", ToString(options.alignment));
  }
  if (options.hint != DeviceAddress()) absl::StrAppend(&text, ", hint ", ToString(options.hint));
  absl::StrAppend(&text, FlagsText(options.flags));
  return text.substr(text.empty() ? 0 : 2);
}

std::string Text(const FillPattern& pattern) {
  return absl::StrCat(Text(uint64_t{pattern.value}), " of ", ToString(pattern.width));
}

std::string Text(const LaunchConfig& config) {
  const auto sides = [](const Dim3& size) {
    return absl::StrCat(size.x, " x ", size.y, " x ", size.z);
  };
  return absl::StrCat("grid ", sides(config.grid), ", block ", sides(config.block),
                      config.dynamic_shared_bytes == 0
                          ? ""
                          : absl::StrCat(", ", config.dynamic_shared_bytes, " B shared"),
                      config.programmatic_stream_serialization ? ", may start early" : "");
}

std::string Text(const MulticastProperties& properties) {
  const bool shared = properties.handle_types != HandleType::kNone;
  return absl::StrCat(ToString(properties.size), " of ", properties.device_count,
                      properties.device_count == 1 ? " device" : " devices",
                      shared ? ", " + ToString(properties.handle_types) : "",
                      FlagsText(properties.flags));
}

std::string Text(const ArrayDescriptor& descriptor) {
  return absl::StrCat(Text(descriptor.extent), ", ", descriptor.channels,
                      descriptor.channels == 1 ? " channel" : " channels", " of format ",
                      static_cast<int>(descriptor.format), FlagsText(descriptor.flags));
}

std::string Text(absl::Span<const TileOperation> operations) {
  const auto append = [](std::string* out, const TileOperation& operation) {
    absl::StrAppend(out, Operation(operation));
  };
  return absl::StrCat("{", absl::StrJoin(operations, "; ", append), "}");
}

void ArgumentWriter::Add(absl::string_view text) {
  if (!text.empty()) absl::StrAppend(&text_, text_.empty() ? "" : ", ", text);
}

void ArgumentWriter::Put(absl::string_view name, Bytes value) {
  const bool is_offset = name == "offset" || name == "memory_offset";
  Add(absl::StrCat(is_offset ? "offset " : "", ToString(value)));
}

void ArgumentWriter::Put(absl::string_view name, uint64_t value) {
  if (name != "flags") return Add(absl::StrCat(value));
  if (value != 0) Add(absl::StrCat("flags ", Text(value)));
}

void ArgumentWriter::Put(absl::string_view name, uint32_t value) {
  if (name == "level") return Add(absl::StrCat("level ", value));
  Add(absl::StrCat(value, " ", value == 1 ? name.substr(0, name.size() - 1) : name));
}

void ArgumentWriter::Put(absl::string_view name, absl::string_view value) {
  Add(name == "ptx" ? absl::StrCat(ToString(Bytes(value.size())), " of PTX")
                    : Text(std::string(value)));
}

// Of two, the position comes after the size.
void ArgumentWriter::Put(absl::string_view name, const ArrayExtent& value) {
  if (name == "offset") {
    offset_ = value;
  } else {
    Add(Box(offset_, value));
  }
}

}  // namespace twinmmu::trace_text
