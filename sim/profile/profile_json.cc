#include "sim/profile/profile_json.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "api/files/json_text.h"
#include "api/files/limits.h"
#include "api/files/read_file.h"
#include "nlohmann/json.hpp"

namespace twinmmu {
namespace {

using nlohmann::json;

// --- The fields. One list for reading and writing: visit(name, field).

template <typename Visit>
void VisitFields(WindowProfile& window, Visit& visit) {
  visit("claimed", window.claimed);
  visit("base", window.base);
  visit("size", window.size);
}

template <typename Visit>
void VisitFields(HostNodeProfile& node, Visit& visit) {
  visit("node", node.node);
  visit("memory", node.memory);
}

template <typename Visit>
void VisitFields(DeviceProfile& device, Visit& visit) {
  visit("name", device.name);
  visit("memory", device.memory);
  visit("memory_in_use", device.memory_in_use);
  visit("memory_kept_back", device.memory_kept_back);
  visit("attributes", device.attributes);
}

template <typename Visit>
void VisitFields(Quirks& quirks, Visit& visit) {
  for (const QuirkInfo& quirk : AllQuirks()) visit(quirk.name, quirks.*quirk.field);
}

template <typename Visit>
void VisitFields(Profile& profile, Visit& visit) {
  visit("driver_version", profile.driver_version);
  visit("devices", profile);  // a number of devices changes more than this one field
  visit("peers", profile.peers);
  visit("host_nodes", profile.host_nodes);
  visit("minimum_granularity", profile.minimum_granularity);
  visit("recommended_granularity", profile.recommended_granularity);
  visit("reservation_granularity", profile.reservation_granularity);
  visit("reservation_area", profile.reservation_area);
  visit("multicast_minimum_granularity", profile.multicast_minimum_granularity);
  visit("multicast_recommended_granularity", profile.multicast_recommended_granularity);
  visit("multicast_wait_ms", profile.multicast_wait_ms);
  visit("address_bits", profile.address_bits);
  visit("window", profile.window);
  visit("fabric_permitted", profile.fabric_permitted);
  visit("fabric_domain", profile.fabric_domain);
  visit("fabric_channel", profile.fabric_channel);
  visit("compression_granted", profile.compression_granted);
  visit("host_memory_permitted", profile.host_memory_permitted);
  visit("rdma_memory_granted", profile.rdma_memory_granted);
  visit("exporters_visible", profile.exporters_visible);
  visit("memory_returns_late", profile.memory_returns_late);
  visit("mappings_seen_late", profile.mappings_seen_late);
  visit("map_takes_offsets", profile.map_takes_offsets);
  visit("stream_policy", profile.stream_policy);
  visit("stream_seed", profile.stream_seed);
  visit("contraction", profile.contraction);
  visit("kernel_instruction_budget", profile.kernel_instruction_budget);
  visit("wait_budget_ms", profile.wait_budget_ms);
  visit("host_memory_limit", profile.host_memory_limit);
  visit("alias_policy", profile.alias_policy);
  visit("alias_seed", profile.alias_seed);
  visit("alias_boundary", profile.alias_boundary);
  visit("alias_multicast", profile.alias_multicast);
  visit("alias_check", profile.alias_check);
  visit("race_check", profile.race_check);
  visit("init_check", profile.init_check);
  visit("quirks", profile.quirks);
}

// --- Words

std::optional<Bytes> ParseBytes(absl::string_view text) {
  constexpr std::pair<absl::string_view, int> kUnits[] = {
      {" TiB", 40}, {" GiB", 30}, {" MiB", 20}, {" KiB", 10}, {" B", 0}};
  for (const auto& [unit, shift] : kUnits) {
    if (!absl::EndsWith(text, unit)) continue;
    uint64_t number = 0;
    const absl::string_view digits = text.substr(0, text.size() - unit.size());
    const bool fits = absl::SimpleAtoi(digits, &number) &&
                      number <= std::numeric_limits<uint64_t>::max() >> shift;
    return fits ? std::optional(Bytes(number << shift)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<DeviceAttribute> ParseAttribute(const std::string& name) {
  int number = 0;
  if (absl::SimpleAtoi(name, &number)) return static_cast<DeviceAttribute>(number);
  for (const DeviceAttribute known : AllDeviceAttributes()) {
    if (ToString(known) == name) return known;
  }
  return std::nullopt;
}

std::string AttributeKey(DeviceAttribute attribute) {
  const std::string name = ToString(attribute);
  return ParseAttribute(name).has_value() ? name : absl::StrCat(static_cast<int>(attribute));
}

// --- Reading

// Reads into fields that have the base's values. Stops at the first thing that is wrong.
class Reader {
 public:
  const absl::Status& status() const { return status_; }

  template <typename T>
  void ReadObject(const json& value, const std::string& path, T& object,
                  std::set<std::string> known = {}) {
    if (!value.is_object()) return Expected(path, "an object", value);
    const auto visit = [&](const char* name, auto& field) {
      known.insert(name);
      const auto found = value.find(name);
      if (found != value.end() && status_.ok()) Read(*found, Join(path, name), field);
    };
    VisitFields(object, visit);
    for (const auto& [key, unused] : value.items()) {
      if (known.count(key) == 0) Wrong(Join(path, key), "there is no such key");
    }
  }

 private:
  static std::string Join(const std::string& path, const std::string& name) {
    return path.empty() ? name : absl::StrCat(path, ".", name);
  }
  static std::string At(const std::string& path, size_t index) {
    return absl::StrCat(path, "[", index, "]");
  }
  void Wrong(const std::string& path, absl::string_view reason) {
    status_.Update(absl::InvalidArgumentError(
        absl::StrCat("profile: ", path.empty() ? "the whole" : path, ": ", reason)));
  }
  void Expected(const std::string& path, absl::string_view what, const json& value) {
    Wrong(path, absl::StrCat("expected ", what, ", got ",
                             value.dump(-1, ' ', false, json::error_handler_t::replace)));
  }

  void Read(const json& value, const std::string& path, bool& field) {
    if (!value.is_boolean()) return Expected(path, "true or false", value);
    field = value.get<bool>();
  }
  void Read(const json& value, const std::string& path, int& field) {
    const bool fits = value.is_number_integer() &&
                      (value.is_number_unsigned()
                           ? value.get<uint64_t>() <= uint64_t{std::numeric_limits<int>::max()}
                           : value.get<int64_t>() >= std::numeric_limits<int>::min());
    if (!fits) return Expected(path, "a whole number of 32 bits", value);
    field = value.get<int>();
  }
  void Read(const json& value, const std::string& path, uint64_t& field) {
    if (!value.is_number_unsigned()) return Expected(path, "a whole number from 0 on", value);
    field = value.get<uint64_t>();
  }
  template <typename Choice, typename = std::enable_if_t<std::is_enum_v<Choice>>>
  void Read(const json& value, const std::string& path, Choice& field) {
    std::string names;
    const auto all = AllNamed<Choice>();
    for (const Named<Choice>& known : all) {
      if (value == known.name) {
        field = known.value;
        return;
      }
      const char* const before = &known == &all.front()  ? ""
                                 : &known == &all.back() ? " or "
                                                         : ", ";
      absl::StrAppend(&names, before, "\"", known.name, "\"");
    }
    Expected(path, names, value);
  }
  void Read(const json& value, const std::string& path, std::string& field) {
    if (!value.is_string()) return Expected(path, "a string", value);
    field = value.get<std::string>();
  }
  void Read(const json& value, const std::string& path, Bytes& field) {
    std::optional<Bytes> bytes;
    if (value.is_number_unsigned()) bytes = Bytes(value.get<uint64_t>());
    if (value.is_string()) bytes = ParseBytes(value.get_ref<const std::string&>());
    if (!bytes.has_value()) return Expected(path, "a size: bytes, or as \"64 KiB\"", value);
    field = *bytes;
  }
  void Read(const json& value, const std::string& path, DeviceAddress& field) {
    uint64_t number = 0;
    const bool fits = value.is_string() &&
                      absl::StartsWith(value.get_ref<const std::string&>(), "0x") &&
                      absl::SimpleHexAtoi(value.get_ref<const std::string&>(), &number);
    if (!fits) return Expected(path, "an address, as \"0x1000000000\"", value);
    field = DeviceAddress(number);
  }
  void Read(const json& value, const std::string& path, WindowProfile& field) {
    ReadObject(value, path, field);
  }
  void Read(const json& value, const std::string& path, Quirks& field) {
    ReadObject(value, path, field);
  }
  void Read(const json& value, const std::string& path, std::map<DeviceAttribute, int>& field) {
    if (!value.is_object()) return Expected(path, "an object", value);
    for (const auto& [key, number] : value.items()) {
      const std::optional<DeviceAttribute> attribute = ParseAttribute(key);
      if (!attribute.has_value()) return Wrong(Join(path, key), "there is no such attribute");
      if (number.is_null()) {
        field.erase(*attribute);
      } else {
        Read(number, Join(path, key), field[*attribute]);
      }
    }
  }
  void Read(const json& value, const std::string& path, std::vector<HostNodeProfile>& field) {
    if (!value.is_array()) return Expected(path, "a list of nodes", value);
    field.clear();
    for (size_t i = 0; i < value.size(); ++i)
      ReadObject(value[i], At(path, i), field.emplace_back());
  }
  void Read(const json& value, const std::string& path, std::vector<std::vector<bool>>& field) {
    if (value.is_boolean()) {
      for (std::vector<bool>& row : field) row.assign(row.size(), value.get<bool>());
      return;
    }
    if (!value.is_array()) return Expected(path, "true, false or a matrix of them", value);
    field.assign(value.size(), {});
    for (size_t i = 0; i < value.size(); ++i) {
      if (!value[i].is_array()) return Expected(At(path, i), "a row of the matrix", value[i]);
      for (size_t j = 0; j < value[i].size(); ++j) {
        bool reaches = false;
        Read(value[i][j], At(At(path, i), j), reaches);
        field[i].push_back(reaches);
      }
    }
  }
  void Read(const json& value, const std::string& path, Profile& profile) {
    constexpr int kMany = 1000;  // more than any machine has; Validate knows the limit
    const bool list = value.is_array() && value.size() < kMany;
    const bool count = value.is_number_unsigned() && value.get<uint64_t>() < kMany;
    if (!list && !count) return Expected(path, "a number of devices, or a list of them", value);
    profile.SetDeviceCount(list ? static_cast<int>(value.size()) : value.get<int>());
    if (!list) return;
    for (size_t i = 0; i < value.size(); ++i) {
      ReadObject(value[i], At(path, i), profile.devices[i]);
    }
  }

  absl::Status status_;
};

// --- Writing

class Writer {
 public:
  template <typename T>
  static json ObjectOf(T object) {
    json written = json::object();
    const auto visit = [&](const char* name, auto& field) { written[name] = Write(field); };
    VisitFields(object, visit);
    return written;
  }

 private:
  static json Write(bool value) { return value; }
  static json Write(int value) { return value; }
  static json Write(uint64_t value) { return value; }
  template <typename Choice, typename = std::enable_if_t<std::is_enum_v<Choice>>>
  static json Write(Choice value) {
    for (const Named<Choice>& known : AllNamed<Choice>()) {
      if (value == known.value) return known.name;
    }
    return nullptr;  // not of a valid profile
  }
  static json Write(const std::string& value) { return value; }
  static json Write(Bytes value) { return ToString(value); }
  static json Write(DeviceAddress value) { return ToString(value); }
  static json Write(const WindowProfile& value) { return ObjectOf(value); }
  static json Write(const Quirks& value) { return ObjectOf(value); }
  static json Write(const std::map<DeviceAttribute, int>& value) {
    json written = json::object();
    const Profile base = Profile::ReferenceH200();
    for (const auto& [attribute, unused] : base.devices[0].attributes) {
      written[AttributeKey(attribute)] = nullptr;
    }
    for (const auto& [attribute, number] : value) written[AttributeKey(attribute)] = number;
    return written;
  }
  static json Write(const std::vector<HostNodeProfile>& value) {
    json written = json::array();
    for (const HostNodeProfile& node : value) written.push_back(ObjectOf(node));
    return written;
  }
  static json Write(const std::vector<std::vector<bool>>& value) { return value; }
  static json Write(const Profile& profile) {
    json written = json::array();
    for (const DeviceProfile& device : profile.devices) written.push_back(ObjectOf(device));
    return written;
  }
};

}  // namespace

absl::StatusOr<Profile> ParseProfile(absl::string_view text) {
  absl::StatusOr<json> parsed = ParseJson<json>(text);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("profile: no JSON: ", parsed.status().message()));
  }
  // A program's first call may come when memory is short.
  const absl::Cleanup clear = [&] { ClearJson(&*parsed); };
  const json& value = *parsed;
  std::string base = "reference";
  if (value.is_object() && value.contains("base")) {
    if (!value["base"].is_string()) {
      return absl::InvalidArgumentError("profile: base: expected the name of a profile");
    }
    base = value["base"].get<std::string>();
  }
  absl::StatusOr<Profile> profile = Profile::Named(base);
  if (!profile.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("profile: base: ", profile.status().message()));
  }
  Reader reader;
  reader.ReadObject(value, "", *profile, {"base"});
  absl::Status status = reader.status();
  if (status.ok()) status = profile->Validate();
  if (!status.ok()) return status;
  return profile;
}

std::string ToJson(const Profile& profile) { return Writer::ObjectOf(profile).dump(2); }

absl::StatusOr<Profile> LoadProfile(const std::string& name_or_file) {
  if (!absl::EndsWith(name_or_file, ".json")) return Profile::Named(name_or_file);
  const absl::StatusOr<std::string> text = ReadFile(name_or_file, kMaxDocument);
  if (!text.ok()) return text.status();
  absl::StatusOr<Profile> profile = ParseProfile(*text);
  if (profile.ok()) return profile;
  return absl::InvalidArgumentError(absl::StrCat(name_or_file, ": ", profile.status().message()));
}

}  // namespace twinmmu
