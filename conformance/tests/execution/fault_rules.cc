// Faults: accesses that only the device can refuse. A fault poisons the context for good, so each
// runs in a process of its own, which reports by its exit code and says on stderr what was wrong.

#include <cstdlib>
#include <iostream>
#include <string>

#include "conformance/fixtures/child_checks.h"
#include "conformance/fixtures/kernel_fixture.h"
#include "conformance/fixtures/queue_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

// The allocation's mapping can be given any right.
class FaultTest : public KernelTest {
 protected:
  void Synchronize(ChildChecks& checks, DriverCode expected) {
    checks.Expect("synchronise", executor().SynchronizeDevice(device()), expected);
  }
  // Two more granules, read-write, for a kernel's results while mapping() has another right.
  AddressRange MapResults() {
    const auto handle = vmm().Create(2 * granule(), properties());
    const AddressRange range = Granules(4, 2);
    EXPECT_THAT(handle, IsOk());
    if (!handle.ok()) return range;
    EXPECT_THAT(vmm().Map(range, *handle), IsOk());
    EXPECT_THAT(Grant(range, Access::kReadWrite), IsOk());
    return range;
  }
};

// One access of a word, by a kernel.
struct WordAccess {
  const char* name;
  absl::Status (*launch)(Kernels& kernels, Stream stream, DeviceAddress word, DeviceAddress out);
};

const WordAccess kLoad = {
    "load", [](Kernels& kernels, Stream stream, DeviceAddress word, DeviceAddress out) {
      return kernels.Load32(stream, word, out);
    }};
const WordAccess kStore = {"store", [](Kernels& kernels, Stream stream, DeviceAddress word,
                                       DeviceAddress) { return kernels.Store32(stream, word, 1); }};
const WordAccess kAdd = {
    "add", [](Kernels& kernels, Stream stream, DeviceAddress word, DeviceAddress out) {
      return kernels.AtomicAdd32(stream, word, 1, out);
    }};

}  // namespace

CONFORMANCE_TEST(FaultTest, FAULT_1, AStoreWithoutARightFaultsForGood) {
  if (!LoadKernels()) return;
  const auto child = [this] {
    ChildChecks checks;
    checks.Expect("revoke", Grant(mapping(), Access::kNone), DriverCode::kSuccess);
    checks.Expect("launch", kernels().Store32(Stream(device()), mapping().base, 1),
                  DriverCode::kSuccess);
    Synchronize(checks, DriverCode::kIllegalAddress);
    Synchronize(checks, DriverCode::kIllegalAddress);
    checks.Exit();
  };
  EXPECT_EXIT(child(), ChildChecks::Passed(), "");
}

CONFORMANCE_TEST(FaultTest, FAULT_2, ReadOnlyIsLoadedAndNotStored) {
  if (!LoadKernels()) return;
  const AddressRange results = MapResults();
  const auto child = [this, results] {
    ChildChecks checks;
    const Stream stream(device());
    checks.Expect("read only", Grant(mapping(), Access::kRead), DriverCode::kSuccess);
    checks.Expect("load", kernels().Load32(stream, mapping().base, results.base),
                  DriverCode::kSuccess);
    Synchronize(checks, DriverCode::kSuccess);
    checks.Expect("store", kernels().Store32(stream, mapping().base, 1), DriverCode::kSuccess);
    Synchronize(checks, DriverCode::kIllegalAddress);
    checks.Exit();
  };
  EXPECT_EXIT(child(), ChildChecks::Passed(), "");
  const auto atomic = [this, results] {
    ChildChecks checks;
    checks.Expect("read only", Grant(mapping(), Access::kRead), DriverCode::kSuccess);
    checks.Expect("add", kernels().AtomicAdd32(Stream(device()), mapping().base, 1, results.base),
                  DriverCode::kSuccess);
    Synchronize(checks, DriverCode::kIllegalAddress);
    checks.Exit();
  };
  EXPECT_EXIT(atomic(), ChildChecks::Passed(), "");
}

CONFORMANCE_TEST(FaultTest, FAULT_3, ALoadFromAHoleFaults) {
  if (!LoadKernels()) return;
  for (const DeviceAddress hole : {Granules(6, 1).base, reservation().base + TiB(1)}) {
    const auto child = [this, hole] {
      ChildChecks checks;
      checks.Expect("launch", kernels().Load32(Stream(device()), hole, result()),
                    DriverCode::kSuccess);
      Synchronize(checks, DriverCode::kIllegalAddress);
      checks.Exit();
    };
    EXPECT_EXIT(child(), ChildChecks::Passed(), "");
  }
}

CONFORMANCE_TEST(FaultTest, FAULT_7, EveryAccessFaultsWhereNothingIsMapped) {
  if (!LoadKernels()) return;
  const AddressRange hole = Granules(6, 1);
  const struct {
    const WordAccess& access;
    DeviceAddress word;
  } cases[] = {
      {kStore, hole.base},       {kAdd, hole.base},          {kAdd, reservation().base + TiB(1)},
      {kLoad, DeviceAddress(0)}, {kStore, DeviceAddress(0)},
  };
  for (const auto& each : cases) {
    const auto child = [&] {
      ChildChecks checks;
      checks.Expect("launch", each.access.launch(kernels(), Stream(device()), each.word, result()),
                    DriverCode::kSuccess);
      Synchronize(checks, DriverCode::kIllegalAddress);
      checks.Exit();
    };
    EXPECT_EXIT(child(), ChildChecks::Passed(), "") << each.access.name << " at " << each.word;
  }
}

CONFORMANCE_TEST(FaultTest, FAULT_10, EveryAccessFaultsAfterTheUnmapping) {
  if (!LoadKernels()) return;
  const AddressRange place = Granules(6, 1);
  for (const WordAccess& access : {kLoad, kStore, kAdd}) {
    const auto child = [&] {
      ChildChecks checks;
      constexpr DriverCode kFine = DriverCode::kSuccess;
      const Stream stream(device());
      const auto other = vmm().Create(granule(), properties());
      checks.Expect("create", other.status(), kFine);
      checks.Expect("map", vmm().Map(place, other.value_or(AllocationHandle())), kFine);
      checks.Expect("grant", Grant(place, Access::kReadWrite), kFine);
      checks.Expect("use", access.launch(kernels(), stream, place.base, result()), kFine);
      Synchronize(checks, kFine);
      checks.Expect("unmap", vmm().Unmap(place), kFine);
      checks.Expect("use again", access.launch(kernels(), stream, place.base, result()), kFine);
      Synchronize(checks, DriverCode::kIllegalAddress);
      checks.Exit();
    };
    EXPECT_EXIT(child(), ChildChecks::Passed(), "") << access.name;
  }
}

CONFORMANCE_TEST(FaultTest, FAULT_8, LoadsAndAdditionsNeedARight) {
  if (!LoadKernels()) return;
  const AddressRange results = MapResults();
  for (const WordAccess& access : {kLoad, kAdd}) {
    const auto child = [&] {
      ChildChecks checks;
      checks.Expect("revoke", Grant(mapping(), Access::kNone), DriverCode::kSuccess);
      checks.Expect("launch",
                    access.launch(kernels(), Stream(device()), mapping().base, results.base),
                    DriverCode::kSuccess);
      Synchronize(checks, DriverCode::kIllegalAddress);
      checks.Exit();
    };
    EXPECT_EXIT(child(), ChildChecks::Passed(), "") << access.name;
  }
}

CONFORMANCE_TEST(FaultTest, FAULT_9, AMisalignedWordFaults) {
  if (!LoadKernels()) return;
  for (const WordAccess& access : {kLoad, kStore, kAdd}) {
    const auto child = [&] {
      ChildChecks checks;
      constexpr DriverCode kFine = DriverCode::kSuccess;
      constexpr DriverCode kMisaligned = DriverCode::kMisalignedAddress;
      checks.Expect("launch",
                    access.launch(kernels(), Stream(device()), mapping().base + Bytes(2), result()),
                    kFine);
      Synchronize(checks, kMisaligned);
      Synchronize(checks, kMisaligned);
      uint32_t word = 0;
      checks.Expect("copy", executor().CopyDeviceToHost(device(), &word, mapping().base, Bytes(4)),
                    kMisaligned);
      checks.Expect("launch again", kernels().Load32(Stream(device()), mapping().base, result()),
                    kMisaligned);
      checks.Expect("memory info", vmm().GetMemoryInfo(device()).status(), kMisaligned);
      checks.Expect("set access", Grant(mapping(), Access::kRead), kFine);
      checks.Expect("unmap", vmm().Unmap(mapping()), kFine);
      checks.Exit();
    };
    EXPECT_EXIT(child(), ChildChecks::Passed(), "") << access.name;
  }
}

CONFORMANCE_TEST(FaultTest, FAULT_4, VirtualMemoryGoesOnAfterAFault) {
  if (!LoadKernels()) return;
  const AddressRange more = MapResults();
  const auto child = [this, more] {
    ChildChecks checks;
    constexpr DriverCode kFault = DriverCode::kIllegalAddress;
    checks.Expect("launch", kernels().Store32(Stream(device()), Granules(6, 1).base, 1),
                  DriverCode::kSuccess);
    Synchronize(checks, kFault);
    uint32_t word = 0;
    checks.Expect("copy", executor().CopyDeviceToHost(device(), &word, mapping().base, Bytes(4)),
                  kFault);
    checks.Expect("fill", executor().Fill(device(), mapping().base, {}, 4), kFault);
    checks.Expect("launch again", kernels().Load32(Stream(device()), mapping().base, result()),
                  kFault);
    checks.Expect("create stream", executor().CreateStream(device()).status(), kFault);
    checks.Expect("memory info", vmm().GetMemoryInfo(device()).status(), kFault);
    checks.Expect("address range", vmm().GetAddressRange(device(), mapping().base).status(),
                  kFault);
    constexpr DriverCode kFine = DriverCode::kSuccess;
    checks.Expect("set access", Grant(mapping(), Access::kRead), kFine);
    checks.Expect("get access", vmm().GetAccess(here(), mapping().base).status(), kFine);
    checks.Expect(
        "pointer attribute",
        vmm().GetPointerAttribute(device(), PointerAttribute::kRangeSize, mapping().base).status(),
        kFine);
    const auto retained = vmm().RetainAllocationHandle(mapping().base);
    checks.Expect("retain", retained.status(), kFine);
    if (retained.ok()) checks.Expect("release retained", vmm().Release(*retained), kFine);
    checks.Expect("properties", vmm().GetAllocationProperties(handle()).status(), kFine);
    checks.Expect("unmap", vmm().Unmap(more), kFine);
    checks.Expect("map again", vmm().Map(Granules(4, 4), handle()), kFine);
    const auto fresh = vmm().Create(granule(), properties());
    checks.Expect("create", fresh.status(), kFine);
    if (fresh.ok()) checks.Expect("release", vmm().Release(*fresh), kFine);
    const auto range = vmm().AddressReserve(granule());
    checks.Expect("reserve", range.status(), kFine);
    if (range.ok()) checks.Expect("free", vmm().AddressFree(*range), kFine);
    checks.Exit();
  };
  EXPECT_EXIT(child(), ChildChecks::Passed(), "");
}

namespace {

// What queued work can use memory for: two kinds of work on mapping().
struct Use {
  const char* name;
  absl::Status (*queue)(Executor& executor, Stream stream, const AddressRange& memory,
                        DeviceAddress elsewhere);
  Access least;  // the right that it needs
};

constexpr Use kUses[] = {
    {"fill",
     [](Executor& executor, Stream stream, const AddressRange& memory, DeviceAddress) {
       return executor.Fill(stream, memory.base, {7, Bytes(1)}, memory.size.value());
     },
     Access::kReadWrite},
    {"copy from",
     [](Executor& executor, Stream stream, const AddressRange& memory, DeviceAddress elsewhere) {
       return executor.CopyDeviceToDevice(stream, elsewhere, memory.base,
                                          Bytes(memory.size.value() / 4));
     },
     Access::kRead},
};

}  // namespace

CONFORMANCE_TEST(QueuedWorkTest, FAULT_5, WorkFaultsWhoseMemoryIsGone) {
  for (const Use& use : kUses) {
    const auto child = [this, &use] {
      ChildChecks checks;
      constexpr DriverCode kFine = DriverCode::kSuccess;
      checks.Expect("keep busy", KeepBusy(stream()), kFine);
      checks.Expect(use.name, use.queue(executor(), stream(), mapping(), spare().base), kFine);
      checks.Expect("unmap", vmm().Unmap(mapping()), kFine);
      checks.Expect("synchronise", executor().SynchronizeStream(stream()), Fate());
      CheckContext(checks, Fate());
      checks.Expect("map again", vmm().Map(mapping(), handle()), kFine);
      checks.Exit();
    };
    EXPECT_EXIT(child(), ChildChecks::Passed(), "") << use.name;
  }
}

CONFORMANCE_TEST(QueuedWorkTest, FAULT_6, WorkFaultsWhoseRightIsLowered) {
  for (const Use& use : kUses) {
    for (const Access left : {Access::kNone, Access::kRead}) {
      const auto child = [this, &use, left] {
        ChildChecks checks;
        constexpr DriverCode kFine = DriverCode::kSuccess;
        checks.Expect("keep busy", KeepBusy(stream()), kFine);
        checks.Expect(use.name, use.queue(executor(), stream(), mapping(), spare().base), kFine);
        checks.Expect("lower the right", Grant(mapping(), left), kFine);
        const DriverCode expected = left == use.least ? kFine : Fate();
        checks.Expect("synchronise", executor().SynchronizeStream(stream()), expected);
        CheckContext(checks, expected);
        checks.Exit();
      };
      EXPECT_EXIT(child(), ChildChecks::Passed(), "") << use.name << ", left: " << left;
    }
  }
}

}  // namespace twinmmu::conformance
