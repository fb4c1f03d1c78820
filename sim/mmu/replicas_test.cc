// What the bytes at a multicast address stand for.

#include <cstdint>
#include <vector>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/calls/multicast/multicast_calls.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/host/window.h"
#include "sim/profile/profile.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Bytes kGranule = MiB(2);
constexpr DeviceOrdinal kDevice0(0);
constexpr DeviceOrdinal kDevice1(1);

// A team of two devices; the object of two granules is mapped.
class ReplicasTest : public testing::Test {
 protected:
  explicit ReplicasTest(const Profile& profile = Profile::ReferenceH200(2)) : profile_(profile) {
    object_ = *multicast_.Create({2, 2 * kGranule, HandleType::kNone, 0});
    EXPECT_THAT(multicast_.AddDevice(object_, kDevice1), IsOk());
    EXPECT_THAT(multicast_.AddDevice(object_, kDevice0), IsOk());
    range_ = Map(object_, 2);
  }

  AddressRange Map(AllocationHandle handle, uint64_t granules) {
    const AddressRange range = *vmm_.AddressReserve(granules * kGranule, ReserveOptions());
    EXPECT_THAT(vmm_.Map(range, handle), IsOk());
    return range;
  }
  AllocationHandle MemoryOf(DeviceOrdinal device, uint64_t granules) {
    AllocationProperties properties;
    properties.location = Location::Device(device);
    return *vmm_.Create(granules * kGranule, properties);
  }
  // Binds new memory of `device` to a granule of the object.
  AllocationHandle Bind(DeviceOrdinal device, uint64_t granule) {
    const AllocationHandle memory = MemoryOf(device, 1);
    EXPECT_THAT(multicast_.BindMemory(object_, granule * kGranule, memory, Bytes(0), kGranule),
                IsOk());
    return memory;
  }
  const PhysicalPages* PagesOf(AllocationHandle memory) {
    return mmu_.memory.Find(memory)->pages.get();
  }

  const Profile profile_;
  SimulatorState state_{profile_, *Window::Make(profile_.window, profile_.default_alignment())};
  Mmu& mmu_ = state_.mmu;
  SimulatedVmm vmm_{&state_};
  MulticastCalls multicast_{&state_};
  AllocationHandle object_;
  AddressRange range_;
};

// Each device has a replica, in the order of their numbers, at the offset of the address.
TEST_F(ReplicasTest, AreOneForEachDevice) {
  const PhysicalPages* const of_1 = PagesOf(Bind(kDevice1, 1));
  const PhysicalPages* const of_0 = PagesOf(Bind(kDevice0, 1));
  const std::vector<Replica> replicas = mmu_.ReplicasAt(range_.base + kGranule + Bytes(16), 8);
  EXPECT_THAT(replicas,
              ElementsAre(Field(&Replica::device, kDevice0), Field(&Replica::device, kDevice1)));
  ASSERT_THAT(replicas, SizeIs(2));
  EXPECT_EQ(replicas[0].pages, of_0);
  EXPECT_EQ(replicas[1].pages, of_1);
  EXPECT_EQ(replicas[0].offset, Bytes(16));
  EXPECT_EQ(replicas[1].memory, of_1->backing.data() + 16);
}

// The offset into the memory counts.
TEST_F(ReplicasTest, BeginAtTheOffsetOfTheMemory) {
  const AllocationHandle memory = MemoryOf(kDevice0, 3);
  ASSERT_THAT(multicast_.BindMemory(object_, Bytes(0), memory, 2 * kGranule, kGranule), IsOk());
  Bind(kDevice1, 0);
  const std::vector<Replica> replicas = mmu_.ReplicasAt(range_.base + Bytes(4), 4);
  ASSERT_THAT(replicas, SizeIs(2));
  EXPECT_EQ(replicas[0].offset, 2 * kGranule + Bytes(4));
}

// As long as one device has bound nothing there, there are none.
TEST_F(ReplicasTest, AreNoneWhereADeviceIsMissing) {
  Bind(kDevice0, 0);
  EXPECT_THAT(mmu_.ReplicasAt(range_.base, 4), IsEmpty());
  Bind(kDevice1, 0);
  EXPECT_THAT(mmu_.ReplicasAt(range_.base, 4), SizeIs(2));
  EXPECT_THAT(mmu_.ReplicasAt(range_.base + kGranule, 4), IsEmpty());
}

// Bytes that reach beyond what was bound together, or beyond the object, have none; nor have none.
TEST_F(ReplicasTest, AreNoneAcrossTheEnd) {
  for (const DeviceOrdinal device : {kDevice0, kDevice1}) {
    Bind(device, 0);
    Bind(device, 1);
  }
  EXPECT_THAT(mmu_.ReplicasAt(range_.base + kGranule - Bytes(4), 4), SizeIs(2));
  EXPECT_THAT(mmu_.ReplicasAt(range_.base + kGranule - Bytes(4), 8), IsEmpty());
  EXPECT_THAT(mmu_.ReplicasAt(range_.base + 2 * kGranule - Bytes(4), 8), IsEmpty());
  EXPECT_THAT(mmu_.ReplicasAt(range_.base, 0), IsEmpty());
  EXPECT_THAT(mmu_.ReplicasAt(range_.base + Bytes(16), 0), IsEmpty());
}

// Nor have bytes that begin before what was bound.
TEST_F(ReplicasTest, AreNoneAcrossTheBeginning) {
  for (const DeviceOrdinal device : {kDevice0, kDevice1}) Bind(device, 1);
  EXPECT_THAT(mmu_.ReplicasAt(range_.base + kGranule, 4), SizeIs(2));
  EXPECT_THAT(mmu_.ReplicasAt(range_.base + kGranule - Bytes(4), 8), IsEmpty());
}

TEST_F(ReplicasTest, AreNoneWhereNothingIsMapped) {
  ASSERT_THAT(vmm_.Unmap(range_), IsOk());
  EXPECT_THAT(mmu_.ReplicasAt(range_.base, 4), IsEmpty());
}

// A machine on which a part of an object can be mapped.
class PartReplicasTest : public ReplicasTest {
 protected:
  PartReplicasTest() : ReplicasTest(TakesParts()) {}
  static Profile TakesParts() {
    Profile profile = Profile::ReferenceH200(2);
    profile.quirks.map_takes_whole_allocations_only = false;
    return profile;
  }
};

// What is bound together may reach further than the addresses that are mapped.
TEST_F(PartReplicasTest, AreNoneBeyondTheMapping) {
  for (const DeviceOrdinal device : {kDevice0, kDevice1}) {
    const AllocationHandle memory = MemoryOf(device, 2);
    ASSERT_THAT(multicast_.BindMemory(object_, Bytes(0), memory, Bytes(0), 2 * kGranule), IsOk());
  }
  const AddressRange part = Map(object_, 1);
  EXPECT_THAT(mmu_.ReplicasAt(range_.base + kGranule - Bytes(4), 8), SizeIs(2));
  EXPECT_THAT(mmu_.ReplicasAt(part.end() - Bytes(4), 4), SizeIs(2));
  EXPECT_THAT(mmu_.ReplicasAt(part.end() - Bytes(4), 8), IsEmpty());
}

// Memory that is mapped by itself is no multicast memory.
TEST_F(ReplicasTest, AreNoneOfOrdinaryMemory) {
  const AddressRange plain = Map(MemoryOf(kDevice0, 1), 1);
  EXPECT_FALSE(mmu_.IsMulticast(plain.base));
  EXPECT_TRUE(mmu_.IsMulticast(range_.base));
  EXPECT_THAT(mmu_.ReplicasAt(plain.base, 4), IsEmpty());
}

// Binding and unbinding change the generation: who kept replicas asks again.
TEST_F(ReplicasTest, ChangeTheGeneration) {
  const uint64_t before = mmu_.generation();
  Bind(kDevice0, 0);
  const uint64_t bound = mmu_.generation();
  EXPECT_GT(bound, before);
  ASSERT_THAT(multicast_.Unbind(object_, kDevice0, Bytes(0), kGranule), IsOk());
  EXPECT_GT(mmu_.generation(), bound);
}

// Memory that is bound has the addresses of the object, too: with one of its own, it is reported to
// the alias monitor; whichever comes first.
TEST_F(ReplicasTest, CountAsFurtherAddresses) {
  const AllocationHandle memory = Bind(kDevice0, 0);
  EXPECT_FALSE(PagesOf(memory)->IsArmed());
  const AddressRange own = Map(memory, 1);
  EXPECT_TRUE(PagesOf(memory)->IsArmed());
  EXPECT_TRUE(state_.aliases.active());
  ASSERT_THAT(vmm_.Unmap(range_), IsOk());
  EXPECT_FALSE(PagesOf(memory)->IsArmed());
  EXPECT_FALSE(state_.aliases.active());
  range_ = Map(object_, 2);
  EXPECT_TRUE(PagesOf(memory)->IsArmed());
  ASSERT_THAT(multicast_.Unbind(object_, kDevice0, Bytes(0), kGranule), IsOk());
  EXPECT_FALSE(PagesOf(memory)->IsArmed());
  ASSERT_THAT(multicast_.BindAddress(object_, Bytes(0), own), IsOk());
  EXPECT_TRUE(PagesOf(memory)->IsArmed());
}

}  // namespace
}  // namespace twinmmu
