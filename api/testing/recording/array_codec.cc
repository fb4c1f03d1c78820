#include "api/testing/recording/array_codec.h"

#include <cstdint>
#include <stdexcept>
#include <string>

#include "api/testing/recording/arguments.h"
#include "api/testing/recording/value_names.h"

namespace twinmmu {
namespace {

constexpr ValueName<ArrayFormat> kFormats[] = {
    {ArrayFormat::kUint8, "uint8"},   {ArrayFormat::kUint16, "uint16"},
    {ArrayFormat::kUint32, "uint32"}, {ArrayFormat::kInt8, "int8"},
    {ArrayFormat::kInt16, "int16"},   {ArrayFormat::kInt32, "int32"},
    {ArrayFormat::kHalf, "half"},     {ArrayFormat::kFloat, "float"},
};
constexpr ValueName<TileOperationType> kOperations[] = {{TileOperationType::kMap, "map"},
                                                        {TileOperationType::kUnmap, "unmap"}};

void PutUnless(Json& json, const char* key, uint64_t value, uint64_t usual) {
  if (value != usual) json[key] = value;
}

uint32_t Number32(const Json& json, const char* key, uint32_t usual) {
  return json.contains(key) ? Whole(json.at(key)).get<uint32_t>() : usual;
}

Json EncodeTiles(const TileRange& tiles) {
  Json json = Json::object();
  PutUnless(json, "level", tiles.level, 0);
  PutUnless(json, "layer", tiles.layer, 0);
  json["offset"] = EncodeExtent(tiles.offset);
  json["extent"] = EncodeExtent(tiles.extent);
  return json;
}

TileRange DecodeTiles(const Json& json) {
  return {Number32(json, "level", 0), Number32(json, "layer", 0), DecodeExtent(json.at("offset")),
          DecodeExtent(json.at("extent"))};
}

Json EncodeMipTail(const MipTailRange& tail) {
  Json json = Json::object();
  PutUnless(json, "layer", tail.layer, 0);
  PutUnless(json, "offset", tail.offset.value(), 0);
  json["size"] = tail.size.value();
  return json;
}

MipTailRange DecodeMipTail(const Json& json) {
  return {Number32(json, "layer", 0), Bytes(Number(json, "offset")), Bytes(Number(json, "size"))};
}

Json EncodeOperation(const TileOperation& operation, const Names& names) {
  Json json = {{"type", NameOf(kOperations, operation.type)}};
  if (operation.mipmap.value() != 0) {
    json["mipmap"] = names.Of(Names::kMipmappedArray, operation.mipmap.value());
  } else {
    json["array"] = names.Of(Names::kArray, operation.array.value());
  }
  if (operation.subresource == ArraySubresource::kMipTail) {
    json["mip_tail"] = EncodeMipTail(operation.mip_tail);
  } else {
    // One that does not exist is told apart by its number.
    PutUnless(json, "subresource", static_cast<uint32_t>(operation.subresource), 0);
    json["tiles"] = EncodeTiles(operation.tiles);
  }
  if (operation.memory.value() != 0) {
    json["memory"] = names.Of(Names::kHandle, operation.memory.value());
  }
  PutUnless(json, "memory_offset", operation.memory_offset.value(), 0);
  PutUnless(json, "device_mask", operation.device_mask, 1);
  PutUnless(json, "flags", operation.flags, 0);
  return json;
}

TileOperation DecodeOperation(const Json& json, const Names& names, DeviceOrdinal device) {
  const auto value = [&](Names::Kind kind, const char* key) -> uint64_t {
    return json.contains(key) ? OrThrow(names.Value(kind, json.at(key).get<std::string>())) : 0;
  };
  TileOperation operation;
  operation.type = ValueOf(kOperations, json.at("type").get<std::string>(), "operation");
  operation.mipmap = MipmappedArray(device, value(Names::kMipmappedArray, "mipmap"));
  operation.array = Array(device, value(Names::kArray, "array"));
  if (json.contains("mip_tail")) {
    operation.subresource = ArraySubresource::kMipTail;
    operation.mip_tail = DecodeMipTail(json.at("mip_tail"));
  } else {
    operation.subresource = static_cast<ArraySubresource>(Number32(json, "subresource", 0));
    operation.tiles = DecodeTiles(json.at("tiles"));
  }
  operation.memory = AllocationHandle(value(Names::kHandle, "memory"));
  operation.memory_offset = Bytes(Number(json, "memory_offset"));
  operation.device_mask = Number32(json, "device_mask", 1);
  operation.flags = Number32(json, "flags", 0);
  return operation;
}

}  // namespace

Json EncodeExtent(const ArrayExtent& extent) { return Json{extent.x, extent.y, extent.z}; }

ArrayExtent DecodeExtent(const Json& json) {
  const auto side = [&](size_t i) { return Whole(json.at(i)).get<uint64_t>(); };
  return {side(0), side(1), side(2)};
}

Json EncodeDescriptor(const ArrayDescriptor& descriptor) {
  const ArrayDescriptor usual;
  Json json = {{"extent", EncodeExtent(descriptor.extent)}};
  if (descriptor.format != usual.format) json["format"] = NameOf(kFormats, descriptor.format);
  PutUnless(json, "channels", descriptor.channels, usual.channels);
  PutUnless(json, "flags", descriptor.flags, usual.flags);
  return json;
}

ArrayDescriptor DecodeDescriptor(const Json& json) {
  ArrayDescriptor descriptor;
  descriptor.extent = DecodeExtent(json.at("extent"));
  if (json.contains("format")) {
    descriptor.format = ValueOf(kFormats, json.at("format").get<std::string>(), "format");
  }
  descriptor.channels = Number32(json, "channels", descriptor.channels);
  descriptor.flags = Number32(json, "flags", descriptor.flags);
  return descriptor;
}

Json EncodeSparseProperties(const SparseProperties& properties) {
  return Json{{"tile", EncodeExtent(properties.tile)},
              {"mip_tail_level", properties.mip_tail_level},
              {"mip_tail_size", properties.mip_tail_size.value()},
              {"single_mip_tail", properties.single_mip_tail}};
}

Json EncodeOperations(absl::Span<const TileOperation> operations, const Names& names) {
  Json json = Json::array();
  for (const TileOperation& operation : operations) {
    json.push_back(EncodeOperation(operation, names));
  }
  return json;
}

std::vector<TileOperation> DecodeOperations(const Json& json, const Names& names,
                                            DeviceOrdinal device) {
  if (!json.is_array()) throw std::invalid_argument("the operations are not a list");
  std::vector<TileOperation> operations;
  for (const Json& operation : json) {
    operations.push_back(DecodeOperation(operation, names, device));
  }
  return operations;
}

std::optional<Bytes> SizeOfBox(Bytes element, const ArrayExtent& extent) {
  uint64_t size = element.value();
  for (const uint64_t side : {extent.x, extent.y, extent.z}) {
    if (__builtin_mul_overflow(size, side, &size)) return std::nullopt;
  }
  return Bytes(size);
}

}  // namespace twinmmu
