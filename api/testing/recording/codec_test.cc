#include "api/testing/recording/codec.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

TEST(CodecTest, LocationsComeBack) {
  for (const Location& location :
       {Location::Device(DeviceOrdinal(3)), Location::Device(DeviceOrdinal(-1)), Location::Host(),
        Location::HostNuma(1000), Location::HostNumaCurrent(), Location{LocationType::kHost, 7},
        Location{static_cast<LocationType>(9), 2}}) {
    EXPECT_EQ(DecodeLocation(EncodeLocation(location)), location) << EncodeLocation(location);
  }
  EXPECT_EQ(EncodeLocation(Location::HostNuma(1)), "host_numa:1");
  EXPECT_EQ(EncodeLocation(Location::Host()), "host");
}

TEST(CodecTest, PropertiesComeBackWithWhatIsNotUsual) {
  AllocationProperties properties;
  EXPECT_EQ(EncodeProperties(properties).dump(), R"({"location":"device:0"})");
  properties.type = static_cast<AllocationType>(7);
  properties.requested_handle_types = HandleType::kPosixFileDescriptor | HandleType::kFabric;
  properties.location = Location::HostNuma(1);
  properties.compression = CompressionType::kGeneric;
  properties.gpu_direct_rdma = 1;
  properties.usage = 3;
  EXPECT_EQ(DecodeProperties(EncodeProperties(properties)), properties);
}

TEST(CodecTest, PropertiesOfMulticastObjectsComeBack) {
  const MulticastProperties properties{2, MiB(4), HandleType::kFabric, 3};
  EXPECT_EQ(DecodeMulticastProperties(EncodeProperties(properties)), properties);
  EXPECT_EQ(EncodeProperties(MulticastProperties{2, MiB(2), HandleType::kNone, 0}).dump(),
            R"({"devices":2,"size":2097152})");
}

TEST(CodecTest, GrantsAndAttributesComeBack) {
  const std::vector<AccessGrant> grants = {{Location::Device(DeviceOrdinal(0)), Access::kReadWrite},
                                           {Location::Host(), static_cast<Access>(2)}};
  EXPECT_EQ(DecodeGrants(EncodeGrants(grants)), grants);
  EXPECT_EQ(DecodePointerAttribute(EncodeAttribute(PointerAttribute::kMapped)),
            PointerAttribute::kMapped);
  EXPECT_EQ(DecodeDeviceAttribute(EncodeAttribute(static_cast<DeviceAttribute>(999))),
            static_cast<DeviceAttribute>(999));
}

TEST(CodecTest, WrittenBytesComeBack) {
  std::vector<uint8_t> odd(1000);
  for (size_t i = 0; i < odd.size(); ++i) odd[i] = static_cast<uint8_t>(i * i);
  std::vector<uint8_t> ramp(300);
  std::iota(ramp.begin(), ramp.end(), uint8_t{250});
  for (const auto& bytes : {odd, ramp, std::vector<uint8_t>(100, 7), std::vector<uint8_t>(),
                            std::vector<uint8_t>{1}, std::vector<uint8_t>{5, 6, 7}}) {
    EXPECT_EQ(DecodeWritten(EncodeWritten(bytes, {}), bytes.size(), {}), bytes);
  }
  EXPECT_EQ(EncodeWritten(ramp, {}).dump(), R"({"ramp":250})");
}

TEST(CodecTest, ManyBytesReadAreADigestThatTellsThemApart) {
  std::vector<uint8_t> bytes(65);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i);
  const Json before = EncodeRead(bytes, {});
  EXPECT_TRUE(before.contains("digest"));
  bytes[64] ^= 1;
  EXPECT_NE(EncodeRead(bytes, {}), before);
  bytes.resize(64);
  EXPECT_TRUE(EncodeRead(bytes, {}).is_string()) << "few bytes stand there themselves";
}

TEST(CodecTest, ContentThatIsKnownIsToldInItsOwnWords) {
  const KnownContent squares = {
      [](absl::Span<const uint8_t> bytes) -> std::optional<Json> {
        return bytes[10] == 100 ? std::optional<Json>(Json{{"squares", true}}) : std::nullopt;
      },
      [](const Json& json, size_t size) -> std::optional<std::vector<uint8_t>> {
        if (!json.contains("squares")) return std::nullopt;
        return std::vector<uint8_t>(size, 100);
      }};
  std::vector<uint8_t> bytes(200);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i);
  const Json json = EncodeWritten(bytes, squares);
  EXPECT_EQ(json.dump(), R"({"squares":true})");
  EXPECT_EQ(DecodeWritten(json, 200, squares)[5], 100);
  EXPECT_ANY_THROW(DecodeWritten(json, 200, {})) << "nobody here knows it";
}

TEST(CodecTest, WhatIsNoValueIsRefused) {
  EXPECT_ANY_THROW(DecodeLocation("devise:0"));
  EXPECT_ANY_THROW(DecodeLocation("device:x"));
  EXPECT_ANY_THROW(DecodeAccess("write"));
  EXPECT_ANY_THROW(DecodePointerAttribute("NO_SUCH"));
  EXPECT_ANY_THROW(DecodeProperties(Json::object()));
  EXPECT_ANY_THROW(DecodeMulticastProperties(Json::object()));
  EXPECT_ANY_THROW(DecodeWritten("0102", 3, {})) << "of another size";
}

}  // namespace
}  // namespace twinmmu
