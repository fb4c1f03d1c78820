// Profiles as JSON: a few lines make one, a wrong value is refused with its path, and back.

#include "sim/profile/profile_json.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

std::string Complaint(const std::string& json) {
  const auto profile = ParseProfile(json);
  EXPECT_THAT(profile, StatusIs(absl::StatusCode::kInvalidArgument)) << json;
  return std::string(profile.status().message());
}

// What is left out is as in the base.
TEST(ProfileJsonTest, ChangesTheBase) {
  const auto profile = ParseProfile(R"({
    "base": "reference", "devices": 4, "peers": false,
    "recommended_granularity": "4 MiB", "quirks": {"fill_size_wraps": false}})");
  ASSERT_THAT(profile, IsOk());
  EXPECT_EQ(profile->device_count(), 4);
  EXPECT_EQ(profile->devices[3].name, "NVIDIA H200");
  EXPECT_FALSE(profile->peers[3][0]);
  EXPECT_EQ(profile->recommended_granularity, MiB(4));
  EXPECT_EQ(profile->minimum_granularity, MiB(2));
  EXPECT_FALSE(profile->quirks.fill_size_wraps);
  EXPECT_TRUE(profile->quirks.unmap_passes_over_holes);
}

// Devices may differ from each other, attributes go by name or number, and null takes one away.
TEST(ProfileJsonTest, DescribesDevices) {
  const auto profile = ParseProfile(R"({"devices": [{}, {
    "name": "small", "memory": 17179869184, "memory_in_use": "1 GiB",
    "attributes": {"GENERIC_COMPRESSION_SUPPORTED": 0, "75": 8, "124": null}}]})");
  ASSERT_THAT(profile, IsOk());
  const DeviceProfile& device = profile->devices[1];
  EXPECT_EQ(device.name, "small");
  EXPECT_EQ(device.memory, GiB(16));
  EXPECT_EQ(device.attributes.at(DeviceAttribute::kComputeCapabilityMajor), 8);
  EXPECT_FALSE(profile->Supports(DeviceAttribute::kGenericCompressionSupported, 1));
  EXPECT_EQ(device.attributes.count(DeviceAttribute::kDmaBufSupported), 0u);
  EXPECT_EQ(profile->devices[0].name, "NVIDIA H200");
}

// Every named profile comes back from its JSON as it was.
TEST(ProfileJsonTest, ComesBackFromItsJson) {
  for (const NamedProfile& named : NamedProfiles()) {
    const std::string json = ToJson(named.make());
    const auto back = ParseProfile(json);
    ASSERT_THAT(back, IsOk()) << named.name;
    EXPECT_EQ(ToJson(*back), json);
  }
}

// The JSON of a profile tells each of its fields: changing one changes the JSON.
TEST(ProfileJsonTest, TellsTheDifferenceOfProfiles) {
  const Profile reference = Profile::ReferenceH200(2);
  for (const QuirkInfo& quirk : AllQuirks()) {
    Profile other = reference;
    other.quirks.*quirk.field = false;
    EXPECT_NE(ToJson(other), ToJson(reference)) << quirk.name;
    EXPECT_FALSE((*ParseProfile(ToJson(other))).quirks.*quirk.field) << quirk.name;
  }
  for (const auto& known : AllNamed<StreamPolicy>()) {
    Profile other = reference;
    other.stream_policy = known.value;
    other.stream_seed = ~uint64_t{0};
    other.kernel_instruction_budget = 7;
    other.wait_budget_ms = 8;
    EXPECT_EQ(ParseProfile(ToJson(other))->stream_policy, known.value) << known.name;
    EXPECT_EQ(ParseProfile(ToJson(other))->stream_seed, other.stream_seed);
    EXPECT_EQ(ParseProfile(ToJson(other))->kernel_instruction_budget, 7u);
    EXPECT_EQ(ParseProfile(ToJson(other))->wait_budget_ms, 8u);
  }
  for (const auto& known : AllNamed<coherence::Policy>()) {
    Profile other = reference;
    other.alias_policy = known.value;
    other.alias_seed = ~uint64_t{0};
    other.alias_boundary = coherence::BoundaryMode::kPtx;
    other.alias_multicast = coherence::MulticastMode::kStrict;
    other.alias_check = false;
    other.race_check = true;
    other.init_check = true;
    EXPECT_EQ(ParseProfile(ToJson(other))->alias_policy, known.value) << known.name;
    EXPECT_EQ(ParseProfile(ToJson(other))->alias_seed, other.alias_seed);
    EXPECT_EQ(ParseProfile(ToJson(other))->alias_boundary, coherence::BoundaryMode::kPtx);
    EXPECT_EQ(ParseProfile(ToJson(other))->alias_multicast, coherence::MulticastMode::kStrict);
    EXPECT_FALSE(ParseProfile(ToJson(other))->alias_check);
    EXPECT_TRUE(ParseProfile(ToJson(other))->race_check);
    EXPECT_TRUE(ParseProfile(ToJson(other))->init_check);
  }
  Profile other = reference;
  other.fabric_domain = "/domain";
  other.fabric_channel = 7;
  EXPECT_EQ(ParseProfile(ToJson(other))->fabric_domain, "/domain");
  EXPECT_EQ(ParseProfile(ToJson(other))->fabric_channel, 7);
  other.compression_granted = false;
  EXPECT_FALSE(ParseProfile(ToJson(other))->compression_granted);
  other.host_memory_permitted = false;
  EXPECT_FALSE(ParseProfile(ToJson(other))->host_memory_permitted);
  other.rdma_memory_granted = false;
  EXPECT_FALSE(ParseProfile(ToJson(other))->rdma_memory_granted);
  other.exporters_visible = false;
  EXPECT_FALSE(ParseProfile(ToJson(other))->exporters_visible);
  other.memory_returns_late = true;
  EXPECT_TRUE(ParseProfile(ToJson(other))->memory_returns_late);
  other.mappings_seen_late = true;
  EXPECT_TRUE(ParseProfile(ToJson(other))->mappings_seen_late);
  other.reservation_area = MiB(64);
  EXPECT_EQ(ParseProfile(ToJson(other))->reservation_area, MiB(64));
  other.contraction = Contraction::kNever;
  EXPECT_EQ(ParseProfile(ToJson(other))->contraction, Contraction::kNever);
  other.devices[1].attributes.clear();
  EXPECT_TRUE(ParseProfile(ToJson(other))->devices[1].attributes.empty());
}

// Each of these is wrong in one place, and the message has its path and the reason.
// A number that no double holds, and nesting deep enough to overflow the stack.
TEST(ProfileJsonTest, RefusesWhatIsMadeToHarm) {
  EXPECT_THAT(Complaint(R"({"driver_version": 1e400})"), HasSubstr("number overflow"));
  const std::string deep = std::string(52'000, '[') + std::string(52'000, ']');
  EXPECT_THAT(Complaint(absl::StrCat("{\"peers\": ", deep, "}")), HasSubstr("more than 64 deep"));
}

TEST(ProfileJsonTest, RefusesWithPathAndReason) {
  for (const auto& [json, complaint] : {
           std::pair("{", "no JSON"),
           std::pair("[]", "the whole: expected an object, got []"),
           std::pair(R"({"base": 1})", "base: expected the name"),
           std::pair(R"({"base": "b200"})", "base: there is no profile \"b200\"; there are ref"),
           std::pair(R"({"device": 1})", "device: there is no such key"),
           std::pair(R"({"devices": -1})", "devices: expected a number of devices"),
           std::pair(R"({"devices": 99})", "devices: 99 devices are more than 15"),
           std::pair(R"({"devices": [{"memory": "5 GB"}]})", "devices[0].memory: expected a size"),
           std::pair(R"({"devices": [{"memory": -1}]})", "devices[0].memory: expected a size"),
           std::pair(R"({"devices": [{"memory": "99999999 TiB"}]})", "devices[0].memory"),
           std::pair(R"({"devices": [{}, {"attributes": {"VMM": 1}}]})",
                     "devices[1].attributes.VMM: there is no such attribute"),
           std::pair(R"({"devices": [{"attributes": {"102": true}}]})",
                     "devices[0].attributes.102: expected a whole number"),
           std::pair(R"({"peers": [[true, 1], [true, true]]})", "peers[0][1]: expected true or"),
           std::pair(R"({"peers": [[true]]})", "peers: the matrix is not 2 by 2"),
           std::pair(R"({"quirks": {"x": true}})", "quirks.x: there is no such key"),
           std::pair(R"({"quirks": false})", "quirks: expected an object, got false"),
           std::pair(R"({"driver_version": 1e99})", "driver_version: expected a whole number"),
           std::pair(R"({"address_bits": 4294967343})", "address_bits: expected a whole number"),
           std::pair(R"({"window": {"base": "16 TiB"}})", "window.base: expected an address"),
           std::pair(R"({"window": {"size": "3 KiB"}})", "window.size: 3 KiB is not a multiple"),
           std::pair(R"({"minimum_granularity": "3 MiB"})", "minimum_granularity: 3 MiB is not"),
           std::pair(R"({"stream_policy": "lazy"})", "stream_policy: expected \"eager\", \"def"),
           std::pair(R"({"stream_policy": 1})", "stream_policy: expected \"eager\""),
           std::pair(R"({"alias_policy": "fresh"})", "alias_policy: expected \"coherent\", \"st"),
           std::pair(R"({"alias_multicast": 1})", "alias_multicast: expected \"guide\" or \"str"),
           std::pair(R"({"alias_boundary": true})", "alias_boundary: expected \"guide\" or \"ptx"),
           std::pair(R"({"contraction": true})", "contraction: expected \"driver\" or \"never\""),
           std::pair(R"({"stream_seed": -1})", "stream_seed: expected a whole number from 0"),
           std::pair(R"({"host_nodes": [{"node": "0"}]})", "host_nodes[0].node: expected"),
           std::pair(R"({"fabric_domain": "here"})", "fabric_domain: \"here\" is not empty, nor"),
           std::pair(R"({"fabric_domain": "/a\u0000b"})", "fabric_domain"),
           std::pair(R"({"fabric_channel": -1})", "fabric_channel: -1 is not in 0 .. 2047"),
           std::pair(R"({"fabric_channel": 2048})", "fabric_channel: 2048 is not in"),
       }) {
    EXPECT_THAT(Complaint(json), HasSubstr(absl::StrCat("profile: ", complaint)));
  }
}

// A profile is loaded by name, or from a file whose name the complaint begins with.
TEST(ProfileJsonTest, LoadsByNameOrFile) {
  EXPECT_EQ(LoadProfile("eight-devices")->device_count(), 8);
  EXPECT_THAT(LoadProfile("b200"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(LoadProfile("/nonexistent.json"), StatusIs(absl::StatusCode::kNotFound));
  const std::string path = ::testing::TempDir() + "/profile.json";
  std::ofstream(path) << R"({"devices": 3})";
  EXPECT_EQ(LoadProfile(path)->device_count(), 3);
  std::ofstream(path) << R"({"devices": true})";
  EXPECT_THAT(std::string(LoadProfile(path).status().message()), HasSubstr("json: profile: dev"));
}

}  // namespace
}  // namespace twinmmu
