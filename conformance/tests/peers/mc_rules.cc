// Multicast objects. What is asserted is the documentation's, or what api/multicast.h chose where
// that is silent: no hardware was asked.

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "conformance/fixtures/multicast_fixture.h"
#include "conformance/fixtures/multicast_process_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr HandleType kFd = HandleType::kPosixFileDescriptor;

}  // namespace

CONFORMANCE_TEST(MulticastTest, MC_1, RecommendedIsAMultipleOfTheMinimum) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Bytes recommended,
      multicast().GetGranularity(Of(1, multicast_granule()), Granularity::kRecommended));
  EXPECT_GT(multicast_granule(), Bytes(0));
  EXPECT_GE(recommended, multicast_granule());
  EXPECT_EQ(recommended % multicast_granule(), Bytes(0));
}

CONFORMANCE_TEST(MulticastTest, MC_2, RefusesAnUnknownOption) {
  ExpectInvalid(
      multicast().GetGranularity(Of(1, multicast_granule()), static_cast<Granularity>(2)).status());
}

CONFORMANCE_TEST(MulticastTest, MC_3, MakesTeamsOfEverySizeWithoutMemory) {
  const Bytes before = Free(device());
  for (int devices = 1; devices <= device_count(); ++devices) {
    const AllocationHandle object = Team(devices, 1);
    ASSERT_NE(object, AllocationHandle(0));
    ExpectFree(device(), before);
    Release(object);
  }
}

CONFORMANCE_TEST(MulticastTest, MC_4, RefusesSizesThatAreNoMultiple) {
  for (const Bytes size :
       {Bytes(0), Bytes(1), multicast_granule() - Bytes(1), multicast_granule() + Bytes(4096)}) {
    ExpectInvalid(Make(Of(1, size)).status());
  }
}

CONFORMANCE_TEST(MulticastTest, MC_5, RefusesATeamOfNobodyAndOfMoreThanThereAre) {
  for (const int devices : {0, device_count() + 1, -1}) {
    ExpectInvalid(Make(Of(devices, multicast_granule())).status());
  }
}

CONFORMANCE_TEST(MulticastTest, MC_6, RefusesFlags) {
  for (const uint64_t flags : {uint64_t{1}, uint64_t{1} << 63}) {
    MulticastProperties wanted = Of(1, multicast_granule());
    wanted.flags = flags;
    ExpectInvalid(Make(wanted).status());
  }
}

CONFORMANCE_TEST(MulticastTest, MC_7, RefusesADeviceThatDoesNotExist) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle object, Make(Of(1, multicast_granule())));
  for (const int number : {-1, device_count(), 1 << 30}) {
    EXPECT_THAT(multicast().AddDevice(object, DeviceOrdinal(number)),
                HasDriverCode(DriverCode::kInvalidDevice));
  }
  EXPECT_THAT(multicast().AddDevice(object, device()), IsOk());
}

CONFORMANCE_TEST(MulticastTest, MC_8, RefusesMoreThanTheTeamHas) {
  const AllocationHandle object = Team(1, 1);
  ExpectInvalid(multicast().AddDevice(object, DeviceOrdinal(two() - 1)));
}

CONFORMANCE_TEST(MulticastTest, MC_9, RefusesADeviceASecondTime) {
  if (device_count() < 2) GTEST_SKIP() << "needs two devices, there is one";
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle object, Make(Of(2, multicast_granule())));
  EXPECT_THAT(multicast().AddDevice(object, device()), IsOk());
  ExpectInvalid(multicast().AddDevice(object, device()));
  EXPECT_THAT(multicast().AddDevice(object, DeviceOrdinal(1)), IsOk());
  EXPECT_THAT(Bind(object, 0, Memory(device(), 1)), IsOk());
}

CONFORMANCE_TEST(MulticastTest, MC_10, DoesNotBindBeforeTheTeamIsComplete) {
  if (!AnswersMistakes()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle object, Make(Of(two(), multicast_granule())));
  if (two() == 2) {
    EXPECT_THAT(multicast().AddDevice(object, device()), IsOk());
  }
  const AllocationHandle memory = Memory(device(), 1);
  EXPECT_THAT(Bind(object, 0, memory), HasDriverCode(DriverCode::kIllegalState));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, Reserve(1));
  ASSERT_THAT(vmm().Map(range, memory), IsOk());
  EXPECT_THAT(multicast().BindAddress(object, Bytes(0), range),
              HasDriverCode(DriverCode::kIllegalState));
  EXPECT_THAT(multicast().AddDevice(object, DeviceOrdinal(two() - 1)), IsOk());
  EXPECT_THAT(Bind(object, 0, memory), IsOk());
}

CONFORMANCE_TEST(MulticastTest, MC_11, IsNotMappedBeforeTheTeamIsComplete) {
  if (!AnswersMistakes()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle object, Make(Of(1, multicast_granule())));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, Reserve(1));
  ExpectRefused(DriverCode::kIllegalState, range, [&] { return vmm().Map(range, object); });
  EXPECT_THAT(multicast().AddDevice(object, device()), IsOk());
  EXPECT_THAT(vmm().Map(range, object), IsOk());
}

CONFORMANCE_TEST(MulticastTest, MC_12, RefusesWhatIsNoMultiple) {
  const AllocationHandle object = Team(1, 4);
  const AllocationHandle memory = Memory(device(), 4);
  const Bytes whole = multicast_granule();
  const auto bind = [&](Bytes offset, Bytes memory_offset, Bytes size) {
    return multicast().BindMemory(object, offset, memory, memory_offset, size);
  };
  ExpectInvalid(bind(Bytes(0), Bytes(0), Bytes(0)));
  for (const Bytes odd : {Bytes(1), Bytes(4096), whole + Bytes(4096)}) {
    ExpectInvalid(bind(odd, Bytes(0), whole));
    ExpectInvalid(bind(Bytes(0), odd, whole));
    ExpectInvalid(bind(Bytes(0), Bytes(0), odd));
  }
  EXPECT_THAT(bind(Bytes(0), Bytes(0), whole), IsOk());
}

CONFORMANCE_TEST(MulticastTest, MC_13, RefusesWhatIsBeyondTheObjectOrTheMemory) {
  const AllocationHandle object = Team(1, 2);
  const AllocationHandle small = Memory(device(), 1);
  const AllocationHandle large = Memory(device(), 4);
  const Bytes one = multicast_granule();
  const Bytes far = Bytes(0) - one;  // and an end that wraps
  ExpectInvalid(Bind(object, 0, large, 3));
  ExpectInvalid(Bind(object, 1, large, 2));
  ExpectInvalid(Bind(object, 2, large, 1));
  ExpectInvalid(Bind(object, 0, small, 2));
  ExpectInvalid(multicast().BindMemory(object, Bytes(0), small, one, one));
  ExpectInvalid(multicast().BindMemory(object, far, large, Bytes(0), 2 * one));
  ExpectInvalid(multicast().BindMemory(object, Bytes(0), large, far, 2 * one));
  EXPECT_THAT(multicast().BindMemory(object, one, large, 3 * one, one), IsOk());
}

CONFORMANCE_TEST(MulticastTest, MC_14, RefusesMemoryOfWhoIsNotInTheTeam) {
  const AllocationHandle object = Team(1, 1);
  const auto of_host = vmm().Create(multicast_granule(), properties(Location::HostNuma(0)));
  if (device_count() < 2 && !of_host.ok()) GTEST_SKIP() << "there is no memory of others";
  if (of_host.ok()) ExpectInvalid(Bind(object, 0, *of_host));
  if (device_count() > 1) ExpectInvalid(Bind(object, 0, Memory(DeviceOrdinal(1), 1)));
  EXPECT_THAT(Bind(object, 0, Memory(device(), 1)), IsOk());
}

CONFORMANCE_TEST(MulticastTest, MC_15, WhatCanBeSharedTakesOnlyWhatCanBeShared) {
  const AllocationHandle object = Team(1, 1, kFd);
  ExpectInvalid(Bind(object, 0, Memory(device(), 1)));
  EXPECT_THAT(Bind(object, 0, Memory(device(), 1, kFd)), IsOk());
}

CONFORMANCE_TEST(MulticastTest, MC_16, KeepsMemoryAsLongAsItIsBound) {
  const Bytes before = Free(device());
  const AllocationHandle object = Team(1, 2);
  for (const uint64_t granule : {0, 1}) {
    const AllocationHandle memory = Memory(device(), 1);
    ASSERT_THAT(Bind(object, granule, memory), IsOk());
    EXPECT_THAT(vmm().Release(memory), IsOk());
  }
  ExpectFree(device(), before - 2 * multicast_granule());
  EXPECT_THAT(multicast().Unbind(object, device(), multicast_granule(), multicast_granule()),
              IsOk());
  ExpectFree(device(), before - multicast_granule());
  Release(object);
  ExpectFree(device(), before);
}

CONFORMANCE_TEST(MulticastTest, MC_17, WhatIsUnboundCanBeBoundAgain) {
  const AllocationHandle object = Team(1, 2);
  const AllocationHandle memory = Memory(device(), 1);
  ASSERT_THAT(Bind(object, 0, memory), IsOk());
  ASSERT_THAT(Bind(object, 1, memory), IsOk());
  EXPECT_THAT(multicast().Unbind(object, device(), Bytes(0), multicast_granule()), IsOk());
  EXPECT_THAT(Bind(object, 0, Memory(device(), 1)), IsOk());
  ExpectInvalid(Bind(object, 1, memory));
}

CONFORMANCE_TEST(MulticastTest, MC_18, RefusesASpanThatTheDeviceHasBound) {
  const AllocationHandle object = Team(two(), 4);
  const AllocationHandle memory = Memory(device(), 4);
  ASSERT_THAT(Bind(object, 1, memory, 2), IsOk());
  ExpectInvalid(Bind(object, 1, memory, 2));
  ExpectInvalid(Bind(object, 0, memory, 2));
  ExpectInvalid(Bind(object, 2, memory, 2));
  EXPECT_THAT(Bind(object, 0, memory), IsOk());
  EXPECT_THAT(Bind(object, 3, memory), IsOk());
  if (two() == 2) {
    EXPECT_THAT(Bind(object, 0, Memory(DeviceOrdinal(1), 4), 4), IsOk());
  }
}

CONFORMANCE_TEST(MulticastTest, MC_19, BindsWhatIsMappedAtAnAddress) {
  const Bytes before = Free(device());
  const AllocationHandle object = Team(1, 1);
  const AllocationHandle memory = Memory(device(), 2);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, Reserve(2));
  ASSERT_THAT(vmm().Map(range, memory), IsOk());
  const AddressRange second = range.subrange(multicast_granule(), multicast_granule());
  EXPECT_THAT(multicast().BindAddress(object, Bytes(0), second), IsOk());
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().Release(memory), IsOk());
  ExpectFree(device(), before - 2 * multicast_granule());
  EXPECT_THAT(multicast().Unbind(object, device(), Bytes(0), multicast_granule()), IsOk());
  ExpectFree(device(), before);
}

CONFORMANCE_TEST(MulticastTest, MC_20, RefusesAddressesThatAreNotInOneMapping) {
  const AllocationHandle object = Team(1, 4);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, Reserve(4));
  const auto granules = [&](uint64_t first, uint64_t count) {
    return range.subrange(first * multicast_granule(), count * multicast_granule());
  };
  ASSERT_THAT(vmm().Map(granules(0, 2), Memory(device(), 2)), IsOk());
  const AddressRange odd{range.base + Bytes(4096), multicast_granule(), Bytes(0)};
  for (const AddressRange& wrong : {granules(2, 1), granules(1, 2), odd, granules(0, 0)}) {
    ExpectInvalid(multicast().BindAddress(object, Bytes(0), wrong));
  }
  EXPECT_THAT(multicast().BindAddress(object, Bytes(0), granules(0, 2)), IsOk());
}

CONFORMANCE_TEST(MulticastTest, MC_21, IsMappedAndGrantedAsMemoryIs) {
  const AllocationHandle object = Team(two(), 2);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, Reserve(2));
  ASSERT_THAT(vmm().Map(range, object), IsOk());
  EXPECT_THAT(vmm().GetAccess(here(), range.base), IsOkAndHolds(Access::kNone));
  EXPECT_THAT(Grant(range, Access::kReadWrite), IsOk());
  EXPECT_THAT(vmm().GetAccess(here(), range.base), IsOkAndHolds(Access::kReadWrite));
  const auto retained = vmm().RetainAllocationHandle(range.base);
  EXPECT_THAT(retained, IsOkAndHolds(object));
  if (retained.ok()) {
    EXPECT_THAT(vmm().Release(*retained), IsOk());
  }
  const AllocationHandle memory = Memory(device(), 1);
  const Bytes with_memory = Free(device());
  ASSERT_THAT(Bind(object, 0, memory), IsOk());
  EXPECT_THAT(vmm().Release(memory), IsOk());
  Release(object);
  ExpectFree(device(), with_memory);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  ExpectUnmapped(range);
  ExpectFree(device(), with_memory + multicast_granule());
}

CONFORMANCE_TEST(MulticastTest, MC_22, AnImportIsTheSameTeam) {
  if (device_count() < 2) GTEST_SKIP() << "needs two devices, there is one";
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle object,
                               Make(Of(2, 2 * multicast_granule(), kFd)));
  EXPECT_THAT(multicast().AddDevice(object, device()), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableHandle shared,
                               vmm().ExportShareableHandle(object, kFd));
  const auto imported = vmm().ImportShareableHandle(shared);
  close(shared.file_descriptor);
  ASSERT_THAT(imported, IsOk());
  EXPECT_THAT(multicast().AddDevice(*imported, DeviceOrdinal(1)), IsOk());
  const AllocationHandle memory = Memory(device(), 1, kFd);
  EXPECT_THAT(Bind(object, 0, memory), IsOk());
  ExpectInvalid(Bind(*imported, 0, memory));
  EXPECT_THAT(Bind(*imported, 1, memory), IsOk());
  EXPECT_THAT(vmm().ExportShareableHandle(Team(1, 1), kFd),
              HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(MulticastTest, MC_23, CopiesAndFillsWriteEveryReplica) {
  if (!AnswersMistakes()) return;
  const AllocationHandle object = Team(two(), 1);
  std::vector<DeviceAddress> own;
  for (int i = 0; i < two(); ++i) {
    const AllocationHandle memory = Memory(DeviceOrdinal(i), 1);
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange mapped, Reserve(1));
    ASSERT_THAT(vmm().Map(mapped, memory), IsOk());
    ASSERT_THAT(Grant(mapped, Access::kReadWrite, Location::Device(DeviceOrdinal(i))), IsOk());
    ASSERT_THAT(Bind(object, 0, memory), IsOk());
    own.push_back(mapped.base);
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange all, Reserve(1));
  ASSERT_THAT(MapGranted(all, object), IsOk());
  const auto expect_all = [&](const std::vector<uint32_t>& expected) {
    for (int i = 0; i < two(); ++i) {
      std::vector<uint32_t> words(expected.size());
      EXPECT_THAT(executor().CopyDeviceToHost(DeviceOrdinal(i), words.data(),
                                              own[static_cast<size_t>(i)], Bytes(4 * words.size())),
                  IsOk());
      EXPECT_EQ(words, expected) << "on device " << i;
    }
  };

  const std::vector<uint32_t> sent = {7, 8, 9, 10};
  EXPECT_THAT(executor().CopyHostToDevice(device(), all.base, sent.data(), Bytes(16)), IsOk());
  expect_all({7, 8, 9, 10});
  EXPECT_THAT(executor().CopyDeviceToDevice(device(), all.base, own[0] + Bytes(12), Bytes(4)),
              IsOk());
  expect_all({10, 8, 9, 10});
  EXPECT_THAT(executor().Fill(device(), all.base + Bytes(4), FillPattern{1, Bytes(4)}, 2), IsOk());
  expect_all({10, 1, 1, 10});

  uint32_t word = 0;
  ExpectInvalid(executor().CopyDeviceToHost(device(), &word, all.base, Bytes(4)));
  EXPECT_EQ(word, 0u);
  ExpectInvalid(executor().CopyDeviceToDevice(device(), own[0] + Bytes(8), all.base, Bytes(4)));
  expect_all({10, 1, 1, 10});
}

CONFORMANCE_TEST(MulticastTest, MC_24, RefusesFlagsOfABind) {
  const AllocationHandle object = Team(1, 1);
  const AllocationHandle memory = Memory(device(), 1);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, Reserve(1));
  ASSERT_THAT(vmm().Map(range, memory), IsOk());
  for (const uint64_t flags : {uint64_t{1}, uint64_t{1} << 63}) {
    ExpectInvalid(
        multicast().BindMemory(object, Bytes(0), memory, Bytes(0), multicast_granule(), flags));
    ExpectInvalid(multicast().BindAddress(object, Bytes(0), range, flags));
  }
  EXPECT_THAT(Bind(object, 0, memory), IsOk());
}

CONFORMANCE_TEST(MulticastProcessTest, MC_25, AnImportInAnotherProcessIsTheSameTeam) {
  ASSERT_THAT(ShareObject(), IsOk());
  EXPECT_THAT(multicast().AddDevice(object(), device()), IsOk());
  const AllocationHandle memory = Memory(device(), 1, kFd);
  EXPECT_THAT(other().Do({Step::kAddDevice, kImport}), IsOk());
  ExpectInvalid(multicast().AddDevice(object(), DeviceOrdinal(1)));
  EXPECT_THAT(Bind(object(), 0, memory), IsOk());
  EXPECT_THAT(BindThere(), IsOk());
}

CONFORMANCE_TEST(MulticastProcessTest, MC_26, MultimemReachesWhatAnotherProcessBound) {
  if (!traits().runs_any_kernel) {
    RecordUnsupported("other kernels than those of the project are not run");
    return;
  }
  ASSERT_THAT(ShareObject(), IsOk());
  ASSERT_THAT(multicast().AddDevice(object(), device()), IsOk());
  ASSERT_THAT(other().Do({Step::kAddDevice, kImport}), IsOk());
  const AllocationHandle memory = Memory(device(), 1, kFd);
  ASSERT_THAT(Bind(object(), 0, memory), IsOk());
  ASSERT_THAT(BindThere(), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange own, MapHere(memory));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange all, MapHere(object()));

  const uint32_t stored = Pattern(3, Bytes(4)).front();
  EXPECT_THAT(
      Run(all, own, absl::StrCat("multimem.st.relaxed.sys.global.u32 [%rd1], ", stored, ";\n")),
      IsOk());
  ExpectHolds(own.subrange(Bytes(0), Bytes(4)), 3);
  EXPECT_THAT(other().Do({Step::kCheck, kTheirs, 3, Bytes(4)}), IsOk());

  EXPECT_THAT(other().Do({Step::kWrite, kTheirs, 4, Bytes(4)}), IsOk());
  EXPECT_THAT(Run(all, own,
                  "multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1];\n"
                  "st.global.u32 [%rd2+4], %r1;\n"),
              IsOk());
  uint32_t sum = 0;
  EXPECT_THAT(executor().CopyDeviceToHost(device(), &sum, own.base + Bytes(4), Bytes(4)), IsOk());
  EXPECT_EQ(sum, stored + Pattern(4, Bytes(4)).front());
}

CONFORMANCE_TEST(MulticastTest, MC_27, BindsForTheDeviceThatIsNamed) {
  const AllocationHandle object = Team(two(), 2);
  const AllocationHandle memory = Memory(device(), 1);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, Reserve(1));
  ASSERT_THAT(vmm().Map(range, memory), IsOk());
  const auto bind = [&](AllocationHandle bound, DeviceOrdinal to) {
    return multicast().BindMemoryForDevice(object, to, Bytes(0), bound, Bytes(0),
                                           multicast_granule(), 0);
  };
  const auto bind_address = [&](DeviceOrdinal to) {
    return multicast().BindAddressForDevice(object, to, Bytes(0), range, 0);
  };
  const auto unbind = [&](DeviceOrdinal from) {
    return multicast().Unbind(object, from, Bytes(0), multicast_granule());
  };

  TWINMMU_ASSERT_OK_AND_ASSIGN(const int version, vmm().GetDriverVersion());
  if (version < 13010) {
    EXPECT_THAT(bind(memory, device()), StatusIs(absl::StatusCode::kUnimplemented));
    EXPECT_THAT(bind_address(device()), StatusIs(absl::StatusCode::kUnimplemented));
    EXPECT_THAT(Bind(object, 0, memory), IsOk()) << "nothing was bound";
    RecordUnsupported("the driver is older than CUDA 13.1");
    return;
  }
  for (const DeviceOrdinal none : {DeviceOrdinal(-1), DeviceOrdinal(device_count())}) {
    EXPECT_THAT(bind(memory, none), HasDriverCode(DriverCode::kInvalidDevice));
    EXPECT_THAT(bind_address(none), HasDriverCode(DriverCode::kInvalidDevice));
  }
  if (device_count() > 1) {
    const DeviceOrdinal other(1);
    ExpectInvalid(bind(memory, other));
    ExpectInvalid(bind_address(other));
    EXPECT_THAT(bind(Memory(other, 1), other), IsOk());
    const AllocationHandle without_it = Team(1, 1);
    ExpectInvalid(multicast().BindMemoryForDevice(without_it, other, Bytes(0), Memory(other, 1),
                                                  Bytes(0), multicast_granule(), 0));
  }
  EXPECT_THAT(bind(memory, device()), IsOk());
  EXPECT_THAT(unbind(device()), IsOk());
  EXPECT_THAT(bind_address(device()), IsOk());
  EXPECT_THAT(unbind(device()), IsOk());

  TWINMMU_ASSERT_OK_AND_ASSIGN(const int node,
                               vmm().GetDeviceAttribute(DeviceAttribute::kHostNumaId, device()));
  const auto near = vmm().Create(multicast_granule(), properties(Location::HostNuma(node)));
  if (!near.ok()) return;  // CREATE-27 says where there is none
  EXPECT_THAT(bind(*near, device()), IsOk());
  EXPECT_THAT(unbind(device()), IsOk());
}

CONFORMANCE_TEST(MulticastTest, MC_28, ItsFirstPartIsMapped) {
  const AllocationHandle object = Team(two(), 4);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, Reserve(4));
  const AddressRange first = range.subrange(Bytes(0), multicast_granule());
  const AddressRange second = range.subrange(multicast_granule(), 2 * multicast_granule());
  ExpectInvalid(vmm().Map(range.subrange(Bytes(0), multicast_granule() + Bytes(4096)), object));
  EXPECT_THAT(vmm().Map(first, object), IsOk());
  ExpectUnmapped(second);
  EXPECT_THAT(vmm().Map(second, object), IsOk());
  EXPECT_THAT(Grant(second, Access::kReadWrite), IsOk());
  EXPECT_THAT(vmm().GetAccess(here(), first.base), IsOkAndHolds(Access::kNone));
  EXPECT_THAT(vmm().GetAccess(here(), second.base), IsOkAndHolds(Access::kReadWrite));
  EXPECT_THAT(vmm().Unmap(first), IsOk());
  EXPECT_THAT(vmm().Unmap(second), IsOk());
}

}  // namespace twinmmu::conformance
