#include "sim/ptx/run/device/device_heap.h"

#include <vector>

#include "gtest/gtest.h"

namespace twinmmu::ptx {
namespace {

constexpr AddressRange kMemory{DeviceAddress(0x10000), Bytes(4096), Bytes(16)};

TEST(DeviceHeap, GivesAlignedMemoryThatDoesNotOverlap) {
  DeviceHeap heap(kMemory);
  uint64_t last = 0;
  for (const uint64_t size : {1, 100, 0, 16}) {
    const uint64_t address = heap.Allocate(size).value();
    EXPECT_EQ(address % 16, 0u);
    EXPECT_GE(address, kMemory.base.value());
    EXPECT_GE(address, last);
    last = address + size;
  }
  EXPECT_LE(last, kMemory.base.value() + kMemory.size.value());
}

TEST(DeviceHeap, GivesNothingWithoutRoom) {
  DeviceHeap heap(kMemory);
  EXPECT_EQ(heap.Allocate(4096), DeviceAddress(0));
  EXPECT_EQ(heap.Allocate(~uint64_t{0}), DeviceAddress(0));
  EXPECT_NE(heap.Allocate(4096 - 16), DeviceAddress(0));
  EXPECT_EQ(heap.Allocate(1), DeviceAddress(0));
}

TEST(DeviceHeap, GivesAgainWhatWasFreed) {
  DeviceHeap heap(kMemory);
  const DeviceAddress first = heap.Allocate(4000);
  EXPECT_EQ(heap.Allocate(4000), DeviceAddress(0));
  EXPECT_EQ(heap.Free(first), DeviceHeap::Freed::kNow);
  EXPECT_EQ(heap.Allocate(4000), first);
}

TEST(DeviceHeap, TellsWhatWasFreedBefore) {
  DeviceHeap heap(kMemory);
  const DeviceAddress block = heap.Allocate(64);
  EXPECT_EQ(heap.Free(block + Bytes(16)), DeviceHeap::Freed::kUnknown);
  EXPECT_EQ(heap.Free(block), DeviceHeap::Freed::kNow);
  EXPECT_EQ(heap.Free(block), DeviceHeap::Freed::kBefore);
}

// What is not freed is told by who asked for it.
TEST(DeviceHeap, TellsWhatIsLeft) {
  DeviceHeap heap(kMemory);
  heap.Allocate(10, 3);
  const DeviceAddress block = heap.Allocate(100, 5);
  heap.Allocate(20, 3);
  EXPECT_EQ(heap.Free(block), DeviceHeap::Freed::kNow);
  const std::vector<DeviceHeap::Left> left = heap.WhatIsLeft();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].site, 3u);
  EXPECT_EQ(left[0].blocks, 2u);
  EXPECT_EQ(left[0].bytes, 30u);
}

}  // namespace
}  // namespace twinmmu::ptx
