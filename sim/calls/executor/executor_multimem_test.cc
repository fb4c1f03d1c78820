// Kernels on multicast addresses: what is said of those that may not go there, and of accesses that
// are not in order.

#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/diagnostics.h"
#include "api/testing/matchers.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A team of both devices; device 0 reaches its own granule at own_ and both at all_.
class MultimemKernelTest : public MachineTest {
 protected:
  MultimemKernelTest() {
    Multicast& multicast = **simulator_->multicast();
    const AllocationHandle object = *multicast.Create({2, kGranule, HandleType::kNone, 0});
    for (const DeviceOrdinal device : {kDevice0, kDevice1}) {
      EXPECT_THAT(multicast.AddDevice(object, device), IsOk());
    }
    own_ = Reserve(1);
    all_ = Reserve(1);
    memory_ = MapNew(own_.base, 1);
    EXPECT_THAT(vmm().Map(all_, object), IsOk());
    for (const AddressRange& range : {own_, all_}) Grant(range, For(kDevice0, Access::kReadWrite));
    const AllocationHandle other = Create(1, On(Location::Device(kDevice1)));
    for (const AllocationHandle memory : {memory_, other}) {
      EXPECT_THAT(multicast.BindMemory(object, Bytes(0), memory, Bytes(0), kGranule), IsOk());
    }
  }

  // One thread does `body`; %rd1 is own_, %rd2 all_. What comes of it.
  absl::Status Run(const std::string& body) {
    const std::string text = absl::StrCat(
        ".version 8.1\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 own, .param .u64 all) {\n"
        ".reg .b64 %rd<4>; .reg .b32 %r<4>;\n"
        "ld.param.u64 %rd1, [own]; ld.param.u64 %rd2, [all];\n",
        body, "\nret;\n}\n");
    const auto module = executor().LoadModule(kDevice0, text);
    EXPECT_THAT(module, IsOk());
    const auto kernel = executor().GetKernel(*module, "k");
    const std::array<const void*, 2> arguments{&own_.base, &all_.base};
    EXPECT_THAT(executor().Launch(Stream(kDevice0), *kernel, LaunchConfig(), arguments), IsOk());
    return executor().SynchronizeDevice(kDevice0);
  }
  std::string TheDiagnostic() const {
    const std::vector<Diagnostic> noticed = simulator_->diagnostics();
    EXPECT_EQ(noticed.size(), 1u);
    return noticed.empty() ? "" : ToString(noticed.front());
  }

  AddressRange own_;
  AddressRange all_;
  AllocationHandle memory_;
};

// The words say what PTX leaves undefined, and where it was done.
TEST_F(MultimemKernelTest, SayWhereMultimemIsUndefined) {
  EXPECT_THAT(Run("multimem.st.u32 [%rd1], 1;"), HasDriverCode(DriverCode::kIllegalAddress));
  EXPECT_THAT(TheDiagnostic(),
              AllOf(HasSubstr("PTX line 7, multimem.st.u32"), HasSubstr(ToString(own_.base)),
                    HasSubstr("not an address of a multicast object")));
}

TEST_F(MultimemKernelTest, SayWhereOnlyMultimemIsDefined) {
  EXPECT_THAT(Run("ld.global.u32 %r1, [%rd2];"), HasDriverCode(DriverCode::kIllegalAddress));
  EXPECT_THAT(TheDiagnostic(),
              AllOf(HasSubstr("PTX line 7, ld.global.u32"), HasSubstr(ToString(all_.base)),
                    HasSubstr("defines nothing there but multimem")));
}

// Where a fence is missing, both addresses are named.
TEST_F(MultimemKernelTest, NameBothAddressesOfARace) {
  EXPECT_THAT(Run("multimem.st.u32 [%rd2+64], 1;\nld.global.u32 %r1, [%rd1+64];"), IsOk());
  EXPECT_THAT(TheDiagnostic(),
              AllOf(HasSubstr("kMissingAliasFence"), HasSubstr(ToString(all_.base + Bytes(64))),
                    HasSubstr(ToString(own_.base + Bytes(64)))));
}

// The launch of a kernel that needs what is not there names the instruction.
TEST_F(MultimemKernelTest, AreRefusedForValuesOfEightBits) {
  const auto module = executor().LoadModule(
      kDevice0,
      ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
      ".reg .b64 %rd<4>; .reg .b32 %r<4>;\n"
      "multimem.ld_reduce.add.acc::f16.e4m3x4 %r1, [%rd1];\n}\n");
  ASSERT_THAT(module, IsOk());
  const uint64_t argument = 0;
  const void* const arguments[] = {&argument};
  const absl::Status status =
      executor().Launch(Stream(kDevice0), *executor().GetKernel(*module, "k"), {}, arguments);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("line 6"), HasSubstr("multimem.ld_reduce.add.acc::f16.e4m3x4")));
}

}  // namespace
}  // namespace twinmmu
