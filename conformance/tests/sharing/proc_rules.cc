// Memory that several processes share, each with a driver of its own.

#include <csignal>
#include <vector>

#include "api/sharing/pidfd.h"
#include "conformance/fixtures/process_fixture.h"
#include "conformance/fixtures/process_server.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr HandleType kFd = HandleType::kPosixFileDescriptor;

Request InGrandchild(Request request) {
  request.depth = 1;
  return request;
}

#define ASSERT_STARTED(declaration)          \
  OtherProcess* const declaration = Start(); \
  ASSERT_NE(declaration, nullptr)

}  // namespace

CONFORMANCE_TEST(ProcessTest, PROC_1, EachSeesWhatTheOtherWrites) {
  ASSERT_STARTED(other);
  const Shared shared = Share();
  ASSERT_THAT(Write(shared.range, 1), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t memory, Give(*other, shared.shareable(), size()));
  ExpectHoldsIn(*other, memory, 1);
  ASSERT_THAT(other->Do({Step::kWrite, memory, 2}), IsOk());
  ExpectHolds(shared.range, 2);
  ASSERT_THAT(Write(shared.range, 3), IsOk());
  ExpectHoldsIn(*other, memory, 3);
}

CONFORMANCE_TEST(ProcessTest, PROC_2, OutlivesAnExporterThatEnds) {
  for (const bool killed : {false, true}) {
    ASSERT_STARTED(other);
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer made, other->Ask({Step::kCreate, 0, 0, size()}));
    for (const Step step : {Step::kMap, Step::kGrant, Step::kWrite, Step::kExport}) {
      ASSERT_THAT(other->Do({step, made.value, 2}), IsOk());
    }
    TWINMMU_ASSERT_OK_AND_ASSIGN(ReceivedMemory received, other->Receive(made.value));
    EXPECT_EQ(received.size, size());
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle imported,
                                 vmm().ImportShareableHandle(received.handle));
    received.descriptor.Close();
    killed ? other->Kill() : other->Leave();
    const AddressRange range = MapSomewhere(imported, size());
    ExpectHolds(range, 2);
    ASSERT_THAT(Write(range, 3), IsOk());
    ExpectHolds(range, 3);
  }
}

CONFORMANCE_TEST(ProcessTest, PROC_14, ADescriptorUnderWayOutlivesItsExporter) {
  ASSERT_STARTED(other);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer made, other->Ask({Step::kCreate, 0, 0, size()}));
  for (const Step step : {Step::kMap, Step::kGrant, Step::kWrite, Step::kExport}) {
    ASSERT_THAT(other->Do({step, made.value, 4}), IsOk());
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory received, other->Receive(made.value));
  other->Kill();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle imported,
                               vmm().ImportShareableHandle(received.handle));
  ExpectHolds(MapSomewhere(imported, size()), 4);
}

CONFORMANCE_TEST(ProcessTest, PROC_3, TheExporterKeepsItsMemoryWhenAnImporterEnds) {
  const Shared shared = Share();
  for (const bool killed : {false, true}) {
    ASSERT_STARTED(other);
    ASSERT_THAT(Write(shared.range, 1), IsOk());
    TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t memory, Give(*other, shared.shareable(), size()));
    ASSERT_THAT(other->Do({Step::kWrite, memory, 5}), IsOk());
    killed ? other->Kill() : other->Leave();
    ExpectHolds(shared.range, 5);
    ASSERT_THAT(Write(shared.range, 6), IsOk());
    ExpectHolds(shared.range, 6);
  }
}

CONFORMANCE_TEST(ProcessTest, PROC_4, ImportsWhatItsExporterReleased) {
  ASSERT_STARTED(other);
  Shared shared = Share();
  ASSERT_THAT(Write(shared.range, 4), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t memory, other->Send(shared.shareable(), size()));
  Drop(shared);
  for (const Step step : {Step::kImport, Step::kMap, Step::kGrant}) {
    ASSERT_THAT(other->Do({step, memory}), IsOk());
  }
  ExpectHoldsIn(*other, memory, 4);
}

CONFORMANCE_TEST(ProcessTest, PROC_5, ImportsTwice) {
  ASSERT_STARTED(other);
  const Shared shared = Share();
  ASSERT_THAT(Write(shared.range, 5), IsOk());
  uint64_t memories[2] = {};
  uint64_t handles[2] = {};
  for (int i = 0; i < 2; ++i) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(memories[i], other->Send(shared.shareable(), size()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer handle, other->Ask({Step::kImport, memories[i]}));
    handles[i] = handle.value;
    for (const Step step : {Step::kMap, Step::kGrant}) {
      ASSERT_THAT(other->Do({step, memories[i]}), IsOk());
    }
    ExpectHoldsIn(*other, memories[i], 5);
  }
  EXPECT_NE(handles[0], handles[1]);
  ASSERT_THAT(other->Do({Step::kUnmap, memories[0]}), IsOk());
  ASSERT_THAT(other->Do({Step::kRelease, memories[0]}), IsOk());
  ASSERT_THAT(Write(shared.range, 6), IsOk());
  ExpectHoldsIn(*other, memories[1], 6);
}

CONFORMANCE_TEST(ProcessTest, PROC_6, SeesThePropertiesOfTheExporter) {
  ASSERT_STARTED(other);
  for (const bool compressed : {false, true}) {
    AllocationProperties asked = SharedProperties();
    if (compressed) asked.compression = CompressionType::kGeneric;
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(granule(), asked));
    TWINMMU_ASSERT_OK_AND_ASSIGN(AllocationProperties expected,
                                 vmm().GetAllocationProperties(handle));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableHandle exported,
                                 vmm().ExportShareableHandle(handle, kFd));
    const OwnedDescriptor descriptor(exported.file_descriptor);
    TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t memory, Give(*other, exported, granule()));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer seen, other->Ask({Step::kGetProperties, memory}));
    expected.requested_handle_types = HandleType::kNone;
    EXPECT_EQ(seen.properties, expected);
  }
}

CONFORMANCE_TEST(ProcessTest, PROC_7, IsFreeWhenNoProcessHasIt) {
  ASSERT_STARTED(other);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  Shared shared = Share();
  ExpectFree(device(), before.free - size());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t memory, Give(*other, shared.shareable(), size()));
  ExpectFree(device(), before.free - size());
  Drop(shared);
  ASSERT_THAT(other->Do({Step::kClose, memory}), IsOk());
  ExpectFree(device(), before.free - size());
  ASSERT_THAT(other->Do({Step::kRelease, memory}), IsOk());
  ExpectFree(device(), before.free - size());
  ASSERT_THAT(other->Do({Step::kUnmap, memory}), IsOk());
  ExpectFreeSoon(before.free);
}

CONFORMANCE_TEST(ProcessTest, PROC_15, IsFreeWhenWhoHadItIsKilled) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  ASSERT_STARTED(other);
  Shared shared = Share();
  ASSERT_THAT(Give(*other, shared.shareable(), size()), IsOk());
  Drop(shared);
  other->Kill();
  ExpectFreeSoon(before.free);
}

CONFORMANCE_TEST(ProcessTest, PROC_8, SharesHundredsOfHandles) {
  constexpr uint64_t kCount = 300;
  const Bytes start(64);
  ASSERT_STARTED(other);
  const int open = OpenDescriptors();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer before, other->Ask({Step::kCountDescriptors}));
  std::vector<Shared> all;
  for (uint64_t i = 0; i < kCount; ++i) {
    all.push_back(Share(granule()));
    ASSERT_THAT(Write(all[i].range.subrange(Bytes(0), start), static_cast<uint32_t>(i)), IsOk());
    TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t memory,
                                 Give(*other, all[i].shareable(), granule()));
    all[i].descriptor.Close();
    ASSERT_EQ(memory, i);
    ASSERT_THAT(other->Do({Step::kClose, memory}), IsOk());
  }
  for (uint64_t i = 0; i < kCount; ++i) {
    ASSERT_THAT(other->Do({Step::kCheck, i, i, start}), IsOk()) << i;
    ASSERT_THAT(other->Do({Step::kWrite, i, kCount + i, start}), IsOk()) << i;
    ExpectHolds(all[i].range.subrange(Bytes(0), start), static_cast<uint32_t>(kCount + i));
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer after, other->Ask({Step::kCountDescriptors}));
  EXPECT_EQ(after.value, before.value);
  // A driver may have descriptors of its own for memory that is there.
  other->Leave();
  for (Shared& shared : all) Drop(shared);
  EXPECT_EQ(OpenDescriptors(), open - 1) << "the socket to the process that left is closed";
}

CONFORMANCE_TEST(ProcessTest, PROC_9, ImportsWithoutADescriptorLeft) {
  ASSERT_STARTED(other);
  const Shared shared = Share();
  ASSERT_THAT(Write(shared.range, 9), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer before, other->Ask({Step::kCountDescriptors}));
  ASSERT_THAT(other->Do({Step::kLimitDescriptors, 0, 0}), IsOk());
  EXPECT_THAT(other->Send(shared.shareable(), size()),
              StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_THAT(other->Do({Step::kLimitDescriptors, 0, 1}), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t memory, other->Send(shared.shareable(), size()));
  // The one that it might have is taken by what it received.
  for (const Step step : {Step::kImport, Step::kMap, Step::kGrant}) {
    ASSERT_THAT(other->Do({step, memory}), IsOk());
  }
  ExpectHoldsIn(*other, memory, 9);
  ASSERT_THAT(other->Do({Step::kClose, memory}), IsOk());
  ASSERT_THAT(other->Do({Step::kLimitDescriptors, 0, 100}), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer after, other->Ask({Step::kCountDescriptors}));
  EXPECT_EQ(after.value, before.value);
}

CONFORMANCE_TEST(ProcessTest, PROC_10, ADescriptorGoesFromProcessToProcess) {
  ASSERT_STARTED(child);
  ASSERT_THAT(child->Do({Step::kStart}), IsOk());
  Shared shared = Share();
  ASSERT_THAT(Write(shared.range, 10), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t here, child->Send(shared.shareable(), size()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer there, child->Ask({Step::kPassOn, here}));
  ASSERT_THAT(child->Do({Step::kClose, here}), IsOk());
  Drop(shared);
  for (const Step step : {Step::kImport, Step::kMap, Step::kGrant}) {
    ASSERT_THAT(child->Do(InGrandchild({step, there.value})), IsOk());
  }
  EXPECT_THAT(child->Do(InGrandchild({Step::kCheck, there.value, 10})), IsOk());
}

CONFORMANCE_TEST(ProcessTest, PROC_16, ThreeProcessesShare) {
  ASSERT_STARTED(child);
  ASSERT_THAT(child->Do({Step::kStart}), IsOk());
  const Shared shared = Share();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t here, Give(*child, shared.shareable(), size()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer there, child->Ask({Step::kPassOn, here}));
  for (const Step step : {Step::kImport, Step::kMap, Step::kGrant, Step::kWrite}) {
    ASSERT_THAT(child->Do(InGrandchild({step, there.value, 11})), IsOk());
  }
  ExpectHolds(shared.range, 11);
  ExpectHoldsIn(*child, here, 11);
  // The same from the one in the middle, to the one that it started and the one that started it.
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer made, child->Ask({Step::kCreate, 0, 0, size()}));
  for (const Step step : {Step::kMap, Step::kGrant, Step::kWrite, Step::kExport}) {
    ASSERT_THAT(child->Do({step, made.value, 12}), IsOk());
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer below, child->Ask({Step::kPassOn, made.value}));
  for (const Step step : {Step::kImport, Step::kMap, Step::kGrant, Step::kCheck}) {
    ASSERT_THAT(child->Do(InGrandchild({step, below.value, 12})), IsOk());
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ReceivedMemory received, child->Receive(made.value));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle imported,
                               vmm().ImportShareableHandle(received.handle));
  const AddressRange above = MapSomewhere(imported, size());
  ASSERT_THAT(child->Do(InGrandchild({Step::kWrite, below.value, 13})), IsOk());
  ExpectHolds(above, 13);
  ExpectHoldsIn(*child, made.value, 13);
}

CONFORMANCE_TEST(ProcessTest, PROC_11, RightsAreOfEachProcess) {
  ASSERT_STARTED(other);
  const Shared shared = Share();
  ASSERT_THAT(Write(shared.range, 1), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t memory, other->Send(shared.shareable(), size()));
  ASSERT_THAT(other->Do({Step::kImport, memory}), IsOk());
  ASSERT_THAT(other->Do({Step::kMap, memory}), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer none, other->Ask({Step::kGetAccess, memory}));
  EXPECT_EQ(static_cast<Access>(none.value), Access::kNone);
  EXPECT_THAT(vmm().GetAccess(here(), shared.range.base), IsOkAndHolds(Access::kReadWrite));
  ASSERT_THAT(other->Do({Step::kGrant, memory}), IsOk());
  ASSERT_THAT(Grant(shared.range, Access::kNone), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer granted, other->Ask({Step::kGetAccess, memory}));
  EXPECT_EQ(static_cast<Access>(granted.value), Access::kReadWrite);
  ExpectHoldsIn(*other, memory, 1);
  ASSERT_THAT(other->Do({Step::kUnmap, memory}), IsOk());
  ASSERT_THAT(Grant(shared.range, Access::kRead), IsOk());
  ExpectHolds(shared.range, 1);
}

CONFORMANCE_TEST(ProcessTest, PROC_12, ADescriptorTakenByPidfdImports) {
  ASSERT_STARTED(other);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer made, other->Ask({Step::kCreate, 0, 0, size()}));
  for (const Step step : {Step::kMap, Step::kGrant, Step::kWrite}) {
    ASSERT_THAT(other->Do({step, made.value, 12}), IsOk());
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Answer number, other->Ask({Step::kExport, made.value}));
  const auto taken = ReceiveByPidfd(other->pid(), static_cast<int>(number.value));
  if (absl::IsPermissionDenied(taken.status()) || absl::IsUnimplemented(taken.status())) {
    RecordUnsupported(taken.status().message());
    return;
  }
  ASSERT_THAT(taken, IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const AllocationHandle imported,
      vmm().ImportShareableHandle(ShareableHandle::FileDescriptor(taken->get())));
  other->Kill();
  ExpectHolds(MapSomewhere(imported, size()), 12);
}

CONFORMANCE_TEST(ProcessTest, PROC_13, AFabricHandleImportsWhereItIsPermitted) {
  AllocationProperties fabric;
  fabric.requested_handle_types = HandleType::kFabric;
  const auto handle = vmm().Create(size(), fabric);
  if (!handle.ok()) {
    EXPECT_THAT(handle, ::testing::AnyOf(HasDriverCode(DriverCode::kNotPermitted),
                                         HasDriverCode(DriverCode::kNotSupported)));
    RecordUnsupported(handle.status().message());
    return;
  }
  ASSERT_STARTED(other);
  const AddressRange range = MapSomewhere(*handle, size());
  ASSERT_THAT(Write(range, 13), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableHandle exported,
                               vmm().ExportShareableHandle(*handle, HandleType::kFabric));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const uint64_t memory, Give(*other, exported, size()));
  ExpectHoldsIn(*other, memory, 13);
  ASSERT_THAT(other->Do({Step::kWrite, memory, 14}), IsOk());
  ExpectHolds(range, 14);
}

}  // namespace twinmmu::conformance
