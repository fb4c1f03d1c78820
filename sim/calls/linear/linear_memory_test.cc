// Memory that has its address from the start: making it, asking for it, freeing it.

#include <cstdlib>
#include <cstring>
#include <vector>

#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

constexpr auto kInvalid = DriverCode::kInvalidValue;
constexpr auto kNoMemory = DriverCode::kOutOfMemory;
constexpr LinearCalls::Context kContext{kDevice0, 0xc0};

class LinearMemoryTest : public MachineTest {
 protected:
  using MachineTest::MachineTest;

  DeviceAddress Allocate(Bytes size, const LinearCalls::Context& context = kContext) {
    const auto address = linear().Allocate(context, size);
    EXPECT_THAT(address, IsOk());
    return *address;
  }
  char* Pin(Bytes size, uint32_t flags = 0) {
    const auto memory = linear().AllocateHost(kContext, size, flags);
    EXPECT_THAT(memory, IsOk());
    return static_cast<char*>(*memory);
  }
  static DeviceAddress AddressOf(const void* memory) {
    return DeviceAddress(reinterpret_cast<uint64_t>(memory));
  }
  // How much less memory is free than at the start.
  Bytes Taken() { return free_ - vmm().GetMemoryInfo(kDevice0)->free; }
  uint64_t Attribute(PointerAttribute attribute, DeviceAddress address) {
    const auto value = vmm().GetPointerAttribute(kDevice0, attribute, address);
    EXPECT_THAT(value, IsOk());
    return *value;
  }

  const Bytes free_ = vmm().GetMemoryInfo(kDevice0)->free;
};

// --- Memory of devices

// Below 2 MiB they lie one behind the other in a block of that size, in steps of 512 bytes.
TEST_F(LinearMemoryTest, SmallOnesShareABlock) {
  const DeviceAddress first = Allocate(Bytes(100));
  EXPECT_TRUE(first.IsAligned(MiB(2)));
  EXPECT_EQ(Allocate(Bytes(100)), first + Bytes(512));
  EXPECT_EQ(Allocate(Bytes(1)), first + Bytes(1024));
  EXPECT_EQ(Allocate(MiB(2) - Bytes(2048)), first + Bytes(1536));
  EXPECT_EQ(Taken(), MiB(2));
}

// What no longer fits begins another block, and what still fits fills the first.
TEST_F(LinearMemoryTest, AFullBlockIsFollowedByAnother) {
  const DeviceAddress first = Allocate(MiB(1));
  EXPECT_EQ(Allocate(KiB(768)), first + MiB(1));
  const DeviceAddress other = Allocate(KiB(512));
  EXPECT_TRUE(other.IsAligned(MiB(2)));
  EXPECT_EQ(Taken(), MiB(4));
  EXPECT_EQ(Allocate(KiB(256)), first + KiB(1792));
  EXPECT_EQ(Taken(), MiB(4));
}

// Larger ones have blocks of their own, rounded up to 2 MiB.
TEST_F(LinearMemoryTest, LargeOnesHaveBlocksOfTheirOwn) {
  EXPECT_TRUE(Allocate(MiB(2) - Bytes(511)).IsAligned(MiB(2)));
  EXPECT_EQ(Taken(), MiB(2));
  EXPECT_TRUE(Allocate(MiB(3)).IsAligned(MiB(2)));
  EXPECT_EQ(Taken(), MiB(6));
  EXPECT_TRUE(Allocate(MiB(32) + Bytes(5)).IsAligned(MiB(2)));
  EXPECT_EQ(Taken(), MiB(40));
}

// A block gives its memory back when the last of it is freed.
TEST_F(LinearMemoryTest, MemoryIsFreeAgainWhenTheBlockIsEmpty) {
  const DeviceAddress first = Allocate(Bytes(100));
  const DeviceAddress second = Allocate(Bytes(100));
  const DeviceAddress large = Allocate(MiB(3));
  EXPECT_THAT(linear().Free(first), IsOk());
  EXPECT_EQ(Taken(), MiB(6));
  EXPECT_THAT(linear().Free(large), IsOk());
  EXPECT_EQ(Taken(), MiB(2));
  EXPECT_THAT(linear().Free(second), IsOk());
  EXPECT_EQ(Taken(), Bytes(0));
}

TEST_F(LinearMemoryTest, ManySmallOnesTakeFewBlocks) {
  std::vector<DeviceAddress> all;
  for (int i = 0; i < 5000; ++i) all.push_back(Allocate(Bytes(512)));
  EXPECT_EQ(Taken(), MiB(4));
  for (const DeviceAddress address : all) EXPECT_THAT(linear().Free(address), IsOk());
  EXPECT_EQ(Taken(), Bytes(0));
}

// What is freed in a shared block is used again.
TEST_F(LinearMemoryTest, FillsGapsInABlock) {
  const DeviceAddress first = Allocate(Bytes(1000));
  Allocate(Bytes(1));
  EXPECT_THAT(linear().Free(first), IsOk());
  EXPECT_EQ(Allocate(Bytes(1025)), first + Bytes(1536));
  EXPECT_EQ(Allocate(Bytes(1024)), first);
}

TEST_F(LinearMemoryTest, NothingIsNoSize) {
  EXPECT_THAT(linear().Allocate(kContext, Bytes(0)), HasDriverCode(kInvalid));
  EXPECT_EQ(Taken(), Bytes(0));
}

// More than there is leaves no trace, be it a little more or all that 64 bits can say.
TEST_F(LinearMemoryTest, MoreThanThereIsLeavesNoTrace) {
  for (const Bytes size : {free_ + Bytes(1), TiB(64), Bytes(0) - Bytes(1), Bytes(0) - MiB(2)}) {
    EXPECT_THAT(linear().Allocate(kContext, size), HasDriverCode(kNoMemory)) << size;
  }
  EXPECT_EQ(Taken(), Bytes(0));
  EXPECT_THAT(simulator_->leaks(), ::testing::IsEmpty());
}

// Both kinds of memory come out of the same.
TEST_F(LinearMemoryTest, SharesTheMemoryOfTheDeviceWithCreate) {
  const Bytes half = RoundUp(free_ / 2, kGranule);
  Allocate(half);
  EXPECT_THAT(vmm().Create(half, {}), HasDriverCode(kNoMemory));
  AllocationProperties other;
  other.location = Location::Device(kDevice1);
  EXPECT_THAT(vmm().Create(half, other), IsOk());
}

TEST_F(LinearMemoryTest, NeedsADevice) {
  const LinearCalls::Context nowhere{DeviceOrdinal(2), 0};
  EXPECT_THAT(linear().Allocate(nowhere, Bytes(1)), HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(linear().AllocateHost(nowhere, Bytes(1), 0),
              HasDriverCode(DriverCode::kInvalidDevice));
}

// Only the address that was given frees, and only once; 0 is nothing.
TEST_F(LinearMemoryTest, FreesWhatItMade) {
  const DeviceAddress address = Allocate(Bytes(1000));
  const int on_stack = 0;
  EXPECT_THAT(linear().Free(address + Bytes(1)), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().Free(address + Bytes(512)), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().Free(address), IsOk());
  EXPECT_THAT(linear().Free(address), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().Free(DeviceAddress(0)), IsOk());
  EXPECT_THAT(linear().Free(DeviceAddress(0x1234567)), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().Free(AddressOf(&on_stack)), HasDriverCode(kInvalid));
}

TEST_F(LinearMemoryTest, FreesNoMappedMemory) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(linear().Free(range.base), HasDriverCode(kInvalid));
  EXPECT_THAT(Read(kDevice0, range.base), IsOk());
}

// What was made in a context goes with it, memory of the host too; what was made in another stays.
TEST_F(LinearMemoryTest, GoesWithItsContext) {
  const LinearCalls::Context ends{kDevice0, 0xc1};
  std::vector<char> registered(KiB(8).value());
  const DeviceAddress kept = Allocate(Bytes(100));
  const DeviceAddress gone = Allocate(Bytes(100), ends);
  void* const pinned = *linear().AllocateHost(ends, Bytes(100), 0);
  EXPECT_THAT(linear().RegisterHost(ends, registered.data(), KiB(8), 0), IsOk());
  EXPECT_THAT(Read(kDevice0, gone), IsOk());
  EXPECT_THAT(linear().FreeOwnedBy(ends.owner), IsOk());
  EXPECT_THAT(Read(kDevice0, gone), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().Free(gone), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().Find(AddressOf(pinned)), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().FreeHost(pinned), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().UnregisterHost(registered.data()),
              HasDriverCode(DriverCode::kHostMemoryNotRegistered));
  EXPECT_THAT(Read(kDevice0, kept), IsOk());
}

// --- Calls of virtual memory management do not know it

TEST_F(LinearMemoryTest, IsNotMappedMemory) {
  const AddressRange range = At(Allocate(MiB(4)), MiB(4));
  const AllocationHandle handle = Create(2);
  const std::array grants{For(kDevice0, Access::kRead)};
  EXPECT_THAT(vmm().RetainAllocationHandle(range.base), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().SetAccess(range, grants), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Unmap(range), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().AddressFree(range), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().Map(range, handle), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().GetAccess(Location::Device(kDevice0), range.base), IsOkAndHolds(Access::kNone));
  EXPECT_THAT(Read(kDevice0, range.base), IsOk());
}

// Its addresses are not given to reservations, be they asked for.
TEST_F(LinearMemoryTest, IsNotReservable) {
  const AddressRange range = At(Allocate(MiB(4)), MiB(4));
  const AddressRange reserved = Reserve(2, range.base);
  EXPECT_FALSE(reserved.overlaps(range));
}

// --- What is asked of an address

TEST_F(LinearMemoryTest, TellsWhatItIs) {
  const DeviceAddress base = Allocate(Bytes(100));
  for (const DeviceAddress address : {base, base + Bytes(50), base + Bytes(99)}) {
    EXPECT_EQ(Attribute(PointerAttribute::kContext, address), kContext.owner);
    EXPECT_EQ(Attribute(PointerAttribute::kMemoryType, address), 2u);
    EXPECT_EQ(Attribute(PointerAttribute::kDevicePointer, address), address.value());
    EXPECT_EQ(Attribute(PointerAttribute::kSyncMemops, address), 0u);
    EXPECT_EQ(Attribute(PointerAttribute::kIsManaged, address), 0u);
    EXPECT_EQ(Attribute(PointerAttribute::kDeviceOrdinal, address), 0u);
    EXPECT_EQ(Attribute(PointerAttribute::kIsLegacyCudaIpcCapable, address), 1u);
    EXPECT_EQ(Attribute(PointerAttribute::kRangeStartAddress, address), base.value());
    EXPECT_EQ(Attribute(PointerAttribute::kRangeSize, address), 100u);
    EXPECT_EQ(Attribute(PointerAttribute::kMapped, address), 1u);
    EXPECT_EQ(Attribute(PointerAttribute::kAllowedHandleTypes, address), 0u);
    EXPECT_EQ(Attribute(PointerAttribute::kIsGpuDirectRdmaCapable, address), 1u);
    EXPECT_EQ(Attribute(PointerAttribute::kAccessFlags, address), 3u);
    EXPECT_EQ(Attribute(PointerAttribute::kMempoolHandle, address), 0u);
    EXPECT_EQ(Attribute(PointerAttribute::kMappingSize, address), MiB(2).value());
    EXPECT_EQ(Attribute(PointerAttribute::kMappingBaseAddress, address), base.value());
    EXPECT_THAT(vmm().GetPointerAttribute(kDevice0, PointerAttribute::kHostPointer, address),
                HasDriverCode(kInvalid));
    EXPECT_THAT(vmm().GetAddressRange(kDevice0, address), IsOkAndHolds(At(base, Bytes(100))));
  }
}

// One byte beyond, and after it is freed, nothing is known.
TEST_F(LinearMemoryTest, TellsNothingBeyondItsEnd) {
  const DeviceAddress base = Allocate(Bytes(100));
  const auto expect_unknown = [&](DeviceAddress address) {
    for (const PointerAttribute attribute : AllPointerAttributes()) {
      EXPECT_THAT(vmm().GetPointerAttribute(kDevice0, attribute, address), HasDriverCode(kInvalid));
    }
    EXPECT_THAT(vmm().GetAddressRange(kDevice0, address), HasDriverCode(DriverCode::kNotFound));
    EXPECT_THAT(linear().Find(address), HasDriverCode(kInvalid));
  };
  expect_unknown(base + Bytes(100));
  expect_unknown(base + Bytes(511));
  EXPECT_THAT(linear().Free(base), IsOk());
  expect_unknown(base);
}

// Each has a number of its own, which mappings do not have either, and which never comes again;
// so has each block.
TEST_F(LinearMemoryTest, HasNumbersOfItsOwn) {
  const AddressRange range = Ready(1);
  const DeviceAddress first = Allocate(Bytes(100));
  const DeviceAddress second = Allocate(Bytes(100));
  const auto buffer = [&](DeviceAddress address) {
    return Attribute(PointerAttribute::kBufferId, address);
  };
  const auto block = [&](DeviceAddress address) {
    return Attribute(PointerAttribute::kMemoryBlockId, address);
  };
  std::vector<uint64_t> numbers = {buffer(range.base), buffer(first), buffer(second)};
  EXPECT_EQ(block(first), block(second));
  EXPECT_NE(block(first), block(Allocate(MiB(2))));
  EXPECT_NE(block(first), block(range.base));
  EXPECT_THAT(linear().Free(second), IsOk());
  numbers.push_back(buffer(Allocate(Bytes(100))));
  MapNew(Reserve(1).base, 1);
  numbers.push_back(buffer(Ready(1).base));
  for (size_t i = 1; i < numbers.size(); ++i) EXPECT_GT(numbers[i], numbers[i - 1]);
}

TEST_F(LinearMemoryTest, TakesTheAttributeThatCanBeSet) {
  const DeviceAddress base = Allocate(Bytes(100));
  EXPECT_THAT(linear().SetSyncMemops(base + Bytes(5), true), IsOk());
  EXPECT_EQ(Attribute(PointerAttribute::kSyncMemops, base), 1u);
  EXPECT_THAT(linear().SetSyncMemops(base, false), IsOk());
  EXPECT_EQ(Attribute(PointerAttribute::kSyncMemops, base), 0u);
  EXPECT_THAT(linear().SetSyncMemops(base + Bytes(100), true), HasDriverCode(kInvalid));
}

// Another device sees all but the address, unless it has peer access.
TEST_F(LinearMemoryTest, HidesItsAddressFromOtherDevices) {
  const DeviceAddress base = Allocate(KiB(4));
  const LinearCalls::Context other{kDevice1, 0xc1};
  const auto pointer = [&] {
    return vmm().GetPointerAttribute(kDevice1, PointerAttribute::kDevicePointer, base);
  };
  const auto attribute = [&](PointerAttribute asked) {
    return *vmm().GetPointerAttribute(kDevice1, asked, base);
  };
  EXPECT_THAT(pointer(), HasDriverCode(kInvalid));
  EXPECT_THAT(vmm().GetAddressRange(kDevice1, base), HasDriverCode(DriverCode::kNotFound));
  EXPECT_EQ(attribute(PointerAttribute::kAccessFlags), 3u);
  EXPECT_EQ(attribute(PointerAttribute::kDeviceOrdinal), 0u);
  EXPECT_EQ(attribute(PointerAttribute::kRangeSize), KiB(4).value());
  EXPECT_THAT(linear().EnablePeerAccess(other, kDevice0), IsOk());
  EXPECT_THAT(pointer(), IsOkAndHolds(base.value()));
  EXPECT_THAT(vmm().GetAddressRange(kDevice1, base), IsOkAndHolds(At(base, KiB(4))));
  EXPECT_THAT(linear().DisablePeerAccess(other, kDevice0), IsOk());
  EXPECT_THAT(pointer(), HasDriverCode(kInvalid));
}

TEST_F(LinearMemoryTest, PeerAccessIsEnabledOnceForEachContext) {
  const LinearCalls::Context first{kDevice0, 1};
  const LinearCalls::Context second{kDevice0, 2};
  EXPECT_THAT(linear().EnablePeerAccess(first, kDevice0),
              HasDriverCode(DriverCode::kPeerAccessUnsupported));
  EXPECT_THAT(linear().DisablePeerAccess(first, kDevice1),
              HasDriverCode(DriverCode::kPeerAccessNotEnabled));
  EXPECT_THAT(linear().EnablePeerAccess(first, kDevice1), IsOk());
  EXPECT_THAT(linear().EnablePeerAccess(first, kDevice1),
              HasDriverCode(DriverCode::kPeerAccessAlreadyEnabled));
  EXPECT_THAT(linear().EnablePeerAccess(second, kDevice1), IsOk());
  EXPECT_THAT(linear().FreeOwnedBy(first.owner), IsOk());
  EXPECT_THAT(linear().DisablePeerAccess(first, kDevice1),
              HasDriverCode(DriverCode::kPeerAccessNotEnabled));
  EXPECT_THAT(linear().DisablePeerAccess(second, kDevice1), IsOk());
}

TEST(LinearMemoryNoPeersTest, PeerAccessNeedsAPeer) {
  const auto simulator = *Simulator::Create(*Profile::Named("no-peers"));
  EXPECT_THAT(simulator->linear().EnablePeerAccess({kDevice0, 0}, kDevice1),
              HasDriverCode(DriverCode::kPeerAccessUnsupported));
  EXPECT_THAT(simulator->linear().EnablePeerAccess({kDevice0, 0}, DeviceOrdinal(2)),
              HasDriverCode(DriverCode::kInvalidDevice));
}

// --- Memory of the host

// It is memory of the process, and each side uses it at its own address.
TEST_F(LinearMemoryTest, PinsMemoryThatTheCpuUses) {
  char* const memory = Pin(Bytes(100));
  std::memset(memory, 5, 100);
  EXPECT_TRUE(AddressOf(memory).IsAligned(MiB(2)));
  EXPECT_EQ(Attribute(PointerAttribute::kContext, AddressOf(memory + 99)), kContext.owner);
  EXPECT_EQ(Attribute(PointerAttribute::kMemoryType, AddressOf(memory)), 1u);
  EXPECT_EQ(Attribute(PointerAttribute::kHostPointer, AddressOf(memory + 99)),
            AddressOf(memory + 99).value());
  EXPECT_EQ(Attribute(PointerAttribute::kDevicePointer, AddressOf(memory + 99)),
            AddressOf(memory + 99).value());
  EXPECT_EQ(Attribute(PointerAttribute::kIsLegacyCudaIpcCapable, AddressOf(memory)), 0u);
  EXPECT_EQ(Attribute(PointerAttribute::kIsGpuDirectRdmaCapable, AddressOf(memory)), 0u);
  EXPECT_EQ(Attribute(PointerAttribute::kMappingSize, AddressOf(memory)), MiB(2).value());
  EXPECT_THAT(vmm().GetAddressRange(kDevice0, AddressOf(memory + 99)),
              IsOkAndHolds(At(AddressOf(memory), Bytes(100))));
  EXPECT_THAT(vmm().GetAddressRange(kDevice0, AddressOf(memory + 100)),
              HasDriverCode(DriverCode::kNotFound));
  EXPECT_EQ(Taken(), Bytes(0));
}

// The flags are those of the block, which write-combined memory does not share with other memory.
TEST_F(LinearMemoryTest, TellsTheFlagsOfPinnedMemory) {
  const auto flags = [&](const char* memory) { return linear().Find(AddressOf(memory))->flags; };
  char* const first = Pin(Bytes(100));
  char* const portable = Pin(Bytes(100), 1 | 2);
  EXPECT_EQ(flags(first), 2u);
  EXPECT_EQ(portable, first + 512);
  EXPECT_EQ(flags(portable), 2u);
  char* const combined = Pin(Bytes(100), 4);
  EXPECT_TRUE(AddressOf(combined).IsAligned(MiB(2)));
  EXPECT_EQ(flags(combined), 6u);
  EXPECT_EQ(flags(Pin(MiB(2), 7)), 7u);
  EXPECT_THAT(linear().AllocateHost(kContext, Bytes(100), 0x10), HasDriverCode(kInvalid));
}

TEST_F(LinearMemoryTest, PinsNothing) {
  EXPECT_THAT(linear().AllocateHost(kContext, Bytes(0), 0), IsOkAndHolds(nullptr));
  EXPECT_THAT(linear().FreeHost(nullptr), IsOk());
}

TEST_F(LinearMemoryTest, PinsNoMoreThanTheHostHas) {
  EXPECT_THAT(linear().AllocateHost(kContext, TiB(64), 0), HasDriverCode(kNoMemory));
  EXPECT_THAT(linear().AllocateHost(kContext, Bytes(0) - Bytes(1), 0), HasDriverCode(kNoMemory));
}

// Where the profile says nothing of the memory of the host, the host itself does.
TEST(LinearMemoryOfUnknownHostTest, PinsNoMoreThanTheHostHas) {
  Profile profile = Profile::ReferenceH200();
  profile.host_nodes.clear();
  const auto simulator = *Simulator::Create(profile);
  for (const Bytes size : {TiB(129), Bytes(0) - MiB(1), Bytes(0) - Bytes(1)}) {
    EXPECT_THAT(simulator->linear().AllocateHost(kContext, size, 0), HasDriverCode(kNoMemory));
  }
  EXPECT_THAT(simulator->linear().AllocateHost(kContext, Bytes(1), 0), IsOk());
}

TEST_F(LinearMemoryTest, FreesPinnedMemoryByItsOwnCall) {
  char* const memory = Pin(Bytes(100));
  int on_stack = 0;
  const DeviceAddress device = Allocate(Bytes(100));
  EXPECT_THAT(linear().FreeHost(memory + 1), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().Free(AddressOf(memory)), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().FreeHost(reinterpret_cast<void*>(device.value())), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().FreeHost(&on_stack), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().FreeHost(memory), IsOk());
  EXPECT_THAT(linear().FreeHost(memory), HasDriverCode(kInvalid));
}

// The caller's memory, which begins anywhere; its block is the pages around it.
TEST_F(LinearMemoryTest, RegistersMemoryOfTheCaller) {
  std::vector<char> memory(MiB(1).value());
  char* const base = memory.data() + 7;
  const Bytes size = MiB(1) - Bytes(7);
  EXPECT_THAT(linear().RegisterHost(kContext, base, size, 0), IsOk());
  EXPECT_EQ(Attribute(PointerAttribute::kMemoryType, AddressOf(base)), 1u);
  EXPECT_EQ(Attribute(PointerAttribute::kHostPointer, AddressOf(base)), AddressOf(base).value());
  EXPECT_EQ(Attribute(PointerAttribute::kRangeStartAddress, AddressOf(base)),
            AddressOf(base).value());
  EXPECT_EQ(Attribute(PointerAttribute::kRangeSize, AddressOf(base)), size.value());
  const uint64_t first = AddressOf(base).value() / 4096 * 4096;
  const uint64_t end = RoundUp(Bytes((AddressOf(base) + size).value()), KiB(4)).value();
  EXPECT_EQ(Attribute(PointerAttribute::kMappingBaseAddress, AddressOf(base)), first);
  EXPECT_EQ(Attribute(PointerAttribute::kMappingSize, AddressOf(base)), end - first);
  EXPECT_EQ(linear().Find(AddressOf(base))->flags, 2u);
  EXPECT_THAT(linear().UnregisterHost(base), IsOk());
  EXPECT_THAT(linear().Find(AddressOf(base)), HasDriverCode(kInvalid));
}

TEST_F(LinearMemoryTest, RegistersMemoryOnce) {
  std::vector<char> memory(MiB(1).value());
  char* const base = memory.data();
  EXPECT_THAT(linear().RegisterHost(kContext, base, MiB(1), 0), IsOk());
  EXPECT_THAT(linear().RegisterHost(kContext, base, MiB(1), 0),
              HasDriverCode(DriverCode::kHostMemoryAlreadyRegistered));
  EXPECT_THAT(linear().RegisterHost(kContext, base + 100, KiB(4), 0),
              HasDriverCode(DriverCode::kHostMemoryAlreadyRegistered));
  EXPECT_THAT(linear().UnregisterHost(base + 8), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().FreeHost(base), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().UnregisterHost(base), IsOk());
  EXPECT_THAT(linear().UnregisterHost(base), HasDriverCode(DriverCode::kHostMemoryNotRegistered));
}

// Pages, and bytes of them, that are registered need not be whole or next to each other.
TEST_F(LinearMemoryTest, RegistersSeveralPartsOfMemory) {
  std::vector<char> memory(MiB(1).value());
  EXPECT_THAT(linear().RegisterHost(kContext, memory.data(), KiB(4), 3), IsOk());
  EXPECT_THAT(linear().RegisterHost(kContext, memory.data() + 2048, KiB(4), 0),
              HasDriverCode(DriverCode::kHostMemoryAlreadyRegistered));
  EXPECT_THAT(linear().RegisterHost(kContext, memory.data() + 8192, KiB(4), 0), IsOk());
  EXPECT_EQ(linear().Find(AddressOf(memory.data()))->flags, 3u);
  EXPECT_THAT(linear().UnregisterHost(memory.data()), IsOk());
  EXPECT_THAT(linear().UnregisterHost(memory.data() + 8192), IsOk());
}

// What is no memory of the caller cannot be registered.
TEST_F(LinearMemoryTest, RegistersOnlyMemoryOfTheCaller) {
  char* const pinned = Pin(Bytes(100));
  const DeviceAddress device = Allocate(Bytes(100));
  EXPECT_THAT(linear().RegisterHost(kContext, pinned, Bytes(100), 0), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().UnregisterHost(pinned), HasDriverCode(kInvalid));
  EXPECT_THAT(
      linear().RegisterHost(kContext, reinterpret_cast<void*>(device.value()), Bytes(100), 0),
      HasDriverCode(kInvalid));
  EXPECT_THAT(linear().RegisterHost(kContext, reinterpret_cast<void*>(0x10000), KiB(4), 0),
              HasDriverCode(kInvalid));
}

TEST_F(LinearMemoryTest, RegistersNothingImpossible) {
  char byte = 0;
  EXPECT_THAT(linear().RegisterHost(kContext, &byte, Bytes(0), 0), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().RegisterHost(kContext, nullptr, KiB(4), 0), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().RegisterHost(kContext, &byte, Bytes(0) - Bytes(1), 0),
              HasDriverCode(kInvalid));
  EXPECT_THAT(linear().RegisterHost(kContext, &byte, Bytes(1), 0x100), HasDriverCode(kInvalid));
}

}  // namespace
}  // namespace twinmmu
