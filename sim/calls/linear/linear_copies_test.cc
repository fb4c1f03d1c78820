// Copies and fills of linear memory, and copies that find out what their addresses are.

#include <cstring>
#include <vector>

#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

constexpr auto kInvalid = DriverCode::kInvalidValue;

class LinearCopiesTest : public MachineTest {
 protected:
  using MachineTest::MachineTest;

  static DeviceAddress AddressOf(const void* memory) {
    return DeviceAddress(reinterpret_cast<uint64_t>(memory));
  }
  static void* PointerTo(DeviceAddress address) { return reinterpret_cast<void*>(address.value()); }
  DeviceAddress Allocate(DeviceOrdinal device, Bytes size) {
    const auto address = linear().Allocate({device, 0}, size);
    EXPECT_THAT(address, IsOk());
    return *address;
  }
  // A granule of a device with the access of that device, or of nobody.
  AddressRange Mapped(DeviceOrdinal device, bool granted = true) {
    const AddressRange range = Reserve(1);
    MapNew(range.base, 1, On(Location::Device(device)));
    if (granted) Grant(range, For(device, Access::kReadWrite));
    return range;
  }
  absl::Status ToHost(DeviceAddress source, uint64_t size) {
    return executor().CopyDeviceToHost(kDevice0, bytes_.data(), source, Bytes(size));
  }

  const DeviceAddress linear_ = Allocate(kDevice0, Bytes(100));
  const DeviceAddress beside_ = Allocate(kDevice0, Bytes(100));
  std::vector<char> bytes_ = std::vector<char>(KiB(8).value());
};

// A copy may use all bytes of an allocation, and not one more.
TEST_F(LinearCopiesTest, KeepsToTheByte) {
  EXPECT_THAT(ToHost(linear_, 100), IsOk());
  EXPECT_THAT(ToHost(linear_ + Bytes(99), 1), IsOk());
  for (const uint64_t size : {101, 512, 513, 4096}) {
    EXPECT_THAT(ToHost(linear_, size), HasDriverCode(kInvalid)) << size;
  }
  EXPECT_THAT(ToHost(linear_ + Bytes(100), 4), HasDriverCode(kInvalid));
  EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, bytes_.data(), linear_, Bytes(0) - Bytes(1)),
              HasDriverCode(kInvalid));
  EXPECT_THAT(executor().CopyDeviceToDevice(kDevice0, linear_, beside_, Bytes(100)), IsOk());
  EXPECT_THAT(executor().CopyDeviceToDevice(kDevice0, linear_, beside_, Bytes(101)),
              HasDriverCode(kInvalid));
}

TEST_F(LinearCopiesTest, FillsToTheByte) {
  EXPECT_THAT(executor().Fill(kDevice0, linear_, {7, Bytes(1)}, 100), IsOk());
  EXPECT_THAT(executor().Fill(kDevice0, linear_, {8, Bytes(1)}, 101), HasDriverCode(kInvalid));
  EXPECT_THAT(executor().Fill(kDevice0, linear_, {8, Bytes(1)}, 600), HasDriverCode(kInvalid));
  EXPECT_THAT(ToHost(linear_, 100), IsOk());
  EXPECT_EQ(bytes_[0], 7);
  EXPECT_EQ(bytes_[99], 7);
  EXPECT_THAT(ToHost(beside_, 100), IsOk());
  EXPECT_EQ(bytes_[0], 0);
}

TEST_F(LinearCopiesTest, UsesNothingThatWasFreed) {
  EXPECT_THAT(linear().Free(linear_), IsOk());
  EXPECT_THAT(ToHost(linear_, 4), HasDriverCode(kInvalid));
  EXPECT_THAT(Write(kDevice0, linear_, 1), HasDriverCode(kInvalid));
}

// Between both kinds of memory, and over a border of mappings.
TEST_F(LinearCopiesTest, CopiesToAndFromMappedMemory) {
  const AddressRange range = Reserve(2);
  MapNew(range.base, 1);
  MapNew(range.base + kGranule, 1);
  Grant(range, For(kDevice0, Access::kReadWrite));
  const DeviceAddress border = range.base + kGranule - Bytes(2);
  EXPECT_THAT(Write(kDevice0, linear_, 0x12345678), IsOk());
  EXPECT_THAT(executor().CopyDeviceToDevice(kDevice0, border, linear_, Bytes(4)), IsOk());
  EXPECT_THAT(executor().CopyDeviceToDevice(kDevice0, beside_, border, Bytes(4)), IsOk());
  EXPECT_THAT(Read(kDevice0, beside_), IsOkAndHolds(0x12345678u));
}

// Linear memory needs no access of a peer, mapped memory does.
TEST_F(LinearCopiesTest, NeedsNoPeerAccess) {
  const DeviceAddress other = Allocate(kDevice1, KiB(4));
  EXPECT_THAT(Write(kDevice1, other, 5), IsOk());
  EXPECT_THAT(Read(kDevice0, other), IsOkAndHolds(5u));
  EXPECT_THAT(executor().CopyDeviceToDevice(kDevice0, linear_, other, Bytes(4)), IsOk());
  EXPECT_THAT(Read(kDevice0, linear_), IsOkAndHolds(5u));
  const AddressRange mapped = Mapped(kDevice1);
  EXPECT_THAT(Read(kDevice0, mapped.base), HasDriverCode(kInvalid));
  EXPECT_THAT(executor().CopyDeviceToDevice(kDevice0, linear_, mapped.base, Bytes(4)),
              HasDriverCode(kInvalid));
}

// A fill is work of the device itself: it needs peer access, and then is to the byte as well.
TEST_F(LinearCopiesTest, FillsNeedPeerAccess) {
  const DeviceAddress other = Allocate(kDevice1, KiB(4));
  const AddressRange mapped = Mapped(kDevice1);
  const auto fill = [&](DeviceAddress address, uint64_t count) {
    return executor().Fill(kDevice0, address, {1, Bytes(1)}, count);
  };
  EXPECT_THAT(fill(other, 4), HasDriverCode(kInvalid));
  EXPECT_THAT(executor().Fill(kDevice1, other, {2, Bytes(1)}, 4), IsOk());
  EXPECT_THAT(linear().EnablePeerAccess({kDevice0, 0}, kDevice1), IsOk());
  EXPECT_THAT(fill(other, 4), IsOk());
  EXPECT_THAT(Read(kDevice1, other), IsOkAndHolds(0x01010101u));
  EXPECT_THAT(fill(other, 4097), HasDriverCode(kInvalid));
  EXPECT_THAT(fill(mapped.base, 4), HasDriverCode(kInvalid));
  EXPECT_THAT(Read(kDevice0, mapped.base), HasDriverCode(kInvalid));
}

// Memory of the host that is pinned is memory of the device too.
TEST_F(LinearCopiesTest, TakesPinnedMemoryForMemoryOfTheDevice) {
  auto* const pinned = static_cast<uint32_t*>(*linear().AllocateHost({kDevice0, 0}, Bytes(100), 0));
  pinned[0] = 9;
  EXPECT_THAT(executor().CopyHostToDevice(kDevice0, linear_, pinned, Bytes(100)), IsOk());
  EXPECT_THAT(Read(kDevice0, linear_), IsOkAndHolds(9u));
  EXPECT_THAT(executor().CopyDeviceToDevice(kDevice0, beside_, AddressOf(pinned), Bytes(100)),
              IsOk());
  EXPECT_THAT(Read(kDevice0, beside_), IsOkAndHolds(9u));
  EXPECT_THAT(Write(kDevice0, AddressOf(pinned), 10), IsOk());
  EXPECT_EQ(pinned[0], 10u);
  EXPECT_THAT(executor().Fill(kDevice0, AddressOf(pinned), {7, Bytes(1)}, 100), IsOk());
  EXPECT_EQ(pinned[24], 0x07070707u);
}

// Registered memory too, as long as it is.
TEST_F(LinearCopiesTest, TakesRegisteredMemoryForMemoryOfTheDevice) {
  const DeviceAddress address = AddressOf(bytes_.data() + 1);
  EXPECT_THAT(Write(kDevice0, address, 1), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().RegisterHost({kDevice0, 0}, bytes_.data() + 1, KiB(4), 0), IsOk());
  EXPECT_THAT(Write(kDevice0, address, 0x01010101), IsOk());
  EXPECT_EQ(bytes_[4], 1);
  EXPECT_THAT(linear().UnregisterHost(bytes_.data() + 1), IsOk());
  EXPECT_THAT(Write(kDevice0, address, 1), HasDriverCode(kInvalid));
}

// Other memory of the host is not.
TEST_F(LinearCopiesTest, TakesNoOtherPointerForMemoryOfTheDevice) {
  uint32_t a = 1;
  uint32_t b = 2;
  const AddressRange mapped = Ready(1);
  EXPECT_THAT(executor().CopyDeviceToDevice(kDevice0, mapped.base, AddressOf(&a), Bytes(4)),
              HasDriverCode(kInvalid));
  EXPECT_THAT(executor().CopyHostToDevice(kDevice0, AddressOf(&b), &a, Bytes(4)),
              HasDriverCode(kInvalid));
}

// Where a pointer of the host is wanted, memory of a device is as good.
TEST_F(LinearCopiesTest, TakesMemoryOfDevicesForPointers) {
  const AddressRange mapped = Ready(1);
  EXPECT_THAT(Write(kDevice0, linear_, 3), IsOk());
  EXPECT_THAT(executor().CopyHostToDevice(kDevice0, mapped.base, PointerTo(linear_), Bytes(4)),
              IsOk());
  EXPECT_THAT(Read(kDevice0, mapped.base), IsOkAndHolds(3u));
  EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, PointerTo(beside_), mapped.base, Bytes(4)),
              IsOk());
  EXPECT_THAT(Read(kDevice0, beside_), IsOkAndHolds(3u));
  EXPECT_THAT(linear().Free(linear_), IsOk());
  EXPECT_THAT(executor().CopyHostToDevice(kDevice0, mapped.base, PointerTo(linear_), Bytes(4)),
              HasDriverCode(kInvalid));
}

// --- Copies that find out

TEST_F(LinearCopiesTest, CopiesFromAnywhereToAnywhere) {
  const AddressRange mapped = Ready(1);
  const uint32_t from = 42;
  uint32_t to = 0;
  const auto copy = [&](DeviceAddress destination, DeviceAddress source) {
    return linear().Copy(kDevice0, destination, source, Bytes(4));
  };
  EXPECT_THAT(copy(mapped.base, AddressOf(&from)), IsOk());
  EXPECT_THAT(copy(linear_, mapped.base), IsOk());
  EXPECT_THAT(copy(AddressOf(&to), linear_), IsOk());
  EXPECT_EQ(to, 42u);
  to = 0;
  EXPECT_THAT(copy(AddressOf(&to), AddressOf(&from)), IsOk());
  EXPECT_EQ(to, 42u);
}

TEST_F(LinearCopiesTest, CopiesNothingThatIsNotAccessible) {
  const AddressRange closed = Mapped(kDevice0, false);
  const AddressRange of_peer = Mapped(kDevice1);
  const AddressRange open = Mapped(kDevice0);
  uint32_t word = 0;
  for (const DeviceAddress address : {closed.base, of_peer.base, DeviceAddress(0)}) {
    EXPECT_THAT(linear().Copy(kDevice0, address, AddressOf(&word), Bytes(4)),
                HasDriverCode(kInvalid));
    EXPECT_THAT(linear().Copy(kDevice0, AddressOf(&word), address, Bytes(4)),
                HasDriverCode(kInvalid));
    EXPECT_THAT(linear().Copy(kDevice0, open.base, address, Bytes(4)), HasDriverCode(kInvalid));
  }
  EXPECT_THAT(linear().Copy(kDevice0, DeviceAddress(0), DeviceAddress(0), Bytes(0)), IsOk());
}

// Each side of a copy between devices needs the access of its own device.
TEST_F(LinearCopiesTest, CopiesBetweenPeers) {
  const AddressRange here = Mapped(kDevice0);
  const AddressRange there = Mapped(kDevice1);
  const AddressRange closed = Mapped(kDevice1, false);
  EXPECT_THAT(Write(kDevice1, there.base, 5), IsOk());
  const auto copy = [&](PeerAddress destination, PeerAddress source) {
    return linear().CopyPeer(kDevice0, destination, source, Bytes(4));
  };
  EXPECT_THAT(copy({kDevice0, here.base}, {kDevice1, there.base}), IsOk());
  EXPECT_THAT(Read(kDevice0, here.base), IsOkAndHolds(5u));
  EXPECT_THAT(copy({kDevice0, here.base}, {kDevice1, closed.base}), HasDriverCode(kInvalid));
  EXPECT_THAT(copy({kDevice1, here.base}, {kDevice0, there.base}), HasDriverCode(kInvalid));
  EXPECT_THAT(copy({kDevice0, linear_}, {kDevice1, Allocate(kDevice1, KiB(4))}), IsOk());
  EXPECT_THAT(linear().CopyPeer(kDevice0, {kDevice0, linear_}, {kDevice1, there.base}, Bytes(101)),
              HasDriverCode(kInvalid));
  EXPECT_THAT(copy({kDevice0, linear_}, {DeviceOrdinal(2), there.base}),
              HasDriverCode(DriverCode::kInvalidDevice));
}

// --- Queued work

class DeferredLinearCopiesTest : public LinearCopiesTest {
 protected:
  static Profile Deferred() {
    Profile profile = Profile::ReferenceH200(2);
    profile.stream_policy = StreamPolicy::kDeferred;
    return profile;
  }
  DeferredLinearCopiesTest() : LinearCopiesTest(Deferred()) {}

  const Stream stream_ = *executor().CreateStream(kDevice0);
};

// All kinds of copies wait in their stream.
TEST_F(DeferredLinearCopiesTest, QueuesCopies) {
  const uint32_t from = 6;
  uint32_t to = 0;
  EXPECT_THAT(linear().Copy(stream_, linear_, AddressOf(&from), Bytes(4)), IsOk());
  EXPECT_THAT(linear().CopyPeer(stream_, {kDevice0, beside_}, {kDevice0, linear_}, Bytes(4)),
              IsOk());
  EXPECT_THAT(linear().Copy(stream_, AddressOf(&to), beside_, Bytes(4)), IsOk());
  EXPECT_EQ(to, 0u);
  EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk());
  EXPECT_EQ(to, 6u);
}

// A copy without a stream is done with the memory of the host when it returns.
TEST_F(DeferredLinearCopiesTest, ReturnsWhenPointersAreFree) {
  uint32_t from = 6;
  uint32_t to = 0;
  EXPECT_THAT(linear().Copy(kDevice0, linear_, AddressOf(&from), Bytes(4)), IsOk());
  from = 7;
  EXPECT_THAT(linear().Copy(kDevice0, beside_, linear_, Bytes(4)), IsOk());
  EXPECT_THAT(linear().Copy(kDevice0, AddressOf(&to), beside_, Bytes(4)), IsOk());
  EXPECT_EQ(to, 6u);
}

// A free waits for the work of all devices, and what was queued before finds its memory.
TEST_F(DeferredLinearCopiesTest, FreesAfterTheWork) {
  uint32_t to = 0;
  const Stream other = *executor().CreateStream(kDevice1);
  EXPECT_THAT(executor().Fill(kDevice0, linear_, {3, Bytes(4)}, 1), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(executor().CopyDeviceToHost(other, &to, linear_, Bytes(4)), IsOk());
  EXPECT_THAT(linear().Free(linear_ + Bytes(1)), HasDriverCode(kInvalid));
  EXPECT_EQ(to, 0u);
  EXPECT_THAT(linear().Free(linear_), IsOk());
  EXPECT_EQ(to, 3u);
  EXPECT_THAT(executor().SynchronizeDevice(kDevice1), IsOk());
}

TEST_F(DeferredLinearCopiesTest, EndsAContextAfterTheWork) {
  uint32_t to = 1;
  const DeviceAddress memory = *linear().Allocate({kDevice0, 5}, Bytes(4));
  EXPECT_THAT(executor().CopyDeviceToHost(stream_, &to, memory, Bytes(4)), IsOk());
  EXPECT_THAT(linear().FreeOwnedBy(5), IsOk());
  EXPECT_EQ(to, 0u);
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
}

// Memory that asks for it is done with when a call without a stream returns.
TEST_F(DeferredLinearCopiesTest, KeepsToSyncMemops) {
  const char* const pinned =
      static_cast<const char*>(*linear().AllocateHost({kDevice0, 0}, Bytes(4), 0));
  const auto fill = [&](uint32_t value) {
    return executor().Fill(kDevice0, AddressOf(pinned), {value, Bytes(1)}, 4);
  };
  EXPECT_THAT(fill(1), IsOk());
  EXPECT_EQ(pinned[0], 0);
  EXPECT_THAT(linear().SetSyncMemops(AddressOf(pinned), true), IsOk());
  EXPECT_THAT(fill(2), IsOk());
  EXPECT_EQ(pinned[0], 2);
  EXPECT_THAT(executor().Fill(stream_, AddressOf(pinned), {3, Bytes(1)}, 4), IsOk());
  EXPECT_EQ(pinned[0], 2);
}

// --- Addresses that are mere numbers

class NumbersTest : public LinearCopiesTest, public testing::WithParamInterface<const char*> {
 protected:
  NumbersTest() : LinearCopiesTest(*Profile::Named(GetParam())) {}
};

// Neither kind of memory is taken for the other, nor for a pointer.
TEST_P(NumbersTest, TellMemoryFromPointers) {
  const AddressRange mapped = Mapped(kDevice0);
  const uint32_t from = 42;
  uint32_t to = 0;
  EXPECT_FALSE(mapped.overlaps(At(linear_, Bytes(100))));
  EXPECT_THAT(linear().Copy(kDevice0, mapped.base, AddressOf(&from), Bytes(4)), IsOk());
  EXPECT_THAT(linear().Copy(kDevice0, linear_, mapped.base, Bytes(4)), IsOk());
  EXPECT_THAT(linear().Copy(kDevice0, AddressOf(&to), linear_, Bytes(4)), IsOk());
  EXPECT_EQ(to, 42u);
  EXPECT_THAT(executor().CopyHostToDevice(kDevice0, mapped.base, PointerTo(linear_), Bytes(4)),
              IsOk());
  auto* const pinned = static_cast<uint32_t*>(*linear().AllocateHost({kDevice0, 0}, Bytes(4), 0));
  EXPECT_THAT(Write(kDevice0, AddressOf(pinned), 7), IsOk());
  EXPECT_EQ(*pinned, 7u);
  EXPECT_THAT(linear().Free(mapped.base), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Unmap(At(linear_, kGranule)), HasDriverCode(kInvalid));
}

INSTANTIATE_TEST_SUITE_P(Profiles, NumbersTest,
                         testing::Values("small-address-space", "full-address-space", "reference"));

}  // namespace
}  // namespace twinmmu
