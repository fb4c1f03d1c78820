#include "sim/ptx/run/lane_addresses.h"

#include <array>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/ptx/operations/host_vectors.h"

namespace twinmmu::ptx {
namespace {

template <typename T>
std::array<T, kLanes> Values(T first, T stride) {
  std::array<T, kLanes> values;
  for (int lane = 0; lane < kLanes; ++lane) {
    values[static_cast<size_t>(lane)] = static_cast<T>(first + static_cast<T>(lane) * stride);
  }
  return values;
}

// Addresses at a distance of nothing or of a power of two are even.
TEST(LaneAddressesTest, FindsEvenAddresses) {
  for (const uint64_t stride : {0, 1, 4, 16, 4096}) {
    EXPECT_TRUE(IsEven(Values<uint64_t>(0x7f00'0000'0010, stride).data(), stride)) << stride;
    const auto narrow = static_cast<uint32_t>(stride);
    EXPECT_TRUE(IsEven(Values<uint32_t>(0x410, narrow).data(), narrow)) << stride;
  }
  EXPECT_TRUE(IsEven(Values<uint64_t>(0, uint64_t{1} << 40).data(), uint64_t{1} << 40));
}

// Those at other distances are not, nor are those of which any one is elsewhere.
TEST(LaneAddressesTest, FindsWhichAreNotEven) {
  EXPECT_FALSE(IsEven(Values<uint64_t>(64, 12).data(), uint64_t{12}));
  EXPECT_FALSE(IsEven(Values<uint32_t>(640, ~uint32_t{3}).data(), ~uint32_t{3}));
  for (size_t lane = 0; lane < kLanes; ++lane) {
    for (const uint64_t difference : {uint64_t{4}, uint64_t{1} << 63}) {
      auto values = Values<uint64_t>(0x7f00'0000'0010, 4);
      values[lane] += difference;
      EXPECT_FALSE(IsEven(values.data(), uint64_t{4})) << lane;
      values = Values<uint64_t>(0x10, 0);
      values[lane] += difference;
      EXPECT_FALSE(IsEven(values.data(), uint64_t{0})) << lane;
    }
    auto narrow = Values<uint32_t>(0x10, 4);
    narrow[lane] ^= 0x8000'0000;
    EXPECT_FALSE(IsEven(narrow.data(), uint32_t{4})) << lane;
  }
}

// Addresses have the offset, in their own width; lanes that are not there have that of the first.
TEST(LaneAddressesTest, FindsAddresses) {
  std::array<uint64_t, kLanes> found;
  const auto wide = Values<uint64_t>(0x1000, 8);
  EXPECT_EQ(FindAddresses<uint64_t>(wide.data(), 16, 0xfffffff0, found.data()) & 7, 0u);
  EXPECT_EQ(found[0], 0x1000u + 4 * 8 + 16);
  EXPECT_EQ(found[4], found[0]);
  EXPECT_EQ(found[31], 0x1000u + 31 * 8 + 16);
  const auto narrow = Values<uint32_t>(~uint32_t{15}, 1);
  EXPECT_EQ(FindAddresses<uint32_t>(narrow.data(), 16, kAllLanes, found.data()), 31u);
  EXPECT_EQ(found[5], 5u);
}

// The places of all lanes lie behind the memory of the window, or there is one outside.
TEST(LaneAddressesTest, FindsPlacesInAWindow) {
  std::vector<char> memory(4096);
  const AddressWindow window{0x1000, 256, memory.data(), 64};
  std::array<char*, kLanes> found;
  auto addresses = Values<uint64_t>(0x1000, 8);
  EXPECT_TRUE(FindInWindow(addresses.data(), window, 8, found.data()));
  EXPECT_EQ(found[0], memory.data());
  EXPECT_EQ(found[31], memory.data() + 31 * (8 + 64));
  EXPECT_FALSE(FindInWindow(addresses.data(), window, 16, found.data()));
  EXPECT_FALSE(FindInWindow(addresses.data(), {0x1000, 4, memory.data(), 0}, 8, found.data()));
  for (size_t lane = 0; lane < kLanes; ++lane) {
    for (const uint64_t outside : {uint64_t{0x10f9}, uint64_t{0xfff}, ~uint64_t{0}}) {
      addresses = Values<uint64_t>(0x1000, 8);
      addresses[lane] = outside;
      EXPECT_FALSE(FindInWindow(addresses.data(), window, 8, found.data())) << lane;
    }
  }
}

#ifdef __x86_64__
// What is compiled for vectors of the host finds the same.
TEST(LaneAddressesTest, FindsTheSameByVectors) {
  if (VectorsOfHost() == HostVectors::kBasic) GTEST_SKIP() << "the host has none";
  const auto check = [](auto find_addresses, auto find_in_window) {
    std::vector<char> memory(4096);
    const AddressWindow window{0x1000, 256, memory.data(), 64};
    const auto values = Values<uint64_t>(0xff0, 8);
    std::array<uint64_t, kLanes> addresses, by_vectors;
    std::array<char*, kLanes> found, found_by_vectors;
    for (const Lanes lanes : {kAllLanes, Lanes{0x80}, Lanes{0xf0f0f0f0}}) {
      const uint64_t bits = FindAddresses<uint64_t>(values.data(), 16, lanes, addresses.data());
      EXPECT_EQ(find_addresses(values.data(), 16, lanes, by_vectors.data()), bits);
      EXPECT_EQ(by_vectors, addresses);
      for (const uint64_t bytes : {8, 16, 512}) {
        const bool inside = FindInWindow(addresses.data(), window, bytes, found.data());
        EXPECT_EQ(find_in_window(addresses.data(), window, bytes, found_by_vectors.data()), inside);
        EXPECT_TRUE(!inside || found_by_vectors == found);
      }
    }
  };
  check(Compiled<FindAddresses<uint64_t>>::Avx2, Compiled<FindInWindow>::Avx2);
  if (VectorsOfHost() == HostVectors::kAvx512) {
    check(Compiled<FindAddresses<uint64_t>>::Avx512, Compiled<FindInWindow>::Avx512);
  }
}
#endif

}  // namespace
}  // namespace twinmmu::ptx
