// The kernels of the suite that fence aliases, with their fences taken out of the PTX: on a
// simulator that shows stale values, what the suite asserts of them fails then, and each is
// diagnosed. As they are, nothing is stale and there is nothing to say.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "api/testing/diagnostic_matchers.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/kernels.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr DeviceOrdinal kDevice(0);
constexpr uint64_t kRounds = 8;

// Loads PTX without its alias fences.
class Unfencing : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  absl::StatusOr<Module> LoadModule(DeviceOrdinal device, absl::string_view ptx) override {
    return ForwardingExecutor::LoadModule(device,
                                          absl::StrReplaceAll(ptx, {{"fence.proxy.alias;", ""}}));
  }
};

// A kernel of the suite, as the suite runs it.
struct Fenced {
  const char* name;
  absl::Status (*run)(const Kernels& kernels, DeviceAddress a, DeviceAddress b,
                      DeviceAddress result);
};

constexpr Stream kStream(kDevice);
// A load that warms the line before the store through the other address would be a hazard itself:
// a fence between the two would make the line cold.
constexpr bool kWarm = false;

// The word of turns lies behind the result.
absl::Status RunInTurns(const Kernels& kernels, DeviceAddress a, DeviceAddress b,
                        DeviceAddress result, AliasFence fence) {
  const DeviceAddress turn = result + Bytes(64);
  const absl::Status reset = kernels.Store32(kStream, turn, 0);
  if (!reset.ok()) return reset;
  return kernels.AliasWriteThenReadInTurns(kStream, Kernels::AliasRole::kBoth, a, b, turn, kRounds,
                                           kWarm, fence, result);
}

constexpr Fenced kFenced[] = {
    {"InAThread",
     [](const Kernels& kernels, DeviceAddress a, DeviceAddress b, DeviceAddress result) {
       return kernels.AliasWriteThenRead(kStream, a, b, kRounds, kWarm, /*fence=*/true, result);
     }},
    {"InABlockByTheWriter",
     [](const Kernels& kernels, DeviceAddress a, DeviceAddress b, DeviceAddress result) {
       return kernels.AliasWriteThenReadInBlock(kStream, a, b, kRounds, kWarm, AliasFence::kWriter,
                                                result);
     }},
    {"InABlockByTheReader",
     [](const Kernels& kernels, DeviceAddress a, DeviceAddress b, DeviceAddress result) {
       return kernels.AliasWriteThenReadInBlock(kStream, a, b, kRounds, kWarm, AliasFence::kReader,
                                                result);
     }},
    {"BetweenBlocksByTheWriter",
     [](const Kernels& kernels, DeviceAddress a, DeviceAddress b, DeviceAddress result) {
       return RunInTurns(kernels, a, b, result, AliasFence::kWriter);
     }},
    {"BetweenBlocksByTheReader",
     [](const Kernels& kernels, DeviceAddress a, DeviceAddress b, DeviceAddress result) {
       return RunInTurns(kernels, a, b, result, AliasFence::kReader);
     }},
};

class AliasFencesTest : public testing::TestWithParam<Fenced> {
 protected:
  AliasFencesTest() {
    Profile profile = Profile::ReferenceH200();
    profile.alias_policy = coherence::Policy::kStale;
    simulator_ = *Simulator::Create(profile);
    Vmm& vmm = **simulator_->vmm();
    const AllocationHandle word = *vmm.Create(MiB(2), {});
    a_ = Map(word);
    b_ = Map(word);
    result_ = Map(*vmm.Create(MiB(2), {}));
    EXPECT_THAT(executor().Fill(kDevice, a_, {0, Bytes(4)}, 64), IsOk());
    EXPECT_THAT(executor().Fill(kDevice, result_, {0, Bytes(4)}, 64), IsOk());
    EXPECT_THAT(executor().SynchronizeDevice(kDevice), IsOk());
  }
  Executor& executor() { return **simulator_->executor(); }
  DeviceAddress Map(AllocationHandle handle) {
    Vmm& vmm = **simulator_->vmm();
    const AddressRange range = *vmm.AddressReserve(MiB(2));
    const AccessGrant grant{Location::Device(kDevice), Access::kReadWrite};
    EXPECT_THAT(vmm.Map(range, handle), IsOk());
    EXPECT_THAT(vmm.SetAccess(range, {grant}), IsOk());
    return range.base;
  }
  // What the kernel has counted when it runs on `on`.
  AliasResult Run(Executor* on) {
    const absl::StatusOr<Kernels> kernels = Kernels::Load(on, kDevice);
    EXPECT_THAT(kernels, IsOk());
    if (!kernels.ok()) return {};
    EXPECT_THAT(GetParam().run(*kernels, a_, b_, result_), IsOk());
    EXPECT_THAT(executor().SynchronizeDevice(kDevice), IsOk());
    AliasResult counted = {};
    EXPECT_THAT(executor().CopyDeviceToHost(kDevice, &counted, result_, Bytes(sizeof(counted))),
                IsOk());
    EXPECT_EQ(counted.rounds, kRounds);
    return counted;
  }

  std::unique_ptr<Simulator> simulator_;
  DeviceAddress a_;
  DeviceAddress b_;
  DeviceAddress result_;
};

INSTANTIATE_TEST_SUITE_P(Kernels, AliasFencesTest, testing::ValuesIn(kFenced),
                         [](const auto& test) { return std::string(test.param.name); });

// Without its fences it finds stale values, which the suite does not let pass, and each diagnostic
// says that fences are missing, and at which two addresses.
TEST_P(AliasFencesTest, FailsAndIsDiagnosedWithoutThem) {
  Unfencing unfencing(&executor());
  EXPECT_GT(Run(&unfencing).stale, 0u);
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  EXPECT_THAT(noticed, Not(IsEmpty()));
  for (const Diagnostic& diagnostic : noticed) {
    EXPECT_THAT(diagnostic, IsDiagnostic(DiagnosticKind::kMissingAliasFence));
    EXPECT_THAT(diagnostic.message, AllOf(HasSubstr(ToString(a_)), HasSubstr(ToString(b_))));
  }
}

// With them it finds nothing stale, and there is nothing to say.
TEST_P(AliasFencesTest, HoldsWithThem) {
  const AliasResult counted = Run(&executor());
  EXPECT_EQ(counted.stale, 0u);
  EXPECT_EQ(counted.wrong, 0u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

}  // namespace
}  // namespace twinmmu
