// Multicast objects that two processes share, each with a driver and a device of its own. As of all
// such objects, no hardware was asked.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/sharing/owned_descriptor.h"
#include "conformance/multicast_fixture.h"
#include "conformance/other_process.h"
#include "conformance/patterns.h"
#include "conformance/process_fixture.h"
#include "conformance/process_server.h"
#include "conformance/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr HandleType kFd = HandleType::kPosixFileDescriptor;

// This process has the first device. The other one has the second, and imports the object.
class MulticastProcessTest : public MulticastTest {
 protected:
  void SetUp() override {
    MulticastTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (device_count() < 2) GTEST_SKIP() << "needs two devices, there is one";
    if (SocketToStarter() < 0) return;
    ProcessServer(&vmm(), &executor(), DeviceOrdinal(1), &multicast()).Run(SocketToStarter());
  }
  void TearDown() override {
    other_.reset();
    MulticastTest::TearDown();
  }

  OtherProcess& other() { return *other_; }
  AllocationHandle object() const { return object_; }

  // An object for two devices, with nobody in its team, and another process that has imported it.
  absl::Status ShareObject() {
    const auto object = Make(Of(2, multicast_granule(), kFd));
    if (!object.ok()) return object.status();
    object_ = *object;
    auto started = OtherProcess::Start();
    if (!started.ok()) return started.status();
    other_ = *std::move(started);
    RecordProperty(kOtherProcessProperty, "started");
    const auto exported = vmm().ExportShareableHandle(object_, kFd);
    if (!exported.ok()) return exported.status();
    const OwnedDescriptor descriptor(exported->file_descriptor);
    const auto sent = other().Send(*exported, multicast_granule());
    return sent.ok() ? other().Do({Step::kImport, kImport}) : sent.status();
  }
  // Memory of the other process, bound there and mapped for itself: its number is kTheirs.
  absl::Status BindThere() {
    absl::Status status = other().Do({Step::kCreate, 0, 0, multicast_granule()});
    for (const Request& request : {Request(Step::kBind, kTheirs, kImport),
                                   Request(Step::kMap, kTheirs), Request(Step::kGrant, kTheirs)}) {
      if (status.ok()) status = other().Do(request);
    }
    return status;
  }
  absl::StatusOr<AddressRange> MapHere(AllocationHandle handle) {
    const absl::StatusOr<AddressRange> range = Reserve(1);
    if (!range.ok()) return range;
    absl::Status status = vmm().Map(*range, handle);
    if (status.ok()) status = Grant(*range, Access::kReadWrite);
    if (!status.ok()) return status;
    return range;
  }
  // One thread of this device does `body`; %rd1 is the address of all, %rd2 its own.
  absl::Status Run(const AddressRange& all, const AddressRange& own, const std::string& body) {
    const std::string text =
        absl::StrCat(".version 8.1\n.target sm_90\n.address_size 64\n",
                     ".visible .entry multimem(.param .u64 all, .param .u64 own)\n{\n",
                     ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n",
                     "ld.param.u64 %rd1, [all];\nld.param.u64 %rd2, [own];\n", body, "ret;\n}\n");
    const auto module = executor().LoadModule(device(), text);
    if (!module.ok()) return module.status();
    const auto kernel = executor().GetKernel(*module, "multimem");
    if (!kernel.ok()) return kernel.status();
    const std::array<const void*, 2> arguments{&all.base, &own.base};
    absl::Status status = executor().Launch(Stream(device()), *kernel, LaunchConfig(), arguments);
    if (status.ok()) status = executor().SynchronizeDevice(device());
    if (status.ok()) status = executor().UnloadModule(*module);
    return status;
  }

  static constexpr uint64_t kImport = 0;
  static constexpr uint64_t kTheirs = 1;

 private:
  std::unique_ptr<OtherProcess> other_;
  AllocationHandle object_;
};

}  // namespace

CONFORMANCE_TEST(MulticastProcessTest, MC_25, AnImportInAnotherProcessIsTheSameTeam) {
  ASSERT_THAT(ShareObject(), IsOk());
  EXPECT_THAT(multicast().AddDevice(object(), device()), IsOk());
  const AllocationHandle memory = Memory(device(), 1, kFd);
  if (traits().multicast_mistakes_answered) {
    EXPECT_THAT(Bind(object(), 0, memory), HasDriverCode(DriverCode::kIllegalState));
  }
  EXPECT_THAT(other().Do({Step::kAddDevice, kImport}), IsOk());
  ExpectInvalid(multicast().AddDevice(object(), DeviceOrdinal(1)));
  EXPECT_THAT(Bind(object(), 0, memory), IsOk());
  EXPECT_THAT(BindThere(), IsOk());
}

CONFORMANCE_TEST(MulticastProcessTest, MC_26, MultimemReachesWhatAnotherProcessBound) {
  if (!traits().runs_any_kernel) {
    RecordUnsupported("other kernels than those of the project are not run");
    return;
  }
  ASSERT_THAT(ShareObject(), IsOk());
  ASSERT_THAT(multicast().AddDevice(object(), device()), IsOk());
  ASSERT_THAT(other().Do({Step::kAddDevice, kImport}), IsOk());
  const AllocationHandle memory = Memory(device(), 1, kFd);
  ASSERT_THAT(Bind(object(), 0, memory), IsOk());
  ASSERT_THAT(BindThere(), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange own, MapHere(memory));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange all, MapHere(object()));

  const uint32_t stored = Pattern(3, Bytes(4)).front();
  EXPECT_THAT(
      Run(all, own, absl::StrCat("multimem.st.relaxed.sys.global.u32 [%rd1], ", stored, ";\n")),
      IsOk());
  ExpectHolds(own.subrange(Bytes(0), Bytes(4)), 3);
  EXPECT_THAT(other().Do({Step::kCheck, kTheirs, 3, Bytes(4)}), IsOk());

  EXPECT_THAT(other().Do({Step::kWrite, kTheirs, 4, Bytes(4)}), IsOk());
  EXPECT_THAT(Run(all, own,
                  "multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1];\n"
                  "st.global.u32 [%rd2+4], %r1;\n"),
              IsOk());
  uint32_t sum = 0;
  EXPECT_THAT(executor().CopyDeviceToHost(device(), &sum, own.base + Bytes(4), Bytes(4)), IsOk());
  EXPECT_EQ(sum, stored + Pattern(4, Bytes(4)).front());
}

}  // namespace twinmmu::conformance
