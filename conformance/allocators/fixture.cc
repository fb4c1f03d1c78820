#include "conformance/allocators/fixture.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "api/allocators/destructor_errors.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/warm_up.h"
#include "gmock/gmock.h"

namespace twinmmu::conformance {
namespace {

std::mutex errors_mutex;
std::vector<absl::Status>& Errors() {
  static auto& errors = *new std::vector<absl::Status>();
  return errors;
}

void KeepError(const absl::Status& error) {
  const std::lock_guard<std::mutex> lock(errors_mutex);
  Errors().push_back(error);
}

}  // namespace

void AllocatorTest::SetUp() {
  SetDestructorErrorHook(KeepError);
  TWINMMU_ASSERT_OK_AND_ASSIGN(target_, GetParam().target.open());
  TWINMMU_ASSERT_OK_AND_ASSIGN(vmm_, target_.driver->vmm());
  TWINMMU_ASSERT_OK_AND_ASSIGN(executor_, target_.driver->executor());
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      granule_, vmm_->GetAllocationGranularity(AllocationProperties(), Granularity::kMinimum));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const int count, vmm_->GetDeviceCount());
  for (int i = 0; i < count; ++i) {
    const DeviceOrdinal other(i);
    TWINMMU_ASSERT_OK_AND_ASSIGN(const bool reaches, vmm_->CanAccessPeer(other, device()));
    if (other == device() || reaches) accessors_.push_back(other);
  }
  ASSERT_THAT(WarmUp(*vmm_, *executor_, accessors_), IsOk());
  memory_before_ = MemoryOfDevices();
  RememberFreeMemory();
}

void AllocatorTest::TearDown() {
  EXPECT_THAT(TakeDestructorErrors(), testing::IsEmpty()) << "errors that destructors met";
  SetDestructorErrorHook(nullptr);
  if (memory_before_.empty()) return;
  const std::vector<MemoryInfo> now = MemoryOfDevices();
  for (size_t i = 0; i < now.size() && traits().sole_user; ++i) {
    EXPECT_EQ(now[i].free, memory_before_[i].free) << "free memory of " << accessors_[i];
  }
  CheckDiagnostics();
}

std::vector<MemoryInfo> AllocatorTest::MemoryOfDevices() {
  std::vector<MemoryInfo> all;
  for (const DeviceOrdinal which : accessors_) {
    const absl::StatusOr<MemoryInfo> info = vmm().GetMemoryInfo(which);
    EXPECT_THAT(info, IsOk());
    all.push_back(info.value_or(MemoryInfo()));
  }
  return all;
}

void AllocatorTest::CheckDiagnostics() {
  if (GetParam().diagnostics == nullptr) return;
  const std::vector<Diagnostic> noticed = GetParam().diagnostics(*target_.driver);
  std::vector<DiagnosticKind> kinds;
  for (const Diagnostic& diagnostic : noticed) kinds.push_back(diagnostic.kind);
  EXPECT_EQ(kinds, expected_) << "the implementation noticed " << testing::PrintToString(noticed);
}

PageOptions AllocatorTest::Granules() const {
  PageOptions options;
  options.page_size = granule();
  return options;
}

PageOptions AllocatorTest::WithCache(Bytes limit) const {
  PageOptions options = Granules();
  options.cache_limit = limit;
  return options;
}

void AllocatorTest::ExpectTaken(Bytes expected) {
  if (!traits().sole_user) return;
  EXPECT_EQ(free_at_start_ - FreeMemory(), expected);
}

absl::Status AllocatorTest::Fill(const AddressRange& range, uint8_t byte, DeviceOrdinal by) {
  absl::Status status = executor().Fill(by, range.base, FillPattern{byte}, range.size.value());
  status.Update(executor().SynchronizeDevice(by));
  return status;
}

void AllocatorTest::ExpectFilled(const AddressRange& range, uint8_t byte, DeviceOrdinal by) {
  const std::vector<uint8_t> expected(range.size.value(), byte);
  std::vector<uint8_t> bytes(range.size.value(), static_cast<uint8_t>(~byte));
  ASSERT_THAT(executor().CopyDeviceToHost(by, bytes.data(), range.base, range.size), IsOk());
  if (bytes == expected) return;
  const auto different = std::mismatch(bytes.begin(), bytes.end(), expected.begin()).first;
  ADD_FAILURE() << "byte " << different - bytes.begin() << " of " << range << " is "
                << int{*different} << " for " << by << ", not " << int{byte};
}

std::vector<absl::Status> AllocatorTest::TakeDestructorErrors() {
  const std::lock_guard<std::mutex> lock(errors_mutex);
  return std::exchange(Errors(), {});
}

std::string NameOfImplementation(const testing::TestParamInfo<Implementation>& info) {
  return info.param.target.name;
}

}  // namespace twinmmu::conformance
