// Faults: accesses that only the device can refuse. A fault is a sticky error of the context, so
// each runs in a process of its own, which reports by its exit code and says on stderr what was
// wrong.

#include <cstdlib>
#include <iostream>
#include <string>

#include "conformance/fixtures/child_checks.h"
#include "conformance/fixtures/kernel_fixture.h"
#include "conformance/fixtures/queue_fixture.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

// The allocation's mapping can be given any access.
class FaultTest : public KernelTest {
 protected:
  void Synchronize(ChildChecks& checks, DriverCode expected) {
    checks.Expect("synchronise", executor().SynchronizeDevice(device()), expected);
  }
  // Two more granules, read-write, for a kernel's results while mapping() has another access.
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
  ExpectInChild([this](ChildChecks& checks) {
    checks.Expect("revoke", Grant(mapping(), Access::kNone));
    checks.Expect("launch", kernels().Store32(Stream(device()), mapping().base, 1));
    Synchronize(checks, DriverCode::kIllegalAddress);
    Synchronize(checks, DriverCode::kIllegalAddress);
  });
}

CONFORMANCE_TEST(FaultTest, FAULT_2, ReadOnlyIsLoadedAndNotStored) {
  if (!LoadKernels()) return;
  const AddressRange results = MapResults();
  ExpectInChild([this, results](ChildChecks& checks) {
    const Stream stream(device());
    checks.Expect("read only", Grant(mapping(), Access::kRead));
    checks.Expect("load", kernels().Load32(stream, mapping().base, results.base));
    Synchronize(checks, DriverCode::kSuccess);
    checks.Expect("store", kernels().Store32(stream, mapping().base, 1));
    Synchronize(checks, DriverCode::kIllegalAddress);
  });
  ExpectInChild([this, results](ChildChecks& checks) {
    checks.Expect("read only", Grant(mapping(), Access::kRead));
    checks.Expect("add", kernels().AtomicAdd32(Stream(device()), mapping().base, 1, results.base));
    Synchronize(checks, DriverCode::kIllegalAddress);
  });
}

CONFORMANCE_TEST(FaultTest, FAULT_3, ALoadFromAHoleFaults) {
  if (!LoadKernels()) return;
  for (const DeviceAddress hole : {Granules(6, 1).base, reservation().base + TiB(1)}) {
    ExpectInChild([this, hole](ChildChecks& checks) {
      checks.Expect("launch", kernels().Load32(Stream(device()), hole, result()));
      Synchronize(checks, DriverCode::kIllegalAddress);
    });
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
    SCOPED_TRACE(::testing::Message() << each.access.name << " at " << each.word);
    ExpectInChild([&](ChildChecks& checks) {
      checks.Expect("launch", each.access.launch(kernels(), Stream(device()), each.word, result()));
      Synchronize(checks, DriverCode::kIllegalAddress);
    });
  }
}

CONFORMANCE_TEST(FaultTest, FAULT_10, EveryAccessFaultsAfterTheUnmapping) {
  if (!LoadKernels()) return;
  const AddressRange place = Granules(6, 1);
  for (const WordAccess& access : {kLoad, kStore, kAdd}) {
    SCOPED_TRACE(access.name);
    ExpectInChild([&](ChildChecks& checks) {
      const Stream stream(device());
      const auto other = vmm().Create(granule(), properties());
      checks.Expect("create", other.status());
      checks.Expect("map", vmm().Map(place, other.value_or(AllocationHandle())));
      checks.Expect("grant", Grant(place, Access::kReadWrite));
      checks.Expect("use", access.launch(kernels(), stream, place.base, result()));
      Synchronize(checks, DriverCode::kSuccess);
      checks.Expect("unmap", vmm().Unmap(place));
      checks.Expect("use again", access.launch(kernels(), stream, place.base, result()));
      Synchronize(checks, DriverCode::kIllegalAddress);
    });
  }
}

CONFORMANCE_TEST(FaultTest, FAULT_8, LoadsAndAdditionsNeedARight) {
  if (!LoadKernels()) return;
  const AddressRange results = MapResults();
  for (const WordAccess& access : {kLoad, kAdd}) {
    SCOPED_TRACE(access.name);
    ExpectInChild([&](ChildChecks& checks) {
      checks.Expect("revoke", Grant(mapping(), Access::kNone));
      checks.Expect("launch",
                    access.launch(kernels(), Stream(device()), mapping().base, results.base));
      Synchronize(checks, DriverCode::kIllegalAddress);
    });
  }
}

CONFORMANCE_TEST(FaultTest, FAULT_9, AMisalignedWordFaults) {
  if (!LoadKernels()) return;
  for (const WordAccess& access : {kLoad, kStore, kAdd}) {
    SCOPED_TRACE(access.name);
    ExpectInChild([&](ChildChecks& checks) {
      constexpr DriverCode kMisaligned = DriverCode::kMisalignedAddress;
      checks.Expect("launch", access.launch(kernels(), Stream(device()), mapping().base + Bytes(2),
                                            result()));
      Synchronize(checks, kMisaligned);
      Synchronize(checks, kMisaligned);
      uint32_t word = 0;
      checks.Expect("copy", executor().CopyDeviceToHost(device(), &word, mapping().base, Bytes(4)),
                    kMisaligned);
      checks.Expect("launch again", kernels().Load32(Stream(device()), mapping().base, result()),
                    kMisaligned);
      checks.Expect("memory info", vmm().GetMemoryInfo(device()).status(), kMisaligned);
      checks.Expect("set access", Grant(mapping(), Access::kRead));
      checks.Expect("unmap", vmm().Unmap(mapping()));
    });
  }
}

CONFORMANCE_TEST(FaultTest, FAULT_4, VirtualMemoryGoesOnAfterAFault) {
  if (!LoadKernels()) return;
  const AddressRange more = MapResults();
  ExpectInChild([this, more](ChildChecks& checks) {
    constexpr DriverCode kFault = DriverCode::kIllegalAddress;
    checks.Expect("launch", kernels().Store32(Stream(device()), Granules(6, 1).base, 1));
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
    checks.Expect("set access", Grant(mapping(), Access::kRead));
    checks.Expect("get access", vmm().GetAccess(here(), mapping().base).status());
    checks.Expect(
        "pointer attribute",
        vmm().GetPointerAttribute(device(), PointerAttribute::kRangeSize, mapping().base).status());
    const auto retained = vmm().RetainAllocationHandle(mapping().base);
    checks.Expect("retain", retained.status());
    if (retained.ok()) checks.Expect("release retained", vmm().Release(*retained));
    checks.Expect("properties", vmm().GetAllocationProperties(handle()).status());
    checks.Expect("unmap", vmm().Unmap(more));
    checks.Expect("map again", vmm().Map(Granules(4, 4), handle()));
    const auto fresh = vmm().Create(granule(), properties());
    checks.Expect("create", fresh.status());
    if (fresh.ok()) checks.Expect("release", vmm().Release(*fresh));
    const auto range = vmm().AddressReserve(granule());
    checks.Expect("reserve", range.status());
    if (range.ok()) checks.Expect("free", vmm().AddressFree(*range));
  });
}

namespace {

// What queued work can use memory for: two kinds of work on mapping().
struct Use {
  const char* name;
  absl::Status (*queue)(Executor& executor, Stream stream, const AddressRange& memory,
                        DeviceAddress elsewhere);
  Access least;  // the access that it needs
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
    SCOPED_TRACE(use.name);
    ExpectInChild([this, &use](ChildChecks& checks) {
      checks.Expect("keep busy", KeepBusy(stream()));
      checks.Expect(use.name, use.queue(executor(), stream(), mapping(), spare().base));
      checks.Expect("unmap", vmm().Unmap(mapping()));
      checks.Expect("synchronise", executor().SynchronizeStream(stream()), Fate());
      CheckContext(checks, Fate());
      checks.Expect("map again", vmm().Map(mapping(), handle()));
    });
  }
}

CONFORMANCE_TEST(QueuedWorkTest, FAULT_6, WorkFaultsWhoseRightIsLowered) {
  for (const Use& use : kUses) {
    for (const Access left : {Access::kNone, Access::kRead}) {
      SCOPED_TRACE(::testing::Message() << use.name << ", left: " << left);
      ExpectInChild([this, &use, left](ChildChecks& checks) {
        checks.Expect("keep busy", KeepBusy(stream()));
        checks.Expect(use.name, use.queue(executor(), stream(), mapping(), spare().base));
        checks.Expect("lower the access", Grant(mapping(), left));
        const DriverCode expected = left == use.least ? DriverCode::kSuccess : Fate();
        checks.Expect("synchronise", executor().SynchronizeStream(stream()), expected);
        CheckContext(checks, expected);
      });
    }
  }
}

}  // namespace twinmmu::conformance
