// Two devices that reach each other's memory.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "conformance/fixtures/alias_trials.h"
#include "conformance/fixtures/child_checks.h"
#include "conformance/fixtures/kernel_fixture.h"
#include "conformance/fixtures/peer_fixture.h"
#include "conformance/fixtures/queue_fixture.h"
#include "conformance/fixtures/running_fixture.h"
#include "conformance/framework/registry.h"
#include "kernels/kernels.h"

namespace twinmmu::conformance {

CONFORMANCE_TEST(PeerTest, PEER_1, AGrantLeavesTheOtherDevice) {
  ExpectAccess(own_memory(), Access::kNone, Access::kNone);
  ASSERT_THAT(Grant(own_memory(), Access::kReadWrite, there()), IsOk());
  ExpectAccess(own_memory(), Access::kNone, Access::kReadWrite);
  ASSERT_THAT(Grant(own_memory(), Access::kRead, here()), IsOk());
  ExpectAccess(own_memory(), Access::kRead, Access::kReadWrite);
  ASSERT_THAT(Grant(own_memory(), Access::kNone, there()), IsOk());
  ExpectAccess(own_memory(), Access::kRead, Access::kNone);
}

CONFORMANCE_TEST(PeerTest, PEER_19, APeerIsGrantedAnyMappingOfRdmaMemory) {
  AllocationProperties rdma;
  rdma.gpu_direct_rdma = 1;
  const auto handle = vmm().Create(2 * granule(), rdma);
  if (!IsCreatedAsTold(DeviceAttribute::kGpuDirectRdmaWithCudaVmmSupported, handle.status())) {
    return;
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange space, vmm().AddressReserve(4 * granule()));
  const AddressRange first = space.subrange(Bytes(0), 2 * granule());
  const AddressRange second = space.subrange(2 * granule(), 2 * granule());
  ASSERT_THAT(vmm().Map(first, *handle), IsOk());
  ASSERT_THAT(vmm().Map(second, *handle), IsOk());
  ASSERT_THAT(Grant(second, Access::kReadWrite, there()), IsOk());
  ASSERT_THAT(vmm().Unmap(first), IsOk());
  ExpectAccess(second, Access::kNone, Access::kReadWrite);
  const absl::Status granted = Grant(second, Access::kRead, there());
  if (Deviates(Deviation::kRdmaPeersHangOnTheFirstMapping)) {
    EXPECT_THAT(granted, HasDriverCode(DriverCode::kInvalidValue));
    ExpectAccess(second, Access::kNone, Access::kNone);
  } else {
    EXPECT_THAT(granted, IsOk());
    ExpectAccess(second, Access::kNone, Access::kRead);
  }
  ASSERT_THAT(vmm().Map(first, *handle), IsOk());
  EXPECT_THAT(Grant(first, Access::kRead, there()), IsOk()) << "it hangs on this one by now";
  ExpectAccess(first, Access::kNone, Access::kRead);
  EXPECT_THAT(Grant(second, Access::kRead, there()), IsOk());
}

CONFORMANCE_TEST(PeerTest, PEER_2, OneCallGrantsToBoth) {
  const AccessGrant own{here(), Access::kReadWrite};
  const AccessGrant peers{there(), Access::kRead};
  ASSERT_THAT(vmm().SetAccess(all(), {own, peers}), IsOk());
  ExpectAccess(own_memory(), Access::kReadWrite, Access::kRead);
  ExpectAccess(peer_memory(), Access::kReadWrite, Access::kRead);
}

CONFORMANCE_TEST(PeerTest, PEER_3, APeerNeedsAGrantOfItsOwn) {
  ASSERT_THAT(Grant(own_memory(), Access::kReadWrite, here()), IsOk());
  uint64_t word = 1;
  const DeviceAddress at = own_memory().base;
  EXPECT_THAT(executor().CopyHostToDevice(peer(), at, &word, Bytes(8)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(executor().CopyDeviceToHost(peer(), &word, at, Bytes(8)),
              HasDriverCode(DriverCode::kInvalidValue));
  ASSERT_THAT(Grant(own_memory(), Access::kRead, there()), IsOk());
  EXPECT_THAT(executor().CopyHostToDevice(peer(), at, &word, Bytes(8)),
              HasDriverCode(DriverCode::kInvalidValue));
  ASSERT_THAT(Write(own_memory(), 3), IsOk());
  uint64_t through_peer = 0;
  uint64_t through_owner = 0;
  ASSERT_THAT(executor().CopyDeviceToHost(peer(), &through_peer, at, Bytes(8)), IsOk());
  ASSERT_THAT(executor().CopyDeviceToHost(device(), &through_owner, at, Bytes(8)), IsOk());
  EXPECT_EQ(through_peer, through_owner);
  ASSERT_THAT(Grant(own_memory(), Access::kReadWrite, there()), IsOk());
  word = 0x0123456789abcdefu;
  ASSERT_THAT(executor().CopyHostToDevice(peer(), at, &word, Bytes(8)), IsOk());
  // The copy has returned; only for its own device is it done.
  ASSERT_THAT(executor().SynchronizeDevice(peer()), IsOk());
  ASSERT_THAT(executor().CopyDeviceToHost(device(), &through_owner, at, Bytes(8)), IsOk());
  EXPECT_EQ(through_owner, word);
}

CONFORMANCE_TEST(PeerTest, PEER_4, CopiesCrossTheBorderOfTwoDevices) {
  ASSERT_THAT(Grant(all(), Access::kReadWrite, here()), IsOk());
  ASSERT_THAT(Write(all(), 4), IsOk());
  ExpectHolds(all(), 4);
  ASSERT_THAT(executor().CopyDeviceToDevice(device(), peer_memory().base, own_memory().base,
                                            own_memory().size),
              IsOk());
  ExpectHolds(peer_memory(), 4);
}

CONFORMANCE_TEST(PeerTest, PEER_5, UnmappingEndsAllRights) {
  const AccessGrant own{here(), Access::kReadWrite};
  const AccessGrant peers{there(), Access::kReadWrite};
  ASSERT_THAT(vmm().SetAccess(all(), {own, peers}), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                               vmm().RetainAllocationHandle(own_memory().base));
  ASSERT_THAT(vmm().Unmap(all()), IsOk());
  ASSERT_THAT(vmm().Map(own_memory(), handle), IsOk());
  ExpectAccess(own_memory(), Access::kNone, Access::kNone);
}

CONFORMANCE_TEST(TwoDevicesTest, PEER_6, EachDeviceHasItsOwnMemory) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo own_before, vmm().GetMemoryInfo(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo peer_before, vmm().GetMemoryInfo(peer()));
  ASSERT_THAT(vmm().Create(64 * granule(), properties(there())), IsOk());
  ExpectFree(device(), own_before.free);
  ExpectFree(peer(), peer_before.free - 64 * granule());
}

CONFORMANCE_TEST(PeerTest, PEER_7, AKernelNeedsAGrantToo) {
  absl::StatusOr<Kernels> kernels = Kernels::Load(&executor(), device());
  if (IsTooOldForPtx(kKernelsSince, kernels.status())) return;
  ASSERT_THAT(kernels, IsOk());
  ASSERT_THAT(Grant(peer_memory(), Access::kReadWrite, there()), IsOk());
  ExpectInChild([&](ChildChecks& checks) {
    checks.Expect("launch", kernels->Store32(Stream(device()), peer_memory().base, 1));
    checks.Expect("synchronise", executor().SynchronizeDevice(device()),
                  DriverCode::kIllegalAddress);
  });
  ASSERT_THAT(Grant(peer_memory(), Access::kReadWrite, here()), IsOk());
  EXPECT_THAT(kernels->Store32(Stream(device()), peer_memory().base, 1), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(device()), IsOk());
}

CONFORMANCE_TEST(PeerTest, PEER_8, TheHostDoesNotGetThePeersRight) {
  ASSERT_THAT(Grant(peer_memory(), Access::kReadWrite, there()), IsOk());
  EXPECT_THAT(vmm().GetAccess(Location::Host(), peer_memory().base), IsOkAndHolds(Access::kNone));
  EXPECT_THAT(vmm().GetAccess(Location::HostNuma(0), peer_memory().base),
              IsOkAndHolds(Access::kNone));
}

CONFORMANCE_TEST(PeerTest, PEER_9, EachDeviceSeesItsOwnRight) {
  ASSERT_THAT(Grant(own_memory(), Access::kRead, there()), IsOk());
  const DeviceAddress at = own_memory().base;
  const auto ask = [&](DeviceOrdinal who, PointerAttribute attribute) {
    return vmm().GetPointerAttribute(who, attribute, at);
  };
  EXPECT_THAT(ask(device(), PointerAttribute::kAccessFlags), IsOkAndHolds(0u));
  EXPECT_THAT(ask(peer(), PointerAttribute::kAccessFlags), IsOkAndHolds(1u));
  EXPECT_THAT(ask(device(), PointerAttribute::kDevicePointer),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(ask(peer(), PointerAttribute::kDevicePointer), IsOkAndHolds(at.value()));
  EXPECT_THAT(vmm().GetAddressRange(device(), at), HasDriverCode(DriverCode::kNotFound));
  EXPECT_THAT(vmm().GetAddressRange(peer(), at), IsOkAndHolds(own_memory()));
  EXPECT_THAT(ask(device(), PointerAttribute::kDeviceOrdinal), IsOkAndHolds(0u));
  EXPECT_THAT(
      vmm().GetPointerAttribute(device(), PointerAttribute::kDeviceOrdinal, peer_memory().base),
      IsOkAndHolds(1u));
}

namespace {

// Queued work of device 0, and a granule of device 1 that device 1 can use.
class TwoQueuesTest : public QueuedWorkTest {
 protected:
  void SetUp() override {
    QueuedWorkTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (device_count() < 2) GTEST_SKIP() << "needs two devices, there is one";
    TWINMMU_ASSERT_OK_AND_ASSIGN(other_, vmm().AddressReserve(granule()));
    ASSERT_THAT(MapNew(other_, Location::Device(DeviceOrdinal(1))), IsOk());
    ASSERT_THAT(Grant(other_, Access::kReadWrite, Location::Device(DeviceOrdinal(1))), IsOk());
  }
  static DeviceOrdinal peer() { return DeviceOrdinal(1); }
  const AddressRange& other() const { return other_; }

 private:
  AddressRange other_;
};

}  // namespace

CONFORMANCE_TEST(TwoQueuesTest, PEER_10, AFaultEndsThePeersContextToo) {
  ExpectInChild([this](ChildChecks& checks) {
    const auto early = executor().CreateStream(peer());
    checks.Expect("create stream", early.status());
    checks.Expect("keep busy", KeepBusy(stream()));
    checks.Expect("fill", FillAll(stream(), mapping(), 1));
    checks.Expect("unmap", vmm().Unmap(mapping()));
    const absl::Status seen = executor().SynchronizeStream(stream());
    const DriverCode fate = Fate();
    checks.Expect("synchronise", seen, fate);
    uint32_t word = 0x5ee5;
    const DeviceAddress at = other().base;
    checks.Expect("copy in", executor().CopyHostToDevice(peer(), at, &word, Bytes(4)), fate);
    if (early.ok()) checks.Expect("fill the peer's", FillAll(*early, other(), 2), fate);
    checks.Expect("synchronise the peer", executor().SynchronizeDevice(peer()), fate);
    checks.Expect("copy out", executor().CopyDeviceToHost(peer(), &word, at, Bytes(4)), fate);
    checks.Expect("another stream", executor().CreateStream(peer()).status(), fate);
    checks.Expect("memory info", vmm().GetMemoryInfo(peer()).status(), fate);
    checks.Expect("unmap the peer's", vmm().Unmap(other()));
  });
}

CONFORMANCE_TEST(TwoQueuesTest, PEER_11, AStreamWaitsForThePeersEvent) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event event, executor().CreateEvent(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Stream waiting, executor().CreateStream(peer()));
  ASSERT_THAT(KeepBusy(stream()), IsOk());
  ASSERT_THAT(FillAll(stream(), memory(), 3), IsOk());
  ASSERT_THAT(executor().RecordEvent(event, stream()), IsOk());
  ASSERT_THAT(executor().WaitEvent(waiting, event), IsOk());
  ASSERT_THAT(FillAll(waiting, other(), 4), IsOk());
  ASSERT_THAT(executor().SynchronizeStream(waiting), IsOk());
  EXPECT_THAT(executor().QueryEvent(event), IsOkAndHolds(true));
  EXPECT_THAT(executor().QueryStream(stream()), IsOkAndHolds(true));
  ExpectFilled(memory(), 3);
  EXPECT_THAT(executor().DestroyStream(waiting), IsOk());
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
}

namespace {

// Kernels are loaded on both devices. The last granule of own_memory() holds results of device 0,
// that of peer_memory() those of device 1.
class PeerKernelTest : public PeerTest {
 protected:
  void TearDown() override {
    for (std::optional<Kernels>& kernels : kernels_) {
      if (kernels.has_value()) {
        EXPECT_THAT(kernels->Close(), IsOk());
      }
    }
    PeerTest::TearDown();
  }
  // As KernelTest::LoadKernels.
  bool LoadKernels() {
    for (const DeviceOrdinal each : {device(), peer()}) {
      absl::StatusOr<Kernels> kernels = Kernels::Load(&executor(), each);
      if (IsTooOldForPtx(kKernelsSince, kernels.status())) return false;
      EXPECT_THAT(kernels, IsOk());
      if (!kernels.ok()) return false;
      kernels_[each.value()] = *std::move(kernels);
    }
    return true;
  }
  Kernels& kernels(DeviceOrdinal device) { return *kernels_[device.value()]; }
  DeviceAddress result(DeviceOrdinal device) const {
    return (device == peer() ? peer_memory() : own_memory()).base + granule();
  }
  template <typename T>
  absl::StatusOr<T> ReadResult(DeviceOrdinal device) {
    T value = {};
    absl::Status status = executor().SynchronizeDevice(device);
    status.Update(
        executor().CopyDeviceToHost(device, &value, result(device), Bytes(sizeof(value))));
    if (!status.ok()) return status;
    return value;
  }

  // Maps the memory of `owner` a second time, for both devices.
  void MapAlias(const AddressRange& memory) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(alias_, vmm().AddressReserve(memory.size));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                                 vmm().RetainAllocationHandle(memory.base));
    ASSERT_THAT(vmm().Map(alias_, handle), IsOk());
    ASSERT_THAT(GrantBoth(alias_, Access::kReadWrite, Access::kReadWrite), IsOk());
    ASSERT_THAT(GrantBoth(all(), Access::kReadWrite, Access::kReadWrite), IsOk());
  }
  DeviceAddress alias() const { return alias_.base; }

  // The writer is device 0 through `memory`, the reader device 1 through the alias.
  absl::StatusOr<AliasResult> WriteThenReadInTurns(DeviceAddress memory, uint64_t rounds, bool warm,
                                                   AliasFence fence) {
    const DeviceAddress turn = result(device()) + Bytes(64);
    absl::Status status = kernels(device()).Store32(Stream(device()), turn, 0);
    status.Update(kernels(device()).Store32(Stream(device()), memory, kAliasStart));
    status.Update(executor().SynchronizeDevice(device()));
    status.Update(kernels(device()).AliasWriteThenReadInTurns(
        Stream(device()), Kernels::AliasRole::kWriter, memory, alias(), turn, rounds, warm, fence,
        result(device())));
    status.Update(kernels(peer()).AliasWriteThenReadInTurns(
        Stream(peer()), Kernels::AliasRole::kReader, memory, alias(), turn, rounds, warm, fence,
        result(peer())));
    if (!status.ok()) return status;
    return ReadResult<AliasResult>(peer());
  }
  // As AliasTest's, with memory of each device.
  void ExpectCoherence(AliasFence fence) {
    const uint64_t rounds = AliasRounds(traits(), AliasPartners::kDevices);
    for (const AddressRange& memory : {own_memory(), peer_memory()}) {
      ASSERT_NO_FATAL_FAILURE(MapAlias(memory));
      for (const bool warm : {false, true}) {
        TWINMMU_ASSERT_OK_AND_ASSIGN(const AliasResult seen,
                                     WriteThenReadInTurns(memory.base, rounds, warm, fence));
        ExpectCoherent(seen, rounds, fence != AliasFence::kNone,
                       absl::StrCat(memory == own_memory() ? "own" : "peers", "_stale_of_", rounds,
                                    warm ? "_warm" : "_cold"));
      }
    }
  }

 private:
  std::optional<Kernels> kernels_[2];
  AddressRange alias_;
};

// One access of a word by a kernel, on the default stream.
absl::Status LoadWord(Kernels& kernels, DeviceAddress word, DeviceAddress out) {
  return kernels.Load32(Stream(kernels.device()), word, out);
}
absl::Status StoreWord(Kernels& kernels, DeviceAddress word, DeviceAddress) {
  return kernels.Store32(Stream(kernels.device()), word, 1);
}
absl::Status AddToWord(Kernels& kernels, DeviceAddress word, DeviceAddress out) {
  return kernels.AtomicAdd32(Stream(kernels.device()), word, 1, out);
}

}  // namespace

CONFORMANCE_TEST(PeerKernelTest, PEER_12, EachDevicesKernelsCrossTheBorders) {
  if (!LoadKernels()) return;
  const uint64_t mappings = traits().interprets_kernels ? 3 : 8;
  const Bytes piece = (traits().interprets_kernels ? 1 : 64) * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(mappings * piece));
  for (uint64_t i = 0; i < mappings; ++i) {
    ASSERT_THAT(MapNew(range.subrange(i * piece, piece), i % 2 == 0 ? here() : there()), IsOk());
  }
  ASSERT_THAT(GrantBoth(range, Access::kReadWrite, Access::kReadWrite), IsOk());
  ASSERT_THAT(GrantBoth(all(), Access::kReadWrite, Access::kReadWrite), IsOk());
  uint64_t seed = 12;
  for (const DeviceOrdinal writer : {device(), peer()}) {
    ++seed;
    ASSERT_THAT(kernels(writer).Fill(Stream(writer), range, seed), IsOk());
    ASSERT_THAT(executor().SynchronizeDevice(writer), IsOk());
    for (const DeviceOrdinal reader : {device(), peer()}) {
      ASSERT_THAT(kernels(reader).Verify(Stream(reader), range, seed, result(reader)), IsOk());
      TWINMMU_ASSERT_OK_AND_ASSIGN(const VerifyResult same, ReadResult<VerifyResult>(reader));
      EXPECT_EQ(same.mismatches, 0u) << writer << " wrote, " << reader << " read";
      EXPECT_EQ(same.first_index, kNoMismatch);
    }
  }
}

CONFORMANCE_TEST(PeerKernelTest, PEER_13, EveryAccessNeedsAGrant) {
  if (!LoadKernels()) return;
  const struct {
    const char* name;
    Access access;
    absl::Status (*launch)(Kernels& kernels, DeviceAddress word, DeviceAddress out);
  } cases[] = {
      {"load without access", Access::kNone, LoadWord},
      {"add without access", Access::kNone, AddToWord},
      {"store with read access", Access::kRead, StoreWord},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.name);
    ExpectInChild([&](ChildChecks& checks) {
      constexpr DriverCode kFault = DriverCode::kIllegalAddress;
      const DeviceAddress word = peer_memory().base;
      const DeviceAddress out = result(device());
      checks.Expect("grant", GrantBoth(own_memory(), Access::kReadWrite, Access::kNone));
      checks.Expect("grant", GrantBoth(peer_memory(), each.access, Access::kReadWrite));
      if (each.access == Access::kRead) {
        checks.Expect("load", LoadWord(kernels(device()), word, out));
        checks.Expect("synchronise", executor().SynchronizeDevice(device()));
      }
      checks.Expect("launch", each.launch(kernels(device()), word, out));
      checks.Expect("synchronise", executor().SynchronizeDevice(device()), kFault);
      checks.Expect("synchronise the peer", executor().SynchronizeDevice(peer()), kFault);
    });
  }
}

CONFORMANCE_TEST(PeerKernelTest, PEER_14, TheFenceMakesDevicesCoherent) {
  if (!LoadKernels()) return;
  ExpectCoherence(AliasFence::kWriter);
}

CONFORMANCE_TEST(PeerKernelTest, PEER_15, DevicesWithoutTheFenceOldOrNew) {
  if (!LoadKernels()) return;
  ExpectCoherence(AliasFence::kNone);
}

CONFORMANCE_TEST(PeerKernelTest, PEER_16, NoAtomicAdditionOfTwoDevicesIsLost) {
  if (!LoadKernels()) return;
  const bool may_lose = traits().loses_aliased_atomics;
  const uint32_t blocks = may_lose ? 2 : traits().interprets_kernels ? 4 : 16;
  const uint32_t rounds = may_lose ? 4 : traits().interprets_kernels ? 8 : 64;
  const uint32_t all = 7 + 2 * blocks * Kernels::kThreadsPerBlock * rounds;
  for (const AddressRange& memory : {own_memory(), peer_memory()}) {
    ASSERT_NO_FATAL_FAILURE(MapAlias(memory));
    ASSERT_THAT(kernels(device()).Store32(Stream(device()), memory.base, 7), IsOk());
    ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
    for (const DeviceOrdinal each : {device(), peer()}) {
      ASSERT_THAT(kernels(each).Count(Stream(each), memory.base, alias(), blocks, rounds), IsOk());
    }
    ASSERT_THAT(executor().SynchronizeDevice(device()), IsOk());
    ASSERT_THAT(executor().SynchronizeDevice(peer()), IsOk());
    for (const DeviceOrdinal each : {device(), peer()}) {
      ASSERT_THAT(kernels(each).Load32(Stream(each), alias(), result(each)), IsOk());
      TWINMMU_ASSERT_OK_AND_ASSIGN(const uint32_t counted, ReadResult<uint32_t>(each));
      EXPECT_TRUE(may_lose ? counted < all : counted == all) << counted << " of " << all;
    }
  }
}

CONFORMANCE_TEST(PeerKernelTest, PEER_17, AnEventMakesDevicesCoherent) {
  if (!LoadKernels()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event written, executor().CreateEvent(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event read, executor().CreateEvent(peer()));
  const Stream writer(device());
  const Stream reader(peer());
  for (const AddressRange& memory : {own_memory(), peer_memory()}) {
    ASSERT_NO_FATAL_FAILURE(MapAlias(memory));
    for (uint32_t round = 1; round <= 100; ++round) {
      ASSERT_THAT(kernels(peer()).Load32(reader, alias(), result(peer())), IsOk());
      ASSERT_THAT(executor().RecordEvent(read, reader), IsOk());
      ASSERT_THAT(executor().WaitEvent(writer, read), IsOk());
      ASSERT_THAT(kernels(device()).Store32(writer, memory.base, round), IsOk());
      ASSERT_THAT(executor().RecordEvent(written, writer), IsOk());
      ASSERT_THAT(executor().WaitEvent(reader, written), IsOk());
      ASSERT_THAT(kernels(peer()).Load32(reader, alias(), result(peer())), IsOk());
      ASSERT_THAT(ReadResult<uint32_t>(peer()), IsOkAndHolds(round));
    }
  }
  EXPECT_THAT(executor().DestroyEvent(read), IsOk());
  EXPECT_THAT(executor().DestroyEvent(written), IsOk());
}

CONFORMANCE_TEST(RunningTest, PEER_18, ARightOfTheOtherDeviceDoesNotDisturbIt) {
  if (device_count() < 2) GTEST_SKIP() << "needs two devices, there is one";
  const DeviceOrdinal peer(1);
  const Location there = Location::Device(peer);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const bool reaches, vmm().CanAccessPeer(peer, device()));
  if (!reaches) return RecordUnsupported("the devices do not reach each other's memory");
  if (!LoadKernels()) return;
  ExpectInChild([&](ChildChecks& checks) {
    checks.Expect("set", SetWord(0));
    checks.Expect("start", Start(mapping().base));
    checks.Expect("add", Tell(Order::kAdd));
    for (int round = 0; round < 20; ++round) {
      uint32_t word = 0;
      checks.Expect("grant", Grant(mapping(), Access::kReadWrite, there));
      checks.Expect("copy",
                    executor().CopyDeviceToHost(peer, &word, mapping().base, Bytes(sizeof(word))));
      checks.Expect("lower", Grant(mapping(), Access::kRead, there));
      checks.Expect("take", Grant(mapping(), Access::kNone, there));
    }
    checks.Expect("still adds", Tell(Order::kAdd));
    ExpectRunning(checks);
    checks.Expect("stop", Stop());
  });
}

}  // namespace twinmmu::conformance
