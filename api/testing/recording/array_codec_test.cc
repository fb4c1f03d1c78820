#include "api/testing/recording/array_codec.h"

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr DeviceOrdinal kDevice(1);

// The JSON that comes of what `operation` is read as, which is how a replay compares.
std::string Again(const TileOperation& operation, const Names& names) {
  const Json json = EncodeOperations({operation}, names);
  return EncodeOperations(DecodeOperations(json, names, kDevice), names).dump();
}

TEST(ArrayCodecTest, DescriptorsComeBackWithWhatIsNotUsual) {
  EXPECT_EQ(EncodeDescriptor({{64, 32, 0}}).dump(), R"({"extent":[64,32,0]})");
  const ArrayDescriptor descriptor{{1, ~uint64_t{0}, 3}, ArrayFormat::kHalf, 4, kArrayLayered};
  const Json json = EncodeDescriptor(descriptor);
  EXPECT_EQ(json.dump(),
            R"({"extent":[1,18446744073709551615,3],"format":"half","channels":4,"flags":1})");
  const ArrayDescriptor back = DecodeDescriptor(json);
  EXPECT_EQ(back.extent, descriptor.extent);
  EXPECT_EQ(back.format, descriptor.format);
  EXPECT_EQ(back.channels, descriptor.channels);
  EXPECT_EQ(back.flags, descriptor.flags);
  EXPECT_EQ(DecodeDescriptor(EncodeDescriptor({{1, 1, 0}, static_cast<ArrayFormat>(77)})).format,
            static_cast<ArrayFormat>(77));
}

TEST(ArrayCodecTest, PropertiesStandThereWhole) {
  EXPECT_EQ(EncodeSparseProperties({{128, 64, 1}, 4, Bytes(65536), true}).dump(),
            R"({"tile":[128,64,1],"mip_tail_level":4,"mip_tail_size":65536,)"
            R"("single_mip_tail":true})");
}

TEST(ArrayCodecTest, OperationsNameArraysAndMemory) {
  Names names;
  names.Add(Names::kArray, 50);
  names.Add(Names::kMipmappedArray, 60);
  names.Add(Names::kHandle, 70);
  TileOperation map;
  map.array = Array(kDevice, 50);
  map.tiles.offset = {128, 0, 0};
  map.tiles.extent = {128, 128, 1};
  map.memory = AllocationHandle(70);
  map.memory_offset = KiB(64);
  TileOperation unmap;
  unmap.type = TileOperationType::kUnmap;
  unmap.mipmap = MipmappedArray(kDevice, 60);
  unmap.subresource = ArraySubresource::kMipTail;
  unmap.mip_tail = {2, KiB(64), KiB(128)};
  const Json json = EncodeOperations({map, unmap}, names);
  EXPECT_EQ(json.dump(),
            R"([{"type":"map","array":"a1","tiles":{"offset":[128,0,0],"extent":[128,128,1]},)"
            R"("memory":"h1","memory_offset":65536},)"
            R"({"type":"unmap","mipmap":"p1",)"
            R"("mip_tail":{"layer":2,"offset":65536,"size":131072}}])");
  const std::vector<TileOperation> back = DecodeOperations(json, names, kDevice);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].array, map.array);
  EXPECT_EQ(back[0].memory, map.memory);
  EXPECT_EQ(back[0].device_mask, 1u);
  EXPECT_EQ(back[1].mipmap, unmap.mipmap);
  EXPECT_EQ(back[1].mip_tail.size, KiB(128));
  EXPECT_EQ(EncodeOperations(back, names), json);
}

TEST(ArrayCodecTest, OperationsThatDoNotExistComeBack) {
  TileOperation odd;
  odd.type = static_cast<TileOperationType>(3);
  odd.subresource = static_cast<ArraySubresource>(2);
  odd.array = Array(kDevice, 0x1234);
  odd.tiles.level = 5;
  odd.tiles.layer = 6;
  odd.memory = AllocationHandle(9);
  odd.device_mask = 0;
  odd.flags = 7;
  const Names nothing;
  EXPECT_EQ(EncodeOperations({odd}, nothing).dump(),
            R"([{"type":"3","array":"0x1234","subresource":2,)"
            R"("tiles":{"level":5,"layer":6,"offset":[0,0,0],"extent":[0,0,0]},)"
            R"("memory":"0x9","device_mask":0,"flags":7}])");
  EXPECT_EQ(Again(odd, nothing), EncodeOperations({odd}, nothing).dump());
}

TEST(ArrayCodecTest, WhatIsNoValueIsRefused) {
  const Names names;
  EXPECT_ANY_THROW(DecodeExtent(Json{1, 2}));
  EXPECT_ANY_THROW(DecodeExtent(Json{1, 2, 0.5}));
  EXPECT_ANY_THROW(DecodeDescriptor(Json{{"extent", {1, 1, 0}}, {"format", "colour"}}));
  EXPECT_ANY_THROW(DecodeOperations(Json("x"), names, kDevice));
  EXPECT_ANY_THROW(DecodeOperations(Json::array({Json::object()}), names, kDevice));
  Json unknown = EncodeOperations({TileOperation()}, names);
  unknown[0]["array"] = "a4";
  EXPECT_ANY_THROW(DecodeOperations(unknown, names, kDevice)) << "nobody gave it out";
}

TEST(ArrayCodecTest, ABoxIsAsLargeAsItsSidesSay) {
  EXPECT_EQ(SizeOfBox(Bytes(4), {3, 5, 2}), Bytes(120));
  EXPECT_EQ(SizeOfBox(Bytes(16), {uint64_t{1} << 60, 1, 1}), std::nullopt);
  EXPECT_EQ(SizeOfBox(Bytes(1), {uint64_t{1} << 32, uint64_t{1} << 32, 1}), std::nullopt);
}

}  // namespace
}  // namespace twinmmu
