#include "api/testing/recording/codec.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "api/testing/recording/value_names.h"

namespace twinmmu {
namespace {

constexpr size_t kMostHexBytes = 64;

constexpr ValueName<LocationType> kLocations[] = {
    {LocationType::kDevice, "device"},       {LocationType::kHost, "host"},
    {LocationType::kHostNuma, "host_numa"},  {LocationType::kHostNumaCurrent, "host_numa_current"},
    {LocationType::kInvisible, "invisible"}, {LocationType::kLocalityDomain, "locality_domain"},
};
constexpr ValueName<Access> kAccesses[] = {
    {Access::kNone, "none"}, {Access::kRead, "read"}, {Access::kReadWrite, "read-write"}};

template <typename Attribute>
Json Encode(Attribute attribute, absl::Span<const Attribute> known) {
  if (std::find(known.begin(), known.end(), attribute) != known.end()) return ToString(attribute);
  return static_cast<int>(attribute);
}

template <typename Attribute>
Attribute Decode(const Json& json, absl::Span<const Attribute> known) {
  if (json.is_number()) return static_cast<Attribute>(Whole(json).get<int>());
  const std::string name = json.get<std::string>();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](Attribute attribute) { return ToString(attribute) == name; });
  if (found == known.end()) RefuseText(name, "attribute");
  return *found;
}

std::string Hex(absl::Span<const uint8_t> bytes) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::vector<uint8_t> FromHex(const std::string& text) {
  // absl::HexStringToBytes had another signature up to 2024, which newer ones call deprecated.
  std::vector<uint8_t> bytes(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    std::from_chars(digits, digits + 2, bytes[i], 16);
  }
  return bytes;
}

// nullopt: neither of one byte, nor of bytes that count up.
std::optional<Json> DescribeSimply(absl::Span<const uint8_t> bytes) {
  bool repeats = true;
  bool counts = true;
  for (size_t i = 1; i < bytes.size() && (repeats || counts); ++i) {
    repeats = repeats && bytes[i] == bytes[0];
    counts = counts && bytes[i] == static_cast<uint8_t>(bytes[i - 1] + 1);
  }
  if (repeats) return Json{{"repeat", bytes[0]}};
  if (counts) return Json{{"ramp", bytes[0]}};
  return std::nullopt;
}

// nullopt: only the bytes themselves say what they are.
std::optional<Json> Describe(absl::Span<const uint8_t> bytes, const KnownContent& known) {
  if (bytes.size() <= 8) return Json(Hex(bytes));
  std::optional<Json> described = DescribeSimply(bytes);
  if (described.has_value()) return described;
  if (bytes.size() <= kMostHexBytes) return Json(Hex(bytes));
  return known.describe ? known.describe(bytes) : std::nullopt;
}

}  // namespace

std::string TextOr(const Json& object, const char* key, const char* other) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : other;
}

const Json& Whole(const Json& json) {
  if (!json.is_number_integer()) RefuseText(json.dump(), "whole number");
  return json;
}

std::string EncodeLocation(const Location& location) {
  const std::string type = NameOf(kLocations, location.type);
  const bool has_id =
      location.type != LocationType::kHost && location.type != LocationType::kHostNumaCurrent;
  return has_id || location.id != 0 ? absl::StrCat(type, ":", location.id) : type;
}

Location DecodeLocation(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  Location location;
  location.type = ValueOf(kLocations, parts.first, "location");
  location.id = 0;
  if (!parts.second.empty() && !absl::SimpleAtoi(parts.second, &location.id)) {
    RefuseText(text, "location");
  }
  return location;
}

std::string EncodeAccess(Access access) { return NameOf(kAccesses, access); }
Access DecodeAccess(const std::string& text) { return ValueOf(kAccesses, text, "access"); }

Json EncodeProperties(const AllocationProperties& properties) {
  const AllocationProperties defaults;
  Json json = {{"location", EncodeLocation(properties.location)}};
  const auto put = [&](const char* key, auto value, auto usual) {
    if (value != usual) json[key] = static_cast<uint32_t>(value);
  };
  put("type", properties.type, defaults.type);
  put("handle_types", properties.requested_handle_types, defaults.requested_handle_types);
  put("compression", properties.compression, defaults.compression);
  put("gpu_direct_rdma", properties.gpu_direct_rdma, defaults.gpu_direct_rdma);
  put("usage", properties.usage, defaults.usage);
  return json;
}

AllocationProperties DecodeProperties(const Json& json) {
  AllocationProperties properties;
  properties.location = DecodeLocation(json.at("location"));
  const auto take = [&](const char* key, auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    if (json.contains(key)) field = static_cast<Field>(Whole(json.at(key)).get<uint32_t>());
  };
  take("type", properties.type);
  take("handle_types", properties.requested_handle_types);
  take("compression", properties.compression);
  take("gpu_direct_rdma", properties.gpu_direct_rdma);
  take("usage", properties.usage);
  return properties;
}

Json EncodeProperties(const MulticastProperties& properties) {
  Json json = {{"devices", properties.device_count}, {"size", properties.size.value()}};
  if (properties.handle_types != HandleType::kNone) {
    json["handle_types"] = static_cast<uint32_t>(properties.handle_types);
  }
  if (properties.flags != 0) json["flags"] = properties.flags;
  return json;
}

MulticastProperties DecodeMulticastProperties(const Json& json) {
  const auto number = [&](const char* key) {
    return json.contains(key) ? Whole(json.at(key)).get<uint64_t>() : 0;
  };
  return {Whole(json.at("devices")).get<uint32_t>(), Bytes(number("size")),
          static_cast<HandleType>(number("handle_types")), number("flags")};
}

Json EncodeGrants(absl::Span<const AccessGrant> grants) {
  Json json = Json::array();
  for (const AccessGrant& grant : grants) {
    json.push_back({EncodeLocation(grant.location), EncodeAccess(grant.access)});
  }
  return json;
}

std::vector<AccessGrant> DecodeGrants(const Json& json) {
  std::vector<AccessGrant> grants;
  for (const Json& grant : json) {
    grants.push_back({DecodeLocation(grant.at(0)), DecodeAccess(grant.at(1))});
  }
  return grants;
}

std::string EncodeFabric(const std::array<uint8_t, 64>& fabric) { return Hex(fabric); }

std::array<uint8_t, 64> DecodeFabric(const std::string& text) {
  const std::vector<uint8_t> bytes = FromHex(text);
  std::array<uint8_t, 64> fabric = {};
  std::copy_n(bytes.begin(), std::min(bytes.size(), fabric.size()), fabric.begin());
  return fabric;
}

Json EncodeAttribute(DeviceAttribute attribute) { return Encode(attribute, AllDeviceAttributes()); }
Json EncodeAttribute(PointerAttribute attribute) {
  return Encode(attribute, AllPointerAttributes());
}
DeviceAttribute DecodeDeviceAttribute(const Json& json) {
  return Decode(json, AllDeviceAttributes());
}
PointerAttribute DecodePointerAttribute(const Json& json) {
  return Decode(json, AllPointerAttributes());
}

Json EncodeWritten(absl::Span<const uint8_t> bytes, const KnownContent& known) {
  const std::optional<Json> described = Describe(bytes, known);
  return described.has_value() ? *described : Json(Hex(bytes));
}

std::vector<uint8_t> DecodeWritten(const Json& json, size_t size, const KnownContent& known) {
  std::vector<uint8_t> bytes(size);
  if (json.is_string()) {
    bytes = FromHex(json.get<std::string>());
  } else if (json.contains("repeat")) {
    std::fill(bytes.begin(), bytes.end(), Whole(json.at("repeat")).get<uint8_t>());
  } else if (json.contains("ramp")) {
    uint8_t next = Whole(json.at("ramp")).get<uint8_t>();
    for (uint8_t& byte : bytes) byte = next++;
  } else {
    const auto made = known.make ? known.make(json, size) : std::nullopt;
    if (!made.has_value()) RefuseText(json.dump(), "content that is known here");
    bytes = *made;
  }
  if (bytes.size() != size) RefuseText(json.dump(), "content of that size");
  return bytes;
}

Json EncodeRead(absl::Span<const uint8_t> bytes, const KnownContent& known) {
  const std::optional<Json> described = Describe(bytes, known);
  if (described.has_value()) return *described;
  uint64_t digest = 0xcbf29ce484222325u;
  for (const uint8_t byte : bytes) digest = (digest ^ byte) * 0x100000001b3u;
  return Json{{"digest", absl::StrCat("0x", absl::Hex(digest))}};
}

}  // namespace twinmmu
