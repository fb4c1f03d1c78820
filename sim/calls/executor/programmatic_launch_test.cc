// Kernels that may start before the one ahead of them on the stream has ended: when they do, what
// griddepcontrol.wait waits for, and what shows where it was forgotten.

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/testing/diagnostic_matchers.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `first` lets the next kernel start, in its first block only, and then stores 1 to its words, one
// for each block; `spin` waits in between for a flag. `forgets` stores what it finds to `out`,
// `waits` after a wait. `copies` lets the next one start first, and stores what it finds to `out`.
const char kKernels[] = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry first(.param .u64 at) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<2>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [at];
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 griddepcontrol.launch_dependents;
  st.global.u32 [%rd1], 1;
  ret;
}
.visible .entry spin(.param .u64 at, .param .u64 flag) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [at];
  ld.param.u64 %rd2, [flag];
  griddepcontrol.launch_dependents;
again:
  ld.acquire.sys.global.u32 %r1, [%rd2];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  st.global.u32 [%rd1], 1;
  ret;
}
.visible .entry forgets(.param .u64 at, .param .u64 out) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [at];
  ld.param.u64 %rd2, [out];
  ld.global.u32 %r1, [%rd1];
  add.u32 %r1, %r1, 10;
  st.release.sys.global.u32 [%rd2], %r1;
  ret;
}
.visible .entry waits(.param .u64 at, .param .u64 out) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [at];
  ld.param.u64 %rd2, [out];
  griddepcontrol.wait;
  ld.global.u32 %r1, [%rd1];
  add.u32 %r1, %r1, 10;
  st.global.u32 [%rd2], %r1;
  ret;
}
.visible .entry fail() {
  griddepcontrol.launch_dependents;
  trap;
}
.visible .entry passes_on(.param .u64 at, .param .u64 out) {
  griddepcontrol.launch_dependents;
  ret;
}
)";

Profile WithPolicy(StreamPolicy policy, uint64_t seed = 0) {
  Profile profile = Profile::ReferenceH200(2);
  profile.stream_policy = policy;
  profile.stream_seed = seed;
  profile.alias_policy = coherence::Policy::kStale;
  return profile;
}

// A word with two addresses, which is 0, and one without.
class ProgrammaticTest : public MachineTest {
 protected:
  explicit ProgrammaticTest(const Profile& profile) : MachineTest(profile) {}

  void SetUp() override {
    plain_ = Ready(1).base;
    const AllocationHandle handle = Create(1);
    for (DeviceAddress* address : {&x_, &y_}) {
      const AddressRange range = Reserve(1);
      ASSERT_THAT(vmm().Map(range, handle), IsOk());
      Grant(range, For(kDevice0, Access::kReadWrite));
      *address = range.base;
    }
    out_ = Ready(1).base;
    for (const DeviceAddress address : {plain_, x_, out_}) {
      ASSERT_THAT(executor().Fill(kDevice0, address, {0, Bytes(4)}, 64), IsOk());
    }
    ASSERT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
    const auto module = executor().LoadModule(kDevice0, kKernels);
    ASSERT_THAT(module, IsOk());
    module_ = *module;
    stream_ = *executor().CreateStream(kDevice0);
  }
  void Launch(const std::string& name, bool early, const std::vector<DeviceAddress>& arguments,
              uint32_t blocks = 1) {
    LaunchConfig config;
    config.grid.x = blocks;
    config.programmatic_stream_serialization = early;
    std::vector<const void*> pointers;
    for (const DeviceAddress& argument : arguments) pointers.push_back(&argument);
    const auto kernel = executor().GetKernel(module_, name);
    ASSERT_THAT(kernel, IsOk());
    ASSERT_THAT(executor().Launch(stream_, *kernel, config, pointers), IsOk());
  }
  // What the second of two kernels finds, one of `at` and one of `second_at`, plus 10.
  uint32_t Found(const std::string& second, bool early, DeviceAddress at, DeviceAddress second_at,
                 uint32_t blocks = 1) {
    Launch("first", false, {at}, blocks);
    Launch(second, early, {second_at, out_});
    EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk());
    return *Read(kDevice0, out_);
  }

  DeviceAddress plain_;
  DeviceAddress x_;
  DeviceAddress y_;
  DeviceAddress out_;
  Module module_;
  Stream stream_;
};

class EachPolicyTest : public ProgrammaticTest, public testing::WithParamInterface<StreamPolicy> {
 protected:
  EachPolicyTest() : ProgrammaticTest(WithPolicy(GetParam())) {}
};
INSTANTIATE_TEST_SUITE_P(Policies, EachPolicyTest,
                         testing::Values(StreamPolicy::kEager, StreamPolicy::kDeferred,
                                         StreamPolicy::kSeeded));

// After the wait, all is there that the kernel ahead wrote, whatever the address.
TEST_P(EachPolicyTest, AWaitSeesWhatTheKernelAheadWrote) {
  EXPECT_EQ(Found("waits", true, plain_, plain_), 11u);
  EXPECT_EQ(Found("waits", true, x_, y_), 11u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// Without the attribute the order is that of the stream, and a wait does nothing.
TEST_P(EachPolicyTest, WithoutTheAttributeKernelsRunInOrder) {
  EXPECT_EQ(Found("forgets", false, plain_, plain_), 11u);
  EXPECT_EQ(Found("forgets", false, x_, y_), 11u);
  EXPECT_EQ(Found("waits", false, x_, y_), 11u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// Where something other than a kernel is ahead, all before it is over when the kernel starts.
TEST_P(EachPolicyTest, OnlyAKernelLetsTheNextOneStart) {
  Launch("first", false, {x_});
  ASSERT_THAT(executor().CopyDeviceToDevice(stream_, plain_, out_, Bytes(4)), IsOk());
  Launch("forgets", true, {y_, out_});
  EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk());
  EXPECT_THAT(Read(kDevice0, out_), IsOkAndHolds(11u));
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// A kernel that has come to its end is not done before the one ahead of it is.
TEST_P(EachPolicyTest, EndsAreInOrder) {
  const Event event = *executor().CreateEvent(kDevice0);
  Launch("spin", false, {plain_, x_});
  Launch("forgets", true, {plain_, out_});
  ASSERT_THAT(executor().RecordEvent(event, stream_), IsOk());
  for (int i = 0; i < 100; ++i) EXPECT_THAT(executor().QueryEvent(event), IsOkAndHolds(false));
  const Stream other = *executor().CreateStream(kDevice0);
  ASSERT_THAT(executor().Fill(other, x_, {1, Bytes(4)}, 1), IsOk());
  EXPECT_THAT(executor().SynchronizeEvent(event), IsOk());
  EXPECT_THAT(Read(kDevice0, plain_), IsOkAndHolds(1u));
}

// The kernel ahead may wait for what the one behind it does.
TEST_P(EachPolicyTest, BothGoOnTogether) {
  Launch("spin", false, {x_, out_});
  Launch("forgets", true, {plain_, out_});
  EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk());
  EXPECT_THAT(Read(kDevice0, out_), IsOkAndHolds(10u));
}

// A wait is also for what the kernel ahead did not wait for itself.
TEST_P(EachPolicyTest, AWaitIsForAllKernelsAhead) {
  Launch("first", false, {x_});
  Launch("passes_on", true, {x_, out_});
  Launch("waits", true, {y_, out_});
  EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk());
  EXPECT_THAT(Read(kDevice0, out_), IsOkAndHolds(11u));
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// A fault of the kernel ahead is one for both.
TEST_P(EachPolicyTest, AFaultAheadEndsTheWait) {
  Launch("fail", false, {});
  LaunchConfig config;
  config.programmatic_stream_serialization = true;
  const void* const arguments[] = {&plain_, &out_};
  const auto waits = executor().GetKernel(module_, "waits");
  if (waits.ok()) executor().Launch(stream_, *waits, config, arguments).IgnoreError();
  EXPECT_THAT(executor().SynchronizeStream(stream_), HasDriverCode(DriverCode::kLaunchFailed));
}

// Where the host says when work runs, a forgotten wait always shows; and that each block of the
// kernel ahead has let it start, or has ended, counts all the same.
class InTimeTest : public EachPolicyTest {};
INSTANTIATE_TEST_SUITE_P(Policies, InTimeTest,
                         testing::Values(StreamPolicy::kEager, StreamPolicy::kDeferred));

TEST_P(InTimeTest, AForgottenWaitShows) {
  EXPECT_EQ(Found("forgets", true, plain_, plain_), 10u);
  EXPECT_THAT(Read(kDevice0, plain_), IsOkAndHolds(1u));
}

TEST_P(InTimeTest, StartsWhenEachBlockHasLetItOrHasEnded) {
  EXPECT_EQ(Found("forgets", true, plain_, plain_ + Bytes(4), 2), 11u);
}

// Of memory with two addresses it is said what is missing, and also where the kernel ahead was over
// before the second one was launched.
TEST_P(EachPolicyTest, AForgottenWaitIsAHazard) {
  EXPECT_EQ(Found("forgets", true, x_, y_), 10u);
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  ASSERT_THAT(noticed, ElementsAre(IsDiagnostic(DiagnosticKind::kUnorderedAliases)));
  EXPECT_THAT(noticed[0].message, HasSubstr("griddepcontrol.wait"));
}

// A machine with a seed shows both, by the seed.
TEST(SeededProgrammaticTest, ShowsBoth) {
  class Seeded : public ProgrammaticTest {
   public:
    explicit Seeded(uint64_t seed) : ProgrammaticTest(WithPolicy(StreamPolicy::kSeeded, seed)) {}
    void TestBody() override {}
    uint32_t Play() {
      SetUp();
      return Found("forgets", true, plain_, plain_);
    }
  };
  std::set<uint32_t> found;
  for (uint64_t seed = 0; seed < 16; ++seed) found.insert(Seeded(seed).Play());
  EXPECT_THAT(found, ElementsAre(10u, 11u));
}

// The instructions are there from sm_90 on, and have two forms.
TEST_P(InTimeTest, NeedsItsTarget) {
  const auto load = [&](const char* target, const char* form) {
    return executor().LoadModule(
        kDevice0, absl::StrCat(".version 7.8\n.target ", target, "\n.address_size 64\n",
                               ".visible .entry k() {\n  griddepcontrol.", form, ";\n  ret;\n}"));
  };
  EXPECT_THAT(load("sm_90", "wait"), IsOk());
  const auto early = load("sm_80", "wait");
  EXPECT_THAT(early, HasDriverCode(DriverCode::kInvalidPtx));
  EXPECT_THAT(std::string(early.status().message()),
              AllOf(HasSubstr("line 5: `griddepcontrol.wait`"), HasSubstr("sm_90")));
  const auto wrong = load("sm_90", "stop");
  EXPECT_THAT(wrong, HasDriverCode(DriverCode::kInvalidPtx));
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("neither"));
}

}  // namespace
}  // namespace twinmmu
