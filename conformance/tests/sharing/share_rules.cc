// cuMemExportToShareableHandle, cuMemImportFromShareableHandle, inside one process.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "conformance/fixtures/fixtures.h"
#include "conformance/fixtures/process_server.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr HandleType kFd = HandleType::kPosixFileDescriptor;

// A shareable allocation of 4 granules, not mapped, and the descriptors that the test opened.
class SharingTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    AllocationProperties shared;
    shared.requested_handle_types = kFd;
    const auto handle = vmm().Create(size(), shared);
    if (!IsCreatedAsTold(DeviceAttribute::kHandleTypePosixFileDescriptorSupported,
                         handle.status())) {
      GTEST_SKIP() << "memory cannot be shared by POSIX file descriptor";
    }
    handle_ = *handle;
  }
  void TearDown() override {
    for (const int fd : descriptors_) close(fd);
    ConformanceTest::TearDown();
  }
  AllocationHandle handle() const { return handle_; }
  Bytes size() const { return 4 * granule(); }
  // A new descriptor of the allocation, closed at the end of the test; -1 after a failure.
  int Export() {
    const auto shareable = vmm().ExportShareableHandle(handle_, kFd);
    EXPECT_THAT(shareable, IsOk());
    if (!shareable.ok()) return -1;
    descriptors_.push_back(shareable->file_descriptor);
    return shareable->file_descriptor;
  }
  void Close(int fd) {
    close(fd);
    descriptors_.erase(std::find(descriptors_.begin(), descriptors_.end(), fd));
  }
  absl::StatusOr<AllocationHandle> Import(int fd) {
    return vmm().ImportShareableHandle(ShareableHandle::FileDescriptor(fd));
  }

 private:
  AllocationHandle handle_;
  std::vector<int> descriptors_;
};

}  // namespace

CONFORMANCE_TEST(SharingTest, SHARE_1, EachExportIsANewDescriptor) {
  const int first = Export();
  const int second = Export();
  EXPECT_GE(first, 0);
  EXPECT_GE(second, 0);
  EXPECT_NE(first, second);
  for (const int fd : {first, second}) EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

CONFORMANCE_TEST(SharingTest, SHARE_2, RefusesATypeThatWasNotRequested) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle unshared,
                               vmm().Create(granule(), properties()));
  EXPECT_THAT(vmm().ExportShareableHandle(unshared, kFd), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm().ExportShareableHandle(handle(), HandleType::kFabric),
              HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(SharingTest, SHARE_3, RefusesNoTypeSeveralAndUnknownOnes) {
  for (const uint32_t type : {0u, 2u, 3u, 99u}) {
    EXPECT_THAT(vmm().ExportShareableHandle(handle(), static_cast<HandleType>(type)),
                HasDriverCode(DriverCode::kInvalidValue))
        << type;
  }
  EXPECT_THAT(vmm().ExportShareableHandle(AllocationHandle(0), kFd),
              HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(SharingTest, SHARE_4, RefusesFlags) {
  for (const uint64_t flags : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 63}) {
    EXPECT_THAT(vmm().ExportShareableHandle(handle(), kFd, flags),
                HasDriverCode(DriverCode::kInvalidValue));
  }
}

CONFORMANCE_TEST(SharingTest, SHARE_5, AnImportIsTheSameMemory) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle imported, Import(Export()));
  EXPECT_NE(imported, handle());
  const AddressRange exporters = MapSomewhere(handle(), size());
  const AddressRange importers = MapSomewhere(imported, size());
  ASSERT_THAT(Write(exporters, 5), IsOk());
  ExpectHolds(importers, 5);
  ASSERT_THAT(Write(importers, 6), IsOk());
  ExpectHolds(exporters, 6);
  EXPECT_THAT(vmm().RetainAllocationHandle(importers.base), IsOkAndHolds(imported));
}

CONFORMANCE_TEST(SharingTest, SHARE_6, ImportsOutliveTheExporterAndEachOther) {
  const int fd = Export();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle first, Import(fd));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle second, Import(fd));
  EXPECT_NE(first, second);
  ASSERT_THAT(Write(MapSomewhere(first, size()), 7), IsOk());
  Close(fd);
  ASSERT_THAT(vmm().Release(handle()), IsOk());
  ASSERT_THAT(vmm().Release(first), IsOk());
  ExpectHolds(MapSomewhere(second, size()), 7);
}

CONFORMANCE_TEST(SharingTest, SHARE_7, ADuplicateImportsAndStaysOpen) {
  ASSERT_THAT(Write(MapSomewhere(handle(), size()), 7), IsOk());
  const int duplicate = dup(Export());
  const auto imported = Import(duplicate);
  EXPECT_NE(fcntl(duplicate, F_GETFD), -1) << "importing must leave the descriptor open";
  close(duplicate);
  ASSERT_THAT(imported, IsOk());
  ExpectHolds(MapSomewhere(*imported, size()), 7);
}

CONFORMANCE_TEST(SharingTest, SHARE_8, RefusesADescriptorOfSomethingElse) {
  const DriverCode code = Deviates(Deviation::kImportOfAForeignDescriptorIsUnknown)
                              ? DriverCode::kUnknown
                              : DriverCode::kInvalidValue;
  const int null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
  ASSERT_GE(null_device, 0);
  EXPECT_THAT(Import(null_device), HasDriverCode(code));
  close(null_device);
  EXPECT_THAT(Import(null_device), HasDriverCode(code)) << "closed";
  EXPECT_THAT(Import(-1), HasDriverCode(code)) << "-1";
  int ends[4] = {-1, -1, -1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends + 2), 0);
  for (const int other :
       {ends[0], ends[1], ends[2], ends[3], open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        open("/proc/self/exe", O_PATH | O_CLOEXEC), memfd_create("other", MFD_CLOEXEC)}) {
    ASSERT_GE(other, 0);
    EXPECT_THAT(Import(other), HasDriverCode(code)) << "a pipe, a socket, a directory or a file";
    EXPECT_EQ(close(other), 0) << "importing must leave the descriptor open";
  }
}

CONFORMANCE_TEST(SharingTest, SHARE_9, RefusesAnImportOfAnUnknownType) {
  ShareableHandle shareable = ShareableHandle::FileDescriptor(Export());
  for (const uint32_t type : {0u, 3u, 99u}) {
    shareable.type = static_cast<HandleType>(type);
    EXPECT_THAT(vmm().ImportShareableHandle(shareable), HasDriverCode(DriverCode::kInvalidValue))
        << type;
  }
}

CONFORMANCE_TEST(SharingTest, SHARE_10, RefusesAnImportFromWindows) {
  ShareableHandle shareable = ShareableHandle::FileDescriptor(Export());
  shareable.type = HandleType::kWin32;
  EXPECT_THAT(vmm().ImportShareableHandle(shareable), HasDriverCode(DriverCode::kNotSupported));
}

CONFORMANCE_TEST(SharingTest, SHARE_11, AnImportIsNotExportedAgain) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle imported, Import(Export()));
  EXPECT_THAT(vmm().ExportShareableHandle(imported, kFd), HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(SharingTest, SHARE_18, AnImportIsOfTheSameKindButForRdma) {
  const bool rdma = Tells(DeviceAttribute::kGpuDirectRdmaWithCudaVmmSupported);
  for (const bool compressed : {true, false}) {
    AllocationProperties asked;
    asked.requested_handle_types = kFd;
    if (compressed) asked.compression = CompressionType::kGeneric;
    if (!compressed && rdma) asked.gpu_direct_rdma = 1;
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle exporter, vmm().Create(granule(), asked));
    TWINMMU_ASSERT_OK_AND_ASSIGN(AllocationProperties expected,
                                 vmm().GetAllocationProperties(exporter));
    EXPECT_EQ(expected.gpu_direct_rdma, asked.gpu_direct_rdma);
    TWINMMU_ASSERT_OK_AND_ASSIGN(const ShareableHandle shareable,
                                 vmm().ExportShareableHandle(exporter, kFd));
    const auto imported = vmm().ImportShareableHandle(shareable);
    close(shareable.file_descriptor);
    ASSERT_THAT(imported, IsOk());
    expected.requested_handle_types = HandleType::kNone;
    expected.gpu_direct_rdma = 0;
    EXPECT_THAT(vmm().GetAllocationProperties(*imported), IsOkAndHolds(expected));
  }
}

CONFORMANCE_TEST(SharingTest, SHARE_13, RefusesDescriptorZero) {
  EXPECT_THAT(Import(0), HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(SharingTest, SHARE_12, AnOpenDescriptorKeepsTheMemory) {
  const AddressRange range = MapSomewhere(handle(), size());
  ASSERT_THAT(Write(range, 12), IsOk());
  const int fd = Export();
  ASSERT_THAT(vmm().Unmap(range), IsOk());
  ASSERT_THAT(vmm().Release(handle()), IsOk());
  {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle imported, Import(fd));
    const AddressRange again = MapSomewhere(imported, size());
    ExpectHolds(again, 12);
    ASSERT_THAT(vmm().Unmap(again), IsOk());
    ASSERT_THAT(vmm().Release(imported), IsOk());
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo open, vmm().GetMemoryInfo(device()));
  Close(fd);
  ExpectFree(device(), open.free + size());
}

CONFORMANCE_TEST(SharingTest, SHARE_14, OnlyAnExportOpensADescriptor) {
  const int before = OpenDescriptors();
  const int fd = Export();
  EXPECT_EQ(OpenDescriptors(), before + 1);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle imported, Import(fd));
  MapSomewhere(imported, size());
  EXPECT_EQ(OpenDescriptors(), before + 1);
  Close(fd);
  EXPECT_EQ(OpenDescriptors(), before);
}

CONFORMANCE_TEST(SharingTest, SHARE_15, NoDescriptorLeftIsAnErrorOfTheSystem) {
  const int fd = Export();
  rlimit usual;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  // Every number below the next free one is taken.
  const int next = dup(fd);
  close(next);
  rlimit none_left = usual;
  none_left.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  const auto refused = vmm().ExportShareableHandle(handle(), kFd);
  const auto imported = Import(fd);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_THAT(refused, HasDriverCode(DriverCode::kOperatingSystem));
  EXPECT_THAT(imported, IsOk());
  EXPECT_GE(Export(), 0);
}

CONFORMANCE_TEST(SharingTest, SHARE_16, ADescriptorFromASocketImports) {
  ASSERT_THAT(Write(MapSomewhere(handle(), size()), 16), IsOk());
  const int sent = Export();
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sockets), 0);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 0;
  iovec text = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &sent, sizeof(int));
  ASSERT_EQ(sendmsg(sockets[0], &message, 0), 1);
  Close(sent);
  ASSERT_EQ(recvmsg(sockets[1], &message, 0), 1);
  int received = -1;
  std::memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
  const auto imported = Import(received);
  for (const int fd : {received, sockets[0], sockets[1]}) close(fd);
  ASSERT_THAT(imported, IsOk());
  ExpectHolds(MapSomewhere(*imported, size()), 16);
}

CONFORMANCE_TEST(SharingTest, SHARE_17, DescriptorZeroBeforeItsType) {
  ShareableHandle null = ShareableHandle::FileDescriptor(0);
  null.type = HandleType::kWin32;
  EXPECT_THAT(vmm().ImportShareableHandle(null), HasDriverCode(DriverCode::kInvalidValue));
}

}  // namespace twinmmu::conformance
