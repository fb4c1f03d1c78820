// The value types: arithmetic, comparison, hashing and the words they print.

#include <limits>
#include <string>

#include "absl/hash/hash_testing.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/attributes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

// A size prints in the largest unit that divides it, so that no digit is lost.
TEST(BytesTest, PrintsTheLargestUnitThatDividesIt) {
  EXPECT_EQ(ToString(Bytes(0)), "0 B");
  EXPECT_EQ(ToString(Bytes(17)), "17 B");
  EXPECT_EQ(ToString(KiB(3)), "3 KiB");
  EXPECT_EQ(ToString(MiB(2)), "2 MiB");
  EXPECT_EQ(ToString(GiB(141)), "141 GiB");
  EXPECT_EQ(ToString(TiB(1)), "1 TiB");
  EXPECT_EQ(ToString(MiB(2) + Bytes(1)), "2097153 B");
}

// Rounding up to a multiple leaves multiples alone and need not be given a power of two.
TEST(BytesTest, RoundsUpToAMultiple) {
  EXPECT_EQ(RoundUp(Bytes(0), MiB(2)), Bytes(0));
  EXPECT_EQ(RoundUp(Bytes(1), MiB(2)), MiB(2));
  EXPECT_EQ(RoundUp(MiB(2), MiB(2)), MiB(2));
  EXPECT_EQ(RoundUp(Bytes(7), Bytes(3)), Bytes(9));
}

// Zero is not a power of two.
TEST(BytesTest, KnowsPowersOfTwo) {
  EXPECT_TRUE(IsPowerOfTwo(Bytes(1)));
  EXPECT_TRUE(IsPowerOfTwo(Bytes(uint64_t{1} << 63)));
  EXPECT_FALSE(IsPowerOfTwo(Bytes(0)));
  EXPECT_FALSE(IsPowerOfTwo(Bytes(kMax)));
}

// The difference of two addresses is a number of bytes, and adding it comes back.
TEST(DeviceAddressTest, PointMinusPointIsADistance) {
  const DeviceAddress a(0x1000);
  const DeviceAddress b = a + KiB(4);
  EXPECT_EQ(b - a, KiB(4));
  EXPECT_EQ(b - KiB(4), a);
  EXPECT_LT(a, b);
  EXPECT_TRUE(b.IsAligned(KiB(8)));
  EXPECT_FALSE(a.IsAligned(KiB(8)));
}

// The end of a range saturates: it never wraps below the base.
TEST(AddressRangeTest, EndSaturates) {
  EXPECT_EQ((AddressRange{DeviceAddress(0x1000), KiB(4), Bytes(0)}).end(), DeviceAddress(0x2000));
  EXPECT_EQ((AddressRange{DeviceAddress(kMax - 10), Bytes(10), Bytes(0)}).end(),
            DeviceAddress(kMax));
  EXPECT_EQ((AddressRange{DeviceAddress(kMax - 10), Bytes(11), Bytes(0)}).end(),
            DeviceAddress(kMax));
  EXPECT_EQ((AddressRange{DeviceAddress(4096), Bytes(kMax), Bytes(0)}).end(), DeviceAddress(kMax));
}

// A range contains its base, not its end, and nothing when it is empty.
TEST(AddressRangeTest, ContainsIsHalfOpen) {
  const AddressRange range{DeviceAddress(0x1000), KiB(4), Bytes(0)};
  EXPECT_TRUE(range.contains(DeviceAddress(0x1000)));
  EXPECT_TRUE(range.contains(DeviceAddress(0x1fff)));
  EXPECT_FALSE(range.contains(DeviceAddress(0x2000)));
  EXPECT_FALSE(range.contains(DeviceAddress(0xfff)));
  EXPECT_FALSE(
      (AddressRange{DeviceAddress(0x1000), Bytes(0), Bytes(0)}).contains(DeviceAddress(0x1000)));
}

// A range whose size would wrap is contained in nothing smaller than itself.
TEST(AddressRangeTest, ContainsARangeWithoutWrapping) {
  const AddressRange range{DeviceAddress(0x1000), KiB(4), Bytes(0)};
  EXPECT_TRUE(range.contains(range));
  EXPECT_TRUE(range.contains(range.subrange(KiB(1), KiB(3))));
  EXPECT_TRUE(range.contains(range.subrange(KiB(4), Bytes(0))));
  EXPECT_FALSE(range.contains(range.subrange(KiB(1), KiB(4))));
  EXPECT_FALSE(range.contains(range.subrange(KiB(1), Bytes(kMax))));
}

// Ranges that only touch do not overlap, and an empty range overlaps nothing.
TEST(AddressRangeTest, OverlapNeedsACommonByte) {
  const AddressRange range{DeviceAddress(0x1000), KiB(4), Bytes(0)};
  EXPECT_TRUE(range.overlaps(range.subrange(KiB(3), KiB(4))));
  EXPECT_TRUE(range.subrange(KiB(3), KiB(4)).overlaps(range));
  EXPECT_FALSE(range.overlaps(range.subrange(KiB(4), KiB(4))));
  EXPECT_FALSE(range.overlaps(range.subrange(KiB(1), Bytes(0))));
}

// A range prints its base in hexadecimal, its size and its alignment.
TEST(AddressRangeTest, PrintsBaseSizeAndAlignment) {
  EXPECT_EQ(ToString(AddressRange{DeviceAddress(0x7f0000200000), MiB(4), MiB(2)}),
            "[0x7f0000200000, +4 MiB, alignment 2 MiB]");
  EXPECT_EQ(ToString(AddressRange{DeviceAddress(0), Bytes(0), Bytes(0)}),
            "[0x0, +0 B, alignment default]");
}

// The alignment of a range is how it was asked for, not what it is: it takes no part in equality.
TEST(AddressRangeTest, EqualityIgnoresTheAlignment) {
  EXPECT_EQ((AddressRange{DeviceAddress(1), Bytes(2), Bytes(0)}),
            (AddressRange{DeviceAddress(1), Bytes(2), MiB(2)}));
}

// Nobody has access to anything by default.
TEST(AccessTest, DefaultsToNone) {
  EXPECT_EQ(AccessGrant().access, Access::kNone);
  EXPECT_EQ(MappingInfo().access, Access::kNone);
}

// Every value prints in words, and a number without a name prints as that number.
TEST(PrintingTest, NamesValuesAndKeepsUnknownNumbers) {
  EXPECT_EQ(ToString(Access::kReadWrite), "read-write");
  EXPECT_EQ(ToString(static_cast<Access>(2)), "access 2");
  EXPECT_EQ(ToString(Location::Device(DeviceOrdinal(3))), "device 3");
  EXPECT_EQ(ToString(Location::Host()), "host");
  EXPECT_EQ(ToString(Location::HostNuma(1)), "host NUMA node 1");
  EXPECT_EQ(ToString(Location{LocationType::kHostNumaCurrent, 7}), "current host NUMA node");
  EXPECT_EQ(ToString(Location{static_cast<LocationType>(99), 7}), "location type 99 7");
  EXPECT_EQ(ToString(HandleType::kPosixFileDescriptor | HandleType::kFabric),
            "POSIX file descriptor|fabric");
  EXPECT_EQ(ToString(static_cast<HandleType>(0x11)), "POSIX file descriptor|0x10");
  EXPECT_EQ(ToString(HandleType::kNone), "none");
  EXPECT_EQ(ToString(static_cast<Granularity>(7)), "granularity option 7");
  EXPECT_EQ(ToString(AccessGrant{Location::Device(DeviceOrdinal(0)), Access::kRead}),
            "read for device 0");
  EXPECT_EQ(ToString(DeviceAttribute::kMulticastSupported), "MULTICAST_SUPPORTED");
  EXPECT_EQ(ToString(static_cast<DeviceAttribute>(9999)), "attribute 9999");
  EXPECT_EQ(ToString(PointerAttribute::kRangeSize), "RANGE_SIZE");
}

// The properties print all that differs from linear memory that cannot be shared.
TEST(PrintingTest, PrintsProperties) {
  AllocationProperties properties;
  EXPECT_EQ(ToString(properties), "pinned on device 0");
  properties.requested_handle_types = HandleType::kPosixFileDescriptor;
  properties.location = Location::HostNuma(1);
  properties.compression = CompressionType::kGeneric;
  properties.usage = 3;
  EXPECT_EQ(ToString(properties),
            "pinned on host NUMA node 1, shareable by POSIX file descriptor, compression 1, "
            "usage 0x3");
}

// A descriptor prints as its number, a fabric handle as its bytes.
TEST(PrintingTest, PrintsShareableHandles) {
  EXPECT_EQ(ToString(ShareableHandle::FileDescriptor(7)), "POSIX file descriptor 7");
  ShareableHandle fabric;
  fabric.type = HandleType::kFabric;
  fabric.fabric[0] = 0x1f;
  fabric.fabric[63] = 2;
  EXPECT_EQ(ToString(fabric), "fabric 1f" + std::string(124, '0') + "02");
}

// A mapping and an allocation print what a person needs to find them.
TEST(PrintingTest, PrintsMappingsAndAllocations) {
  EXPECT_EQ(ToString(MappingInfo{MiB(2), MiB(4), AllocationHandle(0xabc), Access::kRead}),
            "+2 MiB: 4 MiB of handle 0xabc, access read");
  EXPECT_EQ(ToString(PhysicalAllocation{AllocationHandle(16), MiB(2), Location::Host()}),
            "2 MiB on host, handle 0x10");
}

// Values that are equal hash alike, values that differ hash apart.
TEST(HashTest, AgreesWithEquality) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {AddressRange{DeviceAddress(0), Bytes(0), Bytes(0)},
       AddressRange{DeviceAddress(1), Bytes(0), Bytes(0)},
       AddressRange{DeviceAddress(0), Bytes(1), Bytes(0)},
       AddressRange{DeviceAddress(0), Bytes(1), MiB(2)}}));
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {Location::Device(DeviceOrdinal(0)), Location::Device(DeviceOrdinal(1)), Location::Host(),
       Location::HostNuma(0)}));
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {AllocationHandle(0), AllocationHandle(1), AllocationHandle(~uint64_t{0})}));
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {PhysicalAllocation{AllocationHandle(1), MiB(2), Location::Host()},
       PhysicalAllocation{AllocationHandle(2), MiB(2), Location::Host()}, PhysicalAllocation()}));
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {MappingInfo{Bytes(0), MiB(2), AllocationHandle(1), Access::kRead},
       MappingInfo{Bytes(0), MiB(2), AllocationHandle(1), Access::kReadWrite}, MappingInfo()}));
}

}  // namespace
}  // namespace twinmmu
