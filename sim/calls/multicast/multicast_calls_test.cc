// Multicast objects beyond what the suite tests: what is said of misuse, waiting, capabilities.

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Profile Waiting(uint64_t milliseconds) {
  Profile profile = Profile::ReferenceH200(2);
  profile.multicast_wait_ms = milliseconds;
  return profile;
}

class MulticastMachineTest : public DiagnosticsTest {
 protected:
  using DiagnosticsTest::DiagnosticsTest;

  Multicast& multicast() { return **simulator_->multicast(); }
  AllocationHandle Object(uint32_t devices, uint64_t granules,
                          HandleType types = HandleType::kNone) {
    const auto object = multicast().Create({devices, granules * kGranule, types, 0});
    EXPECT_THAT(object, IsOk());
    return *object;
  }
  // One that other processes may have.
  AllocationHandle ExportedObject(uint32_t devices, uint64_t granules) {
    const HandleType kFd = HandleType::kPosixFileDescriptor;
    const AllocationHandle object = Object(devices, granules, kFd);
    const auto exported = vmm().ExportShareableHandle(object, kFd);
    EXPECT_THAT(exported, IsOk());
    if (exported.ok()) close(exported->file_descriptor);
    return object;
  }
  AllocationHandle Team(uint32_t devices, uint64_t granules) {
    const AllocationHandle object = Object(devices, granules);
    for (uint32_t i = 0; i < devices; ++i) {
      EXPECT_THAT(multicast().AddDevice(object, DeviceOrdinal(static_cast<int>(i))), IsOk());
    }
    return object;
  }
  absl::Status Bind(AllocationHandle object, AllocationHandle memory) {
    return multicast().BindMemory(object, Bytes(0), memory, Bytes(0), kGranule);
  }
};

// The error says that a driver would wait, and for whom; the diagnostic names the object. No other
// process has it, so that none can add the device: the call does not wait.
TEST_F(MulticastMachineTest, SaysThatADriverWouldWaitForTheTeam) {
  const AllocationHandle object = Object(2, 1);
  ASSERT_THAT(multicast().AddDevice(object, kDevice1), IsOk());
  const absl::Status bound = Bind(object, Create(1));
  EXPECT_THAT(bound, HasDriverCode(DriverCode::kIllegalState));
  EXPECT_THAT(std::string(bound.message()),
              testing::HasSubstr("added: device 1; not added: device 0; a driver would wait, this "
                                 "call waited 0 ms"));
  EXPECT_EQ(Only().kind, DiagnosticKind::kMulticastTeamIncomplete);
  EXPECT_EQ(Only().handle, object);
}

// A copy to a multicast address where a device has bound nothing is refused, and named; one from
// there always is.
TEST_F(MulticastMachineTest, NamesACopyThatFindsNoReplica) {
  const AllocationHandle object = Team(1, 1);
  const AddressRange range = Reserve(1);
  ASSERT_THAT(vmm().Map(range, object), IsOk());
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.base, 1), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_EQ(Only().kind, DiagnosticKind::kUseOfMulticast);
  EXPECT_EQ(Only().device, kDevice0);
  ASSERT_THAT(Bind(object, Create(1)), IsOk());
  EXPECT_THAT(Write(kDevice0, range.base, 1), IsOk());
  EXPECT_THAT(Noticed(), SizeIs(1));
  EXPECT_THAT(Read(kDevice0, range.base).status(), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Noticed(), SizeIs(2));
}

// Without the access that it needs it is told as of memory.
TEST_F(MulticastMachineTest, NamesACopyWithoutAccess) {
  const AllocationHandle object = Team(1, 1);
  ASSERT_THAT(Bind(object, Create(1)), IsOk());
  const AddressRange range = Reserve(1);
  ASSERT_THAT(vmm().Map(range, object), IsOk());
  EXPECT_THAT(Write(kDevice0, range.base, 1), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_EQ(Only().kind, DiagnosticKind::kUseWithoutAccess);
}

// It goes on where the bindings of a device end, on each at its own places.
TEST_F(MulticastMachineTest, CopiesAcrossBindings) {
  const AllocationHandle object = Team(2, 2);
  const AddressRange own = Reserve(2);
  ASSERT_THAT(vmm().Map(own, Create(2)), IsOk());
  Grant(own, For(kDevice0, Access::kReadWrite));
  const AddressRange second = At(own.base + kGranule, kGranule);
  const AddressRange first = At(own.base, kGranule);
  ASSERT_THAT(multicast().BindAddress(object, Bytes(0), second), IsOk());
  ASSERT_THAT(multicast().BindAddress(object, kGranule, first), IsOk());
  const AllocationHandle other = Create(2, On(Location::Device(kDevice1)));
  ASSERT_THAT(multicast().BindMemory(object, Bytes(0), other, Bytes(0), 2 * kGranule), IsOk());
  const AddressRange all = Reserve(2);
  ASSERT_THAT(vmm().Map(all, object), IsOk());
  Grant(all, For(kDevice0, Access::kReadWrite));
  const uint64_t words = 0x200000001;
  EXPECT_THAT(executor().CopyHostToDevice(kDevice0, all.base + kGranule - Bytes(4), &words,
                                          Bytes(sizeof(words))),
              IsOk());
  EXPECT_THAT(Read(kDevice0, second.end() - Bytes(4)), IsOkAndHolds(1u));
  EXPECT_THAT(Read(kDevice0, first.base), IsOkAndHolds(2u));
}

// What is not exactly one binding is not unbound; the diagnostic names the call that bound it.
TEST_F(MulticastMachineTest, NamesAnUnbindOfPart) {
  const AllocationHandle object = Team(1, 2);
  const AllocationHandle memory = Create(2);
  ASSERT_THAT(multicast().BindMemory(object, Bytes(0), memory, Bytes(0), 2 * kGranule), IsOk());
  EXPECT_THAT(multicast().Unbind(object, kDevice0, Bytes(0), kGranule),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_EQ(Only().kind, DiagnosticKind::kUnbindOfPart);
  EXPECT_THAT(multicast().Unbind(object, kDevice0, Bytes(0), 2 * kGranule), IsOk());
}

// The last reference to an object that can be shared takes along what is bound, also when that can
// be shared and nothing else keeps it.
TEST_F(MulticastMachineTest, GivesBackSharedMemoryWithASharedObject) {
  const HandleType kFd = HandleType::kPosixFileDescriptor;
  const Bytes before = vmm().GetMemoryInfo(kDevice0)->free;
  for (int round = 0; round < 2; ++round) {
    const AllocationHandle object = Object(1, 2, kFd);
    ASSERT_THAT(multicast().AddDevice(object, kDevice0), IsOk());
    for (const uint64_t granule : {0, 1}) {
      const AllocationHandle memory = Create(1, Shareable());
      ASSERT_THAT(multicast().BindMemory(object, granule * kGranule, memory, Bytes(0), kGranule),
                  IsOk());
      ASSERT_THAT(vmm().Release(memory), IsOk());
    }
    EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, before - 2 * kGranule);
    ASSERT_THAT(vmm().Release(object), IsOk());
    EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, before);
  }
}

// What nobody keeps any more goes at once, and the object takes along what is bound to it.
TEST_F(MulticastMachineTest, GivesBackWhatOthersKeptTogether) {
  const HandleType kFd = HandleType::kPosixFileDescriptor;
  const Bytes before = vmm().GetMemoryInfo(kDevice0)->free;
  const AllocationHandle object = Object(1, 1, kFd);
  ASSERT_THAT(multicast().AddDevice(object, kDevice0), IsOk());
  const AllocationHandle bound = Create(1, Shareable());
  ASSERT_THAT(Bind(object, bound), IsOk());
  ASSERT_THAT(vmm().Release(bound), IsOk());
  std::vector<int> files;
  for (const AllocationHandle kept : {object, Create(1, Shareable()), Create(1, Shareable())}) {
    files.push_back(vmm().ExportShareableHandle(kept, kFd)->file_descriptor);
    ASSERT_THAT(vmm().Release(kept), IsOk());
  }
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, before - 3 * kGranule);
  for (const int file : files) close(file);
  EXPECT_EQ(vmm().GetMemoryInfo(kDevice0)->free, before);
}

// An object that is left is a leak that says what it is, and what hangs on it.
TEST_F(MulticastMachineTest, NamesAnObjectThatIsLeft) {
  const AllocationHandle object = Team(2, 1);
  const AllocationHandle memory = Create(1);
  ASSERT_THAT(Bind(object, memory), IsOk());
  ASSERT_THAT(vmm().Release(memory), IsOk());
  const std::vector<Diagnostic> leaks = simulator_->leaks();
  EXPECT_THAT(leaks,
              ElementsAre(testing::AllOf(
                  IsDiagnostic(DiagnosticKind::kLeakedMulticastObject),
                  Says("multicast object of 2 MiB for 2 device(s); bound to it: 1"),
                  History(ElementsAre(Entry(1u, "created"), Entry(2u, "added a device"),
                                      Entry(3u, "added a device"), Entry(5u, "bound memory"))))));
  ASSERT_THAT(vmm().Release(object), IsOk());
  EXPECT_THAT(simulator_->leaks(), IsEmpty());
}

// Objects and memory are not taken for each other, dead objects for nothing.
TEST_F(MulticastMachineTest, TellsObjectsFromMemory) {
  const AllocationHandle object = Team(1, 1);
  const AllocationHandle memory = Create(1);
  EXPECT_THAT(vmm().GetAllocationProperties(object), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(multicast().AddDevice(memory, kDevice0), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Bind(memory, memory), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Bind(object, object), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Noticed(), IsEmpty());
  ASSERT_THAT(vmm().Release(object), IsOk());
  EXPECT_THAT(Bind(object, memory), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_EQ(Only().kind, DiagnosticKind::kUseOfDeadHandle);
}

// Only devices of the team can be granted the object, and the host never.
TEST_F(MulticastMachineTest, GrantsTheTeamOnly) {
  const AddressRange range = Reserve(1);
  ASSERT_THAT(vmm().Map(range, Team(1, 1)), IsOk());
  EXPECT_THAT(vmm().SetAccess(range, std::array{For(kDevice1, Access::kReadWrite)}),
              HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(vmm().SetAccess(range, std::array{ForHost(Access::kRead)}),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(vmm().SetAccess(range, std::array{For(kDevice0, Access::kReadWrite)}), IsOk());
}

// It belongs to several devices, and none of them is answered.
TEST_F(MulticastMachineTest, HasNoDeviceOfItsOwn) {
  const AddressRange range = Reserve(1);
  ASSERT_THAT(vmm().Map(range, Team(2, 1)), IsOk());
  EXPECT_THAT(vmm().GetPointerAttribute(kDevice0, PointerAttribute::kDeviceOrdinal, range.base),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm().GetPointerAttribute(kDevice0, PointerAttribute::kMapped, range.base),
              IsOkAndHolds(1));
}

// Fabric handles of objects need the permission that those of memory need.
TEST_F(MulticastMachineTest, AsksForThePermissionToFabricHandles) {
  EXPECT_THAT(multicast().Create({1, kGranule, HandleType::kFabric, 0}),
              HasDriverCode(DriverCode::kNotPermitted));
}

class CoarseMulticastTest : public MulticastMachineTest {
 protected:
  CoarseMulticastTest() : MulticastMachineTest(Coarse()) {}
  static Profile Coarse() {
    Profile profile = Profile::ReferenceH200(1);
    profile.multicast_minimum_granularity = MiB(4);
    return profile;
  }
};

// Where the granule of objects is larger than that of memory, it counts for their mappings.
TEST_F(CoarseMulticastTest, MapsAtMultiplesOfItsGranularity) {
  const AllocationHandle object = Team(1, 2);
  const AddressRange range = *vmm().AddressReserve(4 * kGranule, {MiB(4), DeviceAddress(0), 0});
  EXPECT_THAT(vmm().Map(At(range.base + kGranule, 2 * kGranule), object),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_EQ(Only().kind, DiagnosticKind::kMapMisaligned);
  EXPECT_THAT(vmm().Map(At(range.base + 2 * kGranule, 2 * kGranule), object), IsOk());
}

// A part that is no multiple of it is refused, as of addresses.
TEST_F(CoarseMulticastTest, MapsPartsThatAreMultiplesOfItsGranularity) {
  const AllocationHandle object = Team(1, 4);
  const AddressRange range = *vmm().AddressReserve(4 * kGranule, {MiB(4), DeviceAddress(0), 0});
  EXPECT_THAT(vmm().Map(At(range.base, kGranule), object),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_EQ(Only().kind, DiagnosticKind::kMapMisaligned);
  EXPECT_THAT(vmm().Map(At(range.base, 2 * kGranule), object), IsOk());
}

// More than the object, and what begins elsewhere, are refused as of memory.
TEST_F(MulticastMachineTest, MapsNothingBeyondItsEndOrFromItsMiddle) {
  const AllocationHandle object = Team(1, 2);
  const AddressRange range = Reserve(3);
  EXPECT_THAT(vmm().Map(range, object), HasDriverCode(DriverCode::kNotSupported));
  EXPECT_EQ(Only().kind, DiagnosticKind::kMapBeyondAllocation);
  EXPECT_THAT(vmm().Map(At(range.base, kGranule), object, kGranule, 0),
              HasDriverCode(DriverCode::kNotSupported));
}

class MixedMulticastTest : public MulticastMachineTest {
 protected:
  MixedMulticastTest() : MulticastMachineTest(With(1)) {}
  static Profile With(int first) {
    Profile profile = Profile::ReferenceH200(2);
    profile.devices[0].attributes[DeviceAttribute::kMulticastSupported] = first;
    profile.devices[1].attributes[DeviceAttribute::kMulticastSupported] = 0;
    return profile;
  }
};

// A device without the capability cannot join.
TEST_F(MixedMulticastTest, TakesNoDeviceWithoutTheCapability) {
  const AllocationHandle object = Object(2, 1);
  EXPECT_THAT(multicast().AddDevice(object, kDevice1), HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(multicast().AddDevice(object, kDevice0), IsOk());
}

class NoMulticastTest : public MixedMulticastTest {
 protected:
  NoMulticastTest() { simulator_ = *Simulator::Create(With(0)); }
};

// Where no device has it, nothing of it is there.
TEST_F(NoMulticastTest, IsNotSupportedWhereNoDeviceIs) {
  EXPECT_THAT(multicast().Create({1, kGranule, HandleType::kNone, 0}),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(
      multicast().GetGranularity({1, kGranule, HandleType::kNone, 0}, Granularity::kMinimum),
      HasDriverCode(DriverCode::kNotSupported));
}

// With memory of the host near each of its devices.
class HostMulticastTest : public MulticastMachineTest {
 protected:
  HostMulticastTest() : MulticastMachineTest(TwoNodes()) {}
  static Profile TwoNodes() {
    Profile profile = Profile::ReferenceH200(2);
    profile.driver_version = 13010;
    profile.host_nodes = {{0, GiB(1)}, {1, GiB(1)}};
    profile.devices[1].attributes[DeviceAttribute::kHostNumaId] = 1;
    return profile;
  }
  absl::Status BindFor(AllocationHandle object, DeviceOrdinal device, AllocationHandle memory) {
    return multicast().BindMemoryForDevice(object, device, Bytes(0), memory, Bytes(0), kGranule, 0);
  }
};

// A device binds memory of the host node nearest to it, and of no other.
TEST_F(HostMulticastTest, BindsMemoryOfTheNearestNode) {
  const AllocationHandle object = Team(2, 1);
  const AllocationHandle near_device1 = Create(1, On(Location::HostNuma(1)));
  EXPECT_THAT(BindFor(object, kDevice0, near_device1), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(BindFor(object, kDevice1, near_device1), IsOk());
}

class WaitingMulticastTest : public MulticastMachineTest {
 protected:
  WaitingMulticastTest() : MulticastMachineTest(Waiting(60'000)) {}
};

// Where the profile says so, a call waits for the device that another thread adds.
TEST_F(WaitingMulticastTest, WaitsForTheTeam) {
  const AllocationHandle object = ExportedObject(2, 1);
  const AllocationHandle memory = Create(1, Shareable());
  const AddressRange range = Reserve(1);
  ASSERT_THAT(multicast().AddDevice(object, kDevice1), IsOk());
  std::thread binds([&] { EXPECT_THAT(Bind(object, memory), IsOk()); });
  std::thread maps([&] { EXPECT_THAT(vmm().Map(range, object), IsOk()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_THAT(multicast().AddDevice(object, kDevice0), IsOk());
  binds.join();
  maps.join();
  EXPECT_THAT(Noticed(), IsEmpty());
}

// Who waits for an object that somebody releases is told so, and does not wait on.
TEST_F(WaitingMulticastTest, StopsWaitingForWhatIsGone) {
  const AllocationHandle object = ExportedObject(2, 1);
  const AllocationHandle memory = Create(1, Shareable());
  std::thread binds(
      [&] { EXPECT_THAT(Bind(object, memory), HasDriverCode(DriverCode::kInvalidValue)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_THAT(vmm().Release(object), IsOk());
  binds.join();
}

class ShortlyWaitingMulticastTest : public MulticastMachineTest {
 protected:
  ShortlyWaitingMulticastTest() : MulticastMachineTest(Waiting(5)) {}
};

// It does not wait for ever.
TEST_F(ShortlyWaitingMulticastTest, GivesUp) {
  const absl::Status bound = Bind(ExportedObject(2, 1), Create(1));
  EXPECT_THAT(bound, HasDriverCode(DriverCode::kIllegalState));
  EXPECT_THAT(std::string(bound.message()), testing::HasSubstr("waited 5 ms"));
}

}  // namespace
}  // namespace twinmmu
