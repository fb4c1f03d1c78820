// Which launches a kernel takes, and which text a device does: each limit itself, and one more. And
// what a kernel sees of how it was launched.

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
  Kernel Get(const char* name) {
    const auto module = executor().LoadModule(kDevice0, Ptx(75, "sm_70", kKernels));
    EXPECT_THAT(module, IsOk());
    const auto kernel = executor().GetKernel(*module, name);
    EXPECT_THAT(kernel, IsOk());
    return *kernel;
  }
  absl::Status Check(const char* name, const LaunchConfig& config) {
    const auto known = simulator_->kernels().Find("cuLaunchKernel", Get(name));
    EXPECT_THAT(known, IsOk());
    return simulator_->kernels().CheckLaunch(*known, config);
  }
  // A node of a graph, with a grid of one such cluster.
  absl::Status CheckCluster(Kernel kernel, const Dim3& cluster) {
    const auto known = simulator_->kernels().Find("cuLaunchKernel", kernel);
    EXPECT_THAT(known, IsOk());
    LaunchForm form;
    form.cluster = cluster;
    form.of_graph = true;
    return simulator_->kernels().CheckShape(*known, {cluster, {}, 0}, form).status();
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

// A cluster has up to 8 blocks, and 16 where the kernel is allowed to; in whatever shape.
TEST_F(LaunchChecksTest, ClustersReachToTheLimit) {
  const Kernel kernel = Get("plain");
  for (const uint32_t most : {8u, 16u}) {
    for (const Dim3& cluster : {Dim3{most, 1, 1}, Dim3{1, most, 1}, Dim3{1, 1, most},
                                Dim3{2, 2, most / 4}, Dim3{4, 2, most / 8}}) {
      EXPECT_THAT(CheckCluster(kernel, cluster), IsOk());
    }
    for (const Dim3& cluster : {Dim3{most + 1, 1, 1}, Dim3{1, most + 1, 1}, Dim3{1, 1, most + 1},
                                Dim3{most / 2, 3, 1}, Dim3{2, 2, most / 4 + 1}}) {
      const absl::Status status = CheckCluster(kernel, cluster);
      EXPECT_THAT(status, HasDriverCode(static_cast<DriverCode>(912)));  // INVALID_CLUSTER_SIZE
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(absl::StrCat("more than ", most, " blocks")));
    }
    EXPECT_THAT(simulator_->kernels().Set(kernel, KernelSetting::kLargeClusters, 1), IsOk());
  }
}

TEST_F(LaunchChecksTest, ADeviceWithoutClustersTakesSingleBlocks) {
  Profile profile = Profile::ReferenceH200(1);
  profile.devices[0].attributes[static_cast<DeviceAttribute>(120)] = 0;  // CLUSTER_LAUNCH
  simulator_ = *Simulator::Create(profile);
  const Kernel kernel = Get("plain");
  EXPECT_THAT(CheckCluster(kernel, {1, 1, 1}), IsOk());
  EXPECT_THAT(CheckCluster(kernel, {2, 1, 1}), HasDriverCode(static_cast<DriverCode>(912)));
}

// A module is one of its device.
TEST_F(LaunchChecksTest, AModuleOfAnotherDeviceIsRefused) {
  const auto module = executor().LoadModule(kDevice0, Ptx(75, "sm_70", kKernels));
  ASSERT_THAT(module, IsOk());
  const Module other(kDevice1, module->value());
  EXPECT_THAT(executor().GetKernel(other, "plain"), HasDriverCode(DriverCode::kInvalidHandle));
  EXPECT_THAT(executor().UnloadModule(other), HasDriverCode(DriverCode::kInvalidHandle));
  EXPECT_THAT(executor().GetKernel(*module, "plain"), IsOk());
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

// One that does not tell what it is takes all.
TEST_F(LaunchChecksTest, ADeviceOfUnknownKindTakesAll) {
  for (const DeviceAttribute missing :
       {DeviceAttribute::kComputeCapabilityMajor, DeviceAttribute::kComputeCapabilityMinor}) {
    Profile profile = Profile::ReferenceH200(1);
    profile.devices[0].attributes.erase(missing);
    simulator_ = *Simulator::Create(profile);
    EXPECT_THAT(Load(Ptx(80, "sm_90")), IsOk());
    EXPECT_THAT(Load(Ptx(87, "sm_100")), IsOk());
  }
}

// --- What the form of a launch and the profile do to a kernel ---

class LaunchResultsTest : public MachineTest {
 protected:
  // What a kernel of this body, which may set %r1, leaves in %r1.
  uint32_t ResultOf(const std::string& body, const LaunchForm& form = LaunchForm(),
                    const std::string& directive = "") {
    const auto to = linear().Allocate({kDevice0}, Bytes(256));
    EXPECT_THAT(to, IsOk());
    const auto module = executor().LoadModule(
        kDevice0, Ptx(80, "sm_90",
                      absl::StrCat(".visible .entry k(.param .u64 to) ", directive,
                                   " {\n.reg .b64 %rd1; .reg .b32 %r<2>; .reg .f32 %f<4>;\n"
                                   ".reg .pred %p1;\nld.param.u64 %rd1, [to];\n",
                                   body, "\nst.global.u32 [%rd1], %r1;\nret;\n}\n")));
    EXPECT_THAT(module, IsOk());
    if (!to.ok() || !module.ok()) return ~0u;
    const void* const argument = &*to;
    EXPECT_THAT(simulator_->kernels().Launch(Stream(kDevice0), *executor().GetKernel(*module, "k"),
                                             {}, {&argument, 1}, form),
                IsOk());
    EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
    return Read(kDevice0, *to).value_or(~0u);
  }
};

// A kernel sees whether the launch or the kernel itself asks for clusters, even for those of one
// block.
TEST_F(LaunchResultsTest, AKernelSeesWhetherAClusterWasAskedFor) {
  const std::string body = "mov.pred %p1, %is_explicit_cluster; selp.u32 %r1, 1, 0, %p1;";
  LaunchForm form;
  EXPECT_EQ(ResultOf(body, form), 0u);
  EXPECT_EQ(ResultOf(body, form, ".reqnctapercluster 1, 1, 1"), 1u);
  form.cluster = Dim3{1, 1, 1};
  EXPECT_EQ(ResultOf(body, form), 1u);
}

// The profile says whether a product that is added to something is rounded before: what is lost by
// that is 2^-24 here.
TEST_F(LaunchResultsTest, ContractionIsThatOfTheProfile) {
  const std::string body =
      "mov.f32 %f1, 0f3f800800; mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, 0fbf801000;\n"
      "mov.b32 %r1, %f3;";
  for (const Contraction contraction : {Contraction::kDriver, Contraction::kNever}) {
    Profile profile = Profile::ReferenceH200(1);
    profile.contraction = contraction;
    simulator_ = *Simulator::Create(profile);
    EXPECT_EQ(ResultOf(body), contraction == Contraction::kDriver ? 0x3380'0000u : 0u);
  }
}

}  // namespace
}  // namespace twinmmu
