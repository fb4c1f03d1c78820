// CheckedVmm over a Vmm that does what it is told: what is passed on, refused, followed and told.
// That it says what the simulator says is in //conformance/instances:checked_sim_test.

#include "api/testing/checked_vmm.h"

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/testing/diagnostic_matchers.h"
#include "api/testing/matchers.h"
#include "api/testing/mock_vmm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Bytes kGranule = MiB(2);
constexpr AccessGrant kGrant{Location::Device(DeviceOrdinal(0)), Access::kReadWrite};

// Answers every call with success, or with what it is told. As drivers do, it gives out at once
// what was given back: addresses and handles.
class ObligingVmm : public MockVmm {
 public:
  using Vmm::AddressReserve;
  using Vmm::Create;
  using Vmm::Map;

  void RefuseAll(DriverCode code) {
    const std::lock_guard lock(mutex_);
    code_ = code;
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  absl::StatusOr<int> GetDriverVersion() override { return 13000; }
  absl::StatusOr<int> GetDeviceCount() override { return 1; }
  absl::StatusOr<std::string> GetDeviceName(DeviceOrdinal) override { return "obliging"; }
  absl::StatusOr<int> GetDeviceAttribute(DeviceAttribute, DeviceOrdinal) override { return 1; }
  absl::StatusOr<bool> CanAccessPeer(DeviceOrdinal, DeviceOrdinal) override { return false; }
  absl::StatusOr<MemoryInfo> GetMemoryInfo(DeviceOrdinal) override { return MemoryInfo(); }
  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions&) override {
    const absl::StatusOr<uint64_t> base = Take(bases_, GiB(64).value(), GiB(1).value());
    if (!base.ok()) return base.status();
    return AddressRange{DeviceAddress(*base), size, Bytes(0)};
  }
  absl::Status AddressFree(const AddressRange& range) override {
    return GiveBack(bases_, range.base.value());
  }
  absl::StatusOr<Bytes> GetAllocationGranularity(const AllocationProperties&,
                                                 Granularity) override {
    return kGranule;
  }
  absl::StatusOr<AllocationHandle> Create(Bytes, const AllocationProperties&, uint64_t) override {
    const absl::StatusOr<uint64_t> handle = Take(handles_, 1000, 1);
    if (!handle.ok()) return handle.status();
    return AllocationHandle(*handle);
  }
  absl::Status Release(AllocationHandle handle) override {
    return GiveBack(handles_, handle.value());
  }
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress) override {
    const absl::Status status = Answer();
    if (!status.ok()) return status;
    return AllocationHandle(77);
  }
  absl::StatusOr<AllocationProperties> GetAllocationProperties(AllocationHandle) override {
    const absl::Status status = Answer();
    if (!status.ok()) return status;
    return AllocationProperties();
  }
  absl::Status Map(const AddressRange&, AllocationHandle, Bytes, uint64_t) override {
    return Answer();
  }
  absl::Status Unmap(const AddressRange&) override { return Answer(); }
  absl::Status SetAccess(const AddressRange&, absl::Span<const AccessGrant>) override {
    return Answer();
  }
  absl::StatusOr<Access> GetAccess(const Location&, DeviceAddress) override {
    return Access::kReadWrite;
  }
  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle, HandleType,
                                                        uint64_t) override {
    const absl::Status status = Answer();
    if (!status.ok()) return status;
    return ShareableHandle();
  }
  absl::StatusOr<AllocationHandle> ImportShareableHandle(const ShareableHandle&) override {
    return Create(Bytes(0), {}, 0);
  }
  absl::StatusOr<uint64_t> GetPointerAttribute(DeviceOrdinal, PointerAttribute,
                                               DeviceAddress) override {
    return 0;
  }
  absl::StatusOr<AddressRange> GetAddressRange(DeviceOrdinal, DeviceAddress) override {
    return AddressRange();
  }

 private:
  absl::Status AnswerLocked() {
    ++calls_;
    return code_ == DriverCode::kSuccess
               ? absl::OkStatus()
               : MakeDriverStatus({code_, ErrorOrigin::kDriver, "a call"}, "as told");
  }
  absl::Status Answer() {
    const std::lock_guard lock(mutex_);
    return AnswerLocked();
  }
  absl::StatusOr<uint64_t> Take(std::vector<uint64_t>& free, uint64_t first, uint64_t step) {
    const std::lock_guard lock(mutex_);
    const absl::Status status = AnswerLocked();
    if (!status.ok()) return status;
    if (free.empty()) return first + step * made_++;
    const uint64_t value = free.back();
    free.pop_back();
    return value;
  }
  absl::Status GiveBack(std::vector<uint64_t>& free, uint64_t value) {
    const std::lock_guard lock(mutex_);
    const absl::Status status = AnswerLocked();
    if (status.ok()) free.push_back(value);
    return status;
  }

  mutable std::mutex mutex_;
  DriverCode code_ = DriverCode::kSuccess;
  int calls_ = 0;
  uint64_t made_ = 0;
  std::vector<uint64_t> bases_;
  std::vector<uint64_t> handles_;
};

class CheckedVmmTest : public testing::Test {
 protected:
  AddressRange Mapped(CheckedVmm& vmm, AllocationHandle* handle = nullptr) {
    const AddressRange range = *vmm.AddressReserve(kGranule);
    const AllocationHandle created = *vmm.Create(kGranule, {});
    EXPECT_THAT(vmm.Map(range, created), IsOk());
    if (handle != nullptr) *handle = created;
    return range;
  }

  ObligingVmm target_;
  CheckedVmm vmm_{&target_};
};

// --- What is passed on

TEST_F(CheckedVmmTest, AnswersWhatTheDriverAnswers) {
  const AddressRange range = Mapped(vmm_);
  target_.RefuseAll(DriverCode::kNotPermitted);
  EXPECT_THAT(vmm_.AddressReserve(kGranule), HasDriverCode(DriverCode::kNotPermitted));
  EXPECT_THAT(vmm_.Create(kGranule, {}), HasDriverCode(DriverCode::kNotPermitted));
  EXPECT_THAT(vmm_.Unmap(range), HasDriverCode(DriverCode::kNotPermitted));
  EXPECT_THAT(vmm_.diagnostics(), IsEmpty());
}

TEST_F(CheckedVmmTest, RefusesWhatMayEndTheProcess) {
  const AddressRange range = *vmm_.AddressReserve(kGranule);
  const AllocationHandle dead = *vmm_.Create(kGranule, {});
  EXPECT_THAT(vmm_.Release(dead), IsOk());
  const int calls = target_.calls();
  for (const AllocationHandle handle : {dead, AllocationHandle(0xbad)}) {
    for (const absl::Status& status :
         {vmm_.Release(handle), vmm_.Map(range, handle),
          vmm_.GetAllocationProperties(handle).status(),
          vmm_.ExportShareableHandle(handle, HandleType::kFabric).status()}) {
      EXPECT_THAT(status, HasDriverCode(DriverCode::kInvalidValue));
      EXPECT_EQ(GetDriverError(status)->origin, ErrorOrigin::kChecker);
    }
  }
  EXPECT_EQ(target_.calls(), calls);
  EXPECT_THAT(vmm_.diagnostics(), SizeIs(8));
}

// Drivers refuse it themselves.
TEST_F(CheckedVmmTest, PassesHandle0On) {
  const int calls = target_.calls();
  EXPECT_THAT(vmm_.Release(AllocationHandle(0)), IsOk());
  EXPECT_EQ(target_.calls(), calls + 1);
}

TEST_F(CheckedVmmTest, PassesEverythingOnIfItIsToldTo) {
  CheckedVmmOptions options;
  options.refuse_undefined = false;
  CheckedVmm vmm(&target_, options);
  EXPECT_THAT(vmm.Release(AllocationHandle(0xbad)), IsOk());
  EXPECT_THAT(vmm.diagnostics(), ElementsAre(AllOf(IsDiagnostic(Kind::kUseOfUnknownHandle),
                                                   DiagnosticSeverityIs(Severity::kWarning))));
}

// --- What is followed

TEST_F(CheckedVmmTest, FollowsADriverThatMapsOverAMapping) {
  const AddressRange range = Mapped(vmm_);
  const AllocationHandle other = *vmm_.Create(kGranule, {});
  EXPECT_THAT(vmm_.Map(range, other), IsOk());
  EXPECT_THAT(vmm_.diagnostics(), ElementsAre(AllOf(IsDiagnostic(Kind::kMapOverMapped),
                                                    DiagnosticSeverityIs(Severity::kWarning))));
  ASSERT_THAT(vmm_.mappings(), SizeIs(1));
  EXPECT_EQ(vmm_.mappings()[0].mapping.allocation, other);
}

TEST_F(CheckedVmmTest, KeepsWhatTheDriverRefusesToTakeAway) {
  AllocationHandle handle;
  const AddressRange range = Mapped(vmm_, &handle);
  const AddressRange empty = *vmm_.AddressReserve(kGranule);
  target_.RefuseAll(DriverCode::kOutOfMemory);
  EXPECT_THAT(vmm_.Unmap(range), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(vmm_.Release(handle), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(vmm_.AddressFree(empty), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(vmm_.mappings(), SizeIs(1));
  EXPECT_THAT(vmm_.leaks(), SizeIs(4));
  target_.RefuseAll(DriverCode::kSuccess);
  EXPECT_THAT(vmm_.Release(handle), IsOk());
  EXPECT_THAT(vmm_.Unmap(range), IsOk());
  EXPECT_THAT(vmm_.AddressFree(range), IsOk());
  EXPECT_THAT(vmm_.AddressFree(empty), IsOk());
  EXPECT_THAT(vmm_.leaks(), IsEmpty());
  EXPECT_THAT(vmm_.diagnostics(), IsEmpty());
}

// A refused SetAccess may have done a part of its work: the driver says.
TEST_F(CheckedVmmTest, AsksForAccessAfterARefusal) {
  const AddressRange range = Mapped(vmm_);
  target_.RefuseAll(DriverCode::kNotSupported);
  EXPECT_THAT(vmm_.SetAccess(range, std::array{kGrant}), HasDriverCode(DriverCode::kNotSupported));
  ASSERT_THAT(vmm_.mappings(), SizeIs(1));
  EXPECT_THAT(vmm_.mappings()[0].grants, ElementsAre(kGrant));
  EXPECT_THAT(vmm_.diagnostics(), ElementsAre(IsDiagnostic(Kind::kAccessAppliedInPart)));
}

// There is such a device: it is no peer, whatever the driver calls it.
TEST_F(CheckedVmmTest, TellsOfAGrantToADeviceThatIsNoPeer) {
  const AddressRange range = Mapped(vmm_);
  EXPECT_THAT(vmm_.SetAccess(range, std::array{kGrant}), IsOk());
  target_.RefuseAll(DriverCode::kInvalidDevice);
  EXPECT_THAT(vmm_.SetAccess(range, std::array{kGrant}), HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(vmm_.diagnostics(), ElementsAre(IsDiagnostic(Kind::kGrantToNoPeer)));
}

// The driver gives a handle out again, so it is not dead any more.
TEST_F(CheckedVmmTest, TakesAHandleThatComesAgainForANewOne) {
  const AllocationHandle first = *vmm_.Create(kGranule, {});
  EXPECT_THAT(vmm_.Release(first), IsOk());
  const AllocationHandle second = *vmm_.Create(kGranule, {});
  ASSERT_EQ(first, second);
  EXPECT_THAT(vmm_.Release(second), IsOk());
  EXPECT_THAT(vmm_.diagnostics(), IsEmpty());
}

TEST_F(CheckedVmmTest, CountsReferencesThatItDidNotSeeMade) {
  EXPECT_THAT(vmm_.RetainAllocationHandle(DeviceAddress(4096)), IsOk());
  EXPECT_THAT(vmm_.leaks(), ElementsAre(AllOf(IsDiagnostic(Kind::kLeakedAllocation),
                                              DiagnosticCallIs("cuMemRetainAllocationHandle"),
                                              DiagnosticMessageIs(HasSubstr("1 reference(s)")))));
  EXPECT_THAT(vmm_.Release(AllocationHandle(77)), IsOk());
  EXPECT_THAT(vmm_.leaks(), IsEmpty());
}

// Nothing that can be passed does harm, whatever the driver makes of it.
TEST_F(CheckedVmmTest, TakesAnything) {
  Mapped(vmm_);
  CheckedVmmOptions options;
  options.refuse_undefined = false;
  CheckedVmm vmm(&target_, options);
  const AddressRange known = Mapped(vmm);
  for (const DriverCode code :
       {DriverCode::kSuccess, DriverCode::kInvalidValue, DriverCode::kNotSupported}) {
    target_.RefuseAll(code);
    for (const uint64_t base : {uint64_t{0}, known.base.value(), known.base.value() + 1,
                                ~uint64_t{0}, ~uint64_t{0} - 1}) {
      for (const uint64_t size : {uint64_t{0}, uint64_t{1}, kGranule.value(), ~uint64_t{0}}) {
        const AddressRange range{DeviceAddress(base), Bytes(size), Bytes(0)};
        for (const uint64_t handle : {uint64_t{0}, uint64_t{1000}, ~uint64_t{0}}) {
          vmm.Map(range, AllocationHandle(handle), Bytes(size), 0).IgnoreError();
          vmm.Release(AllocationHandle(handle)).IgnoreError();
        }
        vmm.SetAccess(range, std::array{kGrant, AccessGrant{{LocationType(9), -1}, Access(9)}})
            .IgnoreError();
        vmm.SetAccess(range, std::array{kGrant}).IgnoreError();
        vmm.SetAccess(range, {}).IgnoreError();
        vmm.GetAccess(Location::Host(), range.base).status().IgnoreError();
        vmm.GetAddressRange(DeviceOrdinal(-1), range.base).status().IgnoreError();
        vmm.Unmap(range).IgnoreError();
        vmm.AddressFree(range).IgnoreError();
      }
    }
  }
  EXPECT_GT(vmm.CountOf(Kind::kUnmapOfUnreserved), 0u);
}

// --- What is told

TEST_F(CheckedVmmTest, TellsWhatIsMappedWhere) {
  const AddressRange range = *vmm_.AddressReserve(2 * kGranule);
  const AddressRange upper = range.subrange(kGranule, kGranule);
  const AllocationHandle handle = *vmm_.Create(kGranule, {});
  EXPECT_THAT(vmm_.Map(upper, handle), IsOk());
  EXPECT_THAT(vmm_.SetAccess(upper, std::array{kGrant}), IsOk());
  ASSERT_THAT(vmm_.mappings(), SizeIs(1));
  const CheckedMapping mapping = vmm_.mappings()[0];
  EXPECT_EQ(mapping.reservation, range);
  EXPECT_EQ(mapping.range(), upper);
  EXPECT_EQ(mapping.mapping, (MappingInfo{kGranule, kGranule, handle, Access::kReadWrite}));
  EXPECT_EQ(ToString(mapping), InWords(upper) + ": handle " + ToString(handle) +
                                   " at offset 0 B, read-write for device 0, by call 3");
}

// Inside the call, and without a lock: who is told may ask.
TEST(CheckedVmmOptionsTest, TellAtOnce) {
  ObligingVmm target;
  CheckedVmm* asked = nullptr;
  std::vector<std::pair<Kind, size_t>> told;
  CheckedVmmOptions options;
  options.at_once = [&](Kind kind, const Diagnostic*) {
    told.emplace_back(kind, asked->leaks().size());
  };
  CheckedVmm vmm(&target, options);
  asked = &vmm;
  const AddressRange range = *vmm.AddressReserve(kGranule);
  EXPECT_THAT(vmm.Unmap(range), IsOk());
  EXPECT_THAT(told, ElementsAre(std::pair(Kind::kUnmapOfNothing, size_t{1})));
}

TEST(CheckedVmmOptionsTest, TellAtTheEnd) {
  ObligingVmm target;
  std::vector<Diagnostic> all;
  CheckedVmmOptions options;
  options.at_end = [&](const std::vector<Diagnostic>& diagnostics) { all = diagnostics; };
  {
    CheckedVmm vmm(&target, options);
    EXPECT_THAT(vmm.Unmap(*vmm.AddressReserve(kGranule)), IsOk());
  }
  EXPECT_THAT(all, ElementsAre(IsDiagnostic(Kind::kUnmapOfNothing),
                               IsDiagnostic(Kind::kLeakedReservation)));
}

TEST(CheckedVmmOptionsTest, BoundWhatIsKept) {
  ObligingVmm target;
  CheckedVmmOptions options;
  options.diagnostics_kept = 2;
  options.calls_remembered = 2;
  CheckedVmm vmm(&target, options);
  const AddressRange range = *vmm.AddressReserve(kGranule);
  for (int i = 0; i < 5; ++i) EXPECT_THAT(vmm.Unmap(range), IsOk());
  EXPECT_THAT(vmm.diagnostics(), SizeIs(2));
  EXPECT_EQ(vmm.CountOf(Kind::kUnmapOfNothing), 5u);
  // The last two, and the one that made what is there.
  EXPECT_THAT(vmm.HistoryOf(range.base), SizeIs(3));
}

// What one thread gives back, another may be given at once.
TEST(CheckedVmmThreadsTest, DoNotSeeEachOther) {
  ObligingVmm target;
  CheckedVmm vmm(&target);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const AddressRange range = *vmm.AddressReserve(kGranule);
        const AllocationHandle handle = *vmm.Create(kGranule, {});
        EXPECT_THAT(vmm.Map(range, handle), IsOk());
        EXPECT_THAT(vmm.SetAccess(range, std::array{kGrant}), IsOk());
        EXPECT_THAT(vmm.Unmap(range), IsOk());
        EXPECT_THAT(vmm.Release(handle), IsOk());
        EXPECT_THAT(vmm.AddressFree(range), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(vmm.diagnostics(), IsEmpty());
  EXPECT_THAT(vmm.leaks(), IsEmpty());
}

}  // namespace
}  // namespace twinmmu
