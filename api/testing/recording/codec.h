// Values of the interface as JSON, as they stand in a recording. docs/guide/recordings.md has the
// format.

#ifndef TWINMMU_API_TESTING_RECORDING_CODEC_H_
#define TWINMMU_API_TESTING_RECORDING_CODEC_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "api/allocation.h"
#include "api/attributes.h"
#include "api/multicast.h"
#include "nlohmann/json.hpp"

namespace twinmmu {

// Keys stay in the order in which they were put in, so that a line reads like a call.
using Json = nlohmann::ordered_json;

// The code of a call that did not return, because the process ended in it.
inline constexpr char kProcessEnded[] = "the process ended";

// "device:0", "host", "host_numa:0"; a type without a name is its number, "9:0".
std::string EncodeLocation(const Location& location);
// "none", "read", "read-write", or the number.
std::string EncodeAccess(Access access);
// Without the fields that have their default value.
Json EncodeProperties(const AllocationProperties& properties);
// {"devices":2,"size":2097152}, and what is not 0.
Json EncodeProperties(const MulticastProperties& properties);
Json EncodeGrants(absl::Span<const AccessGrant> grants);
std::string EncodeFabric(const std::array<uint8_t, 64>& fabric);
// The driver's name, or the number.
Json EncodeAttribute(DeviceAttribute attribute);
Json EncodeAttribute(PointerAttribute attribute);

// The text under a key of an object; `other` where there is none.
std::string TextOr(const Json& object, const char* key, const char* other = "");
// `json` itself, where it is a whole number; for what is read as an integer. Throws a
// std::exception otherwise.
const Json& Whole(const Json& json);

// The reverse. They throw a std::exception where the text is not such a value; Player catches it.
Location DecodeLocation(const std::string& text);
Access DecodeAccess(const std::string& text);
AllocationProperties DecodeProperties(const Json& json);
MulticastProperties DecodeMulticastProperties(const Json& json);
std::vector<AccessGrant> DecodeGrants(const Json& json);
std::array<uint8_t, 64> DecodeFabric(const std::string& text);
DeviceAttribute DecodeDeviceAttribute(const Json& json);
PointerAttribute DecodePointerAttribute(const Json& json);

// Content that a program makes from a few numbers: a recording then holds these only. Both
// functions may be empty.
struct KnownContent {
  // nullopt: it is not such content.
  std::function<std::optional<Json>(absl::Span<const uint8_t>)> describe;
  // nullopt: the description is not one of its own.
  std::function<std::optional<std::vector<uint8_t>>(const Json&, size_t size)> make;
};

// Bytes that a program wrote, so that they can be written again: in hexadecimal, or as {"ramp":
// first byte}, {"repeat": byte}, or what `known` says.
Json EncodeWritten(absl::Span<const uint8_t> bytes, const KnownContent& known);
std::vector<uint8_t> DecodeWritten(const Json& json, size_t size, const KnownContent& known);
// Bytes that were read, so that they can be compared: more than 64, of no known kind, as a digest
// (FNV-1a, 64 bits).
Json EncodeRead(absl::Span<const uint8_t> bytes, const KnownContent& known);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_CODEC_H_
