#include "conformance/fixtures.h"

#include <optional>
#include <sstream>
#include <utility>

#include "conformance/patterns.h"

namespace twinmmu::conformance {

const absl::StatusOr<Target>& TargetUnderTest::Open() {
  if (!opened_) target_ = factory_.open();
  opened_ = true;
  return target_;
}

void TargetUnderTest::Close() {
  target_ = absl::UnknownError("not opened yet");
  opened_ = false;
}

void ConformanceTest::SetUp() {
  const absl::StatusOr<Target>& target = under_test_->Open();
  if (target.status().code() == absl::StatusCode::kFailedPrecondition) {
    GTEST_SKIP() << target.status().message();
  }
  ASSERT_THAT(target, IsOk());
  target_ = &*target;
  if (!traits().recorded) RecordProperty(kUnrecordedProperty, "nobody recorded such a machine");
  TWINMMU_ASSERT_OK_AND_ASSIGN(vmm_, target_->driver->vmm());
  ledger_ = std::make_unique<LedgerVmm>(vmm_);
  TWINMMU_ASSERT_OK_AND_ASSIGN(executor_, target_->driver->executor());
  TWINMMU_ASSERT_OK_AND_ASSIGN(device_count_, ledger_->GetDeviceCount());
  if (device_count_ == 0) GTEST_SKIP() << "the driver sees no device";
  if (!NeedsVmm()) return;
  if (!traits().has_vmm) {
    ExpectNoVmm();
    GTEST_SKIP() << "no device has virtual memory management";
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      granule_, ledger_->GetAllocationGranularity(properties(), Granularity::kMinimum));
}

// Every device says so, every call does, and none leaves anything behind.
void ConformanceTest::ExpectNoVmm() {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  const AddressRange range{DeviceAddress(TiB(1).value()), MiB(2), Bytes(0)};
  const AllocationHandle handle(1);
  ShareableHandle shareable;
  shareable.type = HandleType::kPosixFileDescriptor;
  for (const absl::Status& status :
       {vmm().AddressReserve(range.size).status(), vmm().AddressFree(range),
        vmm().GetAllocationGranularity(properties(), Granularity::kMinimum).status(),
        vmm().Create(range.size, properties()).status(), vmm().Release(handle),
        vmm().RetainAllocationHandle(range.base).status(),
        vmm().GetAllocationProperties(handle).status(), vmm().Map(range, handle),
        vmm().Unmap(range), Grant(range, Access::kRead),
        vmm().GetAccess(here(), range.base).status(),
        vmm().ExportShareableHandle(handle, shareable.type).status(),
        vmm().ImportShareableHandle(shareable).status()}) {
    EXPECT_THAT(status, HasDriverCode(DriverCode::kNotSupported));
  }
  // An older driver does not know what to tell.
  for (int i = 0; i < device_count(); ++i) {
    const auto told = vmm().GetDeviceAttribute(DeviceAttribute::kVirtualMemoryManagementSupported,
                                               DeviceOrdinal(i));
    EXPECT_THAT(told, ::testing::AnyOf(IsOkAndHolds(0), HasDriverCode(DriverCode::kInvalidValue)));
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo after, vmm().GetMemoryInfo(device()));
  ASSERT_EQ(after.free, before.free);
  ASSERT_FALSE(HasFailure()) << "what needs virtual memory management is not run";
  RecordUnsupported("no device has virtual memory management");
}

void ConformanceTest::TearDown() {
  if (ledger_ == nullptr) return;
  EXPECT_THAT(ledger_->UndoAll(), IsOk()) << "while cleaning up";
}

absl::Status ConformanceTest::Grant(const AddressRange& range, Access access,
                                    const Location& location) {
  const AccessGrant grant{location, access};
  return vmm().SetAccess(range, absl::MakeConstSpan(&grant, 1));
}

std::vector<std::string> ConformanceTest::StateOf(const AddressRange& range) {
  std::vector<std::string> state;
  for (Bytes at; at < range.size; at = at + granule()) {
    const DeviceAddress address = range.base + at;
    std::ostringstream line;
    line << "granule " << at / granule() << ": ";
    const absl::StatusOr<AllocationHandle> handle = vmm().RetainAllocationHandle(address);
    if (handle.ok()) {
      line << "handle " << *handle;
      EXPECT_THAT(vmm().Release(*handle), IsOk());
    } else {
      line << GetDriverCode(handle.status());
    }
    for (int i = 0; i < device_count(); ++i) {
      const Location location = Location::Device(DeviceOrdinal(i));
      const absl::StatusOr<Access> access = vmm().GetAccess(location, address);
      if (access.ok()) {
        line << ", " << AccessGrant{location, *access};
      } else {
        line << ", " << location << ": " << GetDriverCode(access.status());
      }
    }
    state.push_back(line.str());
  }
  return state;
}

void ConformanceTest::ExpectUnmapped(const AddressRange& range) {
  for (Bytes at; at < range.size; at = at + granule()) {
    const DeviceAddress address = range.base + at;
    EXPECT_THAT(vmm().RetainAllocationHandle(address), HasDriverCode(DriverCode::kInvalidValue))
        << address;
    for (int i = 0; i < device_count(); ++i) {
      EXPECT_THAT(vmm().GetAccess(Location::Device(DeviceOrdinal(i)), address),
                  HasDriverCode(DriverCode::kInvalidValue))
          << address;
    }
  }
}

void ConformanceTest::ExpectFree(DeviceOrdinal device, Bytes expected) {
  if (!traits().sole_user) GTEST_SKIP() << "needs devices that nobody else uses";
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo info, vmm().GetMemoryInfo(device));
  EXPECT_EQ(info.free, expected) << "free memory of " << device;
}

absl::Status ConformanceTest::Write(const AddressRange& range, uint32_t seed) {
  const std::vector<uint32_t> words = Pattern(seed, range.size);
  absl::Status status = executor().CopyHostToDevice(device(), range.base, words.data(), range.size);
  // The copy may still be on its way: another process or device would read what was there before,
  // and the copy would fault if its memory were unmapped, or its right lowered, now.
  status.Update(executor().SynchronizeStream(Stream(device())));
  return status;
}

void ConformanceTest::ExpectHolds(const AddressRange& range, uint32_t seed) {
  const std::vector<uint32_t> expected = Pattern(seed, range.size);
  std::vector<uint32_t> words(expected.size());
  ASSERT_THAT(executor().CopyDeviceToHost(device(), words.data(), range.base, range.size), IsOk());
  const uint64_t index = FirstDifference(words, expected);
  if (index == words.size()) return;
  ADD_FAILURE() << "word " << index << " of " << range << " is 0x" << std::hex << words[index]
                << ", not 0x" << expected[index] << ", which was written with seed " << std::dec
                << seed;
}

void ConformanceTest::ExpectAllBytes(const std::vector<uint8_t>& bytes, uint8_t expected) {
  const uint64_t index = FirstOtherThan(bytes, expected);
  if (index == bytes.size()) return;
  ADD_FAILURE() << "byte " << index << " is " << int{bytes[index]} << ", not " << int{expected};
}

bool ConformanceTest::Deviates(Deviation deviation) {
  const bool deviates = traits().deviations.count(deviation) != 0;
  if (deviates) RecordProperty(kDeviationProperty, GetDeviation(deviation).name);
  return deviates;
}

bool ConformanceTest::Tells(DeviceAttribute capability) {
  const absl::StatusOr<int> told = vmm().GetDeviceAttribute(capability, device());
  if (!told.ok()) {
    EXPECT_THAT(told, HasDriverCode(DriverCode::kInvalidValue));
  }
  return told.value_or(0) != 0;
}

bool ConformanceTest::IsCreatedAsTold(DeviceAttribute capability, const absl::Status& created) {
  const bool told = Tells(capability);
  ExpectOkIf(told, created);
  return told && created.ok();
}

bool ConformanceTest::IsHostMemoryCreated(const Location& anything, const absl::Status& created) {
  const DeviceAttribute capability =
      anything.type == LocationType::kHost
          ? DeviceAttribute::kHostVirtualMemoryManagementSupported
          : DeviceAttribute::kHostNumaVirtualMemoryManagementSupported;
  const bool known = vmm().GetDeviceAttribute(capability, device()).ok();
  if (!known && created.ok()) return true;
  const DriverCode code = GetDriverCode(created);
  if (known && (created.ok() || code == DriverCode::kNotSupported || !Tells(capability))) {
    return IsCreatedAsTold(capability, created);
  }
  const DriverCode expected = known ? code : DriverCode::kInvalidValue;
  EXPECT_THAT(created, HasDriverCode(expected));
  EXPECT_THAT(vmm().Create(granule(), properties(anything)), HasDriverCode(expected));
  RecordUnsupported(created.message());
  return false;
}

bool ConformanceTest::IsTooOldForPtx(int version, const absl::Status& loaded) {
  if (vmm().GetDriverVersion().value_or(version) >= version) return false;
  EXPECT_THAT(loaded, HasDriverCode(DriverCode::kUnsupportedPtxVersion));
  RecordUnsupported(loaded.message());
  return true;
}

// A test whose fixture goes on behind a failure does not run.
void ConformanceTest::ExpectOkIf(bool told, const absl::Status& created) {
  if (!told) return ExpectUnsupported(created);
  ASSERT_THAT(created, IsOk());
}

// A driver that is too old to have the function is another one that does not support it.
void ConformanceTest::ExpectUnsupported(const absl::Status& status) {
  ASSERT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented));
  RecordUnsupported(status.message());
}

void ConformanceTest::RecordUnsupported(absl::string_view reason) {
  RecordProperty(kUnsupportedProperty, std::string(reason));
}

void PhysicalTest::SetUp() {
  ConformanceTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(handle_, vmm().Create(allocation_size(), properties()));
}

void ReservedTest::SetUp() {
  PhysicalTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(reservation_, vmm().AddressReserve(8 * granule()));
}

void MappedTest::SetUp() {
  ReservedTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_THAT(vmm().Map(mapping(), handle()), IsOk());
  ASSERT_THAT(Grant(mapping(), Access::kReadWrite), IsOk());
}

void TwoDevicesTest::SetUp() {
  ConformanceTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  if (device_count() < 2) GTEST_SKIP() << "needs two devices, there is one";
}

}  // namespace twinmmu::conformance
