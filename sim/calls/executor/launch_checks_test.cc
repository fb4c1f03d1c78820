// Which launches a kernel takes, and which text a device does: each limit itself, and one more.

#include <string>

#include "absl/strings/str_cat.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

std::string Ptx(int version, const std::string& target, const std::string& body = "") {
  return absl::StrCat(".version ", version / 10, ".", version % 10, "\n.target ", target,
                      "\n.address_size 64\n", body);
}

constexpr char kKernels[] = R"(
.visible .entry plain() { ret; }
.visible .entry at_most() .maxntid 64, 1, 1 { ret; }
.visible .entry exactly() .reqntid 32, 2 { ret; }
)";

class LaunchChecksTest : public MachineTest {
 protected:
  // Of a machine that has reached `driver_version`.
  void Restart(int driver_version) {
    Profile profile = Profile::ReferenceH200(1);
    profile.driver_version = driver_version;
    simulator_ = *Simulator::Create(profile);
  }
  absl::Status Load(const std::string& text) {
    return executor().LoadModule(kDevice0, text).status();
  }
  absl::Status Check(const char* name, const LaunchConfig& config) {
    const auto module = executor().LoadModule(kDevice0, Ptx(75, "sm_70", kKernels));
    EXPECT_THAT(module, IsOk());
    const auto kernel = executor().GetKernel(*module, name);
    EXPECT_THAT(kernel, IsOk());
    const auto known = simulator_->kernels().Find("cuLaunchKernel", *kernel);
    EXPECT_THAT(known, IsOk());
    return simulator_->kernels().CheckLaunch(*known, config);
  }
  void ExpectRefused(const char* name, const LaunchConfig& config, const char* words) {
    const absl::Status status = Check(name, config);
    EXPECT_THAT(status, HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
};

// Each extent of a grid and of a block reaches from 1 to the limit of the device.
TEST_F(LaunchChecksTest, ExtentsReachToTheLimit) {
  for (const Dim3& grid : {Dim3{2147483647, 1, 1}, Dim3{1, 65535, 1}, Dim3{1, 1, 65535}}) {
    EXPECT_THAT(Check("plain", {grid, {}, 0}), IsOk());
  }
  for (const Dim3& block : {Dim3{1024, 1, 1}, Dim3{1, 1024, 1}, Dim3{1, 1, 64}, Dim3{32, 32, 1}}) {
    EXPECT_THAT(Check("plain", {{}, block, 0}), IsOk());
  }
  ExpectRefused("plain", {{2147483648, 1, 1}, {}, 0}, "grid.x is 2147483648, and not in 1 ..");
  ExpectRefused("plain", {{1, 0, 1}, {}, 0}, "grid.y is 0");
  ExpectRefused("plain", {{1, 1, 65536}, {}, 0}, "grid.z is 65536, and not in 1 .. 65535");
  ExpectRefused("plain", {{}, {1025, 1, 1}, 0}, "block.x is 1025, and not in 1 .. 1024");
  ExpectRefused("plain", {{}, {1, 1025, 1}, 0}, "block.y is 1025, and not in 1 .. 1024");
  ExpectRefused("plain", {{}, {1, 1, 65}, 0}, "block.z is 65, and not in 1 .. 64");
  ExpectRefused("plain", {{}, {513, 2, 1}, 0},
                "there are 1026 threads in a block, and at most 1024");
  ExpectRefused("plain", {{}, {16, 2, 33}, 0}, "there are 1056 threads");
}

// A kernel that bounds its blocks takes up to so many threads, whatever their shape.
TEST_F(LaunchChecksTest, AKernelMayBoundItsBlocks) {
  EXPECT_THAT(Check("at_most", {{}, {64, 1, 1}, 0}), IsOk());
  EXPECT_THAT(Check("at_most", {{}, {8, 8, 1}, 0}), IsOk());
  ExpectRefused("at_most", {{}, {65, 1, 1}, 0}, "65 threads in a block, and at most 64 of kernel");
}

// A kernel that requires a block takes no other: what it does not say is 1.
TEST_F(LaunchChecksTest, AKernelMayRequireItsBlock) {
  EXPECT_THAT(Check("exactly", {{}, {32, 2, 1}, 0}), IsOk());
  for (const Dim3& block : {Dim3{31, 2, 1}, Dim3{32, 1, 1}, Dim3{16, 2, 2}, Dim3{2, 32, 1}}) {
    ExpectRefused("exactly", {{}, block, 0}, "is not what kernel exactly requires: (32, 2, 1)");
  }
}

// 48 KiB of dynamic shared memory are had for the asking, and no byte more.
TEST_F(LaunchChecksTest, DynamicSharedMemoryReachesToTheLimit) {
  EXPECT_THAT(Check("plain", {{}, {}, 49152}), IsOk());
  ExpectRefused("plain", {{}, {}, 49153}, "49153 bytes of dynamic shared memory");
}

// A driver reads PTX up to the version that came with it.
TEST_F(LaunchChecksTest, ADriverReadsPtxOfItsTime) {
  struct Case {
    int driver;
    int newest;
  };
  for (const Case& of : {Case{11000, 70}, Case{11080, 78}, Case{12000, 80}, Case{12050, 85},
                         Case{12060, 85}, Case{12080, 87}, Case{13000, 90}, Case{13010, 91}}) {
    SCOPED_TRACE(of.driver);
    Restart(of.driver);
    EXPECT_THAT(Load(Ptx(of.newest, "sm_70")), IsOk());
    const absl::Status newer = Load(Ptx(of.newest + 1, "sm_70"));
    EXPECT_THAT(newer, HasDriverCode(DriverCode::kUnsupportedPtxVersion));
  }
}

// A device runs what is for it, or for an older one; of what is for one family alone, its own.
TEST_F(LaunchChecksTest, ADeviceTakesWhatIsForItOrOlder) {
  for (const char* target : {"sm_52", "sm_90", "sm_90a"}) {
    EXPECT_THAT(Load(Ptx(80, target)), IsOk()) << target;
  }
  EXPECT_THAT(Load(Ptx(87, "sm_100")), HasDriverCode(DriverCode::kInvalidPtx));
}

}  // namespace
}  // namespace twinmmu
