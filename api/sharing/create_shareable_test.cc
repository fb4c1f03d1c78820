// Which handle type is taken, why the others were not, and what is left of them.

#include "api/sharing/create_shareable.h"

#include "api/driver_error.h"
#include "api/sharing/testing.h"
#include "api/testing/matchers.h"
#include "api/testing/mock_vmm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Return;
using ::testing::StrictMock;

constexpr HandleType kFd = HandleType::kPosixFileDescriptor;
constexpr HandleType kFabric = HandleType::kFabric;
constexpr HandleType kNone = HandleType::kNone;
constexpr DeviceOrdinal kDevice(1);
constexpr AllocationHandle kHandle(77);

AllocationProperties OnTheDevice(HandleType types) {
  AllocationProperties properties;
  properties.location = Location::Device(kDevice);
  properties.requested_handle_types = types;
  return properties;
}

absl::Status Driver(DriverCode code, const char* message) {
  return MakeDriverStatus({code, ErrorOrigin::kDriver, "cuMemCreate"}, message);
}

auto Passed(HandleType type, absl::StatusCode code) {
  return ::testing::AllOf(Field(&PassedOver::type, type),
                          Field(&PassedOver::reason, StatusIs(code)));
}

class CreateShareableTest : public ::testing::Test {
 protected:
  // The device says that it has both.
  void SetUp() override {
    Advertise(DeviceAttribute::kHandleTypeFabricSupported, 1);
    Advertise(DeviceAttribute::kHandleTypePosixFileDescriptorSupported, 1);
  }
  void Advertise(DeviceAttribute attribute, int value) {
    EXPECT_CALL(vmm_, GetDeviceAttribute(attribute, kDevice)).WillRepeatedly(Return(value));
  }
  void Creates(HandleType type, const absl::StatusOr<AllocationHandle>& answer) {
    EXPECT_CALL(vmm_, Create(MiB(2), OnTheDevice(type), 0)).WillOnce(Return(answer));
  }
  void Exports(HandleType type, const absl::StatusOr<ShareableHandle>& answer) {
    EXPECT_CALL(vmm_, ExportShareableHandle(kHandle, type, 0)).WillOnce(Return(answer));
  }
  static ShareableHandle FabricHandle() {
    ShareableHandle handle;
    handle.type = kFabric;
    return handle;
  }
  // What is asked for already is no matter.
  absl::StatusOr<ShareableAllocation> Create(
      absl::Span<const HandleType> preferred = kPreferredHandleTypes) {
    return CreateShareable(vmm_, MiB(2), OnTheDevice(HandleType::kWin32), preferred);
  }

  StrictMock<MockVmm> vmm_;
};

// Where fabric handles work, nothing else is tried.
TEST_F(CreateShareableTest, TakesFabricWhereItWorks) {
  Creates(kFabric, kHandle);
  Exports(kFabric, FabricHandle());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableAllocation made, Create());
  EXPECT_EQ(made.handle, kHandle);
  EXPECT_EQ(made.type, kFabric);
  EXPECT_THAT(made.passed_over, IsEmpty());
}

// Advertised and not permitted is the usual case: a descriptor does, and none stays open.
TEST_F(CreateShareableTest, TakesADescriptorWhereFabricIsNotPermitted) {
  Creates(kFabric, Driver(DriverCode::kNotPermitted, "no channel"));
  Creates(kFd, kHandle);
  const int open = OpenDescriptors();
  Exports(kFd, ShareableHandle::FileDescriptor(NewFile().Release()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableAllocation made, Create());
  EXPECT_EQ(made.type, kFd);
  EXPECT_THAT(made.passed_over, ElementsAre(Passed(kFabric, absl::StatusCode::kPermissionDenied)));
  EXPECT_EQ(ToString(made.passed_over), "fabric: no channel");
  EXPECT_EQ(OpenDescriptors(), open);
}

// What the device does not advertise is not tried.
TEST_F(CreateShareableTest, BelievesTheDevice) {
  Advertise(DeviceAttribute::kHandleTypeFabricSupported, 0);
  Advertise(DeviceAttribute::kHandleTypePosixFileDescriptorSupported, 0);
  Creates(kNone, kHandle);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableAllocation made, Create());
  EXPECT_EQ(made.type, kNone);
  EXPECT_THAT(made.passed_over, ElementsAre(Passed(kFabric, absl::StatusCode::kUnimplemented),
                                            Passed(kFd, absl::StatusCode::kUnimplemented)));
  EXPECT_THAT(ToString(made.passed_over), HasSubstr("device 1 has no handles of this type"));
}

// Memory that turns out not to be exported is released, and the next type tried.
TEST_F(CreateShareableTest, ReleasesWhatIsNotExported) {
  constexpr AllocationHandle kOther(78);
  EXPECT_CALL(vmm_, Create(MiB(2), OnTheDevice(kFabric), 0)).WillOnce(Return(kHandle));
  Exports(kFabric, Driver(DriverCode::kNotPermitted, "no channel"));
  EXPECT_CALL(vmm_, Release(kHandle)).WillOnce(Return(absl::OkStatus()));
  Creates(kNone, kOther);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableAllocation made, Create({kFabric, kNone}));
  EXPECT_EQ(made.handle, kOther);
}

// A lack of memory is no matter of types: it is said at once.
TEST_F(CreateShareableTest, DoesNotTryAgainWithoutMemory) {
  Creates(kFabric, Driver(DriverCode::kOutOfMemory, "141 GiB"));
  EXPECT_THAT(Create(), HasDriverCode(DriverCode::kOutOfMemory));
}

// Where nothing works, the error is the last one's, and has the reasons of all in its words.
TEST_F(CreateShareableTest, SaysWhyNothingWorks) {
  Creates(kFabric, Driver(DriverCode::kNotPermitted, "no channel"));
  Creates(kFd, Driver(DriverCode::kInvalidValue, "bad size"));
  const auto made = Create({kFabric, kFd});
  EXPECT_THAT(made, HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_EQ(made.status().message(),
            "no memory could be created: fabric: no channel; POSIX file descriptor: bad size");
}

// No type at all is an error of the caller.
TEST_F(CreateShareableTest, WantsAType) {
  EXPECT_THAT(Create(absl::Span<const HandleType>()), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Memory of the host has no device to ask: the driver decides.
TEST_F(CreateShareableTest, AsksTheDriverForMemoryOfTheHost) {
  AllocationProperties host;
  host.location = Location::HostNuma(0);
  AllocationProperties expected = host;
  expected.requested_handle_types = kFd;
  EXPECT_CALL(vmm_, Create(MiB(2), expected, 0)).WillOnce(Return(kHandle));
  Exports(kFd, ShareableHandle::FileDescriptor(NewFile().Release()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableAllocation made,
                               CreateShareable(vmm_, MiB(2), host, {kFd}));
  EXPECT_EQ(made.type, kFd);
}

}  // namespace
}  // namespace twinmmu
