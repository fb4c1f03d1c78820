#include "conformance/process_fixture.h"

#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

#include "conformance/process_server.h"

namespace twinmmu::conformance {
namespace {

constexpr HandleType kFd = HandleType::kPosixFileDescriptor;

}  // namespace

void ProcessTest::SetUp() {
  ConformanceTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  const auto handle = vmm().Create(granule(), SharedProperties());
  if (!IsCreatedAsTold(DeviceAttribute::kHandleTypePosixFileDescriptorSupported, handle.status())) {
    GTEST_SKIP() << "memory cannot be shared by POSIX file descriptor";
  }
  ASSERT_THAT(vmm().Release(*handle), IsOk());
  ASSERT_THAT(WarmUp(), IsOk());
  open_before_ = SettledDescriptors();
  if (SocketToStarter() < 0) return;
  ProcessServer(&vmm(), &executor(), device()).Run(SocketToStarter());
}

void ProcessTest::TearDown() {
  others_.clear();
  ConformanceTest::TearDown();
  if (open_before_ == -1) return;
  // A process that one of the others started ends a little later.
  for (int tries = 0; tries < 200 && SettledDescriptors() != open_before_; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(SettledDescriptors(), open_before_) << "a descriptor was left open";
}

// So that what a driver takes at first use is taken.
absl::Status ProcessTest::WarmUp() {
  const absl::StatusOr<AllocationHandle> handle = vmm().Create(granule(), properties());
  if (!handle.ok()) return handle.status();
  const absl::StatusOr<AddressRange> range = vmm().AddressReserve(granule());
  if (!range.ok()) return range.status();
  absl::Status status = vmm().Map(*range, *handle);
  status.Update(Grant(*range, Access::kReadWrite));
  status.Update(Write(*range, 1));
  status.Update(vmm().Unmap(*range));
  status.Update(vmm().AddressFree(*range));
  status.Update(vmm().Release(*handle));
  return status;
}

ProcessTest::Shared ProcessTest::Share(Bytes size) {
  Shared shared;
  const auto handle = vmm().Create(size, SharedProperties());
  EXPECT_THAT(handle, IsOk());
  if (!handle.ok()) return shared;
  shared.handle = *handle;
  shared.range = MapSomewhere(*handle, size);
  const auto exported = vmm().ExportShareableHandle(*handle, kFd);
  EXPECT_THAT(exported, IsOk());
  if (exported.ok()) shared.descriptor = OwnedDescriptor(exported->file_descriptor);
  return shared;
}

AddressRange ProcessTest::MapSomewhere(AllocationHandle handle, Bytes size) {
  const auto range = vmm().AddressReserve(size);
  EXPECT_THAT(range, IsOk());
  if (!range.ok()) return {};
  EXPECT_THAT(vmm().Map(*range, handle), IsOk());
  EXPECT_THAT(Grant(*range, Access::kReadWrite), IsOk());
  return *range;
}

void ProcessTest::Drop(Shared& shared) {
  shared.descriptor.Close();
  EXPECT_THAT(vmm().Unmap(shared.range), IsOk());
  EXPECT_THAT(vmm().AddressFree(shared.range), IsOk());
  EXPECT_THAT(vmm().Release(shared.handle), IsOk());
}

void ProcessTest::ExpectFreeSoon(Bytes expected) {
  for (int tries = 0; tries < 200; ++tries) {
    const auto info = vmm().GetMemoryInfo(device());
    if (info.ok() && info->free == expected) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ExpectFree(device(), expected);
}

OtherProcess* ProcessTest::Start() {
  absl::StatusOr<std::unique_ptr<OtherProcess>> other = OtherProcess::Start();
  EXPECT_THAT(other, IsOk());
  if (!other.ok()) return nullptr;
  const absl::Status ready = (*other)->Do({Step::kReady});
  EXPECT_THAT(ready, IsOk());
  if (!ready.ok()) return nullptr;
  RecordProperty(kOtherProcessProperty, "started");
  others_.push_back(*std::move(other));
  return others_.back().get();
}

absl::StatusOr<uint64_t> ProcessTest::Give(OtherProcess& other, const ShareableHandle& shareable,
                                           Bytes size) {
  const absl::StatusOr<uint64_t> memory = other.Send(shareable, size);
  if (!memory.ok()) return memory;
  absl::Status status = other.Do({Step::kImport, *memory});
  if (status.ok()) status = other.Do({Step::kMap, *memory});
  if (status.ok()) status = other.Do({Step::kGrant, *memory});
  if (!status.ok()) return status;
  return *memory;
}

void ProcessTest::ExpectHoldsIn(OtherProcess& other, uint64_t memory, uint32_t seed) {
  EXPECT_THAT(other.Do({Step::kCheck, memory, seed}), IsOk());
}

// A driver may have one of its own for memory that another process had, until it is asked what is
// free.
int ProcessTest::SettledDescriptors() {
  EXPECT_THAT(vmm().GetMemoryInfo(device()), IsOk());
  return OpenDescriptors();
}

int ProcessTest::OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

}  // namespace twinmmu::conformance
