// Two devices that reach each other's memory.

#include <string>
#include <utility>
#include <vector>

#include "conformance/child_checks.h"
#include "conformance/peer_fixture.h"
#include "conformance/queue_fixture.h"
#include "conformance/registry.h"
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
  const auto child = [&] {
    ChildChecks checks;
    checks.Expect("launch", kernels->Store32(Stream(device()), peer_memory().base, 1),
                  DriverCode::kSuccess);
    checks.Expect("synchronise", executor().SynchronizeDevice(device()),
                  DriverCode::kIllegalAddress);
    checks.Exit();
  };
  EXPECT_EXIT(child(), ChildChecks::Passed(), "");
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
    TWINMMU_ASSERT_OK_AND_ASSIGN(
        const AllocationHandle memory,
        vmm().Create(granule(), properties(Location::Device(DeviceOrdinal(1)))));
    ASSERT_THAT(vmm().Map(other_, memory), IsOk());
    ASSERT_THAT(Grant(other_, Access::kReadWrite, Location::Device(DeviceOrdinal(1))), IsOk());
  }
  static DeviceOrdinal peer() { return DeviceOrdinal(1); }
  const AddressRange& other() const { return other_; }

 private:
  AddressRange other_;
};

}  // namespace

CONFORMANCE_TEST(TwoQueuesTest, PEER_10, AFaultEndsThePeersContextToo) {
  const auto child = [this] {
    ChildChecks checks;
    constexpr DriverCode kFine = DriverCode::kSuccess;
    const auto early = executor().CreateStream(peer());
    checks.Expect("create stream", early.status(), kFine);
    checks.Expect("keep busy", KeepBusy(stream()), kFine);
    checks.Expect("fill", FillAll(stream(), mapping(), 1), kFine);
    checks.Expect("unmap", vmm().Unmap(mapping()), kFine);
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
    checks.Expect("unmap the peer's", vmm().Unmap(other()), kFine);
    checks.Exit();
  };
  EXPECT_EXIT(child(), ChildChecks::Passed(), "");
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

}  // namespace twinmmu::conformance
