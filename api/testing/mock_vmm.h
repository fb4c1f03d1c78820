// MockVmm: a Vmm whose calls a test expects and answers, with GoogleMock.
//
//   MockVmm vmm;
//   EXPECT_CALL(vmm, Release(handle)).WillOnce(Return(absl::OkStatus()));
//
// A call that nothing answers is an error, also one that an expectation without an action accepts.
// DelegateTo lets another Vmm answer instead; NiceMock<MockVmm> is silent about such calls:
//
//   NiceMock<MockVmm> vmm;
//   vmm.DelegateTo(simulator.vmm().value());
//   EXPECT_CALL(vmm, Unmap).Times(0);
//
// docs/testing.md has a whole example.

#ifndef TWINMMU_API_TESTING_MOCK_VMM_H_
#define TWINMMU_API_TESTING_MOCK_VMM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/vmm.h"
#include "gmock/gmock.h"

namespace twinmmu {

// Thread safety: calls may be made concurrently, as with every mock; expectations, and DelegateTo,
// come before them.
class MockVmm : public Vmm {
 public:
  // A call without an answer is Unimplemented, and the message names it.
  MockVmm();

  // From now on `target`, which must outlive the calls, answers what no expectation answers. Null:
  // nobody, as in the beginning.
  void DelegateTo(Vmm* target) { target_ = target; }

  using Vmm::AddressReserve;
  using Vmm::Create;
  using Vmm::ExportShareableHandle;
  using Vmm::Map;

  MOCK_METHOD(absl::StatusOr<int>, GetDriverVersion, (), (override));
  MOCK_METHOD(absl::StatusOr<int>, GetDeviceCount, (), (override));
  MOCK_METHOD(absl::StatusOr<std::string>, GetDeviceName, (DeviceOrdinal device), (override));
  MOCK_METHOD(absl::StatusOr<int>, GetDeviceAttribute,
              (DeviceAttribute attribute, DeviceOrdinal device), (override));
  MOCK_METHOD(absl::StatusOr<bool>, CanAccessPeer, (DeviceOrdinal device, DeviceOrdinal peer),
              (override));
  MOCK_METHOD(absl::StatusOr<MemoryInfo>, GetMemoryInfo, (DeviceOrdinal device), (override));
  MOCK_METHOD(absl::StatusOr<AddressRange>, AddressReserve,
              (Bytes size, const ReserveOptions& options), (override));
  MOCK_METHOD(absl::Status, AddressFree, (const AddressRange& range), (override));
  MOCK_METHOD(absl::StatusOr<Bytes>, GetAllocationGranularity,
              (const AllocationProperties& properties, Granularity option), (override));
  MOCK_METHOD(absl::StatusOr<AllocationHandle>, Create,
              (Bytes size, const AllocationProperties& properties, uint64_t flags), (override));
  MOCK_METHOD(absl::Status, Release, (AllocationHandle handle), (override));
  MOCK_METHOD(absl::StatusOr<AllocationHandle>, RetainAllocationHandle, (DeviceAddress address),
              (override));
  MOCK_METHOD(absl::StatusOr<AllocationProperties>, GetAllocationProperties,
              (AllocationHandle handle), (override));
  MOCK_METHOD(absl::Status, Map,
              (const AddressRange& range, AllocationHandle handle, Bytes offset, uint64_t flags),
              (override));
  MOCK_METHOD(absl::Status, Unmap, (const AddressRange& range), (override));
  MOCK_METHOD(absl::Status, SetAccess,
              (const AddressRange& range, absl::Span<const AccessGrant> grants), (override));
  MOCK_METHOD(absl::StatusOr<Access>, GetAccess, (const Location& location, DeviceAddress address),
              (override));
  MOCK_METHOD(absl::StatusOr<ShareableHandle>, ExportShareableHandle,
              (AllocationHandle handle, HandleType type, uint64_t flags), (override));
  MOCK_METHOD(absl::StatusOr<AllocationHandle>, ImportShareableHandle,
              (const ShareableHandle& shareable), (override));
  MOCK_METHOD(absl::StatusOr<uint64_t>, GetPointerAttribute,
              (DeviceOrdinal device, PointerAttribute attribute, DeviceAddress address),
              (override));
  MOCK_METHOD(absl::StatusOr<AddressRange>, GetAddressRange,
              (DeviceOrdinal device, DeviceAddress address), (override));
  MOCK_METHOD(absl::StatusOr<int>, GetHandleForAddressRange,
              (DeviceOrdinal device, const AddressRange& range, RangeHandleType type,
               uint64_t flags),
              (override));

 private:
  Vmm* target_ = nullptr;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_MOCK_VMM_H_
