// Kernels and copies on memory with two addresses: what orders them between streams, by events and
// by waits of the host, what they see where nothing does, and what is said of it then.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/testing/diagnostic_matchers.h"
#include "sim/calls/executor/memory_operations.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A load and a store of a word; and a wait for a flag, after which a word is loaded, with and
// without an alias fence in between.
const char kKernels[] = R"(.version 7.5
.target sm_70
.address_size 64
.visible .entry store(.param .u64 at, .param .u32 value) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [at];
  ld.param.u32 %r1, [value];
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry load(.param .u64 at, .param .u64 out) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [at];
  ld.param.u64 %rd2, [out];
  ld.global.u32 %r1, [%rd1];
  st.global.u32 [%rd2], %r1;
  ret;
}
.visible .entry poll(.param .u64 at, .param .u64 out, .param .u64 flag) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<3>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [at];
  ld.param.u64 %rd2, [out];
  ld.param.u64 %rd3, [flag];
again:
  ld.acquire.sys.global.u32 %r1, [%rd3];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  FENCE
  ld.global.u32 %r2, [%rd1];
  st.global.u32 [%rd2], %r2;
  ret;
}
)";

// Threads of all blocks, 16 of them at each word, store their numbers through one address and keep
// what they find through the other one.
const char kScatter[] = R"(.version 7.5
.target sm_70
.address_size 64
.visible .entry scatter(.param .u64 x, .param .u64 y, .param .u64 out) {
  .reg .b64 %rd<8>;
  .reg .b32 %r<8>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u64 %rd3, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  and.b32 %r5, %r4, 127;
  mul.wide.u32 %rd4, %r5, 4;
  add.s64 %rd5, %rd1, %rd4;
  st.global.u32 [%rd5], %r4;
  add.s64 %rd6, %rd2, %rd4;
  ld.global.u32 %r6, [%rd6];
  mul.wide.u32 %rd4, %r4, 4;
  add.s64 %rd7, %rd3, %rd4;
  st.global.u32 [%rd7], %r6;
  ret;
}
)";

std::string KernelText(const std::string& fence) {
  std::string text = kKernels;
  return text.replace(text.find("FENCE"), 5, fence);
}

struct Aliasing {
  coherence::Policy policy = coherence::Policy::kStale;
  coherence::BoundaryMode boundary = coherence::BoundaryMode::kGuide;
  StreamPolicy streams = StreamPolicy::kEager;
  bool check = true;
  uint64_t seed = 0;
};

Profile ProfileOf(const Aliasing& aliasing) {
  Profile profile = Profile::ReferenceH200(2);
  profile.alias_policy = aliasing.policy;
  profile.alias_boundary = aliasing.boundary;
  profile.alias_check = aliasing.check;
  profile.alias_seed = aliasing.seed;
  profile.stream_policy = aliasing.streams;
  return profile;
}

// A word of memory with two addresses, which is 0 for sure, and one that holds what kernels found.
class AliasesTest : public MachineTest {
 protected:
  explicit AliasesTest(const Aliasing& aliasing = {}) : MachineTest(ProfileOf(aliasing)) {}

  void SetUp() override {
    const AllocationHandle handle = Create(1);
    for (AddressRange* range : {&x_, &y_}) {
      *range = Reserve(1);
      ASSERT_THAT(vmm().Map(*range, handle), IsOk());
      Grant(*range, For(kDevice0, Access::kReadWrite));
      Grant(*range, For(kDevice1, Access::kReadWrite));
    }
    const auto made = linear().Allocate({kDevice0}, Bytes(256));
    ASSERT_THAT(made, IsOk());
    out_ = *made;
    flag_ = out_ + Bytes(128);
    ASSERT_THAT(executor().Fill(kDevice0, out_, {0, Bytes(4)}, 64), IsOk());
    ASSERT_THAT(executor().Fill(kDevice0, x_.base, {0, Bytes(4)}, 64), IsOk());
    ASSERT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
    a_ = *executor().CreateStream(kDevice0);
    b_ = *executor().CreateStream(kDevice0);
    LoadKernels("");
  }
  void LoadKernels(const std::string& fence) {
    const auto module = executor().LoadModule(kDevice0, KernelText(fence));
    ASSERT_THAT(module, IsOk());
    module_ = *module;
  }

  absl::Status Launch(Stream stream, const std::string& name,
                      const std::vector<const void*>& arguments) {
    const auto kernel = executor().GetKernel(module_, name);
    if (!kernel.ok()) return kernel.status();
    return executor().Launch(stream, *kernel, {}, arguments);
  }
  // By a kernel each.
  void Store(Stream stream, DeviceAddress at, uint32_t value) {
    ASSERT_THAT(Launch(stream, "store", {&at, &value}), IsOk());
  }
  void Load(Stream stream, DeviceAddress at) {
    ASSERT_THAT(Launch(stream, "load", {&at, &out_}), IsOk());
  }
  void StartPolling(Stream stream, DeviceAddress at) {
    ASSERT_THAT(Launch(stream, "poll", {&at, &out_, &flag_}), IsOk());
  }
  // By a copy. `value` must live on.
  void CopyTo(Stream stream, DeviceAddress at, const uint32_t& value) {
    ASSERT_THAT(executor().CopyHostToDevice(stream, at, &value, Bytes(4)), IsOk());
  }
  void WaitFor(Stream waiting, Stream other) {
    const Event event = *executor().CreateEvent(kDevice0);
    ASSERT_THAT(executor().RecordEvent(event, other), IsOk());
    ASSERT_THAT(executor().WaitEvent(waiting, event), IsOk());
    ASSERT_THAT(executor().DestroyEvent(event), IsOk());
  }
  // What the last kernel found, once all is done.
  uint32_t Found() {
    EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
    uint32_t word = 0;
    EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &word, out_, Bytes(4)), IsOk());
    return word;
  }

  AddressRange x_;
  AddressRange y_;
  DeviceAddress out_;
  DeviceAddress flag_;
  Stream a_;
  Stream b_;
  Module module_;
};

// Kernels of two streams that no event orders: the second one finds the old value, and it is said
// of both addresses and both kernels that nothing orders them.
TEST_F(AliasesTest, StreamsAreNotOrdered) {
  Store(a_, x_.base, 1);
  Load(b_, y_.base);
  EXPECT_EQ(Found(), 0u);
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  ASSERT_THAT(noticed, ElementsAre(IsDiagnostic(DiagnosticKind::kUnorderedAliases)));
  EXPECT_THAT(noticed[0],
              AllOf(DiagnosticSeverityIs(Severity::kError), DiagnosticCallIs("cuLaunchKernel")));
  EXPECT_THAT(noticed[0].message,
              AllOf(HasSubstr("kernel load, PTX line 17"), HasSubstr("ld.global.u32 reads"),
                    HasSubstr(ToString(y_.base)), HasSubstr("kernel store, PTX line 9"),
                    HasSubstr(absl::StrCat("has written through ", ToString(x_.base))),
                    HasSubstr("no event")));
}

// What is said names the call that made the second access, and has the size of that access.
TEST_F(AliasesTest, HazardsAreOfACallAndAnAccess) {
  EXPECT_FALSE(executor().UnloadModule(Module(kDevice0, 12345)).ok());
  Store(a_, x_.base, 1);
  Load(b_, y_.base);
  EXPECT_EQ(Found(), 0u);
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  ASSERT_THAT(noticed, ElementsAre(IsDiagnostic(DiagnosticKind::kUseOfUnknownModule),
                                   IsDiagnostic(DiagnosticKind::kUnorderedAliases)));
  EXPECT_THAT(noticed[1], AllOf(DiagnosticCallIdIs(noticed[0].call_id + 2),
                                DiagnosticRangeIs(AddressRange{y_.base, Bytes(4), Bytes(0)})));
}

// An event orders them: the value is the new one, and there is nothing to say.
TEST_F(AliasesTest, AnEventOrdersStreams) {
  Store(a_, x_.base, 1);
  WaitFor(b_, a_);
  Load(b_, y_.base);
  EXPECT_EQ(Found(), 1u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// So does a word that one stream writes and the other one waits for; unless the write is made
// without a barrier.
TEST_F(AliasesTest, AWordThatIsWaitedForOrdersStreams) {
  MemoryOperation write;
  write.kind = MemoryOperation::kWrite;
  write.address = flag_;
  write.width = Bytes(4);
  write.value = 1;
  MemoryOperation wait = write;
  wait.kind = MemoryOperation::kWait;
  const auto submit = [&](Stream stream, const MemoryOperation& operation) {
    return simulator_->memory_operations().Submit("cuStreamBatchMemOp", stream, {operation});
  };
  ASSERT_THAT(submit(b_, wait), IsOk());
  Load(b_, y_.base);
  Store(a_, x_.base, 1);
  ASSERT_THAT(submit(a_, write), IsOk());
  EXPECT_EQ(Found(), 1u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());

  write.releases = false;
  write.value = wait.value = 2;
  ASSERT_THAT(submit(b_, wait), IsOk());
  Load(b_, y_.base);
  Store(a_, x_.base, 2);
  ASSERT_THAT(submit(a_, write), IsOk());
  EXPECT_EQ(Found(), 1u);
  EXPECT_THAT(simulator_->diagnostics(),
              ElementsAre(IsDiagnostic(DiagnosticKind::kUnorderedAliases)));
}

// An event that was recorded before the store orders nothing.
TEST_F(AliasesTest, AnEarlierEventOrdersNothing) {
  const Event event = *executor().CreateEvent(kDevice0);
  ASSERT_THAT(executor().RecordEvent(event, a_), IsOk());
  Store(a_, x_.base, 1);
  ASSERT_THAT(executor().WaitEvent(b_, event), IsOk());
  Load(b_, y_.base);
  EXPECT_EQ(Found(), 0u);
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kUnorderedAliases), 1u);
}

// Work of one stream is ordered, between kernels, copies and fills alike, without a fence.
TEST_F(AliasesTest, AStreamIsOrdered) {
  const uint32_t one = 1;
  CopyTo(a_, x_.base, one);
  Load(a_, y_.base);
  EXPECT_EQ(Found(), 1u);
  Store(a_, y_.base, 2);
  ASSERT_THAT(executor().CopyDeviceToDevice(a_, out_, x_.base, Bytes(4)), IsOk());
  EXPECT_EQ(Found(), 2u);
  ASSERT_THAT(executor().Fill(a_, x_.base, {3, Bytes(4)}, 1), IsOk());
  Load(a_, y_.base);
  EXPECT_EQ(Found(), 3u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// Copies are no better than kernels: two that nothing orders are diagnosed by the names of their
// calls, and the second one may copy the older bytes.
TEST_F(AliasesTest, CopiesAreNotOrdered) {
  const uint32_t one = 1;
  CopyTo(a_, x_.base, one);
  ASSERT_THAT(executor().CopyDeviceToDevice(b_, out_, y_.base, Bytes(4)), IsOk());
  EXPECT_EQ(Found(), 0u);
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  ASSERT_THAT(noticed, ElementsAre(IsDiagnostic(DiagnosticKind::kUnorderedAliases)));
  EXPECT_THAT(noticed[0], DiagnosticCallIs("cuMemcpyDtoDAsync"));
  EXPECT_THAT(noticed[0].message,
              AllOf(HasSubstr(absl::StrCat("cuMemcpyDtoDAsync reads ", ToString(y_.base))),
                    HasSubstr("which cuMemcpyHtoDAsync has written")));
}

// Nothing could stand between what one copy reads and what it writes.
TEST_F(AliasesTest, ACopyOfMemoryOntoItselfIsNoHazard) {
  ASSERT_THAT(executor().CopyDeviceToDevice(a_, y_.base, x_.base, Bytes(4)), IsOk());
  ASSERT_THAT(executor().SynchronizeStream(a_), IsOk());
  ASSERT_THAT(executor().CopyDeviceToDevice(a_, y_.base + Bytes(64), x_.base, Bytes(4096)), IsOk());
  ASSERT_THAT(executor().SynchronizeStream(a_), IsOk());
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// What the host has waited for comes before all that it asks for later, on whatever stream and by
// whatever call it has waited.
TEST_F(AliasesTest, TheHostOrders) {
  const Event event = *executor().CreateEvent(kDevice0);
  uint32_t round = 0;
  const auto play = [&](const auto& wait) {
    SCOPED_TRACE(++round);
    Store(a_, x_.base, round);
    ASSERT_THAT(executor().RecordEvent(event, a_), IsOk());
    wait();
    Load(b_, y_.base);
    WaitFor(a_, b_);
    EXPECT_EQ(Found(), round);
  };
  play([&] { EXPECT_THAT(executor().SynchronizeStream(a_), IsOk()); });
  play([&] { EXPECT_THAT(executor().SynchronizeEvent(event), IsOk()); });
  play([&] { EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk()); });
  play([&] { EXPECT_THAT(executor().QueryStream(a_), IsOkAndHolds(true)); });
  play([&] { EXPECT_THAT(executor().QueryEvent(event), IsOkAndHolds(true)); });
  play([&] {
    const auto memory = linear().Allocate({kDevice0}, Bytes(4));
    EXPECT_THAT(linear().Free(*memory), IsOk());
  });
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// A copy that the host waits for orders what comes before it on its stream.
TEST_F(AliasesTest, SynchronousCopiesOrder) {
  Store(Stream(kDevice0), x_.base, 1);
  uint32_t word = 0;
  ASSERT_THAT(executor().CopyDeviceToHost(kDevice0, &word, out_, Bytes(4)), IsOk());
  Load(b_, y_.base);
  EXPECT_EQ(Found(), 1u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// Two stores through one address that nothing orders are a race, too: a warning.
TEST_F(AliasesTest, RacesThroughOneAddressAreWarnedOf) {
  Store(a_, x_.base, 1);
  Store(b_, x_.base, 2);
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  ASSERT_THAT(noticed, ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
  EXPECT_THAT(noticed[0], DiagnosticSeverityIs(Severity::kWarning));
  EXPECT_THAT(noticed[0].message, HasSubstr("through the same address"));
}

// Memory with one address left is not looked at.
TEST_F(AliasesTest, OneAddressIsNotLookedAt) {
  ASSERT_THAT(vmm().Unmap(y_), IsOk());
  Store(a_, x_.base, 1);
  Store(b_, x_.base, 2);
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// A kernel that was there before the copy, and waits for a flag that a later copy sets, has to
// execute an alias fence of its own: the copy is over, but its own start came before.
class ResidentTest : public AliasesTest {
 protected:
  using AliasesTest::AliasesTest;

  // What it finds.
  uint32_t Play() {
    StartPolling(a_, y_.base);
    const uint32_t value = 5;
    const uint32_t set = 1;
    CopyTo(b_, x_.base, value);
    CopyTo(b_, flag_, set);
    return Found();
  }
};

TEST_F(ResidentTest, NeedsAFence) {
  EXPECT_EQ(Play(), 0u);
  const std::vector<Diagnostic> noticed = simulator_->diagnostics();
  ASSERT_THAT(noticed, ElementsAre(IsDiagnostic(DiagnosticKind::kMissingAliasFence)));
  EXPECT_THAT(noticed[0].message,
              AllOf(HasSubstr("kernel poll"), HasSubstr("cuMemcpyHtoDAsync has written"),
                    HasSubstr(ToString(x_.base)), HasSubstr(ToString(y_.base)),
                    HasSubstr("what is missing is fence.proxy.alias")));
}

TEST_F(ResidentTest, IsFineWithAFence) {
  LoadKernels("fence.proxy.alias;");
  EXPECT_EQ(Play(), 5u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// Read literally, PTX has the end of the copy count like a fence for whoever comes after it.
class ResidentPtxTest : public ResidentTest {
 protected:
  ResidentPtxTest()
      : ResidentTest({coherence::Policy::kStale, coherence::BoundaryMode::kPtx,
                      StreamPolicy::kEager, true}) {}
};
TEST_F(ResidentPtxTest, NeedsNoFence) {
  EXPECT_EQ(Play(), 5u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// The policy chooses the values, whether anything is checked or not.
class UncheckedTest : public AliasesTest {
 protected:
  UncheckedTest()
      : AliasesTest({coherence::Policy::kStale, coherence::BoundaryMode::kGuide,
                     StreamPolicy::kEager, false}) {}
};
TEST_F(UncheckedTest, SaysNothing) {
  Store(a_, x_.base, 1);
  Load(b_, y_.base);
  EXPECT_EQ(Found(), 0u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}
class CoherentTest : public AliasesTest {
 protected:
  CoherentTest() : AliasesTest({coherence::Policy::kCoherent}) {}
};
TEST_F(CoherentTest, FindsTheNewestAndSaysSo) {
  Store(a_, x_.base, 1);
  Load(b_, y_.base);
  EXPECT_EQ(Found(), 1u);
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kUnorderedAliases), 1u);
}

// A machine of its own, whose reads are chosen by a seed.
class RandomRun : public AliasesTest {
 public:
  explicit RandomRun(uint64_t seed)
      : AliasesTest({coherence::Policy::kRandom, coherence::BoundaryMode::kGuide,
                     StreamPolicy::kEager, true, seed}) {
    SetUp();
  }
  void TestBody() override {}

  // What 2048 threads of many blocks find where others write.
  std::vector<uint32_t> FoundByAll() {
    std::vector<uint32_t> found(2048);
    const Bytes size(found.size() * sizeof(uint32_t));
    const auto module = executor().LoadModule(kDevice0, kScatter);
    const auto out = linear().Allocate({kDevice0}, size);
    EXPECT_THAT(module, IsOk());
    EXPECT_THAT(out, IsOk());
    if (!module.ok() || !out.ok()) return {};
    const std::vector<const void*> arguments{&x_.base, &y_.base, &*out};
    const LaunchConfig config{Dim3{64, 1, 1}, Dim3{32, 1, 1}};
    EXPECT_THAT(executor().Launch(a_, *executor().GetKernel(*module, "scatter"), config, arguments),
                IsOk());
    EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
    EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, found.data(), *out, size), IsOk());
    return found;
  }
};

TEST(RandomAliasesTest, ASeedRepeats) {
  const std::vector<uint32_t> found = RandomRun(5).FoundByAll();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(RandomRun(5).FoundByAll(), found);
  EXPECT_NE(RandomRun(6).FoundByAll(), found);
}

// Where work runs late, its order is that in which it was asked for all the same.
class LateAliasesTest : public AliasesTest {
 protected:
  LateAliasesTest()
      : AliasesTest({coherence::Policy::kStale, coherence::BoundaryMode::kGuide,
                     StreamPolicy::kDeferred, true}) {}

  void MapAgain() {
    ASSERT_THAT(vmm().Map(y_, *vmm().RetainAllocationHandle(x_.base)), IsOk());
    Grant(y_, For(kDevice0, Access::kReadWrite));
  }
};

TEST_F(LateAliasesTest, StreamsAreNotOrdered) {
  Store(a_, x_.base, 1);
  Load(b_, y_.base);
  Found();
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kUnorderedAliases), 1u);
}

TEST_F(LateAliasesTest, AnEventOrdersStreams) {
  Store(a_, x_.base, 1);
  WaitFor(b_, a_);
  Load(b_, y_.base);
  EXPECT_EQ(Found(), 1u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// The order of what was asked for before the memory got its second address is known, too.
TEST_F(LateAliasesTest, OrderIsKeptBeforeThereAreAliases) {
  ASSERT_THAT(vmm().Unmap(y_), IsOk());
  Store(a_, x_.base, 1);
  WaitFor(b_, a_);
  MapAgain();
  Load(b_, y_.base);
  EXPECT_EQ(Found(), 1u);
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

TEST_F(LateAliasesTest, NoOrderIsInventedBeforeThereAreAliases) {
  ASSERT_THAT(vmm().Unmap(y_), IsOk());
  Store(a_, x_.base, 1);
  MapAgain();
  Load(b_, y_.base);
  Found();
  EXPECT_EQ(simulator_->CountOf(DiagnosticKind::kUnorderedAliases), 1u);
}

}  // namespace
}  // namespace twinmmu
